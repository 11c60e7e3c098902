// How the factors of pairs and the sums of a block lie in shared memory.
#ifndef TESS_CUDA_XPCS_PASS_SHAPE_H
#define TESS_CUDA_XPCS_PASS_SHAPE_H

#include "backend/cuda/xpcs/pass.h"

namespace
{

enum { COST = 0, GRADIENT = 1, HESSIAN = 2 };

// Blocks of eight factors per pair, by which the quantities of points are multiplied two by two:
//
//   static   1 u u0u0 u0u1 u0u2 u1u1   M, M^2
//            1 u u1u2 u2u2             M y, M^2     (a gradient alone: by the first block)
//   laminar  1 u v u2v2                M, T;  M^2, T M;  M y, T y
//            u u^T v0v0 v0v1           M^2, T^2
//            u0v u1v0 v0v2 v1v1 v1v2 v2v2   T M, T^2
//            1 v u1v1 u1v2 u2v0 u2v1   T^2, T M
template <int n_param, int want>
constexpr int n_factor = want == COST       ? 0
                         : want == GRADIENT ? 1
                         : n_param == 3     ? 2
                                            : 4;
template <int n_param, int want>
constexpr int n_product = want == COST       ? 0
                          : n_param == 3     ? 2
                          : want == GRADIENT ? 3
                                             : 6;

// Doubles from the factors of four pairs to those of the next four: a multiple of 32 and 4 besides,
// so that neither the stores nor the loads of a warp meet in a bank.
template <int n_param, int want>
constexpr int slot_stride = n_factor<n_param, want> * 32 + 4;

// e (or the integral, where angles have several q), b and 1/b of a tile, then its factors; and at
// the end in the same place the sums of all warps.
template <typename T, int n_param, int want>
constexpr size_t tile_bytes =
    3 * xp_run * sizeof(T) + xp_run / 4 * slot_stride<n_param, want> * sizeof(double);
template <int n_param, int want>
constexpr int warp_sums = n_product<n_param, want> * 128 + (want == COST ? 7 : 4) * 32;
template <int n_param, int want>
constexpr size_t sums_bytes =
    (xp_max_warps * warp_sums<n_param, want> + 3 * xp_block_angles) * sizeof(double);
template <typename T, int n_param, int want>
constexpr size_t shared_bytes =
    sums_bytes<n_param, want> > tile_bytes<T, n_param, want> ? sums_bytes<n_param, want>
                                                             : tile_bytes<T, n_param, want>;

// What lies in shared memory of a tile.
template <typename T>
struct tile_factors {
    T *e, *b, *inverse;
    double *factors;
};

template <typename T>
__device__ __forceinline__ tile_factors<T> factors_in(double *shared)
{
    tile_factors<T> f;
    f.e = reinterpret_cast<T *>(shared);
    f.b = f.e + xp_run;
    f.inverse = f.b + xp_run;
    f.factors = reinterpret_cast<double *>(f.inverse + xp_run);
    return f;
}

} // namespace

#endif
