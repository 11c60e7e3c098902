#include "runtime/bundle.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/ucs4.h"
#include "runtime/provenance.h"
#include "runtime/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 32, PIECE_ITEMS = 1 << 16 };

void tess_bundle_input(tess_format_writer_input *input, const char *name, tess_dtype dtype,
                       int32_t rank, const int64_t *shape, const void *data)
{
    uint64_t bytes = tess_dtype_bytes(dtype);
    *input = (tess_format_writer_input){.dataset = name,
                                        .dtype = (int32_t)dtype,
                                        .rank = rank,
                                        .item_bytes = (int64_t)tess_dtype_bytes(dtype),
                                        .data = data};
    for (int32_t i = 0; i < rank; i++) {
        input->shape[i] = shape[i];
        bytes *= (uint64_t)shape[i];
    }
    input->data_bytes = bytes;
}

tess_status tess_bundle_begin(tess_context *ctx, const char *path,
                              const tess_format_writer_input *inputs, int64_t n_input,
                              int overwrite, tess_bundle_writer *out)
{
    *out = (tess_bundle_writer){.ctx = ctx, .overwrite = overwrite, .file.fd = -1};
    TESS_TRY(tess_format_for_writing(ctx, path, &out->format));
    if (!out->format->write_many) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: a %s file holds one array; end the name in .npz or .h5",
                  path, out->format->name);
    }
    if (!overwrite && access(path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", path);
    }
    // The format writes by name: reserve a temporary one and let it fill that file.
    TESS_TRY(tess_temp_file_create(path, 0666, &out->file));
    const tess_status status = out->format->write_many(&ctx->host, out->file.path, inputs, n_input);
    if (status != TESS_OK) {
        tess_bundle_discard(out);
    }
    return status;
}

tess_status tess_bundle_add(tess_bundle_writer *writer, const tess_format_writer_input *input)
{
    if (!writer->format->add) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: a %s file is written at once; end the name in .h5",
                  writer->file.final_path, writer->format->name);
    }
    return writer->format->add(&writer->ctx->host, writer->file.path, input);
}

tess_status tess_bundle_commit(tess_bundle_writer *writer)
{
    return tess_temp_file_commit(&writer->file, writer->overwrite);
}

void tess_bundle_discard(tess_bundle_writer *writer)
{
    tess_temp_file_discard(&writer->file);
}

tess_status tess_bundle_write(tess_context *ctx, const char *path,
                              const tess_format_writer_input *inputs, int64_t n_input,
                              int overwrite)
{
    tess_bundle_writer writer;
    TESS_TRY(tess_bundle_begin(ctx, path, inputs, n_input, overwrite, &writer));
    return tess_bundle_commit(&writer);
}

tess_status tess_bundle_write_from(tess_context *ctx, const tess_origin *origin, const char *path,
                                   tess_format_writer_input *inputs, int64_t n_input, int overwrite)
{
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_origin_make(ctx, origin, &text, &bytes));
    inputs[0].provenance = text;
    const tess_status status = tess_bundle_write(
        ctx, path, inputs, n_input, tess_provenance_overwrite(ctx, path, text, overwrite));
    inputs[0].provenance = NULL;
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status grow(tess_bundle *bundle)
{
    tess_heap *heap = &bundle->ctx->heap;
    const int64_t capacity = bundle->capacity ? 2 * bundle->capacity : FIRST_CAPACITY;
    tess_bundle_entry *entries = tess_heap_alloc(heap, (size_t)capacity * sizeof *entries,
                                                 TESS_TAG_IO, "a list of data sets");
    if (!entries) {
        return TESS_E_MEMORY;
    }
    if (bundle->n_entry > 0) {
        memcpy(entries, bundle->entries, (size_t)bundle->n_entry * sizeof *entries);
    }
    tess_heap_free(heap, bundle->entries, (size_t)bundle->capacity * sizeof *entries, TESS_TAG_IO);
    bundle->entries = entries;
    bundle->capacity = capacity;
    return TESS_OK;
}

typedef struct listing {
    tess_bundle *bundle;
    tess_status status;
} listing;

