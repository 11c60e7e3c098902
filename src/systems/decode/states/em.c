// Expectation maximisation of initial conditions and discrete transitions.
//
// The likelihood of all rows is kept between iterations if it fits half the memory limit.
#include "systems/decode/states/em.h"

#include "base/blocks.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/states/engine.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct em_run {
    tess_context *ctx;
    tess_decode_detector *detector;
    tess_decode_em_config config;
    tess_decode_observation observation;
    tess_decode_outputs outputs;
    tess_de_engine_desc desc;
    tess_de_engine *engine;
    tess_blocks memory;
    int has_cache;  // of the likelihood
    double *causal; // [n_time][S], and so on
    double *predictive;
    double *acausal;
} em_run;

static tess_status check_list(const char *name, const double *values, int64_t n)
{
    for (int64_t i = 0; values && i < n; i++) {
        if (!(values[i] >= 0) || !isfinite(values[i])) {
            TESS_FAIL(TESS_E_RANGE, "%s[%lld] is %g; 0 or a positive number is expected", name,
                      (long long)i, values[i]);
        }
    }
    return TESS_OK;
}

static tess_status check_config(const em_run *r)
{
    const tess_decode_em_config *c = &r->config;
    const int32_t n_state = r->detector->info.n_state;
    TESS_TRY(tess_params_check(tess_decode_em_params(), c));
    if (c->concentration && (!(c->concentration[0] > 0) || !isfinite(c->concentration[0]))) {
        TESS_FAIL(TESS_E_RANGE, "concentration is %g; a positive number is expected",
                  c->concentration[0]);
    }
    TESS_TRY(check_list("stickiness", c->stickiness, n_state));
    TESS_TRY(check_list("prior_weight", c->prior_weight, n_state));
    if (n_state > TESS_DE_MAX_STATE) {
        TESS_FAIL(TESS_E_ARGUMENT, "n_state is %d; at most %d discrete states can be estimated",
                  n_state, TESS_DE_MAX_STATE);
    }
    return TESS_OK;
}

static double *hold_states(em_run *r, tess_de_rows *rows)
{
    const int64_t n_state = r->detector->info.n_state;
    double *states = tess_blocks_alloc(&r->memory, r->observation.n_time * n_state, sizeof *states,
                                       "state probabilities");
    tess_de_rows_of_memory(states, TESS_F64, n_state, rows);
    return states;
}

// Where the likelihood stays between iterations: the caller's array, memory, or nowhere.
static tess_status hold_likelihood(em_run *r)
{
    const int32_t dtype = r->detector->dtype;
    if (r->desc.ll.dtype == dtype) {
        r->has_cache = 1;
        return TESS_OK;
    }
    const int64_t width = r->detector->info.n_ll;
    const size_t item = tess_dtype_bytes((tess_dtype)dtype);
    int64_t n_item;
    if (!tess_mul_i64(r->observation.n_time, width, &n_item)) {
        TESS_FAIL(TESS_E_SHAPE, "more likelihood values than can be counted");
    }
    if ((double)n_item * (double)item > (double)(r->ctx->memory_limit_bytes / 2)) {
        return TESS_OK; // computed again in every iteration
    }
    void *ll = tess_blocks_alloc(&r->memory, n_item, item, "likelihood of all rows");
    if (!ll) {
        return TESS_E_MEMORY;
    }
    tess_de_rows_of_memory(ll, dtype, width, &r->desc.ll);
    r->has_cache = 1;
    return TESS_OK;
}

static tess_status prepare(em_run *r)
{
    tess_decode_predict_config predict;
    tess_decode_predict_config_init(&predict, sizeof predict);
    predict.design = r->config.design;
    TESS_TRY(check_config(r));
    TESS_TRY(tess_de_predict_desc(r->ctx, r->detector, &r->observation, &predict, &r->outputs,
                                  &r->desc));
    r->desc.smooth = 1;
    r->causal = hold_states(r, &r->desc.causal_states);
    r->predictive = hold_states(r, &r->desc.predictive_states);
    r->acausal = hold_states(r, &r->desc.acausal_states);
    if (!r->causal || !r->predictive || !r->acausal) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(hold_likelihood(r));
    return tess_de_engine_create(r->ctx, &r->desc, &r->engine);
}

static tess_status update_transitions(em_run *r)
{
    tess_decode_detector *d = r->detector;
    const tess_decode_em_config *c = &r->config;
    const tess_de_em_step step = {.n_state = d->info.n_state,
                                  .n_row = r->observation.n_time,
                                  .causal = r->causal,
                                  .predictive = r->predictive,
                                  .acausal = r->acausal,
                                  .concentration = c->concentration ? *c->concentration : 1,
                                  .stickiness = c->stickiness,
                                  .prior_weight = c->prior_weight,
                                  .frozen = c->frozen_rows,
                                  .n_coefficient = d->info.n_coefficient,
                                  .design = c->design,
                                  .regularization = c->regularization};
    if (step.n_coefficient == 0) {
        tess_de_em_transition(step.n_state, step.n_row, step.causal, step.predictive, step.acausal,
                              step.concentration, step.stickiness, step.prior_weight, step.frozen,
                              d->discrete_transition);
        return TESS_OK;
    }
    int32_t n_failed = 0;
    TESS_TRY(tess_de_em_coefficients(r->ctx, &step, d->coefficients, &n_failed));
    if (n_failed > 0) {
        tess_log_write(&r->ctx->log, TESS_LOG_WARNING,
                       "the coefficients of %d of %d transition rows could not be improved and "
                       "stay as they are",
                       n_failed, step.n_state);
    }
    return TESS_OK;
}

