// Sorted spikes with a Poisson regression: the log rate of a unit is a spline of place.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/sorted/poisson.h"
#include "systems/decode/sorted/rates.h"
#include "tessera/decode/fitted.h"

#include <math.h>

enum { ROWS = 256 };

// More samples are merged within this part of the knots' distance: rates change by less than 1e-4.
static const int64_t MERGE_ABOVE = 100000;
static const double MERGE_PART = 1.0 / 32;

typedef struct glm_model {
    tess_de_rates rates;
    tess_de_spline spline;
    double *coefficient; // [n_unit][1 + n_free]
    double *term;        // [n_unit][n_term]
} glm_model;

static double *coefficients_of(const glm_model *model, int64_t unit)
{
    return model->coefficient + unit * (model->spline.n_free + 1);
}

// Rate at a place given by its cell's terms and factors; at least 1e-15.
static double rate_at(const glm_model *model, int64_t unit, const int64_t *index,
                      const double *factor)
{
    const double *term = model->term + unit * model->spline.n_term;
    double eta = coefficients_of(model, unit)[0];
    for (int64_t k = 0; k < model->spline.n_local; k++) {
        eta += factor[k] * term[index[k]];
    }
    const double rate = exp(eta);
    return rate > TESS_DE_EPS ? rate : TESS_DE_EPS;
}

typedef struct fit_job {
    const tess_de_selection *selection;
    const tess_de_poisson_data *data;
    glm_model *model;
    double *scratch; // [workers][items + n_term]
    size_t items;
    uint8_t *is_unfinished; // [n_unit]
} fit_job;

static tess_status fit_unit(void *arg, int64_t unit, int32_t worker)
{
    const fit_job *job = arg;
    const tess_de_selection *s = job->selection;
    const tess_de_spline *spline = &job->model->spline;
    double *scratch = job->scratch + (size_t)worker * (job->items + (size_t)spline->n_term);
    double *spike_term = scratch + job->items;
    double total = 0;
    for (int64_t t = 0; t < spline->n_term; t++) {
        spike_term[t] = 0;
    }
    for (int64_t i = 0; i < s->n_spike[unit]; i++) {
        double factor[TESS_SPLINE_TERMS];
        int64_t index[TESS_SPLINE_TERMS];
        const double w = s->spike_weight ? s->spike_weight[unit][i] : 1;
        const double *place = s->spike_place[unit] + i * s->n_dim;
        tess_de_spline_terms(spline, tess_de_spline_at(spline, place, factor), index);
        for (int64_t k = 0; k < spline->n_local; k++) {
            spike_term[index[k]] += w * factor[k];
        }
        total += w;
    }
    coefficients_of(job->model, unit)[0] = -(double)INFINITY; // a unit that never fires
    if (total > 0) {
        const int n = tess_de_poisson_fit(job->data, spike_term, total, scratch,
                                          coefficients_of(job->model, unit),
                                          job->model->term + unit * spline->n_term);
        job->is_unfinished[unit] = n < 0;
    }
    return TESS_OK;
}

static void fill_fields(const tess_decode_encoding *encoding, glm_model *model)
{
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    for (int64_t p = 0; p < env->n_interior; p++) {
        double factor[TESS_SPLINE_TERMS];
        int64_t index[TESS_SPLINE_TERMS];
        const double *place = env->interior_centers + p * env->n_place_dim;
        tess_de_spline_terms(&model->spline, tess_de_spline_at(&model->spline, place, factor),
                             index);
        for (int64_t e = 0; e < encoding->info.n_electrode; e++) {
            model->rates.field[e * env->n_interior + p] = rate_at(model, e, index, factor);
        }
    }
}

