// Arrays that stay on a device between the stages of a computation.
//
// On the CPU, which works on the host's memory, an array that comes from the host is that memory
// and nothing is copied; elsewhere it goes up once and comes down once, in the order of the queue.
//
//   tess_resident x, delta;
//   TESS_TRY(tess_resident_from(device, samples, bytes, &x));       up
//   TESS_TRY(tess_resident_create(device, delta_bytes, &delta));
//   ... stages read x.data and write delta.data; the next ones read delta.data ...
//   TESS_TRY(tess_resident_fetch(&delta, result));                  down, and waited for
//   tess_resident_free(&delta); tess_resident_free(&x);
#ifndef TESS_RUNTIME_RESIDENT_H
#define TESS_RUNTIME_RESIDENT_H

#include "runtime/context.h"

typedef struct tess_resident {
    const tess_device *device;
    void *data; // reachable by the device; NULL: nothing
    size_t bytes;
    bool is_borrowed; // data are the caller's
} tess_resident;

// Room for bytes, not initialised.
TESS_MUST_CHECK tess_status tess_resident_create(const tess_device *device, size_t bytes,
                                                 tess_resident *out);
// Room of at least so many bytes where there may be some already; what was in it is lost if it
// grows.
TESS_MUST_CHECK tess_status tess_resident_grow(const tess_device *device, size_t bytes,
                                               tess_resident *array);
// As tess_resident_create(); memory that was kept is taken again, *is_same: with what it held when
// it was kept by this key, 0: by none.
TESS_MUST_CHECK tess_status tess_resident_create_kept(const tess_device *device, uint64_t key,
                                                      size_t bytes, tess_resident *out,
                                                      bool *is_same);
// What lies at host. That memory stays valid and unchanged until the array is freed; on the CPU
// stages must not write to it.
TESS_MUST_CHECK tess_status tess_resident_from(const tess_device *device, const void *host,
                                               size_t bytes, tess_resident *out);
// Other bytes from the host into the same room: the next tile.
TESS_MUST_CHECK tess_status tess_resident_refill(tess_resident *array, const void *host,
                                                 size_t bytes);
// Bytes from the host into the room from offset on. Not for one that is the host's memory.
TESS_MUST_CHECK tess_status tess_resident_put(tess_resident *array, size_t offset, const void *host,
                                              size_t bytes);
// Waits for the stages before and copies the first bytes to the host.
TESS_MUST_CHECK tess_status tess_resident_fetch(const tess_resident *array, void *host,
                                                size_t bytes);
// Accepts one that is zeroed or freed.
void tess_resident_free(tess_resident *array);
// The same, but the memory waits for the next one of this key. No stage uses it any more.
void tess_resident_keep(tess_resident *array, uint64_t key);

#endif
