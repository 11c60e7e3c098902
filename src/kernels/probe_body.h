// The flop probe for one dtype; included by probe.c only. Every chain tends to 2, so the values
// stay ordinary numbers however long it runs.
#include "kernels/simd/dtype.h"

void TESS_KFN(T_NAME(probe_fma))(size_t n_round, SCALAR *restrict out, double *restrict flops)
{
    const VF half = V(set1)((SCALAR)0.5);
    const VF one = V(set1)((SCALAR)1);
#define START(k) VF chain##k = V(set1)((SCALAR)(k));
    CHAINS(START)
#undef START
    for (size_t round = 0; round < n_round; round++) {
#define STEP(k) chain##k = V(fma)(chain##k, half, one);
        CHAINS(STEP)
#undef STEP
    }
    // Every chain enters the result, so that none can be optimised away.
    VF total = V(set1)((SCALAR)0);
#define COLLECT(k) total = V(add)(total, chain##k);
    CHAINS(COLLECT)
#undef COLLECT
    *out = V(hmax)(total);
    *flops = 2.0 * N_CHAIN * (double)V(len)() * (double)n_round;
}
