// The hidden Markov model: its operators, and the stages over chunks of rows.
#include "systems/decode/states/hmm.h"

#include "base/status.h"
#include "systems/decode/states/hmm_there.h"

#include <math.h>
#include <string.h>

// Whether a movement is one that an earlier pair of states has.
static int is_same_movement(const tess_decode_movement *a, const tess_decode_movement *b)
{
    return a->kind == b->kind && a->use_manifold == b->use_manifold &&
           a->direction == b->direction && a->variance == b->variance && a->matrix == b->matrix &&
           memcmp(a->mean, b->mean, sizeof a->mean) == 0;
}

static int64_t bins_of(const tess_decode_environment *env)
{
    return env ? tess_decode_environment_get_info(env)->n_interior : 1;
}

// The part of a movement's matrix over all bins that joins interior bins.
static tess_status operator_of_any(tess_context *ctx, tess_de_hmm *hmm,
                                   const tess_decode_movement *movement,
                                   tess_decode_environment *from, tess_decode_environment *to,
                                   tess_de_operator *out)
{
    const tess_decode_environment_info *a = tess_decode_environment_get_info(from);
    const tess_decode_environment_info *b = tess_decode_environment_get_info(to);
    tess_blocks temporary;
    tess_blocks_init(&temporary, hmm->blocks.heap);
    double *all = tess_blocks_alloc(&temporary, a->n_bin * b->n_bin, sizeof *all, "movement");
    tess_status status = TESS_E_MEMORY;
    if (all) {
        status = tess_decode_movement_matrix(ctx, movement, from, to, all);
    }
    if (status == TESS_OK) {
        // In place: an item never moves behind one that is still to be read.
        for (int64_t i = 0; i < a->n_interior; i++) {
            for (int64_t j = 0; j < b->n_interior; j++) {
                all[i * b->n_interior + j] =
                    all[a->interior_bin[i] * b->n_bin + b->interior_bin[j]];
            }
        }
        status = tess_de_operator_of_matrix(&hmm->blocks, all, a->n_interior, b->n_interior,
                                            hmm->is_exact, out);
    }
    tess_blocks_free(&temporary);
    return status;
}

// Finds or makes the link from state i to state j.
static tess_status link_states(tess_context *ctx, tess_de_hmm *hmm, const tess_de_hmm_desc *desc,
                               int32_t i, int32_t j)
{
    const int32_t n_state = desc->n_state;
    const tess_decode_movement *movement = &desc->movements[i * n_state + j];
    tess_decode_environment *from = desc->env[i];
    tess_decode_environment *to = desc->env[j];
    int32_t *link = &hmm->link[i * n_state + j];
    *link = TESS_HMM_UNIFORM;
    if (!from || !to || movement->kind == TESS_DECODE_UNIFORM) {
        return TESS_OK; // a state of one bin is entered with certainty, and left to any bin
    }
    if (movement->kind == TESS_DECODE_DISCRETE) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "movements[%d][%d]: 'discrete' joins states of one bin, but states %d and %d "
                  "have %lld and %lld; choose 'uniform' or 'random_walk'",
                  i, j, i, j, (long long)bins_of(from), (long long)bins_of(to));
    }
    if (movement->kind == TESS_DECODE_IDENTITY && from == to) {
        *link = TESS_HMM_IDENTITY;
        return TESS_OK;
    }
    for (int32_t k = 0; k < i * n_state + j; k++) {
        if (hmm->link[k] >= 0 && desc->env[k / n_state] == from && desc->env[k % n_state] == to &&
            is_same_movement(&desc->movements[k], movement)) {
            *link = hmm->link[k];
            return TESS_OK;
        }
    }
    tess_de_operator *op = &hmm->operators[hmm->model.n_operator];
    tess_de_operator *plain = op + n_state * n_state;
    const tess_decode_environment_info *info = tess_decode_environment_get_info(from);
    if (movement->kind == TESS_DECODE_RANDOM_WALK && from == to && !info->is_track &&
        !movement->use_manifold) {
        TESS_TRY(tess_de_operator_of_walk(&hmm->blocks, info, movement, hmm->is_exact, plain));
    } else {
        TESS_TRY(operator_of_any(ctx, hmm, movement, from, to, plain));
    }
    *op = *plain;
    if (plain->forward.scatter && !hmm->is_exact) {
        TESS_TRY(tess_de_operator_by_nodes(&hmm->blocks, info, movement, plain, op));
    }
    *link = hmm->model.n_operator++;
    return TESS_OK;
}

