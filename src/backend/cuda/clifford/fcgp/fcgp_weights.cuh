// Weights of stage clifford.fcgp on tensor cores, and their gradients' way out.
#ifndef TESS_CLIFFORD_FCGP_WEIGHTS_CUH
#define TESS_CLIFFORD_FCGP_WEIGHTS_CUH

#include "stage/clifford.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace clifford
{

constexpr int fc_weight_blocks = 528; // each leaves its largest weight

struct fc_weights {
    tess_cl_view weight; // (path, in, out)
    uint64_t path_mask;
    int64_t n_line;     // paths times n_in; eights of weights are counted in 31 bits
    __half *packed;     // [path][in][out_pitch]; lines of paths outside the mask are not written
    uint32_t *partials; // [fc_weight_blocks]
    int *exponent;      // weight = packed 2^exponent
    int64_t out_pitch;
    int32_t n_in, n_out;
    // Found by fc_pack_weights.
    int32_t are_packs; // words of 16 bytes
    int32_t is_whole;  // one line after the other, all of them
};

cudaError_t fc_pack_weights(cudaStream_t stream, const fc_weights &weights, int32_t dtype);

// f32 [path][in][out] to an array of 16 bits.
cudaError_t fc_narrow_weights(cudaStream_t stream, const float *from, const tess_cl_view &to,
                              int64_t n_line, int32_t n_in, int32_t n_out, int32_t dtype);

} // namespace clifford

#endif
