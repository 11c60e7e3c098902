#include "io/npy_array.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

// Fortran order is turned in blocks: COLUMN_BLOCK runs of the file side by side give pieces of
// that many neighbouring items in memory, about one cache line of f32.
enum { BLOCK_BYTES = 1 << 16, COLUMN_BLOCK = 16 };

tess_status tess_npy_header_load(const tess_host *host, const char *name,
                                 const tess_byte_source *source, tess_npy_header *out)
{
    uint8_t head[TESS_NPY_PREAMBLE_BYTES] = {0};
    const size_t head_bytes = source->bytes < sizeof head ? (size_t)source->bytes : sizeof head;
    TESS_TRY(source->read_at(source->self, 0, head_bytes, head));
    uint64_t header_bytes = 0;
    TESS_TRY(tess_npy_header_length(name, head, head_bytes, &header_bytes));
    if (header_bytes > source->bytes) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: ends after %" PRIu64 " bytes, inside its header of %" PRIu64
                  "; copy the file again",
                  name, source->bytes, header_bytes);
    }
    uint8_t *header = host->alloc(host->user, (size_t)header_bytes);
    if (header == NULL) {
        return TESS_E_MEMORY;
    }
    tess_status status = source->read_at(source->self, 0, header_bytes, header);
    if (status == TESS_OK) {
        status = tess_npy_header_parse(name, header, (size_t)header_bytes, out);
    }
    host->release(host->user, header, (size_t)header_bytes);
    return status;
}

// Bytes of one item of the first axis.
static uint64_t row_bytes(const tess_npy_header *header)
{
    uint64_t bytes = (uint64_t)header->item_bytes;
    for (int32_t axis = 1; axis < header->rank; axis++) {
        bytes *= (uint64_t)header->shape[axis];
    }
    return bytes;
}

tess_status tess_npy_header_fit(const char *name, uint64_t source_bytes, int allow_truncated,
                                tess_npy_header *header)
{
    const uint64_t found =
        source_bytes > header->data_offset ? source_bytes - header->data_offset : 0;
    if (found >= header->data_bytes) {
        return TESS_OK;
    }
    const bool has_items = header->rank > 0 && !header->fortran_order;
    const uint64_t whole = has_items ? found / row_bytes(header) : 0;
    if (allow_truncated && whole > 0) {
        header->shape[0] = (int64_t)whole;
        header->data_bytes = whole * row_bytes(header);
        return TESS_OK;
    }
    tess_error_set(TESS_E_TRUNCATED,
                   "%s: truncated: expected %" PRIu64 " bytes of data from byte %" PRIu64
                   " on, found %" PRIu64 "; copy the file again",
                   name, header->data_bytes, header->data_offset, found);
    if (whole > 0) {
        tess_error_append(", or pass --allow-truncated to keep the first %" PRIu64 " of %" PRId64
                          " items",
                          whole, header->shape[0]);
    } else if (allow_truncated) {
        tess_error_append(" (%s)", header->fortran_order
                                       ? "in Fortran order a truncated file has no whole item"
                                       : "it does not hold one whole item");
    }
    return TESS_E_TRUNCATED;
}

tess_status tess_npy_array_init(const tess_host *host, const tess_npy_header *header,
                                const tess_byte_source *source, tess_npy_array *out)
{
    *out = (tess_npy_array){.header = *header, .source = *source};
    if (!header->fortran_order) {
        return TESS_OK;
    }
    const size_t item = (size_t)header->item_bytes;
    out->block_bytes = item > BLOCK_BYTES ? item : BLOCK_BYTES;
    out->block = host->alloc(host->user, out->block_bytes);
    return out->block != NULL ? TESS_OK : TESS_E_MEMORY;
}

void tess_npy_array_release(const tess_host *host, tess_npy_array *array)
{
    if (array->block != NULL) {
        host->release(host->user, array->block, array->block_bytes);
    }
    array->block = NULL;
}

static void swap_units(void *data, uint64_t bytes, uint32_t unit)
{
    // memcpy: the destination belongs to the caller and may be of any alignment.
    char *at = data;
    for (uint64_t i = 0; i < bytes; i += unit, at += unit) {
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        switch (unit) {
        case 2:
            memcpy(&u16, at, 2);
            u16 = __builtin_bswap16(u16);
            memcpy(at, &u16, 2);
            break;
        case 4:
            memcpy(&u32, at, 4);
            u32 = __builtin_bswap32(u32);
            memcpy(at, &u32, 4);
            break;
        default:
            memcpy(&u64, at, 8);
            u64 = __builtin_bswap64(u64);
            memcpy(at, &u64, 8);
            break;
        }
    }
}

// A block of the file's items: n_row along the first axis (neighbours in the file) by n_column
// along the last (neighbours in memory).
typedef struct turn_block {
    const char *src;
    char *dst;
    size_t n_row;
    size_t n_column;
    size_t src_column_items; // from one column to the next in src
    size_t dst_row_items;    // from one row to the next in dst
} turn_block;

static inline void turn(const turn_block *b, size_t item)
{
    for (size_t r = 0; r < b->n_row; r++) {
        for (size_t t = 0; t < b->n_column; t++) {
            memcpy(b->dst + (r * b->dst_row_items + t) * item,
                   b->src + (t * b->src_column_items + r) * item, item);
        }
    }
}

