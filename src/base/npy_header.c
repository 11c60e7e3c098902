#include "base/npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PREAMBLE_BYTES = 10, ALIGN_BYTES = 64, DESCR_BYTES = 32 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_ORDER '<'
#else
#define NATIVE_ORDER '>'
#endif

static char kind_of(tess_dtype dtype)
{
    switch (dtype) {
#define KIND_CASE(name, value, text, bytes, kind)                                                  \
    case name:                                                                                     \
        return kind;
        TESS_DTYPE_LIST(KIND_CASE)
#undef KIND_CASE
    }
    return 'V';
}

static int64_t bytes_of(tess_dtype dtype)
{
    switch (dtype) {
#define BYTES_CASE(name, value, text, bytes, kind)                                                 \
    case name:                                                                                     \
        return bytes;
        TESS_DTYPE_LIST(BYTES_CASE)
#undef BYTES_CASE
    }
    return 0;
}

int tess_npy_descr(tess_dtype dtype, int64_t item_bytes, char *text, size_t capacity)
{
    const char kind = kind_of(dtype);
    int64_t width = bytes_of(dtype);
    if (kind == 'V') {
        return 0;
    }
    if (kind == 'S') {
        width = item_bytes;
    }
    if (kind == 'U') {
        width = item_bytes / 4;
    }
    if (width <= 0) {
        return 0;
    }
    const char order = (width == 1 && kind != 'U') || kind == 'S' ? '|' : NATIVE_ORDER;
    const int length = snprintf(text, capacity, "%c%c%" PRId64, order, kind, width);
    return length > 0 && (size_t)length < capacity;
}

size_t tess_npy_header_make(char *buffer, size_t capacity, tess_dtype dtype, int64_t item_bytes,
                            int32_t rank, const int64_t *shape)
{
    char descr[DESCR_BYTES];
    char dict[TESS_NPY_HEADER_MAX_BYTES];
    if (rank < 0 || rank > TESS_MAX_RANK ||
        !tess_npy_descr(dtype, item_bytes, descr, sizeof descr)) {
        return 0;
    }
    int length =
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int32_t axis = 0; axis < rank; axis++) {
        // A tuple of one is spelled with a comma behind it.
        const char *separator = rank == 1 ? "," : axis + 1 < rank ? ", " : "";
        length += snprintf(dict + length, sizeof dict - (size_t)length, "%" PRId64 "%s",
                           shape[axis], separator);
    }
    length += snprintf(dict + length, sizeof dict - (size_t)length, "), }");

    const size_t used = PREAMBLE_BYTES + (size_t)length + 1;
    const size_t total = (used + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (total > capacity) {
        return 0;
    }
    const size_t dict_bytes = total - PREAMBLE_BYTES;
    memcpy(buffer, "\x93NUMPY\x01\x00", 8);
    buffer[8] = (char)(dict_bytes & 0xff);
    buffer[9] = (char)(dict_bytes >> 8);
    memcpy(buffer + PREAMBLE_BYTES, dict, (size_t)length);
    memset(buffer + PREAMBLE_BYTES + length, ' ', dict_bytes - (size_t)length - 1);
    buffer[total - 1] = '\n';
    return total;
}
