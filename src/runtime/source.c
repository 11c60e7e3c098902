#include "runtime/source.h"

#include "base/checked.h"
#include "base/infile.h"
#include "base/status.h"
#include "base/struct_read.h"

#include <string.h>

static const int64_t FINGERPRINT_BYTES = 1 << 20;
static const int64_t COPY_BLOCK_BYTES = 1 << 20;

struct tess_source {
    tess_context *ctx;
    tess_source_info info;
    tess_array array;          // data NULL: must be read
    const tess_format *format; // NULL: memory
    tess_format_reader reader;
    tess_infile file; // what was opened, whatever the format opens besides; fd -1: memory
    char *path;
    uint64_t item_bytes; // of one item of the first axis
};

void tess_source_config_init(tess_source_config *config, size_t struct_size)
{
    const tess_source_config defaults = {0};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status source_alloc(tess_context *ctx, tess_source **out)
{
    tess_source *source =
        tess_heap_alloc_zero(&ctx->heap, sizeof *source, TESS_TAG_IO, "input description");
    if (!source) {
        return TESS_E_MEMORY;
    }
    source->ctx = ctx;
    source->file.fd = -1;
    source->info.struct_size = sizeof source->info;
    source->info.path = "";
    source->info.dataset = "";
    *out = source;
    return TESS_OK;
}

// Fills the public description from the array.
static tess_status describe(tess_source *source)
{
    const tess_array *a = &source->array;
    const char *name = source->info.path[0] ? source->info.path : "array";
    if (a->rank < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: expected an array of at least one axis, got a single value",
                  name);
    }
    source->info.dtype = a->dtype;
    source->info.rank = a->rank;
    source->info.item_bytes = a->item_bytes;
    memcpy(source->info.shape, a->shape, sizeof a->shape);
    uint64_t bytes = (uint64_t)a->item_bytes;
    for (int32_t i = 1; i < a->rank; i++) {
        if (!tess_mul_u64(bytes, (uint64_t)a->shape[i], &bytes)) {
            TESS_FAIL(TESS_E_SHAPE, "%s: more bytes than can be counted", name);
        }
    }
    source->item_bytes = bytes;
    return TESS_OK;
}

// A view filled by hand may be anything.
static tess_status check_view(const tess_array *array)
{
    if (array->rank > TESS_MAX_RANK) {
        TESS_FAIL(TESS_E_SHAPE, "array: %d axes, at most %d are possible", array->rank,
                  TESS_MAX_RANK);
    }
    for (int32_t i = 0; i < array->rank; i++) {
        if (array->shape[i] < 0) {
            TESS_FAIL(TESS_E_SHAPE, "array: shape[%d] is negative", i);
        }
    }
    if (array->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "array: must be in host memory");
    }
    if (!array->data && tess_array_items(array) > 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "array: data is NULL");
    }
    return TESS_OK;
}

tess_status tess_source_from_array(tess_context *ctx, const tess_array *array, tess_source **out)
{
    tess_error_clear();
    *out = NULL;
    TESS_TRY(check_view(array));
    tess_source *source = NULL;
    TESS_TRY(source_alloc(ctx, &source));
    source->array = *array;
    source->info.format = "memory";
    source->info.in_memory = 1;
    const tess_status status = describe(source);
    if (status != TESS_OK) {
        tess_source_close(source);
        return status;
    }
    *out = source;
    return TESS_OK;
}

static tess_status open_file(tess_source *source, const char *path, const tess_source_config *given)
{
    tess_context *ctx = source->ctx;
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    source->path = tess_heap_strdup(&ctx->heap, path, TESS_TAG_IO);
    if (!source->path) {
        return TESS_E_MEMORY;
    }
    source->info.path = source->path;
    TESS_TRY(tess_infile_open(source->path, &source->file));
    source->info.file_bytes = source->file.bytes;
    source->info.file_mtime_ns = tess_infile_mtime_ns(&source->file);
    const tess_format *format = NULL;
    TESS_TRY(tess_format_of_file(ctx, path, &format));
    const tess_status status =
        format->open(&ctx->host, path, config.dataset, config.allow_truncated, &source->reader);
    source->format = status == TESS_OK ? format : NULL; // close() must call the format
    TESS_TRY(tess_infile_check_name(&source->file));    // which opened it once more
    TESS_TRY(tess_infile_check(&source->file));
    TESS_TRY(status);
    source->info.format = format->name;
    source->info.dataset = source->reader.dataset;

    tess_array *a = &source->array;
    a->dtype = source->reader.dtype;
    a->item_bytes = source->reader.item_bytes;
    a->rank = source->reader.rank;
    if (a->rank == 0 && config.single_value) {
        a->rank = 1;
        source->reader.shape[0] = 1;
    }
    int64_t stride = 1;
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        a->shape[i] = source->reader.shape[i];
        a->stride[i] = stride;
        stride *= a->shape[i] > 0 ? a->shape[i] : 1;
    }
    return describe(source);
}

