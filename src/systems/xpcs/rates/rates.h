// A fit of rates of any shape at work: its unknowns, what a point of them costs, and the result.
#ifndef TESS_XPCS_RATES_RATES_H
#define TESS_XPCS_RATES_RATES_H

#include "base/text.h"
#include "runtime/watch.h"
#include "stage/xpcs_rates.h"
#include "systems/xpcs/posterior/sample.h"
#include "systems/xpcs/rates/basis.h"

enum { TESS_XP_RATES_MOST = 2 * TESS_XP_RATES_MOST_BASIS + 1 }; // unknowns

struct tess_xpcs_rates {
    tess_context *ctx;
    tess_blocks memory;
    tess_xpcs_rates_info info; // its pointers lead into memory and what follows
    tess_xpcs_result *power;
    char identity[33];
    char verdict[512];
    tess_text notes;
};

// A point x of the unknowns (transport, shear, phi0), and what was found there.
typedef struct tess_xp_rates_point {
    double *x;        // [n]
    double *six;      // [n_angle][6]
    double s;         // noise that is likeliest there
    double log_data;  // log density of the data there, noise integrated over, without priors of x
    double log_prior; // of x, with the constants of its density
    // With slopes:
    double *gradient; // [n] of -log_data
    double *hessian;  // [n][n] Gauss and Newton's
} tess_xp_rates_point;

typedef struct tess_xp_rates_fit {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    const tess_xp_density *density; // of the sums of all angles; n_param 0
    tess_blocks memory;
    tess_xp_spline splines[2];
    int64_t n_kind;  // 1: no shear
    int64_t n_basis; // of each
    int64_t n;       // unknowns
    tess_xp_prior phi0;
    int32_t has_phi0; // 1: it is free
    double held_phi0;
    double log_lambda[2];
    double lambda_given; // 0: to be chosen
    int64_t n_pass;
    int64_t most_lag; // pairs further apart do not count; 0: all do
    // Passes.
    tess_xp_reader reader;
    int64_t leaves_per_chunk;
    tess_xp_rates_parts parts;
    double *sums;        // [STRIPES][n_sum]; after a pass all are in the first
    double *integral[2]; // [n_frame]
    double *basis[2];    // [n_frame][n_basis]
    tess_xp_angle *angles;
    tess_xp_rates_angle *weights;
    tess_watch watch;
    int64_t n_expected; // passes, a guess
    // Where it is, and where it tries to go.
    tess_xp_rates_point at;
    tess_xp_rates_point trial;
    double *work; // [n][n] three times
    bool is_converged;
} tess_xp_rates_fit;

// --- power.c

typedef struct tess_xp_rates_weight {
    double log_evidence; // NaN: the posterior has no normal at its top
    double error;
    bool is_sound; // the error can be trusted
} tess_xp_rates_weight;

// A power law whose offsets are free is one more thing than D0 t^alpha: smooth splines of ln D come
// to the latter without paying for the former, so that both count.
typedef struct tess_xp_rates_power_law {
    tess_context *ctx;
    tess_xpcs_data *data;
    const tess_xpcs_model *model;
    const tess_xpcs_fit_config *config;
    tess_xpcs_sample_config sampling; // to be set by tess_xp_rates_fit_power()
    tess_xpcs_result *fit;            // with offsets; the caller's, even after an error
    tess_xp_rates_weight whole;
    tess_xp_rates_weight without; // offsets 0
    tess_xp_rates_weight both;
} tess_xp_rates_power_law;

TESS_MUST_CHECK tess_status tess_xp_rates_fit_power(tess_xp_rates_power_law *law);

// --- sweep.c

TESS_MUST_CHECK tess_status tess_xp_rates_open(tess_xp_rates_fit *fit);
void tess_xp_rates_close(tess_xp_rates_fit *fit);
// Memory of the sums.
uint64_t tess_xp_rates_bytes(int64_t n_angle, int64_t n_frame, int64_t n_kind, int64_t n_basis);
// Six sums, noise and log densities at point->x.
TESS_MUST_CHECK tess_status tess_xp_rates_value(tess_xp_rates_fit *fit, tess_xp_rates_point *point);
// Gradient and Hessian at a point whose values are known.
TESS_MUST_CHECK tess_status tess_xp_rates_slopes(tess_xp_rates_fit *fit,
                                                 tess_xp_rates_point *point);

// --- assemble.c

// From the sums of a pass with slopes.
void tess_xp_rates_assemble(const tess_xp_rates_fit *fit, tess_xp_rates_point *point);
// Weights of the pass, from the six sums and the noise.
void tess_xp_rates_weigh(const tess_xp_rates_fit *fit, const tess_xp_rates_point *point);
// Contrast and offset of every angle there.
void tess_xp_rates_scaling(const tess_xp_rates_fit *fit, const tess_xp_rates_point *point,
                           double *contrast, double *offset);

// --- prior.c

// Precision [n][n] of x a priori, and the log density of the prior at x.
void tess_xp_rates_precision(const tess_xp_rates_fit *fit, const double log_lambda[2],
                             double *precision);
double tess_xp_rates_log_prior(const tess_xp_rates_fit *fit, const double log_lambda[2],
                               const double *x);
// precision (x - centre): the slope of -log prior.
void tess_xp_rates_pull(const tess_xp_rates_fit *fit, const double *precision, const double *x,
                        double *out);

// --- solve.c

// The top of the posterior at the smoothness of the fit, from at on, whose value and slopes are
// known. is_rough: until a step would gain little, for a first look.
TESS_MUST_CHECK tess_status tess_xp_rates_climb(tess_xp_rates_fit *fit, bool is_rough);

// --- begin.c

// The top from at.x on, of pairs that are near to each other first: there is one hill for these.
// Where smooth shear comes near to 0 its sign behind is tried, too.
TESS_MUST_CHECK tess_status tess_xp_rates_begin(tess_xp_rates_fit *fit);

// --- smoothness.c

// Chooses the smoothness, climbing whenever it has changed.
TESS_MUST_CHECK tess_status tess_xp_rates_smooth(tess_xp_rates_fit *fit);
// Log evidence at the top, smoothness averaged over where it is not given.
double tess_xp_rates_evidence(const tess_xp_rates_fit *fit);
// Covariance [n][n] of x about it, likewise.
TESS_MUST_CHECK tess_status tess_xp_rates_covariance(const tess_xp_rates_fit *fit,
                                                     double *covariance);

// Coefficients of a kind that data determine at the top: those there are, less what the prior does.
double tess_xp_rates_effective(const tess_xp_rates_fit *fit, int64_t kind);

// --- result.c

TESS_MUST_CHECK tess_status tess_xp_rates_result_create(tess_context *ctx, tess_xpcs_rates **out);
// Curves, bands and numbers of a fit.
TESS_MUST_CHECK tess_status tess_xp_rates_tell(const tess_xp_rates_fit *fit,
                                               tess_xpcs_rates *result);

#endif
