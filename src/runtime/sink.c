#include "runtime/sink.h"

#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tess_sink {
    tess_context *ctx;
    tess_array array; // data NULL for files
    tess_spool spool;
    const tess_format *format; // NULL: memory
    char *path;
    char *dataset;
    char *provenance;
    int overwrite;
    bool committed;
    int64_t items_written; // 0..items_written-1 are there
};

void tess_sink_config_init(tess_sink_config *config, size_t struct_size)
{
    const tess_sink_config defaults = {0};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static void free_text(tess_sink *sink, char *text)
{
    if (text) {
        tess_heap_free(&sink->ctx->heap, text, strlen(text) + 1, TESS_TAG_IO);
    }
}

void tess_sink_close(tess_sink *sink)
{
    if (!sink) {
        return;
    }
    tess_spool_close(&sink->spool);
    free_text(sink, sink->path);
    free_text(sink, sink->dataset);
    free_text(sink, sink->provenance);
    tess_heap_free(&sink->ctx->heap, sink, sizeof *sink, TESS_TAG_IO);
}

static tess_status sink_alloc(tess_context *ctx, tess_sink **out)
{
    tess_sink *sink =
        tess_heap_alloc_zero(&ctx->heap, sizeof *sink, TESS_TAG_IO, "output description");
    if (!sink) {
        return TESS_E_MEMORY;
    }
    sink->ctx = ctx;
    sink->spool.fd = -1;
    *out = sink;
    return TESS_OK;
}

tess_status tess_sink_from_array(tess_context *ctx, const tess_array *array, tess_sink **out)
{
    tess_error_clear();
    *out = NULL;
    if (array->rank < 1 || !tess_array_is_contiguous(array)) {
        TESS_FAIL(TESS_E_SHAPE, "out: must be C-contiguous with at least one axis");
    }
    if (array->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "out: must be in host memory");
    }
    if (!array->data && tess_array_items(array) > 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "out: data is NULL");
    }
    tess_sink *sink = NULL;
    TESS_TRY(sink_alloc(ctx, &sink));
    sink->array = *array;
    *out = sink;
    return TESS_OK;
}

static tess_status refuse_existing(const tess_sink *sink)
{
    if (!sink->overwrite && access(sink->path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", sink->path);
    }
    return TESS_OK;
}

static tess_status fill_file_sink(tess_sink *sink, const char *path, const tess_sink_config *given)
{
    tess_context *ctx = sink->ctx;
    tess_sink_config config;
    tess_sink_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    sink->overwrite = config.overwrite;
    sink->path = tess_heap_strdup(&ctx->heap, path, TESS_TAG_IO);
    sink->dataset =
        tess_heap_strdup(&ctx->heap, config.dataset ? config.dataset : "data", TESS_TAG_IO);
    if (!sink->path || !sink->dataset) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_format_for_writing(ctx, path, &sink->format));
    TESS_TRY(refuse_existing(sink)); // said now rather than after hours of work
    return tess_spool_create(path, &sink->array, &sink->spool);
}

tess_status tess_sink_create(tess_context *ctx, const char *path, const tess_sink_config *config,
                             tess_dtype dtype, int32_t rank, const int64_t *shape, tess_sink **out)
{
    tess_error_clear();
    *out = NULL;
    if (rank < 1) {
        TESS_FAIL(TESS_E_SHAPE, "output: needs at least one axis");
    }
    tess_sink *sink = NULL;
    TESS_TRY(sink_alloc(ctx, &sink));
    tess_status status = tess_array_init(&sink->array, NULL, dtype, rank, shape);
    if (status == TESS_OK) {
        status = fill_file_sink(sink, path, config);
    }
    if (status != TESS_OK) {
        tess_sink_close(sink);
        return status;
    }
    *out = sink;
    return TESS_OK;
}

void tess_sink_array(const tess_sink *sink, tess_array *array)
{
    *array = sink->array;
}

const char *tess_sink_path(const tess_sink *sink)
{
    return sink->path;
}

tess_spool *tess_sink_spool(tess_sink *sink)
{
    return &sink->spool;
}

static uint64_t item_bytes_of(const tess_array *array)
{
    uint64_t bytes = (uint64_t)array->item_bytes;
    for (int32_t i = 1; i < array->rank; i++) {
        bytes *= (uint64_t)array->shape[i];
    }
    return bytes;
}

tess_status tess_sink_attach_spool(tess_sink *sink, const char *path, int resume, int64_t done)
{
    tess_spool kept;
    TESS_TRY(tess_spool_open_kept(path, &sink->array, resume, &kept));
    tess_spool_close(&sink->spool);
    sink->spool = kept;
    sink->items_written = done;
    if (sink->array.data && done > 0) {
        return tess_spool_read(&sink->spool, 0, done, sink->array.data);
    }
    return TESS_OK;
}

tess_status tess_sink_write(tess_sink *sink, int64_t first, int64_t count, const void *src,
                            uint64_t src_bytes)
{
    tess_error_clear();
    const uint64_t item = item_bytes_of(&sink->array);
    if (first < 0 || count < 0 || first > sink->array.shape[0] - count) {
        TESS_FAIL(TESS_E_ARGUMENT, "items %lld to %lld: the output has %lld", (long long)first,
                  (long long)(first + count), (long long)sink->array.shape[0]);
    }
    if (first > sink->items_written) {
        TESS_FAIL(TESS_E_ARGUMENT, "items %lld to %lld: come too early, the next is %lld",
                  (long long)first, (long long)(first + count), (long long)sink->items_written);
    }
    if (src_bytes != item * (uint64_t)count) {
        TESS_FAIL(TESS_E_ARGUMENT, "src_bytes: expected %llu, got %llu",
                  (unsigned long long)(item * (uint64_t)count), (unsigned long long)src_bytes);
    }
    char *own = (char *)sink->array.data;
    if (own && src_bytes > 0 && own + item * (uint64_t)first != src) {
        memcpy(own + item * (uint64_t)first, src, src_bytes);
    }
    if (sink->spool.fd >= 0) {
        TESS_TRY(tess_spool_write(&sink->spool, first, count, src));
    }
    if (first + count > sink->items_written) {
        sink->items_written = first + count;
    }
    return TESS_OK;
}

