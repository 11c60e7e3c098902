// RANSAC on the CPU: 12 channels of one epoch are a block, the last ones 4 or 8.
//
// For each channel and sample 50 subsets of a quarter of the channels make as many predictions: 50
// times C / 4 products, and 480 minima and maxima for their median. In f64 a Neoverse N1 does four
// of either in a cycle and takes 345, 466 and 701 cycles for 32, 64 and 128 channels. By way of f32
// (ransac_quick.c) it does eight of them, and two predictions in f64 besides, whose every product
// takes a load of a sample and half a load of weights. 556 / 8 cycles of comparisons, 50 C / 32 of
// products in f32 and 3 C / 8 of loads make 132, 194 and 318. It reaches 250, 330 and 510. By
// itself the product in f32 is at 93 % of its peak with 128 channels, the network at 83 %, and a
// product in f64 takes 1.1 cycles instead of 0.75, 1.3 where the weights come from the second
// cache; fetching these ahead gained nothing. The original takes 3200, 3900 and 4700 cycles.
//
// On x86-64 all is in f64: a Cascade Lake at its 2.4 GHz of AVX-512 does two instructions of eight
// in a cycle, which makes 24, 35 and 56 ns for 32, 64 and 128 channels. It takes 37, 51 and 77, a
// whole call 44, 57 and 90: with 128 channels products by themselves are at 78 % of their peak
// (85 % were samples in the first cache, from which weights and predictions push them out) and the
// network at 80 %. Two or four tiles, or two groups, by every weight, large pages and single steps
// gained nothing. The original takes 1560, 1820 and 2210 ns.
#include "stage/autoreject_ransac.h"

#include "backend/cpu/autoreject/ransac_quick.h"
#include "backend/cpu/autoreject/stages.h"
#include "base/checked.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { ROWS = TESS_RANSAC_ROWS, TILE = TESS_RANSAC_TILE };
// Rows come in so many.
enum { ROW_STEP = 4 };

// Epochs that are tiled at a time: small enough to stay in the caches until they are used, enough
// for many threads.
enum { TILED_BYTES = 4 << 20, LEAST_TILED = 8 };

// Such a part of the channels and tiles without help of f32 takes as long as it saves.
enum { MANY_SHARE = 8 };

typedef struct ransac_job {
    tess_context *ctx;
    const tess_kernels *kernels;
    const tess_stage_autoreject_ransac *args;
    int64_t n_row;       // channels, and zeros up to the next multiple of 4
    int64_t n_group;     // of 12 of them, the last ones of what is left
    int64_t n_tile;      // of 16 samples
    int64_t first;       // epoch that is tiled
    double *w;           // of each group: [n_resample][n_from][rows of the group]
    double *tiles;       // [n_tiled][n_tile][n_chan][16]
    double *predictions; // of each worker: [12][n_resample][16]
    bool is_quick;
    _Atomic int64_t n_many; // channels and tiles of which f32 told nothing
    tess_ransac_quick quick;
    float *narrow;  // [n_tiled][n_tile][n_chan][16]
    float *largest; // [n_tiled][n_tile][16]
} ransac_job;

// Groups are of 12 rows; where 4 would be left, the last two are of 8, which keep the registers
// busier.
static int64_t group_first(const ransac_job *job, int64_t group)
{
    const bool is_short = job->n_group > 1 && job->n_row % ROWS == ROW_STEP;
    if (group == job->n_group) {
        return job->n_row;
    }
    return group == job->n_group - 1 && is_short ? job->n_row - 2 * ROW_STEP : group * ROWS;
}

// Weights of a group lie in the order in which they are used.
static tess_status pack_group(void *arg, int64_t group, int32_t worker)
{
    (void)worker;
    const ransac_job *job = arg;
    const tess_stage_autoreject_ransac *a = job->args;
    const int64_t first = group_first(job, group), end = group_first(job, group + 1);
    if (job->is_quick) {
        tess_ransac_quick_pack(&job->quick, first, end);
        return TESS_OK;
    }
    double *to = job->w + first * a->n_resample * a->n_from;
    for (int64_t r = 0; r < a->n_resample; r++) {
        const double *w = a->w + r * a->n_chan * a->n_from;
        for (int64_t i = 0; i < a->n_from; i++) {
            for (int64_t c = first; c < end; c++) {
                *to++ = c < a->n_chan ? w[c * a->n_from + i] : 0;
            }
        }
    }
    return TESS_OK;
}

