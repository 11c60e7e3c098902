// autoreject's global threshold on the CPU: a group of channels is a block.
#include "stage/autoreject_overall.h"

#include "backend/cpu/cpu_backend.h"
#include "base/status.h"

#include <string.h>

enum { TILE = 16 };

typedef struct overall_job {
    tess_context *ctx;
    const tess_kernels *kernels;
    const tess_stage_autoreject_overall *args;
    double *scratch;  // of each worker: rows [n_epoch][TILE] in order, and as many chosen ones
    int32_t *trained; // of each worker: [n_epoch] rows
    size_t scratch_items;
} overall_job;

// The median of the rows of a fold that have this part in it.
static void median_of(const overall_job *job, const uint8_t *fold, uint8_t part, const double *rows,
                      double *chosen, double median[TILE], double step[TILE])
{
    size_t n = 0;
    for (int64_t i = 0; i < job->args->n_epoch; i++) {
        if (fold[i] == part) {
            memcpy(chosen + n++ * TILE, rows + i * TILE, TILE * sizeof *rows);
        }
    }
    job->kernels->autoreject_median(chosen, n, median, step);
}

static void add_fold(const overall_job *job, int64_t f, int64_t group, const double *rows,
                     double *chosen, int32_t *trained, double median[TILE], double step[TILE])
{
    const tess_stage_autoreject_overall *a = job->args;
    const uint8_t *fold = a->folds + f * a->n_epoch;
    const int64_t at = group * a->first[a->n_fold] + a->first[f];
    size_t n_train = 0;
    for (int64_t i = 0; i < a->n_epoch; i++) {
        if (fold[i] == 1) {
            trained[n_train++] = (int32_t)i;
        }
    }
    median_of(job, fold, 2, rows, chosen, median, step);
    job->kernels->autoreject_curve(rows, trained, a->inverse, n_train, median, a->test + at);
    if (a->train && n_train > 0) {
        median_of(job, fold, 1, rows, chosen, median, step);
        job->kernels->autoreject_curve(rows, trained, a->inverse, n_train, median, a->train + at);
    }
}

static tess_status overall_block(void *arg, int64_t group, int32_t worker)
{
    const overall_job *job = arg;
    const tess_stage_autoreject_overall *a = job->args;
    double *rows = job->scratch + (size_t)worker * job->scratch_items;
    double *chosen = rows + a->n_epoch * TILE;
    int32_t *trained = job->trained + worker * a->n_epoch;
    const int64_t end = (group + 1) * a->n_chan / a->n_group;
    for (int64_t c = group * a->n_chan / a->n_group; c < end; c++) {
        TESS_TRY(tess_context_check_cancel(job->ctx));
        for (int64_t i = 0; i < a->n_epoch; i++) {
            memcpy(rows + i * TILE, a->x + (a->order[i] * a->n_chan + c) * TILE,
                   TILE * sizeof *rows);
        }
        // The medians of one fold are where to look for those of the next.
        double median[TILE];
        double step[TILE] = {0};
        for (int64_t f = 0; f < a->n_fold; f++) {
            add_fold(job, f, group, rows, chosen, trained, median, step);
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_overall(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_overall *a = args;
    tess_context *ctx = device->ctx;
    const size_t n_worker = (size_t)tess_pool_threads(ctx->pool);
    overall_job job = {.ctx = ctx,
                       .kernels = device->kernels,
                       .args = a,
                       .scratch_items = 2 * (size_t)a->n_epoch * TILE};
    const size_t scratch_bytes = n_worker * job.scratch_items * sizeof *job.scratch;
    const size_t trained_bytes = n_worker * (size_t)a->n_epoch * sizeof *job.trained;
    job.scratch = tess_heap_alloc(&ctx->heap, scratch_bytes, TESS_TAG_SCRATCH, "rows of folds");
    job.trained = tess_heap_alloc(&ctx->heap, trained_bytes, TESS_TAG_SCRATCH, "rows of folds");
    tess_status status = job.scratch && job.trained ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_parallel_for(ctx->pool, a->n_group, overall_block, &job);
    }
    tess_heap_free(&ctx->heap, job.trained, trained_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, job.scratch, scratch_bytes, TESS_TAG_SCRATCH);
    return status;
}
