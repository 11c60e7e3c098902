// Opening and reading one data set. Data that lie in one piece as they are delivered are left to
// the runtime; chunks are unpacked by h5_chunks.c; what neither can is read by HDF5 in the helper.

#include "io/hdf5/h5_reader.h"

#include "base/checked.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHARED_BYTES = 8 << 20 };

// Shape and type of what the helper describes, and whether the file can hold it.
static bool is_possible(const tess_h5_reader *r, uint64_t n_byte)
{
    const tess_h5_dataset *d = &r->data;
    const bool has_order =
        d->swap_bytes == 1 || d->swap_bytes == 2 || d->swap_bytes == 4 || d->swap_bytes == 8;
    if (!has_order || d->item_bytes % d->swap_bytes != 0) {
        return false;
    }
    return d->storage == TESS_H5_IN_CHUNKS || d->storage == TESS_H5_BY_LIBRARY ||
           (d->storage == TESS_H5_IN_ONE_PIECE && d->offset <= r->file.bytes &&
            n_byte <= r->file.bytes - d->offset);
}

// Row and total size; false where they overflow or the type is none.
static bool measure(tess_h5_reader *r, uint64_t *n_byte)
{
    const tess_h5_dataset *d = &r->data;
    if (d->rank < 0 || d->rank > TESS_MAX_RANK || d->item_bytes <= 0 ||
        d->item_bytes != tess_h5_item_bytes(d->dtype, d->item_bytes)) {
        return false;
    }
    r->n_row = d->rank > 0 ? d->shape[0] : 1;
    r->row_bytes = (uint64_t)d->item_bytes;
    uint64_t most = (uint64_t)d->item_bytes; // as if no axis were empty: no part overflows either
    for (int32_t axis = 0; axis < d->rank; axis++) {
        const uint64_t n = (uint64_t)d->shape[axis];
        if (d->shape[axis] < 0 || !tess_mul_u64(most, n > 0 ? n : 1, &most) || most > INT64_MAX) {
            return false;
        }
        r->row_bytes *= axis > 0 ? n : 1;
    }
    *n_byte = r->row_bytes * (uint64_t)r->n_row;
    return true;
}

static void drop_shared(tess_h5_shared *shared)
{
    if (shared->bytes != NULL) {
        munmap(shared->bytes, shared->n_byte);
        close(shared->fd);
    }
    *shared = (tess_h5_shared){.fd = -1};
}

static void release_reader(const tess_host *host, tess_h5_reader *r)
{
    tess_h5_session_close(host, r);
    drop_shared(&r->shared);
    tess_h5_chunks_end(host, &r->chunks);
    tess_h5_file_close(&r->file);
    pthread_mutex_destroy(&r->lock);
    host->release(host->user, r, r->own_bytes);
}

static tess_status open_reader(const tess_host *host, tess_h5_reader *r, const char *dataset,
                               tess_format_reader *out)
{
    tess_h5_call call;
    uint64_t n_byte = 0;
    TESS_TRY(tess_h5_file_open(r->path, &r->file));
    const size_t room = strlen(r->path) + (dataset ? strlen(dataset) : 0) + 64;
    TESS_TRY(tess_h5_call_begin(host, r->path, 0, room, &call));
    tess_status status = tess_h5_session_open(&call, r, dataset, &r->data, r->name);
    if (status == TESS_OK && (!measure(r, &n_byte) || !is_possible(r, n_byte) ||
                              (r->data.storage == TESS_H5_IN_CHUNKS &&
                               !tess_h5_chunks_begin(host, r, &out->held_bytes)))) {
        status = tess_h5_call_nonsense(&call);
    }
    tess_h5_call_end(&call);
    TESS_TRY(status);
    if (r->data.storage == TESS_H5_BY_LIBRARY) {
        out->held_bytes = r->data.held_bytes + SHARED_BYTES;
    }
    out->dtype = r->data.dtype;
    out->item_bytes = r->data.item_bytes;
    out->rank = r->data.rank;
    memcpy(out->shape, r->data.shape, sizeof out->shape);
    snprintf(out->dataset, sizeof out->dataset, "%.255s", r->name);
    if (r->data.storage == TESS_H5_IN_ONE_PIECE && r->data.swap_bytes == 1) {
        out->direct_offset = r->data.offset;
    }
    return TESS_OK;
}

tess_status tess_h5_open(const tess_host *host, const char *path, const char *dataset,
                         int allow_truncated, tess_format_reader *out)
{
    // The library refuses truncated files as a whole: addresses behind the end may be anything's.
    (void)allow_truncated;
    *out = (tess_format_reader){0};
    const size_t path_bytes = strlen(path) + 1;
    tess_h5_reader *r = host->alloc(host->user, sizeof *r + path_bytes);
    if (r == NULL) {
        return TESS_E_MEMORY;
    }
    *r = (tess_h5_reader){.own_bytes = sizeof *r + path_bytes,
                          .session = tess_h5_session_next(),
                          .file.fd = -1,
                          .shared.fd = -1};
    memcpy(r->path, path, path_bytes);
    pthread_mutex_init(&r->lock, NULL);
    const tess_status status = open_reader(host, r, dataset, out);
    if (status != TESS_OK) {
        release_reader(host, r);
        *out = (tess_format_reader){0};
        return status;
    }
    out->impl = r;
    return TESS_OK;
}

