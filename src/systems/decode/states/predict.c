// Predictions into arrays.
#include "systems/decode/states/engine.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/comm.h"
#include "systems/decode/states/fingerprint.h"

#include <string.h>

// Values on the floor in more than this share are worth a word.
static const double FLOORED_SHARE = 0.05;

void tess_decode_outputs_init(tess_decode_outputs *outputs, size_t struct_size)
{
    const tess_decode_outputs defaults = {
        .first_impossible = -1,
        .likelihood = {.struct_size = sizeof(tess_decode_likelihood_report)}};
    tess_struct_init(outputs, struct_size, &defaults, sizeof defaults);
}

// Arrays of the context's device are filled by its stages, which convert nothing.
static tess_status check_there(const tess_context *ctx, const char *name, const tess_array *array,
                               int32_t dtype)
{
    if (ctx->device->shares_host_memory || array->device != ctx->device->info.index) {
        TESS_FAIL(TESS_E_SPACE, "%s: is not in the memory of %s, the context's device", name,
                  ctx->device->info.id);
    }
    if (dtype == 0) {
        TESS_FAIL(TESS_E_SPACE, "%s: must be in host memory", name);
    }
    if (array->dtype != dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: items are %s; on a device they must be %s", name,
                  tess_dtype_name((tess_dtype)array->dtype), tess_dtype_name((tess_dtype)dtype));
    }
    return TESS_OK;
}

// there_dtype: of an array on the device; 0: it must be the host's.
static tess_status check_array(const tess_context *ctx, const char *name, const tess_array *array,
                               int64_t n_time, int64_t width, int32_t there_dtype)
{
    if (!array) {
        return TESS_OK;
    }
    if (array->dtype != TESS_F32 && array->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: items are %s; f32 or f64 is expected", name,
                  tess_dtype_name((tess_dtype)array->dtype));
    }
    if (array->rank != 2 || array->shape[0] != n_time || array->shape[1] != width) {
        TESS_FAIL(TESS_E_SHAPE, "%s: has %d axes, [%lld][%lld]; [%lld][%lld] is expected", name,
                  array->rank, (long long)(array->rank > 0 ? array->shape[0] : 0),
                  (long long)(array->rank > 1 ? array->shape[1] : 0), (long long)n_time,
                  (long long)width);
    }
    if (!array->data || !tess_array_is_contiguous(array)) {
        TESS_FAIL(TESS_E_SPACE, "%s: must be contiguous in memory", name);
    }
    return array->space == TESS_SPACE_DEVICE ? check_there(ctx, name, array, there_dtype) : TESS_OK;
}

static tess_status check_arrays(const tess_context *ctx, const tess_decode_detector *d,
                                const tess_decode_predict_config *config,
                                const tess_decode_outputs *o, int64_t n_time)
{
    const tess_decode_detector_info *info = &d->info;
    const int64_t n_bin = info->n_state_bin;
    const int64_t n_state = info->n_state;
    const struct {
        const char *name;
        const tess_array *array;
        int64_t width;
        int32_t there_dtype;
    } arrays[] = {
        {"acausal_posterior", o->acausal_posterior, n_bin, d->dtype},
        {"acausal_state_probabilities", o->acausal_state_probabilities, n_state, TESS_F64},
        {"causal_posterior", o->causal_posterior, n_bin, d->dtype},
        {"causal_state_probabilities", o->causal_state_probabilities, n_state, TESS_F64},
        {"predictive_posterior", o->predictive_posterior, n_bin, d->dtype},
        {"predictive_state_probabilities", o->predictive_state_probabilities, n_state, TESS_F64},
        {"log_likelihood", o->log_likelihood, info->n_ll, d->dtype},
        {"given log_likelihood", config->log_likelihood, info->n_ll, 0},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        TESS_TRY(check_array(ctx, arrays[i].name, arrays[i].array, n_time, arrays[i].width,
                             arrays[i].there_dtype));
    }
    return TESS_OK;
}

