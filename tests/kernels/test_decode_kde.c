// The decode kernels: the bits of the reference where they are promised, and the reference against
// plain double arithmetic.

#include "check.h"

#include "kernels/decode_kde.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *random_f32(check *t, size_t n, double low, double high)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)check_uniform(t, low, high);
    }
    return x;
}

static double *random_f64(check *t, size_t n, double low, double high)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = check_uniform(t, low, high);
    }
    return x;
}

// A number of lanes: 1 to 5 vectors of the set under test.
static size_t lanes_of(check *t, size_t item_bytes)
{
    return t->isa->vector_bytes() / item_bytes * (1 + check_random(t) % 5);
}

static int rounds(const check *t)
{
    return t->quick ? 20 : 200;
}

static void weights_match(check *t)
{
    for (int round = 0; round < rounds(t); round++) {
        const size_t lanes = lanes_of(t, sizeof(float));
        const size_t n = 1 + check_random(t) % 40;
        const size_t stride = n + check_random(t) % 3;
        const size_t d = round % 3 == 0 ? 4 : 1 + check_random(t) % 17;
        const double scale = round % 2 ? 3 : 30;
        float *y = random_f32(t, d * stride, -scale, scale);
        float *x = random_f32(t, d * lanes, -scale, scale);
        float *want = malloc(n * lanes * sizeof *want);
        check_block got = check_take(n * lanes * sizeof *want, 0);
        t->ref->decode_weights_f32(y, stride, n, d, x, lanes, want);
        t->isa->decode_weights_f32(y, stride, n, d, x, lanes, got.data);
        CHECK(t, memcmp(got.data, want, n * lanes * sizeof *want) == 0,
              "%zu features, %zu lanes: other bits than the reference", d, lanes);
        check_release(&got);
        free(y);
        free(x);
        free(want);
    }
}

// One feature, y = 0: the weight is 2^-x^2, of which the kernel sees -x^2 rounded once.
static void weights_are_powers(check *t)
{
    const size_t lanes = t->isa->vector_bytes() / sizeof(float);
    const float y = 0;
    float *x = malloc(lanes * sizeof *x);
    float *w = malloc(lanes * sizeof *w);
    double worst = 0;
    for (int round = 0; round < (t->quick ? 2000 : 200000); round++) {
        for (size_t s = 0; s < lanes; s++) {
            x[s] = (float)(round % 4 ? check_uniform(t, -10, 10) : check_uniform(t, -1e-3, 1e-3));
        }
        t->isa->decode_weights_f32(&y, 1, 1, 1, x, lanes, w);
        for (size_t s = 0; s < lanes; s++) {
            const double q = (double)fmaf(-x[s], x[s], 0);
            const double exact = q > -100 ? exp2(q) : 0x1p-100;
            const double ulp = ldexp(1, ilogb(exact) - 23);
            const double error = fabs((double)w[s] - exact) / ulp;
            worst = error > worst ? error : worst;
            CHECK(t, error <= 2.5, "2^%.9g: got %.9g, off by %.2f ulp", q, (double)w[s], error);
        }
    }
    snprintf(t->note, sizeof t->note, "worst %.2f ulp", worst);
    free(x);
    free(w);
}

static void f64_match(check *t)
{
    for (int round = 0; round < rounds(t); round++) {
        const size_t lanes = lanes_of(t, sizeof(double));
        const size_t n = 1 + check_random(t) % 40;
        const size_t d = 1 + check_random(t) % 10;
        double *y = random_f64(t, d * n, -20, 20);
        double *x = random_f64(t, d * lanes, -20, 20);
        double *want = malloc(n * lanes * sizeof *want);
        double *got = malloc(n * lanes * sizeof *got);
        double *near[2] = {malloc(lanes * sizeof(double)), malloc(lanes * sizeof(double))};
        for (size_t s = 0; s < lanes; s++) {
            near[0][s] = near[1][s] = s % 3 ? (double)INFINITY : 1;
        }
        t->ref->decode_nearest_f64(y, n, n, d, x, lanes, near[0]);
        t->isa->decode_nearest_f64(y, n, n, d, x, lanes, near[1]);
        CHECK(t, memcmp(near[0], near[1], lanes * sizeof(double)) == 0, "nearest: other bits");
        t->ref->decode_weights_f64(y, n, n, d, x, lanes, near[0], want);
        t->isa->decode_weights_f64(y, n, n, d, x, lanes, near[0], got);
        CHECK(t, memcmp(got, want, n * lanes * sizeof *want) == 0, "weights: other bits");
        free(y);
        free(x);
        free(want);
        free(got);
        free(near[0]);
        free(near[1]);
    }
}