static int add_entry(void *user, const tess_dataset_info *info)
{
    listing *l = user;
    tess_bundle *bundle = l->bundle;
    if (bundle->n_entry == bundle->capacity) {
        l->status = grow(bundle);
        if (l->status != TESS_OK) {
            return 1;
        }
    }
    tess_bundle_entry *entry = &bundle->entries[bundle->n_entry];
    *entry = (tess_bundle_entry){.dtype = info->dtype, .rank = info->rank, .n_item = 1};
    snprintf(entry->type_text, sizeof entry->type_text, "%s", info->type_text);
    for (int32_t i = 0; i < info->rank; i++) {
        entry->shape[i] = info->shape[i];
        if (!tess_mul_i64(entry->n_item, info->shape[i], &entry->n_item)) {
            entry->dtype = 0;
            entry->n_item = 0;
        }
    }
    const char *name = info->name[0] == '/' ? info->name + 1 : info->name;
    entry->name = tess_heap_strdup(&bundle->ctx->heap, name, TESS_TAG_IO);
    if (!entry->name) {
        l->status = TESS_E_MEMORY;
        return 1;
    }
    bundle->n_entry++;
    return 0;
}

tess_status tess_bundle_check(const tess_bundle *bundle)
{
    TESS_TRY(tess_infile_check_name(&bundle->file)); // formats open it by its name
    return tess_infile_check(&bundle->file);
}

// How reading went; where the file changed meanwhile, that is what went wrong.
static tess_status finish(const tess_bundle *bundle, tess_status status)
{
    const tess_status file = tess_bundle_check(bundle);
    return file == TESS_OK ? status : file;
}

tess_status tess_bundle_open(tess_context *ctx, const char *path, tess_bundle *out)
{
    *out = (tess_bundle){.ctx = ctx, .file.fd = -1};
    out->path = tess_heap_strdup(&ctx->heap, path, TESS_TAG_IO);
    if (!out->path) {
        return TESS_E_MEMORY;
    }
    listing l = {out, TESS_OK};
    tess_status status = tess_infile_open(out->path, &out->file);
    if (status == TESS_OK) {
        status = tess_file_list(ctx, path, &out->format, add_entry, &l);
    }
    status = status == TESS_OK ? l.status : status;
    if (out->file.fd >= 0) {
        status = finish(out, status);
    }
    if (status != TESS_OK) {
        tess_bundle_close(out);
    }
    return status;
}

void tess_bundle_close(tess_bundle *bundle)
{
    if (!bundle->ctx) {
        return;
    }
    tess_heap *heap = &bundle->ctx->heap;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        tess_heap_free(heap, bundle->entries[i].name, strlen(bundle->entries[i].name) + 1,
                       TESS_TAG_IO);
    }
    tess_heap_free(heap, bundle->entries, (size_t)bundle->capacity * sizeof *bundle->entries,
                   TESS_TAG_IO);
    tess_infile_close(&bundle->file);
    if (bundle->path) {
        tess_heap_free(heap, bundle->path, strlen(bundle->path) + 1, TESS_TAG_IO);
    }
    *bundle = (tess_bundle){0};
}

const tess_bundle_entry *tess_bundle_find(const tess_bundle *bundle, const char *name)
{
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        if (strcmp(bundle->entries[i].name, name) == 0) {
            return &bundle->entries[i];
        }
    }
    return NULL;
}

// Where items come from: an open data set, read in rows of its first axis.
typedef struct reader {
    const tess_bundle *bundle;
    const tess_format *format;
    tess_format_reader data;
} reader;

static tess_status reader_open(const tess_bundle *bundle, const tess_bundle_entry *entry,
                               reader *out)
{
    *out = (reader){.bundle = bundle};
    TESS_TRY(tess_format_of_file(bundle->ctx, bundle->path, &out->format));
    return out->format->open(&bundle->ctx->host, bundle->path, entry->name, 0, &out->data);
}

static void reader_close(reader *r)
{
    r->format->close(&r->bundle->ctx->host, &r->data);
}

static tess_status same_shape(const reader *r, const tess_bundle_entry *entry)
{
    int64_t n_item = 1;
    for (int32_t i = 0; i < r->data.rank; i++) {
        n_item *= r->data.shape[i];
    }
    if (n_item != entry->n_item || r->data.dtype != entry->dtype) {
        TESS_FAIL(TESS_E_CHANGED, "%s: data set '%s' changed while it was read; run again",
                  r->bundle->path, entry->name);
    }
    return TESS_OK;
}

static tess_status read_all(reader *r, const tess_bundle_entry *entry, void *dst)
{
    TESS_TRY(same_shape(r, entry));
    const int64_t n_row = r->data.rank > 0 ? r->data.shape[0] : 1;
    return entry->n_item > 0 ? r->format->read(&r->bundle->ctx->host, &r->data, 0, n_row, dst)
                             : TESS_OK;
}

