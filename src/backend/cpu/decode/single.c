// One spike at a time on the calling thread: for latency.
#include "backend/cpu/decode/kde.h"
#include "base/status.h"
#include "kernels/decode_kde.h"

#include <math.h>
#include <string.h>

static const double SQRT_LOG2_E = 1.2011224087864498;
static const int64_t MOST_ANEW = 4;

// Any model, any electrode: a tile of one.
static void as_tile(kde_tile *tile, float *values)
{
    if (!tile->model->is_exact) {
        kde_tile_fast(tile, values);
        return;
    }
    kde_tile_exact(tile, tile->scratch->values);
    for (int64_t p = 0; p < tile->model->n_bin; p++) {
        values[p] = (float)tile->scratch->values[p];
    }
}

// Scaled marks in f64 and f32; 0 if they are beyond what f32 can do.
static int scale_mark(const kde_tile *tile)
{
    const tess_kde_electrode *e = tile->electrode;
    int is_within = 1;
    for (int64_t f = 0; f < e->n_feature; f++) {
        const double mark = (tile->marks[f] - e->mark_centre[f]) * e->mark_scale[f];
        tile->scratch->mark[f] = mark;
        tile->scratch->x_f32[f] = (float)(mark * SQRT_LOG2_E);
        is_within &= fabs(mark * SQRT_LOG2_E) <= tile->model->mark_reach;
    }
    return is_within;
}

// Moments of every cell, each repeated for a block of bins; returns the sum of the first ones.
static double repeat_moments(const kde_tile *tile)
{
    const tess_kde_electrode *e = tile->electrode;
    const tess_kde_grid *grid = &tile->model->grid;
    float *repeated = tile->scratch->moments;
    float moments[TESS_DE_SINGLE_ORDER];
    double total = 0;
    memset(repeated, 0, (size_t)(grid->n_cell * grid->order) * TESS_KDE_BLOCK * sizeof(float));
    for (int64_t c = 0; c < e->n_cell; c++) {
        const int64_t first = e->cell_first[c];
        tile->kernels->decode_single_f32(e->marks_f32 + first, (size_t)e->stride,
                                         (size_t)(e->cell_first[c + 1] - first),
                                         (size_t)e->n_feature, tile->scratch->x_f32, e->t + first,
                                         e->base + first, (size_t)grid->order, moments);
        total += (double)moments[0];
        float *to = repeated + e->cell[c] * grid->order * TESS_KDE_BLOCK;
        for (int64_t k = 0; k < grid->order; k++) {
            for (int64_t j = 0; j < TESS_KDE_BLOCK; j++) {
                to[k * TESS_KDE_BLOCK + j] = moments[k];
            }
        }
    }
    return total;
}

// row = offset + log of the sums at every bin.
static void evaluate(const kde_tile *tile)
{
    const tess_kde_grid *grid = &tile->model->grid;
    const tess_kde_axis *axis = &grid->axes[0];
    float *sums = tile->scratch->sums_f32;
    float *logs = tile->scratch->values_f32;
    const int64_t row_items = grid->order * TESS_KDE_BLOCK;
    for (int64_t k = 0; k < axis->n_block; k++) {
        float block[TESS_KDE_BLOCK];
        const int64_t first = axis->first[k];
        tile->kernels->decode_place_f32(axis->table + (axis->row[k] + first) * row_items,
                                        tile->scratch->moments + first * row_items,
                                        (size_t)((axis->end[k] - first) * grid->order), block);
        for (int64_t j = 0; j < TESS_KDE_BLOCK; j++) {
            const int32_t bin = grid->bins[k * TESS_KDE_BLOCK + j];
            if (bin >= 0) {
                sums[bin] = block[j] > 0 ? block[j] : 0;
            }
        }
    }
    tile->kernels->log_f32(sums, (size_t)tile->model->n_bin, logs);
    for (int64_t p = 0; p < tile->model->n_bin; p++) {
        tile->scratch->row[p] = (double)logs[p] + tile->electrode->offset[p];
    }
}

// A line with cells: encoding spikes in the lanes. 0 if the spike needs more than that.
static int on_line(kde_tile *tile, float *values)
{
    if (!scale_mark(tile)) {
        return 0;
    }
    const double total = repeat_moments(tile);
    evaluate(tile);
    kde_spike spike = {.row = tile->scratch->row,
                       .mark = tile->scratch->mark,
                       .sure = kde_least_sure(tile, total)};
    // Without a basis the other way is every pair: a few values anew cost less.
    if (!kde_finish(tile, &spike, tile->electrode->basis ? 0 : MOST_ANEW)) {
        return 0;
    }
    for (int64_t p = 0; p < tile->model->n_bin; p++) {
        values[p] = (float)tile->scratch->row[p];
    }
    return 1;
}

static void single_spike(const void *handle, const tess_kde_model *model, int64_t electrode,
                         const float *mark, void *memory, float *values)
{
    const tess_kde_electrode *e = &model->electrodes[electrode];
    if (e->n_spike == 0) {
        for (int64_t p = 0; p < model->n_bin; p++) {
            values[p] = (float)model->unheard_value;
        }
        return;
    }
    kde_scratch scratch;
    kde_scratch_open(model, memory, &scratch);
    double *raw = scratch.anew + model->max_feature; // not the first: that a rerun overwrites
    for (int64_t f = 0; f < e->n_feature; f++) {
        raw[f] = (double)mark[f];
    }
    kde_tile tile = {.kernels = handle,
                     .model = model,
                     .electrode = e,
                     .marks = raw,
                     .n = 1,
                     .scratch = &scratch};
    const int has_line = e->t && model->grid.order <= TESS_DE_SINGLE_ORDER;
    if (!has_line || !on_line(&tile, values)) {
        as_tile(&tile, values);
    }
}

tess_status tess_cpu_decode_kde_bind(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_kde_bind *a = args;
    a->bound->spike = single_spike;
    a->bound->handle = device->kernels;
    a->bound->scratch_bytes = kde_scratch_bytes(a->model);
    return TESS_OK;
}