// Which states are entered or left evenly: by uniform links alone.
static void mark_even(tess_de_hmm *hmm)
{
    const int32_t n_state = hmm->model.n_state;
    memset(hmm->enters_evenly, 1, (size_t)n_state);
    memset(hmm->leaves_evenly, 1, (size_t)n_state);
    for (int32_t i = 0; i < n_state * n_state; i++) {
        if (hmm->link[i] != TESS_HMM_UNIFORM) {
            hmm->enters_evenly[i % n_state] = 0;
            hmm->leaves_evenly[i / n_state] = 0;
        }
    }
}

// 1 if both directions of a movement write the same cells: then they may share them.
static int are_alike(const tess_hmm_operator *a, const tess_hmm_operator *b)
{
    int alike = a->n_cell == b->n_cell && a->n_pass == b->n_pass && a->scatter && b->scatter;
    for (int32_t p = 0; alike && p < a->n_pass; p++) {
        const int64_t n = a->pass[p].n_tile;
        alike = n == b->pass[p].n_tile && a->pass[p].weighs == b->pass[p].weighs &&
                memcmp(a->pass[p].tiles, b->pass[p].tiles, (size_t)n * sizeof(tess_tile_sum)) == 0;
    }
    return alike;
}

// Takes a model's operators, those from `first` on, and gives each its place in the scratch.
static void place_cells(tess_de_hmm *hmm, int64_t first, tess_hmm_model *m)
{
    int64_t at = tess_hmm_cells_at(m->n_bin, m->n_ll, m->n_state);
    m->forward = hmm->forward + first;
    m->backward = hmm->backward + first;
    for (int64_t k = first; k < first + m->n_operator; k++) {
        tess_hmm_operator *directions[2] = {&hmm->forward[k], &hmm->backward[k]};
        hmm->forward[k] = hmm->operators[k].forward;
        hmm->backward[k] = hmm->operators[k].backward;
        const int n_own = are_alike(directions[0], directions[1]) ? 1 : 2;
        directions[1]->scratch = at;
        for (int d = 0; d < n_own; d++) {
            directions[d]->scratch = at;
            at += (directions[d]->n_pass + 1) * ((directions[d]->n_cell + 7) / 8 * 8);
        }
    }
    m->n_scratch = at;
}

// Products of a movement for each number that they end as, from which on it pays to keep that.
static const int64_t PRODUCTS_TO_KEEP = 32;

static int64_t count_forecast(const tess_hmm_model *m)
{
    int64_t products = 0;
    for (int32_t k = 0; k < m->n_operator; k++) {
        const tess_hmm_operator *op = &m->forward[k];
        for (int32_t p = 0; p < op->n_pass; p++) {
            for (int64_t i = 0; i < op->pass[p].n_tile; i++) {
                const tess_tile_sum *tile = &op->pass[p].tiles[i];
                products += (int64_t)tile->n_term * tile->n_row * tile->n;
            }
        }
    }
    return products >= PRODUCTS_TO_KEEP * tess_hmm_forecast_bins(m) ? tess_hmm_forecast_width(m)
                                                                    : 0;
}

