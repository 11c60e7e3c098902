// parameters.json, diagnostics.json, analysis_results_cmc.json, and all in one.
#include "base/json.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "systems/xpcs/draws/files.h"
#include "systems/xpcs/model/two.h"

#include <math.h>

#define SCHEMA "tessera.xpcs.draws/1"

static const char *const quantile_names[TESS_XPCS_N_QUANTILE] = {"q05", "q16", "median", "q84",
                                                                 "q95"};

static void put_provenance(tess_json *json, const char *key, const tess_xp_draws *d)
{
    tess_json_object_begin(json, key);
    tess_origin_head(json, "xpcs.sample", d->ctx->command);
    tess_json_text(json, "identity", d->identity);
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)d->fit->mode));
    tess_json_text(json, "shear_kernel", tess_xpcs_kernel_name((tess_xpcs_kernel)d->fit->kernel));
    tess_origin_settings(json, tess_xpcs_sample_params(), d->config);
    tess_json_int(json, "items", d->draws->n_chain * d->draws->n_draw);
    tess_json_text(json, "unit", "draws");
    tess_json_array_begin(json, "inputs");
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", tess_xp_data_name(d->fit));
    tess_json_text(json, "fingerprint", d->fit->data_fingerprint);
    tess_json_object_end(json);
    tess_json_array_end(json);
    tess_json_object_end(json);
}

void tess_xp_draws_provenance(tess_json *json, const tess_xp_draws *d)
{
    put_provenance(json, NULL, d);
}

// value and uncertainty as in the files of a fit, and the rest.
static void put_summary(tess_json *json, const char *name, const tess_xpcs_summary *s)
{
    tess_json_object_begin(json, name);
    tess_json_real(json, "value", s->mean);
    tess_json_real(json, "uncertainty", s->sd);
    tess_json_real(json, "mean", s->mean);
    tess_json_real(json, "std", s->sd);
    for (int i = 0; i < TESS_XPCS_N_QUANTILE; i++) {
        tess_json_real(json, quantile_names[i], s->quantile[i]);
    }
    tess_json_real(json, "r_hat", s->r_hat);
    tess_json_real(json, "ess_bulk", s->ess_bulk);
    tess_json_real(json, "ess_tail", s->ess_tail);
    tess_json_real(json, "mcse_mean", s->mcse_mean);
    tess_json_bool(json, "fixed", s->is_fixed);
    tess_json_object_end(json);
}

static int64_t first_scaling(const tess_xp_draws *d)
{
    return d->told->n_param + (d->draws->noise ? 1 : 0);
}

// One contrast and one offset as the original has them: their mean, and the root mean square of
// the errors.
static void put_mean(tess_json *json, const char *name, const tess_xpcs_summary *rows, int64_t n)
{
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += rows[i].mean / (double)n;
        squares += rows[i].sd * rows[i].sd / (double)n;
    }
    tess_json_object_begin(json, name);
    tess_json_real(json, "value", sum);
    tess_json_real(json, "uncertainty", sqrt(squares));
    tess_json_object_end(json);
}

static void put_parameters(tess_json *json, const tess_xp_draws *d)
{
    const tess_xpcs_diagnosis_info *t = d->told;
    const int64_t first = first_scaling(d);
    tess_json_object_begin(json, "parameters");
    if (d->draws->contrast && d->draws->offset) {
        put_mean(json, "contrast", t->rows + first, t->n_angle);
        put_mean(json, "offset", t->rows + first + t->n_angle, t->n_angle);
    }
    for (int64_t k = 0; k < first; k++) {
        put_summary(json, k < t->n_param ? t->names[k] : "sigma", &t->rows[k]);
    }
    tess_json_object_end(json);
}

static void put_column(tess_json *json, const char *key, const tess_xpcs_summary *rows, int64_t n,
                       size_t offset)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; i < n; i++) {
        tess_json_real(json, NULL, *(const double *)((const char *)&rows[i] + offset));
    }
    tess_json_array_end(json);
}

static void put_per_angle(tess_json *json, const tess_xp_draws *d)
{
    const tess_xpcs_diagnosis_info *t = d->told;
    const tess_xpcs_summary *c = t->rows + first_scaling(d);
    const int64_t n = t->n_angle;
    if (!d->draws->contrast || !d->draws->offset) {
        return;
    }
    tess_json_object_begin(json, "per_angle");
    tess_xp_put_reals(json, "phi", d->fit->phi, n);
    tess_xp_put_reals(json, "q", d->fit->q, n);
    put_column(json, "contrast", c, n, offsetof(tess_xpcs_summary, mean));
    put_column(json, "contrast_uncertainty", c, n, offsetof(tess_xpcs_summary, sd));
    put_column(json, "offset", c + n, n, offsetof(tess_xpcs_summary, mean));
    put_column(json, "offset_uncertainty", c + n, n, offsetof(tess_xpcs_summary, sd));
    tess_json_object_end(json);
}

