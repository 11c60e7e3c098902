// The matrix products of stage clifford.fcgp with the matrix instructions of single warps: a block
// for every tile of a result, the longest sums first. See tiles.cuh.
#ifndef TESS_CLIFFORD_FCGP_TILES_CUH
#define TESS_CLIFFORD_FCGP_TILES_CUH

#include "backend/cuda/clifford/common/matrix.cuh"
#include "backend/cuda/clifford/common/tiles.cuh"

namespace clifford_fcgp
{

// Operands as clifford_matrix::operands says; Store: of fcgp_store.cuh.
template <typename Store>
struct tiles_arguments {
    clifford_matrix::operands o;
    int32_t n_inner, n_down, n_across; // tiles
    cl_fc_table table;
    Store store;
};

// A layer's rows (columns) from `first` on.
__device__ __forceinline__ clifford_tiles::operand<__half>
operand_of(const clifford_box_array &from, int layer, int first, int64_t n, int64_t n_inner)
{
    return {static_cast<const __half *>(from.data) + layer * from.stride_layer, from.stride_row,
            first, n, n_inner};
}

template <bool turned_a, bool turned_b, typename Store>
__global__ void __launch_bounds__(clifford_tiles::square::threads, 2)
    tiles_kernel(const __grid_constant__ tiles_arguments<Store> p)
{
#if TESS_CUDA_HAS_MATRIX
    using S = clifford_tiles::square;
    extern __shared__ __align__(1024) uint8_t shared[];
    const int per_result = p.n_down * p.n_across;
    const int rest = int(blockIdx.x) % per_result;
    const int result = p.table.order[int(blockIdx.x) / per_result];
    const int row = rest / p.n_across * S::rows;
    const int column = rest % p.n_across * S::columns;
    const int n_step = p.table.first[result + 1] - p.table.first[result];
    int step = p.table.first[result];
    int tile = 0;
    clifford_tiles::sums<S> sum = {};
    clifford_tiles::walk_tiles<S>(
        clifford_mma::shared_address(shared), n_step * p.n_inner,
        [&](uint32_t to) {
            const cl_fc_step layers = p.table.steps[step];
            clifford_tiles::copy_tile<turned_a, S::rows, S::threads>(
                to, operand_of(p.o.a, layers.a, row, p.o.n_row, p.o.n_inner),
                int64_t(tile) * clifford_tiles::inner);
            clifford_tiles::copy_tile<turned_b, S::columns, S::threads>(
                to + S::a_bytes, operand_of(p.o.b, layers.b, column, p.o.n_column, p.o.n_inner),
                int64_t(tile) * clifford_tiles::inner);
            tile++;
            if (tile == p.n_inner) {
                tile = 0;
                step++;
            }
        },
        [&](uint32_t stage, int) {
            clifford_tiles::multiply_stage<S, turned_a, turned_b, __half>(sum, stage,
                                                                          stage + S::a_bytes);
        });
    clifford_tiles::for_fours<S>(sum, [&](int tile_row) {
        const auto scale = p.store.scale_of(row + tile_row);
        return [&p, result, at = row + tile_row, column, scale](int, int tile_column, float4 v) {
            p.store.put({result, at, column + tile_column},
                        make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
        };
    });
#endif
}

template <bool turned_a, bool turned_b, typename Store>
cudaError_t launch_tiles(cudaStream_t stream, const clifford_matrix::operands &o,
                         const cl_fc_table &table, const Store &store)
{
    using S = clifford_tiles::square;
    const int64_t down = cl_fc_whole(o.n_row, S::rows);
    const int64_t across = cl_fc_whole(o.n_column, S::columns);
    const tiles_arguments<Store> args = {o,
                                         int32_t(cl_fc_whole(o.n_inner, clifford_tiles::inner)),
                                         int32_t(down),
                                         int32_t(across),
                                         table,
                                         store};
    const int64_t blocks = down * across * table.n_result;
    return blocks > INT32_MAX
               ? cudaErrorInvalidConfiguration
               : clifford::launch(tiles_kernel<turned_a, turned_b, Store>, dim3(unsigned(blocks)),
                                  S::threads, S::shared_bytes, stream, args);
}

} // namespace clifford_fcgp

#endif
