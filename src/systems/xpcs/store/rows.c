// Rows of the symmetric matrix that a triangle stands for.
#include "base/status.h"
#include "systems/xpcs/store/store.h"

#include <math.h>

enum { CHUNK_BYTES = 1 << 20, LEAF = TESS_STAGE_XPCS_LEAF };

typedef struct rows_job {
    tess_context *ctx;
    tess_xpcs_data *data;
    int64_t angle;
    int64_t first;
    int64_t count;
    double *c2;
    bool is_sigma;                 // deviations in place of samples
    const tess_xp_some_rows *look; // columns above the diagonal alone, for a visitor; NULL: none
} rows_job;

static double sample(const rows_job *job, const unsigned char *record, int64_t angle, int64_t width,
                     int64_t k)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const unsigned char *y =
        record + tiles->n_angle * TESS_STAGE_XPCS_HEAD * (int64_t)sizeof(double);
    const int64_t at = angle * width + k;
    if (job->is_sigma) {
        const double *weights =
            (const double *)(const void *)(y + tiles->n_angle * width * tiles->item_bytes);
        return weights[at] > 0 ? 1 / sqrt(weights[at]) : (double)NAN;
    }
    return tiles->item_bytes == 4 ? (double)((const float *)(const void *)y)[at]
                                  : ((const double *)(const void *)y)[at];
}

static bool is_asked_for(const rows_job *job, int64_t row)
{
    return row >= job->first && row < job->first + job->count;
}

static void place(const rows_job *job, int64_t row, int64_t column, double value)
{
    job->c2[(row - job->first) * job->data->tiles.n_frame + column] = value;
}

static void show_tile(const rows_job *job, const tess_xp_tile *tile, const unsigned char *record)
{
    double y[TESS_STAGE_XPCS_RUN];
    for (int64_t k = 0; k < job->look->n_angle; k++) {
        for (int64_t i = 0; i < tile->n_column; i++) {
            y[i] = sample(job, record, job->look->angles[k], tile->width, i);
        }
        job->look->visit(job->look->self, k, tile, y);
    }
}

// What a tile has for the rows asked for: its own row, and columns that are such rows.
static void take_tile(const rows_job *job, const tess_xp_tile *tile, const unsigned char *record)
{
    const bool is_row = is_asked_for(job, tile->row);
    int64_t begin = tile->first_column;
    int64_t end = begin + tile->n_column;
    if (job->look) {
        if (is_row) {
            show_tile(job, tile, record);
        }
        return;
    }
    if (!is_row) {
        begin = begin > job->first ? begin : job->first;
        end = end < job->first + job->count ? end : job->first + job->count;
    }
    for (int64_t j = begin; j < end; j++) {
        const double value = sample(job, record, job->angle, tile->width, j - tile->first_column);
        if (is_row) {
            place(job, tile->row, j, value);
        }
        if (is_asked_for(job, j)) {
            place(job, j, tile->row, value);
        }
    }
}

// The leaf has a pair of which one frame is a row asked for.
static bool is_needed(const rows_job *job, int64_t leaf)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const int64_t last = (leaf + 1) * LEAF < tiles->n_tile ? (leaf + 1) * LEAF : tiles->n_tile;
    if (job->look) { // tiles of a row follow each other
        const int64_t end = job->first + job->count;
        return last > tiles->row_tile[job->first] && end > 0 &&
               leaf * LEAF < (end < tiles->n_frame ? tiles->row_tile[end] : tiles->n_tile);
    }
    for (int64_t t = leaf * LEAF; t < last; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        if (is_asked_for(job, tile.row) ||
            (tile.row < job->first && tile.first_column < job->first + job->count &&
             tile.first_column + tile.n_column > job->first)) {
            return true;
        }
    }
    return false;
}

static tess_status take_leaves(const rows_job *job, tess_xp_reader *reader, int64_t first,
                               int64_t n_leaf)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const unsigned char *records = NULL;
    TESS_TRY(tess_context_check_cancel(reader->ctx));
    TESS_TRY(tess_xp_reader_get(reader, first, n_leaf, &records));
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, first);
    const int64_t end = (first + n_leaf) * LEAF;
    for (int64_t t = first * LEAF; t < end && t < tiles->n_tile; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        take_tile(job, &tile, records + (tile.offset - base));
    }
    return TESS_OK;
}

