#include "systems/autoreject/files/eeglab_mat.h"

#include "base/checked.h"
#include "base/status.h"
#include "runtime/unpack.h"

#include <inttypes.h>
#include <string.h>

enum {
    HEADER_BYTES = 128,
    TAG_BYTES = 8,
    MI_INT8 = 1,
    MI_INT32 = 5,
    MI_UINT32 = 6,
    MI_MATRIX = 14,
    MI_COMPRESSED = 15,
    MAX_PACKING = 1032, // no stretch of deflate data becomes longer than this many times itself
};

// An unpacked variable.
struct tess_mat_block {
    tess_mat_block *previous;
    size_t bytes; // of the block and what follows it
    uint8_t data[];
};

// A word of the file's byte order.
static uint32_t word_of(const tess_mat *mat, uint32_t word)
{
    return mat->is_swapped ? __builtin_bswap32(word) : word;
}

// An element: its type and where its data lie.
typedef struct element {
    uint32_t type;
    uint64_t data, bytes;
    uint64_t next; // where the element behind it begins
} element;

static tess_status unsound(const tess_mat *mat, const uint8_t *memory, uint64_t at,
                           const char *what)
{
    TESS_FAIL(TESS_E_FORMAT, "%s: byte %" PRIu64 "%s: %s; the file is damaged: copy it again",
              mat->path, at, memory ? " of an unpacked variable" : "", what);
}

// bytes at an offset of the file or of memory; the caller has checked that they are there.
static tess_status fetch(tess_mat *mat, const uint8_t *memory, uint64_t at, size_t bytes, void *dst)
{
    if (memory) {
        memcpy(dst, memory + at, bytes);
        return TESS_OK;
    }
    if (bytes > sizeof mat->cache / 2) {
        return tess_infile_read(mat->file, dst, bytes, at);
    }
    if (at < mat->cached_at || at + bytes > mat->cached_at + mat->cached_bytes) {
        const uint64_t left = mat->file->bytes - at;
        mat->cached_bytes = 0;
        const size_t n = left < sizeof mat->cache ? (size_t)left : sizeof mat->cache;
        TESS_TRY(tess_infile_read(mat->file, mat->cache, n, at));
        mat->cached_at = at;
        mat->cached_bytes = n;
    }
    memcpy(dst, mat->cache + (at - mat->cached_at), bytes);
    return TESS_OK;
}

// The tag at offset at, which with its data ends at or before end.
static tess_status read_element(tess_mat *mat, const uint8_t *memory, uint64_t at, uint64_t end,
                                element *out)
{
    uint32_t words[2];
    *out = (element){0};
    if (at > end || end - at < TAG_BYTES) {
        return unsound(mat, memory, at, "no room for another element");
    }
    TESS_TRY(fetch(mat, memory, at, sizeof words, words));
    words[0] = word_of(mat, words[0]);
    words[1] = word_of(mat, words[1]);
    if (words[0] >> 16 != 0) { // at most four bytes, in the tag itself
        *out = (element){words[0] & 0xffff, at + 4, words[0] >> 16, at + TAG_BYTES};
        return out->bytes <= 4 ? TESS_OK : unsound(mat, memory, at, "a short element is too long");
    }
    *out = (element){words[0], at + TAG_BYTES, words[1], 0};
    if (out->bytes > end - out->data) {
        return unsound(mat, memory, at, "an element reaches beyond what encloses it");
    }
    const uint64_t padded = out->type == MI_COMPRESSED ? out->bytes : (out->bytes + 7) / 8 * 8;
    out->next = padded > end - out->data ? end : out->data + padded;
    return TESS_OK;
}

tess_status tess_mat_open(tess_context *ctx, const tess_infile *file, tess_mat *out)
{
    uint8_t head[HEADER_BYTES];
    const char *path = file->path;
    *out = (tess_mat){.ctx = ctx, .file = file, .path = path};
    if (file->bytes < sizeof head) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: %" PRIu64 " bytes; a MAT file has a header of %zu", path,
                  file->bytes, sizeof head);
    }
    TESS_TRY(tess_infile_read(file, head, sizeof head, 0));
    out->is_swapped = memcmp(head + 126, "MI", 2) == 0;
    const uint8_t version = out->is_swapped ? head[124] : head[125];
    if ((memcmp(head + 126, "IM", 2) != 0 && !out->is_swapped) || version != 1) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte 124: no MAT file of version 5 or 7.3: open it in EEGLAB and save it "
                  "with File > Preferences > 'MATLAB v6 format', or read it with MNE-Python "
                  "(read_epochs_eeglab or read_raw_eeglab) and give the result to "
                  "tessera.autoreject",
                  path);
    }
    return TESS_OK;
}

