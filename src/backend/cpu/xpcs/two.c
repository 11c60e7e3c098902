// Two components on the CPU: runs of their pairs for the kernels.
#include "backend/cpu/xpcs/two.h"

#include <math.h>

tess_xp_two_source tess_cpu_xp_two_source(const tess_xp_grid *grid, double w2, const xp_tile *tile,
                                          int has_derivatives)
{
    return (tess_xp_two_source){.grid = grid->two,
                                .stride = (size_t)grid->two_stride,
                                .eps = grid->eps_abs,
                                .w2 = w2,
                                .row = (size_t)tile->row,
                                .column = (size_t)tile->column,
                                .n = (size_t)tile->n_column,
                                .has_derivatives = has_derivatives};
}

int tess_cpu_xp_two_is_dark(const tess_xp_two_source *s)
{
    const double *reference = s->grid + TESS_XP_TWO_REFERENCE * s->stride;
    const double *sample = s->grid + TESS_XP_TWO_SAMPLE * s->stride;
    const double nearest = fmin(fabs(reference[s->column] - reference[s->row]),
                                fabs(sample[s->column] - sample[s->row]));
    return 2 * s->w2 * nearest > 40;
}

void tess_cpu_xp_two_values(const tess_kernels *kernels, const tess_xp_grid *grid,
                            const tess_xp_angle *angle, const xp_tile *tile, double *m)
{
    tess_xp_two_pairs pairs;
    const tess_xp_two_source source = tess_cpu_xp_two_source(grid, angle->w2, tile, 0);
    kernels->xpcs_two_pairs(&source, &pairs);
    kernels->xpcs_two_points(&pairs, source.n, angle->amplitude, angle->tau, m, NULL);
}

void tess_cpu_xp_add_dense(const tess_kernels *kernels, const tess_xp_dense *d, double *sums,
                           double *hessian)
{
    double own[TESS_XP_DENSE_SUMS];
    const int n_slope = d->want == TESS_XP_COST ? 0 : d->n_param;
    kernels->xpcs_dense_sums(d->m, d->w, d->g, d->slopes, d->n, d->n_param, d->want, own);
    for (int k = 0; k < 6 + 3 * n_slope; k++) {
        sums[k] += d->by * own[k];
    }
    for (int k = 0; k < d->n_param * (d->n_param + 1) / 2 && d->want == TESS_XP_HESSIAN; k++) {
        hessian[k] += d->weight * own[6 + 3 * d->n_param + k];
    }
}