tess_status tess_sink_set_provenance(tess_sink *sink, const char *json)
{
    tess_error_clear();
    char *copy = tess_heap_strdup(&sink->ctx->heap, json, TESS_TAG_IO);
    if (!copy) {
        return TESS_E_MEMORY;
    }
    free_text(sink, sink->provenance);
    sink->provenance = copy;
    return TESS_OK;
}

// Copies the spool where a rename cannot take it (another file system, or a kept name).
static tess_status copy_spool(tess_sink *sink, int fd, const char *path)
{
    enum { PIECE = 4 << 20 };
    tess_heap *heap = &sink->ctx->heap;
    const uint64_t total = sink->spool.header_bytes + sink->spool.data_bytes;
    char *buffer = tess_heap_alloc(heap, PIECE, TESS_TAG_IO, "output copy");
    tess_status status = buffer ? TESS_OK : TESS_E_MEMORY;
    for (uint64_t done = 0; status == TESS_OK && done < total;) {
        const size_t n = total - done < PIECE ? (size_t)(total - done) : PIECE;
        status = tess_file_read_at(sink->spool.fd, sink->spool.path, buffer, n, done);
        if (status == TESS_OK) {
            status = tess_file_write_at(fd, path, buffer, n, done);
        }
        done += n;
    }
    tess_heap_free(heap, buffer, PIECE, TESS_TAG_IO);
    return status;
}

// The spool is the .npy file: give it its name, or copy it when it must stay for a checkpoint.
static tess_status commit_data(tess_sink *sink)
{
    TESS_TRY(tess_spool_check(&sink->spool));
    if (!sink->spool.keep) {
        TESS_TRY(tess_file_sync(sink->spool.fd, sink->spool.path));
        TESS_TRY(tess_file_rename(sink->spool.path, sink->path, sink->overwrite));
        sink->spool.keep = true; // it has its final name now
        return TESS_OK;
    }
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(sink->path, 0666, &file));
    const tess_status status = copy_spool(sink, file.fd, file.path);
    if (status != TESS_OK) {
        tess_temp_file_discard(&file);
        return status;
    }
    return tess_temp_file_commit(&file, sink->overwrite);
}

static tess_status write_sidecar(const tess_sink *sink, tess_temp_file *file)
{
    char path[1040];
    snprintf(path, sizeof path, "%.1023s.json", sink->path);
    TESS_TRY(tess_temp_file_create(path, 0666, file));
    const tess_status status =
        tess_file_write_at(file->fd, file->path, sink->provenance, strlen(sink->provenance), 0);
    if (status != TESS_OK) {
        tess_temp_file_discard(file);
    }
    return status;
}

static tess_status commit_npy(tess_sink *sink)
{
    if (!sink->provenance) {
        TESS_TRY(commit_data(sink));
        char stale[1040]; // that of the data just replaced
        snprintf(stale, sizeof stale, "%.1023s.json", sink->path);
        unlink(stale);
        return TESS_OK;
    }
    tess_temp_file sidecar;
    TESS_TRY(write_sidecar(sink, &sidecar));
    // Replacing, the data go first: if that fails the old pair stands. New data go last: a run
    // killed between the two has no output yet and can be resumed.
    if (sink->overwrite) {
        const tess_status status = commit_data(sink);
        if (status != TESS_OK) {
            tess_temp_file_discard(&sidecar);
            return status;
        }
    }
    tess_status status = tess_temp_file_commit(&sidecar, 1);
    if (status == TESS_OK && !sink->overwrite) {
        status = commit_data(sink);
    }
    if (status != TESS_OK) {
        unlink(sidecar.final_path); // better none than that of other data
    }
    return status;
}

static tess_status commit_other(tess_sink *sink)
{
    tess_format_writer_input input = {.dataset = sink->dataset,
                                      .provenance = sink->provenance,
                                      .dtype = sink->array.dtype,
                                      .rank = sink->array.rank,
                                      .item_bytes = sink->array.item_bytes,
                                      .data_bytes = sink->spool.data_bytes};
    memcpy(input.shape, sink->array.shape, sizeof input.shape);
    tess_spool_input(&sink->spool, &input);
    // The format writes by name: reserve a temporary one and let it fill that file.
    tess_temp_file file;
    tess_status status = tess_temp_file_create(sink->path, 0666, &file);
    if (status == TESS_OK) {
        status = sink->format->write(&sink->ctx->host, file.path, &input);
        if (status == TESS_OK) {
            status = tess_temp_file_commit(&file, sink->overwrite);
        } else {
            tess_temp_file_discard(&file);
        }
    }
    return status;
}

tess_status tess_sink_commit(tess_sink *sink)
{
    tess_error_clear();
    if (sink->items_written < sink->array.shape[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "output: only %lld of %lld items were written",
                  (long long)sink->items_written, (long long)sink->array.shape[0]);
    }
    if (sink->committed || !sink->format) {
        return TESS_OK;
    }
    // Before anything is replaced: the sidecar of somebody else's file must stay too.
    TESS_TRY(refuse_existing(sink));
    TESS_TRY(strcmp(sink->format->name, "npy") == 0 ? commit_npy(sink) : commit_other(sink));
    sink->committed = true;
    return TESS_OK;
}