tess_status tess_de_predict_desc(tess_context *ctx, const tess_decode_detector *detector,
                                 const tess_decode_observation *observation,
                                 const tess_decode_predict_config *config,
                                 tess_decode_outputs *outputs, tess_de_engine_desc *desc)
{
    tess_device *device = NULL;
    TESS_TRY(check_arrays(ctx, detector, config, outputs, observation->n_time));
    TESS_TRY(tess_de_engine_device(ctx, detector, &device));
    *desc = (tess_de_engine_desc){.device = device,
                                  .detector = detector,
                                  .observation = observation,
                                  .design = config->design,
                                  .n_chunk = config->n_chunk};
    tess_de_rows_of_array(config->log_likelihood, &desc->given_ll);
    tess_de_rows_of_array(outputs->log_likelihood, &desc->ll);
    tess_de_rows_of_array(outputs->acausal_posterior, &desc->acausal);
    tess_de_rows_of_array(outputs->causal_posterior, &desc->causal);
    tess_de_rows_of_array(outputs->predictive_posterior, &desc->predictive);
    tess_de_rows_of_array(outputs->acausal_state_probabilities, &desc->acausal_states);
    tess_de_rows_of_array(outputs->causal_state_probabilities, &desc->causal_states);
    tess_de_rows_of_array(outputs->predictive_state_probabilities, &desc->predictive_states);
    return TESS_OK;
}

void tess_de_engine_warn(const tess_de_engine *engine)
{
    const tess_decode_likelihood_report *r = &engine->report;
    const tess_decode_detector *d = engine->desc.detector;
    tess_log *log = &engine->ctx->log;
    bool is_absolute = false;
    for (int64_t i = 0; i < d->n_encoding; i++) {
        is_absolute |= d->encodings[i] && d->encodings[i]->info.floor == TESS_DECODE_FLOOR_ABSOLUTE;
    }
    if (is_absolute &&
        ((double)r->n_floored > FLOORED_SHARE * (double)r->n_value || r->n_flat_spike > 0)) {
        tess_log_warn(log, TESS_W_DECODE_FLOOR,
                      "%.1f %% of the (spike, bin) values lie on the absolute floor of 1e-15 and "
                      "%lld of %lld spikes are flat over all bins: they say nothing of position; "
                      "floor relative:16 keeps what they know",
                      r->n_value > 0 ? 100.0 * (double)r->n_floored / (double)r->n_value : 0.0,
                      (long long)r->n_flat_spike, (long long)r->n_spike);
    }
    if (engine->carry.n_impossible > 0) {
        const int64_t row = engine->carry.first_impossible;
        tess_log_warn(log, TESS_W_DECODE_NO_STATE,
                      "at row %lld (t = %.6f) no state can explain the spikes: all probabilities "
                      "are zero there and in every later row%s",
                      (long long)row, engine->sequences.time ? engine->sequences.time[row] : 0.0,
                      engine->sequences.n > 1 ? " of its interval" : "");
    }
}

void tess_de_predict_finish(const tess_de_engine *engine, tess_decode_outputs *outputs)
{
    outputs->log_evidence = tess_de_engine_evidence(engine);
    outputs->n_impossible = engine->carry.n_impossible;
    outputs->first_impossible = engine->carry.first_impossible;
    outputs->likelihood = engine->report;
    tess_de_engine_warn(engine);
}

// Room for the likelihood of all rows, where a path is wanted and nobody brought it: if that is
// cheap, else it is computed again on the way.
static tess_status hold_likelihood(tess_context *ctx, const tess_decode_outputs *outputs,
                                   tess_de_engine_desc *desc, tess_blocks *memory)
{
    const tess_decode_detector *d = desc->detector;
    const bool is_held =
        desc->given_ll.dtype != 0 || (desc->ll.dtype == d->dtype && desc->ll.memory);
    const size_t item = tess_dtype_bytes((tess_dtype)d->dtype);
    int64_t items;
    if (!outputs->most_likely_bin || is_held ||
        !tess_mul_i64(desc->observation->n_time, d->info.n_ll, &items) ||
        (uint64_t)items > ctx->memory_limit_bytes / 4 / item) {
        return TESS_OK;
    }
    void *ll = tess_blocks_alloc(memory, items, item, "likelihood of all rows");
    if (!ll) {
        return TESS_E_MEMORY;
    }
    tess_de_rows_of_memory(ll, d->dtype, d->info.n_ll, &desc->kept_ll);
    return TESS_OK;
}

