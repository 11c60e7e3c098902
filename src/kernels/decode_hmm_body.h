// What reads or writes rows of log likelihoods or of results, for one dtype; included by
// decode_hmm.c only.
#include "kernels/simd/dtype.h"

void TESS_KFN(T_NAME(hmm_max))(const SCALAR *restrict x, size_t n, double *restrict out)
{
    const size_t step = V(len)();
    const SCALAR lowest = -(SCALAR)INFINITY;
    VF a = V(set1)(lowest), b = a;
    size_t i = 0;
    for (; n - i >= 2 * step; i += 2 * step) {
        a = V(max)(a, V(load)(x + i));
        b = V(max)(b, V(load)(x + i + step));
    }
    for (; i < n; i += step) {
        a = V(max)(a, n - i >= step ? V(load)(x + i) : V(load_n)(x + i, n - i, lowest));
    }
    *out = (double)V(hmax)(V(max)(a, b));
}

void TESS_KFN(T_NAME(hmm_exp))(const SCALAR *restrict x, size_t n, double shift, double *restrict y)
{
    const v_f64 by = v_set1_f64(shift);
    const size_t step = v_len_f64();
    size_t i = 0;
    // Four at once: an exponential is one long chain, of which a core that looks 128 instructions
    // ahead sees little more than two.
    for (; n - i >= 4 * step; i += 4 * step) {
        const v_f64 y0 = v_exp_f64(v_sub_f64(WIDE(x + i, step), by));
        const v_f64 y1 = v_exp_f64(v_sub_f64(WIDE(x + i + step, step), by));
        const v_f64 y2 = v_exp_f64(v_sub_f64(WIDE(x + i + 2 * step, step), by));
        const v_f64 y3 = v_exp_f64(v_sub_f64(WIDE(x + i + 3 * step, step), by));
        v_store_f64(y + i, y0);
        v_store_f64(y + i + step, y1);
        v_store_f64(y + i + 2 * step, y2);
        v_store_f64(y + i + 3 * step, y3);
    }
    for (; i < n; i += step) {
        v_put_f64(y + i, n - i, v_exp_f64(v_sub_f64(WIDE(x + i, n - i), by)));
    }
}

void TESS_KFN(T_NAME(hmm_multiply))(const SCALAR *restrict a, const double *restrict b, size_t n,
                                    double *restrict y, double *restrict sum)
{
#define WORD(i, left) v_mul_f64(WIDE(a + (i), (left)), v_take_f64(b + (i), (left)))
    MAP_AND_SUM(WORD, KEEP_Y, n, sum);
#undef WORD
}

void TESS_KFN(T_NAME(hmm_keep))(const double *x, size_t n, double by, SCALAR *restrict kept,
                                double *y, double *restrict sum)
{
    const v_f64 factor = v_set1_f64(by), least = v_set1_f64(LEAST);
#define WORD(i, left)                                                                              \
    T_NAME(kept)(kept + (i), (left), scaled(v_take_f64(x + (i), (left)), factor, least))
    if (y) {
        MAP_AND_SUM(WORD, KEEP_Y, n, sum);
    } else {
        MAP_AND_SUM(WORD, NO_KEEP, n, sum);
    }
#undef WORD
}

void TESS_KFN(T_NAME(hmm_scale))(SCALAR *restrict kept, size_t n, double by, double *restrict sum)
{
    const v_f64 factor = v_set1_f64(by), least = v_set1_f64(LEAST);
#define WORD(i, left)                                                                              \
    T_NAME(kept)(kept + (i), (left), scaled(WIDE(kept + (i), (left)), factor, least))
    MAP_AND_SUM(WORD, NO_KEEP, n, sum);
#undef WORD
}

void TESS_KFN(T_NAME(hmm_take))(const SCALAR *restrict kept, size_t n, double *restrict y,
                                double *restrict sum)
{
#define WORD(i, left) WIDE(kept + (i), (left))
    if (y) {
        MAP_AND_SUM(WORD, KEEP_Y, n, sum);
    } else {
        MAP_AND_SUM(WORD, NO_KEEP, n, sum);
    }
#undef WORD
}