tess_status tess_source_open(tess_context *ctx, const char *path, const tess_source_config *config,
                             tess_source **out)
{
    tess_error_clear();
    *out = NULL;
    tess_source *source = NULL;
    TESS_TRY(source_alloc(ctx, &source));
    const tess_status status = open_file(source, path, config);
    if (status != TESS_OK) {
        tess_source_close(source);
        return status;
    }
    *out = source;
    return TESS_OK;
}

const tess_source_info *tess_source_get_info(const tess_source *source)
{
    return &source->info;
}

void tess_source_close(tess_source *source)
{
    if (!source) {
        return;
    }
    if (source->format) {
        source->format->close(&source->ctx->host, &source->reader);
    }
    tess_infile_close(&source->file);
    tess_heap *heap = &source->ctx->heap;
    if (source->path) {
        tess_heap_free(heap, source->path, strlen(source->path) + 1, TESS_TAG_IO);
    }
    tess_heap_free(heap, source, sizeof *source, TESS_TAG_IO);
}

void tess_source_array(const tess_source *source, tess_array *array)
{
    *array = source->array;
}

int tess_source_in_memory(const tess_source *source)
{
    return source->format == NULL;
}

uint64_t tess_source_held_bytes(const tess_source *source)
{
    return source->reader.held_bytes;
}

void tess_source_view(const tess_source *source, int64_t first, int64_t count, tess_array *view)
{
    TESS_ASSERT(source->array.data || tess_array_items(&source->array) == 0);
    *view = source->array;
    if (view->data) {
        view->data = (char *)view->data + first * view->stride[0] * view->item_bytes;
    }
    view->shape[0] = count;
}

