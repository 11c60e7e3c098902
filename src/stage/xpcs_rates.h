// The stage of rates without a formula: what a step of a fit needs of all points where the model's
// integrals over time are any numbers by frame.
#ifndef TESS_STAGE_XPCS_RATES_H
#define TESS_STAGE_XPCS_RATES_H

#include "stage/xpcs.h"

enum { TESS_STAGE_XPCS_RATES = 0x0208 };

// Leaf l adds to stripe l % STRIPES, leaves of a stripe in order: the same bits for any number of
// threads and however leaves are cut into calls.
enum { TESS_XP_RATES_STRIPES = 16 };

// Of an angle: what weighs its points in the gradient and in the Hessian.
typedef struct tess_xp_rates_angle {
    double by_model;   // the gradient by M is w (by_model M + by_one - by_sample y),
    double by_one;     //
    double by_sample;  // y less the angle's mean
    double by_squares; // of products of derivatives
} tess_xp_rates_angle;

// Sums at one point, w being 1 where a sample is finite and else 0. Kind 0 is transport, kind 1
// shear (n_kind 1: none). With a = w dM/dC_D[j], b = w dM/dC_G[j], f = w dM/dphi0, every one of
// which counts with its sign for frame j and with the other for frame i, and basis [n_frame][n] of
// a kind, the integrals by coefficient:
//
//   six    [n_angle][6]                 S1 Sf Sff Sy Syy Sfy of tess_stage_xpcs_pass
//   slope  [n_angle][2][n_kind][n_frame]  sums of a, b and of a M, b M by frame
//   turn   [n_angle][2]                 sums of f and f M
//   pull   [n_kind][n_frame]            gradient by frame; then that by phi0
//   diagonal [3][n_frame]               by_squares times a a, a b, b b of both frames of a pair
//   across [n_kind][n_frame]            by_squares times f a, f b by frame; then f f
//   cross  [n_kind][n_kind][n][n]       sum of by_squares a a basis_i basis_j', kinds of i and j
typedef struct tess_stage_xpcs_rates {
    const tess_xp_tiles *tiles;
    const double *diffusion;     // [n_frame] C_D
    const double *shear;         // [n_frame] C_G, may fall; NULL: none
    const tess_xp_angle *angles; // [n_angle] w2, amplitude, tau, mean
    const tess_xp_rates_angle *weights;
    const double *basis[2];       // [n_frame][n_basis]
    const unsigned char *records; // of tile first_leaf * LEAF on
    double *sums;                 // [STRIPES][n_sum], added to
    int64_t n_sum;
    int64_t n_basis;  // of each kind
    int64_t most_lag; // pairs further apart do not count; 0: all do
    int64_t first_leaf;
    int64_t n_leaf;
    int32_t power;
    int32_t has_slopes; // 0: six alone
} tess_stage_xpcs_rates;

// Where in a stripe's sums a part begins.
typedef struct tess_xp_rates_parts {
    int64_t six, slope, turn, pull, diagonal, across, cross, n_sum;
} tess_xp_rates_parts;

static inline tess_xp_rates_parts tess_xp_rates_layout(int64_t n_angle, int64_t n_frame,
                                                       int64_t n_kind, int64_t n_basis)
{
    tess_xp_rates_parts p = {.six = 0};
    p.slope = p.six + 6 * n_angle;
    p.turn = p.slope + 2 * n_angle * n_kind * n_frame;
    p.pull = p.turn + 2 * n_angle;
    p.diagonal = p.pull + n_kind * n_frame + 1;
    p.across = p.diagonal + 3 * n_frame;
    p.cross = p.across + n_kind * n_frame + 1;
    p.n_sum = p.cross + n_kind * n_kind * n_basis * n_basis;
    return p;
}

#endif
