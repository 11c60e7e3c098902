// The body of decode_joint for one dtype; included by decode_joint.c only.
//
// Blocks of points outside, queries inside: a block is read from memory once. The exponents of a
// query and a block go through a buffer, because only after their maximum is known can they be
// exponentiated without overflow; one exponential per pair and one per block.
#include "kernels/simd/dtype.h"

// Exponents of n <= JOINT_BLOCK points into q, whole vectors of it; returns the largest.
static inline SCALAR V(joint_exponents)(const SCALAR *restrict x, size_t stride, size_t n,
                                        size_t n_dim, const SCALAR *restrict bias,
                                        const SCALAR *restrict y, SCALAR *restrict q)
{
    static const SCALAR none[V_MAX_BYTES / sizeof(SCALAR)];
    const size_t step = V(len)();
    const SCALAR least = -(SCALAR)INFINITY;
    const VF zero = V(set1)(0);
    VF peak0 = V(set1)(least), peak1 = peak0;
    size_t i = 0;
    for (; n - i >= 4 * step; i += 4 * step) {
        VF a = bias ? V(load)(bias + i) : zero;
        VF b = bias ? V(load)(bias + i + step) : zero;
        VF c = bias ? V(load)(bias + i + 2 * step) : zero;
        VF d = bias ? V(load)(bias + i + 3 * step) : zero;
        for (size_t k = 0; k < n_dim; k++) {
            const SCALAR *row = x + k * stride + i;
            const VF at = V(set1)(y[k]);
            const VF da = V(sub)(V(load)(row), at), db = V(sub)(V(load)(row + step), at);
            const VF dc = V(sub)(V(load)(row + 2 * step), at);
            const VF dd = V(sub)(V(load)(row + 3 * step), at);
            a = V(fnma)(da, da, a), b = V(fnma)(db, db, b);
            c = V(fnma)(dc, dc, c), d = V(fnma)(dd, dd, d);
        }
        V(store)(q + i, a), V(store)(q + i + step, b);
        V(store)(q + i + 2 * step, c), V(store)(q + i + 3 * step, d);
        peak0 = V(max)(peak0, V(max)(a, b)), peak1 = V(max)(peak1, V(max)(c, d));
    }
    for (; i < n; i += step) {
        const size_t left = n - i < step ? n - i : step;
        // Lanes past the end weigh nothing.
        VF a = left < step ? V(load_n)(bias ? bias + i : none, left, least)
               : bias      ? V(load)(bias + i)
                           : zero;
        for (size_t k = 0; k < n_dim; k++) {
            const SCALAR *row = x + k * stride + i;
            const VF value = V(take)(row, left);
            const VF difference = V(sub)(value, V(set1)(y[k]));
            a = V(fnma)(difference, difference, a);
        }
        V(store)(q + i, a);
        peak0 = V(max)(peak0, a);
    }
    return V(hmax)(V(max)(peak0, peak1));
}

// Sum of exp(q - peak) over the vectors that hold n exponents; four at a time hide its latency.
static inline double V(joint_sum)(const SCALAR *restrict q, size_t n, SCALAR peak)
{
    const size_t step = V(len)();
    const VF at = V(set1)(peak);
    VF sum0 = V(set1)(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    size_t i = 0;
    for (; i + 3 * step < n; i += 4 * step) {
        sum0 = V(add)(sum0, T_NAME(joint_exp)(V(sub)(V(load)(q + i), at)));
        sum1 = V(add)(sum1, T_NAME(joint_exp)(V(sub)(V(load)(q + i + step), at)));
        sum2 = V(add)(sum2, T_NAME(joint_exp)(V(sub)(V(load)(q + i + 2 * step), at)));
        sum3 = V(add)(sum3, T_NAME(joint_exp)(V(sub)(V(load)(q + i + 3 * step), at)));
    }
    for (; i < n; i += step) {
        sum0 = V(add)(sum0, T_NAME(joint_exp)(V(sub)(V(load)(q + i), at)));
    }
    SCALAR lanes[V_MAX_BYTES / sizeof(SCALAR)];
    V(store)(lanes, V(add)(V(add)(sum0, sum1), V(add)(sum2, sum3)));
    double total = 0;
    for (size_t k = 0; k < step; k++) {
        total += (double)lanes[k];
    }
    return total;
}

void TESS_KFN(T_NAME(decode_joint))(const SCALAR *restrict x, size_t n, size_t n_dim,
                                    const SCALAR *restrict bias, const SCALAR *restrict y,
                                    size_t n_y, double *restrict peak, double *restrict sum)
{
    SCALAR q[JOINT_BLOCK + V_MAX_BYTES / sizeof(SCALAR)];
    for (size_t j = 0; j < n_y; j++) {
        peak[j] = -(double)INFINITY;
        sum[j] = 0;
    }
    for (size_t i = 0; i < n; i += JOINT_BLOCK) {
        const size_t n_block = n - i < JOINT_BLOCK ? n - i : JOINT_BLOCK;
        for (size_t j = 0; j < n_y; j++) {
            const SCALAR highest = V(joint_exponents)(x + i, n, n_block, n_dim,
                                                      bias ? bias + i : NULL, y + j * n_dim, q);
            if ((double)highest > peak[j]) {
                sum[j] *= exp(peak[j] - (double)highest);
                peak[j] = (double)highest;
            }
            if (peak[j] > -(double)INFINITY) {
                sum[j] += V(joint_sum)(q, n_block, (SCALAR)peak[j]);
            }
        }
    }
}
