// The most likely path.
//
// Backwards, the score of a bin is the best log probability of all that can follow; forwards, the
// path takes the best next bin, the lowest of equals. Scores of all rows are kept if they fit the
// memory limit, else those of every block's end, and a block's are computed again on the way.
#include "base/status.h"
#include "systems/decode/states/hmm_model.h"

#include <math.h>
#include <string.h>

// Most bytes for scores: a part of what the context may use.
static const uint64_t SHARE_OF_LIMIT = 4;

typedef struct path_job {
    tess_context *ctx;
    tess_device *device;
    const tess_de_hmm *hmm;
    const tess_de_hmm_chunk *chunk;
    tess_hmm_model model; // with logarithms
    tess_hmm_operator *forward;
    tess_hmm_operator *backward;
    tess_blocks blocks;
    double *scratch;
    double *transition; // logarithms, [1 or n_row][S][S]
    double *scores;     // [block_rows][N_s]
    double *ends;       // [n_block][N_s]: scores of each block's first row
    int64_t block_rows;
    int64_t n_block;
} path_job;

static double *logs_of(tess_blocks *blocks, const double *x, int64_t n)
{
    double *y = tess_blocks_alloc(blocks, n, sizeof *y, "most likely path");
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
static tess_status take_logs(path_job *job)
{
    const tess_hmm_model *m = &job->hmm->model;
    const tess_de_hmm_chunk *chunk = job->chunk;
    const int64_t n_pair = (int64_t)m->n_state * m->n_state;
    job->model = *m;
    job->forward = tess_blocks_copy(&job->blocks, m->forward, m->n_operator, sizeof *job->forward,
                                    "most likely path");
    job->backward = tess_blocks_copy(&job->blocks, m->backward, m->n_operator,
                                     sizeof *job->backward, "most likely path");
    job->scratch =
        tess_blocks_alloc(&job->blocks, m->n_scratch, sizeof(double), "most likely path");
    const int64_t n_row = chunk->transition_stride == 0 ? 1 : chunk->n_row;
    job->transition =
        tess_blocks_alloc(&job->blocks, n_row * n_pair, sizeof(double), "most likely path");
    if (!job->forward || !job->backward || !job->scratch || !job->transition) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < m->n_scratch; i++) {
        job->scratch[i] = -(double)INFINITY;
    }
    for (int64_t i = 0; i < n_row * n_pair; i++) {
        const int64_t row = i / n_pair;
        job->transition[i] = log(chunk->transition[row * chunk->transition_stride + i % n_pair]);
    }
    for (int32_t k = 0; k < m->n_operator; k++) {
        TESS_TRY(take_operator_logs(&job->blocks, &job->forward[k]));
        TESS_TRY(take_operator_logs(&job->blocks, &job->backward[k]));
    }
    job->model.forward = job->forward;
    job->model.backward = job->backward;
    return TESS_OK;
}

// Blocks of all rows, or of the square root of their number.
static tess_status take_scores(path_job *job)
{
    const int64_t n_row = job->chunk->n_row;
    const int64_t n_bin = job->model.n_bin;
    const uint64_t limit = job->ctx->memory_limit_bytes / SHARE_OF_LIMIT;
    job->block_rows = n_row;
    if ((double)n_row * (double)n_bin * sizeof(double) > (double)limit) {
        job->block_rows = (int64_t)ceil(sqrt((double)n_row));
    }
    job->n_block = (n_row + job->block_rows - 1) / job->block_rows;
    job->scores = tess_blocks_alloc(&job->blocks, job->block_rows * n_bin, sizeof(double),
                                    "scores of the most likely path");
    job->ends = tess_blocks_alloc(&job->blocks, (job->n_block + 1) * n_bin, sizeof(double),
                                  "scores of the most likely path");
    return job->scores && job->ends ? TESS_OK : TESS_E_MEMORY;
}

