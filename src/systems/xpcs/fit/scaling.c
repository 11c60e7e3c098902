#include "systems/xpcs/fit/scaling.h"

#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>
#include <string.h>

int32_t tess_xp_scaling_resolve(const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                int64_t n_angle)
{
    if (model->mode == TESS_XPCS_STATIC_ISOTROPIC &&
        config->scaling == TESS_XPCS_SCALING_INDIVIDUAL) {
        return TESS_XPCS_SCALING_AVERAGED;
    }
    if (config->scaling == TESS_XPCS_SCALING_AUTO) {
        return n_angle >= config->constant_scaling_threshold ? TESS_XPCS_SCALING_AVERAGED
                                                             : TESS_XPCS_SCALING_INDIVIDUAL;
    }
    return config->scaling;
}

static tess_status count_basis(const tess_xp_scaling_setup *setup, int64_t *n_basis)
{
    switch (setup->mode) {
    case TESS_XPCS_SCALING_INDIVIDUAL:
        *n_basis = setup->n_angle;
        return TESS_OK;
    case TESS_XPCS_SCALING_AVERAGED:
        *n_basis = 1;
        return TESS_OK;
    case TESS_XPCS_SCALING_FOURIER:
        *n_basis = 1 + 2 * setup->fourier_order;
        if (setup->n_angle < *n_basis) {
            TESS_FAIL(TESS_E_CONFIG,
                      "scaling fourier of order %lld needs %lld angles, the data have %lld; lower "
                      "fourier_order or use scaling averaged",
                      (long long)setup->fourier_order, (long long)*n_basis,
                      (long long)setup->n_angle);
        }
        return TESS_OK;
    default:
        *n_basis = 0;
        return TESS_OK;
    }
}

static void fill_fixed(tess_xp_scaling *s, const tess_xp_scaling_setup *setup)
{
    const int64_t n = s->n_angle;
    double sum[2] = {0, 0};
    for (int64_t a = 0; a < n; a++) {
        s->fixed[a] = setup->contrast[a];
        s->fixed[n + a] = setup->offset[a];
        sum[0] += setup->contrast[a];
        sum[1] += setup->offset[a];
    }
    for (int64_t a = 0; a < n && s->mode == TESS_XPCS_SCALING_CONSTANT_AVERAGED; a++) {
        s->fixed[a] = sum[0] / (double)n;
        s->fixed[n + a] = sum[1] / (double)n;
    }
}

static void fill_basis(tess_xp_scaling *s, const double *phi)
{
    static const double radian = 3.14159265358979323846 / 180;
    for (int64_t a = 0; a < s->n_angle; a++) {
        double *row = s->basis + a * s->n_basis;
        row[0] = 1;
        for (int64_t k = 1; 2 * k < s->n_basis; k++) {
            row[2 * k - 1] = cos((double)k * phi[a] * radian);
            row[2 * k] = sin((double)k * phi[a] * radian);
        }
    }
}

tess_status tess_xp_scaling_create(tess_context *ctx, const tess_xp_scaling_setup *setup,
                                   tess_xp_scaling *out)
{
    const int64_t n = setup->n_angle;
    *out =
        (tess_xp_scaling){.ctx = ctx, .mode = setup->mode, .n_angle = n, .n_param = setup->n_param};
    TESS_TRY(count_basis(setup, &out->n_basis));
    const bool is_series = setup->mode == TESS_XPCS_SCALING_FOURIER;
    const int64_t m = is_series ? 2 * out->n_basis : 0;
    const int64_t n_basis = is_series ? n * out->n_basis : 0;
    const int64_t n_work = 2 * setup->n_param + m * (m + 2 + setup->n_param);
    out->block_bytes = (size_t)(4 * n + n_basis + n_work) * sizeof(double);
    out->block =
        tess_heap_alloc_zero(&ctx->heap, out->block_bytes, TESS_TAG_PLAN, "tables of the scaling");
    if (!out->block) {
        return TESS_E_MEMORY;
    }
    out->mean = out->block;
    out->weight = out->mean + n;
    out->fixed = out->weight + n;
    out->basis = out->fixed + 2 * n;
    out->work = out->basis + n_basis;
    out->n_work = n_work;
    for (int64_t a = 0; a < n; a++) {
        out->mean[a] = setup->mean[a];
        out->weight[a] = setup->inverse_variance ? setup->inverse_variance[a] : 1;
        out->reference += setup->mean[a] / (double)n;
    }
    memcpy(out->lower, setup->lower, sizeof out->lower);
    memcpy(out->upper, setup->upper, sizeof out->upper);
    if (out->n_basis == 0) {
        fill_fixed(out, setup);
    }
    if (is_series) {
        fill_basis(out, setup->phi);
    }
    return TESS_OK;
}

