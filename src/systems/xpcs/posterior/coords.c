#include "systems/xpcs/posterior/coords.h"

#include <math.h>
#include <string.h>

enum { D0 = 0, GAMMA_DOT_T0 = 3 };

static const double INSIDE = 1e-3;

void tess_xp_coords_make(const tess_xp_density *density, const double *theta,
                         tess_xp_coords *coords)
{
    *coords = (tess_xp_coords){.n_param = density->n_param};
    memcpy(coords->theta, theta, (size_t)density->n_param * sizeof *theta);
    for (int64_t k = 0; k < density->n_param; k++) {
        const double lower = density->theta[k].lower;
        const double upper = density->theta[k].upper;
        coords->is_log[k] = (k == D0 || k == GAMMA_DOT_T0) && lower > 0;
        coords->lower[k] = coords->is_log[k] ? log(lower) : lower;
        coords->upper[k] = coords->is_log[k] ? log(upper) : upper;
        if (!density->is_fixed[k]) {
            coords->index[coords->n++] = k;
        }
    }
    coords->n++;
}

void tess_xp_coords_place(const tess_xp_coords *coords, const double *u, tess_xp_place *out)
{
    const int64_t last = coords->n - 1;
    memcpy(out->theta, coords->theta, (size_t)coords->n_param * sizeof *out->theta);
    out->log_volume = 0;
    for (int64_t i = 0; i < last; i++) {
        const int64_t k = coords->index[i];
        const double range = coords->upper[k] - coords->lower[k];
        const double e = exp(-fabs(u[i]));
        const double share = u[i] > 0 ? 1 / (1 + e) : e / (1 + e);
        const double slope = range * e / ((1 + e) * (1 + e));
        const double value = coords->lower[k] + range * share;
        const double x = coords->is_log[k] ? exp(value) : value;
        out->theta[k] = x;
        out->slope[i] = coords->is_log[k] ? x * slope : slope;
        // By logarithms, lest it be that of 0 far out.
        out->log_volume += log(range) - fabs(u[i]) - 2 * log1p(e) + (coords->is_log[k] ? value : 0);
        out->volume_slope[i] = 1 - 2 * share + (coords->is_log[k] ? slope : 0);
    }
    out->s = exp(u[last]);
    out->slope[last] = out->s;
    out->log_volume += u[last];
    out->volume_slope[last] = 1;
}

void tess_xp_coords_of(const tess_xp_coords *coords, const double *theta, double s, double *u)
{
    for (int64_t i = 0; i < coords->n - 1; i++) {
        const int64_t k = coords->index[i];
        const double value = coords->is_log[k] ? log(theta[k]) : theta[k];
        const double share = (value - coords->lower[k]) / (coords->upper[k] - coords->lower[k]);
        const double inside = !(share > INSIDE)       ? INSIDE
                              : !(share < 1 - INSIDE) ? 1 - INSIDE
                                                      : share;
        u[i] = log(inside) - log1p(-inside);
    }
    u[coords->n - 1] = log(s);
}

double tess_xp_coords_density(const tess_xp_coords *coords, const tess_xp_place *place,
                              const tess_xp_density_value *value, double *gradient)
{
    const int64_t last = coords->n - 1;
    for (int64_t i = 0; i < coords->n; i++) {
        const int64_t k = i < last ? coords->index[i] : coords->n_param;
        gradient[i] = value->gradient[k] * place->slope[i] + place->volume_slope[i];
    }
    return value->log_likelihood + value->log_prior + value->log_prior_noise + place->log_volume;
}