void tess_mat_close(tess_mat *mat)
{
    while (mat->blocks) {
        tess_mat_block *block = mat->blocks;
        mat->blocks = block->previous;
        tess_heap_free(&mat->ctx->heap, block, block->bytes, TESS_TAG_IO);
    }
    if (mat->image) {
        mat->ctx->host.release(mat->ctx->host.user, mat->image, mat->image_bytes);
        mat->image = NULL;
    }
}

// Whether a variable that says it takes so many bytes may be unpacked into memory.
static tess_status check_unpacked(const tess_mat *mat, uint64_t at, uint64_t packed, uint64_t bytes)
{
    if (bytes / MAX_PACKING > packed) {
        return unsound(mat, NULL, at, "a compressed variable claims a size it cannot have");
    }
    const uint64_t room = mat->ctx->memory_limit_bytes / 2;
    if (mat->unpacked_bytes > room || bytes > room - mat->unpacked_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: byte %" PRIu64 ": a compressed variable of %" PRIu64
                  " bytes must be unpacked into memory, more than half of the limit (%" PRIu64
                  " bytes); raise the limit, or save the data set as two files (.set and .fdt)",
                  mat->path, at, bytes, mat->ctx->memory_limit_bytes);
    }
    return TESS_OK;
}

static tess_status unpack_data(tess_mat *mat, tess_unpacker *unpacker, const element *packed,
                               tess_mat_place *place)
{
    uint32_t tag[2];
    size_t got = 0;
    TESS_TRY(tess_unpacker_read(unpacker, tag, sizeof tag, &got));
    if (got < sizeof tag || word_of(mat, tag[0]) != MI_MATRIX) {
        return unsound(mat, NULL, packed->data, "a compressed variable is no array");
    }
    const uint32_t data_bytes = word_of(mat, tag[1]);
    TESS_TRY(check_unpacked(mat, packed->data, packed->bytes, data_bytes));
    const size_t bytes = sizeof(tess_mat_block) + TAG_BYTES + data_bytes;
    tess_mat_block *block = tess_heap_alloc(&mat->ctx->heap, bytes, TESS_TAG_IO, "a variable");
    if (!block) {
        return TESS_E_MEMORY;
    }
    block->previous = mat->blocks;
    block->bytes = bytes;
    mat->blocks = block;
    mat->unpacked_bytes += bytes;
    memcpy(block->data, tag, sizeof tag);
    TESS_TRY(tess_unpacker_read(unpacker, block->data + TAG_BYTES, data_bytes, &got));
    if (got < data_bytes) {
        return unsound(mat, NULL, packed->data, "a compressed variable is shorter than it says");
    }
    *place = (tess_mat_place){block->data, 0, TAG_BYTES + (uint64_t)data_bytes};
    return TESS_OK;
}

static tess_status unpack(tess_mat *mat, const element *packed, tess_mat_place *place)
{
    tess_unpacker *unpacker = NULL;
    TESS_TRY(
        tess_unpacker_open(&mat->ctx->heap, mat->file, packed->data, packed->bytes, &unpacker));
    const tess_status status = unpack_data(mat, unpacker, packed, place);
    tess_unpacker_close(unpacker);
    return status;
}

// Name and shape, each element checked for its type.
static tess_status read_shape(tess_mat *mat, const uint8_t *memory, const element *shape,
                              tess_mat_array *out)
{
    int32_t axes[TESS_MAT_MAX_RANK];
    if (shape->type != MI_INT32 || shape->bytes % 4 != 0 || shape->bytes < 8 ||
        shape->bytes > sizeof axes) {
        return unsound(mat, memory, shape->data, "an array's shape is not one");
    }
    TESS_TRY(fetch(mat, memory, shape->data, (size_t)shape->bytes, axes));
    out->rank = (int32_t)(shape->bytes / 4);
    out->n_item = 1;
    for (int32_t i = 0; i < out->rank; i++) {
        out->shape[i] = (int32_t)word_of(mat, (uint32_t)axes[i]);
        if (out->shape[i] < 0 || !tess_mul_i64(out->n_item, out->shape[i], &out->n_item)) {
            return unsound(mat, memory, shape->data, "an array has an impossible shape");
        }
    }
    return TESS_OK;
}

