// Filter and smoother on a device with its own memory, block by block: rows that do not stay there
// go up before and come down behind.
//
// Runs of a block's rows are worked on side by side. Those that begin with a guess which did not
// come true are done again until every guess did, so that no bit tells how rows were cut.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "systems/decode/states/hmm_room.h"
#include "systems/decode/states/hmm_there.h"

// Rows of a stage that are run at once: a cancelled call should not take seconds to end, and many
// runs are to have many rows.
static const int64_t MOST_ROWS = 65536;
static const int64_t MOST_RUNS = 4096;

// A call, and the rows of it at hand.
typedef struct rows_job {
    tess_context *ctx;
    tess_de_hmm_there *there;
    const tess_hmm_model *m; // of the device
    const tess_de_hmm_chunk *chunk;
    tess_de_hmm_cut cut;
    int64_t first;
    int64_t n_row;
    tess_hmm_runs runs;
    int64_t n_made; // guesses
    int64_t n_wrong;
} rows_job;

static size_t row_bytes(int32_t dtype, int64_t width)
{
    return (size_t)width * tess_dtype_bytes((tess_dtype)dtype);
}

// What a block holds for each of its rows, at most, if every one were a run.
static uint64_t bytes_of_row(const rows_job *job)
{
    const tess_hmm_model *m = job->m;
    const tess_de_hmm_chunk *chunk = job->chunk;
    const int64_t n_pair = (int64_t)m->n_state * m->n_state;
    int64_t words =
        m->n_bin + 2 * m->n_state + n_pair + 1;         // of its guess, states, transition, norm
    words += job->cut.is_back ? m->n_bin : m->n_ll + 2; // of what it predicts, or its weights
    return (uint64_t)words * sizeof(double) + sizeof(tess_hmm_run) +
           2 * row_bytes(chunk->dtype, m->n_bin) + row_bytes(chunk->ll_dtype, m->n_ll);
}

// Rows that a block may have.
static int64_t rows_at_once(const rows_job *job)
{
    const uint64_t room = tess_device_left(job->there->device) / 4 / bytes_of_row(job);
    return room < 1 ? 1 : room > (uint64_t)MOST_ROWS ? MOST_ROWS : (int64_t)room;
}

// Runs of the rows at hand, where the device reads them; false in *fits if they are too many.
static tess_status bring_runs(rows_job *job, bool *fits)
{
    tess_de_hmm_there *there = job->there;
    const int64_t n = tess_de_hmm_count_runs(&job->cut, job->first, job->n_row);
    const size_t bytes = (size_t)n * sizeof(tess_hmm_run);
    const size_t vector = (size_t)job->m->n_bin * sizeof(double);
    *fits = n <= MOST_RUNS || job->n_row == 1;
    if (!*fits) {
        return TESS_OK;
    }
    tess_hmm_run *runs = tess_heap_alloc(&job->ctx->heap, bytes, TESS_TAG_SCRATCH, "runs of rows");
    if (!runs) {
        return TESS_E_MEMORY;
    }
    tess_de_hmm_list_runs(&job->cut, job->first, job->n_row, runs);
    for (int64_t i = 0; i < n; i++) {
        job->n_made += runs[i].begins == TESS_HMM_GUESSED;
    }
    tess_status status = tess_de_hmm_there_room(there, &there->runs, bytes);
    if (status == TESS_OK) {
        status = tess_resident_put(&there->runs, 0, runs, bytes);
    }
    if (status == TESS_OK) { // the copy reads them
        status = tess_stage_finish(there->device);
    }
    tess_heap_free(&job->ctx->heap, runs, bytes, TESS_TAG_SCRATCH);
    TESS_TRY(status);
    TESS_TRY(tess_de_hmm_there_room(there, &there->guess, (size_t)n * vector));
    TESS_TRY(tess_de_hmm_there_room(there, &there->wrong, (size_t)n * sizeof(int32_t)));
    TESS_TRY(tess_de_hmm_there_room(there, &there->carry[1], vector));
    job->runs = (tess_hmm_runs){.n = n,
                                .run = there->runs.data,
                                .guess = there->guess.data,
                                .is_wrong = there->wrong.data,
                                .ended = there->carry[1].data};
    return TESS_OK;
}

// What came out of this block goes into the next one.
static void carry_on(const rows_job *job)
{
    const tess_resident carried = job->there->carry[0];
    job->there->carry[0] = job->there->carry[1];
    job->there->carry[1] = carried;
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
    if (chunk->there.ll) {
        *ll = (const char *)chunk->there.ll + skip;
        return TESS_OK;
    }
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
    if (chunk->there.filtered) {
        *rows = (char *)chunk->there.filtered + skip;
        return TESS_OK;
    }
    tess_resident *room = &job->there->rows;
    const size_t bytes = (size_t)job->n_row * width;
    TESS_TRY(tess_de_hmm_there_room(job->there, room, bytes));
    *rows = room->data;
    return is_input ? tess_resident_put(room, 0, (const char *)chunk->filtered + skip, bytes)
                    : TESS_OK;
}

