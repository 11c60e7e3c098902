// A block's sums from those of its warps, in the order of the stage.
#ifndef TESS_CUDA_XPCS_PASS_SUMS_H
#define TESS_CUDA_XPCS_PASS_SUMS_H

#include "backend/cuda/xpcs/pass_take.h"

namespace
{

// Leaves the sums of a warp's lanes in shared memory.
template <int n_param, int want>
__device__ __forceinline__ void store_sums(const lane_sums<n_param, want> &s, double *mine)
{
    const int at = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < n_product<n_param, want>; k++) {
        double *to = mine + k * 128 + at * 2;
        to[0] = s.d[k][0], to[1] = s.d[k][1];
        to[64] = s.d[k][2], to[65] = s.d[k][3];
    }
    double *lanes = mine + n_product<n_param, want> * 128 + at;
    lanes[0] = s.extra.weight, lanes[32] = s.extra.sample, lanes[64] = s.extra.square;
    lanes[96] = s.extra.residual;
    if (want == COST) {
        lanes[128] = s.cost[0], lanes[160] = s.cost[1], lanes[192] = s.cost[2];
    }
}

// Sums of all warps of a block, as they lie in shared memory.
template <int n_param, int want>
struct warp_table {
    const double *sums; // [warps][warp_sums]
    int n_slice;

    // Factor n by the top (half 0) or bottom quantity of product k, of an angle of the block.
    __device__ double product(int angle, int k, int half, int n) const
    {
        double sum = 0;
        for (int s = 0; s < n_slice; s++) {
            const double *warp = sums + (angle / 8 * n_slice + s) * warp_sums<n_param, want>;
            sum += warp[k * 128 + half * 64 + angle % 8 * 8 + n];
        }
        return sum;
    }

    // Sum k of its lanes besides.
    __device__ double lanes(int angle, int k) const
    {
        double sum = 0;
        for (int s = 0; s < n_slice; s++) {
            const double *warp = sums + (angle / 8 * n_slice + s) * warp_sums<n_param, want>;
            const double *x = warp + n_product<n_param, want> * 128 + k * 32 + angle % 8 * 4;
            sum += (x[0] + x[1]) + (x[2] + x[3]);
        }
        return sum;
    }
};

// Sums over M, M^2 or M y (kind 0, 1, 2) by factor n of 1 and u.
template <int n_param, int want>
__device__ double model_sum(const warp_table<n_param, want> &table, int angle, int kind, int n)
{
    return n_param == 7 ? table.product(angle, kind, 0, n)
                        : table.product(angle, kind / 2, kind % 2, n);
}

// One of P, Q, R (kind 0, 1, 2) by parameter k.
template <int n_param, int want>
__device__ double slope_sum(const warp_table<n_param, want> &table, const tess_xp_angle &of,
                            int angle, int kind, int k, int power)
{
    if (k < 3) {
        return -of.w2 * model_sum(table, angle, kind, 1 + k);
    }
    return k < 6 ? table.product(angle, kind, 1, 1 + k)
                 : power * of.tau * table.product(angle, kind, 1, 0);
}

// By u u^T, number at of its upper triangle.
template <int n_param, int want>
__device__ double uu_sum(const warp_table<n_param, want> &table, int angle, int at)
{
    if (n_param == 7) {
        return table.product(angle, 3, 0, at);
    }
    return at < 4 ? table.product(angle, 0, 1, 4 + at) : table.product(angle, 1, 1, at);
}

// Element number of the Hessian's upper triangle, of one angle, without its weight.
template <int n_param, int want>
__device__ double outer_sum(const warp_table<n_param, want> &table, const tess_xp_angle &of,
                            int angle, int number, int power)
{
    int row = 0, column = number;
    while (column >= n_param - row) {
        column -= n_param - row;
        row++;
    }
    column += row;
    const double tau = power * of.tau;
    if (column < 3) {
        return of.w2 * of.w2 * uu_sum(table, angle, row * (5 - row) / 2 + column);
    }
    if (row < 3 && column < 6) { // u v^T
        const int at = row * 3 + column - 3;
        return -of.w2 * (at < 4   ? table.product(angle, 4, 0, at)
                         : at < 8 ? table.product(angle, 5, 1, at)
                                  : table.product(angle, 1, 1, 7));
    }
    if (row < 3) {
        return -of.w2 * tau * table.product(angle, 1, 1, 1 + row);
    }
    if (column < 6) { // v v^T
        const int r = row - 3, at = r * (5 - r) / 2 + column - 3;
        return at < 2 ? table.product(angle, 3, 1, 6 + at) : table.product(angle, 4, 1, 2 + at);
    }
    return row < 6 ? tau * table.product(angle, 5, 0, row - 2)
                   : tau * tau * table.product(angle, 5, 0, 0);
}

// One of the 6 + 3 p sums of an angle.
template <int n_param, int want, int weighing>
__device__ double angle_sum(const xp_pass &a, const warp_table<n_param, want> &table,
                            const double *heads, const tess_xp_angle &of, int angle, int number)
{
    const double by = weighing == XP_ROBUST ? of.inverse_variance : 1;
    const bool is_model = number == 1 || number == 2 || number == 5;
    if (number >= 6) {
        const int k = number - 6;
        return want == COST ? 0
                            : by * slope_sum(table, of, angle, k / n_param, k % n_param, a.power);
    }
    if (is_model) {
        const int k = number == 5 ? 2 : number - 1;
        return by * (want == COST ? table.lanes(angle, 4 + k) : model_sum(table, angle, k, 0));
    }
    const int k = number == 0 ? 0 : number - 2;
    if (weighing == XP_PLAIN) {
        return heads[angle * 3 + k];
    }
    if (weighing == XP_ROBUST && number == 4) {
        return a.f_scale * a.f_scale * table.lanes(angle, 2);
    }
    return by * table.lanes(angle, k);
}

template <int n_param, int want, int weighing>
__device__ void write_sums(const xp_pass &a, const warp_table<n_param, want> &table,
                           const double *heads, const tess_xp_angle *angles, int first, int n,
                           double *out)
{
    constexpr int n_each = 6 + 3 * n_param, n_outer = n_param * (n_param + 1) / 2;
    for (int x = threadIdx.x; x < n * n_each; x += blockDim.x) {
        const int angle = x / n_each;
        out[first * n_each + x] = angle_sum<n_param, want, weighing>(
            a, table, heads, angles[first + angle], angle, x % n_each);
    }
    // A warp has an element, its lanes the angles: all take the same way.
    double *outer = out + a.n_angle * n_each + int(blockIdx.y) * (n_outer + 1);
    for (int x = threadIdx.x / 32; x <= n_outer; x += blockDim.x / 32) {
        double sum = 0;
        for (int angle = threadIdx.x % 32; angle < n; angle += 32) {
            const tess_xp_angle &of = angles[first + angle];
            if (x < n_outer && want == HESSIAN) {
                sum += of.weight * outer_sum(table, of, angle, x, a.power);
            } else if (x == n_outer && weighing == XP_ROBUST) {
                sum += of.inverse_variance * table.lanes(angle, 3);
            }
        }
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, step);
        }
        if (threadIdx.x % 32 == 0) {
            outer[x] = sum;
        }
    }
}

} // namespace

#endif
