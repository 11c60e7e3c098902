// What was drawn, one quantity after another.
#include "systems/xpcs/draws/draws.h"

int64_t tess_xp_draws_rows(const tess_xpcs_posterior_info *d)
{
    return d->n_param + (d->noise ? 1 : 0) + (d->contrast ? d->n_angle : 0) +
           (d->offset ? d->n_angle : 0);
}

int64_t tess_xp_draws_param(const tess_xpcs_posterior_info *d, int64_t row)
{
    const int64_t n = d->n_param + (d->noise ? 1 : 0);
    if (row < n) {
        return row;
    }
    return d->contrast && row < n + d->n_angle ? -1 : -2;
}

tess_xp_quantity tess_xp_draws_row(const tess_xpcs_posterior_info *d, int64_t row)
{
    if (row < d->n_param) {
        return (tess_xp_quantity){.data = d->theta + row, .stride = d->n_param};
    }
    int64_t at = row - d->n_param;
    if (d->noise && at == 0) {
        return (tess_xp_quantity){.data = d->noise, .stride = 1};
    }
    at -= d->noise ? 1 : 0;
    if (d->contrast && at < d->n_angle) {
        return (tess_xp_quantity){.data = d->contrast + at, .stride = d->n_angle};
    }
    at -= d->contrast ? d->n_angle : 0;
    return (tess_xp_quantity){.data = d->offset + at, .stride = d->n_angle};
}

void tess_xp_draws_copy(const tess_xpcs_posterior_info *d, int64_t row, double *x)
{
    const tess_xp_quantity q = tess_xp_draws_row(d, row);
    for (int64_t i = 0; i < d->n_chain * d->n_draw; i++) {
        x[i] = q.data[i * q.stride];
    }
}