// Of parameters and noise, over all draws.
static double correlation(const tess_xp_draws *d, int64_t i, int64_t k)
{
    const tess_xp_quantity a = tess_xp_draws_row(d->draws, i);
    const tess_xp_quantity b = tess_xp_draws_row(d->draws, k);
    const int64_t n = d->draws->n_chain * d->draws->n_draw;
    const double mean[2] = {d->told->rows[i].mean, d->told->rows[k].mean};
    double products = 0;
    for (int64_t m = 0; m < n; m++) {
        products += (a.data[m * a.stride] - mean[0]) * (b.data[m * b.stride] - mean[1]);
    }
    return products / (double)(n - 1) / (d->told->rows[i].sd * d->told->rows[k].sd);
}

static void put_correlation(tess_json *json, const tess_xp_draws *d)
{
    const int64_t n = first_scaling(d);
    tess_json_array_begin(json, "correlation");
    for (int64_t i = 0; i < n; i++) {
        tess_json_array_begin(json, NULL);
        for (int64_t k = 0; k < n; k++) {
            tess_json_real(json, NULL, i == k ? 1 : correlation(d, i, k));
        }
        tess_json_array_end(json);
    }
    tess_json_array_end(json);
}

static void put_head(tess_json *json, const tess_xp_draws *d)
{
    put_provenance(json, TESS_ORIGIN_NAME, d);
    tess_json_text(json, "timestamp", d->timestamp);
    tess_json_text(json, "method", "cmc");
    tess_json_text(json, "noise_model", d->fit->noise_photons > 0 ? "frames" : "independent");
    tess_json_text(json, "analysis_mode", tess_xpcs_mode_name((tess_xpcs_mode)d->fit->mode));
    tess_json_text(json, "convergence_status",
                   tess_xpcs_chains_state_name((tess_xpcs_chains_state)d->told->state));
}

// Of two components f0 exp(-f1 f2), which f0 and f2 enter as, and which component is which.
static void put_two(tess_json *json, const tess_xp_draws *d)
{
    const int64_t n = d->draws->n_chain * d->draws->n_draw;
    double sum = 0;
    double squares = 0;
    if (d->fit->mode != TESS_XPCS_TWO_COMPONENT) {
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        sum += tess_xp_two_product(d->draws->theta + k * d->draws->n_param) / (double)n;
    }
    for (int64_t k = 0; k < n; k++) {
        const double off = tess_xp_two_product(d->draws->theta + k * d->draws->n_param) - sum;
        squares += off * off / (double)(n > 1 ? n - 1 : 1);
    }
    tess_json_object_begin(json, "f_product");
    tess_json_real(json, "value", sum);
    tess_json_real(json, "uncertainty", sqrt(squares));
    tess_json_object_end(json);
    tess_json_text(json, "components", "reference and sample as in the fit, where chains began");
}

void tess_xp_draws_parameters(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, NULL);
    put_head(json, d);
    put_parameters(json, d);
    put_two(json, d);
    tess_json_text(json, "correlation_order", "parameters, sigma");
    put_correlation(json, d);
    put_per_angle(json, d);
    tess_json_object_end(json);
}

static void put_row(tess_json *json, const char *name, const tess_xpcs_summary *s)
{
    tess_json_object_begin(json, name);
    tess_json_real(json, "r_hat", s->r_hat);
    tess_json_real(json, "ess_bulk", s->ess_bulk);
    tess_json_real(json, "ess_tail", s->ess_tail);
    tess_json_real(json, "ess_mean", s->ess_mean);
    tess_json_real(json, "ess_sd", s->ess_sd);
    tess_json_real(json, "mcse_mean", s->mcse_mean);
    tess_json_real(json, "mcse_sd", s->mcse_sd);
    tess_json_object_begin(json, "mcse_quantile");
    for (int i = 0; i < TESS_XPCS_N_QUANTILE; i++) {
        tess_json_real(json, quantile_names[i], s->mcse_quantile[i]);
    }
    tess_json_object_end(json);
    tess_json_real(json, "prior_mean", s->prior_mean);
    tess_json_real(json, "prior_std", s->prior_sd);
    tess_json_real(json, "contraction", s->contraction);
    tess_json_real(json, "nlsq_value", s->fit);
    tess_json_real(json, "nlsq_uncertainty", s->fit_sd);
    tess_json_real(json, "nlsq_distance", s->distance);
    tess_json_bool(json, "bimodal", s->is_bimodal);
    tess_xp_put_reals(json, "mode_weights", s->mode_weight, 2);
    tess_xp_put_reals(json, "mode_means", s->mode_mean, 2);
    tess_json_real(json, "mode_separation", s->mode_separation);
    tess_json_bool(json, "fixed", s->is_fixed);
    tess_json_object_end(json);
}

static void put_counts(tess_json *json, const char *key, const int64_t *items, int64_t n)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; items && i < n; i++) {
        tess_json_int(json, NULL, items[i]);
    }
    tess_json_array_end(json);
}

