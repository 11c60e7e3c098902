// What all angles share of a tile: integrals of its pairs, and the factors of their derivatives.
#ifndef TESS_CUDA_XPCS_PASS_PAIRS_H
#define TESS_CUDA_XPCS_PASS_PAIRS_H

#include "backend/cuda/xpcs/pass_shape.h"
#include "backend/cuda/xpcs/sinc.h"
#include "backend/cuda/xpcs/tiles.h"

namespace
{

// Column p of a tile is pair (p / 2) % 4 of a lane's four, in slot 2 (p / 8) + p % 2: a lane has
// neighbouring columns, whose samples it loads at once.
template <int n_param, int want>
__device__ __forceinline__ double *factors_of(double *factors, int p)
{
    return factors + (p / 8 * 2 + p % 2) * slot_stride<n_param, want> + p / 2 % 4;
}

struct pair_factors {
    double u[3], v[3];
};

template <int n_param, int want>
__device__ __forceinline__ void store_factors(double *to, const pair_factors &f)
{
    const double(&u)[3] = f.u, (&v)[3] = f.v;
    to[0] = 1;
    to[4] = u[0], to[8] = u[1], to[12] = u[2];
    if (n_param == 3) {
        to[16] = u[0] * u[0], to[20] = u[0] * u[1], to[24] = u[0] * u[2], to[28] = u[1] * u[1];
        if (want == HESSIAN) {
            double *second = to + 32;
            second[0] = 1;
            second[4] = u[0], second[8] = u[1], second[12] = u[2];
            second[16] = u[1] * u[2], second[20] = u[2] * u[2];
            second[24] = second[28] = 0;
        }
        return;
    }
    to[16] = v[0], to[20] = v[1], to[24] = v[2];
    to[28] = u[2] * v[2];
    if (want == HESSIAN) {
        double *second = to + 32, *third = to + 64, *fourth = to + 96;
        second[0] = u[0] * u[0], second[4] = u[0] * u[1], second[8] = u[0] * u[2];
        second[12] = u[1] * u[1], second[16] = u[1] * u[2], second[20] = u[2] * u[2];
        second[24] = v[0] * v[0], second[28] = v[0] * v[1];
        third[0] = u[0] * v[0], third[4] = u[0] * v[1], third[8] = u[0] * v[2];
        third[12] = u[1] * v[0], third[16] = v[0] * v[2], third[20] = v[1] * v[1];
        third[24] = v[1] * v[2], third[28] = v[2] * v[2];
        fourth[0] = 1;
        fourth[4] = v[0], fourth[8] = v[1], fourth[12] = v[2];
        fourth[16] = u[1] * v[1], fourth[20] = u[1] * v[2];
        fourth[24] = u[2] * v[0], fourth[28] = u[2] * v[1];
    }
}

// sqrt(d^2 + eps), and what its derivative keeps of that of d.
__device__ __forceinline__ double integral(double d, double eps, double *slope)
{
    *slope = 1;
    if (eps == 0) {
        return fabs(d);
    }
    const double rounded = sqrt(fma(d, d, eps));
    *slope = fabs(d) / rounded;
    return rounded;
}

// What a block keeps of its angles.
struct block_angles {
    double least_w2, most_w2, most_amplitude;
};

// Every warp by itself.
__device__ inline block_angles survey(const tess_xp_angle *angles, int n)
{
    const int at = threadIdx.x % 32;
    block_angles b = {angles[0].w2, angles[0].w2, fabs(angles[0].amplitude)};
    for (int k = at; k < n; k += 32) {
        b.least_w2 = fmin(b.least_w2, angles[k].w2);
        b.most_w2 = fmax(b.most_w2, angles[k].w2);
        b.most_amplitude = fmax(b.most_amplitude, fabs(angles[k].amplitude));
    }
    for (int step = 16; step > 0; step /= 2) {
        b.least_w2 = fmin(b.least_w2, __shfl_xor_sync(0xffffffff, b.least_w2, step));
        b.most_w2 = fmax(b.most_w2, __shfl_xor_sync(0xffffffff, b.most_w2, step));
        b.most_amplitude =
            fmax(b.most_amplitude, __shfl_xor_sync(0xffffffff, b.most_amplitude, step));
    }
    return b;
}

// Whether M is below 4e-18 for every pair of a tile at every angle, which then counts as 0.
__device__ __forceinline__ bool is_dark(const xp_pass &a, const xp_tile &tile,
                                        const block_angles &angles)
{
    const double *grown = a.grid[blockIdx.z][0];
    return angles.least_w2 * fabs(grown[tile.column] - grown[tile.row]) > 40;
}

// One column of a tile: what its pair has for all angles.
template <typename T, int n_param, int want>
__device__ void fill_pair(const xp_pass &a, const xp_tile &tile, const block_angles &angles, int p,
                          T *e, T *b, T *inverse, double *factors)
{
    const double *const *grid = a.grid[blockIdx.z];
    const double eps = a.eps[blockIdx.z];
    const int64_t i = tile.row, j = tile.column + (p < tile.n_column ? p : 0);
    const bool is_there = p < tile.n_column;
    double slope;
    pair_factors f = {};
    const double far = integral(grid[0][j] - grid[0][i], eps, &slope);
    if (angles.least_w2 == angles.most_w2) {
        const double exponent = -angles.least_w2 * far;
        e[p] = T(is_there && exponent >= -160 ? exp(exponent) : 0);
    } else {
        e[p] = T(far);
    }
    for (int k = 0; k < 3 && want != COST; k++) {
        f.u[k] = is_there ? (grid[1 + k][j] - grid[1 + k][i]) * slope : 0;
    }
    if (n_param == 7) {
        const double strain = integral(grid[4][j] - grid[4][i], eps, &slope);
        const double by = is_there && strain > 0 ? 1 / strain : 0;
        for (int k = 0; k < 3 && want != COST; k++) {
            f.v[k] = a.power * by * ((grid[5 + k][j] - grid[5 + k][i]) * slope);
        }
        const double most = xp_far / angles.most_amplitude;
        b[p] = T(strain < most ? strain : most);
        inverse[p] = T(by);
    }
    if (want != COST) {
        store_factors<n_param, want>(factors_of<n_param, want>(factors, p), f);
    }
}

} // namespace

#endif
