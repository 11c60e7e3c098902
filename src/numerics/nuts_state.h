// The inside of a chain: its numbers, and where its vectors lie behind them.
#ifndef TESS_NUMERICS_NUTS_STATE_H
#define TESS_NUMERICS_NUTS_STATE_H

#include "numerics/nuts.h"

#include <stdbool.h>

// Vectors of n numbers.
enum {
    NUTS_X,              // the chain
    NUTS_GRADIENT,       //
    NUTS_TRIAL,          // where an evaluation is wanted
    NUTS_HALF,           // momentum in the middle of the step there
    NUTS_LEFT_X,         // ends of the path
    NUTS_LEFT_P,         //
    NUTS_LEFT_G,         //
    NUTS_RIGHT_X,        //
    NUTS_RIGHT_P,        //
    NUTS_RIGHT_G,        //
    NUTS_NEW_X,          // the path's choice
    NUTS_NEW_G,          //
    NUTS_SUB_X,          // that of the half being added
    NUTS_SUB_G,          //
    NUTS_SUM,            // momenta of the path
    NUTS_SUB_SUM,        // of the half being added
    NUTS_SCRATCH,        //
    NUTS_SCRATCH_2,      //
    NUTS_SEEN_MEAN,      // of the draws of a window
    NUTS_FIRST_VARIANCE, // of the metric that the chain began with
    NUTS_N_VECTOR
};

typedef enum nuts_phase {
    NUTS_FIRST, // the start is being evaluated
    NUTS_PROBE, // a step of a length that is looked for
    NUTS_LEAF   // a step of a path
} nuts_phase;

// Nesterov's dual averaging of the logarithm of the step.
typedef struct nuts_averaging {
    double centre;
    double log_step;
    double log_mean;
    double error;
    double count;
} nuts_averaging;

struct tess_nuts {
    int64_t n;
    tess_nuts_options options;
    int64_t iteration;
    uint64_t n_uniform; // random numbers used
    uint64_t n_normal;
    int32_t phase;
    int32_t is_ended; // the transition that has ended last was the last of all
    double step;
    nuts_averaging averaging;
    // A step that is looked for.
    double probe_energy;
    int32_t probe_direction; // 0: none yet
    int32_t probe_count;
    // The chain, and the path being made.
    double log_density;
    double energy; // where it began
    double new_log_density;
    double new_energy;
    double sub_log_density;
    double sub_energy;
    double log_weight;
    double sub_log_weight;
    double sum_accept;
    int64_t n_step;
    int64_t leaf; // of the half being added
    int32_t depth;
    int32_t goes_right;
    // What has ended last.
    double last_energy;
    double last_accept;
    double last_step;
    int64_t last_n_step;
    int64_t last_draw;
    int32_t last_depth;
    int32_t last_is_divergent;
    double n_seen; // draws of this window
};

// The vector; behind all of them lie covariance, its root, the window's squares, and what a half
// remembers of its momenta, [2][max_depth][n].
static inline double *nuts_vector(tess_nuts *s, int which)
{
    return (double *)(s + 1) + (int64_t)which * s->n;
}
static inline double *nuts_covariance(tess_nuts *s)
{
    return nuts_vector(s, NUTS_N_VECTOR);
}
// Lower root of the covariance.
static inline double *nuts_root(tess_nuts *s)
{
    return nuts_covariance(s) + s->n * s->n;
}
static inline double *nuts_squares(tess_nuts *s)
{
    return nuts_root(s) + s->n * s->n;
}
static inline double *nuts_kept_momentum(tess_nuts *s, int32_t at)
{
    return nuts_squares(s) + s->n * s->n + (int64_t)at * s->n;
}
static inline double *nuts_kept_sum(tess_nuts *s, int32_t at)
{
    return nuts_kept_momentum(s, s->options.max_depth + at);
}

// velocity = covariance momentum.
void nuts_velocity(tess_nuts *s, const double *momentum, double *velocity);
double nuts_kinetic(tess_nuts *s, const double *momentum);
// A momentum of the metric's distribution.
void nuts_draw_momentum(tess_nuts *s, double *momentum);
double nuts_uniform(tess_nuts *s);
// Half a step of momentum and a step of place: NUTS_HALF and NUTS_TRIAL.
void nuts_leap(tess_nuts *s, const double *x, const double *momentum, const double *gradient,
               double step);
// The other half: momentum at the trial.
void nuts_land(tess_nuts *s, const double *gradient, double step, double *momentum);
bool nuts_turns(tess_nuts *s, const double *left, const double *right, const double *sum);

// --- nuts_adapt.c ---

void nuts_begin_averaging(tess_nuts *s);
// After a transition of the warm-up; true: the metric is new, and a step is to be looked for.
bool nuts_learn(tess_nuts *s);

#endif
