// The flop probe for one dtype; included by probe.c only. A chain adds a share of itself that is
// lost in rounding, so the values stay what they are however long it runs. The sum is what a step
// writes over: no ISA needs a copy for that.
#include "kernels/simd/dtype.h"

void TESS_KFN(T_NAME(probe_fma))(size_t n_round, SCALAR *restrict out, double *restrict flops)
{
    const VF little = V(set1)((SCALAR)0x1p-60);
#define START(k) VF chain##k = V(set1)((SCALAR)((k) + 1));
    CHAINS(START)
#undef START
    for (size_t round = 0; round < n_round; round++) {
#define STEP(k) chain##k = V(fma)(chain##k, little, chain##k);
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
