// Errors where points that share a frame, or speckles, have correlated noise.
//
// c2 is a mean over pixels, so that its noise is that of one pixel over their number. With x the
// intensity of a pixel (mean 1), e the noise of its photons, and c = c2,
//
//   psi(i, j) = x_i x_j - c (x_i + x_j - 1)                     speckle
//             + e_i (x_j - c) + e_j (x_i - c) + e_i e_j         photons of one frame, of both
//
// where e has the variance x / photons. What a fit makes of it is A^-1 B A^-1: A the Hessian of the
// sum of squares, B the covariance of its gradient, of which each of the three parts has its own.
// The fields are those of the fitted model, pixels and photons such that two sums come out: that of
// the residuals' squares, and that of the squares of their twists. A twist is the difference of
// differences of four points, (i, j) - (i', j) - (i, j') + (i', j'), i' and j' being the next
// frames: what frames share cancels, photons of both stay. Long sums over frames would tell as
// much, but their squares scatter far more, for few speckles are behind them.
#ifndef TESS_XPCS_FIT_FRAMES_H
#define TESS_XPCS_FIT_FRAMES_H

#include "systems/xpcs/fit/result.h"
#include "systems/xpcs/fit/step.h"

enum { TESS_XP_FRAMES_K = TESS_XPCS_MAX_PARAM + 2, TESS_XP_FRAMES_PARTS = 3 };

// Pairs of an angle: what a fit weighs and how the model depends on its parameters, k of them:
// contrast, offset, theta.
typedef struct tess_xp_frame_pairs {
    int64_t n_frame;
    int64_t k;
    const double *c2;     // [n_pair] 1 + contrast M
    const double *weight; // [n_pair] 0 where there is no point
    const double *slope;  // [n_pair][k] weight times derivative
    const double *pull;   // [n_pair][k] by which noise enters the sum of twists times theirs
    const int64_t *next;  // [n_frame] that has points; n_frame: none
} tess_xp_frame_pairs;

// Four points whose differences are taken.
typedef struct tess_xp_twist {
    int64_t frame[4]; // i, i', j, j'
    int64_t at[4];    // pairs (i, j), (i', j), (i, j'), (i', j')
    double weight;    // 0: one of them is missing
} tess_xp_twist;

static const double tess_xp_twist_sign[4] = {1, -1, -1, 1};

// Second moments of one pixel's noise, part by part. gradient: sum of slope psi; pulled: sum of
// pull psi.
typedef struct tess_xp_frame_moments {
    double gradient[TESS_XP_FRAMES_PARTS][TESS_XP_FRAMES_K * TESS_XP_FRAMES_K]; // with itself
    double pulled[TESS_XP_FRAMES_PARTS][TESS_XP_FRAMES_K * TESS_XP_FRAMES_K];   // with the gradient
    double square[TESS_XP_FRAMES_PARTS]; // sum of weight psi^2
    double twist[TESS_XP_FRAMES_PARTS];  // sum of weight twist^2
} tess_xp_frame_moments;

// --- frames_twist.c ---

int64_t tess_xp_frame_pair(int64_t n_frame, int64_t i, int64_t j);
// The twist that begins with frames i and j > i.
tess_xp_twist tess_xp_twist_at(const tess_xp_frame_pairs *pairs, int64_t i, int64_t j);
// next, from the weights; pull, from them and the slopes, and twists [k][k]: of the derivatives.
void tess_xp_twist_next(int64_t n_frame, const double *weight, int64_t *next);
void tess_xp_twist_pull(const tess_xp_frame_pairs *pairs, double *pull, double *twists);
// Sum of the squares of values [n_pair].
double tess_xp_twist_square(const tess_xp_frame_pairs *pairs, const double *value);

// --- frames_exact.c ---

// What fields are like: their correlations, and the sums of the modes' weights to the power of 2
// (the contrast), 3 and 4.
typedef struct tess_xp_frame_fields {
    const double *field; // [n_frame][n_frame]
    double second;
    double third;
    double fourth;
} tess_xp_frame_fields;

// Adds what pairs of frame k with later ones have to do with all others, speckle and photons of one
// frame: the sum over all k is the mean of pixels without end. scratch [3 n_frame].
void tess_xp_frame_add_exact(const tess_xp_frame_pairs *pairs, const tess_xp_frame_fields *fields,
                             int64_t k, double *scratch, tess_xp_frame_moments *out);

// --- frames_moments.c ---

// Numbers of scratch that one pixel takes.
int64_t tess_xp_frame_scratch(int64_t n_frame, int64_t k);
// Adds those of a pixel with intensities x [n_frame], of speckle and of photons of one frame; and
// those of photons of both, which do not depend on it.
void tess_xp_frame_add_pixel(const tess_xp_frame_pairs *pairs, const double *x, double *scratch,
                             tess_xp_frame_moments *out);
void tess_xp_frame_add_both(const tess_xp_frame_pairs *pairs, tess_xp_frame_moments *out);

// Covariance, deviations and correlations of a result whose points were taken as independent.
// stretch [n_param]: by what errors grow.
TESS_MUST_CHECK tess_status tess_xp_frames_apply(const tess_xp_engine *engine,
                                                 tess_xpcs_result *result, double *stretch);

// --- frames_errors.c ---

// The same of a fit at its end: into engine->noisy, anew if it is there.
TESS_MUST_CHECK tess_status tess_xp_frames_errors(tess_xp_engine *engine, double *stretch);
// What it is, in a result that has all else; made first if it is not there.
TESS_MUST_CHECK tess_status tess_xp_frames_take(tess_xp_engine *engine, tess_xpcs_result *result);

#endif
