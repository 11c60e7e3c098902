#include "systems/decode/states/path.h"

#include "base/status.h"
#include "systems/decode/states/hmm_model.h"

#include <math.h>
#include <string.h>

static const char WHAT[] = "most likely path";
// Rows of a stage that are run at once: a cancelled call should not take seconds to end.
enum { ROWS_AT_ONCE = 4096 };

struct tess_de_path {
    tess_context *ctx;
    tess_device *device;
    tess_hmm_model model; // with logarithms
    tess_hmm_operator *forward;
    tess_hmm_operator *backward;
    double *scratch;
    double *next;       // [N_s]
    double *transition; // [ROWS_AT_ONCE][S][S] logarithms
    tess_blocks blocks;
};

static double *logs_of(tess_blocks *blocks, const double *x, int64_t n)
{
    double *y = tess_blocks_alloc(blocks, n, sizeof *y, WHAT);
    for (int64_t i = 0; y && i < n; i++) {
        y[i] = log(x[i]);
    }
    return y;
}

static tess_status take_operator_logs(tess_blocks *blocks, tess_hmm_operator *op)
{
    op->table = logs_of(blocks, op->table, op->n_table);
    if (!op->table) {
        return TESS_E_MEMORY;
    }
    if (op->before) {
        op->before = logs_of(blocks, op->before, op->n_in);
        return op->before ? TESS_OK : TESS_E_MEMORY;
    }
    if (op->after) {
        op->after = logs_of(blocks, op->after, op->n_out);
        return op->after ? TESS_OK : TESS_E_MEMORY;
    }
    return TESS_OK;
}

// The model with the logarithms of everything that is multiplied.
static tess_status take_logs(tess_de_path *p, const tess_de_hmm *hmm)
{
    const tess_hmm_model *m = &hmm->plain;
    tess_blocks *blocks = &p->blocks;
    p->model = *m;
    p->forward = tess_blocks_copy(blocks, m->forward, m->n_operator, sizeof *p->forward, WHAT);
    p->backward = tess_blocks_copy(blocks, m->backward, m->n_operator, sizeof *p->backward, WHAT);
    p->scratch = tess_blocks_alloc(blocks, m->n_scratch, sizeof(double), WHAT);
    p->next = tess_blocks_alloc(blocks, m->n_bin, sizeof(double), WHAT);
    p->transition = tess_blocks_alloc(blocks, (int64_t)ROWS_AT_ONCE * m->n_state * m->n_state,
                                      sizeof(double), WHAT);
    if (!p->forward || !p->backward || !p->scratch || !p->next || !p->transition) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < m->n_scratch; i++) {
        p->scratch[i] = -(double)INFINITY;
    }
    for (int32_t k = 0; k < m->n_operator; k++) {
        TESS_TRY(take_operator_logs(blocks, &p->forward[k]));
        TESS_TRY(take_operator_logs(blocks, &p->backward[k]));
    }
    p->model.forward = p->forward;
    p->model.backward = p->backward;
    return TESS_OK;
}

tess_status tess_de_path_create(tess_context *ctx, const tess_de_hmm *hmm, tess_de_path **out)
{
    static const int32_t stages[] = {TESS_STAGE_DECODE_HMM_SCORES, TESS_STAGE_DECODE_HMM_TRACE};
    *out = NULL;
    tess_de_path *path = tess_heap_alloc_zero(&ctx->heap, sizeof *path, TESS_TAG_PLAN, WHAT);
    if (!path) {
        return TESS_E_MEMORY;
    }
    path->ctx = ctx;
    path->device = tess_de_states_device(ctx, stages, 2);
    tess_blocks_init(&path->blocks, &ctx->heap);
    const tess_status status = take_logs(path, hmm);
    if (status != TESS_OK) {
        tess_de_path_destroy(path);
        return status;
    }
    *out = path;
    return TESS_OK;
}

void tess_de_path_destroy(tess_de_path *path)
{
    if (path) {
        tess_blocks_free(&path->blocks);
        tess_heap_free(&path->ctx->heap, path, sizeof *path, TESS_TAG_PLAN);
    }
}

const tess_hmm_model *tess_de_path_model(const tess_de_path *path)
{
    return &path->model;
}

size_t tess_de_path_bytes(const tess_de_hmm *hmm)
{
    const tess_hmm_model *m = &hmm->plain;
    int64_t n = m->n_scratch + m->n_bin + (int64_t)ROWS_AT_ONCE * m->n_state * m->n_state;
    for (int32_t k = 0; k < m->n_operator; k++) {
        n += m->forward[k].n_table + m->backward[k].n_table + 2 * (m->forward[k].n_in + m->n_bin);
    }
    return (size_t)n * sizeof(double);
}

