// The reference of decode_joint for one dtype; included by decode_joint_ref.c only.
#include "kernels/simd/dtype.h"

static double T_NAME(joint_exponent)(const SCALAR *x, size_t n, size_t n_dim, const SCALAR *bias,
                                     const SCALAR *y, size_t i)
{
    double q = bias ? (double)bias[i] : 0;
    for (size_t k = 0; k < n_dim; k++) {
        const double difference = (double)x[k * n + i] - (double)y[k];
        q -= difference * difference;
    }
    return q;
}

void TESS_KFN(T_NAME(decode_joint))(const SCALAR *restrict x, size_t n, size_t n_dim,
                                    const SCALAR *restrict bias, const SCALAR *restrict y,
                                    size_t n_y, double *restrict peak, double *restrict sum)
{
    for (size_t j = 0; j < n_y; j++) {
        double highest = -(double)INFINITY;
        for (size_t i = 0; i < n; i++) {
            highest = fmax(highest, T_NAME(joint_exponent)(x, n, n_dim, bias, y + j * n_dim, i));
        }
        peak[j] = highest;
        sum[j] = 0;
        for (size_t i = 0; i < n && highest > -(double)INFINITY; i++) {
            sum[j] += exp(T_NAME(joint_exponent)(x, n, n_dim, bias, y + j * n_dim, i) - highest);
        }
    }
}
