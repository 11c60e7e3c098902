// Models of the same data, each fitted, sampled and weighed by its marginal likelihood.
#include "tessera/xpcs/compare.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/context.h"
#include "tessera/xpcs/diagnostics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double most_k = 0.7;
static const double most_rhat = 1.05;

typedef struct comparison {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_result *fit;
} comparison;

TESS_PRINTF(2, 3) static void note(tess_xpcs_evidence *row, const char *format, ...)
{
    va_list list;
    const size_t used = strlen(row->notes);
    row->is_doubtful = 1;
    va_start(list, format);
    vsnprintf(row->notes + used, sizeof row->notes - used, format, list);
    va_end(list);
}

static void take_fit(const comparison *c, tess_xpcs_evidence *row)
{
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(c->fit);
    const double n = (double)info->n_used;
    row->is_converged = info->convergence == TESS_XPCS_CONVERGED;
    row->n_free = info->n_free + 1;
    row->chi2 = info->chi2;
    row->aic = n * log(info->chi2 / n) + 2 * (double)row->n_free;
    row->bic = n * log(info->chi2 / n) + log(n) * (double)row->n_free;
    if (!row->is_converged) {
        note(row, "The fit did not converge. ");
    }
}

static tess_status sample(const comparison *c, int32_t method, tess_xpcs_posterior **out)
{
    tess_xpcs_sample_config config = c->config;
    config.method = method;
    return tess_xpcs_sample(c->ctx, c->data, &c->model, c->fit, &c->fit_config, &config, out);
}

static tess_status weigh_by_importance(const comparison *c, tess_xpcs_evidence *row)
{
    tess_xpcs_posterior *draws = NULL;
    const tess_status status = sample(c, TESS_XPCS_METHOD_LAPLACE, &draws);
    if (status == TESS_E_NUMERIC && c->config.method == TESS_XPCS_METHOD_NUTS) {
        note(row, "No normal at the top: importance has no estimate. ");
        return TESS_OK; // the bridge does not need it
    }
    TESS_TRY(status);
    const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(draws);
    const double n = (double)(info->n_chain * info->n_draw);
    row->laplace = info->n_mode > 0 ? info->mode_evidence[0] : (double)NAN;
    row->importance = info->log_evidence;
    row->importance_error = sqrt(fmax(1 / info->effective_weights - 1 / n, 0));
    row->pareto_k = info->pareto_k;
    tess_xpcs_posterior_destroy(draws);
    return TESS_OK;
}

static tess_status find_rhat(const comparison *c, const tess_xpcs_posterior *draws,
                             tess_xpcs_evidence *row)
{
    tess_xpcs_diagnosis *diagnosis = NULL;
    TESS_TRY(tess_xpcs_diagnose(c->ctx, tess_xpcs_posterior_get_info(draws), c->fit, &c->config,
                                &diagnosis));
    row->r_hat = tess_xpcs_diagnosis_get_info(diagnosis)->r_hat_max;
    tess_xpcs_diagnosis_destroy(diagnosis);
    return TESS_OK;
}

static tess_status weigh_by_bridge(const comparison *c, tess_xpcs_evidence *row)
{
    tess_xpcs_posterior *draws = NULL;
    TESS_TRY(sample(c, TESS_XPCS_METHOD_NUTS, &draws));
    tess_status status = tess_xpcs_bridge(c->ctx, c->data, &c->model, c->fit, &c->fit_config,
                                          &c->config, draws, &row->bridge, &row->bridge_error);
    if (status == TESS_OK) {
        status = find_rhat(c, draws, row);
    }
    if (status == TESS_OK && tess_xpcs_posterior_get_info(draws)->n_mode > 1) {
        note(row, "The posterior has several hills, which one normal hardly meets. ");
    }
    tess_xpcs_posterior_destroy(draws);
    return status;
}

// What counts, and whether it can be trusted.
static void judge(tess_xpcs_evidence *row)
{
    const bool has_bridge = isfinite(row->bridge);
    const bool is_sound = row->pareto_k < most_k;
    row->log_evidence = has_bridge ? row->bridge : row->importance;
    row->error = has_bridge ? row->bridge_error : row->importance_error;
    if (!has_bridge && !is_sound) {
        note(row, "Pareto k is %.2f, above 0.7: use method nuts. ", row->pareto_k);
    }
    const double apart = fabs(row->bridge - row->importance);
    const double both = hypot(row->bridge_error, row->importance_error);
    if (has_bridge && is_sound && apart > 4 * both + 0.05) {
        note(row, "Bridge and importance differ by %.2f. ", apart);
    }
    if (has_bridge && !(row->r_hat < most_rhat)) {
        note(row, "Chains have not settled (R-hat %.3f): draw more. ", row->r_hat);
    }
    if (row->error > 0.5) {
        note(row, "Its error is %.2f: draw more. ", row->error);
    }
}

