// A fit that has been checked and prepared: what is free and where it starts, what points weigh.
#ifndef TESS_XPCS_FIT_PROBLEM_H
#define TESS_XPCS_FIT_PROBLEM_H

#include "base/text.h"
#include "systems/xpcs/fit/scaling.h"
#include "systems/xpcs/pass/pass.h"
#include "systems/xpcs/pass/weights.h"
#include "tessera/warning.h"

enum { TESS_XP_FRAMES_MOST = 2000 }; // frames that noise frames is made for

typedef struct tess_xp_problem {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config; // its pointers are the caller's
    int64_t n_param;
    int64_t n_angle;
    int64_t n_free; // physical
    int64_t free_index[TESS_XPCS_MAX_PARAM];
    double start[TESS_XPCS_MAX_PARAM]; // inside the bounds; NaN: from the data
    double lower[TESS_XPCS_MAX_PARAM];
    double upper[TESS_XPCS_MAX_PARAM];
    double x_scale[TESS_XPCS_MAX_PARAM]; // NaN: from the Jacobian
    int32_t is_fixed[TESS_XPCS_MAX_PARAM];
    int32_t has_start; // 1: of every parameter
    // Two components, from a look at the data: decay of both, Å²/s; velocity in the middle of the
    // measurement, Å/s, and its exponent.
    double two_rate;
    double two_velocity;
    double two_beta;
    int32_t sigma_is_default;
    tess_xp_scaling scaling;
    tess_xp_weights weights;
    double *block; // the arrays below
    size_t block_bytes;
    double *contrast; // [n_angle] where the fit begins, or the values of constant modes
    double *offset;
    tess_text warnings;     // a sentence per line
    tess_xpcs_data *sketch; // a small part of the data, when it was first needed
} tess_xp_problem;

// Only what is needed to tell which fit it is: settings and model, with what they take from the
// data, of which unreadable parts are masked. Ends with close.
TESS_MUST_CHECK tess_status tess_xp_problem_begin(tess_context *ctx, tess_xpcs_data *data,
                                                  const tess_xpcs_model *model,
                                                  const tess_xpcs_fit_config *config,
                                                  tess_xp_problem *problem);
// config may be NULL. Reads the data where estimates are wanted.
TESS_MUST_CHECK tess_status tess_xp_problem_open(tess_context *ctx, tess_xpcs_data *data,
                                                 const tess_xpcs_model *model,
                                                 const tess_xpcs_fit_config *config,
                                                 tess_xp_problem *problem);
// Accepts one that is zeroed.
void tess_xp_problem_close(tess_xp_problem *problem);
// Adds a sentence to the warnings.
void tess_xp_problem_warn(tess_xp_problem *problem, tess_warning warning, const char *format, ...)
    TESS_PRINTF(3, 4);

// Free parameters, physical and of the scaling.
int64_t tess_xp_problem_n_free(const tess_xp_problem *problem);

// Starts: of tess_xpcs_params() where nothing is given; from how long the correlation lasts at
// different ages, false where the data do not tell; of a Latin hypercube over the bounds,
// thetas [n][stride].
void tess_xp_start_default(const tess_xp_problem *problem, double *theta);
TESS_MUST_CHECK tess_status tess_xp_start_guess(tess_xp_problem *problem, double *theta,
                                                bool *is_found);
void tess_xp_start_latin(const tess_xp_problem *problem, int64_t n, double *thetas, int64_t stride);

#endif
