// Memory of a device that is not the host's: how much a context may take there, and what is taken.
//
// Everything that a run, a model or a call keeps on a device is taken here, so that a limit holds
// for all of it together. Plans ask what is left and cut their rooms by it.
#ifndef TESS_RUNTIME_DEVICE_MEMORY_H
#define TESS_RUNTIME_DEVICE_MEMORY_H

#include "runtime/context.h"

// Reads the environment where wished is 0, and sets the limit by what the device has free.
TESS_MUST_CHECK tess_status tess_device_budget_init(tess_device_budget *budget, uint64_t wished);
void tess_device_budget_open(tess_device_budget *budget, tess_device *device);

// Bytes that may still be taken, kept ones among them; UINT64_MAX where memory is the host's.
uint64_t tess_device_left(const tess_device *device);

// As the backend's functions. Host and pinned memory are not counted here. Beyond the limit it is
// TESS_E_LIMIT.
TESS_MUST_CHECK tess_status tess_device_alloc(const tess_device *device, tess_space space,
                                              size_t bytes, void **out);
void tess_device_free(const tess_device *device, tess_space space, void *data, size_t bytes);

// Memory that calls take again and again, or whose content the next call may want: what is kept is
// given to who asks for its size, and for its key if that is not 0; *is_same: content and all.
// Stages that use it must have ended when it is kept. It is freed when it is the oldest and there
// is too much of it, when the limit leaves no room for something else, and with the device.
TESS_MUST_CHECK tess_status tess_device_alloc_kept(const tess_device *device, tess_space space,
                                                   uint64_t key, size_t bytes, void **out,
                                                   bool *is_same);
void tess_device_keep(const tess_device *device, tess_space space, uint64_t key, void *data,
                      size_t bytes);
void tess_device_free_kept(const tess_device *device);

// The error of something that needs so many bytes beside those in use; what says what it is.
tess_status tess_device_too_small(const tess_device *device, const char *what, uint64_t bytes);

#endif
