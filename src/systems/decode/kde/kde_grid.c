#include "systems/decode/kde/kde_grid.h"

#include "base/status.h"
#include "systems/decode/kde/distinct.h"
#include "systems/decode/kde/kde_axis.h"
#include "systems/decode/kde/kde_line.h"

#include <math.h>
#include <string.h>

// Widths of cells that are tried, in bandwidths.
static const double WIDTHS[] = {0.25, 0.3, 1.0 / 3, 0.4, 0.45, 0.5, 0.6, 0.75, 0.9, 1};
// Terms of an expansion cancel down to exp(-2 a) of the largest: what f32 then loses is kept below
// this, or the bound if that is larger.
static const double CANCELLATION = 3e-6;
static const double ROUNDING = 0x1p-24;
// Rows of moments, or of sums at places, that a tile may hold.
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

// The coordinate of axis k, of places [n_dim][n].
static const double *axis_of(const kde_plan *plan, int64_t k, const double *places, int64_t n)
{
    return places + plan->coordinate[k] * n;
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
        const int64_t n = places->n[e];
        range_of(axis_of(plan, k, places->place[e], n), n, &low, &high);
    }
    range_of(axis_of(plan, k, stage->bin_place, stage->n_bin), stage->n_bin, &bin_low, &bin_high);
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

int64_t tess_de_kde_cell(const kde_plan *plan, int64_t n_dim, const double *place)
{
    const int64_t row = along(plan, 0, place[plan->coordinate[0]]);
    if (n_dim == 1 || row < 0) {
        return row;
    }
    const int64_t column = along(plan, 1, place[plan->coordinate[1]]);
    return column < 0 ? -1 : plan->id[row * plan->n_cell[1] + column];
}

double tess_de_kde_within(const kde_plan *plan, double place)
{
    const double centre = plan->low[0] + ((double)along(plan, 0, place) + 0.5) * plan->x.width;
    return 2 * (place - centre) / plan->x.width;
}

