#include "systems/xpcs/posterior/coords.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double INSIDE = 1e-12; // of a range, where a logit ends
static const double LOG_2PI = 1.8378770664093454836;
// Of the largest amplitude of a component, whose bounds begin at 0: less is taken as this where a
// rate is bent. The prior has as little there.
static const double LEAST_AMPLITUDE = 1e-9;

int64_t tess_xp_n_rate(int64_t n_param)
{
    return n_param == TESS_XPCS_N_TWO ? 3 : n_param / 3;
}

static bool is_amplitude(int64_t n_param, int64_t k)
{
    return k % 3 == 0 && k / 3 < tess_xp_n_rate(n_param);
}

void tess_xp_coords_make(const tess_xp_density *density, const double *theta,
                         tess_xp_coords *coords)
{
    *coords = (tess_xp_coords){.n_param = density->n_param};
    memcpy(coords->theta, theta, (size_t)density->n_param * sizeof *theta);
    for (int64_t k = 0; k < density->n_param; k++) {
        const double lower = density->theta[k].lower;
        const double upper = density->theta[k].upper;
        coords->is_log[k] = is_amplitude(density->n_param, k) && lower > 0;
        coords->lower[k] = coords->is_log[k] ? log(lower) : lower;
        coords->upper[k] = coords->is_log[k] ? log(upper) : upper;
        if (!density->is_fixed[k]) {
            coords->index[coords->n++] = k;
        }
    }
    coords->n++;
}

void tess_xp_coords_bend(const tess_xp_density *density, const double slope_sd[TESS_XP_MAX_RATE],
                         double tau, tess_xp_coords *coords)
{
    for (int64_t block = 0; block < tess_xp_n_rate(coords->n_param); block++) {
        const int64_t k = 3 * block;
        double lower[3];
        double upper[3];
        bool is_free = true;
        for (int64_t i = 0; i < 3; i++) {
            lower[i] = density->theta[k + i].lower;
            upper[i] = density->theta[k + i].upper;
            is_free &= !density->is_fixed[k + i];
        }
        if (lower[0] == 0 && coords->n_param == TESS_XPCS_N_TWO) {
            lower[0] = LEAST_AMPLITUDE * upper[0];
        }
        for (int64_t i = 0; i < coords->n - 1; i++) {
            coords->first[block] = coords->index[i] == k ? i : coords->first[block];
        }
        coords->is_bent[block] =
            is_free && tess_xp_bent_make(lower, upper, coords->theta + k, slope_sd[block], tau,
                                         &coords->bent[block]);
    }
}

static bool is_in_bent(const tess_xp_coords *coords, int64_t k)
{
    return k < 3 * TESS_XP_MAX_RATE && coords->is_bent[k / 3];
}

static void place_bent(const tess_xp_coords *coords, int64_t block, const double *u,
                       tess_xp_place *out)
{
    tess_xp_bent_place place;
    const int64_t first = coords->first[block];
    tess_xp_bent_at(&coords->bent[block], u + first, &place);
    for (int64_t i = 0; i < 3; i++) {
        out->theta[3 * block + i] = place.theta[i];
        out->volume_slope[first + i] = place.volume_slope[i];
        out->slope[first + i] = place.jacobian[i][i];
        for (int64_t k = 0; k < 3; k++) {
            out->turn[block][i][k] = place.jacobian[i][k];
        }
    }
    out->log_volume += place.log_volume;
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
        if (is_in_bent(coords, k)) {
            if (k % 3 == 0) {
                place_bent(coords, k / 3, u, out);
            }
            continue;
        }
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
        if (is_in_bent(coords, k)) {
            if (k % 3 == 0) {
                tess_xp_bent_of(&coords->bent[k / 3], theta + k, u + i);
            }
            continue;
        }
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

void tess_xp_coords_jacobian(const tess_xp_coords *coords, const tess_xp_place *place,
                             double *jacobian)
{
    const int64_t n = coords->n - 1;
    memset(jacobian, 0, (size_t)(n * n) * sizeof *jacobian);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = coords->index[i];
        if (!is_in_bent(coords, k)) {
            jacobian[i * n + i] = place->slope[i];
            continue;
        }
        for (int64_t j = 0; j < 3; j++) {
            jacobian[i * n + coords->first[k / 3] + j] = place->turn[k / 3][k % 3][j];
        }
    }
}

// What a parameter's coordinate does to the density by way of the parameters.
static double slope_of(const tess_xp_coords *coords, const tess_xp_place *place, int64_t i,
                       const double *gradient)
{
    const int64_t k = coords->index[i];
    if (!is_in_bent(coords, k)) {
        return gradient[k] * place->slope[i];
    }
    const double *turn = place->turn[k / 3][k % 3];
    const double *block = gradient + k / 3 * 3;
    return turn[0] * block[0] + turn[1] * block[1] + turn[2] * block[2];
}

double tess_xp_coords_likelihood(const tess_xp_coords *coords, const tess_xp_place *place,
                                 const tess_xp_density_value *value, double *gradient)
{
    const int64_t last = coords->n - 1;
    const int64_t n = coords->n_param;
    double own[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < n; k++) {
        own[k] = value->gradient[k] - value->prior_gradient[k];
    }
    for (int64_t i = 0; i < last; i++) {
        gradient[i] = slope_of(coords, place, i, own);
    }
    gradient[last] = (value->gradient[n] - value->prior_gradient[n]) * place->slope[last];
    return value->log_likelihood;
}

double tess_xp_coords_density(const tess_xp_coords *coords, const tess_xp_place *place,
                              const tess_xp_density_value *value, double *gradient)
{
    const int64_t last = coords->n - 1;
    const double log_s = log(place->s);
    double own[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < coords->n_param; k++) {
        own[k] = value->gradient[k] - (coords->is_upstream ? value->prior_gradient[k] : 0);
    }
    for (int64_t i = 0; i < last; i++) {
        gradient[i] = slope_of(coords, place, i, own) +
                      (coords->is_upstream ? place->prior_slope[i] : place->volume_slope[i]);
    }
    gradient[last] =
        value->gradient[coords->n_param] * place->slope[last] + place->volume_slope[last];
    const double of_theta =
        coords->is_upstream ? place->log_prior + log_s : value->log_prior + place->log_volume;
    return value->log_likelihood + value->log_prior_noise + of_theta;
}
