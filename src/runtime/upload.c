#include "runtime/upload.h"

#include "base/status.h"

enum { ALIGN = 256 };

static size_t pass(tess_upload *upload, size_t bytes)
{
    const size_t at = upload->at;
    upload->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

void *tess_upload_room(tess_upload *upload, int64_t n, size_t item_bytes)
{
    const size_t at = pass(upload, (size_t)n * item_bytes);
    return n > 0 && upload->is_sending ? (char *)upload->into->data + at : NULL;
}

const void *tess_upload_add(tess_upload *upload, const void *host, int64_t n, size_t item_bytes)
{
    if (!host || n == 0) {
        return NULL;
    }
    const size_t bytes = (size_t)n * item_bytes;
    const size_t at = pass(upload, bytes);
    if (!upload->is_sending || upload->status != TESS_OK) {
        return host;
    }
    upload->status = tess_resident_put(upload->into, at, host, bytes);
    return (const char *)upload->into->data + at;
}

tess_status tess_upload_begin(tess_upload *upload, const tess_device *device)
{
    TESS_TRY(tess_resident_create(device, upload->at, upload->into));
    upload->at = 0;
    upload->is_sending = true;
    return TESS_OK;
}

tess_status tess_upload_end(const tess_upload *upload)
{
    const tess_device *device = upload->into->device;
    const tess_status finished = device->backend->finish(device->queue);
    return upload->status == TESS_OK ? finished : upload->status;
}
