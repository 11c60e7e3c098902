// autoreject's threshold search on the CPU: a channel is a block.
#include "stage/autoreject_threshold.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"

#include <string.h>

enum { TILE = 16 };

typedef struct curve_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_curve *args;
    unsigned char *scratch;
    size_t scratch_bytes; // of a worker
    int64_t n_validation;
} curve_job;

// What a worker needs for a channel.
typedef struct curve_scratch {
    double *rows;     // [n_row][TILE] in order of peak-to-peak
    double *medians;  // [n_split][TILE]
    float *rounded;   // [n_validation][TILE]
    int32_t *members; // [n_validation] rows that validate a split
} curve_scratch;

static size_t aligned(size_t bytes)
{
    return (bytes + TESS_ALIGN - 1) / TESS_ALIGN * TESS_ALIGN;
}

// The parts of a worker's scratch, one behind the other.
static void scratch_parts(const curve_job *job, size_t bytes[4])
{
    const size_t n_validation = (size_t)job->n_validation;
    bytes[0] = aligned((size_t)job->args->n_row * TILE * sizeof(double));
    bytes[1] = aligned((size_t)job->args->n_split * TILE * sizeof(double));
    bytes[2] = aligned(n_validation * TILE * sizeof(float));
    bytes[3] = aligned(n_validation * sizeof(int32_t));
}

static curve_scratch scratch_open(const curve_job *job, int32_t worker)
{
    size_t bytes[4];
    scratch_parts(job, bytes);
    unsigned char *base = job->scratch + (size_t)worker * job->scratch_bytes;
    return (curve_scratch){.rows = (double *)base,
                           .medians = (double *)(base + bytes[0]),
                           .rounded = (float *)(base + bytes[0] + bytes[1]),
                           .members = (int32_t *)(base + bytes[0] + bytes[1] + bytes[2])};
}

// Rows are fetched so many ahead: they lie pages apart, in no order. Two lines of the cache each.
enum { AHEAD = 12, LINE = 8 };

static void gather_rows(const tess_stage_autoreject_curve *a, int64_t c, int64_t tile, double *rows)
{
    const int32_t *order = a->order + c * a->n_row;
    const double *x = a->x + tile * a->stride_tile + c * a->stride_chan;
    const double *augmented =
        a->augmented ? a->augmented + tile * a->augmented_stride_tile + c * a->augmented_stride_chan
                     : NULL;
    const double *from[AHEAD] = {NULL};
    for (int64_t i = 0; i < a->n_row + AHEAD; i++) {
        if (i >= AHEAD) {
            memcpy(rows + (i - AHEAD) * TILE, from[i % AHEAD], TILE * sizeof *rows);
        }
        if (i < a->n_row) {
            const int64_t row = order[i];
            from[i % AHEAD] = row < a->n_epoch
                                  ? x + row * a->stride_epoch
                                  : augmented + (row - a->n_epoch) * a->augmented_stride_epoch;
            __builtin_prefetch(from[i % AHEAD]);
            __builtin_prefetch(from[i % AHEAD] + LINE);
        }
    }
}

static void list_bits(const uint64_t *words, int64_t n_word, int32_t *list)
{
    for (int64_t w = 0; w < n_word; w++) {
        for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
            *list++ = (int32_t)(w * 64) + __builtin_ctzll(bits);
        }
    }
}

static void curve_tile(const curve_job *job, int64_t c, int64_t tile, curve_scratch scratch)
{
    const tess_stage_autoreject_curve *a = job->args;
    const int64_t n_word = (a->n_row + 63) / 64;
    const uint64_t *validation = a->validation + c * a->stride_curves * n_word;
    gather_rows(a, c, tile, scratch.rows);
    float gaps[TILE] = {0};
    for (int64_t s = 0; s < a->n_split; s++) {
        double *median = scratch.medians + s * TILE;
        list_bits(validation + s * n_word, n_word, scratch.members);
        // The medians of one split are where to look for those of the next.
        memcpy(median, s > 0 ? median - TILE : scratch.rows, TILE * sizeof *median);
        job->kernels->autoreject_median(scratch.rows, scratch.members, (size_t)job->n_validation,
                                        scratch.rounded, gaps, median);
    }
    job->kernels->autoreject_curve(scratch.rows, (size_t)a->n_row, validation, (size_t)a->n_split,
                                   a->inverse, scratch.medians,
                                   a->sse + c * a->stride_curves * a->n_train, (size_t)a->n_train);
}

static tess_status curve_block(void *arg, int64_t c, int32_t worker)
{
    const curve_job *job = arg;
    const curve_scratch scratch = scratch_open(job, worker);
    for (int64_t tile = 0; tile < job->args->n_tile; tile++) {
        curve_tile(job, c, tile, scratch);
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_curve(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_curve *a = args;
    tess_context *ctx = device->ctx;
    curve_job job = {.kernels = device->kernels, .args = a, .n_validation = a->n_row - a->n_train};
    size_t parts[4];
    scratch_parts(&job, parts);
    job.scratch_bytes = parts[0] + parts[1] + parts[2] + parts[3];
    const size_t bytes = job.scratch_bytes * (size_t)tess_pool_threads(ctx->pool);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "threshold search");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status = tess_parallel_for(ctx->pool, a->n_chan, curve_block, &job);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
