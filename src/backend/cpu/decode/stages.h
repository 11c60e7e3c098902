// The stages of decode on the CPU: one function each; args is the stage's struct.
#ifndef TESS_CPU_DECODE_STAGES_H
#define TESS_CPU_DECODE_STAGES_H

#include "backend/cpu/cpu_backend.h"

TESS_MUST_CHECK tess_status tess_cpu_decode_kde(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_kde_bind(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_rows(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_filter(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_smooth(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_scores(tess_backend_device *device,
                                                       const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_hmm_trace(tess_backend_device *device,
                                                      const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_events(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_joint(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_columns(tess_backend_device *device, const void *args);
TESS_MUST_CHECK tess_status tess_cpu_decode_gmm(tess_backend_device *device, const void *args);

#endif