// The header of the array whose element fills place.
static tess_status read_array(tess_mat *mat, const tess_mat_place *place, tess_mat_array *out)
{
    element whole;
    element part;
    uint32_t flags[2];
    const uint8_t *memory = place->memory;
    *out = (tess_mat_array){.place = *place};
    TESS_TRY(read_element(mat, memory, place->begin, place->end, &whole));
    if (whole.type != MI_MATRIX) {
        return unsound(mat, memory, place->begin, "expected an array");
    }
    const uint64_t end = whole.data + whole.bytes;
    if (whole.bytes == 0) {
        return TESS_OK; // MATLAB's []
    }
    TESS_TRY(read_element(mat, memory, whole.data, end, &part));
    if (part.type != MI_UINT32 || part.bytes != sizeof flags) {
        return unsound(mat, memory, whole.data, "an array has no flags");
    }
    TESS_TRY(fetch(mat, memory, part.data, sizeof flags, flags));
    out->array_class = (int32_t)(word_of(mat, flags[0]) & 0xff);
    TESS_TRY(read_element(mat, memory, part.next, end, &part));
    TESS_TRY(read_shape(mat, memory, &part, out));
    TESS_TRY(read_element(mat, memory, part.next, end, &part));
    if (part.type != MI_INT8) {
        return unsound(mat, memory, part.data, "an array has no name");
    }
    const size_t n = part.bytes < sizeof out->name ? (size_t)part.bytes : sizeof out->name - 1;
    TESS_TRY(fetch(mat, memory, part.data, n, out->name));
    out->place = (tess_mat_place){memory, part.next, end};
    return TESS_OK;
}

tess_status tess_mat_next_variable(tess_mat *mat, int64_t *offset, tess_mat_array *out)
{
    element e;
    *out = (tess_mat_array){0};
    const uint64_t bytes = mat->image ? mat->image_bytes : mat->file->bytes;
    const uint64_t at = *offset > 0 ? (uint64_t)*offset : mat->image ? 0 : HEADER_BYTES;
    if (at >= bytes) {
        *offset = -1;
        return TESS_OK;
    }
    TESS_TRY(read_element(mat, mat->image, at, bytes, &e));
    tess_mat_place place = {mat->image, at, bytes};
    if (e.type == MI_COMPRESSED && !mat->image) {
        TESS_TRY(unpack(mat, &e, &place));
    } else if (e.type != MI_MATRIX) {
        *offset = (int64_t)e.next; // nothing that EEGLAB writes
        return TESS_OK;
    }
    *offset = (int64_t)e.next;
    return read_array(mat, &place, out);
}

// The field names; the element that tells their length came before.
static tess_status read_names(tess_mat *mat, const tess_mat_array *array, tess_mat_struct *s,
                              uint64_t *at)
{
    element length;
    element names;
    int32_t width = 0;
    const uint8_t *memory = array->place.memory;
    const uint64_t end = array->place.end;
    TESS_TRY(read_element(mat, memory, array->place.begin, end, &length));
    if (length.type != MI_INT32 || length.bytes != sizeof width) {
        return unsound(mat, memory, array->place.begin, "a struct has no length of field names");
    }
    TESS_TRY(fetch(mat, memory, length.data, sizeof width, &width));
    width = (int32_t)word_of(mat, (uint32_t)width);
    TESS_TRY(read_element(mat, memory, length.next, end, &names));
    if (names.type != MI_INT8 || width < 1 || width > TESS_MAT_NAME_BYTES ||
        names.bytes % (uint64_t)width != 0) {
        return unsound(mat, memory, length.next, "a struct has no field names");
    }
    s->n_field = (int64_t)(names.bytes / (uint64_t)width);
    s->names = tess_heap_alloc_zero(&mat->ctx->heap, (size_t)s->n_field * sizeof *s->names,
                                    TESS_TAG_IO, "field names");
    if (!s->names) {
        return TESS_E_MEMORY;
    }
    for (int64_t f = 0; f < s->n_field; f++) {
        TESS_TRY(
            fetch(mat, memory, names.data + (uint64_t)(f * width), (size_t)width, s->names[f]));
        s->names[f][TESS_MAT_NAME_BYTES - 1] = '\0';
    }
    *at = names.next;
    return TESS_OK;
}