// Initial conditions are the first smoothed row.
static void update_initial(em_run *r)
{
    tess_decode_detector *d = r->detector;
    memcpy(d->initial, r->engine->next, (size_t)d->info.n_state_bin * sizeof *d->initial);
    for (int32_t s = 0; s < d->info.n_state; s++) {
        double sum = 0;
        for (int64_t i = d->info.state_first[s]; i < d->info.state_first[s + 1]; i++) {
            sum += d->initial[i];
        }
        d->discrete_initial[s] = sum;
    }
}

static double relative_change(double before, double now)
{
    return fabs(now - before) / ((fabs(now) + fabs(before) + DBL_EPSILON) / 2);
}

static tess_status iterate(em_run *r, double *log_evidence, int64_t *n_iteration)
{
    for (int64_t k = 0; k < r->config.max_iterations; k++) {
        tess_de_engine_rewind(r->engine);
        TESS_TRY(tess_de_engine_run(r->engine, NULL, NULL));
        if (k == 0 && r->has_cache) {
            tess_de_engine_reuse_likelihood(r->engine);
        }
        const double evidence = r->engine->carry.log_evidence;
        const double change = k > 0 ? relative_change(log_evidence[k - 1], evidence) : 1;
        log_evidence[k] = evidence;
        *n_iteration = k + 1;
        if (!isfinite(evidence)) {
            return TESS_OK; // no parameters follow from rows that nothing can explain
        }
        if (r->config.estimate_discrete_transition) {
            TESS_TRY(update_transitions(r));
        }
        if (r->config.estimate_initial_conditions) {
            update_initial(r);
        }
        if (r->config.iteration && r->config.iteration(r->config.user, k, evidence, change)) {
            TESS_FAIL(TESS_CANCELLED, "stopped after iteration %lld", (long long)k + 1);
        }
        if (k > 0 && change < r->config.tolerance) {
            return TESS_OK;
        }
    }
    return TESS_OK;
}

static void copy_states(const double *states, int64_t n, const tess_array *out)
{
    for (int64_t i = 0; out && i < n; i++) {
        if (out->dtype == TESS_F32) {
            ((float *)out->data)[i] = (float)states[i];
        } else {
            ((double *)out->data)[i] = states[i];
        }
    }
}

// The likelihood, where the caller's array is of another type than the rows kept.
static tess_status copy_likelihood(const em_run *r)
{
    const tess_array *out = r->outputs.log_likelihood;
    if (!out || out->dtype == r->detector->dtype || !r->has_cache) {
        return TESS_OK; // written in place
    }
    tess_de_rows to;
    tess_de_rows_of_array(out, &to);
    return tess_de_rows_store(r->engine, &to, 0, r->observation.n_time, r->desc.ll.memory,
                              r->detector->dtype);
}

// The path of the parameters as they now are.
static tess_status find_path(em_run *r)
{
    if (!r->outputs.most_likely_bin) {
        return TESS_OK;
    }
    tess_decode_predict_config predict;
    tess_decode_predict_config_init(&predict, sizeof predict);
    predict.design = r->config.design;
    tess_array ll;
    if (r->has_cache) {
        const int64_t shape[2] = {r->observation.n_time, r->detector->info.n_ll};
        TESS_TRY(tess_array_init(&ll, r->desc.ll.memory, (tess_dtype)r->detector->dtype, 2, shape));
        predict.log_likelihood = &ll;
    }
    tess_decode_outputs path;
    tess_decode_outputs_init(&path, sizeof path);
    path.most_likely_bin = r->outputs.most_likely_bin;
    return tess_decode_predict(r->ctx, r->detector, &r->observation, &predict, &path);
}

static tess_status run_em(em_run *r, double *log_evidence, int64_t *n_iteration)
{
    const int64_t n = r->observation.n_time * r->detector->info.n_state;
    TESS_TRY(prepare(r));
    TESS_TRY(iterate(r, log_evidence, n_iteration));
    copy_states(r->causal, n, r->outputs.causal_state_probabilities);
    copy_states(r->predictive, n, r->outputs.predictive_state_probabilities);
    copy_states(r->acausal, n, r->outputs.acausal_state_probabilities);
    TESS_TRY(copy_likelihood(r));
    tess_de_predict_finish(r->engine, &r->outputs);
    return find_path(r);
}

tess_status tess_decode_em(tess_context *ctx, tess_decode_detector *detector,
                           const tess_decode_observation *observation,
                           const tess_decode_em_config *config, tess_decode_outputs *outputs,
                           double *log_evidence, int64_t *n_iteration)
{
    tess_error_clear();
    em_run r = {.ctx = ctx, .detector = detector};
    tess_decode_em_config_init(&r.config, sizeof r.config);
    tess_decode_observation_init(&r.observation, sizeof r.observation);
    tess_decode_outputs_init(&r.outputs, sizeof r.outputs);
    if (config) {
        TESS_TRY(tess_struct_read(config, &r.config, sizeof r.config, "config"));
    }
    TESS_TRY(tess_struct_read(observation, &r.observation, sizeof r.observation, "observation"));
    TESS_TRY(tess_struct_read(outputs, &r.outputs, sizeof r.outputs, "outputs"));
    const uint32_t given_bytes = outputs->struct_size;
    *n_iteration = 0;
    tess_blocks_init(&r.memory, &ctx->heap);
    const tess_status status = run_em(&r, log_evidence, n_iteration);
    tess_de_engine_destroy(r.engine);
    tess_blocks_free(&r.memory);
    if (status == TESS_OK) {
        memcpy(outputs, &r.outputs,
               given_bytes < sizeof r.outputs ? given_bytes : sizeof r.outputs);
        outputs->struct_size = given_bytes;
    }
    return status;
}
