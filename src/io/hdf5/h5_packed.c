// Packed chunks, unpacked here: the library (1.10) takes the sizes of its index on trust, and where
// a byte of it is wrong copies from behind what it unpacked. It is also a copy less.

#include "h5_support.h"

#include "lzf.h"

#include <string.h>

#if TESS_H5_HAVE_ZLIB
#include <zlib.h>
#endif

#if H5_VERSION_GE(1, 10, 5)

enum { MAX_FILTERS = 3 };

typedef struct packed {
    hid_t dataset;
    int rank;
    int n_filter;
    H5Z_filter_t filters[MAX_FILTERS];
    uint64_t item_bytes;
    uint64_t chunk_bytes;
    hsize_t chunk[TESS_MAX_RANK];
    hsize_t shape[TESS_MAX_RANK];
    uint8_t *buffers[3]; // [chunk_bytes] each, taken when needed: two between filters, one chunk
} packed;

static uint8_t *buffer(packed *p, int which)
{
    if (p->buffers[which] == NULL) {
        p->buffers[which] = H5allocate_memory((size_t)p->chunk_bytes, 0);
    }
    return p->buffers[which];
}

static bool is_ours(H5Z_filter_t id)
{
    return id == H5Z_FILTER_SHUFFLE || id == TESS_H5_FILTER_LZF ||
           (TESS_H5_HAVE_ZLIB && id == H5Z_FILTER_DEFLATE);
}

// Filters and chunks that are unpacked here; false leaves a data set to the library.
static bool describe(hid_t creation, const tess_format_reader *reader, packed *p)
{
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    p->rank = reader->rank;
    p->n_filter = H5Pget_nfilters(creation);
    if (H5Pget_layout(creation) != H5D_CHUNKED || p->n_filter < 1 || p->n_filter > MAX_FILTERS ||
        H5Pget_chunk(creation, TESS_MAX_RANK, p->chunk) != p->rank ||
        H5Pfill_value_defined(creation, &fill) < 0 || fill == H5D_FILL_VALUE_USER_DEFINED) {
        return false;
    }
    for (int i = 0; i < p->n_filter; i++) {
        unsigned flags = 0;
        unsigned config = 0;
        size_t n_value = 0;
        p->filters[i] =
            H5Pget_filter2(creation, (unsigned)i, &flags, &n_value, NULL, 0, NULL, &config);
        if (!is_ours(p->filters[i])) {
            return false;
        }
    }
    p->chunk_bytes = p->item_bytes = (uint64_t)reader->item_bytes;
    for (int axis = 0; axis < p->rank; axis++) {
        p->shape[axis] = (hsize_t)reader->shape[axis];
        if (p->chunk[axis] == 0 || p->chunk[axis] > UINT32_MAX ||
            __builtin_mul_overflow(p->chunk_bytes, p->chunk[axis], &p->chunk_bytes)) {
            return false;
        }
    }
    return p->chunk_bytes <= UINT32_MAX;
}

static void unshuffle(const uint8_t *src, uint64_t n_byte, uint64_t item_bytes, uint8_t *dst)
{
    const uint64_t n = n_byte / item_bytes;
    for (uint64_t byte = 0; byte < item_bytes; byte++) {
        for (uint64_t i = 0; i < n; i++) {
            dst[i * item_bytes + byte] = src[byte * n + i];
        }
    }
}

// One filter undone into dst [chunk_bytes]; false where what comes out is not a chunk.
static bool undo(const packed *p, H5Z_filter_t id, const uint8_t *src, uint64_t n_byte,
                 uint8_t *dst)
{
    if (id == TESS_H5_FILTER_LZF) {
        return tess_lzf_unpack(src, (size_t)n_byte, dst, (size_t)p->chunk_bytes) == p->chunk_bytes;
    }
#if TESS_H5_HAVE_ZLIB
    if (id == H5Z_FILTER_DEFLATE) {
        uLongf n = (uLongf)p->chunk_bytes;
        return uncompress(dst, &n, src, (uLong)n_byte) == Z_OK && n == p->chunk_bytes;
    }
#endif
    if (n_byte != p->chunk_bytes) {
        return false;
    }
    unshuffle(src, n_byte, p->item_bytes, dst);
    return true;
}

// Undoes the filters in turn, the last one into dst [chunk_bytes].
static bool unpack(packed *p, unsigned skipped, const uint8_t *stored, uint64_t n_byte,
                   uint8_t *dst)
{
    const uint8_t *from = stored;
    int n_left = 0;
    for (int i = 0; i < p->n_filter; i++) {
        n_left += (skipped & 1U << i) == 0;
    }
    for (int i = p->n_filter - 1; i >= 0; i--) {
        if (skipped & 1U << i) {
            continue;
        }
        uint8_t *to = --n_left == 0 ? dst : buffer(p, n_left % 2);
        if (to == NULL || !undo(p, p->filters[i], from, n_byte, to)) {
            return false;
        }
        from = to;
        n_byte = p->chunk_bytes;
    }
    if (n_byte != p->chunk_bytes) {
        return false;
    }
    if (from == stored) {
        memcpy(dst, stored, (size_t)n_byte);
    }
    return true;
}

