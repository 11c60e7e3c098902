#include "systems/xpcs/posterior/coords.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { D0 = 0, GAMMA_DOT_T0 = 3 };

static const double INSIDE = 1e-3;
static const double LOG_2PI = 1.8378770664093454836;

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

// tanh(v) is twice a logistic of 2 v, less 1.
void tess_xp_coords_make_upstream(const tess_xp_density *density, tess_xp_coords *coords)
{
    coords->is_upstream = 1;
    for (int64_t k = 0; k < coords->n_param; k++) {
        const tess_xp_prior *p = &density->theta[k];
        const double half = 0.5 * (p->upper - p->lower);
        const double width = p->sd > 0.2 * half ? p->sd : 0.2 * half;
        coords->is_log[k] = 0;
        coords->lower[k] = p->lower;
        coords->upper[k] = p->upper;
        coords->shift[k] = 2 * (p->mean - p->lower - half) / half;
        coords->stretch[k] = 2 * width / half;
    }
}

void tess_xp_coords_place(const tess_xp_coords *coords, const double *u, tess_xp_place *out)
{
    const int64_t last = coords->n - 1;
    memcpy(out->theta, coords->theta, (size_t)coords->n_param * sizeof *out->theta);
    out->log_volume = 0;
    out->log_prior = 0;
    for (int64_t i = 0; i < last; i++) {
        const int64_t k = coords->index[i];
        const double range = coords->upper[k] - coords->lower[k];
        const double stretch = coords->is_upstream ? coords->stretch[k] : 1;
        const double v = coords->is_upstream ? coords->shift[k] + stretch * u[i] : u[i];
        const double e = exp(-fabs(v));
        const double share = v > 0 ? 1 / (1 + e) : e / (1 + e);
        const double slope = stretch * range * e / ((1 + e) * (1 + e));
        const double value = coords->lower[k] + range * share;
        const double x = coords->is_log[k] ? exp(value) : value;
        out->theta[k] = x;
        out->slope[i] = coords->is_log[k] ? x * slope : slope;
        // By logarithms, lest it be that of 0 far out.
        out->log_volume +=
            log(stretch * range) - fabs(v) - 2 * log1p(e) + (coords->is_log[k] ? value : 0);
        out->volume_slope[i] = stretch * (1 - 2 * share) + (coords->is_log[k] ? slope : 0);
        out->prior_slope[i] = -u[i];
        out->log_prior -= 0.5 * (u[i] * u[i] + LOG_2PI);
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
        if (coords->is_upstream) {
            u[i] = (u[i] - coords->shift[k]) / coords->stretch[k];
        }
    }
    u[coords->n - 1] = log(s);
}

double tess_xp_coords_density(const tess_xp_coords *coords, const tess_xp_place *place,
                              const tess_xp_density_value *value, double *gradient)
{
    const int64_t last = coords->n - 1;
    const double log_s = log(place->s);
    for (int64_t i = 0; i < coords->n; i++) {
        const int64_t k = i < last ? coords->index[i] : coords->n_param;
        const bool is_z = coords->is_upstream && i < last;
        gradient[i] =
            (value->gradient[k] - (is_z ? value->prior_gradient[k] : 0)) * place->slope[i] +
            (is_z ? place->prior_slope[i] : place->volume_slope[i]);
    }
    const double of_theta =
        coords->is_upstream ? place->log_prior + log_s : value->log_prior + place->log_volume;
    return value->log_likelihood + value->log_prior_noise + of_theta;
}
