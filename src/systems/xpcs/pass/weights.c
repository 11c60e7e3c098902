#include "systems/xpcs/pass/weights.h"

#include "base/status.h"
#include "numerics/elementary.h"

#include <math.h>

// Deviations, all positive, become one over their squares.
static void invert(double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        values[i] = 1 / (values[i] * values[i]);
    }
}

static tess_status weigh_points(tess_xp_weights *w, tess_xpcs_data *data,
                                const tess_xpcs_fit_config *config, tess_comm_deal angles)
{
    const int64_t n_angle = data->info.n_angle;
    for (int64_t a = 0; a < n_angle; a++) {
        w->inverse_variance[a] = 1;
    }
    switch ((tess_xpcs_sigma)config->sigma_mode) {
    case TESS_XPCS_SIGMA_ESTIMATE:
        TESS_TRY(tess_xp_data_sigma(w->ctx, data, angles, w->inverse_variance));
        invert(w->inverse_variance, n_angle);
        return TESS_OK;
    case TESS_XPCS_SIGMA_PER_LAG:
        TESS_TRY(tess_xp_data_sigma_per_lag(w->ctx, data, angles, w->lag_weight));
        invert(w->lag_weight, n_angle * data->info.n_frame);
        return TESS_OK;
    case TESS_XPCS_SIGMA_DATASET:
        return TESS_OK;
    case TESS_XPCS_SIGMA_CONSTANT:
    default:
        for (int64_t a = 0; a < n_angle; a++) {
            w->inverse_variance[a] = 1 / (config->sigma * config->sigma);
        }
        return TESS_OK;
    }
}

static double weight_of(const tess_xpcs_fit_config *config, double phi)
{
    const double least = config->shear_min_weight;
    double sine = 0;
    double cosine = 0;
    tess_sin_cos_degrees(phi, &sine, &cosine);
    return least + (1 - least) * pow(fabs(cosine), config->shear_exponent);
}

static void weigh_angles(tess_xp_weights *w, const tess_xpcs_data *data,
                         const tess_xpcs_fit_config *config, double phi0)
{
    const int64_t n_angle = data->info.n_angle;
    const double flow = isnan(config->shear_phi0) ? phi0 : config->shear_phi0;
    double mean = 1;
    if (config->shear_normalize) {
        double sum = 0;
        for (int64_t a = 0; a < n_angle; a++) {
            sum += weight_of(config, flow - data->info.phi[a]);
        }
        mean = sum / (double)n_angle;
    }
    for (int64_t a = 0; a < n_angle; a++) {
        w->inverse_variance[a] *= weight_of(config, flow - data->info.phi[a]) / mean;
    }
}

tess_status tess_xp_weights_create(tess_context *ctx, tess_xpcs_data *data,
                                   const tess_xpcs_fit_config *config, double phi0,
                                   tess_comm_deal angles, tess_xp_weights *out)
{
    *out = (tess_xp_weights){.ctx = ctx};
    const tess_xpcs_data_info *info = &data->info;
    const bool is_dataset = config->sigma_mode == TESS_XPCS_SIGMA_DATASET;
    const bool is_per_lag = config->sigma_mode == TESS_XPCS_SIGMA_PER_LAG;
    if (is_dataset && !info->has_sigma) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "sigma_mode: dataset, but the data have no standard deviations; name their data "
                  "set (sigma_dataset) or give sigma with the array");
    }
    const int64_t n = info->n_angle * (is_per_lag ? 1 + info->n_frame : 1);
    out->block_bytes = (size_t)n * sizeof(double);
    out->block = tess_heap_alloc(&ctx->heap, out->block_bytes, TESS_TAG_PLAN, "weights of points");
    if (!out->block) {
        return TESS_E_MEMORY;
    }
    out->inverse_variance = out->block;
    out->lag_weight = is_per_lag ? out->block + info->n_angle : NULL;
    out->ignore_sigma = info->has_sigma && !is_dataset;
    const tess_status status = weigh_points(out, data, config, angles);
    if (status != TESS_OK) {
        tess_xp_weights_destroy(out);
        return status;
    }
    if (config->shear_weights) {
        weigh_angles(out, data, config, phi0);
    }
    return TESS_OK;
}

void tess_xp_weights_destroy(tess_xp_weights *weights)
{
    if (weights->block) {
        tess_heap_free(&weights->ctx->heap, weights->block, weights->block_bytes, TESS_TAG_PLAN);
    }
    *weights = (tess_xp_weights){0};
}