tess_status tess_bundle_read(const tess_bundle *bundle, const tess_bundle_entry *entry, void *dst,
                             uint64_t dst_bytes)
{
    reader r;
    tess_status status = reader_open(bundle, entry, &r);
    if (status != TESS_OK) {
        return finish(bundle, status);
    }
    if ((uint64_t)entry->n_item * (uint64_t)r.data.item_bytes != dst_bytes) {
        status = tess_error_set(TESS_E_SHAPE, "%s: data set '%s' does not take %llu bytes",
                                bundle->path, entry->name, (unsigned long long)dst_bytes);
    } else {
        status = read_all(&r, entry, dst);
    }
    reader_close(&r);
    return finish(bundle, status);
}

// What the items become.
typedef enum wanted { WANT_F64, WANT_I64, WANT_BOOL } wanted;

static double real_of(tess_dtype dtype, const void *src, int64_t i)
{
    switch (dtype) {
    case TESS_BOOL:
    case TESS_U8:
        return ((const uint8_t *)src)[i];
    case TESS_I8:
        return ((const int8_t *)src)[i];
    case TESS_I16:
        return ((const int16_t *)src)[i];
    case TESS_U16:
        return ((const uint16_t *)src)[i];
    case TESS_I32:
        return ((const int32_t *)src)[i];
    case TESS_U32:
        return ((const uint32_t *)src)[i];
    case TESS_I64:
        return (double)((const int64_t *)src)[i];
    case TESS_U64:
        return (double)((const uint64_t *)src)[i];
    case TESS_F32:
        return (double)((const float *)src)[i];
    default:
        return ((const double *)src)[i];
    }
}

static bool is_readable(int32_t dtype)
{
    return (dtype >= TESS_BOOL && dtype <= TESS_U64) || dtype == TESS_F32 || dtype == TESS_F64;
}

// 2^63 and beyond, fractions and NaN are no i64.
static bool whole_of(tess_dtype dtype, const void *src, int64_t i, int64_t *out)
{
    if (dtype == TESS_I64) {
        *out = ((const int64_t *)src)[i];
        return true;
    }
    if (dtype == TESS_U64) {
        *out = (int64_t)((const uint64_t *)src)[i];
        return *out >= 0;
    }
    const double value = real_of(dtype, src, i);
    const bool is_whole = value == floor(value) && fabs(value) < 0x1p62;
    *out = is_whole ? (int64_t)value : 0;
    return is_whole;
}

static tess_status convert(const reader *r, const tess_bundle_entry *entry, wanted kind,
                           const void *src, int64_t at, int64_t n, void *dst)
{
    const tess_dtype dtype = (tess_dtype)entry->dtype;
    for (int64_t i = 0; i < n; i++) {
        if (kind == WANT_F64) {
            ((double *)dst)[at + i] = real_of(dtype, src, i);
        } else if (kind == WANT_BOOL) {
            ((uint8_t *)dst)[at + i] = real_of(dtype, src, i) != 0;
        } else if (!whole_of(dtype, src, i, &((int64_t *)dst)[at + i])) {
            TESS_FAIL(TESS_E_FORMAT, "%s: data set '%s': item %lld is %g; expected a whole number",
                      r->bundle->path, entry->name, (long long)(at + i), real_of(dtype, src, i));
        }
    }
    return TESS_OK;
}

static tess_status read_converted(reader *r, const tess_bundle_entry *entry, wanted kind, void *dst)
{
    TESS_TRY(same_shape(r, entry));
    const int64_t n_row = r->data.rank > 0 ? r->data.shape[0] : 1;
    if (entry->n_item == 0) {
        return TESS_OK;
    }
    const int64_t row_items = entry->n_item / n_row;
    const int64_t rows = row_items < PIECE_ITEMS ? PIECE_ITEMS / row_items : 1;
    const size_t bytes = (size_t)(rows * row_items) * (size_t)r->data.item_bytes;
    tess_heap *heap = &r->bundle->ctx->heap;
    void *piece = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "a data set");
    tess_status status = piece ? TESS_OK : TESS_E_MEMORY;
    for (int64_t first = 0; first < n_row && status == TESS_OK; first += rows) {
        const int64_t count = n_row - first < rows ? n_row - first : rows;
        status = r->format->read(&r->bundle->ctx->host, &r->data, first, count, piece);
        if (status == TESS_OK) {
            status = convert(r, entry, kind, piece, first * row_items, count * row_items, dst);
        }
    }
    tess_heap_free(heap, piece, bytes, TESS_TAG_IO);
    return status;
}

