#include "systems/decode/kde/kde_grid.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Widths of cells that are tried, in bandwidths.
static const double WIDTHS[] = {0.25, 1.0 / 3, 0.5, 0.75, 1};
// Terms of an expansion cancel down to exp(-2 a) of the largest: what f32 then loses is kept below
// this, or the bound if that is larger.
static const double CANCELLATION = 3e-6;
static const double ROUNDING = 0x1p-24;
// Rows of moments (or of their sums along an axis) that a tile may hold.
static const double MOST_ROWS = 65536;
// Cells of the plane, with spikes or without.
static const double MOST_CELLS = 16777216;
// Table entries below this are left out: they would only make denormal products.
static const double LEAST_ENTRY = 1e-30;

static void range_of(const double *x, int64_t n, double *low, double *high)
{
    for (int64_t i = 0; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

// Cells over the spikes of one axis, as far as they are within reach of a bin.
static bool place_cells(const kde_places *places, const tess_kde_model *stage, int64_t k,
                        kde_plan *plan)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    double bin_low = low;
    double bin_high = high;
    for (int64_t e = 0; e < places->n_electrode; e++) {
        range_of(places->place[e] + k * places->n[e], places->n[e], &low, &high);
    }
    range_of(stage->bin_place + k * stage->n_bin, stage->n_bin, &bin_low, &bin_high);
    low = fmax(low, bin_low - plan->x.reach);
    high = fmin(high, bin_high + plan->x.reach);
    if (!(low <= high)) {
        return false;
    }
    const double n = floor((high - low) / plan->x.width) + 1;
    plan->low[k] = low;
    plan->n_cell[k] = n < MOST_CELLS ? (int64_t)n : (int64_t)MOST_CELLS;
    return n < MOST_CELLS;
}

static int64_t along(const kde_plan *plan, int64_t k, double place)
{
    const double at = floor((place - plan->low[k]) / plan->x.width);
    // The last cell's far edge belongs to it, whatever the division rounded to.
    if (at == (double)plan->n_cell[k] &&
        place <= plan->low[k] + plan->x.width * (double)plan->n_cell[k]) {
        return plan->n_cell[k] - 1;
    }
    return at >= 0 && at < (double)plan->n_cell[k] ? (int64_t)at : -1;
}

int64_t tess_decode_kde_cell(const kde_plan *plan, int64_t n_dim, const double *place)
{
    const int64_t row = along(plan, 0, place[0]);
    if (n_dim == 1 || row < 0) {
        return row;
    }
    const int64_t column = along(plan, 1, place[1]);
    return column < 0 ? -1 : plan->id[row * plan->n_cell[1] + column];
}

double tess_decode_kde_within(const kde_plan *plan, double place)
{
    const double centre = plan->low[0] + ((double)along(plan, 0, place) + 0.5) * plan->x.width;
    return 2 * (place - centre) / plan->x.width;
}

void tess_decode_kde_basis(const kde_plan *plan, int64_t n_dim, const double *place, double weight,
                           float *basis)
{
    double of[2][TESS_KDE_MAX_ORDER];
    for (int64_t k = 0; k < n_dim; k++) {
        const double centre =
            plan->low[k] + ((double)along(plan, k, place[k]) + 0.5) * plan->x.width;
        tess_kde_expansion_basis(&plan->x, place[k] - centre, of[k]);
    }
    for (int64_t b = 0; b < plan->x.order; b++) {
        if (n_dim == 1) {
            *basis++ = (float)(weight * of[0][b]);
            continue;
        }
        for (int64_t a = 0; a < plan->x.order - b; a++) {
            *basis++ = (float)(weight * of[0][b] * of[1][a]);
        }
    }
}

// Numbers the cells of the plane that have spikes, row by row; returns how many.
static int64_t number_cells(const kde_places *places, kde_plan *plan)
{
    const int64_t n = plan->n_cell[0] * plan->n_cell[1];
    memset(plan->id, 0, (size_t)n * sizeof *plan->id);
    for (int64_t e = 0; e < places->n_electrode; e++) {
        for (int64_t i = 0; i < places->n[e]; i++) {
            const int64_t row = along(plan, 0, places->place[e][i]);
            const int64_t column = along(plan, 1, places->place[e][places->n[e] + i]);
            if (row >= 0 && column >= 0) {
                plan->id[row * plan->n_cell[1] + column] = 1;
            }
        }
    }
    int32_t next = 0;
    for (int64_t k = 0; k < n; k++) {
        plan->id[k] = plan->id[k] ? next++ : -1;
    }
    return next;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The distinct values of one coordinate of the bins, rising; returns how many.
static int64_t distinct(const double *x, int64_t n, double *value)
{
    memcpy(value, x, (size_t)n * sizeof *x);
    qsort(value, (size_t)n, sizeof *value, compare);
    int64_t n_value = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || value[i] != value[n_value - 1]) {
            value[n_value++] = value[i];
        }
    }
    return n_value;
}