// Scores of a block's rows; only its first row's if scores is NULL.
static tess_status score_block(path_job *job, int64_t block, double *scores)
{
    const tess_de_hmm_chunk *chunk = job->chunk;
    const tess_hmm_model *m = &job->model;
    const int64_t first = block * job->block_rows;
    const int64_t left = chunk->n_row - first;
    int64_t n_row = left < job->block_rows ? left : job->block_rows;
    const double *next = job->ends + (block + 1) * m->n_bin;
    double *end = job->ends + block * m->n_bin;
    if (block == job->n_block - 1) {
        n_row--; // nothing follows the last row: its scores are 0
        next = job->ends + job->n_block * m->n_bin;
        if (scores) {
            memset(scores + n_row * m->n_bin, 0, (size_t)m->n_bin * sizeof *scores);
        }
        memset(end, 0, (size_t)m->n_bin * sizeof *end);
    }
    const int64_t n_pair = (int64_t)m->n_state * m->n_state;
    const int64_t stride = chunk->transition_stride == 0 ? 0 : n_pair;
    const size_t row_bytes = (size_t)m->n_ll * tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    const tess_stage_decode_hmm_scores args = {.model = m,
                                               .scratch = job->scratch,
                                               .n_row = n_row,
                                               .ll = (const char *)chunk->ll +
                                                     (size_t)first * row_bytes,
                                               .ll_dtype = chunk->ll_dtype,
                                               .transition = job->transition + first * stride,
                                               .transition_stride = stride,
                                               .next = next,
                                               .scores = scores,
                                               .first = end};
    TESS_TRY(tess_context_check_cancel(job->ctx));
    return tess_stage_run(job->device, TESS_STAGE_DECODE_HMM_SCORES, &args, sizeof args);
}

// Follows the best next bins through a block; *at is the bin of the row before it.
static tess_status trace_block(const path_job *job, int64_t block, int64_t *at, int64_t *path)
{
    const tess_de_hmm_chunk *chunk = job->chunk;
    const tess_hmm_model *m = &job->model;
    const int64_t begin = block * job->block_rows;
    const int64_t end =
        begin + job->block_rows < chunk->n_row ? begin + job->block_rows : chunk->n_row;
    const int64_t first = block == 0 ? 1 : begin; // row 0 has nothing before it
    const int64_t stride = chunk->transition_stride == 0 ? 0 : (int64_t)m->n_state * m->n_state;
    const size_t row_bytes = (size_t)m->n_ll * tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    const tess_stage_decode_hmm_trace args = {.model = m,
                                              .scratch = job->scratch,
                                              .n_row = end - first,
                                              .ll = (const char *)chunk->ll +
                                                    (size_t)first * row_bytes,
                                              .ll_dtype = chunk->ll_dtype,
                                              .transition = job->transition + (first - 1) * stride,
                                              .transition_stride = stride,
                                              .scores = job->scores + (first - begin) * m->n_bin,
                                              .from = *at,
                                              .path = path + first};
    TESS_TRY(tess_stage_run(job->device, TESS_STAGE_DECODE_HMM_TRACE, &args, sizeof args));
    *at = path[end - 1];
    return TESS_OK;
}

static double ll_at(const path_job *job, int64_t column)
{
    return job->chunk->ll_dtype == TESS_F32 ? (double)((const float *)job->chunk->ll)[column]
                                            : ((const double *)job->chunk->ll)[column];
}

// The bin of row 0, given its scores.
static int64_t best_start(const path_job *job, const double *initial)
{
    const tess_hmm_model *m = &job->model;
    int64_t best = 0;
    double most = -(double)INFINITY;
    for (int32_t s = 0; s < m->n_state; s++) {
        for (int64_t i = m->first[s]; i < m->first[s + 1]; i++) {
            const double ll = ll_at(job, m->ll_first[s] + i - m->first[s]);
            const double value = log(initial[i]) + ll + job->scores[i];
            if (value > most) {
                most = value;
                best = i;
            }
        }
    }
    return best;
}

static tess_status find_path(path_job *job, const double *initial, int64_t *path)
{
    TESS_TRY(take_logs(job));
    TESS_TRY(take_scores(job));
    for (int64_t block = job->n_block - 1; block > 0; block--) {
        TESS_TRY(score_block(job, block, NULL));
    }
    int64_t at = 0;
    for (int64_t block = 0; block < job->n_block; block++) {
        TESS_TRY(score_block(job, block, job->scores));
        if (block == 0) {
            at = path[0] = best_start(job, initial);
        }
        TESS_TRY(trace_block(job, block, &at, path));
    }
    return TESS_OK;
}

const int32_t tess_de_hmm_path_stages[2] = {TESS_STAGE_DECODE_HMM_SCORES,
                                            TESS_STAGE_DECODE_HMM_TRACE};

tess_status tess_de_hmm_path(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                             const tess_de_hmm_chunk *chunk, const double *initial, int64_t *path)
{
    if (chunk->n_row == 0) {
        return TESS_OK;
    }
    path_job job = {.ctx = ctx, .device = device, .hmm = hmm, .chunk = chunk};
    tess_blocks_init(&job.blocks, &ctx->heap);
    const tess_status status = find_path(&job, initial, path);
    tess_blocks_free(&job.blocks);
    return status;
}
