// The steps of a hidden Markov model; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/math.h"

#include <float.h>
#include <math.h>

// KEEP(i, left, WORD(i, left)) for all i, and the sum of the words over four accumulators; lanes
// past the end are 0.
#define MAP_AND_SUM(WORD, KEEP, n, sum)                                                            \
    do {                                                                                           \
        const size_t step = v_len_f64();                                                           \
        v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0;                                       \
        size_t i = 0;                                                                              \
        for (; (n)-i >= 4 * step; i += 4 * step) {                                                 \
            const v_f64 y0 = WORD(i, step), y1 = WORD(i + step, step);                             \
            const v_f64 y2 = WORD(i + 2 * step, step), y3 = WORD(i + 3 * step, step);              \
            KEEP(i, step, y0);                                                                     \
            KEEP(i + step, step, y1);                                                              \
            KEEP(i + 2 * step, step, y2);                                                          \
            KEEP(i + 3 * step, step, y3);                                                          \
            s0 = v_add_f64(s0, y0), s1 = v_add_f64(s1, y1);                                        \
            s2 = v_add_f64(s2, y2), s3 = v_add_f64(s3, y3);                                        \
        }                                                                                          \
        for (; i < (n); i += step) {                                                               \
            const v_f64 y0 = WORD(i, (n)-i);                                                       \
            KEEP(i, (n)-i, y0);                                                                    \
            s0 = v_add_f64(s0, y0);                                                                \
        }                                                                                          \
        *(sum) = v_ordered_sum_f64(v_add_f64(v_add_f64(s0, s1), v_add_f64(s2, s3)));               \
    } while (0)

#define NO_KEEP(i, left, v) (void)(v)
#define KEEP_Y(i, left, v) v_put_f64(y + (i), (left), (v))

void TESS_KFN(hmm_sum)(const double *restrict x, size_t n, double *restrict sum)
{
#define WORD(i, left) v_take_f64(x + (i), (left))
    MAP_AND_SUM(WORD, NO_KEEP, n, sum);
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
    MAP_AND_SUM(WORD, KEEP_Y, n, sum);
#undef WORD
}

void TESS_KFN(hmm_fill)(double value, size_t n, double *restrict y)
{
    const v_f64 v = v_set1_f64(value);
    const size_t step = v_len_f64();
    for (size_t i = 0; i < n; i += step) {
        v_put_f64(y + i, n - i, v);
    }
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

static inline v_f64 times(v_f64 x, const double *by, size_t n)
{
    return by ? v_mul_f64(x, v_take_f64(by, n)) : x;
}

// Whole vectors where it does no harm: what follows a part of one would wait for it to leave the
// core.
void TESS_KFN(hmm_scatter)(const tess_tile_run *restrict runs, size_t n_run, double by,
                           const double *restrict x, const double *restrict before, int add,
                           double *restrict cells)
{
    const v_f64 factor = v_set1_f64(by);
    const size_t step = v_len_f64();
    for (const tess_tile_run *run = runs; run < runs + n_run; run++) {
        const double *from = x + run->bin;
        const double *scale = before ? before + run->bin : NULL;
        double *to = cells + run->cell;
        const size_t n = (size_t)run->n;
        size_t i = 0;
        for (; n - i >= step; i += step) {
            const v_f64 word = v_mul_f64(factor, v_load_f64(from + i));
            const v_f64 cell = times(word, scale ? scale + i : NULL, step);
            v_store_f64(to + i, add ? v_add_f64(v_load_f64(to + i), cell) : cell);
        }
        if (i < n) {
            const size_t room = n - i < TESS_RUN_GAP ? TESS_RUN_GAP : n - i;
            const v_f64 word = v_mul_f64(factor, v_take_f64(from + i, n - i));
            const v_f64 cell = times(word, scale ? scale + i : NULL, n - i);
            v_put_f64(to + i, room, add ? v_add_f64(v_take_f64(to + i, room), cell) : cell);
        }
    }
}

// What is written behind a run is written again by the next; behind the last there is nothing.
void TESS_KFN(hmm_gather)(const tess_tile_run *restrict runs, size_t n_run,
                          const double *restrict cells, const double *restrict after, double base,
                          double *restrict out)
{
    const v_f64 least = v_set1_f64(base);
    const size_t step = v_len_f64();
    const size_t behind = step <= TESS_RUN_GAP ? step - 1 : 0;
    const size_t n_bin = n_run > 0 ? (size_t)(runs[n_run - 1].bin + runs[n_run - 1].n) : 0;
    for (const tess_tile_run *run = runs; run < runs + n_run; run++) {
        const double *from = cells + run->cell;
        const double *scale = after ? after + run->bin : NULL;
        double *to = out + run->bin;
        const size_t n = (size_t)run->n, left = n_bin - (size_t)run->bin;
        const size_t end = n + behind < left ? n + behind : left;
        size_t i = 0;
        for (; i + step <= end; i += step) {
            const v_f64 cell = times(v_load_f64(from + i), scale ? scale + i : NULL, step);
            v_store_f64(to + i, v_add_f64(least, cell));
        }
        if (i < n) {
            const v_f64 cell = v_take_f64(from + i, n - i);
            v_put_f64(to + i, n - i,
                      v_add_f64(least, times(cell, scale ? scale + i : NULL, n - i)));
        }
    }
}

// x * by, or 0 below the least normal number: denormals are slow and carry few bits.
static inline v_f64 scaled(v_f64 x, v_f64 by, v_f64 least)
{
    const v_f64 y = v_mul_f64(x, by);
    return v_select_f64(v_lt_f64(y, least), v_set1_f64(0), y);
}

// As kept: what was stored.
static inline v_f64 kept_f32(float *p, size_t n, v_f64 v)
{
    return v_put_narrow(p, n, v);
}

static inline v_f64 kept_f64(double *p, size_t n, v_f64 v)
{
    v_put_f64(p, n, v);
    return v;
}

#define T_BITS 32
#define LEAST (double)FLT_MIN
#define WIDE(p, n) v_take_wide((p), (n))
#include "kernels/decode_hmm_body.h"

#undef LEAST
#undef WIDE
#define T_BITS 64
#define LEAST DBL_MIN
#define WIDE(p, n) v_take_f64((p), (n))
#include "kernels/decode_hmm_body.h"
