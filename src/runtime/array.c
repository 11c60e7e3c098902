#include "tessera/array.h"

#include "base/checked.h"
#include "base/status.h"

#include <string.h>

const char *tess_dtype_name(tess_dtype dtype)
{
    switch (dtype) {
#define DTYPE_CASE(name, value, text, bytes, kind)                                                 \
    case name:                                                                                     \
        return text;
        TESS_DTYPE_LIST(DTYPE_CASE)
#undef DTYPE_CASE
    }
    return "unknown";
}

size_t tess_dtype_bytes(tess_dtype dtype)
{
    switch (dtype) {
#define DTYPE_CASE(name, value, text, bytes, kind)                                                 \
    case name:                                                                                     \
        return bytes;
        TESS_DTYPE_LIST(DTYPE_CASE)
#undef DTYPE_CASE
    }
    return 0;
}

tess_status tess_array_init(tess_array *a, void *data, tess_dtype dtype, int32_t rank,
                            const int64_t *shape)
{
    tess_error_clear();
    memset(a, 0, sizeof *a);
    if (rank < 0 || rank > TESS_MAX_RANK) {
        TESS_FAIL(TESS_E_SHAPE, "rank: %d is out of range; allowed is 0 to %d", rank,
                  TESS_MAX_RANK);
    }
    const int64_t item_bytes = (int64_t)tess_dtype_bytes(dtype);
    if (item_bytes == 0) {
        TESS_FAIL(TESS_E_DTYPE, "dtype: %d has no fixed size", (int)dtype);
    }
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (shape[i] < 0) {
            TESS_FAIL(TESS_E_SHAPE, "shape[%d]: %lld is negative", i, (long long)shape[i]);
        }
        a->shape[i] = shape[i];
        a->stride[i] = stride;
        if (!tess_mul_i64(stride, shape[i] > 0 ? shape[i] : 1, &stride)) {
            TESS_FAIL(TESS_E_SHAPE, "shape: more items than can be counted");
        }
    }
    int64_t bytes;
    if (!tess_mul_i64(stride, item_bytes, &bytes)) {
        TESS_FAIL(TESS_E_SHAPE, "shape: more bytes than can be counted");
    }
    a->data = data;
    a->dtype = (int32_t)dtype;
    a->space = TESS_SPACE_HOST;
    a->rank = rank;
    a->item_bytes = item_bytes;
    return TESS_OK;
}

int64_t tess_array_items(const tess_array *a)
{
    int64_t n = 1;
    for (int32_t i = 0; i < a->rank; i++) {
        n *= a->shape[i];
    }
    return n;
}

int tess_array_is_contiguous(const tess_array *a)
{
    int64_t stride = 1;
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        if (a->shape[i] != 1 && a->stride[i] != stride) {
            return tess_array_items(a) == 0;
        }
        stride *= a->shape[i];
    }
    return 1;
}