#define SUMS_MATCH(T, SCALAR)                                                                      \
    static void sums_match_##T(check *t)                                                           \
    {                                                                                              \
        for (int round = 0; round < rounds(t); round++) {                                          \
            const size_t lanes = lanes_of(t, sizeof(SCALAR));                                      \
            const size_t n = 1 + check_random(t) % 20, groups = 1 + check_random(t) % 4;           \
            const size_t n_out = 1 + check_random(t) % 21;                                         \
            const size_t c_stride = n_out + check_random(t) % 3, w_stride = lanes + 5;             \
            const size_t c_group = (n + 1) * c_stride, w_group = (n + 2) * w_stride;               \
            const size_t out_stride = lanes + 3;                                                   \
            int32_t list[4];                                                                       \
            for (size_t g = 0; g < 4; g++) {                                                       \
                list[g] = (int32_t)(check_random(t) % groups);                                     \
            }                                                                                      \
            const int32_t *group = round % 2 ? list : NULL;                                        \
            SCALAR *c = random_##T(t, groups * c_group, -1, 1);                                    \
            SCALAR *w = random_##T(t, groups * w_group, 0, 1);                                     \
            SCALAR *want = random_##T(t, n_out * out_stride, -1, 1);                               \
            SCALAR *got = malloc(n_out * out_stride * sizeof *got);                                \
            memcpy(got, want, n_out *out_stride * sizeof *got);                                    \
            t->ref->decode_accumulate_##T(c, c_stride, c_group, group, w, w_stride, w_group, n,    \
                                          groups, n_out, lanes, want, out_stride);                 \
            t->isa->decode_accumulate_##T(c, c_stride, c_group, group, w, w_stride, w_group, n,    \
                                          groups, n_out, lanes, got, out_stride);                  \
            CHECK(t, memcmp(got, want, n_out *out_stride * sizeof *got) == 0,                      \
                  "%zu columns, %zu lanes: other bits than the reference", n_out, lanes);          \
            free(c);                                                                               \
            free(w);                                                                               \
            free(want);                                                                            \
            free(got);                                                                             \
        }                                                                                          \
    }
SUMS_MATCH(f32, float)
SUMS_MATCH(f64, double)

// Values before and after the floor, some of them unsure, some without any intensity.
static void floors_match(check *t)
{
    for (int round = 0; round < rounds(t); round++) {
        const size_t lanes = lanes_of(t, sizeof(float));
        const size_t n_bin = 1 + check_random(t) % 60;
        float *sums = random_f32(t, n_bin * lanes, -0.05, 1);
        float *offset = random_f32(t, n_bin, -20, 5);
        float *sure = random_f32(t, lanes, -6, -1);
        float *out[2][4];
        offset[check_random(t) % n_bin] = -INFINITY;
        for (int k = 0; k < 2; k++) {
            const tess_kernels *set = k ? t->isa : t->ref;
            for (int j = 0; j < 4; j++) {
                out[k][j] = malloc((j == 0 ? n_bin : 1) * lanes * sizeof(float));
            }
            set->decode_logs_f32(sums, offset, n_bin, lanes, sure, out[k][0], out[k][1]);
            for (size_t s = 0; s < lanes; s++) {
                out[k][1][s] = s % 2 ? out[k][1][s] - 8 : -12;
            }
            set->decode_floor_f32(out[k][0], offset, n_bin, lanes, sure, out[k][1], out[k][2],
                                  out[k][3]);
        }
        for (int j = 0; j < 4; j++) {
            const size_t bytes = (j == 0 ? n_bin : 1) * lanes * sizeof(float);
            CHECK(t, memcmp(out[0][j], out[1][j], bytes) == 0, "array %d: other bits", j);
            free(out[0][j]);
            free(out[1][j]);
        }
        free(sums);
        free(offset);
        free(sure);
    }
}

// Moments of one spike against double arithmetic; rounding grows with the degree of T_k.
static void single_is_right(check *t)
{
    for (int round = 0; round < rounds(t); round++) {
        const size_t n = 1 + check_random(t) % 300;
        const size_t d = round % 2 ? 4 : 1 + check_random(t) % 12;
        const size_t order = 1 + check_random(t) % TESS_DE_SINGLE_ORDER;
        float *y = random_f32(t, d * n, -2, 2);
        float *x = random_f32(t, d, -2, 2);
        float *place = random_f32(t, n, -1, 1);
        float *base = random_f32(t, n, 0.5, 1);
        float got[TESS_DE_SINGLE_ORDER];
        t->isa->decode_single_f32(y, n, n, d, x, place, base, order, got);
        for (size_t k = 0; k < order; k++) {
            double want = 0;
            double size = 0;
            for (size_t i = 0; i < n; i++) {
                double q = 0;
                for (size_t f = 0; f < d; f++) {
                    const double a = (double)x[f] - (double)y[f * n + i];
                    q += a * a;
                }
                const double weight = (double)base[i] * exp2(-q);
                want += weight * cos((double)k * acos((double)place[i]));
                size += weight;
            }
            CHECK(t, fabs((double)got[k] - want) <= 4e-6 * size, "moment %zu: got %.9g, want %.9g",
                  k, (double)got[k], want);
        }
        free(y);
        free(x);
        free(place);
        free(base);
    }
}

static void place_is_right(check *t)
{
    for (int round = 0; round < rounds(t); round++) {
        const size_t n = check_random(t) % 200;
        float *table = random_f32(t, 8 * n + 1, -1, 1);
        float *moments = random_f32(t, 8 * n + 1, -1, 1);
        float got[8];
        t->isa->decode_place_f32(table, moments, n, got);
        for (size_t j = 0; j < 8; j++) {
            double want = 0;
            for (size_t i = 0; i < n; i++) {
                want += (double)table[8 * i + j] * (double)moments[8 * i + j];
            }
            CHECK(t, fabs((double)got[j] - want) <= 2e-5, "column %zu: got %.9g, want %.9g", j,
                  (double)got[j], want);
        }
        free(table);
        free(moments);
    }
}

const check_test test_decode_kde_list[] = {
    {"decode_weights_f32 bits", weights_match},
    {"decode_weights_f32 ulp", weights_are_powers},
    {"decode_*_f64 bits", f64_match},
    {"decode_accumulate_f32 bits", sums_match_f32},
    {"decode_accumulate_f64 bits", sums_match_f64},
    {"decode_logs, floor bits", floors_match},
    {"decode_single_f32", single_is_right},
    {"decode_place_f32", place_is_right},
    {NULL, NULL},
};
