// What reads a row of log likelihoods, for one dtype; included by decode_hmm.c only.
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
    const size_t step = v_len_f64();
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t end = n - first < BLOCK ? n : first + BLOCK;
        for (size_t i = first; i < end; i++) {
            y[i] = (double)x[i] - shift;
        }
        for (size_t i = first; i < end; i += step) {
            v_put_f64(y + i, end - i, v_exp_f64(v_take_f64(y + i, end - i)));
        }
    }
}
