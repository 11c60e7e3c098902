// Stages of a model's values on a device, from what lies in the host's memory and back into it.
#ifndef TESS_XPCS_MODEL_LEND_H
#define TESS_XPCS_MODEL_LEND_H

#include "runtime/context.h"
#include "stage/xpcs.h"

// After the stages of a computation have been chosen a device: the CPU instead where the model is
// of two components, and the device does not have those (tess_stage_choose()).
TESS_MUST_CHECK tess_status tess_xp_device_for(tess_context *ctx, int32_t mode, const char *what,
                                               tess_device **device);

// Every array of args is the host's; what a device of its own memory needs of them goes up, and
// what it made comes down.
TESS_MUST_CHECK tess_status tess_xp_model_on(tess_device *device,
                                             const tess_stage_xpcs_model *args);
TESS_MUST_CHECK tess_status tess_xp_simulate_on(tess_device *device,
                                                const tess_stage_xpcs_simulate *args,
                                                uint64_t record_bytes);

#endif
