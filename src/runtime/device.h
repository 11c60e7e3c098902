// Backends and devices of a context, and the queue through which stages reach them.
#ifndef TESS_RUNTIME_DEVICE_H
#define TESS_RUNTIME_DEVICE_H

#include "runtime/context.h"

// Opens the device with that id ("cpu", "cuda", "cuda:1", "auto") as ctx->device.
TESS_MUST_CHECK tess_status tess_device_choose(tess_context *ctx, const char *id);
// Ends what tess_device_begin() began and nobody used.
void tess_device_forget(tess_context *ctx);
void tess_device_close(tess_device *device);

// A queue over the caller's stream. It stays the device's, so that calls on one stream cost
// nothing.
TESS_MUST_CHECK tess_status tess_device_adopt(tess_device *device, void *stream,
                                              tess_backend_queue **queue);

// The backend of that name, loading its module on demand; NULL with a sentence in *why.
const tess_backend *tess_backend_find(tess_context *ctx, const char *name, const char **why);

#endif
