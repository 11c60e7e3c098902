#include "systems/xpcs/report/sweep.h"

#include "base/span.h"
#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/watch.h"
#include "systems/xpcs/result/noise.h"

#include <math.h>

enum {
    CHUNK_BYTES = 2 << 20,    // of records taken at a time
    MODEL_BYTES = 8 << 20,    // of model rows computed at a time, at most
    PICTURE_BYTES = 64 << 20, // of the maps of a sweep, at most
    RUN = TESS_STAGE_XPCS_RUN
};

// What a sweep works with.
typedef struct worker {
    tess_xp_sweep *sweep;
    const tess_xp_tiles *tiles;
    tess_xp_fitted fitted;
    tess_xp_noise noise;
    int32_t *pixel_of; // [n_frame]
    double *model;     // [n_once][n_row][n_frame]
    int64_t n_once;    // angles side by side
    int64_t n_row;
    const unsigned char *records; // of the chunk
    uint64_t offset;              // of its first record
} worker;

// Rows of the chunk, as far as some tiles hold them, at some angles.
typedef struct rows {
    worker *w;
    int64_t first_angle;
    int64_t first_row;
    int64_t n_row;
    int64_t first_tile;
    int64_t last_tile;
} rows;

static int64_t map_cells(int64_t side)
{
    return side * (side + 1) / 2;
}

static tess_xp_cell *cell_at(const tess_xp_sweep *s, int64_t angle, int64_t i, int64_t j)
{
    return s->cells + angle * map_cells(s->side) + i * s->side - i * (i - 1) / 2 + (j - i);
}

static int64_t bytes_for(const tess_context *ctx, int64_t most, uint64_t share)
{
    const uint64_t room = tess_budget_room(ctx->memory_limit_bytes) / share;
    return room < (uint64_t)most ? (int64_t)room : most;
}

int64_t tess_xp_sweep_angles(const tess_context *ctx, int64_t side)
{
    const int64_t bytes = bytes_for(ctx, PICTURE_BYTES, 4);
    const int64_t n = bytes / (map_cells(side) * (int64_t)sizeof(tess_xp_cell));
    return n > 1 ? n : 1;
}

// A tile of one angle: y as f64, and 1 / sigma of every point (NULL: the angle's).
typedef struct stretch {
    int64_t angle; // of the sweep
    int64_t row;
    int64_t first;
    int64_t n;
    const double *y;
    const double *weight;    // 1 / sigma^2; NULL: not of every point
    const double *lag_sigma; // by j - i; NULL: inverse_sigma holds for all
    const double *model;     // of the row; NULL: none
    double inverse_sigma;
    double contrast;
    double offset;
} stretch;

static void add_to_histogram(tess_xp_residuals *r, double z)
{
    const double at = (z + TESS_XP_SWEEP_RANGE) / (2 * TESS_XP_SWEEP_RANGE) * TESS_XP_SWEEP_BARS;
    r->n_point++;
    if (at >= 0 && at < TESS_XP_SWEEP_BARS) {
        r->bars[(int)at]++;
    } else {
        r->n_beyond++;
    }
}

static void add_points(tess_xp_sweep *s, const stretch *t, const int32_t *pixel_of)
{
    tess_xp_sum *lags = s->lags + t->angle * s->n_frame;
    const int64_t i_pixel = pixel_of[t->row];
    tess_xp_cell *cells = cell_at(s, t->angle, i_pixel, i_pixel) - i_pixel;
    for (int64_t k = 0; k < t->n; k++) {
        const int64_t j = t->first + k;
        tess_xp_cell *cell = &cells[pixel_of[j]];
        const double fitted = t->model ? t->offset + t->contrast * t->model[j] : 0;
        cell->fitted += fitted;
        cell->n_pair++;
        if (!isfinite(t->y[k])) {
            continue;
        }
        const double inverse = t->weight      ? sqrt(t->weight[k])
                               : t->lag_sigma ? 1 / t->lag_sigma[j - t->row]
                                              : t->inverse_sigma;
        const double z = (t->y[k] - fitted) * inverse;
        tess_xp_sum *lag = &lags[j - t->row];
        cell->measured += t->y[k];
        cell->residual += z;
        cell->n++;
        lag->measured += t->y[k];
        lag->fitted += fitted;
        lag->residual += z;
        lag->squares += z * z;
        lag->n++;
        if (t->model) {
            s->residuals[t->angle].squares += z * z;
            add_to_histogram(&s->residuals[t->angle], z);
        }
    }
}