// An epoch's samples as tiles [n_chan][16], zeros past the end: all groups read them in order.
static tess_status tile_epoch(void *arg, int64_t tiled, int32_t worker)
{
    (void)worker;
    const ransac_job *job = arg;
    const tess_stage_autoreject_ransac *a = job->args;
    const int64_t stride = a->n_chan * TILE;
    for (int64_t c = 0; c < a->n_chan; c++) {
        const int64_t row = a->channels ? a->channels[c] : c;
        const double *x = a->x + (job->first + tiled) * a->stride_epoch + row * a->stride_chan;
        double *to = job->tiles + tiled * job->n_tile * stride + c * TILE;
        for (int64_t t = 0; t < a->n_time; t += TILE, to += stride) {
            const int64_t n = a->n_time - t < TILE ? a->n_time - t : TILE;
            memcpy(to, x + t, (size_t)n * sizeof *x);
            memset(to + n, 0, (size_t)(TILE - n) * sizeof *x);
        }
    }
    for (int64_t tile = tiled * job->n_tile; job->is_quick && tile < (tiled + 1) * job->n_tile;
         tile++) {
        tess_ransac_quick_narrow(job->tiles + tile * stride, a->n_chan, job->narrow + tile * stride,
                                 job->largest + tile * TILE);
    }
    return TESS_OK;
}

static double in_order(const double lanes[TILE])
{
    double sum = 0;
    for (int64_t t = 0; t < TILE; t++) {
        sum += lanes[t];
    }
    return sum;
}

// Rows of one epoch, and what has been summed of them.
typedef struct ransac_rows {
    int64_t first;
    int64_t n_row;
    int64_t n_chan; // without the zeros behind the last channel
    const double *samples;
    double *predictions;
    double sums[ROWS][3][TILE];
} ransac_rows;

static void sum_tiles(const ransac_job *job, ransac_rows *rows)
{
    const tess_stage_autoreject_ransac *a = job->args;
    const tess_kernels *kernels = job->kernels;
    const double *w = job->w + rows->first * a->n_resample * a->n_from;
    const double *samples = rows->samples;
    const int64_t tile_items = a->n_chan * TILE;
    double median[TILE];
    for (int64_t tile = 0; tile < job->n_tile; tile++, samples += tile_items) {
        const double *next = samples + (tile + 1 < job->n_tile ? tile_items : 0);
        kernels->ransac_predict(w, (size_t)rows->n_row, a->from, (size_t)a->n_from,
                                (size_t)a->n_resample, samples, (size_t)tile_items, next,
                                rows->predictions);
        for (int64_t k = 0; k < rows->n_chan; k++) {
            kernels->ransac_median(rows->predictions + k * a->n_resample * TILE,
                                   (size_t)a->n_resample, median);
            kernels->ransac_sums(samples + (rows->first + k) * TILE, median, rows->sums[k][0]);
        }
    }
}

static void sum_tiles_quickly(ransac_job *job, int64_t tiled, ransac_rows *rows)
{
    const int64_t tile_items = job->args->n_chan * TILE, first = tiled * job->n_tile;
    double medians[ROWS][TESS_QUICK_TILES][TILE];
    for (int64_t tile = 0; tile < job->n_tile; tile += TESS_QUICK_TILES) {
        const int64_t left = job->n_tile - tile;
        const int64_t n = left < TESS_QUICK_TILES ? left : TESS_QUICK_TILES;
        const tess_ransac_tiles tiles = {.x = rows->samples + tile * tile_items,
                                         .narrow = job->narrow + (first + tile) * tile_items,
                                         .largest = job->largest + (first + tile) * TILE,
                                         .n = n,
                                         .is_last = n == left};
        job->n_many += tess_ransac_quick_medians(&job->quick, tiles, rows->first, rows->n_row,
                                                 (float *)rows->predictions, medians);
        for (int64_t k = 0; k < rows->n_chan; k++) {
            for (int64_t i = 0; i < tiles.n; i++) {
                job->kernels->ransac_sums(tiles.x + i * tile_items + (rows->first + k) * TILE,
                                          medians[k][i], rows->sums[k][0]);
            }
        }
    }
}

static tess_status ransac_block(void *arg, int64_t block, int32_t worker)
{
    ransac_job *job = arg;
    const tess_stage_autoreject_ransac *a = job->args;
    TESS_TRY(tess_context_check_cancel(job->ctx));
    const int64_t tiled = block / job->n_group, group = block % job->n_group;
    const int64_t first = group_first(job, group), n_row = group_first(job, group + 1) - first;
    ransac_rows rows = {.first = first,
                        .n_row = n_row,
                        .n_chan = a->n_chan - first < n_row ? a->n_chan - first : n_row,
                        .samples = job->tiles + tiled * job->n_tile * a->n_chan * TILE,
                        .predictions = job->predictions + worker * a->n_resample * ROWS * TILE};
    if (job->is_quick) {
        sum_tiles_quickly(job, tiled, &rows);
    } else {
        sum_tiles(job, &rows);
    }
    const int64_t to = (job->first + tiled) * a->n_chan + first;
    for (int64_t k = 0; k < rows.n_chan; k++) {
        const double xp = in_order(rows.sums[k][0]), xx = in_order(rows.sums[k][1]);
        a->out[to + k] = xp / (sqrt(xx) * sqrt(in_order(rows.sums[k][2])));
        a->power[to + k] = xx;
    }
    return TESS_OK;
}

