// The local search's squared errors on the CPU.
#include "stage/autoreject_local.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

#include <string.h>

enum { TILE = TESS_STAGE_AUTOREJECT_TILE, CHANNELS = TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS };

typedef struct fold_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_local *args;
    int64_t n_block; // of a tile
    int64_t max_test;
    double *scratch; // [worker][scratch_items]
    int64_t scratch_items;
} fold_job;

// What a worker has: bins and a sum of one column, medians of all folds, the rows of one median.
typedef struct fold_scratch {
    double *bins;    // [n_bin][n_row][TILE]
    double *medians; // [n_fold][n_row][TILE]
    double *sum;     // [n_row][TILE]
    double *rows;    // [max_test][TILE]
} fold_scratch;

// Channels c..c+n_row-1 of one tile.
typedef struct fold_block {
    const fold_job *job;
    const double *x; // of the tile
    const double *repaired;
    int64_t c;
    int64_t n_row;
    fold_scratch scratch;
} fold_block;

static void add(const fold_block *b, const double *x, int64_t n_row, double *sum)
{
    b->job->kernels->hmm_add_scaled(1, x, (size_t)(n_row * TILE), sum);
}

static void medians(const fold_block *b)
{
    const tess_stage_autoreject_local *a = b->job->args;
    for (int64_t f = 0; f < a->n_fold; f++) {
        const int64_t n = a->test_first[f + 1] - a->test_first[f];
        for (int64_t r = 0; r < b->n_row; r++) {
            for (int64_t i = 0; i < n; i++) {
                const int64_t e = a->test[a->test_first[f] + i];
                memcpy(b->scratch.rows + i * TILE, b->x + (e * a->n_chan + b->c + r) * TILE,
                       TILE * sizeof(double));
            }
            b->job->kernels->ransac_median(b->scratch.rows, (size_t)n,
                                           b->scratch.medians + (f * b->n_row + r) * TILE);
        }
    }
}

// One epoch with its repaired rows in place of its own.
static void add_repaired(const fold_block *b, int64_t epoch, int64_t repair, double *sum)
{
    const tess_stage_autoreject_local *a = b->job->args;
    const double *x = b->x + epoch * a->n_chan * TILE;
    int64_t next = b->c;
    for (int64_t k = a->first[repair]; k < a->first[repair + 1]; k++) {
        const int64_t c = a->bad[k];
        if (c < b->c || c >= b->c + b->n_row) {
            continue;
        }
        add(b, x + next * TILE, c - next, sum + (next - b->c) * TILE);
        add(b, b->repaired + k * TILE, 1, sum + (c - b->c) * TILE);
        next = c + 1;
    }
    add(b, x + next * TILE, b->c + b->n_row - next, sum + (next - b->c) * TILE);
}

static void fill_bins(const fold_block *b, int64_t column)
{
    const tess_stage_autoreject_local *a = b->job->args;
    const int64_t *repair = a->repair + column * a->n_epoch;
    const int64_t width = b->n_row * TILE;
    memset(b->scratch.bins, 0, (size_t)(a->n_bin * width) * sizeof(double));
    for (int64_t e = 0; e < a->n_epoch; e++) {
        if (a->bin[e] < 0 || repair[e] == -2) {
            continue;
        }
        double *sum = b->scratch.bins + a->bin[e] * width;
        if (repair[e] < 0) {
            add(b, b->x + (e * a->n_chan + b->c) * TILE, b->n_row, sum);
        } else {
            add_repaired(b, e, repair[e], sum);
        }
    }
}

static double errors(const fold_block *b, int64_t fold, int64_t n_kept)
{
    double lanes[TILE] = {0};
    b->job->kernels->local_sse(b->scratch.sum, (double)n_kept,
                               b->scratch.medians + fold * b->n_row * TILE, (size_t)b->n_row,
                               lanes);
    double sse = 0;
    for (int t = 0; t < TILE; t++) {
        sse += lanes[t];
    }
    return sse;
}

static void fold_errors(const fold_block *b, const int64_t *n_kept, double *sse)
{
    const tess_stage_autoreject_local *a = b->job->args;
    const int64_t width = b->n_row * TILE;
    for (int64_t f = 0; f < a->n_fold; f++) {
        memset(b->scratch.sum, 0, (size_t)width * sizeof(double));
        for (int64_t l = 0; l < a->n_level; l++) {
            for (int64_t i = a->bin_first[l]; i < a->bin_first[l + 1]; i++) {
                if (a->train[f * a->n_bin + i]) {
                    add(b, b->scratch.bins + i * width, b->n_row, b->scratch.sum);
                }
            }
            const int64_t cell = f * a->n_level + l;
            sse[cell] = n_kept[cell] > 0 ? errors(b, f, n_kept[cell]) : 0;
        }
    }
}

static tess_status fold_run(void *arg, int64_t block, int32_t worker)
{
    const fold_job *job = arg;
    const tess_stage_autoreject_local *a = job->args;
    const int64_t tile = block / job->n_block;
    const int64_t n_cell = a->n_fold * a->n_level;
    fold_block b = {
        .job = job, .x = a->x + tile * a->tile_stride, .c = block % job->n_block * CHANNELS};
    const int64_t n_repaired = a->n_repair > 0 ? a->first[a->n_repair] : 0;
    b.repaired = a->repaired ? a->repaired + tile * n_repaired * TILE : NULL;
    b.n_row = a->n_chan - b.c < CHANNELS ? a->n_chan - b.c : CHANNELS;
    double *at = job->scratch + worker * job->scratch_items;
    b.scratch.bins = at;
    b.scratch.medians = b.scratch.bins + a->n_bin * CHANNELS * TILE;
    b.scratch.sum = b.scratch.medians + a->n_fold * CHANNELS * TILE;
    b.scratch.rows = b.scratch.sum + CHANNELS * TILE;
    medians(&b);
    for (int64_t j = 0; j < a->n_column; j++) {
        fill_bins(&b, j);
        fold_errors(&b, a->n_kept + j * n_cell, a->sse + (block * a->n_column + j) * n_cell);
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_local(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_local *a = args;
    tess_context *ctx = device->ctx;
    fold_job job = {
        .kernels = device->kernels, .args = a, .n_block = (a->n_chan + CHANNELS - 1) / CHANNELS};
    for (int64_t f = 0; f < a->n_fold; f++) {
        const int64_t n = a->test_first[f + 1] - a->test_first[f];
        job.max_test = n > job.max_test ? n : job.max_test;
    }
    job.scratch_items = tess_stage_autoreject_local_scratch(a->n_bin, a->n_fold, job.max_test);
    const size_t bytes = (size_t)ctx->n_thread * (size_t)job.scratch_items * sizeof(double);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums of the local search");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_parallel_for(ctx->pool, a->n_tile * job.n_block, fold_run, &job);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