static tess_status fit_all(tess_context *ctx, tess_decode_encoding *encoding, tess_blocks *scratch,
                           const tess_de_selection *s, glm_model *model)
{
    const double spacing = encoding->config.glm_knot_spacing;
    tess_de_poisson_data data = {.penalty = encoding->config.glm_penalty};
    TESS_TRY(tess_de_poisson_prepare(scratch, scratch, &model->spline, s->place, s->weights,
                                     s->n_sample, spacing * MERGE_PART, MERGE_ABOVE, &data));
    fit_job job = {.selection = s, .data = &data, .model = model};
    job.items = tess_de_poisson_scratch_items(&model->spline);
    job.scratch = tess_blocks_alloc(
        scratch, tess_pool_threads(ctx->pool),
        (job.items + (size_t)model->spline.n_term) * sizeof *job.scratch, "regression");
    job.is_unfinished = tess_blocks_alloc(scratch, s->n_electrode, 1, "regression");
    if (!job.scratch || !job.is_unfinished) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_parallel_for(ctx->pool, s->n_electrode, fit_unit, &job));
    for (int64_t e = 0; e < s->n_electrode; e++) {
        if (job.is_unfinished[e]) {
            tess_log_warn(&ctx->log, TESS_W_DECODE_GLM,
                          "unit %lld: the regression did not converge; its place field is where "
                          "it stopped",
                          (long long)e);
        }
    }
    return TESS_OK;
}

static tess_status fit(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                       const tess_de_selection *s)
{
    (void)device;
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    tess_blocks *blocks = &encoding->blocks;
    glm_model *model = tess_blocks_alloc(blocks, 1, sizeof *model, "sorted-spikes model");
    if (!model) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_rates_init(encoding, s, &model->rates));
    TESS_TRY(tess_de_spline_build(blocks, env, s->place, s->n_sample,
                                  encoding->config.glm_knot_spacing, &model->spline));
    model->coefficient = tess_blocks_alloc(
        blocks, s->n_electrode, (size_t)(model->spline.n_free + 1) * sizeof *model->coefficient,
        "coefficients");
    model->term = tess_blocks_alloc(
        blocks, s->n_electrode, (size_t)model->spline.n_term * sizeof *model->term, "coefficients");
    if (!model->coefficient || !model->term) {
        return TESS_E_MEMORY;
    }
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status = fit_all(ctx, encoding, &scratch, s, model);
    tess_blocks_free(&scratch);
    if (status == TESS_OK) {
        fill_fields(encoding, model);
        tess_de_rates_finish(encoding, &model->rates);
        encoding->model = model;
    }
    return status;
}

static void release(tess_decode_encoding *encoding)
{
    encoding->model = NULL; // all of it is in the encoding's blocks
}

static tess_status rows(tess_context *ctx, tess_device *device,
                        const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                        double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    (void)report;
    const glm_model *model = encoding->model;
    return tess_de_rates_rows(ctx, device, encoding, &model->rates, spikes, scale, out);
}

typedef struct local_job {
    const glm_model *model;
    const tess_de_row_groups *groups;
    int64_t n_unit;
    double scale;
    const double *row_place;
    double *rate; // [workers][n_unit]
    tess_array *out;
} local_job;

static tess_status local_block(void *arg, int64_t block, int32_t worker)
{
    const local_job *job = arg;
    const glm_model *model = job->model;
    double *rate = job->rate + worker * job->n_unit;
    const int64_t n_row = job->groups->n_row;
    const int64_t end = (block + 1) * ROWS < n_row ? (block + 1) * ROWS : n_row;
    for (int64_t k = block * ROWS; k < end; k++) {
        double factor[TESS_SPLINE_TERMS];
        int64_t index[TESS_SPLINE_TERMS];
        const double *place = job->row_place + k * model->spline.n_dim;
        tess_de_spline_terms(&model->spline, tess_de_spline_at(&model->spline, place, factor),
                             index);
        double expected = 0;
        for (int64_t e = 0; e < job->n_unit; e++) {
            rate[e] = rate_at(model, e, index, factor);
            expected += rate[e];
        }
        double sum = -job->scale * expected;
        for (int64_t i = job->groups->first[k]; i < job->groups->first[k + 1]; i++) {
            sum += log(rate[job->groups->unit[i]]);
        }
        if (job->out->dtype == TESS_F32) {
            ((float *)job->out->data)[k] = (float)sum;
        } else {
            ((double *)job->out->data)[k] = sum;
        }
    }
    return TESS_OK;
}

