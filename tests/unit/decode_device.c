#include "decode_device.h"

#include "base/status.h"
#include "stage/decode_events_there.h"
#include "stage/decode_hmm.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static decode_device there;
static tess_backend other;
static const tess_backend *cpu;

static tess_status other_alloc(tess_backend_device *unused, tess_space space, size_t bytes,
                               void **out)
{
    (void)unused;
    assert_int_equal(space, TESS_SPACE_DEVICE);
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(*out);
    memset(*out, 0xa5, bytes); // nothing is there by itself
    there.live_bytes += bytes;
    there.peak_bytes = there.live_bytes > there.peak_bytes ? there.live_bytes : there.peak_bytes;
    return TESS_OK;
}

static void other_free(tess_backend_device *unused, tess_space space, void *data, size_t bytes)
{
    (void)unused;
    (void)space;
    memset(data, 0x5a, bytes);
    there.live_bytes -= bytes;
    free(data);
}

static tess_status other_copy(tess_backend_queue *queue, void *to, tess_space to_space,
                              const void *from, tess_space from_space, size_t bytes)
{
    (void)queue;
    assert_true(to_space == TESS_SPACE_DEVICE || from_space == TESS_SPACE_DEVICE);
    there.up_bytes += from_space == TESS_SPACE_HOST ? bytes : 0;
    there.down_bytes += to_space == TESS_SPACE_HOST ? bytes : 0;
    memcpy(to, from, bytes);
    return TESS_OK;
}

static tess_status other_supports(tess_backend_device *device, int32_t stage, const void *args)
{
    const bool is_of_gpus = stage == TESS_STAGE_DECODE_HMM_PATHS ||
                            stage == TESS_STAGE_DECODE_EVENTS_MIX ||
                            stage == TESS_STAGE_DECODE_EVENTS_JUDGE;
    return is_of_gpus ? tess_error_set(TESS_E_UNSUPPORTED, "no such stage here")
                      : cpu->supports(device, stage, args);
}

static size_t other_scratch(tess_backend_device *unused, int32_t stage, const void *args)
{
    (void)unused;
    (void)stage;
    (void)args;
    return 0;
}

// What the CPU's stage works in; the model's own count is of another device.
static double *scratch_of(const tess_hmm_model *m, int64_t *n)
{
    *n = tess_hmm_cells_at(m->n_bin, m->n_ll, m->n_state);
    for (int32_t k = 0; k < m->n_operator; k++) {
        const tess_hmm_operator *both[2] = {&m->forward[k], &m->backward[k]};
        for (int d = 0; d < 2; d++) {
            const int64_t end =
                both[d]->scratch + (both[d]->n_pass + 1) * ((both[d]->n_cell + 7) / 8 * 8);
            *n = end > *n ? end : *n;
        }
    }
    double *scratch = calloc((size_t)*n + 8, sizeof *scratch);
    assert_non_null(scratch);
    return scratch;
}

static void *row_of(void *rows, int32_t dtype, int64_t row, int64_t width)
{
    return rows ? (char *)rows + (size_t)(row * width) * tess_dtype_bytes((tess_dtype)dtype) : NULL;
}

// Runs one after another: then every guess is right.
static tess_status filter_runs(tess_backend_queue *queue, const tess_stage_decode_hmm_filter *a)
{
    const tess_hmm_model *m = a->model;
    const size_t vector = (size_t)m->n_bin * sizeof(double);
    int64_t n_scratch;
    tess_hmm_model own = *m;
    double *scratch = scratch_of(m, &n_scratch);
    double *carried = malloc(vector);
    own.n_scratch = n_scratch;
    memcpy(carried, a->predicted, vector);
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < a->runs.n && status == TESS_OK; i++) {
        const tess_hmm_run *run = &a->runs.run[i];
        const int64_t states = run->first * m->n_state;
        tess_stage_decode_hmm_filter one = *a;
        if (run->begins == TESS_HMM_EDGE) {
            memcpy(carried, a->initial, vector);
        }
        one.model = &own;
        one.scratch = scratch;
        one.n_row = run->n_row;
        one.ll = (const char *)a->ll +
                 (size_t)(run->first * m->n_ll) * tess_dtype_bytes((tess_dtype)a->ll_dtype);
        one.transition = a->transition + run->first * a->transition_stride;
        one.predicted = carried;
        one.filtered = row_of(a->filtered, a->dtype, run->first, m->n_bin);
        one.predicted_rows = row_of(a->predicted_rows, a->dtype, run->first, m->n_bin);
        one.causal_states = a->causal_states ? a->causal_states + states : NULL;
        one.predictive_states = a->predictive_states ? a->predictive_states + states : NULL;
        one.log_norm = a->log_norm + run->first;
        one.ahead = NULL;
        status = cpu->enqueue(queue, TESS_STAGE_DECODE_HMM_FILTER, &one, sizeof one);
        a->runs.is_wrong[i] = 0;
    }
    memcpy(a->runs.ended, carried, vector);
    free(carried);
    free(scratch);
    return status;
}

