// Inside of the elimination: sums of a group of angles about their means, pairs and series.
#ifndef TESS_XPCS_FIT_SCALING_PARTS_H
#define TESS_XPCS_FIT_SCALING_PARTS_H

#include "systems/xpcs/fit/scaling.h"

// Order of an angle's sums.
enum {
    TESS_XP_S1 = 0,
    TESS_XP_SF = 1,
    TESS_XP_SFF = 2,
    TESS_XP_SY = 3,
    TESS_XP_SYY = 4,
    TESS_XP_SFY = 5,
    TESS_XP_SIX = 6
};

// Numbers of an angle.
static inline int64_t tess_xp_stride(const tess_xp_scaling *s)
{
    return TESS_XP_SIX + 3 * s->n_param;
}

// Sums about the means of model and data, which keeps their digits.
typedef struct tess_xp_moments {
    double s1;
    double m;   // mean of the model
    double y;   // mean of the data, not centred
    double sff; // about m
    double syy; // about y
    double sfy;
    double raw_sff; // about 0
} tess_xp_moments;

// mean: what y was counted from. All zero but y where no point counts.
tess_xp_moments tess_xp_moments_of(const double *six, double mean);

// Derivative of an angle's contrast by unknown i, and of its offset by unknown n_basis + i.
double tess_xp_scaling_weight(const tess_xp_scaling *s, int64_t angle, int64_t i);

// Individual, averaged and constant scaling.
void tess_xp_pairs_solve(const tess_xp_scaling *s, const double *sums, tess_xp_reduced *out);
void tess_xp_pairs_project(const tess_xp_scaling *s, const double *sums, const double *before,
                           tess_xp_reduced *out);
void tess_xp_pairs_inverse(const tess_xp_scaling *s, const double *sums,
                           const tess_xp_reduced *reduced, double *inverse);

// Fourier.
void tess_xp_series_solve(const tess_xp_scaling *s, const double *sums, tess_xp_reduced *out);
void tess_xp_series_project(const tess_xp_scaling *s, const double *sums, const double *before,
                            tess_xp_reduced *out);
void tess_xp_series_inverse(const tess_xp_scaling *s, const double *sums, double *inverse);

#endif
