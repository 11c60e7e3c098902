// A fit's problem on a small part of the data, at many points of the parameters at once: what looks
// for minima, and what finds out how far errors are from straight.
#ifndef TESS_XPCS_FIT_SKETCH_H
#define TESS_XPCS_FIT_SKETCH_H

#include "systems/xpcs/fit/problem.h"
#include "systems/xpcs/fit/sketch_there.h"

typedef struct tess_xp_sketch {
    tess_context *ctx;
    tess_xp_sketch_there there; // where looks run; without a device they run on the host
    tess_xp_problem *problem;
    tess_xpcs_data *data; // the chosen points, which are the problem's
    tess_xp_scaling scaling;
    double *scaling_work; // [max_set][n_work of it]
    int64_t n_frame;      // chosen
    int64_t n_angle;      // likewise
    int64_t n_point;      // that count
    int64_t max_set;      // points of the parameters at a time
    int64_t n_sum;
    int64_t n_leaf;
    size_t reduced_bytes;
    tess_xp_grids *grids; // [max_set] of all frames
    void *block;
    size_t block_bytes;

    // Parts of the block.
    double *grid_values;      // [max_set][arrays of a grid][n_frame]
    tess_xp_grid *grid;       // [max_set]
    tess_xp_angle *angles;    // [max_set][n_angle]
    double *sums;             // [max_set][n_leaf][n_sum]
    double *inverse_variance; // [n_angle]
    double *contrast;         // [n_angle] of constant modes
    double *offset;
    int64_t *frames;
    int64_t *which; // [n_angle] angles of the data
    void *reduced_block;
} tess_xp_sketch;

// Where the sketch is evaluated, and what comes out. Rows of contrast weigh the Hessian.
typedef struct tess_xp_look {
    const double *theta; // [n_param]
    double *contrast;    // [n_angle of the sketch]: before; then those that are best here
    double cost;
    double gradient[TESS_XPCS_MAX_PARAM]; // by free parameters
    double hessian[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];
} tess_xp_look;

TESS_MUST_CHECK tess_status tess_xp_sketch_open(tess_context *ctx, tess_device *device,
                                                tess_xp_problem *problem, int64_t max_set,
                                                tess_xp_sketch *sketch);
void tess_xp_sketch_close(tess_xp_sketch *sketch);
// n <= max_set looks; want as of a pass.
TESS_MUST_CHECK tess_status tess_xp_sketch_look(tess_xp_sketch *sketch, tess_xp_look *looks,
                                                int64_t n, int32_t want);
// chi2 per degree of freedom at a cost of the sketch.
double tess_xp_sketch_variance(const tess_xp_sketch *sketch, double cost);
// The points become the model's values: data without noise whose minimum is at theta. contrast,
// offset [n_angle of the data].
TESS_MUST_CHECK tess_status tess_xp_sketch_idealise(tess_xp_sketch *sketch, const double *theta,
                                                    const double *contrast, const double *offset);

#endif