// Item sizes known to the compiler turn each memcpy into one load and one store.
static void turn_items(const turn_block *b, size_t item)
{
    switch (item) {
    case 1:
        turn(b, 1);
        break;
    case 2:
        turn(b, 2);
        break;
    case 4:
        turn(b, 4);
        break;
    case 8:
        turn(b, 8);
        break;
    default:
        turn(b, item);
        break;
    }
}

// Index in C order of the middle axes (1..rank-2) for an index counted in Fortran order.
static int64_t middle_in_c_order(const tess_npy_header *header, int64_t fortran_index)
{
    int64_t digit[TESS_MAX_RANK] = {0};
    for (int32_t axis = 1; axis < header->rank - 1; axis++) {
        digit[axis] = fortran_index % header->shape[axis];
        fortran_index /= header->shape[axis];
    }
    int64_t index = 0;
    for (int32_t axis = 1; axis < header->rank - 1; axis++) {
        index = index * header->shape[axis] + digit[axis];
    }
    return index;
}

// One run of columns for one middle index: items first..first+count-1 of the first axis.
static tess_status read_columns(const tess_npy_array *a, int64_t first, int64_t count,
                                int64_t middle, int64_t n_middle, int64_t column, int64_t n_column,
                                char *dst)
{
    const tess_npy_header *h = &a->header;
    const size_t item = (size_t)h->item_bytes;
    const int64_t n_last = h->shape[h->rank - 1];
    const int64_t row_step = (int64_t)(a->block_bytes / (item * (size_t)n_column));
    const int64_t dst_column = middle_in_c_order(h, middle) * n_last + column;
    for (int64_t row = 0; row < count; row += row_step) {
        const int64_t n_row = count - row < row_step ? count - row : row_step;
        for (int64_t t = 0; t < n_column; t++) {
            const int64_t index = first + row + h->shape[0] * (middle + n_middle * (column + t));
            TESS_TRY(a->source.read_at(a->source.self, h->data_offset + (uint64_t)index * item,
                                       (uint64_t)n_row * item,
                                       a->block + (size_t)(t * row_step) * item));
        }
        const turn_block block = {
            .src = a->block,
            .dst = dst + (size_t)(row * n_middle * n_last + dst_column) * item,
            .n_row = (size_t)n_row,
            .n_column = (size_t)n_column,
            .src_column_items = (size_t)row_step,
            .dst_row_items = (size_t)(n_middle * n_last),
        };
        turn_items(&block, item);
    }
    return TESS_OK;
}

static tess_status read_fortran(const tess_npy_array *a, int64_t first, int64_t count, char *dst)
{
    const tess_npy_header *h = &a->header;
    const int64_t n_last = h->shape[h->rank - 1];
    int64_t n_middle = 1;
    for (int32_t axis = 1; axis < h->rank - 1; axis++) {
        n_middle *= h->shape[axis];
    }
    // A stream must not jump between columns.
    const bool one_by_one =
        a->source.is_forward_only || (size_t)h->item_bytes * COLUMN_BLOCK > a->block_bytes;
    const int64_t column_step = one_by_one ? 1 : COLUMN_BLOCK;
    for (int64_t column = 0; column < n_last; column += column_step) {
        const int64_t left = n_last - column;
        const int64_t n_column = left < column_step ? left : column_step;
        for (int64_t middle = 0; middle < n_middle; middle++) {
            TESS_TRY(read_columns(a, first, count, middle, n_middle, column, n_column, dst));
        }
    }
    return TESS_OK;
}

tess_status tess_npy_array_read(const tess_npy_array *array, int64_t first, int64_t count,
                                void *dst)
{
    const tess_npy_header *header = &array->header;
    const int64_t n_item = header->rank > 0 ? header->shape[0] : 1;
    if (first < 0 || count < 0 || first > n_item || count > n_item - first) {
        TESS_FAIL(TESS_E_RANGE,
                  "items %" PRId64 "..+%" PRId64 " are not among the %" PRId64 " of the array",
                  first, count, n_item);
    }
    const uint64_t bytes = (uint64_t)count * row_bytes(header);
    if (bytes == 0) {
        return TESS_OK;
    }
    if (header->fortran_order) {
        TESS_TRY(read_fortran(array, first, count, dst));
    } else {
        const uint64_t offset = header->data_offset + (uint64_t)first * row_bytes(header);
        TESS_TRY(array->source.read_at(array->source.self, offset, bytes, dst));
    }
    if (header->swap_bytes != 0) {
        swap_units(dst, bytes, header->swap_bytes);
    }
    return TESS_OK;
}

int tess_npy_header_is_direct(const tess_npy_header *header, uint64_t file_offset)
{
    return !header->fortran_order && header->swap_bytes == 0 &&
           file_offset % header->align_bytes == 0;
}

void tess_npy_header_describe(const tess_npy_header *header, tess_format_reader *reader)
{
    reader->dtype = header->dtype;
    reader->rank = header->rank;
    reader->item_bytes = header->item_bytes;
    memcpy(reader->shape, header->shape, sizeof reader->shape);
}

int tess_npy_header_visit(const tess_npy_header *header, const char *name, const char *type_text,
                          tess_dataset_fn visit, void *user)
{
    tess_dataset_info info = {
        .struct_size = sizeof info,
        .dtype = header->dtype,
        .rank = header->rank < TESS_MAX_RANK ? header->rank : TESS_MAX_RANK,
        .name = name,
        .type_text = type_text,
    };
    memcpy(info.shape, header->shape, sizeof info.shape);
    return visit(user, &info);
}
