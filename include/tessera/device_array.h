/** Arrays in the memory of a context's device: results that stay there. */
#ifndef TESSERA_DEVICE_ARRAY_H
#define TESSERA_DEVICE_ARRAY_H

#include "tessera/array.h"
#include "tessera/context.h"

TESS_BEGIN_DECLS

/** A new C-contiguous array in the memory of the context's device (the host's, if that is the CPU),
 *  not initialised, within its memory limit. It is destroyed before the context is, and while the
 *  context has this device. */
TESS_API TESS_MUST_CHECK tess_status tess_device_array_create(tess_context *ctx, tess_dtype dtype,
                                                              int32_t rank, const int64_t *shape,
                                                              tess_array *out);
TESS_API void tess_device_array_destroy(tess_context *ctx, tess_array *array);
/** All items of such an array to or from host memory, behind all that was started before. */
TESS_API TESS_MUST_CHECK tess_status tess_device_array_read(tess_context *ctx,
                                                            const tess_array *array, void *host);
TESS_API TESS_MUST_CHECK tess_status tess_device_array_write(tess_context *ctx, const void *host,
                                                             tess_array *array);

TESS_END_DECLS

#endif