// What the sums of so many columns cost: the kernel does 8 and 4 at its full rate, 2 and 1 as 4.
static double columns_cost(double n)
{
    const double rest = fmod(n, 4);
    return n - rest + (rest == 3 ? 8 : rest > 0 ? 4 : 0);
}

// Vector operations per decoding spike: pairs of an average electrode, then evaluation.
static double cost_of(const kde_plan *plan, const tess_kde_model *stage, const int64_t *n_value,
                      int64_t n_cell, double n_pair)
{
    const double order = (double)plan->x.order;
    const double band = 2 * plan->x.reach / plan->x.width;
    const double rows = fmin(band, (double)plan->n_cell[0]);
    double place = (double)stage->n_bin * rows * order;
    double n_moment = order;
    if (stage->n_dim == 2) {
        n_moment = 0.5 * order * (order + 1);
        place += (double)n_cell * n_moment * (double)n_value[1];
    }
    return place + n_pair * columns_cost(n_moment);
}

// Whether cells of this width can be had, and at what cost.
static bool try_width(double width, double bound, const kde_places *places,
                      const tess_kde_model *stage, const int64_t *n_value, double n_pair,
                      kde_plan *plan, double *cost)
{
    if (!tess_kde_expansion_find(width, stage->n_dim, plan->depth, bound, &plan->x)) {
        return false;
    }
    const double loss = ROUNDING * exp(2 * sqrt(plan->depth) * width);
    if (loss > fmax(CANCELLATION, bound)) {
        return false;
    }
    for (int64_t k = 0; k < stage->n_dim; k++) {
        if (!place_cells(places, stage, k, plan)) {
            return false;
        }
    }
    const double order = (double)plan->x.order;
    double n_cell = (double)plan->n_cell[0];
    double n_moment = order;
    if (stage->n_dim == 2) {
        if ((double)plan->n_cell[0] * order * (double)(n_value[1] + TESS_KDE_BLOCK) > MOST_ROWS) {
            return false;
        }
        n_cell = (double)number_cells(places, plan);
        n_moment = 0.5 * order * (order + 1);
    }
    *cost = cost_of(plan, stage, n_value, (int64_t)n_cell, n_pair);
    plan->place_cost = *cost - n_pair * columns_cost(n_moment);
    return (double)plan->n_cell[stage->n_dim - 1] * n_moment <= MOST_ROWS;
}