// Logarithms of rows of transitions; *stride is that of the chunk.
static const double *logs_of_rows(tess_de_path *p, const tess_de_hmm_chunk *chunk, int64_t first,
                                  int64_t n_row, int64_t *stride)
{
    const int64_t n_pair = (int64_t)p->model.n_state * p->model.n_state;
    *stride = chunk->transition_stride == 0 ? 0 : n_pair;
    for (int64_t t = 0; t < (*stride == 0 ? 1 : n_row); t++) {
        const double *row = chunk->transition + (first + t) * chunk->transition_stride;
        for (int64_t i = 0; i < n_pair; i++) {
            p->transition[t * n_pair + i] = log(row[i]);
        }
    }
    return p->transition;
}

static const void *ll_row(const tess_de_path *p, const tess_de_hmm_chunk *chunk, int64_t row)
{
    const size_t item = tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    return (const char *)chunk->ll + (size_t)(row * p->model.n_ll) * item;
}

tess_status tess_de_path_scores(tess_de_path *path, const tess_de_hmm_chunk *chunk,
                                const double *next, double *scores, double *first)
{
    const int64_t n_bin = path->model.n_bin;
    const size_t bytes = (size_t)n_bin * sizeof *first;
    int64_t end = chunk->n_row;
    if (next) {
        memcpy(path->next, next, bytes);
    } else { // the last row is followed by nothing, which is certain
        memset(path->next, 0, bytes);
        end--;
        if (scores) {
            memset(scores + end * n_bin, 0, bytes);
        }
    }
    while (end > 0) {
        const int64_t begin = end > ROWS_AT_ONCE ? end - ROWS_AT_ONCE : 0;
        int64_t stride;
        const double *transition = logs_of_rows(path, chunk, begin, end - begin, &stride);
        const tess_stage_decode_hmm_scores args = {.model = &path->model,
                                                   .scratch = path->scratch,
                                                   .n_row = end - begin,
                                                   .ll = ll_row(path, chunk, begin),
                                                   .ll_dtype = chunk->ll_dtype,
                                                   .transition = transition,
                                                   .transition_stride = stride,
                                                   .next = path->next,
                                                   .scores = scores ? scores + begin * n_bin : NULL,
                                                   .first = first};
        TESS_TRY(tess_context_check_cancel(path->ctx));
        TESS_TRY(tess_stage_run(path->device, TESS_STAGE_DECODE_HMM_SCORES, &args, sizeof args));
        memcpy(path->next, first, bytes);
        end = begin;
    }
    memcpy(first, path->next, bytes);
    return TESS_OK;
}

static double ll_at(const tess_de_hmm_chunk *chunk, int64_t column)
{
    return chunk->ll_dtype == TESS_F32 ? (double)((const float *)chunk->ll)[column]
                                       : ((const double *)chunk->ll)[column];
}

// The bin of the first row of all, given its scores.
static int64_t best_start(const tess_de_path *p, const tess_de_hmm_chunk *chunk,
                          const double *scores, const double *initial)
{
    const tess_hmm_model *m = &p->model;
    int64_t best = 0;
    double most = -(double)INFINITY;
    for (int32_t s = 0; s < m->n_state; s++) {
        for (int64_t i = m->first[s]; i < m->first[s + 1]; i++) {
            const double ll = ll_at(chunk, m->ll_first[s] + i - m->first[s]);
            const double value = log(initial[i]) + ll + scores[i];
            if (value > most) {
                most = value;
                best = i;
            }
        }
    }
    return best;
}

tess_status tess_de_path_trace(tess_de_path *path, const tess_de_hmm_chunk *chunk,
                               const double *scores, const double *initial, int64_t from,
                               int64_t *bins)
{
    int64_t first = 0;
    if (from < 0) {
        from = bins[0] = best_start(path, chunk, scores, initial);
        first = 1;
    }
    while (first < chunk->n_row) {
        const int64_t left = chunk->n_row - first;
        const int64_t n_row = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        int64_t stride;
        const double *transition = logs_of_rows(path, chunk, first, n_row, &stride);
        const tess_stage_decode_hmm_trace args = {.model = &path->model,
                                                  .scratch = path->scratch,
                                                  .n_row = n_row,
                                                  .ll = ll_row(path, chunk, first),
                                                  .ll_dtype = chunk->ll_dtype,
                                                  .transition = transition,
                                                  .transition_stride = stride,
                                                  .scores = scores + first * path->model.n_bin,
                                                  .from = from,
                                                  .path = bins + first};
        TESS_TRY(tess_context_check_cancel(path->ctx));
        TESS_TRY(tess_stage_run(path->device, TESS_STAGE_DECODE_HMM_TRACE, &args, sizeof args));
        first += n_row;
        from = bins[first - 1];
    }
    return TESS_OK;
}
