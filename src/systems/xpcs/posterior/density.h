// The posterior density of the physical parameters and of the noise, contrast and offset of every
// angle integrated out: from the sums of one pass of weight 1.
//
// y ~ Normal(offset + contrast M, s^2) per pair of frames; (offset, contrast) of an angle are
// normal a priori, the parameters normals truncated to their bounds, s half normal.
#ifndef TESS_XPCS_POSTERIOR_DENSITY_H
#define TESS_XPCS_POSTERIOR_DENSITY_H

#include "tessera/xpcs/model.h"

// A normal between bounds.
typedef struct tess_xp_prior {
    double mean;
    double sd;
    double lower;
    double upper;
    double log_norm; // what makes it a density; set by tess_xp_prior_close()
} tess_xp_prior;

void tess_xp_prior_close(tess_xp_prior *prior);

// What contrast and offset are.
typedef enum tess_xp_scaled {
    TESS_XP_SCALED_EACH = 0, // a pair for every angle, integrated out
    TESS_XP_SCALED_ALL = 1,  // one pair for all angles, integrated out
    TESS_XP_SCALED_HELD = 2  // known
} tess_xp_scaled;

typedef struct tess_xp_density {
    int64_t n_param;
    int64_t n_angle;
    const double *mean; // [n_angle] subtracted from y in the sums
    const double *held; // [2][n_angle] contrasts, offsets that are known
    tess_xp_scaled scaled;
    tess_xp_prior theta[TESS_XPCS_MAX_PARAM]; // [n_param]
    tess_xp_prior contrast;                   // without bounds, but where is_truncated says so
    tess_xp_prior offset;                     //
    const uint8_t *is_truncated;              // [n_angle] 1: pairs within bounds; NULL: none
    double noise_scale;                       // of the half normal of s
    int32_t is_fixed[TESS_XPCS_MAX_PARAM];    // 1: a constant, without a prior
} tess_xp_density;

// Parts of the density at a point.
typedef struct tess_xp_density_value {
    double log_likelihood;
    double log_prior; // of the parameters that are free
    double log_prior_noise;
    double gradient[TESS_XPCS_MAX_PARAM + 1];       // by theta and s
    double prior_gradient[TESS_XPCS_MAX_PARAM + 1]; // the part of the priors
} tess_xp_density_value;

// sums [n_angle][6 + 3 n_param] of a pass with gradient at theta.
void tess_xp_density_at(const tess_xp_density *density, const double *sums, const double *theta,
                        double s, tess_xp_density_value *out);

// All angles as one: the density of one angle that has *mean, with sums pooled [6 + 3 n_param].
tess_xp_density tess_xp_density_pool(const tess_xp_density *density, const double *sums,
                                     double *pooled, double *mean);

// Share of the pairs of an angle that lie outside the bounds: what its density neglects where the
// angle is not truncated.
double tess_xp_density_outside(const tess_xp_density *density, const double *angle_sums,
                               int64_t angle, double s);

// Contrast and offset of an angle given theta and s: means (offset, contrast), and the lower root
// of their covariance, [2][2].
void tess_xp_density_scaling(const tess_xp_density *density, const double *angle_sums,
                             int64_t angle, double s, double mean[2], double root[4]);

#endif
