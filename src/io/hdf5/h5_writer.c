// Writing results. The helper makes the file's structure and says where data go; we put them there.

#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "io/hdf5/h5_call.h"
#include "io/hdf5/h5_deflate.h"
#include "io/hdf5/h5_format.h"
#include "io/hdf5/lzf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// A chunk has to stay below 4 GiB, and is packed in memory.
enum { MAX_CHUNK_BYTES = 1 << 30, QUESTION_BYTES = 1024, PIECE_BYTES = 1 << 20 };

// A file being written: a call that lasts over many questions.
typedef struct writer {
    tess_h5_call call;
    int fd;
} writer;

// What is said of one data set beside its array.
typedef struct labels {
    const char *dataset;
    const char *dims;
    const char *units;
    const char *long_name;
} labels;

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 8 : 8;
}

static tess_status begin(const tess_host *host, const char *path, bool is_new,
                         const char *provenance, size_t label_bytes, writer *w)
{
    const size_t n_byte = text_bytes(path) + text_bytes(provenance) + label_bytes + QUESTION_BYTES;
    const int32_t flag = is_new;
    if (n_byte > TESS_H5_MAX_BYTES) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %zu bytes of provenance and names are too many", path,
                  n_byte);
    }
    do {
        w->fd = open(path, O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_TRUNC : 0), 0666);
    } while (w->fd < 0 && errno == EINTR);
    if (w->fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot %s: %s; choose a directory you may write to", path,
                  is_new ? "create" : "open", strerror(errno));
    }
    tess_status status = tess_h5_call_begin(host, path, 0, n_byte, &w->call);
    if (status == TESS_OK) {
        w->call.is_writing = true;
        tess_h5_put_text(&w->call.message, path);
        tess_h5_put(&w->call.message, &flag, sizeof flag);
        tess_h5_put_text(&w->call.message, provenance);
        status = tess_h5_call_ask(&w->call, TESS_H5_CREATE, w->fd);
        if (status == TESS_OK) {
            status = tess_h5_call_finish(&w->call);
        }
        if (status != TESS_OK) {
            tess_h5_call_end(&w->call);
        }
    }
    if (status != TESS_OK) {
        close(w->fd);
    }
    return status;
}

// Closes; status is how writing went and wins over a failure to close.
static tess_status finish(writer *w, tess_status status)
{
    if (status == TESS_OK) {
        status = tess_h5_call_ask(&w->call, TESS_H5_CLOSE, -1);
    }
    if (status == TESS_OK) {
        status = tess_h5_call_finish(&w->call);
    } else {
        w->call.is_answered = false; // a file left half made is not worth the helper's trouble
    }
    tess_h5_call_end(&w->call);
    if (close(w->fd) != 0 && errno != EINTR && status == TESS_OK) {
        TESS_FAIL(TESS_E_IO, "%s: cannot close: %s; free some space and run again", w->call.path,
                  strerror(errno));
    }
    return status;
}

// The answer to a question about a place for n_byte.
static tess_status take_offset(writer *w, uint64_t n_byte, uint64_t *offset)
{
    bool has_item = false;
    uint64_t end = 0;
    TESS_TRY(tess_h5_call_next(&w->call, &has_item));
    tess_h5_get(&w->call.message, offset, sizeof *offset);
    if (n_byte == 0) {
        *offset = 0; // nothing has no place
    }
    if (!has_item || w->call.message.is_broken || !tess_add_u64(*offset, n_byte, &end) ||
        end > INT64_MAX) {
        return tess_h5_call_nonsense(&w->call);
    }
    return tess_h5_call_finish(&w->call);
}

static tess_status put(writer *w, const tess_h5_array *array, const labels *names, uint64_t n_byte,
                       uint64_t *offset)
{
    tess_h5_put(&w->call.message, array, sizeof *array);
    tess_h5_put_text(&w->call.message, names->dataset);
    tess_h5_put_text(&w->call.message, names->dims);
    tess_h5_put_text(&w->call.message, names->units);
    tess_h5_put_text(&w->call.message, names->long_name);
    TESS_TRY(tess_h5_call_ask(&w->call, TESS_H5_PUT, -1));
    return take_offset(w, array->chunk_rows > 0 ? 0 : n_byte, offset);
}

// Memory for one chunk on its way out.
typedef struct packing {
    uint8_t *packed;
    size_t capacity;
    uint8_t *padded; // a chunk that reaches beyond the last row; NULL: there is none
    size_t chunk_bytes;
    uint32_t *table;
} packing;

static size_t table_bytes(void)
{
    return sizeof(uint32_t) << TESS_LZF_TABLE_BITS;
}

