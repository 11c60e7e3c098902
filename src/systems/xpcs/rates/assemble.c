// From sums by frame to gradient and Hessian of the unknowns, contrasts and offsets eliminated.
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

// Mean (offset, contrast) and covariance (offset offset, offset contrast, contrast contrast) of an
// angle's pair.
typedef struct pair {
    double mean[2];
    double covariance[3];
} pair;

static pair from_root(const double mean[2], const double root[4])
{
    return (pair){{mean[0], mean[1]},
                  {root[0] * root[0], root[0] * root[2], root[2] * root[2] + root[3] * root[3]}};
}

static pair pair_of(const tess_xp_rates_fit *fit, const tess_xp_rates_point *p, int64_t angle)
{
    const tess_xp_density *d = fit->density;
    double mean[2];
    double root[4];
    if (d->scaled == TESS_XP_SCALED_HELD) {
        return (pair){{d->held[d->n_angle + angle], d->held[angle]}, {0, 0, 0}};
    }
    if (d->scaled == TESS_XP_SCALED_ALL) {
        double pooled[6];
        double pooled_mean = 0;
        const tess_xp_density one = tess_xp_density_pool(d, p->six, pooled, &pooled_mean);
        tess_xp_density_scaling(&one, pooled, 0, p->s, mean, root);
    } else {
        tess_xp_density_scaling(d, p->six + 6 * angle, angle, p->s, mean, root);
    }
    return from_root(mean, root);
}

void tess_xp_rates_scaling(const tess_xp_rates_fit *fit, const tess_xp_rates_point *p,
                           double *contrast, double *offset)
{
    for (int64_t a = 0; a < fit->density->n_angle; a++) {
        const pair u = pair_of(fit, p, a);
        contrast[a] = u.mean[1];
        offset[a] = u.mean[0];
    }
}

void tess_xp_rates_weigh(const tess_xp_rates_fit *fit, const tess_xp_rates_point *p)
{
    const double w = 1 / (p->s * p->s);
    for (int64_t a = 0; a < fit->density->n_angle; a++) {
        const pair u = pair_of(fit, p, a);
        const double o = u.mean[0] - fit->density->mean[a];
        const double c = u.mean[1];
        fit->weights[a] = (tess_xp_rates_angle){.by_model = w * (c * c + u.covariance[2]),
                                                .by_one = w * (o * c + u.covariance[1]),
                                                .by_sample = w * c,
                                                .by_squares = w * c * c};
    }
}

// Sums by frame onto the unknowns of a kind.
static void project(const tess_xp_rates_fit *fit, int64_t kind, const double *frames, double *out)
{
    const int64_t k = fit->n_basis;
    const double *basis = fit->basis[kind];
    memset(out, 0, (size_t)k * sizeof *out);
    for (int64_t f = 0; f < fit->data->info.n_frame; f++) {
        for (int64_t l = 0; l < k; l++) {
            out[l] += frames[f] * basis[f * k + l];
        }
    }
}

// The graph Laplacian of pairs, weighted by what they weigh: its diagonal, less both triangles.
static void add_block(const tess_xp_rates_fit *fit, int64_t p, int64_t q, double *hessian)
{
    const int64_t k = fit->n_basis;
    const int64_t n_frame = fit->data->info.n_frame;
    const double *diagonal = fit->sums + fit->parts.diagonal + (p + q) * n_frame;
    const double *cross = fit->sums + fit->parts.cross;
    const double *here = cross + (p * fit->n_kind + q) * k * k;
    const double *there = cross + (q * fit->n_kind + p) * k * k;
    for (int64_t i = 0; i < k; i++) {
        double *row = hessian + (p * k + i) * fit->n + q * k;
        for (int64_t j = 0; j < k; j++) {
            row[j] = -here[i * k + j] - there[j * k + i];
        }
    }
    for (int64_t f = 0; f < n_frame; f++) {
        const double *left = fit->basis[p] + f * k;
        const double *right = fit->basis[q] + f * k;
        for (int64_t i = 0; i < k; i++) {
            const double by = diagonal[f] * left[i];
            double *row = hessian + (p * k + i) * fit->n + q * k;
            for (int64_t j = 0; j < k; j++) {
                row[j] += by * right[j];
            }
        }
    }
}