// The chunk at offset into dst [chunk_bytes]; zeros where it was never written.
static bool load(packed *p, const hsize_t *offset, uint8_t *dst)
{
    hsize_t n_byte = 0;
    hsize_t unused = 0;
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    if (dst == NULL ||
        H5Dget_chunk_info_by_coord(p->dataset, offset, &mask, &address, &unused) < 0) {
        return false;
    }
    if (address == HADDR_UNDEF) {
        memset(dst, 0, (size_t)p->chunk_bytes);
        return true;
    }
    // In a damaged index searching and reading may find different chunks: only this call looks
    // where reading does.
    if (H5Dget_chunk_storage_size(p->dataset, offset, &n_byte) < 0) {
        return false;
    }
    // Packing never makes a chunk much larger: more is damage.
    if (n_byte > 2 * p->chunk_bytes + 4096) {
        return false;
    }
    uint32_t skipped = 0;
    uint8_t *stored = H5allocate_memory((size_t)n_byte, 0);
    const bool is_right = stored != NULL &&
                          H5Dread_chunk(p->dataset, H5P_DEFAULT, offset, &skipped, stored) >= 0 &&
                          unpack(p, skipped, stored, n_byte, dst);
    H5free_memory(stored);
    return is_right;
}

// Rows of the chunk at offset to where they belong in dst, which begins at row first.
static void place(const packed *p, const uint8_t *unpacked, const hsize_t *offset, hsize_t first,
                  uint8_t *dst)
{
    const int last = p->rank - 1;
    hsize_t extent[TESS_MAX_RANK];
    hsize_t at[TESS_MAX_RANK] = {0};
    for (int axis = 0; axis < p->rank; axis++) {
        const hsize_t left = p->shape[axis] - offset[axis];
        extent[axis] = left < p->chunk[axis] ? left : p->chunk[axis];
    }
    for (;;) {
        uint64_t from = 0;
        uint64_t to = 0;
        for (int axis = 0; axis < p->rank; axis++) {
            from = from * p->chunk[axis] + at[axis];
            to = to * p->shape[axis] + offset[axis] + at[axis] - (axis == 0 ? first : 0);
        }
        memcpy(dst + to * p->item_bytes, unpacked + from * p->item_bytes,
               (size_t)(extent[last] * p->item_bytes));
        int axis = last - 1;
        while (axis >= 0 && ++at[axis] == extent[axis]) {
            at[axis--] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}

// Chunks of whole rows are unpacked where they belong.
static bool is_whole(const packed *p, hsize_t row)
{
    bool is_all = row + p->chunk[0] <= p->shape[0];
    for (int axis = 1; axis < p->rank; axis++) {
        is_all = is_all && p->chunk[axis] == p->shape[axis];
    }
    return is_all;
}

static bool read_chunks(packed *p, hsize_t first, hsize_t count, uint8_t *dst)
{
    hsize_t offset[TESS_MAX_RANK] = {first};
    while (offset[0] < first + count) {
        if (is_whole(p, offset[0])) {
            const uint64_t n_before = (offset[0] - first) / p->chunk[0];
            if (!load(p, offset, dst + n_before * p->chunk_bytes)) {
                return false;
            }
        } else {
            if (!load(p, offset, buffer(p, 2))) {
                return false;
            }
            place(p, p->buffers[2], offset, first, dst);
        }
        int axis = p->rank - 1;
        while ((offset[axis] += p->chunk[axis]) >= p->shape[axis] && axis > 0) {
            offset[axis--] = 0;
        }
    }
    return true;
}

// Items of the file's type to those that are delivered, of the same size.
static bool convert(hid_t dataset, hid_t memory_type, int64_t n_item, void *items)
{
    const hid_t type = H5Dget_type(dataset);
    const bool is_right =
        H5Tequal(type, memory_type) > 0 ||
        H5Tconvert(type, memory_type, (size_t)n_item, items, NULL, H5P_DEFAULT) >= 0;
    tess_h5_close_id(type);
    return is_right;
}

static bool has_size(hid_t dataset, uint64_t item_bytes)
{
    const hid_t type = H5Dget_type(dataset);
    const bool is_same = H5Tget_size(type) == item_bytes;
    tess_h5_close_id(type);
    return is_same;
}

int tess_h5_packed_read(hid_t dataset, hid_t memory_type, const tess_format_reader *reader,
                        int64_t first, int64_t count, void *dst)
{
    packed p = {.dataset = dataset};
    const hid_t creation = H5Dget_create_plist(dataset);
    const bool is_known = reader->rank > 0 && describe(creation, reader, &p);
    tess_h5_close_id(creation);
    // Parts of chunks are the library's, which keeps the rest for the next call.
    if (!is_known || !has_size(dataset, p.item_bytes) || (hsize_t)first % p.chunk[0] != 0 ||
        ((hsize_t)count % p.chunk[0] != 0 && first + count != reader->shape[0])) {
        return 0;
    }
    int64_t n_item = count;
    for (int axis = 1; axis < p.rank; axis++) {
        n_item *= reader->shape[axis];
    }
    const bool is_right = read_chunks(&p, (hsize_t)first, (hsize_t)count, dst) &&
                          convert(dataset, memory_type, n_item, dst);
    for (int i = 0; i < 3; i++) {
        H5free_memory(p.buffers[i]);
    }
    return is_right ? 1 : -1;
}

#else

int tess_h5_packed_read(hid_t dataset, hid_t memory_type, const tess_format_reader *reader,
                        int64_t first, int64_t count, void *dst)
{
    (void)dataset, (void)memory_type, (void)reader, (void)first, (void)count, (void)dst;
    return 0;
}

#endif