static tess_status take_description(tess_context *ctx, tess_de_hmm *hmm,
                                    const tess_de_hmm_desc *desc)
{
    const int32_t n_state = desc->n_state;
    const int64_t n_pair = (int64_t)n_state * n_state;
    tess_blocks *blocks = &hmm->blocks;
    hmm->first = tess_blocks_alloc(blocks, n_state + 1, sizeof *hmm->first, "states");
    hmm->ll_first =
        tess_blocks_copy(blocks, desc->ll_first, n_state, sizeof *hmm->ll_first, "states");
    hmm->link = tess_blocks_alloc(blocks, n_pair, sizeof *hmm->link, "states");
    hmm->enters_evenly = tess_blocks_alloc(blocks, n_state, 1, "states");
    hmm->leaves_evenly = tess_blocks_alloc(blocks, n_state, 1, "states");
    hmm->operators = tess_blocks_alloc(blocks, 2 * n_pair, sizeof *hmm->operators, "states");
    hmm->forward = tess_blocks_alloc(blocks, 2 * n_pair, sizeof *hmm->forward, "states");
    hmm->backward = tess_blocks_alloc(blocks, 2 * n_pair, sizeof *hmm->backward, "states");
    hmm->there = tess_blocks_alloc(blocks, 1, sizeof *hmm->there, "states");
    hmm->guesses = tess_blocks_alloc(blocks, 2, sizeof *hmm->guesses, "states");
    if (!hmm->there || !hmm->guesses || !hmm->first || !hmm->ll_first || !hmm->link ||
        !hmm->enters_evenly || !hmm->leaves_evenly || !hmm->operators || !hmm->forward ||
        !hmm->backward) {
        return TESS_E_MEMORY;
    }
    for (int32_t i = 0; i < n_state; i++) {
        hmm->first[i + 1] = hmm->first[i] + bins_of(desc->env[i]);
    }
    hmm->model = (tess_hmm_model){.n_state = n_state,
                                  .n_bin = hmm->first[n_state],
                                  .n_ll = desc->n_ll,
                                  .first = hmm->first,
                                  .ll_first = hmm->ll_first,
                                  .link = hmm->link,
                                  .enters_evenly = hmm->enters_evenly,
                                  .leaves_evenly = hmm->leaves_evenly};
    for (int32_t i = 0; i < n_state; i++) {
        for (int32_t j = 0; j < n_state; j++) {
            TESS_TRY(link_states(ctx, hmm, desc, i, j));
        }
    }
    mark_even(hmm);
    hmm->plain = hmm->model;
    place_cells(hmm, 0, &hmm->model);
    place_cells(hmm, n_pair, &hmm->plain);
    hmm->n_forecast = count_forecast(&hmm->model);
    return TESS_OK;
}

tess_status tess_de_hmm_create(tess_context *ctx, const tess_de_hmm_desc *desc, tess_de_hmm **out)
{
    *out = NULL;
    tess_de_hmm *hmm =
        tess_heap_alloc_zero(&ctx->heap, sizeof *hmm, TESS_TAG_RESULT, "hidden Markov model");
    if (!hmm) {
        return TESS_E_MEMORY;
    }
    hmm->is_exact = desc->exact;
    tess_blocks_init(&hmm->blocks, &ctx->heap);
    const tess_status status = take_description(ctx, hmm, desc);
    if (status != TESS_OK) {
        tess_de_hmm_destroy(hmm);
        return status;
    }
    *out = hmm;
    return TESS_OK;
}

void tess_de_hmm_destroy(tess_de_hmm *hmm)
{
    if (!hmm) {
        return;
    }
    tess_heap *heap = hmm->blocks.heap;
    tess_de_hmm_there_free(hmm->there ? atomic_exchange(hmm->there, NULL) : NULL);
    tess_blocks_free(&hmm->blocks);
    tess_heap_free(heap, hmm, sizeof *hmm, TESS_TAG_RESULT);
}

const int32_t tess_de_hmm_stages[2] = {TESS_STAGE_DECODE_HMM_FILTER, TESS_STAGE_DECODE_HMM_SMOOTH};

tess_device *tess_de_states_device(tess_context *ctx, const int32_t *stages, int64_t n_stage)
{
    tess_device *device = ctx->device->shares_host_memory ? ctx->device : &ctx->cpu;
    for (int64_t i = 0; i < n_stage; i++) {
        if (device->backend->supports(device->handle, stages[i], NULL) != TESS_OK) {
            tess_error_clear();
            return &ctx->cpu;
        }
    }
    return device;
}

// Fewer values than this are there before a GPU has begun. A row takes one block of its threads
// four to seven times as long as a core, and a run goes through hundreds of rows for its guess:
// with fewer rows than this there are not enough runs to make up for that.
static const int64_t VALUES_THAT_PAY = 2 << 20;
static const int64_t ROWS_THAT_PAY = 4096;

tess_device *tess_de_rows_device(tess_context *ctx, const tess_de_hmm *hmm, int64_t n_row)
{
    tess_device *device = ctx->device;
    const tess_stage_decode_hmm_filter filter = {.model = &hmm->plain};
    const tess_stage_decode_hmm_smooth smooth = {.model = &hmm->plain};
    if (!device->shares_host_memory && n_row >= ROWS_THAT_PAY &&
        n_row >= VALUES_THAT_PAY / hmm->model.n_bin &&
        device->backend->supports(device->handle, TESS_STAGE_DECODE_HMM_FILTER, &filter) ==
            TESS_OK &&
        device->backend->supports(device->handle, TESS_STAGE_DECODE_HMM_SMOOTH, &smooth) ==
            TESS_OK) {
        return device;
    }
    tess_error_clear();
    return tess_de_states_device(ctx, tess_de_hmm_stages, 2);
}

