// autoreject's global threshold on the CPU: a group of channels is a block.
#include "stage/autoreject_global.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

#include <string.h>

enum { TILE = 16 };

typedef struct global_job {
    tess_context *ctx;
    const tess_kernels *kernels;
    const tess_stage_autoreject_global *args;
    unsigned char *scratch;
    size_t scratch_bytes; // of a worker
} global_job;

// What a worker needs for a channel.
typedef struct global_scratch {
    double *rows;     // [n_epoch][TILE] in order
    float *rounded;   // [n_epoch][TILE]
    uint64_t *left;   // [(n_epoch + 63) / 64] bits of the rows that do not train a fold
    int32_t *members; // [n_epoch] rows of a part of a fold
    double median[TILE];
    float gaps[TILE];
} global_scratch;

static size_t words_of(int64_t n_epoch)
{
    return ((size_t)n_epoch + 63) / 64;
}

// The median of the rows of a fold that have this part in it.
static void median_of(const global_job *job, const uint8_t *fold, uint8_t part,
                      global_scratch *scratch)
{
    size_t n = 0;
    for (int64_t i = 0; i < job->args->n_epoch; i++) {
        if (fold[i] == part) {
            scratch->members[n++] = (int32_t)i;
        }
    }
    job->kernels->autoreject_median(scratch->rows, scratch->members, n, scratch->rounded,
                                    scratch->gaps, scratch->median);
}

static void add_fold(const global_job *job, int64_t f, int64_t group, global_scratch *scratch)
{
    const tess_stage_autoreject_global *a = job->args;
    const uint8_t *fold = a->folds + f * a->n_epoch;
    const int64_t at = group * a->first[a->n_fold] + a->first[f];
    const size_t n_row = (size_t)a->n_epoch;
    size_t n_train = 0;
    memset(scratch->left, 0, words_of(a->n_epoch) * sizeof *scratch->left);
    for (size_t i = 0; i < n_row; i++) {
        scratch->left[i / 64] |= (uint64_t)(fold[i] != 1) << (i % 64);
        n_train += fold[i] == 1;
    }
    median_of(job, fold, 2, scratch);
    job->kernels->autoreject_curve(scratch->rows, n_row, scratch->left, 1, a->inverse,
                                   scratch->median, a->test + at, n_train);
    if (a->train && n_train > 0) {
        median_of(job, fold, 1, scratch);
        job->kernels->autoreject_curve(scratch->rows, n_row, scratch->left, 1, a->inverse,
                                       scratch->median, a->train + at, n_train);
    }
}

static tess_status global_block(void *arg, int64_t group, int32_t worker)
{
    const global_job *job = arg;
    const tess_stage_autoreject_global *a = job->args;
    global_scratch scratch;
    scratch.rows = (double *)(job->scratch + (size_t)worker * job->scratch_bytes);
    scratch.rounded = (float *)(scratch.rows + a->n_epoch * TILE);
    scratch.left = (uint64_t *)(scratch.rounded + a->n_epoch * TILE);
    scratch.members = (int32_t *)(scratch.left + words_of(a->n_epoch));
    const int64_t end = (group + 1) * a->n_chan / a->n_group;
    for (int64_t c = group * a->n_chan / a->n_group; c < end; c++) {
        TESS_TRY(tess_context_check_cancel(job->ctx));
        for (int64_t i = 0; i < a->n_epoch; i++) {
            memcpy(scratch.rows + i * TILE, a->x + (a->order[i] * a->n_chan + c) * TILE,
                   TILE * sizeof *scratch.rows);
        }
        // The medians of one fold are where to look for those of the next.
        memset(scratch.median, 0, sizeof scratch.median);
        memset(scratch.gaps, 0, sizeof scratch.gaps);
        for (int64_t f = 0; f < a->n_fold; f++) {
            add_fold(job, f, group, &scratch);
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_global(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_global *a = args;
    tess_context *ctx = device->ctx;
    global_job job = {.ctx = ctx, .kernels = device->kernels, .args = a};
    const size_t n_row = (size_t)a->n_epoch;
    const size_t used = n_row * TILE * (sizeof(double) + sizeof(float)) +
                        words_of(a->n_epoch) * sizeof(uint64_t) + n_row * sizeof(int32_t);
    job.scratch_bytes = (used + TESS_ALIGN - 1) / TESS_ALIGN * TESS_ALIGN;
    const size_t bytes = (size_t)tess_pool_threads(ctx->pool) * job.scratch_bytes;
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of folds");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status = tess_parallel_for(ctx->pool, a->n_group, global_block, &job);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