static tess_status read_as(const tess_bundle *bundle, const tess_bundle_entry *entry, wanted kind,
                           void *dst)
{
    if (!is_readable(entry->dtype)) {
        TESS_FAIL(TESS_E_DTYPE, "%s: data set '%s' is %s; expected real or whole numbers",
                  bundle->path, entry->name, entry->type_text);
    }
    reader r;
    tess_status status = reader_open(bundle, entry, &r);
    if (status == TESS_OK) {
        status = read_converted(&r, entry, kind, dst);
        reader_close(&r);
    }
    return finish(bundle, status);
}

tess_status tess_bundle_read_f64(const tess_bundle *bundle, const tess_bundle_entry *entry,
                                 double *dst)
{
    return read_as(bundle, entry, WANT_F64, dst);
}

tess_status tess_bundle_read_i64(const tess_bundle *bundle, const tess_bundle_entry *entry,
                                 int64_t *dst)
{
    return read_as(bundle, entry, WANT_I64, dst);
}

tess_status tess_bundle_read_bool(const tess_bundle *bundle, const tess_bundle_entry *entry,
                                  uint8_t *dst)
{
    return read_as(bundle, entry, WANT_BOOL, dst);
}

// Texts of fixed length: bytes, or NumPy's characters of four bytes.
static tess_status visit_fixed_texts(reader *r, const tess_bundle_entry *entry, tess_text_fn visit,
                                     void *user)
{
    tess_heap *heap = &r->bundle->ctx->heap;
    const size_t width = (size_t)r->data.item_bytes;
    const bool is_wide = r->data.dtype == TESS_UCS4;
    if (!is_wide && r->data.dtype != TESS_BYTES) {
        TESS_FAIL(TESS_E_DTYPE, "%s: data set '%s' is %s; expected text", r->bundle->path,
                  entry->name, entry->type_text);
    }
    const size_t bytes = (size_t)entry->n_item * width; // checked by the format
    char *items = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "texts");
    char *text = tess_heap_alloc(heap, width + 1, TESS_TAG_IO, "a text");
    tess_status status = items && text ? read_all(r, entry, items) : TESS_E_MEMORY;
    for (int64_t i = 0; i < entry->n_item && status == TESS_OK; i++) {
        const char *item = items + (size_t)i * width;
        if (is_wide) {
            tess_utf8_from_ucs4((const uint32_t *)(const void *)item, width / 4, text);
        } else {
            memcpy(text, item, width);
            text[width] = '\0';
        }
        if (visit(user, i, text)) {
            break;
        }
    }
    tess_heap_free(heap, text, width + 1, TESS_TAG_IO);
    tess_heap_free(heap, items, bytes, TESS_TAG_IO);
    return status;
}

tess_status tess_bundle_read_texts(const tess_bundle *bundle, const tess_bundle_entry *entry,
                                   tess_text_fn visit, void *user)
{
    const tess_format *format = NULL;
    TESS_TRY(tess_format_of_file(bundle->ctx, bundle->path, &format));
    if (format->texts) {
        return finish(bundle,
                      format->texts(&bundle->ctx->host, bundle->path, entry->name, visit, user));
    }
    reader r;
    tess_status status = reader_open(bundle, entry, &r);
    if (status == TESS_OK) {
        status = visit_fixed_texts(&r, entry, visit, user);
        reader_close(&r);
    }
    return finish(bundle, status);
}

static int32_t attribute(const tess_bundle *bundle, const char *object, const char *name,
                         double *number, char *text, size_t capacity)
{
    const tess_format *format = NULL;
    int32_t kind = 0;
    const tess_status status = tess_format_of_file(bundle->ctx, bundle->path, &format);
    if (status != TESS_OK || !format->attribute ||
        format->attribute(&bundle->ctx->host, bundle->path, object, name, &kind, number, text,
                          capacity) != TESS_OK) {
        tess_error_clear(); // an attribute that cannot be read counts as none
        return 0;
    }
    return kind;
}

bool tess_bundle_number_attribute(const tess_bundle *bundle, const char *object, const char *name,
                                  double *number)
{
    char text[8];
    double found = 0;
    const bool is_number = attribute(bundle, object, name, &found, text, sizeof text) == 1;
    *number = is_number ? found : *number;
    return is_number;
}

bool tess_bundle_text_attribute(const tess_bundle *bundle, const char *object, const char *name,
                                char *text, size_t capacity)
{
    double number = 0;
    text[0] = '\0';
    return attribute(bundle, object, name, &number, text, capacity) == 2;
}
