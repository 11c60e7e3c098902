// x^T grad_out over chunks of rows with the matrix instructions of single warps (see tiles.cuh):
// grad_weight of stage clifford.linear on GPUs without warpgroups. See linear_scales.cuh for the
// scales of rows.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/tiles.cuh"
#include "backend/cuda/clifford/linear/linear_scales.cuh"

namespace
{

using namespace clifford_tiles;

using S = square;
constexpr int scale_rows = 1024; // scales of this many rows at a time
constexpr int shared_bytes = S::shared_bytes + scale_rows * int(sizeof(__half));

template <typename M, bool scaled>
__global__ void __launch_bounds__(S::threads, 2)
    tile_sums_kernel(const __grid_constant__ clifford_sums_args p)
{
#if TESS_CUDA_HAS_MATRIX
    extern __shared__ __align__(1024) uint8_t shared[];
    __half *scales = reinterpret_cast<__half *>(shared + S::shared_bytes);
    const int64_t n_across = (p.n_n - 1) / S::columns + 1;
    const int64_t n_down = (p.n_m - 1) / S::rows + 1;
    const int64_t z = blockIdx.x / (n_across * n_down);
    const int64_t m0 = blockIdx.x / n_across % n_down * S::rows;
    const int64_t n0 = blockIdx.x % n_across * S::columns;
    const int64_t component = z / p.n_chunk;
    const int64_t row0 = z % p.n_chunk * p.chunk;
    const int64_t n_row = min(p.chunk, p.n_row - row0);
    const operand<M> a = {static_cast<const M *>(p.a.data) + component * p.a.stride +
                              row0 * p.a.pitch,
                          p.a.pitch, m0, p.n_m, n_row};
    const operand<M> b = {static_cast<const M *>(p.b.data) + component * p.b.stride +
                              row0 * p.b.pitch,
                          p.b.pitch, n0, p.n_n, n_row};
    const int32_t *exponent_a = scaled ? p.a.exponent + component * p.n_row + row0 : nullptr;
    const int32_t *exponent_b = scaled ? p.b.exponent + component * p.n_row + row0 : nullptr;
    const int largest = scaled ? largest_exponent<S::threads>(exponent_a, exponent_b, n_row,
                                                              [] { __syncthreads(); })
                               : half_exponent;
    int64_t l = 0;
    sums<S> sum = {};
    walk_tiles<S>(
        shared_address(shared), int((n_row - 1) / inner + 1),
        [&](uint32_t to) {
            copy_tile<true, S::rows, S::threads>(to, a, l);
            copy_tile<true, S::columns, S::threads>(to + S::a_bytes, b, l);
            l += inner;
        },
        [&](uint32_t stage, int tile) {
            const int row = tile * inner;
            if (scaled && row % scale_rows == 0) {
                fill_scales<S::threads>(scales, scale_rows, exponent_a + row, exponent_b + row,
                                        n_row - row, largest);
                __syncthreads();
            }
            multiply_stage<S, true, true, M>(
                sum, stage, stage + S::a_bytes, [&](uint32_t(&fragments)[4], int step) {
                    if (scaled) {
                        scale_fragments(fragments, scales + row % scale_rows, step);
                    }
                });
        });
#pragma unroll
    for (int i = 0; i < S::warp_rows / 16; i++) {
        store_partial<S::warp_columns>(p, p.partial + z * p.n_m * p.n_n, &sum[i][0][0],
                                       m0 + warp_row<S>() + i * 16, n0 + warp_column<S>(),
                                       unscale_of(largest, scaled ? 0 : half_exponent));
    }
#endif
}

template <typename M, bool scaled>
cudaError_t launch_tile_sums(cudaStream_t stream, const clifford_sums_args &p)
{
    const int64_t blocks =
        ((p.n_m - 1) / S::rows + 1) * ((p.n_n - 1) / S::columns + 1) * p.n_component * p.n_chunk;
    return blocks > INT32_MAX
               ? cudaErrorInvalidConfiguration
               : clifford::launch(tile_sums_kernel<M, scaled>, dim3(unsigned(blocks)), S::threads,
                                  shared_bytes, stream, p);
}

} // namespace

cudaError_t clifford_linear_tile_sums(cudaStream_t stream, int32_t dtype,
                                      const clifford_sums_args &p)
{
    return dtype == TESS_F32   ? launch_tile_sums<__half, true>(stream, p)
           : dtype == TESS_F16 ? launch_tile_sums<__half, false>(stream, p)
                               : launch_tile_sums<__nv_bfloat16, false>(stream, p);
}