static void release_packing(const tess_host *host, packing *p)
{
    if (p->packed != NULL) {
        host->release(host->user, p->packed, p->capacity);
    }
    if (p->padded != NULL) {
        host->release(host->user, p->padded, p->chunk_bytes);
    }
    if (p->table != NULL) {
        host->release(host->user, p->table, table_bytes());
    }
}

static tess_status take_packing(const tess_host *host, const tess_h5_array *array,
                                uint64_t row_bytes, packing *p)
{
    *p = (packing){.chunk_bytes = (size_t)((uint64_t)array->chunk_rows * row_bytes)};
    p->capacity = tess_h5_deflate_bound(p->chunk_bytes);
    p->packed = host->alloc(host->user, p->capacity);
    p->table = p->packed != NULL ? host->alloc(host->user, table_bytes()) : NULL;
    bool is_there = p->table != NULL;
    if (is_there && array->shape[0] % array->chunk_rows != 0) {
        p->padded = host->alloc(host->user, p->chunk_bytes);
        is_there = p->padded != NULL;
    }
    if (!is_there) {
        release_packing(host, p);
    }
    return is_there ? TESS_OK : TESS_E_MEMORY;
}

static tess_status put_chunk(writer *w, const tess_h5_array *array, packing *p, int64_t row,
                             const uint8_t *src)
{
    const size_t n = p->chunk_bytes;
    tess_h5_place place = {.bytes = array->filter == TESS_H5_LZF
                                        ? tess_lzf_pack(src, n, p->packed, n, p->table)
                                        : tess_h5_deflate(src, n, p->packed, p->capacity)};
    const uint8_t *from = p->packed;
    if (place.bytes == 0) { // it does not shrink: stored as it is
        place.bytes = n;
        place.skipped = 1;
        from = src;
    }
    tess_h5_put(&w->call.message, &row, sizeof row);
    tess_h5_put(&w->call.message, &place, sizeof place);
    TESS_TRY(tess_h5_call_ask(&w->call, TESS_H5_PUT_CHUNK, -1));
    TESS_TRY(take_offset(w, place.bytes, &place.offset));
    return tess_file_write_at(w->fd, w->call.path, from, (size_t)place.bytes, place.offset);
}

static tess_status put_chunks(writer *w, const tess_h5_array *array, const uint8_t *data,
                              uint64_t row_bytes)
{
    packing p;
    tess_status status = take_packing(w->call.host, array, row_bytes, &p);
    if (status != TESS_OK) {
        return status;
    }
    for (int64_t row = 0; row < array->shape[0] && status == TESS_OK; row += array->chunk_rows) {
        const uint8_t *src = data + (uint64_t)row * row_bytes;
        const int64_t left = array->shape[0] - row;
        if (left < array->chunk_rows) {
            const size_t n = (size_t)((uint64_t)left * row_bytes);
            memcpy(p.padded, src, n);
            memset(p.padded + n, 0, p.chunk_bytes - n);
            src = p.padded;
        }
        status = put_chunk(w, array, &p, row, src);
    }
    release_packing(w->call.host, &p);
    return status;
}

// An array that is not in memory, piece by piece.
static tess_status copy_input(writer *w, const tess_format_writer_input *input, uint64_t offset)
{
    const tess_host *host = w->call.host;
    void *piece = host->alloc(host->user, PIECE_BYTES);
    tess_status status = piece != NULL ? TESS_OK : TESS_E_MEMORY;
    for (uint64_t at = 0; at < input->data_bytes && status == TESS_OK; at += PIECE_BYTES) {
        const uint64_t left = input->data_bytes - at;
        const uint64_t n = left < PIECE_BYTES ? left : PIECE_BYTES;
        status = input->read(input->self, at, n, piece);
        if (status == TESS_OK) {
            status = tess_file_write_at(w->fd, w->call.path, piece, (size_t)n, offset + at);
        }
    }
    if (piece != NULL) {
        host->release(host->user, piece, PIECE_BYTES);
    }
    return status;
}

