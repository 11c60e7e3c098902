// The one way to a device.
//
// A computation names the stages it is made of and is told which device has them all: the
// context's, or the CPU, which has every stage. It keeps its arrays there (runtime/resident.h) and
// runs its stages there; no system asks which device that is.
//
//   static const int32_t stages[] = {TESS_STAGE_AUTOREJECT_PTP, TESS_STAGE_AUTOREJECT_VOTES};
//   TESS_TRY(tess_stage_choose(ctx, stages, 2, "reject log", &device));
//   TESS_TRY(tess_stage_run(device, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof args));
#ifndef TESS_RUNTIME_STAGE_H
#define TESS_RUNTIME_STAGE_H

#include "runtime/context.h"

// what: the computation, for messages ("fit"). Falling back to the CPU is a line in the log; where
// the device was asked for by name it is TESS_E_UNSUPPORTED, naming the stage that is missing.
TESS_MUST_CHECK tess_status tess_stage_choose(tess_context *ctx, const int32_t *stages,
                                              int64_t n_stage, const char *what,
                                              tess_device **device);

// Starts a stage in the order of the device's queue. Pointers in args are reachable by the device.
TESS_MUST_CHECK tess_status tess_stage_start(tess_device *device, int32_t stage, const void *args,
                                             size_t args_bytes);

// Waits for all that was started; the first failure among it.
TESS_MUST_CHECK tess_status tess_stage_finish(tess_device *device);

// Starts a stage and waits for it.
TESS_MUST_CHECK tess_status tess_stage_run(tess_device *device, int32_t stage, const void *args,
                                           size_t args_bytes);
// The same on the CPU, for what lies in host memory whatever the context's device.
TESS_MUST_CHECK tess_status tess_stage_run_on_host(tess_context *ctx, int32_t stage,
                                                   const void *args, size_t args_bytes);
// The same in a queue of its own: several threads may call at once.
TESS_MUST_CHECK tess_status tess_stage_run_apart(tess_device *device, int32_t stage,
                                                 const void *args, size_t args_bytes);

#endif