void tess_de_kde_basis(const kde_plan *plan, int64_t n_dim, const double *place, double weight,
                       float *basis)
{
    double of[2][TESS_KDE_MAX_ORDER];
    for (int64_t k = 0; k < n_dim; k++) {
        const double at = place[plan->coordinate[k]];
        const double centre = plan->low[k] + ((double)along(plan, k, at) + 0.5) * plan->x.width;
        tess_kde_expansion_basis(&plan->x, at - centre, of[k]);
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
        const double *at[2] = {axis_of(plan, 0, places->place[e], places->n[e]),
                               axis_of(plan, 1, places->place[e], places->n[e])};
        for (int64_t i = 0; i < places->n[e]; i++) {
            const int64_t row = along(plan, 0, at[0][i]);
            const int64_t column = along(plan, 1, at[1][i]);
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

// What plans are chosen for. The coordinates of bins are by coordinate, not by axis.
typedef struct search {
    tess_blocks *scratch;
    const kde_places *places;
    const tess_kde_model *stage;
    double bound;
    double n_pair; // encoding spikes of an average electrode
    double *value[2];
    int64_t n_value[2];
    double n_block[2]; // of TESS_KDE_BLOCK values with a bin, by coordinate of the first axis
} search;

static double in_blocks(int64_t n)
{
    return (double)((n + TESS_KDE_BLOCK - 1) / TESS_KDE_BLOCK * TESS_KDE_BLOCK);
}

// Columns come in fours.
static double columns_cost(double n)
{
    return 4 * ceil(n / 4);
}

// Counts the blocks that have bins, if values of coordinate k are in blocks.
static tess_status count_blocks(search *s, int64_t k)
{
    const tess_kde_model *stage = s->stage;
    const int64_t n_block = (s->n_value[k] + TESS_KDE_BLOCK - 1) / TESS_KDE_BLOCK;
    const int64_t other = 1 - k;
    char *has_bin = tess_blocks_alloc(s->scratch, n_block * s->n_value[other], 1, "bins");
    if (!has_bin) {
        return TESS_E_MEMORY;
    }
    for (int64_t p = 0; p < stage->n_bin; p++) {
        const double *at = stage->bin_place + p;
        const int64_t row = tess_de_distinct_find(s->value[k], s->n_value[k], at[k * stage->n_bin]);
        const int64_t column = stage->n_dim == 2
                                   ? tess_de_distinct_find(s->value[other], s->n_value[other],
                                                           at[other * stage->n_bin])
                                   : 0;
        char *here = has_bin + column * n_block + row / TESS_KDE_BLOCK;
        s->n_block[k] += !*here;
        *here = 1;
    }
    return TESS_OK;
}

// Vector operations per decoding spike to evaluate the moments at all bins.
static double place_cost(const search *s, const kde_plan *plan, double n_cell, double n_moment)
{
    const double band = 2 * plan->x.reach / plan->x.width;
    const double rows = fmin(band, (double)plan->n_cell[0]);
    double cost = s->n_block[plan->coordinate[0]] * TESS_KDE_BLOCK * rows * (double)plan->x.order;
    if (s->stage->n_dim == 2) {
        cost += n_cell * n_moment * in_blocks(s->n_value[plan->coordinate[1]]);
    }
    return cost;
}

// Whether cells of the plan's width can be had, and at what cost.
static bool try_plan(const search *s, kde_plan *plan, double *cost)
{
    const int64_t n_dim = s->stage->n_dim;
    for (int64_t k = 0; k < n_dim; k++) {
        if (!place_cells(s->places, s->stage, k, plan)) {
            return false;
        }
    }
    const double order = (double)plan->x.order;
    double n_cell = (double)plan->n_cell[0];
    double n_moment = order;
    if (n_dim == 2) {
        n_cell = (double)number_cells(s->places, plan);
        n_moment = 0.5 * order * (order + 1);
    }
    plan->place_cost = place_cost(s, plan, n_cell, n_moment);
    *cost = plan->place_cost + s->n_pair * columns_cost(n_moment);
    return (double)plan->n_cell[n_dim - 1] * n_moment <= MOST_ROWS;
}

// Whether cells of this width keep the bound.
static bool is_good_width(const search *s, double width, kde_plan *plan)
{
    const double loss = ROUNDING * exp(2 * sqrt(plan->depth) * width);
    return loss <= fmax(CANCELLATION, s->bound) &&
           tess_kde_expansion_find(width, s->stage->n_dim, plan->depth, s->bound, &plan->x);
}

// Table and reach of one axis.
static tess_status make_axis(tess_blocks *blocks, const kde_plan *plan, int64_t k,
                             const double *value, int64_t n_value, tess_kde_axis *axis)
{
    const int64_t order = plan->x.order;
    const kde_points cells = {.first = plan->low[k] + 0.5 * plan->x.width,
                              .step = plan->x.width,
                              .n = plan->n_cell[k],
                              .reach = plan->x.reach + 0.5 * plan->x.width};
    float *table;
    TESS_TRY(tess_de_kde_axis(blocks, &cells, value, n_value, order, k == 1, axis, &table));
    double entry[TESS_KDE_MAX_ORDER];
    for (int64_t v = 0; v < n_value; v++) {
        const int64_t b = v / TESS_KDE_BLOCK;
        for (int64_t c = axis->first[b]; c < axis->end[b]; c++) {
            const double centre = plan->low[k] + ((double)c + 0.5) * plan->x.width;
            const double u = value[v] - centre;
            if (fabs(u) > cells.reach) {
                continue;
            }
            tess_kde_expansion_table(&plan->x, u, entry);
            float *to = table + tess_de_kde_entry(axis, order, b, c) + v % TESS_KDE_BLOCK;
            for (int64_t i = 0; i < order; i++) {
                to[i * TESS_KDE_BLOCK] = fabs(entry[i]) < LEAST_ENTRY ? 0 : (float)entry[i];
            }
        }
    }
    return TESS_OK;
}

// Which bin each pair of coordinates is.
static tess_status make_bins(tess_blocks *blocks, const search *s, const kde_plan *plan,
                             tess_kde_grid *grid)
{
    const tess_kde_model *stage = s->stage;
    const int64_t n_column = stage->n_dim == 2 ? grid->axes[1].n_value : 1;
    const int64_t n_row = grid->axes[0].n_block * TESS_KDE_BLOCK;
    int32_t *bins = tess_blocks_alloc(blocks, n_column * n_row, sizeof *bins, "bins");
    if (!bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_column * n_row; i++) {
        bins[i] = -1;
    }
    for (int64_t p = 0; p < stage->n_bin; p++) {
        int64_t at[2] = {0, 0};
        for (int64_t k = 0; k < stage->n_dim; k++) {
            const int64_t c = plan->coordinate[k];
            at[k] = tess_de_distinct_find(s->value[c], s->n_value[c],
                                          stage->bin_place[c * stage->n_bin + p]);
        }
        bins[at[1] * n_row + at[0]] = (int32_t)p;
    }
    grid->bins = bins;
    return TESS_OK;
}

static tess_status make_rows(tess_blocks *blocks, const kde_plan *plan, tess_kde_grid *grid)
{
    const int64_t n_row = plan->n_cell[0];
    int32_t *row_first = tess_blocks_alloc(blocks, n_row + 1, sizeof *row_first, "cells");
    int32_t *column = tess_blocks_alloc(blocks, grid->n_cell, sizeof *column, "cells");
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

static tess_status make_grid(tess_blocks *blocks, const search *s, kde_plan *plan,
                             tess_kde_model *stage)
{
    tess_kde_grid *grid = &stage->grid;
    const int64_t order = plan->x.order;
    grid->n_dim = stage->n_dim;
    grid->order = order;
    grid->n_moment = stage->n_dim == 2 ? order * (order + 1) / 2 : order;
    grid->n_column = (grid->n_moment + 3) / 4 * 4;
    grid->n_cell = stage->n_dim == 2 ? number_cells(s->places, plan) : plan->n_cell[0];
    grid->cells_at_once = stage->n_dim == 2 ? 0 : grid->n_cell;
    grid->depth = plan->depth;
    grid->growth = plan->x.growth;
    for (int64_t k = 0; k < stage->n_dim; k++) {
        const int64_t c = plan->coordinate[k];
        TESS_TRY(make_axis(blocks, plan, k, s->value[c], s->n_value[c], &grid->axes[k]));
    }
    if (stage->n_dim == 2) {
        TESS_TRY(make_rows(blocks, plan, grid));
    }
    return make_bins(blocks, s, plan, grid);
}

// Two bins at one place would have one value: no grid for such, nor for places much scattered.
static bool can_have_grid(const search *s)
{
    return s->stage->n_dim == 2 ? in_blocks(s->n_value[0]) * in_blocks(s->n_value[1]) <= MOST_ROWS
                                : s->n_value[0] == s->stage->n_bin;
}

// Room to number the cells of the plane.
static tess_status take_numbers(const search *s, kde_plan *plan)
{
    plan->id = NULL;
    if (s->stage->n_dim < 2 || !place_cells(s->places, s->stage, 0, plan) ||
        !place_cells(s->places, s->stage, 1, plan) ||
        (double)plan->n_cell[0] * (double)plan->n_cell[1] > MOST_CELLS) {
        return TESS_OK;
    }
    plan->id =
        tess_blocks_alloc(s->scratch, plan->n_cell[0] * plan->n_cell[1], sizeof *plan->id, "cells");
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

static double most_spikes(const kde_places *places)
{
    int64_t most = 0;
    for (int64_t e = 0; e < places->n_electrode; e++) {
        most = places->n[e] > most ? places->n[e] : most;
    }
    return (double)most;
}

static tess_status take_values(search *s)
{
    const tess_kde_model *stage = s->stage;
    for (int64_t k = 0; k < stage->n_dim; k++) {
        s->value[k] = tess_blocks_alloc(s->scratch, stage->n_bin, sizeof(double), "bins");
        if (!s->value[k]) {
            return TESS_E_MEMORY;
        }
        s->n_value[k] =
            tess_de_distinct(stage->bin_place + k * stage->n_bin, stage->n_bin, s->value[k]);
    }
    return TESS_OK;
}

// The cheapest plan of any width, with the axes either way round.
static tess_status find_plan(const search *s, kde_plan *plan)
{
    const kde_plan empty = *plan;
    double least = (double)INFINITY;
    for (size_t k = 0; k < sizeof WIDTHS / sizeof *WIDTHS; k++) {
        kde_plan trial = empty;
        if (!is_good_width(s, WIDTHS[k] * 0.70710678118654752440, &trial)) {
            continue;
        }
        for (int64_t first = 0; first < s->stage->n_dim; first++) {
            double cost = 0;
            trial.coordinate[0] = first;
            trial.coordinate[1] = 1 - first;
            TESS_TRY(take_numbers(s, &trial));
            const bool has_room = s->stage->n_dim == 1 || trial.id;
            if (has_room && try_plan(s, &trial, &cost) && cost < least) {
                least = cost;
                *plan = trial;
                plan->has_cells = true;
            }
        }
    }
    return TESS_OK;
}

tess_status tess_de_kde_plan(tess_blocks *blocks, tess_blocks *scratch, const kde_places *places,
                             double bound, tess_kde_model *stage, kde_plan *plan)
{
    plan->has_cells = false;
    if (stage->n_dim > 2 || stage->n_bin == 0) {
        return TESS_OK;
    }
    search s = {.scratch = scratch,
                .places = places,
                .stage = stage,
                .bound = bound,
                .n_pair = mean_spikes(places),
                .n_value = {1, 1}};
    TESS_TRY(take_values(&s));
    if (!can_have_grid(&s)) {
        return TESS_OK;
    }
    for (int64_t k = 0; k < stage->n_dim; k++) {
        TESS_TRY(count_blocks(&s, k));
    }
    TESS_TRY(find_plan(&s, plan));
    if (!plan->has_cells) {
        return TESS_OK;
    }
    TESS_TRY(make_grid(blocks, &s, plan, stage));
    return stage->n_dim == 1 ? tess_de_kde_line(blocks, scratch, s.value[0], s.n_value[0],
                                                most_spikes(places), bound, stage, plan)
                             : TESS_OK;
}