static void add_ages(tess_xp_sweep *s, const stretch *t)
{
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        const int64_t k = t->row + s->age_lags[l] - t->first;
        if (k < 0 || k >= t->n || !isfinite(t->y[k])) {
            continue;
        }
        const int64_t bin = (2 * t->row + s->age_lags[l]) * s->n_age / (2 * s->n_frame);
        tess_xp_sum *age = &s->ages[(t->angle * TESS_XP_SWEEP_LAGS + l) * s->n_age + bin];
        age->measured += t->y[k];
        age->fitted += t->model ? t->offset + t->contrast * t->model[t->first + k] : 0;
        age->n++;
    }
}

// Samples of a tile; converted into buffer if they are f32.
static const double *samples_of(const worker *w, const unsigned char *record, int64_t angle,
                                const tess_xp_tile *tile, double buffer[RUN])
{
    const size_t head = (size_t)w->tiles->n_angle * TESS_STAGE_XPCS_HEAD * sizeof(double);
    const unsigned char *y =
        record + head + (size_t)(angle * tile->width) * (size_t)w->tiles->item_bytes;
    if (w->tiles->item_bytes == sizeof(double)) {
        return (const double *)(const void *)y;
    }
    for (int64_t k = 0; k < tile->n_column; k++) {
        buffer[k] = (double)((const float *)(const void *)y)[k];
    }
    return buffer;
}

static const double *weights_of(const worker *w, const unsigned char *record, int64_t angle,
                                const tess_xp_tile *tile)
{
    if (!w->noise.has_dataset) {
        return NULL;
    }
    const size_t n_angle = (size_t)w->tiles->n_angle;
    const unsigned char *plane = record + n_angle * TESS_STAGE_XPCS_HEAD * sizeof(double) +
                                 n_angle * (size_t)tile->width * (size_t)w->tiles->item_bytes;
    return (const double *)(const void *)plane + angle * tile->width;
}

// model: rows from first_row on.
static void add_tile(const worker *w, int64_t angle, int64_t tile_number, int64_t first_row,
                     const double *model)
{
    tess_xp_sweep *s = w->sweep;
    const tess_xpcs_result_info *info = s->setup.info;
    const tess_xp_tile tile = tess_xp_tiles_at(w->tiles, tile_number);
    const unsigned char *record = w->records + (tile.offset - w->offset);
    double buffer[RUN];
    stretch t = {.angle = angle - s->setup.first_angle,
                 .row = tile.row,
                 .first = tile.first_column,
                 .n = tile.n_column,
                 .y = samples_of(w, record, angle, &tile, buffer),
                 .weight = weights_of(w, record, angle, &tile),
                 .inverse_sigma = 0};
    if (info) {
        t.model = model + (tile.row - first_row) * s->n_frame;
        t.contrast = info->contrast[angle];
        t.offset = info->offset[angle];
        t.lag_sigma = tess_xp_noise_lags(&w->noise, angle);
        t.inverse_sigma = info->sigma[angle] > 0 ? 1 / info->sigma[angle] : 0;
    }
    add_points(s, &t, w->pixel_of);
    add_ages(s, &t);
}

static tess_status add_angle(void *arg, int64_t block, int32_t thread)
{
    (void)thread;
    const rows *r = arg;
    const worker *w = r->w;
    const int64_t angle = r->first_angle + block;
    double *model = w->model + block * w->n_row * w->sweep->n_frame;
    if (w->sweep->setup.info) {
        TESS_TRY(tess_xp_fitted_rows_here(&w->fitted, angle, r->first_row, r->n_row, model));
    }
    for (int64_t tile = r->first_tile; tile < r->last_tile; tile++) {
        add_tile(w, angle, tile, r->first_row, model);
    }
    return TESS_OK;
}

// Rows first_row..first_row+n_row-1 as far as tiles first..last-1 of the chunk hold them. Angles
// have sums of their own.
static tess_status add_rows(worker *w, int64_t first_row, int64_t n_row, int64_t first,
                            int64_t last)
{
    const tess_xp_sweep_setup *setup = &w->sweep->setup;
    rows r = {.w = w,
              .first_angle = setup->first_angle,
              .first_row = first_row,
              .n_row = n_row,
              .first_tile = first,
              .last_tile = last};
    const int64_t end = setup->first_angle + setup->n_angle;
    for (; r.first_angle < end; r.first_angle += w->n_once) {
        const int64_t left = end - r.first_angle;
        TESS_TRY(tess_parallel_for(setup->ctx->pool, left < w->n_once ? left : w->n_once, add_angle,
                                   &r));
    }
    return TESS_OK;
}

