// Arrays of callers in the memory of a context's device.
#include "tessera/device_array.h"
#include "base/checked.h"
#include "base/status.h"
#include "runtime/device_memory.h"

static tess_space space_of(const tess_device *device)
{
    return device->shares_host_memory ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
}

static size_t bytes_of(const tess_array *array)
{
    return (size_t)tess_array_items(array) * (size_t)array->item_bytes;
}

tess_status tess_device_array_create(tess_context *ctx, tess_dtype dtype, int32_t rank,
                                     const int64_t *shape, tess_array *out)
{
    const tess_device *device = ctx->device;
    TESS_TRY(tess_array_init(out, NULL, dtype, rank, shape));
    out->space = (int32_t)space_of(device);
    out->device = device->shares_host_memory ? 0 : device->info.index;
    // A byte at least: an array without items has an address, too.
    return tess_device_alloc(device, space_of(device), bytes_of(out) + 1, &out->data);
}

void tess_device_array_destroy(tess_context *ctx, tess_array *array)
{
    if (array->data) {
        tess_device_free(ctx->device, space_of(ctx->device), array->data, bytes_of(array) + 1);
        array->data = NULL;
    }
}

static tess_status copy(tess_context *ctx, void *to, tess_space to_space, const void *from,
                        tess_space from_space, size_t bytes)
{
    const tess_device *device = ctx->device;
    tess_error_clear();
    if (bytes > 0) {
        TESS_TRY(device->backend->copy(device->queue, to, to_space, from, from_space, bytes));
    }
    return device->backend->finish(device->queue);
}

tess_status tess_device_array_read(tess_context *ctx, const tess_array *array, void *host)
{
    return copy(ctx, host, TESS_SPACE_HOST, array->data, (tess_space)array->space, bytes_of(array));
}

tess_status tess_device_array_write(tess_context *ctx, const void *host, tess_array *array)
{
    return copy(ctx, array->data, (tess_space)array->space, host, TESS_SPACE_HOST, bytes_of(array));
}
