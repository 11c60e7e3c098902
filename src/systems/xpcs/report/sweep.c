#include "systems/xpcs/report/sweep.h"

#include "base/span.h"
#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "systems/xpcs/report/sweep_there.h"
#include "systems/xpcs/result/noise.h"

#include <math.h>
#include <string.h>

enum {
    PICTURE_BYTES = 64 << 20, // of the maps of a sweep, at most
};

// What a sweep works with.
typedef struct worker {
    tess_xp_sweep *sweep;
    const tess_xp_tiles *tiles;
    tess_xp_fitted fitted;
    tess_xp_noise noise;
    tess_xp_angle *angles; // [n_angle of the data]
    double *row;           // [n_frame] of the model
} worker;

static tess_xp_cell *cell_at(const tess_xp_sweep *s, int64_t angle, int64_t i, int64_t j)
{
    return s->cells + angle * tess_xp_map_cells(s->side) + i * s->side - i * (i - 1) / 2 + (j - i);
}

static int64_t bytes_for(const tess_context *ctx, int64_t most, uint64_t share)
{
    const uint64_t room = tess_budget_room(ctx->memory_limit_bytes) / share;
    return room < (uint64_t)most ? (int64_t)room : most;
}

int64_t tess_xp_sweep_angles(const tess_context *ctx, int64_t side)
{
    const int64_t bytes = bytes_for(ctx, PICTURE_BYTES, 4);
    const int64_t n = bytes / (tess_xp_map_cells(side) * (int64_t)sizeof(tess_xp_cell));
    return n > 1 ? n : 1;
}

static tess_stage_xpcs_sweep stage_of(const worker *w)
{
    const tess_xp_sweep *s = w->sweep;
    const tess_xpcs_result_info *info = s->setup.info;
    tess_stage_xpcs_sweep stage = {
        .tiles = w->tiles,
        .grid = info ? &w->fitted.grids.grid : NULL,
        .angles = w->angles,
        .lag_sigma = info ? w->noise.per_lag : NULL,
        .cells = s->cells,
        .lags = s->lags,
        .ages = s->ages,
        .bars = s->bars,
        .first_angle = s->setup.first_angle,
        .n_angle = s->setup.n_angle,
        .side = s->side,
        .n_age = s->n_age,
        .use_sigma = w->noise.has_dataset,
        .n_param = info ? (int32_t)tess_xp_n_param((tess_xpcs_mode)info->mode) : 3,
        .power = info ? tess_xp_power((tess_xpcs_kernel)info->kernel) : 2};
    memcpy(stage.age_lags, s->age_lags, sizeof stage.age_lags);
    return stage;
}

static tess_status sweep_chunks(worker *w, tess_xp_sweep_there *there)
{
    const tess_xp_sweep_setup *setup = &w->sweep->setup;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(w->tiles);
    tess_watch watch;
    tess_watch_begin(&watch, setup->ctx, setup->stage, "tiles", 0, setup->data->info.bytes,
                     setup->data->info.residency == TESS_XPCS_IN_MEMORY ? TESS_STRATEGY_LARGE
                                                                        : TESS_STRATEGY_STREAMING);
    for (int64_t leaf = 0; leaf < n_leaf; leaf += there->leaves) {
        const int64_t n = leaf + there->leaves < n_leaf ? there->leaves : n_leaf - leaf;
        TESS_TRY(tess_watch_poll(&watch, leaf * TESS_STAGE_XPCS_LEAF, w->tiles->n_tile));
        TESS_TRY(tess_xp_sweep_there_add(there, leaf, n));
    }
    TESS_TRY(tess_xp_sweep_there_fetch(there));
    return tess_watch_poll(&watch, w->tiles->n_tile, w->tiles->n_tile);
}

static tess_status sweep_all(worker *w)
{
    const tess_xp_sweep_setup *setup = &w->sweep->setup;
    const tess_stage_xpcs_sweep stage = stage_of(w);
    tess_xp_sweep_there there;
    tess_span span = tess_span_begin(&setup->ctx->tracer, "xpcs.report.sweep");
    tess_status status = tess_xp_sweep_there_open(setup->ctx, setup->data, &stage, &there);
    if (status == TESS_OK) {
        status = sweep_chunks(w, &there);
    }
    tess_xp_sweep_there_close(&there);
    tess_span_end(&span, (double)setup->data->info.bytes, 0);
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
        TESS_TRY(tess_xp_fitted_rows(&w->fitted, angle, row, 1, w->row));
    }
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        const int64_t least = l > 0 ? s->age_lags[l - 1] + 1 : 1;
        int64_t lag = least;
        while (s->setup.info && row + lag < s->n_frame && w->row[row + lag] > levels[l]) {
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
    const int64_t n_cell = n_angle * tess_xp_map_cells(s->side);
    tess_blocks *memory = &s->memory;
    s->cells = tess_blocks_alloc(memory, n_cell, sizeof *s->cells, what);
    s->lags = tess_blocks_alloc(memory, n_angle * s->n_frame, sizeof *s->lags, what);
    s->ages =
        tess_blocks_alloc(memory, n_angle * TESS_XP_SWEEP_LAGS * s->n_age, sizeof *s->ages, what);
    s->bars = tess_blocks_alloc(memory, n_angle * (TESS_XP_SWEEP_BARS + 1), sizeof *s->bars, what);
    w->row = tess_blocks_alloc(memory, s->n_frame, sizeof *w->row, what);
    w->angles = tess_blocks_alloc(memory, w->tiles->n_angle, sizeof *w->angles, what);
    return s->cells && s->lags && s->ages && s->bars && w->row && w->angles ? TESS_OK
                                                                            : TESS_E_MEMORY;
}

static void fill_angles(const worker *w)
{
    const tess_xpcs_result_info *info = w->sweep->setup.info;
    for (int64_t a = 0; info && a < info->n_angle; a++) {
        tess_xp_angle_fill(&w->angles[a], &w->fitted.model, info->theta, info->phi[a], info->q[a]);
        w->angles[a].contrast = info->contrast[a];
        w->angles[a].offset = info->offset[a];
        w->angles[a].inverse_variance =
            info->sigma[a] > 0 ? 1 / (info->sigma[a] * info->sigma[a]) : 0;
    }
}

static void add_residuals(const tess_xp_sweep *s, tess_xp_residuals *to)
{
    for (int64_t a = 0; a < s->setup.n_angle; a++) {
        const int64_t *bars = s->bars + a * (TESS_XP_SWEEP_BARS + 1);
        const tess_xp_sum *lags = s->lags + a * s->n_frame;
        double squares = 0;
        for (int64_t lag = 0; lag < s->n_frame; lag++) {
            to->n_point += lags[lag].n;
            squares += lags[lag].squares;
        }
        to->squares += squares;
        for (int k = 0; k < TESS_XP_SWEEP_BARS; k++) {
            to->bars[k] += bars[k];
        }
        to->n_beyond += bars[TESS_XP_SWEEP_BARS];
    }
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
        fill_angles(&w);
        status = choose_lags(out, &w);
    }
    if (status == TESS_OK) {
        status = sweep_all(&w);
    }
    if (status == TESS_OK && setup->residuals && setup->info) {
        add_residuals(out, setup->residuals);
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