// Copies one strided array densely, last axis in runs where it is contiguous.
static void copy_dense(const tess_array *a, char *dst)
{
    int64_t index[TESS_MAX_RANK] = {0};
    const int32_t last = a->rank - 1;
    const size_t item = (size_t)a->item_bytes;
    if (tess_array_items(a) == 0) {
        return;
    }
    for (;;) {
        const char *src = a->data;
        for (int32_t i = 0; i < last; i++) {
            src += index[i] * a->stride[i] * a->item_bytes;
        }
        if (a->stride[last] == 1) {
            memcpy(dst, src, (size_t)a->shape[last] * item);
        } else {
            for (int64_t k = 0; k < a->shape[last]; k++) {
                memcpy(dst + (size_t)k * item, src + k * a->stride[last] * a->item_bytes, item);
            }
        }
        dst += (size_t)a->shape[last] * item;
        int32_t axis = last - 1;
        while (axis >= 0 && ++index[axis] == a->shape[axis]) {
            index[axis--] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}

tess_status tess_source_read(tess_source *source, int64_t first, int64_t count, void *dst,
                             uint64_t dst_bytes)
{
    tess_error_clear();
    if (first < 0 || count < 0 || first > source->array.shape[0] - count) {
        TESS_FAIL(TESS_E_ARGUMENT, "items %lld to %lld: the array has %lld", (long long)first,
                  (long long)(first + count), (long long)source->array.shape[0]);
    }
    if (dst_bytes != source->item_bytes * (uint64_t)count) {
        TESS_FAIL(TESS_E_ARGUMENT, "dst_bytes: expected %llu, got %llu",
                  (unsigned long long)(source->item_bytes * (uint64_t)count),
                  (unsigned long long)dst_bytes);
    }
    if (count == 0) {
        return TESS_OK;
    }
    if (tess_source_is_direct(source)) {
        return tess_source_read_bytes(source, (uint64_t)first * source->item_bytes, dst_bytes, dst);
    }
    if (source->format) {
        const tess_status status =
            source->format->read(&source->ctx->host, &source->reader, first, count, dst);
        TESS_TRY(tess_infile_check(&source->file)); // if it failed, that may be why
        return status;
    }
    tess_array view;
    tess_source_view(source, first, count, &view);
    copy_dense(&view, dst);
    return TESS_OK;
}

bool tess_source_is_direct(const tess_source *source)
{
    return source->reader.direct_offset > 0;
}

tess_status tess_source_read_bytes(const tess_source *source, uint64_t offset, uint64_t n_byte,
                                   void *dst)
{
    TESS_ASSERT(tess_source_is_direct(source));
    return tess_infile_read(&source->file, dst, (size_t)n_byte,
                            source->reader.direct_offset + offset);
}

const tess_infile *tess_source_file(const tess_source *source)
{
    return source->format ? &source->file : NULL;
}

tess_status tess_source_check(const tess_source *source)
{
    return source->format ? tess_infile_check(&source->file) : TESS_OK;
}

typedef struct copy_job {
    const tess_source *source;
    int64_t first;
    int64_t count;
    int64_t items_per_block;
    char *dst;
} copy_job;

static tess_status copy_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const copy_job *job = arg;
    const tess_source *source = job->source;
    const int64_t done = block * job->items_per_block;
    const int64_t left = job->count - done;
    const int64_t n = left < job->items_per_block ? left : job->items_per_block;
    char *dst = job->dst + (uint64_t)done * source->item_bytes;
    if (tess_source_is_direct(source)) {
        return tess_source_read_bytes(source, (uint64_t)(job->first + done) * source->item_bytes,
                                      (uint64_t)n * source->item_bytes, dst);
    }
    tess_array view;
    tess_source_view(source, job->first + done, n, &view);
    copy_dense(&view, dst);
    return TESS_OK;
}

tess_status tess_source_read_with(tess_source *source, tess_pool *pool, int64_t first,
                                  int64_t count, void *dst)
{
    const bool is_packed = source->format && !tess_source_is_direct(source);
    if (is_packed || count == 0) {
        return tess_source_read(source, first, count, dst, source->item_bytes * (uint64_t)count);
    }
    const int64_t per_block = COPY_BLOCK_BYTES / (int64_t)(source->item_bytes + 1) + 1;
    copy_job job = {
        .source = source, .first = first, .count = count, .items_per_block = per_block, .dst = dst};
    return tess_parallel_for(pool, (count + per_block - 1) / per_block, copy_block, &job);
}

static tess_status fingerprint_file(tess_source *source, tess_hash *hash)
{
    const uint64_t bytes = source->file.bytes;
    const int64_t mtime_ns = tess_infile_mtime_ns(&source->file);
    tess_heap *heap = &source->ctx->heap;
    const size_t part =
        bytes < (uint64_t)FINGERPRINT_BYTES ? (size_t)bytes : (size_t)FINGERPRINT_BYTES;
    const size_t capacity = 2 * part + 16;
    unsigned char *buffer = tess_heap_alloc(heap, capacity, TESS_TAG_IO, "input fingerprint");
    tess_status status = buffer ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_infile_read(&source->file, buffer, part, 0);
    }
    if (status == TESS_OK) {
        status = tess_infile_read(&source->file, buffer + part, part, bytes - part);
    }
    if (status == TESS_OK) {
        memcpy(buffer + 2 * part, &bytes, sizeof bytes);
        memcpy(buffer + 2 * part + 8, &mtime_ns, sizeof mtime_ns);
        *hash = tess_hash_bytes(tess_hash_default(), buffer, capacity);
    }
    tess_heap_free(heap, buffer, capacity, TESS_TAG_IO);
    return status;
}

// Cuts an array down, outer axes first, until it has about so many bytes.
static void shrink(tess_array *a, int64_t bytes_wished)
{
    int64_t bytes = tess_array_items(a) * a->item_bytes;
    for (int32_t i = 0; i < a->rank && bytes > bytes_wished; i++) {
        const int64_t bytes_each = bytes / a->shape[i];
        const int64_t count = bytes_wished / bytes_each;
        a->shape[i] = count > 0 ? count : 1;
        bytes = bytes_each * a->shape[i];
    }
}

// Memory of the caller: its first and last items stand for the whole.
static tess_status fingerprint_memory(tess_source *source, tess_hash *hash)
{
    tess_array head = source->array;
    shrink(&head, FINGERPRINT_BYTES);
    tess_array tail = head;
    for (int32_t i = 0; i < tail.rank && tail.data; i++) {
        tail.data = (char *)tail.data +
                    (source->array.shape[i] - tail.shape[i]) * tail.stride[i] * tail.item_bytes;
    }
    tess_heap *heap = &source->ctx->heap;
    const size_t part = (size_t)(tess_array_items(&head) * head.item_bytes);
    char *buffer = tess_heap_alloc(heap, 2 * part, TESS_TAG_IO, "input fingerprint");
    if (!buffer) {
        return TESS_E_MEMORY;
    }
    copy_dense(&head, buffer);
    copy_dense(&tail, buffer + part);
    *hash = tess_hash_bytes(tess_hash_default(), buffer, 2 * part);
    tess_heap_free(heap, buffer, 2 * part, TESS_TAG_IO);
    return TESS_OK;
}

tess_status tess_source_fingerprint(tess_source *source, tess_hash *hash)
{
    return source->format ? fingerprint_file(source, hash) : fingerprint_memory(source, hash);
}
