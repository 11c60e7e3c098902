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

typedef struct tess_xp_density {
    int64_t n_param;
    int64_t n_angle;
    const double *mean;                       // [n_angle] subtracted from y in the sums
    tess_xp_prior theta[TESS_XPCS_MAX_PARAM]; // [n_param]
    tess_xp_prior contrast;                   // as if without bounds
    tess_xp_prior offset;
    double noise_scale;                    // of the half normal of s
    int32_t is_fixed[TESS_XPCS_MAX_PARAM]; // 1: a constant, without a prior
} tess_xp_density;

// Parts of the density at a point.
typedef struct tess_xp_density_value {
    double log_likelihood;
    double log_prior; // of the parameters that are free
    double log_prior_noise;
    double gradient[TESS_XPCS_MAX_PARAM + 1]; // by theta and s
} tess_xp_density_value;

// sums [n_angle][6 + 3 n_param] of a pass with gradient at theta.
void tess_xp_density_at(const tess_xp_density *density, const double *sums, const double *theta,
                        double s, tess_xp_density_value *out);

// Contrast and offset of an angle given theta and s: means (offset, contrast), and the lower root
// of their covariance, [2][2].
void tess_xp_density_scaling(const tess_xp_density *density, const double *angle_sums,
                             int64_t angle, double s, double mean[2], double root[4]);

#endif