static tess_status weigh(comparison *c, int32_t mode, tess_xpcs_evidence *row)
{
    const double nan = (double)NAN;
    *row = (tess_xpcs_evidence){.struct_size = sizeof *row,
                                .mode = mode,
                                .laplace = nan,
                                .importance = nan,
                                .importance_error = nan,
                                .pareto_k = nan,
                                .bridge = nan,
                                .bridge_error = nan,
                                .r_hat = nan};
    c->model.mode = mode;
    TESS_TRY(tess_xpcs_fit(c->ctx, c->data, &c->model, &c->fit_config, &c->fit));
    take_fit(c, row);
    tess_status status = weigh_by_importance(c, row);
    if (status == TESS_OK && c->config.method == TESS_XPCS_METHOD_NUTS) {
        status = weigh_by_bridge(c, row);
    }
    tess_xpcs_result_destroy(c->fit);
    c->fit = NULL;
    TESS_TRY(status);
    judge(row);
    return TESS_OK;
}

static tess_xpcs_evidence *row_at(tess_xpcs_evidence *rows, size_t row_bytes, int64_t k)
{
    return (tess_xpcs_evidence *)(void *)((char *)rows + (size_t)k * row_bytes);
}

// Probabilities and Bayes factors, against the largest evidence.
static void relate(tess_xpcs_evidence *rows, size_t row_bytes, int64_t n)
{
    const tess_xpcs_evidence *best = rows;
    double sum = 0;
    for (int64_t k = 1; k < n; k++) {
        const tess_xpcs_evidence *row = row_at(rows, row_bytes, k);
        best = row->log_evidence > best->log_evidence ? row : best;
    }
    for (int64_t k = 0; k < n; k++) {
        tess_xpcs_evidence *row = row_at(rows, row_bytes, k);
        row->log_bayes_factor = row->log_evidence - best->log_evidence;
        row->log_bayes_factor_error = row == best ? 0 : hypot(row->error, best->error);
        sum += exp(row->log_bayes_factor);
    }
    for (int64_t k = 0; k < n; k++) {
        tess_xpcs_evidence *row = row_at(rows, row_bytes, k);
        row->probability = exp(row->log_bayes_factor) / sum;
    }
}

static tess_status check(const comparison *c, const int32_t *modes, int64_t n_mode)
{
    const tess_xpcs_fit_config *f = &c->fit_config;
    if (n_mode < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "models: none; expected at least one");
    }
    for (int64_t k = 0; k < n_mode; k++) {
        for (int64_t l = 0; l < k; l++) {
            if (modes[k] == modes[l]) {
                TESS_FAIL(TESS_E_ARGUMENT, "models: %s stands there twice; name each once",
                          tess_xpcs_mode_name((tess_xpcs_mode)modes[k]));
            }
        }
    }
    if (f->start || f->lower || f->upper || f->is_fixed || f->x_scale || c->config.prior_mean ||
        c->config.prior_sd) {
        TESS_FAIL(TESS_E_ARGUMENT, "models are compared with their own starts, bounds and priors; "
                                   "give none");
    }
    if (f->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_ARGUMENT, "loss: models are compared with loss linear alone");
    }
    if (f->noise == 1) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames has a likelihood that is no probability of the "
                                 "data, and models no evidence; compare them with noise "
                                 "independent");
    }
    if (c->config.method == TESS_XPCS_METHOD_CONSENSUS || c->config.shard > 0 ||
        c->config.fit_priors || c->config.coords != 0 || c->config.checkpoint_dir ||
        f->checkpoint_dir) {
        TESS_FAIL(TESS_E_ARGUMENT, "models are compared by method nuts or laplace from all data, "
                                   "with coords logit, without fit_priors and checkpoints");
    }
    return TESS_OK;
}

tess_status tess_xpcs_compare(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                              const int32_t *modes, int64_t n_mode,
                              const tess_xpcs_fit_config *fit_config,
                              const tess_xpcs_sample_config *config, tess_xpcs_evidence *rows,
                              size_t row_bytes)
{
    tess_error_clear();
    if (!ctx || !data || !model || !modes || !rows || row_bytes < sizeof *rows) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s",
                  !ctx     ? "context: NULL"
                  : !data  ? "data: NULL"
                  : !model ? "model: NULL"
                  : !modes ? "modes: NULL"
                           : "rows: NULL, or too small");
    }
    comparison c = {.ctx = ctx, .data = data};
    tess_xpcs_model_init(&c.model, sizeof c.model);
    tess_xpcs_fit_config_init(&c.fit_config, sizeof c.fit_config);
    tess_xpcs_sample_config_init(&c.config, sizeof c.config);
    TESS_TRY(tess_struct_read(model, &c.model, sizeof c.model, "model"));
    if (fit_config) {
        TESS_TRY(tess_struct_read(fit_config, &c.fit_config, sizeof c.fit_config, "fit_config"));
    }
    if (config) {
        TESS_TRY(tess_struct_read(config, &c.config, sizeof c.config, "config"));
    }
    TESS_TRY(check(&c, modes, n_mode));
    for (int64_t k = 0; k < n_mode; k++) {
        TESS_TRY(weigh(&c, modes[k], row_at(rows, row_bytes, k)));
    }
    relate(rows, row_bytes, n_mode);
    return TESS_OK;
}

const char *tess_xpcs_bayes_words(double log_bayes_factor, double error)
{
    const double size = fabs(log_bayes_factor);
    if (!isfinite(size) || (size > 0 && size < 2 * error)) {
        return "not decided: the estimates are not that exact";
    }
    return size == 0  ? "the best"
           : size < 1 ? "hardly worse"
           : size < 3 ? "positive evidence against it"
           : size < 5 ? "strong evidence against it"
                      : "very strong evidence against it";
}