static void add_turn(const tess_xp_rates_fit *fit, double *hessian)
{
    const int64_t n = fit->n;
    const int64_t n_frame = fit->data->info.n_frame;
    const double *across = fit->sums + fit->parts.across;
    double row[TESS_XP_RATES_MOST_BASIS];
    for (int64_t kind = 0; kind < fit->n_kind; kind++) {
        project(fit, kind, across + kind * n_frame, row);
        for (int64_t i = 0; i < fit->n_basis; i++) {
            const int64_t at = kind * fit->n_basis + i;
            hessian[at * n + n - 1] = hessian[(n - 1) * n + at] = row[i];
        }
    }
    hessian[n * n - 1] = across[fit->n_kind * n_frame];
}

// Of an angle: sums of the derivatives (which 0), or of those times M (1), by unknown; onto out.
static void add_slope(const tess_xp_rates_fit *fit, int64_t angle, int64_t which, double by,
                      double *out)
{
    const int64_t n_frame = fit->data->info.n_frame;
    const double *slope =
        fit->sums + fit->parts.slope + (2 * angle + which) * fit->n_kind * n_frame;
    double row[TESS_XP_RATES_MOST_BASIS];
    for (int64_t kind = 0; kind < fit->n_kind; kind++) {
        project(fit, kind, slope + kind * n_frame, row);
        for (int64_t i = 0; i < fit->n_basis; i++) {
            out[kind * fit->n_basis + i] += by * row[i];
        }
    }
    if (fit->has_phi0) {
        out[fit->n - 1] += by * fit->sums[fit->parts.turn + 2 * angle + which];
    }
}

// What a pair that follows the unknowns takes from the Hessian: v' covariance v.
static void eliminate(const tess_xp_rates_fit *fit, const pair *u, const double *v, double *hessian)
{
    const int64_t n = fit->n;
    const double *o = v;
    const double *c = v + n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            hessian[i * n + j] -= u->covariance[0] * o[i] * o[j] +
                                  u->covariance[1] * (o[i] * c[j] + c[i] * o[j]) +
                                  u->covariance[2] * c[i] * c[j];
        }
    }
}

static void eliminate_pairs(const tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    const double w = 1 / (p->s * p->s);
    const bool is_one = fit->density->scaled == TESS_XP_SCALED_ALL;
    const int64_t n_angle = fit->density->n_angle;
    double v[2 * TESS_XP_RATES_MOST] = {0};
    for (int64_t a = 0; a < n_angle; a++) {
        const pair u = pair_of(fit, p, a);
        add_slope(fit, a, 0, w * u.mean[1], v);
        add_slope(fit, a, 1, w * u.mean[1], v + fit->n);
        if (!is_one || a == n_angle - 1) {
            eliminate(fit, &u, v, p->hessian);
            memset(v, 0, sizeof v);
        }
    }
}

// Logarithms of steps bend: the slope of a step is the step itself, and so is the slope's. Where
// that is negative it is left out: the matrix has to stay positive.
static void add_bend(const tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    for (int64_t i = 0; i < fit->n_kind * fit->n_basis; i++) {
        if (i % fit->n_basis > 0) {
            p->hessian[i * (fit->n + 1)] += fmax(p->gradient[i], 0);
        }
    }
}

void tess_xp_rates_assemble(const tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    const int64_t n = fit->n;
    const int64_t n_frame = fit->data->info.n_frame;
    const double *pull = fit->sums + fit->parts.pull;
    memset(p->hessian, 0, (size_t)(n * n) * sizeof *p->hessian);
    for (int64_t i = 0; i < fit->n_kind; i++) {
        project(fit, i, pull + i * n_frame, p->gradient + i * fit->n_basis);
        for (int64_t j = 0; j < fit->n_kind; j++) {
            add_block(fit, i, j, p->hessian);
        }
    }
    if (fit->has_phi0) {
        p->gradient[n - 1] = pull[fit->n_kind * n_frame];
        add_turn(fit, p->hessian);
    }
    if (fit->density->scaled != TESS_XP_SCALED_HELD) {
        eliminate_pairs(fit, p);
    }
    if (fit->splines[0].shape == TESS_XPCS_RATES_MONOTONE) {
        add_bend(fit, p);
    }
}
