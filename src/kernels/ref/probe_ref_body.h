// The reference flop probe for one dtype; included by probe_ref.c only.
#include "kernels/simd/dtype.h"

enum { T_NAME(N_CHAIN) = 12 };

void TESS_KFN(T_NAME(probe_fma))(size_t n_round, SCALAR *restrict out, double *restrict flops)
{
    SCALAR chain[T_NAME(N_CHAIN)];
    for (int k = 0; k < T_NAME(N_CHAIN); k++) {
        chain[k] = (SCALAR)(k + 1);
    }
    for (size_t round = 0; round < n_round; round++) {
        for (int k = 0; k < T_NAME(N_CHAIN); k++) {
            chain[k] = chain[k] * (SCALAR)0x1p-60 + chain[k];
        }
    }
    SCALAR total = 0;
    for (int k = 0; k < T_NAME(N_CHAIN); k++) {
        total += chain[k];
    }
    *out = total;
    *flops = 2.0 * T_NAME(N_CHAIN) * (double)n_round;
}
