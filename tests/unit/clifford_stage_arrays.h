// Arrays of any type and layout for tests of clifford's stages, and how far apart two of them are.
#ifndef TESS_TESTS_CLIFFORD_STAGE_ARRAYS_H
#define TESS_TESTS_CLIFFORD_STAGE_ARRAYS_H

#include "base/half.h"
#include "runtime/context.h"
#include "stage/clifford.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum ca_layout {
    CA_PLAIN = 0,  // the last axis contiguous
    CA_FIRST = 1,  // the first axis contiguous, then the last, then the middle one: channel last
    CA_GAPS = 2,   // like plain with gaps everywhere
    CA_MIDDLE = 3, // the middle axis contiguous: transposed matrices
    CA_N_LAYOUT = 4
} ca_layout;

typedef struct ca_array {
    int32_t dtype;
    int64_t shape[3];
    tess_cl_view view;
    size_t bytes;
    double *value; // [shape], what the items are
} ca_array;

static inline uint64_t ca_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Near enough to normal: mean 0, variance 1.
static inline double ca_normal(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        sum += (double)(ca_random(state) >> 11) * 0x1p-53 - 0.5;
    }
    return sum * sqrt(2.0);
}

static inline size_t ca_item_bytes(int32_t dtype)
{
    return dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
}

static inline double ca_read(const void *data, int32_t dtype, int64_t at)
{
    switch (dtype) {
    case TESS_F64:
        return ((const double *)data)[at];
    case TESS_F32:
        return (double)((const float *)data)[at];
    case TESS_BF16:
        return (double)tess_f32_of_bf16(((const uint16_t *)data)[at]);
    default:
        return (double)tess_f32_of_f16(((const uint16_t *)data)[at]);
    }
}

static inline void ca_write(void *data, int32_t dtype, int64_t at, double value)
{
    switch (dtype) {
    case TESS_F64:
        ((double *)data)[at] = value;
        break;
    case TESS_F32:
        ((float *)data)[at] = (float)value;
        break;
    case TESS_BF16:
        ((uint16_t *)data)[at] = tess_bf16_of_f32((float)value);
        break;
    default:
        ((uint16_t *)data)[at] = tess_f16_of_f32((float)value);
        break;
    }
}

static inline int64_t ca_at(const ca_array *a, int64_t i, int64_t j, int64_t k)
{
    return i * a->view.stride[0] + j * a->view.stride[1] + k * a->view.stride[2];
}

static inline double ca_get(const ca_array *a, int64_t i, int64_t j, int64_t k)
{
    return ca_read(a->view.data, a->dtype, ca_at(a, i, j, k));
}

// Every byte is 0xff: NaN in all types.
static inline ca_array ca_make(int32_t dtype, ca_layout layout, int64_t n0, int64_t n1, int64_t n2)
{
    ca_array a = {.dtype = dtype, .shape = {n0, n1, n2}};
    int64_t *s = a.view.stride;
    switch (layout) {
    case CA_PLAIN:
        s[2] = 1, s[1] = n2, s[0] = n1 * n2;
        break;
    case CA_FIRST:
        s[0] = 1, s[2] = n0, s[1] = n0 * n2;
        break;
    case CA_GAPS:
        s[2] = 2, s[1] = 2 * n2 + 3, s[0] = n1 * s[1] + 5;
        break;
    default:
        s[1] = 1, s[2] = n1, s[0] = n1 * n2;
        break;
    }
    a.bytes = (size_t)(ca_at(&a, n0 - 1, n1 - 1, n2 - 1) + 1) * ca_item_bytes(dtype);
    a.view.data = malloc(a.bytes);
    memset(a.view.data, 0xff, a.bytes);
    a.value = malloc((size_t)(n0 * n1 * n2) * sizeof(double));
    return a;
}

static inline void ca_drop(ca_array *a)
{
    free(a->view.data);
    free(a->value);
}

static inline double *ca_value(const ca_array *a, int64_t i, int64_t j, int64_t k)
{
    return &a->value[(i * a->shape[1] + j) * a->shape[2] + k];
}

#define CA_EACH(a, i, j, k)                                                                        \
    for (int64_t i = 0; i < (a)->shape[0]; i++)                                                    \
        for (int64_t j = 0; j < (a)->shape[1]; j++)                                                \
            for (int64_t k = 0; k < (a)->shape[2]; k++)

// Random items; value is what they are after rounding.
static inline void ca_fill(ca_array *a, uint64_t seed, double scale)
{
    CA_EACH(a, i, j, k)
    {
        ca_write(a->view.data, a->dtype, ca_at(a, i, j, k), scale * ca_normal(&seed));
        *ca_value(a, i, j, k) = ca_get(a, i, j, k);
    }
}

static inline void ca_zero_values(ca_array *a)
{
    memset(a->value, 0, (size_t)(a->shape[0] * a->shape[1] * a->shape[2]) * sizeof(double));
}

// Of the items to what they should be (value): root of the sum of squares, relative.
static inline double ca_error(const ca_array *a)
{
    double off = 0, all = 0;
    CA_EACH(a, i, j, k)
    {
        const double d = ca_get(a, i, j, k) - *ca_value(a, i, j, k);
        off += d * d;
        all += *ca_value(a, i, j, k) * *ca_value(a, i, j, k);
    }
    return all > 0 ? sqrt(off / all) : sqrt(off);
}

// Relative errors that a result may have: of the type it is kept in, or computed in.
static inline double ca_allowed(int32_t dtype)
{
    switch (dtype) {
    case TESS_F64:
        return 1e-13;
    case TESS_F32:
        return 1e-6;
    case TESS_BF16:
        return 6e-3;
    default:
        return 1e-3;
    }
}

#define ca_assert_within(array, allowed, what)                                                     \
    do {                                                                                           \
        const double error_ = ca_error(&(array)), allowed_ = (allowed);                            \
        if (!(error_ <= allowed_)) {                                                               \
            fail_msg("%s of %s: error %g, allowed %g", #array, (what), error_, allowed_);          \
        }                                                                                          \
    } while (0)
#define ca_assert_right(array, what) ca_assert_within(array, ca_allowed((array).dtype), what)

static inline void ca_run(tess_context *ctx, int32_t stage, const void *args, size_t bytes)
{
    const tess_device *device = &ctx->cpu;
    assert_ok(device->backend->enqueue(device->queue, stage, args, bytes));
    assert_ok(device->backend->finish(device->queue));
}

static inline tess_clifford_algebra ca_algebra(const char *metric)
{
    tess_clifford_metric parsed;
    tess_clifford_algebra algebra;
    assert_ok(tess_clifford_metric_parse(metric, &parsed));
    assert_ok(tess_clifford_algebra_init(&algebra, sizeof algebra, &parsed));
    return algebra;
}

// The rows from `row` on.
static inline tess_cl_view ca_from_row(const ca_array *a, int64_t row)
{
    tess_cl_view view = a->view;
    view.data = (char *)view.data + row * view.stride[1] * (int64_t)ca_item_bytes(a->dtype);
    return view;
}

#endif