static tess_status index_fields(tess_mat *mat, const tess_mat_array *array, tess_mat_struct *s)
{
    uint64_t at = 0;
    TESS_TRY(read_names(mat, array, s, &at));
    int64_t n = 0;
    // Every element takes eight bytes at least: what cannot be there is not made room for.
    if (!tess_mul_i64(array->n_item, s->n_field, &n) ||
        (uint64_t)n > (array->place.end - at) / TAG_BYTES) {
        return unsound(mat, s->memory, at, "a struct array has more items than there is room for");
    }
    s->n_item = array->n_item;
    s->offsets = tess_heap_alloc(&mat->ctx->heap, ((size_t)n + 1) * sizeof *s->offsets, TESS_TAG_IO,
                                 "fields");
    if (!s->offsets) {
        s->n_item = 0;
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        element e;
        TESS_TRY(read_element(mat, s->memory, at, array->place.end, &e));
        s->offsets[i] = at;
        at = e.next;
    }
    s->offsets[n] = at;
    return TESS_OK;
}

tess_status tess_mat_struct_open(tess_mat *mat, const tess_mat_array *array, tess_mat_struct *out)
{
    *out = (tess_mat_struct){.mat = mat, .memory = array->place.memory};
    if (array->array_class == 0 || array->n_item == 0) {
        return TESS_OK;
    }
    if (array->array_class != TESS_MAT_STRUCT) {
        return unsound(mat, array->place.memory, array->place.begin, "expected a struct");
    }
    const tess_status status = index_fields(mat, array, out);
    if (status != TESS_OK) {
        tess_mat_struct_close(out);
    }
    return status;
}

void tess_mat_struct_close(tess_mat_struct *s)
{
    if (!s->mat) {
        return;
    }
    tess_heap *heap = &s->mat->ctx->heap;
    if (s->names) {
        tess_heap_free(heap, s->names, (size_t)s->n_field * sizeof *s->names, TESS_TAG_IO);
    }
    if (s->offsets) {
        tess_heap_free(heap, s->offsets,
                       ((size_t)(s->n_item * s->n_field) + 1) * sizeof *s->offsets, TESS_TAG_IO);
    }
    *s = (tess_mat_struct){0};
}

tess_status tess_mat_field(const tess_mat_struct *s, int64_t item, const char *name,
                           tess_mat_array *out)
{
    *out = (tess_mat_array){0};
    for (int64_t f = 0; f < s->n_field; f++) {
        if (strcmp(s->names[f], name) == 0) {
            const uint64_t *offset = &s->offsets[item * s->n_field + f];
            const tess_mat_place place = {s->memory, offset[0], offset[1]};
            return read_array(s->mat, &place, out);
        }
    }
    return TESS_OK;
}

tess_status tess_mat_cell(tess_mat *mat, const tess_mat_array *array, int64_t k,
                          tess_mat_array *out)
{
    const uint8_t *memory = array->place.memory;
    uint64_t at = array->place.begin;
    element e = {0};
    *out = (tess_mat_array){0};
    if (array->array_class != TESS_MAT_CELL || k >= array->n_item) {
        return TESS_OK;
    }
    for (int64_t i = 0; i <= k; i++) {
        TESS_TRY(read_element(mat, memory, at, array->place.end, &e));
        if (i < k) {
            at = e.next;
        }
    }
    const tess_mat_place place = {memory, at, e.next};
    return read_array(mat, &place, out);
}

static int32_t dtype_of(uint32_t type)
{
    // By their numbers in the file; 16 to 18 are text.
    static const int32_t types[] = {
        0, TESS_I8, TESS_U8,  TESS_I16, TESS_U16, TESS_I32, TESS_U32, TESS_F32, 0,       TESS_F64,
        0, 0,       TESS_I64, TESS_U64, 0,        0,        TESS_U8,  TESS_U16, TESS_U32};
    return type < sizeof types / sizeof *types ? types[type] : 0;
}

tess_status tess_mat_numbers(tess_mat *mat, const tess_mat_array *array, int32_t *dtype,
                             tess_mat_place *data)
{
    const tess_mat_place *p = &array->place;
    element e;
    *dtype = 0;
    const bool is_plain =
        array->array_class == TESS_MAT_CHAR ||
        (array->array_class >= TESS_MAT_DOUBLE && array->array_class <= TESS_MAT_LAST_NUMBER);
    if (!is_plain || array->n_item == 0) {
        return TESS_OK;
    }
    TESS_TRY(read_element(mat, p->memory, p->begin, p->end, &e));
    *dtype = dtype_of(e.type);
    if (*dtype == 0) {
        return unsound(mat, p->memory, p->begin, "an array is stored in an unknown number type");
    }
    *data = (tess_mat_place){p->memory, e.data, e.data + e.bytes};
    return TESS_OK;
}
