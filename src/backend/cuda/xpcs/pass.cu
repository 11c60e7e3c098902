// Sums over tiles of two-time correlations: blocks, their memory, and leaves from parts.

#include "backend/cuda/xpcs/pass.h"

#include "backend/cuda/xpcs/stages.h"
#include "backend/cuda/xpcs/tiles.h"

namespace
{

constexpr int threads = 256;

struct layout {
    int rounds;       // of angles
    int round_angles; // of a block
    int warps;
    int64_t n_each;    // sums of an angle
    int64_t n_rest;    // of the Hessian and chi2
    int64_t n_partial; // of a part
};

layout layout_of(const tess_stage_xpcs_pass &a)
{
    // Eight angles are a warp's; several warps share the columns of a tile where angles are few.
    static const int slices[] = {0, 6, 3, 2, 1, 1, 1};
    const int64_t n = a.tiles->n_angle, p = a.n_param;
    layout l;
    l.rounds = int((n + xp_block_angles - 1) / xp_block_angles);
    const int64_t each = (n + l.rounds - 1) / l.rounds;
    l.round_angles = int((each + 7) / 8 * 8);
    const int n_group = l.round_angles / 8;
    l.warps = n_group * slices[n_group];
    l.n_each = 6 + 3 * p;
    l.n_rest = p * (p + 1) / 2 + 1;
    l.n_partial = n * l.n_each + l.rounds * l.n_rest;
    return l;
}

// A thread has one of the sums of a leaf: its parts in order, and rounds of angles within a part.
__global__ void __launch_bounds__(threads)
    leaf_kernel(const double *partial, double *sums, int64_t n_leaf, int64_t n_sum,
                int64_t n_partial, int64_t n_angle_sum, int64_t n_rest, int rounds)
{
    const int64_t leaf = int64_t(blockIdx.y) * n_leaf + blockIdx.x;
    partial += leaf * xp_leaf_parts * n_partial;
    for (int64_t x = threadIdx.x; x < n_sum; x += threads) {
        double part[xp_leaf_parts];
#pragma unroll
        for (int k = 0; k < xp_leaf_parts; k++) {
            part[k] = partial[k * n_partial + x];
        }
        for (int r = 1; r < rounds && x >= n_angle_sum; r++) {
            for (int k = 0; k < xp_leaf_parts; k++) {
                part[k] += partial[k * n_partial + x + r * n_rest];
            }
        }
        double sum = part[0];
#pragma unroll
        for (int k = 1; k < xp_leaf_parts; k++) {
            sum += part[k];
        }
        sums[leaf * n_sum + x] = sum;
    }
}

xp_pass arguments_of(const tess_stage_xpcs_pass &a, const layout &l)
{
    xp_pass p = {};
    p.row_offset = a.tiles->row_offset;
    p.records = a.records;
    p.lag_weight = a.lag_weight;
    p.partial = static_cast<double *>(a.scratch);
    p.n_partial = l.n_partial;
    p.first_leaf = a.first_leaf;
    p.group = a.group;
    p.period = a.period;
    p.first_tile = a.period > 0 ? 0 : a.first_leaf * TESS_STAGE_XPCS_LEAF;
    p.n_tile = a.tiles->n_tile;
    const xp_tile first = xp_tile_at(a.tiles->n_frame, uint32_t(p.n_tile - p.first_tile));
    p.first_row = first.row;
    p.first_run = first.run;
    p.n_frame = a.tiles->n_frame;
    p.n_leaf = a.n_leaf;
    p.n_angle = int32_t(a.tiles->n_angle);
    p.round_angles = l.round_angles;
    p.item_bytes = a.tiles->item_bytes;
    p.has_sigma = a.tiles->has_sigma;
    p.use_sigma = a.tiles->has_sigma && !a.ignore_sigma && a.lag_weight == nullptr;
    p.power = a.power;
    p.loss = a.loss;
    p.f_scale = a.f_scale;
    return p;
}

// The grids of some sets from first on.
void set_grids(const tess_stage_xpcs_pass &a, int64_t first, int64_t n, xp_pass *p)
{
    for (int64_t s = 0; s < n; s++) {
        const tess_xp_grid &grid = a.grid[first + s];
        p->eps[s] = grid.eps_abs;
        p->grid[s][0] = grid.two != nullptr ? grid.two : grid.diffusion;
        p->grid[s][4] = grid.shear;
        for (int k = 0; k < 3; k++) {
            p->grid[s][1 + k] = grid.diffusion_d[k];
            p->grid[s][5 + k] = grid.shear_d[k];
        }
    }
    p->angles = a.angles + first * a.tiles->n_angle;
    p->frame_weight =
        a.frame_weight == nullptr ? nullptr : a.frame_weight + first * a.tiles->n_frame;
    p->first_set = int32_t(first);
}

cudaError_t launch_sets(cudaStream_t stream, const tess_stage_xpcs_pass &a, const layout &l,
                        const xp_pass &p, int64_t n_set)
{
    const dim3 blocks(unsigned(a.n_leaf * xp_leaf_parts), unsigned(l.rounds), unsigned(n_set));
    const int want = a.want & TESS_XP_WANT_HESSIAN ? 2 : a.want & TESS_XP_WANT_GRADIENT ? 1 : 0;
    const bool is_weighted =
        a.lag_weight != nullptr || a.frame_weight != nullptr || p.use_sigma != 0;
    const xp_weighing weighing = a.loss != 0 ? XP_ROBUST : is_weighted ? XP_WEIGHTED : XP_PLAIN;
    if (a.n_param == TESS_XP_TWO_PARAMS) {
        return xp_launch_two(stream, blocks, p, want, weighing);
    }
    if (a.n_param == 3) {
        return xp_launch_static(stream, blocks, l.warps, p, want, weighing);
    }
    if (a.is_mixed && a.loss == 0) {
        return xp_launch_mixed(stream, blocks, l.warps, p, want, weighing);
    }
    return xp_launch_laminar(stream, blocks, l.warps, p, want, weighing);
}

cudaError_t pass_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_pass *>(args);
    if (a.n_leaf == 0 || a.n_set == 0) {
        return cudaSuccess;
    }
    const layout l = layout_of(a);
    xp_pass p = arguments_of(a, l);
    for (int64_t first = 0; first < a.n_set; first += xp_launch_sets) {
        const int64_t left = a.n_set - first;
        const int64_t n = left < xp_launch_sets ? left : int64_t(xp_launch_sets);
        set_grids(a, first, n, &p);
        const cudaError_t error = launch_sets(stream, a, l, p, n);
        if (error != cudaSuccess) {
            return error;
        }
    }
    leaf_kernel<<<dim3(unsigned(a.n_leaf), unsigned(a.n_set)), threads, 0, stream>>>(
        p.partial, a.sums, a.n_leaf, a.n_sum, l.n_partial, a.tiles->n_angle * l.n_each, l.n_rest,
        l.rounds);
    return cudaGetLastError();
}

tess_status pass_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t pass_scratch_bytes(const tess_backend_device *, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_pass *>(args);
    return size_t(a.n_set * a.n_leaf * xp_leaf_parts * layout_of(a).n_partial) * sizeof(double);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_pass = {
    TESS_STAGE_XPCS_PASS, "xpcs.pass",        sizeof(tess_stage_xpcs_pass),
    pass_supports,        pass_scratch_bytes, pass_launch,
};
