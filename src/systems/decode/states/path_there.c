#include "systems/decode/states/path_there.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "systems/decode/states/hmm_there.h"

#include <math.h>

static const char WHAT[] = "most likely paths";
static const int64_t MOST_RUNS = 4096; // at once

struct tess_de_path_there {
    tess_context *ctx;
    tess_de_hmm_there *model;
    tess_resident initial;
    tess_resident share;
    tess_resident path;
    tess_blocks blocks;
};

// Logarithms of n values, to the device.
static tess_status send_logs(tess_de_path_there *p, const double *values, int64_t n, double sign,
                             tess_resident *out)
{
    double *logs = tess_blocks_alloc(&p->blocks, n, sizeof *logs, WHAT);
    if (!logs) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        logs[i] = sign * log(values[i]);
    }
    return tess_resident_from(p->model->device, logs, (size_t)n * sizeof *logs, out);
}

static tess_status send_all(tess_de_path_there *p, const tess_hmm_model *m, const double *initial)
{
    double *widths = tess_blocks_alloc(&p->blocks, m->n_state, sizeof *widths, WHAT);
    if (!widths) {
        return TESS_E_MEMORY;
    }
    for (int32_t s = 0; s < m->n_state; s++) {
        widths[s] = (double)(m->first[s + 1] - m->first[s]);
    }
    TESS_TRY(tess_de_hmm_there_make(p->ctx, p->ctx->device, m, &p->model));
    TESS_TRY(send_logs(p, initial, m->n_bin, 1, &p->initial));
    TESS_TRY(send_logs(p, widths, m->n_state, -1, &p->share));
    return tess_stage_finish(p->model->device); // what was sent is not read any more
}

tess_status tess_de_path_there_make(tess_context *ctx, const tess_de_path *path,
                                    const double *initial, tess_de_path_there **out)
{
    const tess_hmm_model *m = tess_de_path_model(path);
    const tess_stage_decode_hmm_paths args = {.model = m};
    *out = NULL;
    if (ctx->device->shares_host_memory ||
        ctx->device->backend->supports(ctx->device->handle, TESS_STAGE_DECODE_HMM_PATHS, &args) !=
            TESS_OK) {
        tess_error_clear();
        return TESS_OK;
    }
    tess_de_path_there *p = tess_heap_alloc_zero(&ctx->heap, sizeof *p, TESS_TAG_PLAN, WHAT);
    if (!p) {
        return TESS_E_MEMORY;
    }
    p->ctx = ctx;
    tess_blocks_init(&p->blocks, &ctx->heap);
    const tess_status status = send_all(p, m, initial);
    if (status != TESS_OK) {
        tess_de_path_there_free(p);
        return status;
    }
    *out = p;
    return TESS_OK;
}

void tess_de_path_there_free(tess_de_path_there *there)
{
    if (there) {
        tess_resident_free(&there->initial);
        tess_resident_free(&there->share);
        tess_resident_free(&there->path);
        tess_de_hmm_there_free(there->model);
        tess_blocks_free(&there->blocks);
        tess_heap_free(&there->ctx->heap, there, sizeof *there, TESS_TAG_PLAN);
    }
}

// Sequences from i on that are found at once: as many as there is room for, one at least.
static int64_t count_at_once(const tess_de_path_there *p, const tess_de_hmm_chunk *chunk,
                             const int64_t *first, int64_t i, int64_t n)
{
    const tess_hmm_model *m = &p->model->model;
    const uint64_t row = (uint64_t)(m->n_bin + 1 + (int64_t)m->n_state * m->n_state) * 8 +
                         (uint64_t)m->n_ll * tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    const uint64_t run = (uint64_t)m->n_scratch * sizeof(double) + sizeof(tess_hmm_run);
    const uint64_t room = tess_device_left(p->model->device) / 2;
    int64_t end = i + 1;
    while (end < n && end - i < MOST_RUNS &&
           (uint64_t)(first[end + 1] - first[i]) * row + (uint64_t)(end + 1 - i) * run <= room) {
        end++;
    }
    return end - i;
}

