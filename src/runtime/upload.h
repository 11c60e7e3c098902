// A model's arrays into one array on a device, by the same calls twice: the first time they are
// counted, then sent.
//
//   tess_upload up = {.into = &arrays};
//   send_model(&up, ...);                        there->table = tess_upload_add(&up, table, n,
//   size); TESS_TRY(tess_upload_begin(&up, device)); send_model(&up, ...);
//   TESS_TRY(tess_upload_end(&up));
#ifndef TESS_RUNTIME_UPLOAD_H
#define TESS_RUNTIME_UPLOAD_H

#include "runtime/resident.h"

typedef struct tess_upload {
    tess_resident *into;
    size_t at;
    bool is_sending;
    tess_status status;
} tess_upload;

// Where n items will lie: NULL for none, the host's own while they are counted. They stay valid
// until the end.
const void *tess_upload_add(tess_upload *upload, const void *host, int64_t n, size_t item_bytes);
// Room for n items that the device will fill; NULL while they are counted, and for none.
void *tess_upload_room(tess_upload *upload, int64_t n, size_t item_bytes);
// Takes the room that was counted.
TESS_MUST_CHECK tess_status tess_upload_begin(tess_upload *upload, const tess_device *device);
// Waits for all that was sent; the first failure among it.
TESS_MUST_CHECK tess_status tess_upload_end(const tess_upload *upload);

#endif