// Table and reach of one axis.
static tess_status make_axis(tess_decode_blocks *blocks, const kde_plan *plan, int64_t k,
                             const double *value, int64_t n_value, tess_kde_axis *axis)
{
    const int64_t order = plan->x.order;
    const int64_t n_cell = plan->n_cell[k];
    axis->n_cell = n_cell;
    axis->n_value = n_value;
    axis->n_block = (n_value + TESS_KDE_BLOCK - 1) / TESS_KDE_BLOCK;
    float *table = tess_decode_blocks_alloc(blocks, axis->n_block * n_cell * order * TESS_KDE_BLOCK,
                                            sizeof *table, "place kernel");
    int32_t *first = tess_decode_blocks_alloc(blocks, axis->n_block, sizeof *first, "cells");
    int32_t *end = tess_decode_blocks_alloc(blocks, axis->n_block, sizeof *end, "cells");
    if (!table || !first || !end) {
        return TESS_E_MEMORY;
    }
    double entry[TESS_KDE_MAX_ORDER];
    for (int64_t b = 0; b < axis->n_block; b++) {
        first[b] = (int32_t)n_cell;
        for (int64_t j = 0; j < TESS_KDE_BLOCK && b * TESS_KDE_BLOCK + j < n_value; j++) {
            for (int64_t c = 0; c < n_cell; c++) {
                const double centre = plan->low[k] + ((double)c + 0.5) * plan->x.width;
                const double u = value[b * TESS_KDE_BLOCK + j] - centre;
                if (fabs(u) > plan->x.reach + 0.5 * plan->x.width) {
                    continue;
                }
                first[b] = c < first[b] ? (int32_t)c : first[b];
                end[b] = c + 1 > end[b] ? (int32_t)(c + 1) : end[b];
                tess_kde_expansion_table(&plan->x, u, entry);
                float *to = table + ((b * n_cell + c) * order) * TESS_KDE_BLOCK + j;
                for (int64_t i = 0; i < order; i++) {
                    to[i * TESS_KDE_BLOCK] = fabs(entry[i]) < LEAST_ENTRY ? 0 : (float)entry[i];
                }
            }
        }
        first[b] = first[b] < end[b] ? first[b] : end[b];
    }
    axis->table = table;
    axis->first = first;
    axis->end = end;
    return TESS_OK;
}

static int64_t find(const double *value, int64_t n_value, double x)
{
    return (const double *)bsearch(&x, value, (size_t)n_value, sizeof *value, compare) - value;
}

// Which bin each pair of coordinates is.
static tess_status make_bins(tess_decode_blocks *blocks, const tess_kde_model *stage,
                             double *const *value, tess_kde_grid *grid)
{
    const int64_t n_column = stage->n_dim == 2 ? grid->axes[1].n_value : 1;
    const int64_t n_row = grid->axes[0].n_block * TESS_KDE_BLOCK;
    int32_t *bins = tess_decode_blocks_alloc(blocks, n_column * n_row, sizeof *bins, "bins");
    if (!bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_column * n_row; i++) {
        bins[i] = -1;
    }
    for (int64_t p = 0; p < stage->n_bin; p++) {
        const int64_t row = find(value[0], grid->axes[0].n_value, stage->bin_place[p]);
        const int64_t column = stage->n_dim == 2 ? find(value[1], grid->axes[1].n_value,
                                                        stage->bin_place[stage->n_bin + p])
                                                 : 0;
        bins[column * n_row + row] = (int32_t)p;
    }
    grid->bins = bins;
    return TESS_OK;
}

static tess_status make_rows(tess_decode_blocks *blocks, const kde_plan *plan, tess_kde_grid *grid)
{
    const int64_t n_row = plan->n_cell[0];
    int32_t *row_first = tess_decode_blocks_alloc(blocks, n_row + 1, sizeof *row_first, "cells");
    int32_t *column = tess_decode_blocks_alloc(blocks, grid->n_cell, sizeof *column, "cells");
    if (!row_first || !column) {
        return TESS_E_MEMORY;
    }
    int32_t next = 0;
    for (int64_t r = 0; r < n_row; r++) {
        row_first[r] = next;
        for (int64_t c = 0; c < plan->n_cell[1]; c++) {
            if (plan->id[r * plan->n_cell[1] + c] >= 0) {
                column[next++] = (int32_t)c;
            }
        }
    }
    row_first[n_row] = next;
    for (int64_t r = 0; r < n_row; r++) {
        const int64_t n = row_first[r + 1] - row_first[r];
        grid->cells_at_once = n > grid->cells_at_once ? n : grid->cells_at_once;
    }
    grid->row_first = row_first;
    grid->column = column;
    return TESS_OK;
}