void tess_xp_scaling_destroy(tess_xp_scaling *scaling)
{
    if (scaling->block) {
        tess_heap_free(&scaling->ctx->heap, scaling->block, scaling->block_bytes, TESS_TAG_PLAN);
    }
    *scaling = (tess_xp_scaling){0};
}

int64_t tess_xp_scaling_n_unknown(const tess_xp_scaling *scaling)
{
    return 2 * scaling->n_basis;
}

size_t tess_xp_reduced_bytes(int64_t n_angle, int64_t n_param)
{
    // Two statuses of an angle take the room of one number.
    return (size_t)(1 + n_param + n_param * n_param + n_angle * (4 + 2 * n_param)) * sizeof(double);
}

void tess_xp_reduced_bind(tess_xp_reduced *reduced, void *block, int64_t n_angle, int64_t n_param)
{
    double *at = block;
    reduced->cost = at++;
    reduced->gradient = at;
    at += n_param;
    reduced->hessian = at;
    at += n_param * n_param;
    reduced->contrast = at;
    at += n_angle;
    reduced->offset = at;
    at += n_angle;
    reduced->cost_angle = at;
    at += n_angle;
    reduced->response = at;
    at += 2 * n_angle * n_param;
    reduced->contrast_status = (int32_t *)at;
    reduced->offset_status = reduced->contrast_status + n_angle;
}

// Cost of an angle and its part of the gradient; the scaling is known.
static double angle_cost(const tess_xp_moments *t, double contrast, double offset)
{
    const double e = offset + contrast * t->m - t->y;
    return 0.5 *
           ((t->syy - contrast * t->sfy) + contrast * (contrast * t->sff - t->sfy) + t->s1 * e * e);
}

static void add_gradient(const tess_xp_scaling *s, const tess_xp_moments *t, const double *six,
                         double mean, double factor, double contrast, double offset,
                         double *gradient)
{
    const int64_t p = s->n_param;
    const double *jp = six + TESS_XP_SIX;
    const double e = offset + contrast * t->m - t->y;
    for (int64_t k = 0; k < p; k++) {
        const double q = jp[p + k] - t->m * jp[k];
        const double r = jp[2 * p + k] - (t->y - mean) * jp[k];
        gradient[k] += factor * contrast * (contrast * q - r + e * jp[k]);
    }
}

// The Hessian's sums as a full matrix, before anything is eliminated.
static void take_hessian(const tess_xp_scaling *s, const double *sums, double *hessian)
{
    const int64_t p = s->n_param;
    const double *at = sums + s->n_angle * tess_xp_stride(s);
    for (int64_t k = 0; k < p; k++) {
        for (int64_t l = k; l < p; l++) {
            hessian[k * p + l] = hessian[l * p + k] = *at++;
        }
    }
}

void tess_xp_scaling_reduce(const tess_xp_scaling *s, const double *sums, const double *before,
                            int32_t want, tess_xp_reduced *out)
{
    const int64_t p = s->n_param;
    if (s->mode == TESS_XPCS_SCALING_FOURIER) {
        tess_xp_series_solve(s, sums, out);
    } else {
        tess_xp_pairs_solve(s, sums, out);
    }
    *out->cost = 0;
    if (want & TESS_XP_WANT_GRADIENT) {
        memset(out->gradient, 0, (size_t)p * sizeof *out->gradient);
    }
    for (int64_t a = 0; a < s->n_angle; a++) {
        const double *six = sums + a * tess_xp_stride(s);
        const tess_xp_moments t = tess_xp_moments_of(six, s->mean[a]);
        out->cost_angle[a] = s->weight[a] * angle_cost(&t, out->contrast[a], out->offset[a]);
        *out->cost += out->cost_angle[a];
        if (want & TESS_XP_WANT_GRADIENT) {
            add_gradient(s, &t, six, s->mean[a], s->weight[a], out->contrast[a], out->offset[a],
                         out->gradient);
        }
    }
    if (!(want & TESS_XP_WANT_HESSIAN)) {
        return;
    }
    take_hessian(s, sums, out->hessian);
    memset(out->response, 0, (size_t)(2 * s->n_angle * p) * sizeof *out->response);
    if (s->mode == TESS_XPCS_SCALING_FOURIER) {
        tess_xp_series_project(s, sums, before, out);
    } else {
        tess_xp_pairs_project(s, sums, before, out);
    }
}

void tess_xp_scaling_inverse(const tess_xp_scaling *s, const double *sums,
                             const tess_xp_reduced *reduced, double *inverse)
{
    memset(inverse, 0, (size_t)(4 * s->n_angle * s->n_angle) * sizeof *inverse);
    if (s->mode == TESS_XPCS_SCALING_FOURIER) {
        tess_xp_series_inverse(s, sums, inverse);
    } else {
        tess_xp_pairs_inverse(s, sums, reduced, inverse);
    }
}