// The whole array is one chunk where HDF5 allows it, else as many whole rows as it does.
static tess_status put_input(writer *w, const tess_format_writer_input *input)
{
    tess_h5_array array = {
        .dtype = input->dtype, .rank = input->rank, .item_bytes = input->item_bytes};
    memcpy(array.shape, input->shape, sizeof array.shape);
    uint64_t row_bytes = 0;
    if (input->packing != TESS_PACKING_NONE && input->rank > 0 && input->data_bytes > 0) {
        row_bytes = input->data_bytes / (uint64_t)input->shape[0];
        const uint64_t n = row_bytes < MAX_CHUNK_BYTES ? MAX_CHUNK_BYTES / row_bytes : 1;
        array.chunk_rows = (uint64_t)input->shape[0] < n ? input->shape[0] : (int64_t)n;
        array.filter = input->packing == TESS_PACKING_LZF ? TESS_H5_LZF : TESS_H5_DEFLATE;
    }
    uint64_t offset = 0;
    const labels names = {.dataset = input->dataset};
    TESS_TRY(put(w, &array, &names, input->data_bytes, &offset));
    if (array.chunk_rows > 0) {
        return put_chunks(w, &array, input->data, row_bytes);
    }
    return input->data ? tess_file_write_at(w->fd, w->call.path, input->data,
                                            (size_t)input->data_bytes, offset)
                       : copy_input(w, input, offset);
}

static tess_status check_types(const char *path, const tess_format_writer_input *inputs,
                               int64_t n_input)
{
    for (int64_t i = 0; i < n_input; i++) {
        if (tess_h5_item_bytes(inputs[i].dtype, inputs[i].item_bytes) != inputs[i].item_bytes) {
            TESS_FAIL(TESS_E_DTYPE,
                      "%s: items of type %d are not written to HDF5; use numbers, booleans or "
                      "fixed-length text",
                      path, inputs[i].dtype);
        }
    }
    return TESS_OK;
}

static tess_status write_inputs(const tess_host *host, const char *path, bool is_new,
                                const tess_format_writer_input *inputs, int64_t n_input)
{
    TESS_TRY(check_types(path, inputs, n_input));
    size_t label_bytes = 0;
    for (int64_t i = 0; i < n_input; i++) {
        const size_t n = text_bytes(inputs[i].dataset);
        label_bytes = label_bytes > n ? label_bytes : n;
    }
    writer w;
    TESS_TRY(begin(host, path, is_new, is_new ? inputs[0].provenance : NULL, label_bytes, &w));
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < n_input && status == TESS_OK; i++) {
        status = put_input(&w, &inputs[i]);
    }
    return finish(&w, status);
}

tess_status tess_h5_write_many(const tess_host *host, const char *temporary_path,
                               const tess_format_writer_input *inputs, int64_t n_input)
{
    if (n_input < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: there is no array to write", temporary_path);
    }
    return write_inputs(host, temporary_path, true, inputs, n_input);
}

tess_status tess_h5_write(const tess_host *host, const char *temporary_path,
                          const tess_format_writer_input *input)
{
    return write_inputs(host, temporary_path, true, input, 1);
}

tess_status tess_h5_add(const tess_host *host, const char *temporary_path,
                        const tess_format_writer_input *input)
{
    return write_inputs(host, temporary_path, false, input, 1);
}

static bool is_scale(const tess_format_layout *item)
{
    return item->rank == 1 && item->dims != NULL && strcmp(item->dims, item->dataset) == 0;
}

static tess_status put_item(writer *w, tess_format_layout *item)
{
    tess_h5_array array = {.dtype = item->dtype,
                           .rank = item->rank,
                           .item_bytes = item->item_bytes,
                           .is_scale = is_scale(item)};
    memcpy(array.shape, item->shape, sizeof array.shape);
    const labels names = {item->dataset, item->dims, item->units, item->long_name};
    uint64_t n_byte = (uint64_t)item->item_bytes;
    for (int32_t axis = 0; axis < item->rank; axis++) {
        n_byte *= (uint64_t)item->shape[axis];
    }
    TESS_TRY(put(w, &array, &names, n_byte, &item->offset));
    return item->data == NULL
               ? TESS_OK
               : tess_file_write_at(w->fd, w->call.path, item->data, (size_t)n_byte, item->offset);
}

tess_status tess_h5_lay_out(const tess_host *host, const char *path, tess_format_layout *items,
                            int64_t n_item, const char *provenance)
{
    size_t label_bytes = 0;
    for (int64_t i = 0; i < n_item; i++) {
        const size_t n = text_bytes(items[i].dataset) + text_bytes(items[i].dims) +
                         text_bytes(items[i].units) + text_bytes(items[i].long_name);
        label_bytes = label_bytes > n ? label_bytes : n;
    }
    writer w;
    TESS_TRY(begin(host, path, true, provenance, label_bytes, &w));
    tess_status status = TESS_OK;
    // Coordinates of axes first: the others refer to them.
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n_item && status == TESS_OK; i++) {
            if (is_scale(&items[i]) == (pass == 0)) {
                status = put_item(&w, &items[i]);
            }
        }
    }
    return finish(&w, status);
}
