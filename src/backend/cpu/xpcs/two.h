// What the stages of xpcs need of two components.
#ifndef TESS_BACKEND_CPU_XPCS_TWO_H
#define TESS_BACKEND_CPU_XPCS_TWO_H

#include "backend/cpu/xpcs/xpcs.h"
#include "kernels/kernels.h"

tess_xp_two_source tess_cpu_xp_two_source(const tess_xp_grid *grid, double w2, const xp_tile *tile,
                                          int has_derivatives);
// Whether M is below 4e-18 for every pair of a run (row < column), which then counts as 0.
int tess_cpu_xp_two_is_dark(const tess_xp_two_source *source);
// M of a tile's columns at one angle; m has room for its padding.
void tess_cpu_xp_two_values(const tess_kernels *kernels, const tess_xp_grid *grid,
                            const tess_xp_angle *angle, const xp_tile *tile, double *m);

// What of a run goes into the sums of an angle: times by, products times weight.
typedef struct tess_xp_dense {
    const double *m;
    const double *w; // NULL: 1
    const double *g;
    tess_xp_slopes *slopes;
    size_t n;
    int n_param;
    int want;
    double by;
    double weight;
} tess_xp_dense;

void tess_cpu_xp_add_dense(const tess_kernels *kernels, const tess_xp_dense *dense, double *sums,
                           double *hessian);

#endif