// Where rows that a stage makes go: to stay, or into a room.
static tess_status rows_room(const rows_job *job, void *stay, tess_resident *room, void **rows)
{
    const size_t width = row_bytes(job->chunk->dtype, job->m->n_bin);
    if (stay) {
        *rows = (char *)stay + (size_t)job->first * width;
        return TESS_OK;
    }
    TESS_TRY(tess_de_hmm_there_room(job->there, room, (size_t)job->n_row * width));
    *rows = room->data;
    return TESS_OK;
}

static tess_status fetch_rows(const rows_job *job, void *rows, void *host)
{
    const size_t width = row_bytes(job->chunk->dtype, job->m->n_bin);
    return host ? fetch(job, rows, (char *)host + (size_t)job->first * width,
                        (size_t)job->n_row * width)
                : TESS_OK;
}

// Room for sums of states, if they are wanted.
static tess_status states_room(const rows_job *job, int which, const double *wanted, double *stay,
                               double **out)
{
    tess_resident *room = &job->there->states[which];
    *out = stay ? stay + job->first * job->m->n_state : NULL;
    if (wanted && !stay) {
        TESS_TRY(tess_de_hmm_there_room(job->there, room,
                                        (size_t)(job->n_row * job->m->n_state) * sizeof(double)));
        *out = room->data;
    }
    return TESS_OK;
}

static tess_status fetch_states(const rows_job *job, double *states, double *host)
{
    const int64_t n_state = job->m->n_state;
    return host ? fetch(job, states, host + job->first * n_state,
                        (size_t)(job->n_row * n_state) * sizeof(double))
                : TESS_OK;
}

// Whether a run began with a wrong guess.
static tess_status find_wrong(rows_job *job, bool *is_wrong)
{
    int32_t wrong[256];
    *is_wrong = false;
    for (int64_t at = 0; at < job->runs.n; at += 256) {
        const int64_t n = job->runs.n - at < 256 ? job->runs.n - at : 256;
        TESS_TRY(fetch(job, job->runs.is_wrong + at, wrong, (size_t)n * sizeof *wrong));
        for (int64_t i = 0; i < n; i++) {
            *is_wrong |= wrong[i] != 0;
            job->n_wrong += wrong[i] != 0;
        }
    }
    return TESS_OK;
}

// Starts a stage, and again until every guess came true; again is the runs' in args.
static tess_status run(rows_job *job, int32_t stage, const void *args, size_t bytes, int32_t *again)
{
    tess_device *device = job->there->device;
    TESS_TRY(device->backend->supports(device->handle, stage, args));
    for (bool is_wrong = true; is_wrong; *again = 1) {
        TESS_TRY(tess_context_check_cancel(job->ctx));
        TESS_TRY(tess_stage_start(device, stage, args, bytes));
        TESS_TRY(find_wrong(job, &is_wrong));
    }
    return TESS_OK;
}

static tess_status filter_block(rows_job *job, double *log_norm)
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
                                         .predicted = there->carry[0].data,
                                         .initial = there->initial.data,
                                         .log_norm = there->norm.data,
                                         .runs = job->runs};
    TESS_TRY(bring_ll(job, &args.ll));
    TESS_TRY(bring_rows(job, false, &args.filtered));
    if (chunk->predicted || chunk->there.predicted) {
        TESS_TRY(rows_room(job, chunk->there.predicted, &there->predicted, &args.predicted_rows));
    }
    TESS_TRY(
        states_room(job, 0, chunk->causal_states, chunk->there.causal_states, &args.causal_states));
    TESS_TRY(states_room(job, 1, chunk->predictive_states, chunk->there.predictive_states,
                         &args.predictive_states));
    TESS_TRY(tess_de_hmm_there_scratch(there, TESS_STAGE_DECODE_HMM_FILTER, &args));
    args.scratch = there->scratch.data;
    TESS_TRY(run(job, TESS_STAGE_DECODE_HMM_FILTER, &args, sizeof args, &args.runs.again));
    TESS_TRY(fetch_rows(job, args.filtered, chunk->filtered));
    TESS_TRY(fetch_rows(job, args.predicted_rows, chunk->predicted));
    TESS_TRY(fetch_states(job, args.causal_states, chunk->causal_states));
    TESS_TRY(fetch_states(job, args.predictive_states, chunk->predictive_states));
    carry_on(job);
    return tess_resident_fetch(&there->norm, log_norm + job->first, norm_bytes);
}