static tess_status smooth_runs(tess_backend_queue *queue, const tess_stage_decode_hmm_smooth *a)
{
    const tess_hmm_model *m = a->model;
    const size_t vector = (size_t)m->n_bin * sizeof(double);
    const size_t row = (size_t)m->n_bin * tess_dtype_bytes((tess_dtype)a->dtype);
    int64_t n_scratch;
    tess_hmm_model own = *m;
    double *scratch = scratch_of(m, &n_scratch);
    double *lane = scratch_of(m, &n_scratch);
    own.n_scratch = n_scratch;
    double *carried = malloc(vector);
    double *ahead = calloc((size_t)tess_hmm_ahead_items(m, a->n_row) + 8, sizeof *ahead);
    memcpy(carried, a->next, vector);
    tess_status status = TESS_OK;
    for (int64_t i = a->runs.n - 1; i >= 0 && status == TESS_OK; i--) {
        const tess_hmm_run *run = &a->runs.run[i];
        tess_stage_decode_hmm_smooth one = *a;
        one.model = &own;
        one.scratch = scratch;
        one.lanes = lane;
        one.n_lane = 1;
        one.ahead = ahead;
        one.n_row = run->n_row;
        one.is_last = run->begins == TESS_HMM_EDGE;
        one.transition = a->transition + run->first * a->transition_stride;
        one.filtered = row_of(a->smoothed, a->dtype, run->first, m->n_bin);
        memcpy(one.filtered, row_of(a->filtered, a->dtype, run->first, m->n_bin),
               (size_t)run->n_row * row);
        one.next = carried;
        one.acausal_states = a->acausal_states ? a->acausal_states + run->first * m->n_state : NULL;
        status = cpu->enqueue(queue, TESS_STAGE_DECODE_HMM_SMOOTH, &one, sizeof one);
        a->runs.is_wrong[i] = 0;
    }
    memcpy(a->runs.ended, carried, vector);
    free(ahead);
    free(carried);
    free(lane);
    free(scratch);
    return status;
}

static tess_status other_enqueue(tess_backend_queue *queue, int32_t stage, const void *args,
                                 size_t bytes)
{
    switch (stage) {
    case TESS_STAGE_DECODE_HMM_FILTER:
        return filter_runs(queue, args);
    case TESS_STAGE_DECODE_HMM_SMOOTH:
        return smooth_runs(queue, args);
    default:
        return cpu->enqueue(queue, stage, args, bytes);
    }
}

decode_device *decode_device_use(tess_context *ctx, uint64_t limit_bytes)
{
    cpu = ctx->cpu.backend;
    other = *cpu;
    other.name = "other";
    other.memory_alloc = other_alloc;
    other.memory_free = other_free;
    other.copy = other_copy;
    other.supports = other_supports;
    other.scratch_bytes = other_scratch;
    other.enqueue = other_enqueue;
    const uint64_t live = there.live_bytes;
    there = (decode_device){.device = ctx->cpu, .live_bytes = live, .peak_bytes = live};
    there.device.backend = &other;
    there.device.shares_host_memory = false;
    snprintf(there.device.info.id, sizeof there.device.info.id, "other:0");
    ctx->device_budget.limit_bytes = limit_bytes;
    ctx->device_budget.origin = "option";
    there.device.budget = &ctx->device_budget;
    ctx->device = &there.device;
    return &there;
}
