// Arrays of multivectors in every type and layout, beside their values in double, for tests of
// stages of clifford.
#ifndef TESS_TESTS_CLIFFORD_TENSOR_H
#define TESS_TESTS_CLIFFORD_TENSOR_H

#include "base/half.h"
#include "runtime/context.h"
#include "stage/clifford.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of the test program; every random number of a test comes from here.
static uint64_t random_state = 1;

static inline double random_unit(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static inline double rounded(double value, int32_t dtype)
{
    switch (dtype) {
    case TESS_F32:
        return (double)(float)value;
    case TESS_BF16:
        return (double)tess_f32_of_bf16(tess_bf16_of_f32((float)value));
    case TESS_F16:
        return (double)tess_f32_of_f16(tess_f16_of_f32((float)value));
    default:
        return value;
    }
}

// An array in double, and the same in a type and layout as stages see it.
typedef struct tensor {
    int64_t shape[3];
    int32_t dtype;
    double *values; // (shape), rounded to the type
    unsigned char *data;
    int64_t n_item;
    tess_cl_view view;
} tensor;

typedef enum layout { PLAIN, CHANNEL_LAST, BACKWARDS, SPREAD, N_LAYOUT } layout;

static inline tensor make_tensor(int64_t a, int64_t b, int64_t c, int32_t dtype, layout how)
{
    tensor t = {.shape = {a, b, c}, .dtype = dtype};
    int64_t *s = t.view.stride;
    int64_t offset = 0;
    t.n_item = a * b * c;
    switch (how) {
    case CHANNEL_LAST:
        s[0] = 1, s[2] = a, s[1] = a * c;
        break;
    case BACKWARDS:
        s[0] = b * c, s[1] = -c, s[2] = -1;
        offset = (b - 1) * c + c - 1;
        break;
    case SPREAD: // odd gaps everywhere
        s[2] = 3, s[1] = 3 * c + 1, s[0] = (3 * c + 1) * b + 5;
        t.n_item = a * s[0];
        break;
    default:
        s[0] = b * c, s[1] = c, s[2] = 1;
        break;
    }
    t.values = malloc((size_t)(a * b * c + 1) * sizeof *t.values);
    const size_t bytes = tess_dtype_bytes((tess_dtype)dtype);
    t.data = malloc((size_t)t.n_item * bytes + 1);
    memset(t.data, 0xff, (size_t)t.n_item * bytes); // NaN in every type
    t.view.data = t.data + (size_t)offset * bytes;
    return t;
}

static inline int64_t item_at(const tensor *t, int64_t a, int64_t b, int64_t c)
{
    return a * t->view.stride[0] + b * t->view.stride[1] + c * t->view.stride[2];
}

static inline double *value_at(const tensor *t, int64_t a, int64_t b, int64_t c)
{
    return &t->values[(a * t->shape[1] + b) * t->shape[2] + c];
}

static inline double read_item(const tensor *t, int64_t at)
{
    switch (t->dtype) {
    case TESS_F32:
        return (double)((float *)t->view.data)[at];
    case TESS_BF16:
        return (double)tess_f32_of_bf16(((uint16_t *)t->view.data)[at]);
    case TESS_F16:
        return (double)tess_f32_of_f16(((uint16_t *)t->view.data)[at]);
    default:
        return ((double *)t->view.data)[at];
    }
}

static inline void write_item(const tensor *t, int64_t at, double value)
{
    switch (t->dtype) {
    case TESS_F32:
        ((float *)t->view.data)[at] = (float)value;
        break;
    case TESS_BF16:
        ((uint16_t *)t->view.data)[at] = tess_bf16_of_f32((float)value);
        break;
    case TESS_F16:
        ((uint16_t *)t->view.data)[at] = tess_f16_of_f32((float)value);
        break;
    default:
        ((double *)t->view.data)[at] = value;
        break;
    }
}

// The values into the array.
static inline void write_tensor(tensor *t)
{
    for (int64_t a = 0; a < t->shape[0]; a++) {
        for (int64_t b = 0; b < t->shape[1]; b++) {
            for (int64_t c = 0; c < t->shape[2]; c++) {
                double *v = value_at(t, a, b, c);
                *v = rounded(*v, t->dtype);
                write_item(t, item_at(t, a, b, c), *v);
            }
        }
    }
}

static inline tensor random_tensor(int64_t a, int64_t b, int64_t c, int32_t dtype, layout how)
{
    tensor t = make_tensor(a, b, c, dtype, how);
    for (int64_t i = 0; i < a * b * c; i++) {
        t.values[i] = 2 * random_unit();
    }
    write_tensor(&t);
    return t;
}

static inline void free_tensor(tensor *t)
{
    free(t->values);
    free(t->data);
}

// Relative L2 distance of what a stage left to the values.
static inline double distance(const tensor *got)
{
    double difference = 0, size = 0;
    for (int64_t a = 0; a < got->shape[0]; a++) {
        for (int64_t b = 0; b < got->shape[1]; b++) {
            for (int64_t c = 0; c < got->shape[2]; c++) {
                const double want = *value_at(got, a, b, c);
                const double error = read_item(got, item_at(got, a, b, c)) - want;
                difference += error * error;
                size += want * want;
            }
        }
    }
    return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

// Where the view has gaps nothing may be written.
static inline int gaps_are_untouched(const tensor *t, layout how)
{
    if (how != SPREAD) {
        return 1;
    }
    const size_t bytes = tess_dtype_bytes((tess_dtype)t->dtype);
    unsigned char *copy = malloc((size_t)t->n_item * bytes);
    memcpy(copy, t->data, (size_t)t->n_item * bytes);
    for (int64_t a = 0; a < t->shape[0]; a++) {
        for (int64_t b = 0; b < t->shape[1]; b++) {
            for (int64_t c = 0; c < t->shape[2]; c++) {
                memset(copy + (size_t)item_at(t, a, b, c) * bytes, 0xff, bytes);
            }
        }
    }
    int untouched = 1;
    for (size_t i = 0; i < (size_t)t->n_item * bytes; i++) {
        untouched &= copy[i] == 0xff;
    }
    free(copy);
    return untouched;
}

static inline double tolerance(int32_t dtype)
{
    return dtype == TESS_F64 ? 1e-13 : dtype == TESS_F32 ? 5e-7 : dtype == TESS_F16 ? 1e-3 : 6e-3;
}

static inline void check_tensor(const tensor *t, layout how, const char *what, double within)
{
    const double d = distance(t);
    if (!(d <= within)) {
        fail_msg("%s: off by %.3g, allowed are %.3g", what, d, within);
    }
    if (!gaps_are_untouched(t, how)) {
        fail_msg("%s: something was written between the items", what);
    }
}

#endif
