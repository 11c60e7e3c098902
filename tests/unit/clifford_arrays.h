// Arrays of multivectors for tests: from doubles, in any type and layout, and back.
#ifndef TESS_TESTS_CLIFFORD_ARRAYS_H
#define TESS_TESTS_CLIFFORD_ARRAYS_H

#include "base/half.h"
#include "tessera/clifford.h"
#include "unit_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// How the items of an array lie.
typedef enum cl_layout {
    CL_CONTIGUOUS,
    CL_LAST_FIRST, // first axis fastest: channel-last
    CL_BACKWARDS,  // every stride negative
    CL_GAPS,       // every second item
    CL_N_LAYOUT
} cl_layout;

// Blocks that live until cl_free_all().
static void *cl_blocks[4096];
static int cl_n_block;

static inline void *cl_alloc(size_t bytes)
{
    assert_in_range(cl_n_block, 0, 4095);
    void *block = malloc(bytes + 1);
    assert_non_null(block);
    memset(block, 0xff, bytes); // NaN in every type
    cl_blocks[cl_n_block++] = block;
    return block;
}

static inline void cl_free_all(void)
{
    while (cl_n_block > 0) {
        free(cl_blocks[--cl_n_block]);
    }
}

static inline void cl_put(const tess_array *a, int64_t i, double value)
{
    switch (a->dtype) {
    case TESS_F64:
        ((double *)a->data)[i] = value;
        break;
    case TESS_F32:
        ((float *)a->data)[i] = (float)value;
        break;
    case TESS_BF16:
        ((uint16_t *)a->data)[i] = tess_bf16_of_f32((float)value);
        break;
    default:
        ((uint16_t *)a->data)[i] = tess_f16_of_f32((float)value);
    }
}

static inline double cl_get(const tess_array *a, int64_t i)
{
    switch (a->dtype) {
    case TESS_F64:
        return ((const double *)a->data)[i];
    case TESS_F32:
        return (double)((const float *)a->data)[i];
    case TESS_BF16:
        return (double)tess_f32_of_bf16(((const uint16_t *)a->data)[i]);
    default:
        return (double)tess_f32_of_f16(((const uint16_t *)a->data)[i]);
    }
}

// Offset of the i-th item in C order.
static inline int64_t cl_offset(const tess_array *a, int64_t i)
{
    int64_t offset = 0;
    for (int32_t axis = a->rank - 1; axis >= 0; axis--) {
        offset += i % a->shape[axis] * a->stride[axis];
        i /= a->shape[axis];
    }
    return offset;
}

// An array of NaN; axes of 0 behind the last are not there.
static inline tess_array *cl_empty(tess_dtype dtype, cl_layout layout, int64_t n0, int64_t n1,
                                   int64_t n2)
{
    const int64_t shape[3] = {n0, n1, n2};
    const int32_t rank = n2 > 0 ? 3 : n1 > 0 ? 2 : 1;
    tess_array *a = cl_alloc(sizeof *a);
    assert_ok(tess_array_init(a, NULL, dtype, rank, shape));
    const int64_t n = tess_array_items(a);
    a->data = cl_alloc((size_t)(2 * n + 8) * tess_dtype_bytes(dtype));
    int64_t stride = 1;
    for (int32_t i = 0; i < rank && layout == CL_LAST_FIRST; i++) {
        a->stride[i] = stride;
        stride *= shape[i];
    }
    for (int32_t i = 0; i < rank; i++) {
        a->stride[i] *= layout == CL_GAPS ? 2 : layout == CL_BACKWARDS ? -1 : 1;
    }
    if (layout == CL_BACKWARDS) {
        a->data = (char *)a->data + (size_t)(n - 1) * tess_dtype_bytes(dtype);
    }
    return a;
}

static inline tess_array *cl_array(tess_dtype dtype, cl_layout layout, int64_t n0, int64_t n1,
                                   int64_t n2, const double *values)
{
    tess_array *a = cl_empty(dtype, layout, n0, n1, n2);
    for (int64_t i = 0; i < tess_array_items(a); i++) {
        cl_put(a, cl_offset(a, i), values[i]);
    }
    return a;
}

// Its items in C order.
static inline double *cl_values(const tess_array *a)
{
    const int64_t n = tess_array_items(a);
    double *values = cl_alloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        values[i] = cl_get(a, cl_offset(a, i));
    }
    return values;
}

static inline uint64_t cl_draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// Random multiples of 1/64 below 2: exact in every type.
static inline double *cl_random(uint64_t *state, int64_t n)
{
    double *values = cl_alloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        values[i] = (double)((int64_t)(cl_draw(state) % 255) - 127) / 64;
    }
    return values;
}

static inline double cl_relative_error(const double *got, const double *want, int64_t n)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    // Where the right answer is zero the difference itself counts.
    return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

#define assert_close(got, want, tolerance)                                                         \
    cl_check_close((got), (want), (tolerance), #got, __FILE__, __LINE__)

static inline void cl_check_close(const tess_array *got, const double *want, double tolerance,
                                  const char *what, const char *file, int line)
{
    const double error = cl_relative_error(cl_values(got), want, tess_array_items(got));
    if (!(error <= tolerance)) {
        print_error("%s (%s): relative error %.3g, allowed %.3g\n", what,
                    tess_dtype_name((tess_dtype)got->dtype), error, tolerance);
        _fail(file, line);
    }
}

// Same items, bit for bit.
#define assert_same_items(a, b) cl_check_same((a), (b), #a, __FILE__, __LINE__)

static inline void cl_check_same(const tess_array *a, const tess_array *b, const char *what,
                                 const char *file, int line)
{
    const double *x = cl_values(a), *y = cl_values(b);
    if (memcmp(x, y, (size_t)tess_array_items(a) * sizeof *x) != 0) {
        print_error("%s: bits differ\n", what);
        _fail(file, line);
    }
}

static inline tess_clifford_metric cl_metric(const char *text)
{
    tess_clifford_metric metric;
    assert_ok(tess_clifford_metric_parse(text, &metric));
    return metric;
}

static inline tess_clifford_op cl_op(tess_clifford_kind kind, const char *metric,
                                     const tess_clifford_config *config)
{
    tess_clifford_op op;
    const tess_clifford_metric parsed = cl_metric(metric);
    assert_ok(tess_clifford_op_init(&op, sizeof op, kind, &parsed, config, UINT64_MAX));
    return op;
}

static inline tess_clifford_config cl_config(tess_clifford_activation activation, int32_t normalize)
{
    tess_clifford_config config;
    tess_clifford_config_init(&config, sizeof config);
    config.activation = (int32_t)activation;
    config.normalize = normalize;
    return config;
}

#define CL_ARRAYS(...)                                                                             \
    {                                                                                              \
        .struct_size = sizeof(tess_clifford_arrays), __VA_ARGS__                                   \
    }

#endif
