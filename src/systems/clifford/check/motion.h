// Maps of the symbols that keep their squares, and what they do to multivectors.
#ifndef TESS_CLIFFORD_MOTION_H
#define TESS_CLIFFORD_MOTION_H

#include "systems/clifford/check/trial.h"

typedef enum tess_cl_motion_kind {
    CL_REFLECTION, // in one vector
    CL_ROTATION,   // in two
    CL_VERSOR,     // in three
    CL_BOOST,      // a hyperbolic rotation of a plus and a minus symbol
    CL_N_MOTION
} tess_cl_motion_kind;

typedef struct tess_cl_motion {
    int32_t n_component;
    double map[TESS_CLIFFORD_MAX_COMPONENTS][TESS_CLIFFORD_MAX_COMPONENTS]; // M
    double opposite[TESS_CLIFFORD_MAX_COMPONENTS]
                   [TESS_CLIFFORD_MAX_COMPONENTS]; // M^-T, of gradients
    double gain; // how much it can amplify errors: mean square of M, at least 1
} tess_cl_motion;

extern const char *const tess_cl_motion_names[CL_N_MOTION];

// Whether the metric has such motions (a boost needs symbols of both signs).
bool tess_cl_motion_exists(const tess_clifford_metric *metric, tess_cl_motion_kind kind);
// A random one.
void tess_cl_motion_draw(tess_cl_motion *motion, const tess_clifford_algebra *algebra,
                         tess_cl_motion_kind kind, uint64_t seed);
// out = map x for n_item multivectors whose components are n_item apart.
void tess_cl_motion_apply(double map[TESS_CLIFFORD_MAX_COMPONENTS][TESS_CLIFFORD_MAX_COMPONENTS],
                          int32_t n_component, int64_t n_item, const double *x, double *out);

#endif
