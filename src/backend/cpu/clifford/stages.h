// The stages of clifford on the CPU: one function each; args is the stage's struct.
#ifndef TESS_CPU_CLIFFORD_STAGES_H
#define TESS_CPU_CLIFFORD_STAGES_H

#include "backend/cpu/cpu_backend.h"

TESS_MUST_CHECK tess_status tess_cpu_clifford_fcgp(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_layer(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_linear(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_maps(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_sum(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_gate(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_norm(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_sgp(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_graph_sum(tess_backend_device *device,
                                                        const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_graph_dot(tess_backend_device *device,
                                                        const void *args);

#endif
