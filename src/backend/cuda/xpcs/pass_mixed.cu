// Laminar flow with points in f32 and sums in f64.

#include "backend/cuda/xpcs/pass_kernel.h"

cudaError_t xp_launch_mixed(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a, int want,
                            xp_weighing weighing)
{
    return weighing == XP_PLAIN
               ? launch_want<float, 7, XP_PLAIN>(stream, blocks, warps, a, want)
               : launch_want<float, 7, XP_WEIGHTED>(stream, blocks, warps, a, want);
}
