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
// The fields are those of the fitted model, pixels and photons such that the residuals' sum of
// squares and that of their sums over frames come out.
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
    const double *sum;    // [n_frame][k] slopes over the pairs of a frame
} tess_xp_frame_pairs;

// Second moments of one pixel's noise, part by part. gradient: sum of slope psi; total: sum of
// weight psi over the pairs of a frame.
typedef struct tess_xp_frame_moments {
    double gradient[TESS_XP_FRAMES_PARTS][TESS_XP_FRAMES_K * TESS_XP_FRAMES_K]; // with itself
    double mixed[TESS_XP_FRAMES_PARTS]
                [TESS_XP_FRAMES_K * TESS_XP_FRAMES_K]; // sum times total, with it
    double square[TESS_XP_FRAMES_PARTS];               // sum of weight psi^2
    double total[TESS_XP_FRAMES_PARTS];                // sum of totals squared
} tess_xp_frame_moments;

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
