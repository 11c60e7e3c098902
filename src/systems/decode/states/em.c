// Expectation maximisation of initial conditions and discrete transitions.
//
// The likelihood of all rows is kept between iterations if it fits half the memory limit.
#include "systems/decode/states/em.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/budget.h"
#include "systems/decode/states/em_run.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

static tess_status check_config(const tess_de_em_run *r)
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
    if (!(c->checkpoint_every_s >= 0)) {
        TESS_FAIL(TESS_E_RANGE, "checkpoint_every_s: must be 0 or more seconds");
    }
    return TESS_OK;
}

static double *hold_states(tess_de_em_run *r, tess_de_rows *rows)
{
    const int64_t n_state = r->detector->info.n_state;
    double *states = tess_blocks_alloc(&r->memory, r->observation.n_time * n_state, sizeof *states,
                                       "state probabilities");
    tess_de_rows_of_memory(states, TESS_F64, n_state, rows);
    return states;
}

// Half of what the limit leaves; of one that somebody set, beside what the process holds already.
static uint64_t likelihood_room(const tess_context *ctx)
{
    const uint64_t limit = ctx->memory_limit_bytes;
    const uint64_t taken = ctx->memory_limit_is_set ? tess_resident_bytes() : 0;
    return limit > taken ? (limit - taken) / 2 : 0;
}

// Where the likelihood stays between iterations: the caller's array, memory, or nowhere.
static tess_status hold_likelihood(tess_de_em_run *r)
{
    const int32_t dtype = r->detector->dtype;
    if (r->desc.ll.dtype == dtype) {
        r->has_room = true;
        return TESS_OK;
    }
    const int64_t width = r->detector->info.n_ll;
    const size_t item = tess_dtype_bytes((tess_dtype)dtype);
    int64_t n_item;
    if (!tess_mul_i64(r->observation.n_time, width, &n_item)) {
        TESS_FAIL(TESS_E_SHAPE, "more likelihood values than can be counted");
    }
    if ((double)n_item * (double)item > (double)likelihood_room(r->ctx)) {
        return TESS_OK; // computed again in every iteration
    }
    void *ll = tess_blocks_alloc(&r->memory, n_item, item, "likelihood of all rows");
    if (!ll) {
        return TESS_E_MEMORY;
    }
    tess_de_rows_of_memory(ll, dtype, width, &r->desc.ll);
    r->has_room = true;
    return TESS_OK;
}

// 1 if the caller wants nothing of an E-step but probabilities of states.
static bool wants_states_only(const tess_decode_outputs *o)
{
    return !o->acausal_posterior && !o->causal_posterior && !o->predictive_posterior &&
           !o->log_likelihood;
}

static tess_status prepare(tess_de_em_run *r)
{
    tess_decode_predict_config predict;
    tess_decode_predict_config_init(&predict, sizeof predict);
    predict.design = r->config.design;
    TESS_TRY(check_config(r));
    TESS_TRY(tess_de_predict_desc(r->ctx, r->detector, &r->observation, &predict, &r->outputs,
                                  &r->desc));
    if (tess_de_engine_has_results_there(&r->desc)) {
        TESS_FAIL(TESS_E_SPACE, "outputs: those of an estimate must be in host memory");
    }
    r->desc.smooth = 1;
    r->is_pausable = wants_states_only(&r->outputs);
    r->desc.is_checked = r->is_pausable && r->config.checkpoint_dir;
    r->n_parameter = tess_de_em_parameters(r->detector);
    r->before = tess_blocks_alloc(&r->memory, r->n_parameter, sizeof *r->before, "parameters");
    r->causal = hold_states(r, &r->desc.causal_states);
    r->predictive = hold_states(r, &r->desc.predictive_states);
    r->acausal = hold_states(r, &r->desc.acausal_states);
    if (!r->before || !r->causal || !r->predictive || !r->acausal) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(hold_likelihood(r));
    r->desc.reuses_ll = r->has_room;
    tess_de_em_identify(r->ctx, r->detector, &r->observation, &r->config,
                        r->desc.device->backend->name, &r->id);
    TESS_TRY(tess_de_em_open_work(r));
    TESS_TRY(tess_de_engine_create(r->ctx, &r->desc, &r->engine));
    return tess_de_em_go_on(r);
}

static tess_status update_transitions(tess_de_em_run *r)
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
        tess_log_warn(&r->ctx->log, TESS_W_DECODE_EM,
                      "the coefficients of %d of %d transition rows could not be improved and "
                      "stay as they are",
                      n_failed, step.n_state);
    }
    return TESS_OK;
}

// Initial conditions are the first smoothed row.
static void update_initial(tess_de_em_run *r)
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

static void after_chunk(void *self)
{
    tess_de_em_save_if_due(self, false);
}

static tess_status expect(tess_de_em_run *r)
{
    const tess_de_position from = r->engine->at;
    TESS_TRY(tess_de_engine_run(r->engine, after_chunk, r));
    // Chunks that an earlier process filtered have been made again on the way back, but not those
    // that it smoothed.
    if (r->has_room && !r->has_cache && (!from.pass || from.chunk == r->engine->n_chunk - 1)) {
        tess_de_engine_reuse_likelihood(r->engine);
        r->has_cache = true;
    }
    return TESS_OK;
}

// The parameters after this E-step, or none of them.
static tess_status update(tess_de_em_run *r)
{
    tess_de_em_read_parameters(r->detector, r->before);
    if (r->config.estimate_discrete_transition) {
        const tess_status status = update_transitions(r);
        if (status != TESS_OK) {
            tess_de_em_write_parameters(r->detector, r->before);
            return status;
        }
    }
    if (r->config.estimate_initial_conditions) {
        update_initial(r);
    }
    return TESS_OK;
}

