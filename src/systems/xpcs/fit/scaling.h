// Contrast and offset, eliminated: from the sums of a pass the best scaling, and cost, gradient and
// Hessian of what is left, a function of the physical parameters alone.
//
// All modes are linear in their unknowns. Individual: a pair per angle; averaged: one pair;
// fourier: a series for contrast and one for offset; constant modes have none. Pairs respect their
// bounds exactly, an unknown at its bound counting as fixed; the series of fourier are not bounded.
#ifndef TESS_XPCS_FIT_SCALING_H
#define TESS_XPCS_FIT_SCALING_H

#include "runtime/context.h"
#include "tessera/xpcs/result.h"

typedef struct tess_xp_scaling_setup {
    int32_t mode; // tess_xpcs_scaling but auto
    int64_t fourier_order;
    int64_t n_angle;
    int64_t n_param;
    const double *phi;              // [n_angle] degrees; fourier only
    const double *mean;             // [n_angle] subtracted from y in the sums
    const double *inverse_variance; // [n_angle] by which sums are multiplied; NULL: 1
    const double *contrast;         // [n_angle] of constant modes, copied; else NULL
    const double *offset;
    const double *lower; // [2] contrast, offset
    const double *upper;
} tess_xp_scaling_setup;

typedef struct tess_xp_scaling {
    tess_context *ctx;
    double *block; // everything below, [block_bytes]
    size_t block_bytes;
    int32_t mode;
    int64_t n_angle;
    int64_t n_param;
    int64_t n_basis; // of contrast, and as many of offset; 0: constant
    double lower[2];
    double upper[2];
    double reference; // mean of means: offsets of common unknowns are counted from it
    double *mean;     // [n_angle]
    double *weight;   // [n_angle]
    double *fixed;    // [2][n_angle] contrast and offset of constant modes
    double *basis;    // [n_angle][n_basis], fourier only
    double *work;     // [n_work] of one caller at a time
    int64_t n_work;
} tess_xp_scaling;

// The mode that auto stands for, or that static_isotropic imposes.
int32_t tess_xp_scaling_resolve(const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                int64_t n_angle);
// Fourier needs 1 + 2 order angles: TESS_E_PARAM.
TESS_MUST_CHECK tess_status tess_xp_scaling_create(tess_context *ctx,
                                                   const tess_xp_scaling_setup *setup,
                                                   tess_xp_scaling *out);
void tess_xp_scaling_destroy(tess_xp_scaling *scaling);
// Free unknowns: 2 n_basis.
int64_t tess_xp_scaling_n_unknown(const tess_xp_scaling *scaling);

// What is left; plain numbers in a caller's block.
typedef struct tess_xp_reduced {
    double *cost;             // [1]
    double *gradient;         // [n_param]
    double *hessian;          // [n_param][n_param]
    double *contrast;         // [n_angle]
    double *offset;           // [n_angle] not centred
    double *cost_angle;       // [n_angle]
    double *response;         // [2 n_angle][n_param] contrasts, offsets by theta, residuals aside
    int32_t *contrast_status; // [n_angle] tess_xpcs_param_status; UNIDENTIFIED: the model is flat
    int32_t *offset_status;
} tess_xp_reduced;

// What a contrast weighs the Hessian as: small ones as 1e-3, for an angle must not vanish from it.
static inline double tess_xp_weighing_contrast(double contrast)
{
    return contrast > -1e-3 && contrast < 1e-3 ? 1e-3 : contrast;
}

size_t tess_xp_reduced_bytes(int64_t n_angle, int64_t n_param);
void tess_xp_reduced_bind(tess_xp_reduced *reduced, void *block, int64_t n_angle, int64_t n_param);

// sums [n_sum] of a pass of linear loss. want (TESS_XP_WANT_*): what they hold; gradient, and
// Hessian with response, are left alone otherwise. before [n_angle]: the contrasts that weighed the
// Hessian's sums; gradient and cost are exact whatever they were.
void tess_xp_scaling_reduce(const tess_xp_scaling *scaling, const double *sums,
                            const double *before, int32_t want, tess_xp_reduced *out);

// Inverse of the normal matrix of the unknowns, as it acts on contrasts and offsets: inverse
// [2 n_angle][2 n_angle], 0 for constant modes; one at its bound as if it were free, by itself.
void tess_xp_scaling_inverse(const tess_xp_scaling *scaling, const double *sums,
                             const tess_xp_reduced *reduced, double *inverse);

// Contrast and offset [n_angle] of unknowns u [2 n_basis] (contrast's, then offset's), and for an
// individual or averaged mode the other way round, fourier by least squares.
void tess_xp_scaling_expand(const tess_xp_scaling *scaling, const double *u, double *contrast,
                            double *offset);
TESS_MUST_CHECK tess_status tess_xp_scaling_collect(const tess_xp_scaling *scaling,
                                                    const double *contrast, const double *offset,
                                                    double *u);

// Robust losses, nothing eliminated: from the sums of a pass at contrast [n_angle] the cost,
// gradient and Hessian by unknowns and theta, n = 2 n_basis + n_param.
void tess_xp_scaling_explicit(const tess_xp_scaling *scaling, const double *sums,
                              const double *contrast, double *cost, double *gradient,
                              double *hessian);

#endif