static tess_status add_chunk(worker *w, int64_t first, int64_t last)
{
    while (first < last) {
        const int64_t row = tess_xp_tiles_at(w->tiles, first).row;
        const int64_t left = w->tiles->n_frame - 1 - row; // the last row has no tile
        const int64_t n_row = w->n_row < left ? w->n_row : left;
        const int64_t next = n_row < left ? w->tiles->row_tile[row + n_row] : w->tiles->n_tile;
        const int64_t end = next < last ? next : last;
        const int64_t last_row = tess_xp_tiles_at(w->tiles, end - 1).row;
        TESS_TRY(add_rows(w, row, last_row - row + 1, first, end));
        first = end;
    }
    return TESS_OK;
}

static tess_status sweep_chunks(worker *w, tess_xp_reader *reader, int64_t leaves)
{
    const tess_xp_sweep_setup *setup = &w->sweep->setup;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(w->tiles);
    tess_watch watch;
    tess_watch_begin(&watch, setup->ctx, setup->stage, "tiles", 0, setup->data->info.bytes,
                     setup->data->info.residency == TESS_XPCS_IN_MEMORY ? TESS_STRATEGY_LARGE
                                                                        : TESS_STRATEGY_STREAMING);
    for (int64_t leaf = 0; leaf < n_leaf; leaf += leaves) {
        const int64_t n = leaf + leaves < n_leaf ? leaves : n_leaf - leaf;
        const int64_t first = leaf * TESS_STAGE_XPCS_LEAF;
        const int64_t end = (leaf + n) * TESS_STAGE_XPCS_LEAF;
        const int64_t last = end < w->tiles->n_tile ? end : w->tiles->n_tile;
        TESS_TRY(tess_watch_poll(&watch, first, w->tiles->n_tile));
        TESS_TRY(tess_xp_reader_get(reader, leaf, n, &w->records));
        w->offset = tess_xp_tiles_leaf_offset(w->tiles, leaf);
        TESS_TRY(add_chunk(w, first, last));
    }
    return tess_watch_poll(&watch, w->tiles->n_tile, w->tiles->n_tile);
}

static tess_status sweep_all(worker *w)
{
    const tess_xp_sweep_setup *setup = &w->sweep->setup;
    const int64_t leaves = tess_xp_leaves_in(setup->data, CHUNK_BYTES);
    tess_xp_reader reader;
    TESS_TRY(tess_xp_reader_open(setup->ctx, setup->data, leaves, false, &reader));
    tess_span span = tess_span_begin(&setup->ctx->tracer, "xpcs.report.sweep");
    const tess_status status = sweep_chunks(w, &reader, leaves);
    tess_span_end(&span, (double)setup->data->info.bytes, 0);
    tess_xp_reader_close(&reader);
    return status;
}

// Where the fit has lost a tenth and more of its contrast, halfway through the frames and angles;
// without a fit, or where it does not fall so far, lags that are short against the whole.
static tess_status choose_lags(tess_xp_sweep *s, const worker *w)
{
    static const double levels[TESS_XP_SWEEP_LAGS] = {0.9, 0.6, 0.3, 0.1};
    static const int64_t shares[TESS_XP_SWEEP_LAGS] = {100, 30, 10, 3};
    const int64_t row = s->n_frame / 2;
    if (s->setup.info) {
        const int64_t angle = s->setup.info->n_angle / 2;
        TESS_TRY(tess_xp_fitted_rows(&w->fitted, angle, row, 1, w->model));
    }
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        const int64_t least = l > 0 ? s->age_lags[l - 1] + 1 : 1;
        int64_t lag = least;
        while (s->setup.info && row + lag < s->n_frame && w->model[row + lag] > levels[l]) {
            lag++;
        }
        if (!s->setup.info || row + lag >= s->n_frame) {
            lag = s->n_frame / shares[l];
        }
        s->age_lags[l] = lag > least ? lag : least;
    }
    return TESS_OK;
}

