// Filter and smoother on a device with its own memory: rows up, stages, rows down, block by block.
#include "base/status.h"
#include "systems/decode/states/hmm_there.h"

// Rows of a stage that are run at once: a cancelled call should not take seconds to end.
static const int64_t ROWS_AT_ONCE = 8192;

// A call, and the rows of it at hand.
typedef struct rows_job {
    tess_context *ctx;
    tess_de_hmm_there *there;
    const tess_hmm_model *m; // of the device
    const tess_de_hmm_chunk *chunk;
    int64_t first;
    int64_t n_row;
} rows_job;

static size_t row_bytes(int32_t dtype, int64_t width)
{
    return (size_t)width * tess_dtype_bytes((tess_dtype)dtype);
}

// Bytes at a place of the device's memory, to the host.
static tess_status fetch(const rows_job *job, void *data, void *host, size_t bytes)
{
    const tess_resident view = {
        .device = job->there->device, .data = data, .bytes = bytes, .is_borrowed = true};
    return tess_resident_fetch(&view, host, bytes);
}

static tess_status bring_transition(const rows_job *job, tess_resident *room)
{
    const tess_de_hmm_chunk *chunk = job->chunk;
    const int64_t n_pair = (int64_t)job->m->n_state * job->m->n_state;
    const int64_t n = chunk->transition_stride == 0 ? n_pair : job->n_row * n_pair;
    TESS_ASSERT(chunk->transition_stride == 0 || chunk->transition_stride == n_pair);
    TESS_TRY(tess_de_hmm_there_room(job->there, room, (size_t)n * sizeof(double)));
    return tess_resident_put(room, 0, chunk->transition + job->first * chunk->transition_stride,
                             (size_t)n * sizeof(double));
}

// Where ll of the rows at hand lies on the device.
static tess_status bring_ll(const rows_job *job, const void **ll)
{
    const tess_de_hmm_chunk *chunk = job->chunk;
    const size_t width = row_bytes(chunk->ll_dtype, job->m->n_ll);
    const size_t skip = (size_t)job->first * width;
    tess_resident *room = &job->there->ll;
    const size_t bytes = (size_t)job->n_row * width;
    TESS_TRY(tess_de_hmm_there_room(job->there, room, bytes));
    TESS_TRY(tess_resident_put(room, 0, (const char *)chunk->ll + skip, bytes));
    *ll = room->data;
    return TESS_OK;
}

// Room for the rows at hand, and the rows in it if they are read.
static tess_status bring_rows(const rows_job *job, bool is_input, void **rows)
{
    const tess_de_hmm_chunk *chunk = job->chunk;
    const size_t width = row_bytes(chunk->dtype, job->m->n_bin);
    const size_t skip = (size_t)job->first * width;
    tess_resident *room = &job->there->rows;
    const size_t bytes = (size_t)job->n_row * width;
    TESS_TRY(tess_de_hmm_there_room(job->there, room, bytes));
    *rows = room->data;
    return is_input ? tess_resident_put(room, 0, (const char *)chunk->filtered + skip, bytes)
                    : TESS_OK;
}

static tess_status fetch_rows(const rows_job *job, void *rows, void *host)
{
    const size_t width = row_bytes(job->chunk->dtype, job->m->n_bin);
    return host ? fetch(job, rows, (char *)host + (size_t)job->first * width,
                        (size_t)job->n_row * width)
                : TESS_OK;
}

// Room for sums of states, if they are wanted.
static tess_status states_room(const rows_job *job, int which, const double *wanted, double **out)
{
    tess_resident *room = &job->there->states[which];
    *out = NULL;
    if (wanted) {
        TESS_TRY(tess_de_hmm_there_room(job->there, room,
                                        (size_t)(job->n_row * job->m->n_state) * sizeof(double)));
        *out = room->data;
    }
    return TESS_OK;
}

static tess_status fetch_states(const rows_job *job, int which, double *host)
{
    const int64_t n_state = job->m->n_state;
    return host ? tess_resident_fetch(&job->there->states[which], host + job->first * n_state,
                                      (size_t)(job->n_row * n_state) * sizeof(double))
                : TESS_OK;
}

static tess_status run(const rows_job *job, int32_t stage, const void *args, size_t bytes)
{
    tess_device *device = job->there->device;
    TESS_TRY(device->backend->supports(device->handle, stage, args));
    return tess_stage_start(device, stage, args, bytes);
}