// Asked for the likelihood and perhaps the path, which is found from it.
static bool wants_likelihood_only(const tess_decode_outputs *o)
{
    return (o->log_likelihood || o->most_likely_bin) && !o->acausal_posterior &&
           !o->acausal_state_probabilities && !o->causal_posterior &&
           !o->causal_state_probabilities && !o->predictive_posterior &&
           !o->predictive_state_probabilities;
}

// Rows of a rank that has other data or another model would be taken for those of all.
static tess_status compare_ranks(tess_context *ctx, const tess_de_engine_desc *desc)
{
    tess_de_fingerprint fingerprint;
    tess_identity id;
    if (tess_comm_size(ctx) == 1) {
        return TESS_OK;
    }
    tess_de_fingerprint_make(desc->detector, desc->observation, desc->design, &fingerprint);
    tess_identity_init(&id, ctx, "decode.predict", desc->device->backend->name);
    tess_de_fingerprint_add(&fingerprint, &id);
    const tess_status status = tess_identity_agree(ctx, &id, TESS_OK);
    tess_identity_free(&id);
    return status;
}

static tess_status predict(tess_context *ctx, tess_de_engine_desc *desc,
                           tess_decode_outputs *outputs, tess_blocks *memory)
{
    desc->likelihood_only = wants_likelihood_only(outputs);
    if (outputs->most_likely_bin) {
        tess_de_rows_of_memory(outputs->most_likely_bin, TESS_I64, 1, &desc->path);
    }
    TESS_TRY(hold_likelihood(ctx, outputs, desc, memory));
    tess_de_engine *engine = NULL;
    TESS_TRY(tess_de_engine_create(ctx, desc, &engine));
    const tess_status status = tess_de_engine_run(engine, NULL, NULL);
    if (status == TESS_OK) {
        tess_de_predict_finish(engine, outputs);
    }
    tess_de_engine_destroy(engine);
    return status;
}

tess_status tess_decode_predict(tess_context *ctx, const tess_decode_detector *detector,
                                const tess_decode_observation *observation,
                                const tess_decode_predict_config *config,
                                tess_decode_outputs *outputs)
{
    tess_error_clear();
    tess_decode_predict_config own;
    tess_decode_predict_config_init(&own, sizeof own);
    if (config) {
        TESS_TRY(tess_struct_read(config, &own, sizeof own, "config"));
    }
    tess_decode_observation seen;
    tess_decode_observation_init(&seen, sizeof seen);
    TESS_TRY(tess_struct_read(observation, &seen, sizeof seen, "observation"));
    tess_decode_outputs wanted;
    tess_decode_outputs_init(&wanted, sizeof wanted);
    TESS_TRY(tess_struct_read(outputs, &wanted, sizeof wanted, "outputs"));
    const uint32_t given_bytes = outputs->struct_size;
    tess_de_engine_desc desc;
    TESS_TRY(tess_de_predict_desc(ctx, detector, &seen, &own, &wanted, &desc));
    TESS_TRY(compare_ranks(ctx, &desc));
    desc.is_divided = 1;
    desc.is_for_all_ranks = 1; // every rank runs the rest, and has all results
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    const tess_status status = predict(ctx, &desc, &wanted, &memory);
    tess_blocks_free(&memory);
    if (status == TESS_OK) {
        memcpy(outputs, &wanted, given_bytes < sizeof wanted ? given_bytes : sizeof wanted);
        outputs->struct_size = given_bytes;
    }
    return status;
}
