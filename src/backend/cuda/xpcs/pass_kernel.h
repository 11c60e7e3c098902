// The kernel of a pass; included by the files that build it for a mode.
//
// Lanes of a warp are 8 angles by 4 pairs of frames, two points each: just what a tensor core takes
// as the left factor of D[16][8] += A[16][8] B[8][8]. Half of A's rows are one quantity of the
// points (M, M^2, M y, T, ...), half another; B has the factors of the pairs (1, u, v and their
// products), which all angles share. D is then the sums of eight angles over pairs, and no lane
// ever gives a sum to another. Where derivatives by diffusion carry the factor -w2 of the angle,
// that is left out of B and multiplied at the end.
#ifndef TESS_CUDA_XPCS_PASS_KERNEL_H
#define TESS_CUDA_XPCS_PASS_KERNEL_H

#include "backend/cuda/xpcs/pass_pairs.h"
#include "backend/cuda/xpcs/pass_sums.h"

namespace
{

template <typename T, int n_param, int want, int weighing>
__global__ void __launch_bounds__(xp_max_warps * 32, want == COST ? 3 : 2)
    pass_kernel(const __grid_constant__ xp_pass a)
{
    extern __shared__ double shared[];
    const int first = int(blockIdx.y) * a.round_angles;
    const int n = min(a.round_angles, a.n_angle - first);
    const int n_group = (n + 7) / 8, n_slice = int(blockDim.x) / 32 / n_group;
    const int warp = int(threadIdx.x) / 32, group = warp / n_slice, slice = warp % n_slice;
    const int in_block = group * 8 + int(threadIdx.x) % 32 / 4, angle = first + in_block;
    const tess_xp_angle *angles = a.angles + int64_t(blockIdx.z) * a.n_angle;
    const xp_lane lane = lane_of<weighing>(a, angles, angle, in_block < n);
    const block_angles all = survey(angles + first, n);
    const bool is_one_q = all.least_w2 == all.most_w2;

    const tile_factors<T> f = factors_in<T>(shared);
    lane_sums<n_param, want> sums = {};
    double heads[3] = {};

    const int64_t full = xp_record_bytes(a.n_angle, a.item_bytes, a.has_sigma);
    const int64_t begin = begin_of(a, blockIdx.x);
    const int n_tile = int(min(int64_t(xp_part_tiles), a.n_tile - begin));
    const unsigned char *records =
        a.records - xp_record_at(a.row_offset, a.first_row, a.first_run, full);
    xp_tile tile = {};
    for (int k = 0; k < n_tile; k++) {
        tile = k == 0 ? xp_tile_at(a.n_frame, uint32_t(a.n_tile - begin))
                      : xp_tile_after(a.n_frame, tile);
        const record_parts record =
            parts_of(a, tile, records + xp_record_at(a.row_offset, tile.row, tile.run, full));
        if (weighing == XP_PLAIN) {
            add_heads(record, first, n, heads);
        }
        if (weighing == XP_PLAIN && is_dark(a, tile, all)) {
            continue;
        }
        // Samples are on their way while the factors are filled.
        tile_samples samples = samples_of(a, tile, record, lane, angle, slice, n_slice);
        __syncthreads();
        for (int p = threadIdx.x; p < tile.width; p += blockDim.x) {
            fill_pair<T, n_param, want>(a, tile, all, p, f.e, f.b, f.inverse, f.factors);
        }
        __syncthreads();
        if (group < n_group) {
            take_tile<T, n_param, want, weighing>(a, tile, record, lane, is_one_q, angle, slice,
                                                  n_slice, f, samples, &sums);
        }
    }

    __syncthreads();
    if (group < n_group) {
        store_sums<n_param, want>(sums, shared + warp * warp_sums<n_param, want>);
    }
    double *head_sums = shared + xp_max_warps * warp_sums<n_param, want>;
    store_heads(heads, n, head_sums);
    __syncthreads();
    const int64_t part = int64_t(a.first_set + blockIdx.z) * a.n_leaf * xp_leaf_parts + blockIdx.x;
    const warp_table<n_param, want> table = {shared, n_slice};
    write_sums<n_param, want, weighing>(a, table, head_sums, angles, first, n,
                                        a.partial + part * a.n_partial);
}

template <typename T, int n_param, int want, int weighing>
cudaError_t launch_one(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a)
{
    constexpr size_t bytes = shared_bytes<T, n_param, want>;
    const auto kernel = pass_kernel<T, n_param, want, weighing>;
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error != cudaSuccess) {
        return error;
    }
    kernel<<<blocks, unsigned(warps) * 32, bytes, stream>>>(a);
    return cudaGetLastError();
}

template <typename T, int n_param, int weighing>
cudaError_t launch_want(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a, int want)
{
    switch (want) {
    case COST:
        return launch_one<T, n_param, COST, weighing>(stream, blocks, warps, a);
    case GRADIENT:
        return launch_one<T, n_param, GRADIENT, weighing>(stream, blocks, warps, a);
    default:
        return launch_one<T, n_param, HESSIAN, weighing>(stream, blocks, warps, a);
    }
}

} // namespace

#endif