void tess_h5_close(const tess_host *host, tess_format_reader *reader)
{
    if (reader->impl != NULL) {
        release_reader(host, reader->impl);
    }
    *reader = (tess_format_reader){0};
}

// Memory that both processes map. Sealed: a helper gone wrong cannot take it from under us.
static tess_status make_shared(tess_h5_reader *r, uint64_t n_byte)
{
    if (n_byte <= r->shared.n_byte && r->shared.owner == getpid()) {
        return TESS_OK;
    }
    drop_shared(&r->shared);
    r->session =
        tess_h5_session_next(); // the process that has the data set open knows the old memory
    const int fd = memfd_create("tessera-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)n_byte) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        bytes = mmap(NULL, (size_t)n_byte, PROT_READ, MAP_SHARED, fd, 0);
    }
    if (bytes == MAP_FAILED) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        TESS_FAIL(TESS_E_MEMORY, "cannot share %" PRIu64 " bytes with HDF5: %s", n_byte,
                  strerror(error));
    }
    r->shared =
        (tess_h5_shared){.fd = fd, .bytes = bytes, .n_byte = (size_t)n_byte, .owner = getpid()};
    return TESS_OK;
}

static tess_status read_by_library(const tess_host *host, tess_h5_reader *r, int64_t first,
                                   int64_t count, uint8_t *dst)
{
    // Pieces of at most so many rows, which begin where HDF5 begins to unpack.
    const int64_t unit =
        r->data.piece_rows > 0 && r->data.piece_rows < r->n_row ? r->data.piece_rows : 1;
    const int64_t fit = SHARED_BYTES / (int64_t)r->row_bytes / unit;
    const int64_t step = unit * (fit > 1 ? fit : 1);
    for (int64_t row = first; row < first + count;) {
        const int64_t next = (row / step + 1) * step;
        const int64_t n = (next < first + count ? next : first + count) - row;
        tess_h5_call call;
        TESS_TRY(make_shared(r, (uint64_t)(step < count ? step : count) * r->row_bytes));
        TESS_TRY(tess_h5_session_ask(host, r, TESS_H5_READ, row, n, &call));
        const tess_status status = tess_h5_call_finish(&call);
        tess_h5_call_end(&call);
        TESS_TRY(status);
        memcpy(dst + (uint64_t)(row - first) * r->row_bytes, r->shared.bytes,
               (size_t)((uint64_t)n * r->row_bytes));
        row += n;
    }
    return TESS_OK;
}

// width is a constant wherever it is called: the compiler then swaps vectors.
static inline void swap_numbers(uint8_t *items, uint64_t n_byte, uint64_t width)
{
    for (uint64_t at = 0; at < n_byte; at += width) {
        uint8_t number[8];
        memcpy(number, items + at, width);
        for (uint64_t i = 0; i < width; i++) {
            items[at + i] = number[width - 1 - i];
        }
    }
}

static void swap(uint8_t *items, uint64_t n_byte, int32_t width)
{
    switch (width) {
    case 2:
        swap_numbers(items, n_byte, 2);
        break;
    case 4:
        swap_numbers(items, n_byte, 4);
        break;
    case 8:
        swap_numbers(items, n_byte, 8);
        break;
    default:
        break;
    }
}

static tess_status read_items(const tess_host *host, tess_h5_reader *r, int64_t first,
                              int64_t count, uint8_t *dst)
{
    const uint64_t n_byte = (uint64_t)count * r->row_bytes;
    switch (r->data.storage) {
    case TESS_H5_IN_ONE_PIECE:
        TESS_TRY(tess_infile_read(&r->file, dst, (size_t)n_byte,
                                  r->data.offset + (uint64_t)first * r->row_bytes));
        break;
    case TESS_H5_IN_CHUNKS:
        TESS_TRY(tess_h5_chunks_read(host, r, first, count, dst));
        break;
    default:
        return read_by_library(host, r, first, count, dst);
    }
    swap(dst, n_byte, r->data.swap_bytes);
    return TESS_OK;
}

tess_status tess_h5_read(const tess_host *host, tess_format_reader *reader, int64_t first,
                         int64_t count, void *dst)
{
    tess_h5_reader *r = reader->impl;
    if (first < 0 || count < 0 || first > r->n_row || count > r->n_row - first) {
        TESS_FAIL(TESS_E_RANGE,
                  "items %" PRId64 "..+%" PRId64 " are not among the %" PRId64 " of the array",
                  first, count, r->n_row);
    }
    if (count == 0 || r->row_bytes == 0) {
        return TESS_OK;
    }
    pthread_mutex_lock(&r->lock);
    const tess_status status = read_items(host, r, first, count, dst);
    pthread_mutex_unlock(&r->lock);
    return status;
}
