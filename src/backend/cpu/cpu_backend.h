// The CPU backend: stages split into fixed blocks for the pool, kernels inside.
#ifndef TESS_BACKEND_CPU_H
#define TESS_BACKEND_CPU_H

#include "kernels/kernels.h"
#include "runtime/context.h"

extern const tess_backend tess_backend_cpu;

struct tess_backend_device {
    tess_context *ctx;
    const tess_kernels *kernels;
};

// One function per stage; args is the stage's struct.
TESS_MUST_CHECK tess_status tess_cpu_autoreject_ptp(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_augment(tess_backend_device *device,
                                                        const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_repair(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_dots(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_map(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_intake(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_curve(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_ransac(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_global(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_local(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_kde(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_kde_bind(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_filter(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_smooth(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_scores(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_trace(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_joint(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_pass(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_model(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_xpcs_simulate(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_sum(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_fcgp(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_layer(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_linear(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_gate(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_norm(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_clifford_sgp(tess_backend_device *device, const void *args);

// Measures what the cores and the memory can do (cpu_probe.c).
TESS_MUST_CHECK tess_status tess_cpu_benchmark(tess_backend_device *device,
                                               tess_device_ceilings *ceilings);

#endif
