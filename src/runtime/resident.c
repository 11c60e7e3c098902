#include "runtime/resident.h"

#include "base/status.h"
#include "runtime/device_memory.h"

#include <string.h>

static tess_space space_of(const tess_device *device)
{
    return device->shares_host_memory ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
}

tess_status tess_resident_create(const tess_device *device, size_t bytes, tess_resident *out)
{
    *out = (tess_resident){.device = device, .bytes = bytes};
    return bytes > 0 ? tess_device_alloc(device, space_of(device), bytes, &out->data) : TESS_OK;
}

tess_status tess_resident_grow(const tess_device *device, size_t bytes, tess_resident *array)
{
    if (array->data && array->bytes >= bytes) {
        return TESS_OK;
    }
    tess_resident_free(array);
    return tess_resident_create(device, bytes, array);
}

tess_status tess_resident_create_kept(const tess_device *device, uint64_t key, size_t bytes,
                                      tess_resident *out, bool *is_same)
{
    *out = (tess_resident){.device = device, .bytes = bytes};
    *is_same = false;
    return bytes > 0
               ? tess_device_alloc_kept(device, space_of(device), key, bytes, &out->data, is_same)
               : TESS_OK;
}

tess_status tess_resident_from(const tess_device *device, const void *host, size_t bytes,
                               tess_resident *out)
{
    *out = (tess_resident){.device = device, .bytes = bytes, .is_borrowed = true};
    if (device->shares_host_memory) {
        return tess_resident_refill(out, host, bytes);
    }
    TESS_TRY(tess_resident_create(device, bytes, out));
    return tess_resident_refill(out, host, bytes);
}

tess_status tess_resident_refill(tess_resident *array, const void *host, size_t bytes)
{
    const tess_device *device = array->device;
    TESS_ASSERT(bytes <= array->bytes);
    if (array->is_borrowed) {
        memcpy(&array->data, &host, sizeof host); // stages are told apart by const in their structs
        return TESS_OK;
    }
    return bytes > 0 ? device->backend->copy(device->queue, array->data, space_of(device), host,
                                             TESS_SPACE_HOST, bytes)
                     : TESS_OK;
}

tess_status tess_resident_put(tess_resident *array, size_t offset, const void *host, size_t bytes)
{
    const tess_device *device = array->device;
    TESS_ASSERT(!array->is_borrowed && offset + bytes <= array->bytes);
    return bytes > 0 ? device->backend->copy(device->queue, (char *)array->data + offset,
                                             space_of(device), host, TESS_SPACE_HOST, bytes)
                     : TESS_OK;
}

tess_status tess_resident_fetch(const tess_resident *array, void *host, size_t bytes)
{
    const tess_device *device = array->device;
    TESS_ASSERT(bytes <= array->bytes);
    if (bytes > 0) {
        TESS_TRY(device->backend->copy(device->queue, host, TESS_SPACE_HOST, array->data,
                                       space_of(device), bytes));
    }
    return device->backend->finish(device->queue);
}

void tess_resident_free(tess_resident *array)
{
    const tess_device *device = array->device;
    if (array->data && !array->is_borrowed) {
        tess_device_free(device, space_of(device), array->data, array->bytes);
    }
    memset(array, 0, sizeof *array);
}

void tess_resident_keep(tess_resident *array, uint64_t key)
{
    if (array->data && !array->is_borrowed) {
        tess_device_keep(array->device, space_of(array->device), key, array->data, array->bytes);
        memset(array, 0, sizeof *array);
        return;
    }
    tess_resident_free(array);
}