static tess_status maximise(tess_de_em_run *r)
{
    const tess_decode_em_config *c = &r->config;
    const int64_t k = r->n_iteration;
    const double evidence = r->engine->carry.log_evidence;
    const double change = k > 0 ? relative_change(r->log_evidence[k - 1], evidence) : 1;
    // No parameters follow from rows that nothing can explain.
    const bool is_possible = isfinite(evidence);
    if (is_possible) {
        TESS_TRY(update(r));
    } else {
        tess_de_em_read_parameters(r->detector, r->before);
    }
    r->log_evidence[k] = evidence;
    r->n_iteration = k + 1;
    r->is_finished = !is_possible || k + 1 == c->max_iterations || (k > 0 && change < c->tolerance);
    if (!r->is_finished) {
        tess_de_engine_rewind(r->engine);
    }
    if (is_possible && c->iteration && c->iteration(c->user, k, evidence, change)) {
        TESS_FAIL(TESS_CANCELLED, "stopped after iteration %lld", (long long)k + 1);
    }
    return TESS_OK;
}

static tess_status iterate(tess_de_em_run *r)
{
    while (!r->is_finished) {
        TESS_TRY(expect(r));
        TESS_TRY(maximise(r));
        if (!r->is_finished) {
            tess_de_em_save_if_due(r, true);
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
static tess_status copy_likelihood(const tess_de_em_run *r)
{
    const tess_array *out = r->outputs.log_likelihood;
    if (!out || out->dtype == r->detector->dtype || !r->has_room) {
        return TESS_OK; // written in place
    }
    tess_de_rows to;
    tess_de_rows_of_array(out, &to);
    return tess_de_rows_store(r->engine, &to, 0, r->observation.n_time, r->desc.ll.memory,
                              r->detector->dtype);
}

// The path of the parameters as they now are.
static tess_status find_path(tess_de_em_run *r)
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

static tess_status write_outputs(tess_de_em_run *r)
{
    const int64_t n = r->observation.n_time * r->detector->info.n_state;
    copy_states(r->causal, n, r->outputs.causal_state_probabilities);
    copy_states(r->predictive, n, r->outputs.predictive_state_probabilities);
    copy_states(r->acausal, n, r->outputs.acausal_state_probabilities);
    TESS_TRY(copy_likelihood(r));
    tess_de_predict_finish(r->engine, &r->outputs);
    return find_path(r);
}

static tess_status run_em(tess_de_em_run *r)
{
    TESS_TRY(prepare(r));
    tess_status status = iterate(r);
    if (status == TESS_OK) {
        status = write_outputs(r);
    }
    if (status == TESS_OK && !r->config.keep_finished) {
        tess_work_end(&r->work);
    } else if (tess_work_is_kept(&r->work)) {
        tess_de_em_save(r); // what is done, whatever stopped the rest
    }
    if (status == TESS_OK) {
        tess_identity_digest(&r->id, r->detector->estimated_by);
    }
    return status;
}

static tess_status read_arguments(const tess_decode_observation *observation,
                                  const tess_decode_em_config *config, tess_de_em_run *r)
{
    tess_decode_em_config_init(&r->config, sizeof r->config);
    tess_decode_observation_init(&r->observation, sizeof r->observation);
    tess_decode_outputs_init(&r->outputs, sizeof r->outputs);
    if (config) {
        TESS_TRY(tess_struct_read(config, &r->config, sizeof r->config, "config"));
    }
    return tess_struct_read(observation, &r->observation, sizeof r->observation, "observation");
}

tess_status tess_decode_em(tess_context *ctx, tess_decode_detector *detector,
                           const tess_decode_observation *observation,
                           const tess_decode_em_config *config, tess_decode_outputs *outputs,
                           double *log_evidence, int64_t *n_iteration)
{
    tess_error_clear();
    tess_de_em_run r = {
        .ctx = ctx, .detector = detector, .log_evidence = log_evidence, .work.lock_fd = -1};
    TESS_TRY(read_arguments(observation, config, &r));
    TESS_TRY(tess_struct_read(outputs, &r.outputs, sizeof r.outputs, "outputs"));
    const uint32_t given_bytes = outputs->struct_size;
    tess_blocks_init(&r.memory, &ctx->heap);
    const tess_status status = run_em(&r);
    *n_iteration = r.n_iteration;
    tess_work_close(&r.work);
    tess_identity_free(&r.id);
    tess_de_engine_destroy(r.engine);
    tess_blocks_free(&r.memory);
    if (status == TESS_OK) {
        memcpy(outputs, &r.outputs,
               given_bytes < sizeof r.outputs ? given_bytes : sizeof r.outputs);
        outputs->struct_size = given_bytes;
    }
    return status;
}

tess_status tess_decode_em_is_finished(tess_context *ctx, const tess_decode_detector *detector,
                                       const tess_decode_observation *observation,
                                       const tess_decode_em_config *config, const char *path,
                                       int *finished)
{
    tess_error_clear();
    tess_de_em_run r = {.ctx = ctx};
    tess_device *device = NULL;
    tess_identity id;
    *finished = 0;
    TESS_TRY(read_arguments(observation, config, &r));
    TESS_TRY(tess_de_engine_device(ctx, detector, &device));
    tess_de_em_identify(ctx, detector, &r.observation, &r.config, device->backend->name, &id);
    const tess_status status =
        tess_work_is_finished(ctx, &id, path, r.config.checkpoint_dir, finished);
    tess_identity_free(&id);
    return status;
}