static tess_status prepare(tess_xp_sweep *s, worker *w)
{
    static const char what[] = "pictures of two-time correlations";
    const int64_t n_angle = s->setup.n_angle;
    const int64_t model_bytes = bytes_for(s->setup.ctx, MODEL_BYTES, 8);
    const int64_t n_fit = model_bytes / (s->n_frame * (int64_t)sizeof(double));
    w->n_once = n_fit < 1 ? 1 : n_fit < n_angle ? n_fit : n_angle;
    const int64_t n_row = n_fit / w->n_once;
    w->n_row = n_row < 1 ? 1 : n_row < s->n_frame ? n_row : s->n_frame;
    s->cells = tess_blocks_alloc(&s->memory, n_angle * map_cells(s->side), sizeof *s->cells, what);
    s->lags = tess_blocks_alloc(&s->memory, n_angle * s->n_frame, sizeof *s->lags, what);
    s->ages = tess_blocks_alloc(&s->memory, n_angle * TESS_XP_SWEEP_LAGS * s->n_age,
                                sizeof *s->ages, what);
    s->residuals = tess_blocks_alloc(&s->memory, n_angle, sizeof *s->residuals, what);
    w->pixel_of = tess_blocks_alloc(&s->memory, s->n_frame, sizeof *w->pixel_of, what);
    w->model = tess_blocks_alloc(&s->memory, s->setup.info ? w->n_once * w->n_row * s->n_frame : 0,
                                 sizeof *w->model, what);
    if (!s->cells || !s->lags || !s->ages || !s->residuals || !w->pixel_of || !w->model) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n_frame; i++) {
        w->pixel_of[i] = (int32_t)(i * s->side / s->n_frame);
    }
    return TESS_OK;
}

static void add_residuals(const tess_xp_residuals *from, tess_xp_residuals *to)
{
    for (int k = 0; k < TESS_XP_SWEEP_BARS; k++) {
        to->bars[k] += from->bars[k];
    }
    to->n_beyond += from->n_beyond;
    to->n_point += from->n_point;
    to->squares += from->squares;
}

tess_status tess_xp_sweep_run(const tess_xp_sweep_setup *setup, tess_xp_sweep *out)
{
    const int64_t n_frame = setup->data->info.n_frame;
    *out = (tess_xp_sweep){
        .setup = *setup, .n_frame = n_frame, .side = setup->side < n_frame ? setup->side : n_frame};
    worker w = {.sweep = out, .tiles = &setup->data->tiles};
    tess_blocks_init(&out->memory, &setup->ctx->heap);
    out->n_age = n_frame < TESS_XP_SWEEP_AGES ? n_frame : TESS_XP_SWEEP_AGES;
    tess_status status = prepare(out, &w);
    if (status == TESS_OK && setup->info) {
        status = tess_xp_fitted_open(setup->ctx, setup->info, setup->data, setup->model, &w.fitted);
    }
    if (status == TESS_OK && setup->info) {
        status = tess_xp_noise_open(setup->info, setup->data, &w.noise);
    }
    if (status == TESS_OK) {
        status = choose_lags(out, &w);
    }
    if (status == TESS_OK) {
        status = sweep_all(&w);
    }
    for (int64_t a = 0; status == TESS_OK && setup->residuals && a < setup->n_angle; a++) {
        add_residuals(&out->residuals[a], setup->residuals);
    }
    tess_xp_noise_close(&w.noise);
    tess_xp_fitted_close(&w.fitted);
    if (status != TESS_OK) {
        tess_xp_sweep_free(out);
    }
    return status;
}

void tess_xp_sweep_free(tess_xp_sweep *sweep)
{
    tess_blocks_free(&sweep->memory);
    *sweep = (tess_xp_sweep){0};
}

static double value_of(const tess_xp_cell *cell, tess_xp_map which)
{
    switch (which) {
    case TESS_XP_FITTED:
        return cell->n_pair > 0 ? cell->fitted / (double)cell->n_pair : (double)NAN;
    case TESS_XP_RESIDUAL:
        return cell->n > 0 ? cell->residual / (double)cell->n : (double)NAN;
    default:
        return cell->n > 0 ? cell->measured / (double)cell->n : (double)NAN;
    }
}

// Of the neighbours along the row and the column that there are.
static double beside_diagonal(const double *values, int64_t side, int64_t i)
{
    double sum = 0;
    int n = 0;
    for (int64_t step = -1; step <= 1; step += 2) {
        const int64_t j = i + step;
        if (j >= 0 && j < side && isfinite(values[i * side + j])) {
            sum += values[i * side + j];
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

void tess_xp_sweep_map(const tess_xp_sweep *sweep, int64_t angle, tess_xp_map which, double *values)
{
    const int64_t side = sweep->side;
    for (int64_t i = 0; i < side; i++) {
        for (int64_t j = i; j < side; j++) {
            const double value = value_of(cell_at(sweep, angle, i, j), which);
            values[i * side + j] = value;
            values[j * side + i] = value;
        }
    }
    for (int64_t i = 0; i < side; i++) {
        if (cell_at(sweep, angle, i, i)->n_pair == 0) {
            values[i * side + i] = beside_diagonal(values, side, i);
        }
    }
}