// The next leaves from one on that are needed, as many as a chunk takes; *n 0: none.
static int64_t next_needed(const rows_job *job, int64_t leaf, int64_t most, int64_t *n)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&job->data->tiles);
    *n = 0;
    while (leaf < n_leaf && !is_needed(job, leaf)) {
        leaf++;
    }
    while (*n < most && leaf + *n < n_leaf && is_needed(job, leaf + *n)) {
        (*n)++;
    }
    return leaf;
}

static tess_status take_all(const rows_job *job, tess_xp_reader *reader)
{
    const int64_t most = reader->leaves_per_chunk;
    int64_t n = 0;
    int64_t leaf = next_needed(job, 0, most, &n);
    while (n > 0) {
        int64_t n_next = 0;
        const int64_t next = next_needed(job, leaf + n, most, &n_next);
        tess_xp_reader_expect(reader, n_next > 0 ? next : leaf, n_next > 0 ? n_next : n);
        TESS_TRY(take_leaves(job, reader, leaf, n));
        leaf = next;
        n = n_next;
    }
    return TESS_OK;
}

// The value beside the diagonal between frames k and k + 1.
static double side(const rows_job *job, int64_t k)
{
    const int64_t n = job->data->tiles.n_frame;
    if (k < 0 || k > n - 2) {
        return (double)NAN;
    }
    return is_asked_for(job, k) ? job->c2[(k - job->first) * n + k + 1]
                                : job->c2[(k + 1 - job->first) * n + k];
}

static void interpolate_diagonal(const rows_job *job)
{
    for (int64_t k = job->first; k < job->first + job->count; k++) {
        const double before = side(job, k - 1);
        const double after = side(job, k);
        const double both = (before + after) / 2;
        place(job, k, k, isnan(before) ? after : isnan(after) ? before : both);
    }
}

static tess_status run(const rows_job *job)
{
    tess_xp_reader reader;
    const int64_t leaves = tess_xp_leaves_in(job->data, CHUNK_BYTES);
    tess_status status = tess_xp_reader_open(job->ctx, job->data, leaves, false, &reader);
    if (status == TESS_OK) {
        status = take_all(job, &reader);
    }
    tess_xp_reader_close(&reader);
    return status;
}

tess_status tess_xpcs_data_rows(tess_context *ctx, tess_xpcs_data *data, int64_t angle,
                                int64_t first, int64_t count, double *c2)
{
    tess_error_clear();
    if (angle < 0 || angle >= data->info.n_angle) {
        TESS_FAIL(TESS_E_ARGUMENT, "angle: %lld, the data have 0 to %lld", (long long)angle,
                  (long long)data->info.n_angle - 1);
    }
    if (first < 0 || count < 0 || first > data->info.n_frame - count) {
        TESS_FAIL(TESS_E_ARGUMENT, "rows %lld to %lld: the data have 0 to %lld", (long long)first,
                  (long long)(first + count - 1), (long long)data->info.n_frame - 1);
    }
    if (count == 0) {
        return TESS_OK;
    }
    const rows_job job = {
        .ctx = ctx, .data = data, .angle = angle, .first = first, .count = count, .c2 = c2};
    TESS_TRY(run(&job));
    interpolate_diagonal(&job);
    return TESS_OK;
}

tess_status tess_xp_data_show_rows(tess_context *ctx, tess_xpcs_data *data,
                                   const tess_xp_some_rows *look)
{
    const rows_job job = {
        .ctx = ctx, .data = data, .first = look->first, .count = look->count, .look = look};
    return run(&job);
}

uint64_t tess_xp_rows_bytes(const tess_xpcs_data *data)
{
    return tess_xp_reader_bytes(data, tess_xp_leaves_in(data, CHUNK_BYTES),
                                !tess_xp_data_is_held(data));
}

tess_status tess_xp_data_sigma_rows(tess_xpcs_data *data, int64_t angle, int64_t first,
                                    int64_t count, double *sigma)
{
    const rows_job job = {.ctx = data->ctx,
                          .data = data,
                          .angle = angle,
                          .first = first,
                          .count = count,
                          .c2 = sigma,
                          .is_sigma = true};
    for (int64_t k = first; k < first + count; k++) {
        place(&job, k, k, (double)NAN);
    }
    return run(&job);
}
