// The stages of xpcs on the CPU: one function each; args is the stage's struct.
#ifndef TESS_CPU_XPCS_STAGES_H
#define TESS_CPU_XPCS_STAGES_H

#include "backend/cpu/cpu_backend.h"

TESS_MUST_CHECK tess_status tess_cpu_xpcs_pass(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_model(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_simulate(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_reduce(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_grids(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_rates(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_sweep(tess_backend_device *device, const void *args);

#endif