// Rows of a stage that are run at once: a cancelled call should not take seconds to end.
static const int64_t ROWS_AT_ONCE = 4096;

int64_t tess_de_hmm_bins(const tess_de_hmm *hmm)
{
    return hmm->model.n_bin;
}

size_t tess_de_hmm_scratch_bytes(const tess_de_hmm *hmm)
{
    return (size_t)hmm->model.n_scratch * sizeof(double);
}

size_t tess_de_hmm_room_bytes(const tess_de_hmm *hmm)
{
    const tess_hmm_model *m = &hmm->model;
    return (size_t)((1 + TESS_HMM_LANES) * m->n_scratch + tess_hmm_ahead_items(m, ROWS_AT_ONCE) +
                    ROWS_AT_ONCE) *
           sizeof(double);
}

int64_t tess_de_hmm_forecast_items(const tess_de_hmm *hmm)
{
    return hmm->n_forecast;
}

static double *forecasts_of(const tess_de_hmm *hmm, const tess_de_hmm_chunk *chunk, int64_t row)
{
    return chunk->forecasts ? chunk->forecasts + row * tess_hmm_forecast_width(&hmm->model) : NULL;
}

// Bytes before a row.
static size_t bytes_to(int32_t dtype, int64_t width, int64_t row)
{
    return (size_t)(row * width) * tess_dtype_bytes((tess_dtype)dtype);
}

void tess_de_hmm_note_rows(const double *log_norm, int64_t n_row, tess_de_hmm_carry *carry)
{
    for (int64_t t = 0; t < n_row; t++) {
        carry->log_evidence += log_norm[t];
        if (log_norm[t] == -(double)INFINITY) {
            carry->first_impossible =
                carry->n_impossible == 0 ? carry->n_row + t : carry->first_impossible;
            carry->n_impossible++;
        }
    }
    carry->n_row += n_row;
}

// What the stages work in, for one call.
typedef struct stage_room {
    double *scratch;
    double *ahead;
    double *lanes;    // NULL: of the smoother only
    double *log_norm; // [ROWS_AT_ONCE]; NULL: of the filter only
} stage_room;

static tess_status filter_rows(tess_device *device, const tess_de_hmm *hmm,
                               const tess_de_hmm_chunk *chunk, int64_t first, int64_t n_row,
                               const stage_room *room, tess_de_hmm_carry *carry)
{
    const tess_hmm_model *m = &hmm->model;
    const int64_t states = first * m->n_state;
    const size_t bins = bytes_to(chunk->dtype, m->n_bin, first);
    const tess_stage_decode_hmm_filter args = {
        .model = m,
        .scratch = room->scratch,
        .n_row = n_row,
        .ll = (const char *)chunk->ll + bytes_to(chunk->ll_dtype, m->n_ll, first),
        .ll_dtype = chunk->ll_dtype,
        .dtype = chunk->dtype,
        .transition = chunk->transition + first * chunk->transition_stride,
        .transition_stride = chunk->transition_stride,
        .predicted = carry->predicted,
        .filtered = (char *)chunk->filtered + bins,
        .predicted_rows = chunk->predicted ? (char *)chunk->predicted + bins : NULL,
        .causal_states = chunk->causal_states ? chunk->causal_states + states : NULL,
        .predictive_states = chunk->predictive_states ? chunk->predictive_states + states : NULL,
        .log_norm = room->log_norm,
        .ahead = room->ahead,
        .forecasts = forecasts_of(hmm, chunk, first)};
    TESS_TRY(tess_stage_run(device, TESS_STAGE_DECODE_HMM_FILTER, &args, sizeof args));
    tess_de_hmm_note_rows(room->log_norm, n_row, carry);
    return TESS_OK;
}