static void put_diagnostics(tess_json *json, const tess_xp_draws *d)
{
    const tess_xpcs_diagnosis_info *t = d->told;
    tess_json_real(json, "max_r_hat", t->r_hat_max);
    tess_json_real(json, "min_ess_bulk", t->ess_bulk_min);
    tess_json_real(json, "min_ess_tail", t->ess_tail_min);
    tess_json_int(json, "divergences", t->n_diverged_all);
    tess_json_real(json, "divergence_rate", t->divergence_rate);
    tess_json_real(json, "tree_depth_saturation", t->deepest_rate);
    tess_json_real(json, "min_bfmi", t->bfmi_min);
    tess_json_real(json, "acceptance", t->accept_mean);
    tess_json_real(json, "outside_bounds", t->outside);
    tess_json_real(json, "noise_scale", t->noise_scale);
    tess_json_object_begin(json, "chains");
    tess_xp_put_reals(json, "bfmi", t->bfmi, t->n_chain);
    tess_xp_put_reals(json, "acceptance", t->accept, t->n_chain);
    tess_xp_put_reals(json, "step_size", t->step, t->n_chain);
    put_counts(json, "divergences", t->n_diverged, t->n_chain);
    put_counts(json, "tree_depth_saturated", t->n_deepest, t->n_chain);
    tess_json_object_end(json);
    tess_json_object_begin(json, "parameters");
    for (int64_t row = 0; row < t->n_row; row++) {
        put_row(json, t->names[row], &t->rows[row]);
    }
    tess_json_object_end(json);
    tess_xp_put_lines(json, "warnings", t->warnings);
}

void tess_xp_draws_diagnostics(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, NULL);
    put_head(json, d);
    put_diagnostics(json, d);
    tess_json_object_end(json);
}

static void put_sampling(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, "sampling_summary");
    tess_json_text(json, "convergence_status",
                   tess_xpcs_chains_state_name((tess_xpcs_chains_state)d->told->state));
    tess_json_int(json, "n_chains", d->draws->n_chain);
    tess_json_int(json, "n_warmup", d->config->n_warmup);
    tess_json_int(json, "n_samples", d->draws->n_draw);
    tess_json_int(json, "num_shards", 1);
    tess_json_real(json, "target_accept_prob", d->config->target_accept);
    tess_json_int(json, "max_tree_depth", d->config->max_depth);
    tess_json_int(json, "evaluations", d->draws->n_evaluation);
    tess_json_int(json, "seed", d->config->seed);
    tess_json_object_end(json);
}

// What differs between two runs of the same sampling.
static void put_run(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, "run");
    tess_json_text(json, "written", d->timestamp);
    tess_json_text(json, "command_line", d->command_line ? d->command_line : "");
    tess_json_real(json, "total_s", d->draws->seconds);
    tess_json_object_end(json);
}

static void put_dataset(tess_json *json, const tess_xpcs_result_info *fit)
{
    tess_json_object_begin(json, "dataset_info");
    tess_json_int(json, "n_angles", fit->n_angle);
    tess_json_int(json, "n_time_points", fit->n_frame * fit->n_frame);
    tess_json_int(json, "total_data_points", fit->n_point);
    tess_json_int(json, "n_used", fit->n_used);
    tess_json_real(json, "q_value", fit->q[0]);
    tess_json_real(json, "dt_s", fit->dt_s);
    tess_json_text(json, "name", tess_xp_data_name(fit));
    tess_json_text(json, "fingerprint", fit->data_fingerprint);
    tess_json_object_end(json);
}

void tess_xp_draws_analysis(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, NULL);
    put_head(json, d);
    put_dataset(json, d->fit);
    put_sampling(json, d);
    tess_json_object_begin(json, "nlsq");
    tess_json_real(json, "reduced_chi_squared", d->fit->reduced_chi2);
    tess_json_text(json, "convergence_status",
                   tess_xpcs_convergence_name((tess_xpcs_convergence)d->fit->convergence));
    tess_json_object_end(json);
    tess_xp_put_lines(json, "warnings", d->told->warnings);
    put_run(json, d);
    tess_json_object_end(json);
}

void tess_xp_draws_whole(tess_json *json, const tess_xp_draws *d)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", SCHEMA);
    put_head(json, d);
    put_dataset(json, d->fit);
    put_sampling(json, d);
    put_parameters(json, d);
    put_correlation(json, d);
    put_per_angle(json, d);
    tess_json_object_begin(json, "diagnostics");
    put_diagnostics(json, d);
    tess_json_object_end(json);
    put_run(json, d);
    tess_json_object_end(json);
}

tess_status tess_xp_draws_text(const tess_xp_draws *d, tess_xp_draws_writer writer, char **text,
                               size_t *bytes)
{
    *text = NULL;
    tess_json *json = NULL;
    TESS_TRY(tess_json_create_on(&d->ctx->heap, 2, &json));
    writer(json, d);
    return tess_json_keep(json, text, bytes);
}