// Doubles of the parts of one block of memory.
typedef struct ransac_room {
    uint64_t w;
    uint64_t tiles;
    uint64_t predictions;
    uint64_t quick; // weights and samples in f32, the largest ones, spreads
} ransac_room;

// The bytes of them all; 0 if they cannot be counted.
static uint64_t count_room(const ransac_job *job, int64_t n_tiled, uint64_t n_worker,
                           ransac_room *room)
{
    const tess_stage_autoreject_ransac *a = job->args;
    const uint64_t row = (uint64_t)job->n_tile * TILE;
    uint64_t all = 0;
    const bool is_counted =
        tess_mul_u64((uint64_t)(job->n_row * a->n_from), (uint64_t)a->n_resample, &room->w) &&
        tess_mul_u64((uint64_t)(n_tiled * a->n_chan), row, &room->tiles) &&
        tess_mul_u64(n_worker * ROWS * TILE, (uint64_t)a->n_resample, &room->predictions) &&
        tess_mul_u64((uint64_t)(n_tiled * (a->n_chan + 1)), row, &room->quick) &&
        tess_add_u64(room->quick, (uint64_t)job->n_row, &room->quick) &&
        tess_add_u64(room->quick, room->w, &room->quick) &&
        tess_add_u64(room->w, room->tiles, &all) && tess_add_u64(all, room->predictions, &all) &&
        tess_add_u64(all, job->is_quick ? room->quick : 0, &all) &&
        tess_mul_u64(all, sizeof(double), &all);
    return is_counted ? all : 0;
}

static void divide_room(ransac_job *job, const ransac_room *room, int64_t n_tiled)
{
    const int64_t row = job->n_tile * TILE;
    job->tiles = job->w + room->w;
    job->predictions = job->tiles + room->tiles;
    if (job->is_quick) {
        float *w = (float *)(job->predictions + room->predictions);
        job->narrow = w + room->w;
        job->largest = job->narrow + n_tiled * job->args->n_chan * row;
        job->quick = (tess_ransac_quick){.kernels = job->kernels,
                                         .args = job->args,
                                         .w = w,
                                         .exact = job->w,
                                         .spread = job->largest + n_tiled * row};
    }
}

// Where f32 tells little, as of samples far from 0 that hardly differ, what follows is made in f64
// alone.
static tess_status correlate_tiled(ransac_job *job, int64_t n_tiled)
{
    tess_pool *pool = job->ctx->pool;
    TESS_TRY(tess_parallel_for(pool, n_tiled, tile_epoch, job));
    TESS_TRY(tess_parallel_for(pool, n_tiled * job->n_group, ransac_block, job));
    if (!job->is_quick || job->n_many < n_tiled * job->n_tile * job->args->n_chan / MANY_SHARE) {
        job->n_many = 0;
        return TESS_OK;
    }
    job->is_quick = false;
    return tess_parallel_for(pool, job->n_group, pack_group, job);
}

tess_status tess_cpu_autoreject_ransac(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_ransac *a = args;
    tess_context *ctx = device->ctx;
    ransac_job job = {.ctx = ctx,
                      .kernels = device->kernels,
                      .args = a,
                      .n_row = (a->n_chan + ROW_STEP - 1) / ROW_STEP * ROW_STEP,
                      .n_tile = (a->n_time + TILE - 1) / TILE,
                      .is_quick = tess_ransac_is_quick(device->kernels, a)};
    job.n_group = (job.n_row + ROWS - 1) / ROWS;
    ransac_room room;
    const int64_t fitting = TILED_BYTES / (int64_t)sizeof(double) / (a->n_chan * a->n_time);
    const int64_t wished = fitting > LEAST_TILED ? fitting : LEAST_TILED;
    const int64_t n_tiled = wished < a->n_epoch ? wished : a->n_epoch;
    const uint64_t bytes = count_room(&job, n_tiled, (uint64_t)tess_pool_threads(ctx->pool), &room);
    if (bytes == 0) {
        TESS_FAIL(TESS_E_MEMORY, "n_resample: %lld subsets need more memory than can be addressed",
                  (long long)a->n_resample);
    }
    job.w = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "predictions of RANSAC");
    if (!job.w) {
        return TESS_E_MEMORY;
    }
    divide_room(&job, &room, n_tiled);
    tess_status status = tess_parallel_for(ctx->pool, job.n_group, pack_group, &job);
    // A few epochs first, which tell whether f32 helps.
    int64_t n = n_tiled < LEAST_TILED ? n_tiled : LEAST_TILED;
    for (; status == TESS_OK && job.first < a->n_epoch; job.first += n, n = n_tiled) {
        const int64_t left = a->n_epoch - job.first;
        n = left < n ? left : n;
        status = correlate_tiled(&job, n);
    }
    tess_heap_free(&ctx->heap, job.w, bytes, TESS_TAG_SCRATCH);
    return status;
}
