// Laminar flow in f64.

#include "backend/cuda/xpcs/pass_kernel.h"

cudaError_t xp_launch_laminar(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a,
                              int want, xp_weighing weighing)
{
    switch (weighing) {
    case XP_PLAIN:
        return launch_want<double, 7, XP_PLAIN>(stream, blocks, warps, a, want);
    case XP_WEIGHTED:
        return launch_want<double, 7, XP_WEIGHTED>(stream, blocks, warps, a, want);
    default:
        return launch_want<double, 7, XP_ROBUST>(stream, blocks, warps, a, want);
    }
}