// Rows of transitions as logarithms, and what each sequence is, to the device.
static tess_status send_rows(tess_de_path_there *p, const tess_de_hmm_chunk *chunk,
                             const int64_t *first, int64_t n, tess_blocks *blocks)
{
    tess_de_hmm_there *there = p->model;
    const int64_t n_pair = (int64_t)there->model.n_state * there->model.n_state;
    const int64_t n_log = chunk->transition_stride == 0 ? n_pair : (first[n] - first[0]) * n_pair;
    const double *from = chunk->transition + first[0] * chunk->transition_stride;
    double *logs = tess_blocks_alloc(blocks, n_log, sizeof *logs, WHAT);
    tess_hmm_run *runs = tess_blocks_alloc(blocks, n, sizeof *runs, WHAT);
    if (!logs || !runs) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_log; i++) {
        logs[i] = log(from[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        runs[i] = (tess_hmm_run){.first = first[i] - first[0], .n_row = first[i + 1] - first[i]};
    }
    TESS_TRY(tess_de_hmm_there_room(there, &there->transition, (size_t)n_log * sizeof *logs));
    TESS_TRY(tess_resident_put(&there->transition, 0, logs, (size_t)n_log * sizeof *logs));
    TESS_TRY(tess_de_hmm_there_room(there, &there->runs, (size_t)n * sizeof *runs));
    return tess_resident_put(&there->runs, 0, runs, (size_t)n * sizeof *runs);
}

// Some sequences of a chunk.
static tess_status find_some(tess_de_path_there *p, const tess_de_hmm_chunk *chunk,
                             const int64_t *first, int64_t n, tess_blocks *blocks, int64_t *bins)
{
    tess_de_hmm_there *there = p->model;
    const tess_hmm_model *m = &there->model;
    const int64_t n_row = first[n] - first[0];
    const size_t ll_row = (size_t)m->n_ll * tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    TESS_ASSERT(chunk->transition_stride == 0 ||
                chunk->transition_stride == (int64_t)m->n_state * m->n_state);
    TESS_TRY(send_rows(p, chunk, first, n, blocks));
    if (!chunk->there.ll) {
        TESS_TRY(tess_de_hmm_there_room(there, &there->ll, (size_t)n_row * ll_row));
        TESS_TRY(tess_resident_put(&there->ll, 0,
                                   (const char *)chunk->ll + (size_t)first[0] * ll_row,
                                   (size_t)n_row * ll_row));
    }
    TESS_TRY(
        tess_de_hmm_there_room(there, &there->rows, (size_t)(n_row * m->n_bin) * sizeof(double)));
    TESS_TRY(tess_de_hmm_there_room(there, &p->path, (size_t)n_row * sizeof *bins));
    tess_stage_decode_hmm_paths args = {.model = m,
                                        .n_row = n_row,
                                        .ll = chunk->there.ll ? (const char *)chunk->there.ll +
                                                                    (size_t)first[0] * ll_row
                                                              : there->ll.data,
                                        .ll_dtype = chunk->ll_dtype,
                                        .transition = there->transition.data,
                                        .transition_stride = chunk->transition_stride,
                                        .initial = p->initial.data,
                                        .share = p->share.data,
                                        .n_run = n,
                                        .run = there->runs.data,
                                        .scores = there->rows.data,
                                        .path = p->path.data};
    TESS_TRY(tess_de_hmm_there_scratch(there, TESS_STAGE_DECODE_HMM_PATHS, &args));
    args.scratch = there->scratch.data;
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_DECODE_HMM_PATHS, &args, sizeof args));
    return tess_resident_fetch(&p->path, bins + first[0], (size_t)n_row * sizeof *bins);
}

tess_status tess_de_path_there_find(tess_de_path_there *there, const tess_de_hmm_chunk *chunk,
                                    const int64_t *first, int64_t n, int64_t *bins)
{
    for (int64_t i = 0; i < n;) {
        const int64_t n_now = count_at_once(there, chunk, first, i, n);
        tess_blocks blocks;
        tess_blocks_init(&blocks, &there->ctx->heap);
        tess_status status = tess_context_check_cancel(there->ctx);
        if (status == TESS_OK) {
            status = find_some(there, chunk, first + i, n_now, &blocks, bins);
        }
        tess_blocks_free(&blocks);
        TESS_TRY(status);
        i += n_now;
    }
    return TESS_OK;
}
