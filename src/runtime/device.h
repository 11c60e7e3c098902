// Backends and devices of a context, and the queue through which stages reach them.
#ifndef TESS_RUNTIME_DEVICE_H
#define TESS_RUNTIME_DEVICE_H

#include "runtime/context.h"

// Opens the device with that id ("cpu", "cuda", "cuda:1", "auto") as ctx->device, or several, of
// which it is the first ("cuda:0,cuda:1", "cuda:all").
TESS_MUST_CHECK tess_status tess_device_choose(tess_context *ctx, const char *id);
// Ends what tess_device_begin() began and nobody used.
void tess_device_forget(tess_context *ctx);
TESS_MUST_CHECK tess_status tess_device_open(tess_context *ctx, const tess_backend *backend,
                                             int32_t index, tess_device *device);
TESS_MUST_CHECK tess_status tess_device_open_named(tess_context *ctx, const char *id,
                                                   tess_device *device);
void tess_device_close(tess_device *device);

// The error of an id that is none.
tess_status tess_device_unknown(const char *id);
// How many a backend has, at least one. id: who asks, for the error.
TESS_MUST_CHECK tess_status tess_device_count(tess_context *ctx, const char *backend,
                                              const char *id, int32_t *n);

// A queue over the caller's stream. It stays the device's, so that calls on one stream cost
// nothing.
TESS_MUST_CHECK tess_status tess_device_adopt(tess_device *device, void *stream,
                                              tess_backend_queue **queue);

// The backend of that name, loading its module on demand; NULL with a sentence in *why.
const tess_backend *tess_backend_find(tess_context *ctx, const char *name, const char **why);

#endif