// A vector of all bins to the device.
static tess_status bring_vector(const rows_job *job, tess_resident *room, const double *vector)
{
    const size_t bytes = (size_t)job->m->n_bin * sizeof *vector;
    TESS_TRY(tess_de_hmm_there_room(job->there, room, bytes));
    return tess_resident_put(room, 0, vector, bytes);
}

static tess_status begin(rows_job *job, tess_device *device, const tess_de_hmm *hmm,
                         const double *initial, const double *carry)
{
    TESS_TRY(tess_de_hmm_there_take(job->ctx, device, hmm, &job->there));
    job->m = &job->there->model;
    job->cut.at_once = tess_de_hmm_runs_at_once(job->m);
    job->cut.n_guess = tess_de_hmm_guess_rows(&hmm->guesses[job->cut.is_back]);
    tess_status status = bring_vector(job, &job->there->carry[0], carry);
    if (status == TESS_OK && initial) {
        status = bring_vector(job, &job->there->initial, initial);
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
        status = tess_resident_fetch(&job->there->carry[0], carry,
                                     (size_t)job->m->n_bin * sizeof(double));
    }
    tess_de_hmm_note_guesses(&hmm->guesses[job->cut.is_back], job->cut.n_guess, job->n_made,
                             job->n_wrong);
    tess_de_hmm_there_put(hmm, job->there);
    return status;
}

// The next block: as many rows as fit, from first on or, going back, up to stop.
static tess_status next_block(rows_job *job, int64_t first, int64_t stop)
{
    int64_t most = rows_at_once(job);
    for (bool fits = false; !fits; most = (most + 1) / 2) {
        job->n_row = stop - first < most ? stop - first : most;
        job->first = job->cut.is_back ? stop - job->n_row : first;
        TESS_TRY(bring_runs(job, &fits));
    }
    return tess_context_check_cancel(job->ctx);
}

tess_status tess_de_hmm_filter_there(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, const tess_de_hmm_part *parts,
                                     int64_t n_part, const double *initial, double *log_norm,
                                     double *predicted)
{
    rows_job job = {.ctx = ctx, .chunk = chunk, .cut = {.parts = parts, .n_part = n_part}};
    TESS_TRY(begin(&job, device, hmm, initial, predicted));
    tess_status status = TESS_OK;
    for (int64_t first = 0; status == TESS_OK && first < chunk->n_row; first += job.n_row) {
        status = next_block(&job, first, chunk->n_row);
        if (status == TESS_OK) {
            status = filter_block(&job, log_norm);
        }
    }
    return end(&job, hmm, status, predicted);
}

static tess_status smooth_block(rows_job *job)
{
    tess_de_hmm_there *there = job->there;
    const tess_de_hmm_chunk *chunk = job->chunk;
    TESS_TRY(bring_transition(job, &there->transition));
    tess_stage_decode_hmm_smooth args = {.model = job->m,
                                         .n_row = job->n_row,
                                         .dtype = chunk->dtype,
                                         .transition = there->transition.data,
                                         .transition_stride = chunk->transition_stride,
                                         .next = there->carry[0].data,
                                         .runs = job->runs};
    TESS_TRY(rows_room(job, chunk->there.smoothed, &there->smoothed, &args.smoothed));
    TESS_TRY(bring_rows(job, true, &args.filtered));
    TESS_TRY(states_room(job, 0, chunk->acausal_states, chunk->there.acausal_states,
                         &args.acausal_states));
    TESS_TRY(tess_de_hmm_there_scratch(there, TESS_STAGE_DECODE_HMM_SMOOTH, &args));
    args.scratch = there->scratch.data;
    TESS_TRY(run(job, TESS_STAGE_DECODE_HMM_SMOOTH, &args, sizeof args, &args.runs.again));
    TESS_TRY(fetch_rows(job, args.smoothed, chunk->filtered));
    TESS_TRY(fetch_states(job, args.acausal_states, chunk->acausal_states));
    carry_on(job);
    return TESS_OK;
}

tess_status tess_de_hmm_smooth_there(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, const tess_de_hmm_part *parts,
                                     int64_t n_part, double *next)
{
    rows_job job = {
        .ctx = ctx, .chunk = chunk, .cut = {.parts = parts, .n_part = n_part, .is_back = true}};
    TESS_TRY(begin(&job, device, hmm, NULL, next));
    tess_status status = TESS_OK;
    for (int64_t stop = chunk->n_row; status == TESS_OK && stop > 0; stop = job.first) {
        status = next_block(&job, 0, stop);
        if (status == TESS_OK) {
            status = smooth_block(&job);
        }
    }
    return end(&job, hmm, status, next);
}
