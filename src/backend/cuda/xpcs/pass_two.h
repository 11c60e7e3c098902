// Two components in a pass: what all angles share of a tile's pairs, and the points of an angle.
#ifndef TESS_CUDA_XPCS_PASS_TWO_H
#define TESS_CUDA_XPCS_PASS_TWO_H

#include "backend/cuda/xpcs/pass_pairs.h"
#include "backend/cuda/xpcs/pass_take.h"
#include "backend/cuda/xpcs/two.h"

namespace
{

// Rows [xp_run] of a tile's pairs in shared memory.
enum {
    PAIR_REFERENCE = 0, // exp(-w2 I), or I where angles have several q
    PAIR_SAMPLE = 1,    // likewise
    PAIR_COSINES = 2,   // of both frames
    PAIR_SINES = 3,
    PAIR_WAY = 4,
    PAIR_VALUES = 5, // of a cost
    PAIR_BY_REFERENCE = 5,
    PAIR_BY_SAMPLE = 8,
    PAIR_BY_WAY = 11,
    PAIR_X_MIXING = 14,
    PAIR_Y_MIXING = 18,
    PAIR_ROWS = 22,
};

// Rows of a warp's points: derivatives, M, weighted sample, weight. Their stride leaves the loads
// of a tensor core's operands without conflicts of banks.
enum {
    POINT_MODEL = TESS_XP_TWO_PARAMS,
    POINT_SAMPLE = 15,
    POINT_WEIGHT = 16,
    POINT_ROWS = 17,
    POINT_STRIDE = 36,
};

__device__ inline void fill_rates(const double *sums, int64_t n, int64_t i, int64_t j, double by,
                                  double *to)
{
    for (int k = 0; k < 3; k++) {
        const double *of = sums + (1 + k) * n;
        to[k * xp_run] = by * (of[j] - of[i]);
    }
}

// One column of a tile. -w2 is left to the angles.
template <int want>
__device__ void fill_two(const xp_pass &a, const xp_tile &tile, const block_angles &angles, int p,
                         double *pairs)
{
    const double *grid = a.grid[blockIdx.z][0];
    const int64_t n = a.n_frame, i = tile.row, j = tile.column + (p < tile.n_column ? p : 0);
    const double *sample = grid + TESS_XP_TWO_SAMPLE * n;
    const double *velocity = grid + TESS_XP_TWO_VELOCITY * n;
    const double *cosine = grid + TESS_XP_TWO_COSINE * n, *sine = grid + TESS_XP_TWO_SINE * n;
    const double ci = cosine[i], cj = cosine[j], si = sine[i], sj = sine[j];
    const bool is_one_q = angles.least_w2 == angles.most_w2;
    double slope_r, slope_s;
    const double far_r = integral(grid[j] - grid[i], a.eps[blockIdx.z], &slope_r);
    const double far_s = integral(sample[j] - sample[i], a.eps[blockIdx.z], &slope_s);
    double *to = pairs + p;
    to[PAIR_REFERENCE * xp_run] = is_one_q ? xp_two_decay(angles.least_w2, far_r) : far_r;
    to[PAIR_SAMPLE * xp_run] = is_one_q ? xp_two_decay(angles.least_w2, far_s) : far_s;
    to[PAIR_COSINES * xp_run] = ci * cj;
    to[PAIR_SINES * xp_run] = si * sj;
    to[PAIR_WAY * xp_run] = velocity[j] - velocity[i];
    if (want == COST) {
        return;
    }
    fill_rates(grid, n, i, j, slope_r * (ci * cj), to + PAIR_BY_REFERENCE * xp_run);
    fill_rates(sample, n, i, j, slope_s * (si * sj), to + PAIR_BY_SAMPLE * xp_run);
    fill_rates(velocity, n, i, j, 1, to + PAIR_BY_WAY * xp_run);
    for (int k = 0; k < 4; k++) {
        const double *of = grid + (TESS_XP_TWO_MIXING_D + k) * n;
        to[(PAIR_X_MIXING + k) * xp_run] = -fma(si * cj, of[i], ci * sj * of[j]);
        to[(PAIR_Y_MIXING + k) * xp_run] = fma(ci * sj, of[i], si * cj * of[j]);
    }
}

// M at one angle; its derivatives go down a column of points.
template <int want>
__device__ __forceinline__ double take_two(const double *pair, const tess_xp_angle &of,
                                           bool is_one_q, double *point)
{
    const double first = pair[PAIR_REFERENCE * xp_run], second = pair[PAIR_SAMPLE * xp_run];
    const double hr = is_one_q ? first : xp_two_decay(of.w2, first);
    const double hs = is_one_q ? second : xp_two_decay(of.w2, second);
    const double x = pair[PAIR_COSINES * xp_run] * hr, y = pair[PAIR_SINES * xp_run] * hs;
    const double way = pair[PAIR_WAY * xp_run];
    double sine, cosine, by_x, by_y;
    sincos(of.amplitude * way, &sine, &cosine);
    const double m = xp_two_mix(x, y, cosine, &by_x, &by_y);
    if (want == COST) {
        return m;
    }
    by_x *= 2 * hr, by_y *= 2 * hs;
    const double by_psi = -2 * (x * y) * sine, by_rate = by_psi * of.amplitude;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        point[k * POINT_STRIDE] = -of.w2 * by_x * pair[(PAIR_BY_REFERENCE + k) * xp_run];
        point[(3 + k) * POINT_STRIDE] = -of.w2 * by_y * pair[(PAIR_BY_SAMPLE + k) * xp_run];
        point[(6 + k) * POINT_STRIDE] = by_rate * pair[(PAIR_BY_WAY + k) * xp_run];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        point[(9 + k) * POINT_STRIDE] = fma(by_x, pair[(PAIR_X_MIXING + k) * xp_run],
                                            by_y * pair[(PAIR_Y_MIXING + k) * xp_run]);
    }
    point[13 * POINT_STRIDE] = by_psi * of.tau * way;
    return m;
}

} // namespace

#endif