static tess_status local_rows(tess_context *ctx, tess_device *device,
                              const tess_decode_encoding *encoding,
                              const tess_de_row_spikes *spikes, double scale,
                              const double *row_place, const double *const *spike_place,
                              tess_array *out, tess_decode_likelihood_report *report)
{
    (void)device;
    (void)spike_place; // counts of a bin meet the rate at its time
    (void)report;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const int64_t n_unit = encoding->info.n_electrode;
    tess_de_row_groups groups;
    local_job job = {encoding->model, &groups, n_unit, scale, row_place, NULL, out};
    tess_status status = tess_de_group_rows(&scratch, spikes, n_unit, &groups);
    job.rate = tess_blocks_alloc(&scratch, tess_pool_threads(ctx->pool) * n_unit, sizeof *job.rate,
                                 "rates");
    if (status == TESS_OK) {
        status = job.rate ? tess_parallel_for(ctx->pool, (spikes->n_row + ROWS - 1) / ROWS,
                                              local_block, &job)
                          : TESS_E_MEMORY;
    }
    tess_blocks_free(&scratch);
    return status;
}

static uint64_t rows_bytes(const tess_decode_encoding *encoding, int64_t n_spike)
{
    (void)encoding;
    return (uint64_t)n_spike * 8; // spikes by row
}

static void spike(const tess_decode_encoding *encoding, int64_t electrode, const float *mark,
                  void *scratch, float *out)
{
    (void)mark;
    (void)scratch;
    const glm_model *model = encoding->model;
    tess_de_rates_spike(encoding, &model->rates, electrode, out);
}

static tess_status local_spike(tess_context *ctx, tess_device *host,
                               const tess_decode_encoding *encoding, int64_t electrode,
                               const float *mark, const double *place, const double *row_place,
                               void *scratch, double *value)
{
    (void)ctx;
    (void)host;
    (void)mark;
    (void)place; // counts of a bin meet the rate at its time
    (void)scratch;
    const glm_model *model = encoding->model;
    double factor[TESS_SPLINE_TERMS];
    int64_t index[TESS_SPLINE_TERMS];
    tess_de_spline_terms(&model->spline, tess_de_spline_at(&model->spline, row_place, factor),
                         index);
    *value = log(rate_at(model, electrode, index, factor));
    return TESS_OK;
}

static tess_status local_ground(tess_context *ctx, const tess_decode_encoding *encoding,
                                const double *place, void *scratch, double *value)
{
    (void)ctx;
    (void)scratch;
    const glm_model *model = encoding->model;
    double factor[TESS_SPLINE_TERMS];
    int64_t index[TESS_SPLINE_TERMS];
    tess_de_spline_terms(&model->spline, tess_de_spline_at(&model->spline, place, factor), index);
    *value = 0;
    for (int64_t e = 0; e < encoding->info.n_electrode; e++) {
        *value += rate_at(model, e, index, factor);
    }
    return TESS_OK;
}

tess_status tess_decode_encoding_get_regression(const tess_decode_encoding *encoding,
                                                tess_decode_regression *out)
{
    tess_error_clear();
    if (encoding->ops != &tess_de_glm_ops) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "encoding: %s has no regression; sorted_spikes_glm has one",
                  encoding->ops->name);
    }
    const glm_model *model = encoding->model;
    const tess_de_spline *spline = &model->spline;
    tess_decode_regression found = {.struct_size = sizeof found,
                                    .n_unit = encoding->info.n_electrode,
                                    .n_dim = spline->n_dim,
                                    .n_coefficient = spline->n_free + 1,
                                    .mean = spline->mean,
                                    .coefficients = model->coefficient};
    for (int64_t k = 0; k < spline->n_dim; k++) {
        found.n_knot[k] = spline->axes[k].n_knot;
        found.knots[k] = spline->axes[k].knot;
    }
    tess_struct_init(out, out->struct_size, &found, sizeof found);
    return TESS_OK;
}

static const tess_de_single_ops single_ops = {
    .scratch_bytes = tess_de_rates_scratch_bytes,
    .spike = spike,
    .local_spike = local_spike,
    .local_ground = local_ground,
};

const tess_de_encoding_ops tess_de_glm_ops = {
    .name = "sorted_spikes_glm",
    .stages = tess_de_rates_stages,
    .n_stage = 1,
    .fit = fit,
    .free = release,
    .rows = rows,
    .local_rows = local_rows,
    .log_joint = NULL,
    .rows_bytes = rows_bytes,
    .single = &single_ops,
};