static tess_status make_grid(tess_decode_blocks *blocks, const kde_places *places, kde_plan *plan,
                             tess_kde_model *stage, double *const *value, const int64_t *n_value)
{
    tess_kde_grid *grid = &stage->grid;
    const int64_t order = plan->x.order;
    grid->n_dim = stage->n_dim;
    grid->order = order;
    grid->n_moment = stage->n_dim == 2 ? order * (order + 1) / 2 : order;
    grid->n_cell = stage->n_dim == 2 ? number_cells(places, plan) : plan->n_cell[0];
    grid->cells_at_once = stage->n_dim == 2 ? 0 : grid->n_cell;
    grid->depth = plan->depth;
    grid->growth = plan->x.growth;
    for (int64_t k = 0; k < stage->n_dim; k++) {
        TESS_TRY(make_axis(blocks, plan, k, value[k], n_value[k], &grid->axes[k]));
    }
    if (stage->n_dim == 2) {
        TESS_TRY(make_rows(blocks, plan, grid));
    }
    return make_bins(blocks, stage, value, grid);
}

// Two bins at one place would have one value: no grid for such.
static bool bins_are_distinct(const tess_kde_model *stage, const int64_t *n_value)
{
    return stage->n_dim == 2 || n_value[0] == stage->n_bin;
}

// Room to number the cells of the plane.
static tess_status take_numbers(tess_decode_blocks *scratch, const kde_places *places,
                                const tess_kde_model *stage, double width, double bound,
                                kde_plan *plan)
{
    plan->id = NULL;
    plan->x.width = width;
    plan->x.reach = sqrt(plan->depth + log(4 / bound));
    if (stage->n_dim < 2 || !place_cells(places, stage, 0, plan) ||
        !place_cells(places, stage, 1, plan) ||
        (double)plan->n_cell[0] * (double)plan->n_cell[1] > MOST_CELLS) {
        return TESS_OK;
    }
    plan->id = tess_decode_blocks_alloc(scratch, plan->n_cell[0] * plan->n_cell[1],
                                        sizeof *plan->id, "cells");
    return plan->id ? TESS_OK : TESS_E_MEMORY;
}

static double mean_spikes(const kde_places *places)
{
    double n = 0;
    for (int64_t e = 0; e < places->n_electrode; e++) {
        n += (double)places->n[e] / (double)places->n_electrode;
    }
    return n;
}

tess_status tess_decode_kde_plan(tess_decode_blocks *blocks, tess_decode_blocks *scratch,
                                 const kde_places *places, double bound, tess_kde_model *stage,
                                 kde_plan *plan)
{
    plan->has_cells = false;
    if (stage->n_dim > 2 || stage->n_bin == 0) {
        return TESS_OK;
    }
    double *value[2] = {NULL, NULL};
    int64_t n_value[2] = {1, 1};
    for (int64_t k = 0; k < stage->n_dim; k++) {
        value[k] = tess_decode_blocks_alloc(scratch, stage->n_bin, sizeof(double), "bins");
        if (!value[k]) {
            return TESS_E_MEMORY;
        }
        n_value[k] = distinct(stage->bin_place + k * stage->n_bin, stage->n_bin, value[k]);
    }
    if (!bins_are_distinct(stage, n_value)) {
        return TESS_OK;
    }
    kde_plan best = *plan;
    double least = (double)INFINITY;
    for (size_t k = 0; k < sizeof WIDTHS / sizeof *WIDTHS; k++) {
        const double width = WIDTHS[k] * 0.70710678118654752440;
        double cost = 0;
        kde_plan trial = *plan;
        TESS_TRY(take_numbers(scratch, places, stage, width, bound, &trial));
        const bool has_room = stage->n_dim == 1 || trial.id;
        if (has_room &&
            try_width(width, bound, places, stage, n_value, mean_spikes(places), &trial, &cost) &&
            cost < least) {
            least = cost;
            best = trial;
        }
    }
    if (least == (double)INFINITY) {
        return TESS_OK;
    }
    *plan = best;
    plan->has_cells = true;
    return make_grid(blocks, places, plan, stage, value, n_value);
}
