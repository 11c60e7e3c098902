// The sampler of a fit with noise frames: its weights, and what its likelihood is flattened by.
#include "base/status.h"
#include "systems/xpcs/posterior/laplace.h"

#include <math.h>
#include <string.h>

// As the fit had them, so that its errors are those of this likelihood's maximum; as many points
// as there are in all.
static void fill_weights(tess_xp_sampler *s)
{
    double n = 0;
    double sum = 0;
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        const double sigma = s->fit->sigma[a];
        s->weight[a] = 1 / (sigma * sigma);
        n += (double)s->fit->n_used_angle[a];
        sum += (double)s->fit->n_used_angle[a] * s->weight[a];
    }
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        s->weight[a] *= n / sum;
    }
}

// A matrix of all coordinates without that of the noise, in its place.
static void drop_noise(double *matrix, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++) {
        matrix[i] = matrix[i / n * (n + 1) + i % n];
    }
}

// Both covariances, correlations not quite as told where they have no root. own: that of the
// likelihood at its top, NULL: that of the fit.
static bool set_roots(tess_xp_sampler *s, const double *own)
{
    static const double trusts[] = {1, 1 - 1e-8, 0.9999, 0};
    const int64_t n = s->coords.n - 1;
    for (size_t t = 0; t < sizeof trusts / sizeof *trusts; t++) {
        double noisy[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
        double told[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
        if (!tess_xp_sampler_covariance(s, s->adjust.u, trusts[t], noisy) ||
            !tess_xp_sampler_independent(s, s->adjust.u, trusts[t], told)) {
            return false;
        }
        drop_noise(noisy, n);
        drop_noise(told, n);
        if (tess_xp_adjust_set(&s->adjust, n, noisy, own ? own : told)) {
            return true;
        }
    }
    return false;
}

// Not farther from the fit than a standard deviation: else it is the top of something else.
static bool is_of_fit(const tess_xp_sampler *s, const double *u, const double *top)
{
    double covariance[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    if (!tess_xp_sampler_covariance(s, u, 1, covariance)) {
        return false;
    }
    for (int64_t i = 0; i < s->coords.n - 1; i++) {
        const double away = top[i] - u[i];
        if (!(away * away <= covariance[i * (s->coords.n + 1)])) {
            return false;
        }
    }
    return true;
}

// The top of the likelihood and its own covariance there, *own; where it has none, for a parameter
// is at its bound, the fit stands for it.
static tess_status find_top(tess_xp_sampler *s, tess_xp_normal *top, double *covariance,
                            const double **own)
{
    double u[TESS_XP_MAX_COORD];
    bool is_found = false;
    tess_xp_sampler_start(s, s->fit->theta, s->tally.noise, u);
    s->adjust.is_bare = 1;
    const tess_status status = tess_xp_laplace_climb(s, u, top, &is_found);
    s->adjust.is_bare = 0;
    TESS_TRY(status);
    is_found = is_found && is_of_fit(s, u, top->u);
    *own = NULL;
    memcpy(s->adjust.u, is_found ? top->u : u, sizeof u);
    if (is_found) {
        tess_xp_normal_covariance(top, covariance);
        drop_noise(covariance, s->coords.n - 1);
        *own = covariance;
    }
    return TESS_OK;
}

tess_status tess_xp_sampler_place_adjust(tess_xp_sampler *s)
{
    tess_xp_adjust *a = &s->adjust;
    tess_xp_place place;
    tess_xp_normal top;
    double covariance[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    const double *own = NULL;
    if (!(s->fit->noise_photons > 0)) {
        return TESS_OK;
    }
    TESS_TRY(find_top(s, &top, covariance, &own));
    tess_xp_coords_place(&s->coords, a->u, &place);
    memcpy(a->theta, place.theta, sizeof a->theta);
    const tess_xp_point point = {
        .theta = a->theta, .contrast = s->fit->contrast, .want = TESS_XP_WANT_GRADIENT};
    TESS_TRY(tess_xp_pass_run(&s->pass, &point, a->sums));
    tess_xp_sampler_weigh(s, a->sums);
    if (!set_roots(s, own)) {
        TESS_FAIL(TESS_E_NUMERIC, "noise: frames, but the covariance of the fit makes no metric; "
                                  "fix parameters that the data do not tell");
    }
    a->is_on = 1;
    return TESS_OK;
}

tess_status tess_xp_sampler_take_weights(tess_xp_sampler *s)
{
    if (!(s->fit->noise_photons > 0)) {
        return TESS_OK;
    }
    s->weight = tess_blocks_alloc(&s->blocks, s->density.n_angle, sizeof *s->weight, "weights");
    s->adjust.sums = tess_blocks_alloc(&s->blocks, s->pass.n_sum, sizeof(double), "sums of a pass");
    if (!s->weight || !s->adjust.sums) {
        return TESS_E_MEMORY;
    }
    fill_weights(s);
    return TESS_OK;
}
