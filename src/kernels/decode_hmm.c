// The steps of a hidden Markov model; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/math.h"

#include <float.h>
#include <math.h>

// Items that stay in the first-level cache between two loops over them.
enum { BLOCK = 256 };

// y = WORD(i, n left) for all i, and the sum of y over four accumulators; lanes past the end are 0.
#define MAP_AND_SUM(WORD, y, n, sum)                                                               \
    do {                                                                                           \
        const size_t step = v_len_f64();                                                           \
        v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0;                                       \
        size_t i = 0;                                                                              \
        for (; (n)-i >= 4 * step; i += 4 * step) {                                                 \
            const v_f64 y0 = WORD(i, step), y1 = WORD(i + step, step);                             \
            const v_f64 y2 = WORD(i + 2 * step, step), y3 = WORD(i + 3 * step, step);              \
            v_store_f64((y) + i, y0);                                                              \
            v_store_f64((y) + i + step, y1);                                                       \
            v_store_f64((y) + i + 2 * step, y2);                                                   \
            v_store_f64((y) + i + 3 * step, y3);                                                   \
            s0 = v_add_f64(s0, y0), s1 = v_add_f64(s1, y1);                                        \
            s2 = v_add_f64(s2, y2), s3 = v_add_f64(s3, y3);                                        \
        }                                                                                          \
        for (; i < (n); i += step) {                                                               \
            const v_f64 y0 = WORD(i, (n)-i);                                                       \
            v_put_f64((y) + i, (n)-i, y0);                                                         \
            s0 = v_add_f64(s0, y0);                                                                \
        }                                                                                          \
        *(sum) = v_ordered_sum_f64(v_add_f64(v_add_f64(s0, s1), v_add_f64(s2, s3)));               \
    } while (0)

void TESS_KFN(hmm_multiply)(const double *restrict a, const double *restrict b, size_t n,
                            double *restrict y, double *restrict sum)
{
#define WORD(i, left) v_mul_f64(v_take_f64(a + (i), (left)), v_take_f64(b + (i), (left)))
    MAP_AND_SUM(WORD, y, n, sum);
#undef WORD
}

static inline v_f64 quotient(v_f64 a, v_f64 b)
{
    const v_f64 zero = v_set1_f64(0);
    return v_select_f64(v_eq_f64(b, zero), zero, v_div_f64(a, b));
}

void TESS_KFN(hmm_divide)(const double *restrict a, const double *restrict b, size_t n,
                          double *restrict y, double *restrict sum)
{
#define WORD(i, left) quotient(v_take_f64(a + (i), (left)), v_take_f64(b + (i), (left)))
    MAP_AND_SUM(WORD, y, n, sum);
#undef WORD
}

// x * by, or 0 below the least normal number: denormals are slow and carry few bits.
static inline v_f64 scaled(v_f64 x, v_f64 by, v_f64 least)
{
    const v_f64 y = v_mul_f64(x, by);
    return v_select_f64(v_lt_f64(y, least), v_set1_f64(0), y);
}

void TESS_KFN(hmm_keep_f32)(double *restrict x, size_t n, double by, float *restrict kept,
                            double *restrict sum)
{
    const v_f64 factor = v_set1_f64(by);
    const v_f64 least = v_set1_f64((double)FLT_MIN);
    const size_t step = v_len_f64();
    for (size_t i = 0; i < n; i += step) {
        v_put_f64(x + i, n - i, scaled(v_take_f64(x + i, n - i), factor, least));
    }
    for (size_t i = 0; i < n; i++) {
        kept[i] = (float)x[i];
    }
    TESS_KFN(hmm_take_f32)(kept, n, x, sum);
}

void TESS_KFN(hmm_keep_f64)(double *restrict x, size_t n, double by, double *restrict kept,
                            double *restrict sum)
{
    const v_f64 factor = v_set1_f64(by);
    const v_f64 least = v_set1_f64(DBL_MIN);
    const size_t step = v_len_f64();
    for (size_t i = 0; i < n; i += step) {
        v_put_f64(kept + i, n - i, scaled(v_take_f64(x + i, n - i), factor, least));
    }
    TESS_KFN(hmm_take_f64)(kept, n, x, sum);
}

void TESS_KFN(hmm_take_f64)(const double *restrict kept, size_t n, double *restrict x,
                            double *restrict sum)
{
#define WORD(i, left) v_take_f64(kept + (i), (left))
    MAP_AND_SUM(WORD, x, n, sum);
#undef WORD
}

void TESS_KFN(hmm_take_f32)(const float *restrict kept, size_t n, double *restrict x,
                            double *restrict sum)
{
    double wide[BLOCK];
    double total = 0;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        double part = 0;
        for (size_t i = 0; i < count; i++) {
            wide[i] = (double)kept[first + i];
        }
#define WORD(i, left) v_take_f64(wide + (i), (left))
        MAP_AND_SUM(WORD, x + first, count, &part);
#undef WORD
        total += part;
    }
    *sum = total;
}

void TESS_KFN(hmm_add_scaled)(double by, const double *restrict x, size_t n, double *restrict y)
{
    const v_f64 factor = v_set1_f64(by);
    const size_t step = v_len_f64();
    for (size_t i = 0; i < n; i += step) {
        const v_f64 sum = v_fma_f64(factor, v_take_f64(x + i, n - i), v_take_f64(y + i, n - i));
        v_put_f64(y + i, n - i, sum);
    }
}

#define T_BITS 32
#include "kernels/decode_hmm_body.h"

#define T_BITS 64
#include "kernels/decode_hmm_body.h"