static tess_status filter_block(const rows_job *job, double *log_norm)
{
    tess_de_hmm_there *there = job->there;
    const tess_de_hmm_chunk *chunk = job->chunk;
    const size_t norm_bytes = (size_t)job->n_row * sizeof(double);
    TESS_TRY(bring_transition(job, &there->transition));
    TESS_TRY(tess_de_hmm_there_room(there, &there->norm, norm_bytes));
    tess_stage_decode_hmm_filter args = {.model = job->m,
                                         .n_row = job->n_row,
                                         .ll_dtype = chunk->ll_dtype,
                                         .dtype = chunk->dtype,
                                         .transition = there->transition.data,
                                         .transition_stride = chunk->transition_stride,
                                         .predicted = there->carry.data,
                                         .log_norm = there->norm.data};
    TESS_TRY(bring_ll(job, &args.ll));
    TESS_TRY(bring_rows(job, false, &args.filtered));
    if (chunk->predicted) {
        TESS_TRY(tess_de_hmm_there_room(
            there, &there->predicted, (size_t)job->n_row * row_bytes(chunk->dtype, job->m->n_bin)));
        args.predicted_rows = there->predicted.data;
    }
    TESS_TRY(states_room(job, 0, chunk->causal_states, &args.causal_states));
    TESS_TRY(states_room(job, 1, chunk->predictive_states, &args.predictive_states));
    TESS_TRY(tess_de_hmm_there_scratch(there, TESS_STAGE_DECODE_HMM_FILTER, &args));
    args.scratch = there->scratch.data;
    TESS_TRY(run(job, TESS_STAGE_DECODE_HMM_FILTER, &args, sizeof args));
    TESS_TRY(fetch_rows(job, args.filtered, chunk->filtered));
    TESS_TRY(fetch_rows(job, args.predicted_rows, chunk->predicted));
    TESS_TRY(fetch_states(job, 0, chunk->causal_states));
    TESS_TRY(fetch_states(job, 1, chunk->predictive_states));
    return tess_resident_fetch(&there->norm, log_norm + job->first, norm_bytes);
}

static tess_status begin(rows_job *job, tess_device *device, const tess_de_hmm *hmm,
                         const double *carry)
{
    const size_t bytes = (size_t)hmm->model.n_bin * sizeof(double);
    TESS_TRY(tess_de_hmm_there_take(job->ctx, device, hmm, &job->there));
    job->m = &job->there->model;
    tess_status status = tess_de_hmm_there_room(job->there, &job->there->carry, bytes);
    if (status == TESS_OK) {
        status = tess_resident_put(&job->there->carry, 0, carry, bytes);
    }
    if (status != TESS_OK) {
        tess_de_hmm_there_put(hmm, job->there);
    }
    return status;
}

// The carried row comes down, and the model back to where it was.
static tess_status end(const rows_job *job, const tess_de_hmm *hmm, tess_status status,
                       double *carry)
{
    if (status == TESS_OK) {
        status =
            tess_resident_fetch(&job->there->carry, carry, (size_t)job->m->n_bin * sizeof(double));
    }
    tess_de_hmm_there_put(hmm, job->there);
    return status;
}

tess_status tess_de_hmm_filter_there(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, double *log_norm,
                                     double *predicted)
{
    rows_job job = {.ctx = ctx, .chunk = chunk};
    TESS_TRY(begin(&job, device, hmm, predicted));
    tess_status status = TESS_OK;
    for (job.first = 0; status == TESS_OK && job.first < chunk->n_row; job.first += ROWS_AT_ONCE) {
        const int64_t left = chunk->n_row - job.first;
        job.n_row = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = filter_block(&job, log_norm);
        }
    }
    return end(&job, hmm, status, predicted);
}

static tess_status smooth_block(const rows_job *job, int is_last)
{
    tess_de_hmm_there *there = job->there;
    const tess_de_hmm_chunk *chunk = job->chunk;
    TESS_TRY(bring_transition(job, &there->transition));
    tess_stage_decode_hmm_smooth args = {.model = job->m,
                                         .n_row = job->n_row,
                                         .dtype = chunk->dtype,
                                         .is_last = is_last,
                                         .transition = there->transition.data,
                                         .transition_stride = chunk->transition_stride,
                                         .next = there->carry.data};
    TESS_TRY(bring_rows(job, true, &args.filtered));
    TESS_TRY(states_room(job, 0, chunk->acausal_states, &args.acausal_states));
    TESS_TRY(tess_de_hmm_there_scratch(there, TESS_STAGE_DECODE_HMM_SMOOTH, &args));
    args.scratch = there->scratch.data;
    TESS_TRY(run(job, TESS_STAGE_DECODE_HMM_SMOOTH, &args, sizeof args));
    TESS_TRY(fetch_rows(job, args.filtered, chunk->filtered));
    TESS_TRY(fetch_states(job, 0, chunk->acausal_states));
    return tess_stage_finish(there->device);
}

tess_status tess_de_hmm_smooth_there(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, int is_last, double *next)
{
    rows_job job = {.ctx = ctx, .chunk = chunk};
    TESS_TRY(begin(&job, device, hmm, next));
    tess_status status = TESS_OK;
    for (int64_t stop = chunk->n_row; status == TESS_OK && stop > 0; stop = job.first) {
        job.first = stop > ROWS_AT_ONCE ? stop - ROWS_AT_ONCE : 0;
        job.n_row = stop - job.first;
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = smooth_block(&job, is_last && stop == chunk->n_row);
        }
    }
    return end(&job, hmm, status, next);
}
