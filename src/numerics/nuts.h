// One chain of the No-U-Turn sampler (Hoffman, Gelman 2014), multinomial, with the generalised
// criterion (Betancourt 2017), dual averaging of the step and a dense metric learned in windows.
//
// The sampler asks for evaluations instead of calling back, so that several chains share one sweep
// over data, and its whole state is plain bytes that a checkpoint can keep between two of them.
#ifndef TESS_NUMERICS_NUTS_H
#define TESS_NUMERICS_NUTS_H

#include <stddef.h>
#include <stdint.h>

enum { TESS_NUTS_MAX_DEPTH = 15 };

typedef struct tess_nuts_options {
    uint64_t seed;
    uint32_t chain;    // chains of one seed are independent
    int32_t max_depth; // a transition takes at most 2^max_depth - 1 steps
    int64_t n_warmup;
    int64_t n_draw;
    double target_accept;
    double max_energy_error; // beyond it a path has diverged
} tess_nuts_options;

typedef enum tess_nuts_request {
    TESS_NUTS_EVALUATE = 0, // log density and gradient at the trial point are wanted
    TESS_NUTS_DRAW = 1,     // likewise; and a transition has ended, look at it
    TESS_NUTS_DONE = 2      // the last one has ended: nothing more is wanted
} tess_nuts_request;

// All of it lies in one block of tess_nuts_bytes() bytes without pointers.
typedef struct tess_nuts tess_nuts;

size_t tess_nuts_bytes(int64_t n, int32_t max_depth);
// covariance [n][n] of the density, as far as known, positive definite: the first metric; NULL: 1.
// 0 if it is not positive definite.
int tess_nuts_begin(tess_nuts *state, int64_t n, const double *x0, const double *covariance,
                    const tess_nuts_options *options);
// Where an evaluation is wanted [n].
const double *tess_nuts_trial(const tess_nuts *state);
// Takes the evaluation at the trial point. A log density that is not finite counts as 0 density;
// at the start there must be some.
tess_nuts_request tess_nuts_next(tess_nuts *state, double log_density, const double *gradient);

// The next transition begins at x instead, where log density and gradient are these: for a chain
// that makes proposals for another one.
void tess_nuts_restart(tess_nuts *state, const double *x, double log_density,
                       const double *gradient);

// Another metric, by the lower root [n][n] of its covariance; tess_nuts_restart() has to follow.
// Not while the chain warms up.
void tess_nuts_set_root(tess_nuts *state, const double *root);

// The transition that has ended last.
typedef struct tess_nuts_view {
    const double *x;        // [n] the draw
    const double *gradient; // [n] there
    double log_density;
    double energy;
    double accept; // mean acceptance of the path's points
    double step;   // that the path was made with
    int64_t draw;  // number of it; negative while warming up, -1 the last of these
    int64_t n_step;
    int32_t depth;
    int32_t is_divergent;
} tess_nuts_view;

void tess_nuts_look(const tess_nuts *state, tess_nuts_view *view);
// Transitions that have ended, those of the warm-up included.
int64_t tess_nuts_n_done(const tess_nuts *state);
// The metric in use [n][n].
const double *tess_nuts_covariance(const tess_nuts *state);

#endif