static tess_status filter_there(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                const tess_de_hmm_chunk *chunk, tess_de_hmm_carry *carry)
{
    const tess_de_hmm_part all = {.n_row = chunk->n_row};
    const size_t bytes = (size_t)chunk->n_row * sizeof(double);
    double *log_norm = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "filter");
    if (!log_norm) {
        return TESS_E_MEMORY;
    }
    const tess_status status = tess_de_hmm_filter_there(ctx, device, hmm, chunk, &all, 1, NULL,
                                                        log_norm, carry->predicted);
    if (status == TESS_OK) {
        tess_de_hmm_note_rows(log_norm, chunk->n_row, carry);
    }
    tess_heap_free(&ctx->heap, log_norm, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_hmm_filter(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                               const tess_de_hmm_chunk *chunk, tess_de_hmm_carry *carry)
{
    if (!device->shares_host_memory) {
        return filter_there(ctx, device, hmm, chunk, carry);
    }
    tess_blocks temporary;
    tess_blocks_init(&temporary, &ctx->heap);
    const tess_hmm_model *m = &hmm->model;
    const stage_room room = {
        .scratch = tess_blocks_alloc(&temporary, m->n_scratch, sizeof(double), "filter"),
        .ahead = tess_blocks_alloc_raw(&temporary, tess_hmm_ahead_items(m, chunk->n_row),
                                       sizeof(double), "filter"),
        .log_norm = tess_blocks_alloc(&temporary, ROWS_AT_ONCE, sizeof(double), "filter")};
    tess_status status = room.scratch && room.ahead && room.log_norm ? TESS_OK : TESS_E_MEMORY;
    for (int64_t first = 0; status == TESS_OK && first < chunk->n_row; first += ROWS_AT_ONCE) {
        const int64_t left = chunk->n_row - first;
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = filter_rows(device, hmm, chunk, first,
                                 left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, &room, carry);
        }
    }
    tess_blocks_free(&temporary);
    return status;
}

tess_status tess_de_hmm_smooth(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                               const tess_de_hmm_chunk *chunk, int is_last, double *next)
{
    if (!device->shares_host_memory) {
        const tess_de_hmm_part all = {.n_row = chunk->n_row, .is_end = is_last};
        return tess_de_hmm_smooth_there(ctx, device, hmm, chunk, &all, 1, next);
    }
    const tess_hmm_model *m = &hmm->model;
    const int64_t n_thread = tess_pool_threads(ctx->pool);
    const int64_t n_lane = n_thread < TESS_HMM_LANES ? n_thread : TESS_HMM_LANES;
    tess_blocks temporary;
    tess_blocks_init(&temporary, &ctx->heap);
    const stage_room room = {
        .scratch = tess_blocks_alloc(&temporary, m->n_scratch, sizeof(double), "smoother"),
        .ahead = tess_blocks_alloc_raw(&temporary, tess_hmm_ahead_items(m, chunk->n_row),
                                       sizeof(double), "smoother"),
        .lanes = tess_blocks_alloc(&temporary, n_lane * m->n_scratch, sizeof(double), "smoother")};
    tess_status status = room.scratch && room.ahead && room.lanes ? TESS_OK : TESS_E_MEMORY;
    for (int64_t end = chunk->n_row; status == TESS_OK && end > 0;) {
        const int64_t first = end > ROWS_AT_ONCE ? end - ROWS_AT_ONCE : 0;
        const tess_stage_decode_hmm_smooth args = {
            .model = m,
            .scratch = room.scratch,
            .n_row = end - first,
            .dtype = chunk->dtype,
            .is_last = is_last && end == chunk->n_row,
            .transition = chunk->transition + first * chunk->transition_stride,
            .transition_stride = chunk->transition_stride,
            .filtered = (char *)chunk->filtered + bytes_to(chunk->dtype, m->n_bin, first),
            .next = next,
            .acausal_states =
                chunk->acausal_states ? chunk->acausal_states + first * m->n_state : NULL,
            .ahead = room.ahead,
            .lanes = room.lanes,
            .n_lane = n_lane,
            .forecasts = forecasts_of(hmm, chunk, first)};
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = tess_stage_run(device, TESS_STAGE_DECODE_HMM_SMOOTH, &args, sizeof args);
        }
        end = first;
    }
    tess_blocks_free(&temporary);
    return status;
}

double tess_de_hmm_step(tess_device *device, const tess_de_hmm *hmm, const double *transition,
                        const float *ll, double *predicted, double *filtered, double *states,
                        void *scratch)
{
    double log_norm = 0;
    const tess_stage_decode_hmm_filter args = {.model = &hmm->model,
                                               .scratch = scratch,
                                               .n_row = 1,
                                               .ll = ll,
                                               .ll_dtype = TESS_F32,
                                               .dtype = TESS_F64,
                                               .transition = transition,
                                               .predicted = predicted,
                                               .filtered = filtered,
                                               .causal_states = states,
                                               .log_norm = &log_norm};
    const tess_status status =
        tess_stage_run(device, TESS_STAGE_DECODE_HMM_FILTER, &args, sizeof args);
    return status == TESS_OK ? log_norm : (double)NAN;
}
