// A small part of the data that has lags and ages of every size: some frames, and all pairs of
// them.
#include "base/status.h"
#include "systems/xpcs/store/store.h"

#include <math.h>

enum { LEAF = TESS_STAGE_XPCS_LEAF };

typedef struct sketch_job {
    tess_xpcs_data *data;
    const tess_xp_chosen *choice;
    const int64_t *place; // [n_frame of the data] of a frame among the chosen; -1: it is not
    double *c2;           // [n_angle][n_frame][n_frame] of the choice
    double *sigma;        // likewise; NULL: points weigh alike
} sketch_job;

int64_t tess_xp_choose_frames(int64_t n_frame, int64_t most, int64_t *frames)
{
    if (n_frame <= most) {
        for (int64_t k = 0; k < n_frame; k++) {
            frames[k] = k;
        }
        return n_frame;
    }
    // Steps of 1, 2, 4 .. frames, again and again: as many doublings as make it few enough.
    for (int64_t longest = 2;; longest *= 2) {
        int64_t n = 0;
        int64_t step = 1;
        for (int64_t k = 0; k < n_frame && n <= most;
             k += step, step = step < longest ? 2 * step : 1) {
            if (n < most) {
                frames[n] = k;
            }
            n++;
        }
        if (n <= most) {
            return n;
        }
    }
}

static double sample_at(const tess_xp_tiles *tiles, const unsigned char *y, int64_t at)
{
    return tiles->item_bytes == 4 ? (double)((const float *)(const void *)y)[at]
                                  : ((const double *)(const void *)y)[at];
}

// Weight of a point; 1 where all are alike.
static double weight_at(const sketch_job *job, const double *planes, int64_t angle, int64_t lag,
                        int64_t at)
{
    const tess_xp_chosen *choice = job->choice;
    if (choice->lag_weight) {
        return choice->lag_weight[angle * job->data->tiles.n_frame + lag];
    }
    return job->sigma ? planes[at] : 1;
}

static void take_tile(const sketch_job *job, const tess_xp_tile *tile, const unsigned char *record)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const tess_xp_chosen *choice = job->choice;
    const int64_t row = job->place[tile->row];
    const unsigned char *y =
        record + tiles->n_angle * TESS_STAGE_XPCS_HEAD * (int64_t)sizeof(double);
    const double *planes =
        (const double *)(const void *)(y + tiles->n_angle * tile->width * tiles->item_bytes);
    const int64_t end = tile->first_column + tile->n_column;
    for (int64_t j = tile->first_column; j < end && row >= 0; j++) {
        const int64_t column = job->place[j];
        for (int64_t a = 0; a < choice->n_angle && column >= 0; a++) {
            const int64_t angle = choice->angles[a];
            const int64_t from = angle * tile->width + j - tile->first_column;
            const int64_t to = (a * choice->n_frame + row) * choice->n_frame + column;
            const double v = weight_at(job, planes, angle, j - tile->row, from);
            job->c2[to] = v > 0 ? sample_at(tiles, y, from) : (double)NAN;
            if (job->sigma) {
                job->sigma[to] = v > 0 ? 1 / sqrt(v) : 1;
            }
        }
    }
}

static bool is_needed(const sketch_job *job, int64_t leaf)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const int64_t end = (leaf + 1) * LEAF < tiles->n_tile ? (leaf + 1) * LEAF : tiles->n_tile;
    for (int64_t row = tess_xp_tiles_at(tiles, leaf * LEAF).row; tiles->row_tile[row] < end;
         row++) {
        if (job->place[row] >= 0) {
            return true;
        }
    }
    return false;
}

static tess_status take_leaves(tess_context *ctx, const sketch_job *job)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    tess_xp_reader reader;
    tess_status status = tess_xp_reader_open(ctx, job->data, 1, false, &reader);
    for (int64_t leaf = 0; leaf < tess_xp_tiles_n_leaf(tiles) && status == TESS_OK; leaf++) {
        const unsigned char *records = NULL;
        if (!is_needed(job, leaf)) {
            continue;
        }
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = tess_xp_reader_get(&reader, leaf, 1, &records);
        }
        const uint64_t base = tess_xp_tiles_leaf_offset(tiles, leaf);
        for (int64_t t = leaf * LEAF;
             t < (leaf + 1) * LEAF && t < tiles->n_tile && status == TESS_OK; t++) {
            const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
            take_tile(job, &tile, records + (tile.offset - base));
        }
    }
    tess_xp_reader_close(&reader);
    return status;
}

typedef struct put_job {
    const sketch_job *sketch;
    tess_xpcs_data *out;
} put_job;

static tess_status put_angle(void *arg, int64_t a, int32_t worker)
{
    (void)worker;
    const put_job *put = arg;
    const sketch_job *job = put->sketch;
    const int64_t n = job->choice->n_frame;
    double *mean = &put->out->tables[2 * job->choice->n_angle + a];
    TESS_TRY(tess_xp_data_put_matrix(put->out, a, job->c2 + a * n * n, n, 1,
                                     job->sigma ? job->sigma + a * n * n : NULL, NULL, 1));
    *mean = isfinite(*mean) ? *mean : 0;
    return TESS_OK;
}

// The chosen points as data of their own.
static tess_status put_all(tess_context *ctx, const sketch_job *job, tess_xpcs_data **out)
{
    const tess_xp_chosen *choice = job->choice;
    TESS_TRY(tess_xp_data_create(ctx, TESS_XPCS_IN_MEMORY, choice->n_angle, choice->n_frame,
                                 TESS_F64, job->sigma != NULL, NULL, NULL, out));
    double *tables = (*out)->tables;
    for (int64_t a = 0; a < choice->n_angle; a++) {
        tables[a] = job->data->info.phi[choice->angles[a]];
        tables[choice->n_angle + a] = job->data->info.q[choice->angles[a]];
    }
    put_job put = {.sketch = job, .out = *out};
    const tess_status status = tess_parallel_for(ctx->pool, choice->n_angle, put_angle, &put);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(*out);
        *out = NULL;
    }
    return status;
}

tess_status tess_xp_data_sketch(tess_context *ctx, tess_xpcs_data *data,
                                const tess_xp_chosen *choice, tess_xpcs_data **out)
{
    const int64_t n_all = data->tiles.n_frame;
    const int64_t n_point = choice->n_angle * choice->n_frame * choice->n_frame;
    const bool is_weighted =
        choice->lag_weight != NULL || (data->tiles.has_sigma && !choice->ignore_sigma);
    const size_t bytes = (size_t)((is_weighted ? 2 : 1) * n_point) * sizeof(double) +
                         (size_t)n_all * sizeof(int64_t);
    double *block = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "points for the search");
    *out = NULL;
    if (!block) {
        return TESS_E_MEMORY;
    }
    int64_t *place = (int64_t *)(void *)(block + (is_weighted ? 2 : 1) * n_point);
    for (int64_t k = 0; k < n_point; k++) {
        block[k] = (double)NAN;
    }
    for (int64_t k = 0; k < n_all; k++) {
        place[k] = -1;
    }
    for (int64_t k = 0; k < choice->n_frame; k++) {
        place[choice->frames[k]] = k;
    }
    const sketch_job job = {.data = data,
                            .choice = choice,
                            .place = place,
                            .c2 = block,
                            .sigma = is_weighted ? block + n_point : NULL};
    tess_status status = take_leaves(ctx, &job);
    if (status == TESS_OK) {
        status = put_all(ctx, &job, out);
    }
    tess_heap_free(&ctx->heap, block, bytes, TESS_TAG_SCRATCH);
    return status;
}
