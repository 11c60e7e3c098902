// The stages of autoreject on the CPU: one function each; args is the stage's struct.
#ifndef TESS_CPU_AUTOREJECT_STAGES_H
#define TESS_CPU_AUTOREJECT_STAGES_H

#include "backend/cpu/cpu_backend.h"

TESS_MUST_CHECK tess_status tess_cpu_autoreject_ptp(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_votes(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_augment(tess_backend_device *device,
                                                        const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_repair(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_dots(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_map(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_intake(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_intake_kept(tess_backend_device *device,
                                                            const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_curve(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_ransac(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_global(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_autoreject_local(tess_backend_device *device,
                                                      const void *args);

#endif
