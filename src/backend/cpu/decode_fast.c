// The clusterless likelihood in f32: moments of cells of position, or the place kernel itself.
//
// Weights are 2^-q without a maximum taken out: a spike whose nearest encoding spikes are so far
// that this matters, or that lies where f32 is too coarse, is computed anew in f64.
#include "backend/cpu/decode_kde.h"

#include <math.h>
#include <string.h>

static const double SQRT_LOG2_E = 1.2011224087864498;
// What the least weight adds must not be seen: sums below this many nats per unit of weight are
// not sure (the least weight is exp(-69), and distances beyond lose their last digits to f32).
static const double DEEPEST = -52;
// More values than this of a spike, and all of them are computed anew.
static const int64_t MOST_ANEW = 2;

typedef struct fast_tile {
    kde_tile *tile;
    const tess_kde_electrode *e;
    size_t lanes;
} fast_tile;

// Scaled marks; lanes beyond the last spike repeat it.
static void load_marks(const fast_tile *t)
{
    const tess_kde_electrode *e = t->e;
    const kde_scratch *scratch = t->tile->scratch;
    for (int64_t f = 0; f < e->n_feature; f++) {
        const double scale = e->mark_scale[f] * SQRT_LOG2_E;
        for (size_t s = 0; s < t->lanes; s++) {
            const int64_t from = (int64_t)s < t->tile->n ? (int64_t)s : t->tile->n - 1;
            const double mark = t->tile->marks[from * e->n_feature + f] - e->mark_centre[f];
            scratch->x_f32[(size_t)f * t->lanes + s] = (float)(mark * scale);
        }
    }
}

static void weights_of(const fast_tile *t, int64_t first, int64_t n)
{
    const kde_scratch *scratch = t->tile->scratch;
    t->tile->kernels->decode_weights_f32(t->e->marks_f32 + first, (size_t)t->e->n_spike, (size_t)n,
                                         (size_t)t->e->n_feature, scratch->x_f32, t->lanes,
                                         scratch->weights_f32);
}

// The place kernel of every encoding spike at every bin.
static void sum_kernel(const fast_tile *t)
{
    const kde_scratch *scratch = t->tile->scratch;
    const size_t n_bin = (size_t)t->tile->model->n_bin;
    memset(scratch->sums_f32, 0, n_bin * t->lanes * sizeof(float));
    for (int64_t first = 0; first < t->e->n_spike; first += KDE_CHUNK) {
        const int64_t left = t->e->n_spike - first;
        const int64_t n = left < KDE_CHUNK ? left : KDE_CHUNK;
        weights_of(t, first, n);
        t->tile->kernels->decode_accumulate_f32(t->e->basis + (size_t)first * n_bin, n_bin, 0,
                                                scratch->weights_f32, t->lanes, 0, (size_t)n, 1,
                                                n_bin, t->lanes, scratch->sums_f32, t->lanes);
    }
}

// moments[cell - first_cell][k] of the electrode's cells from e->cell[*next] on that lie before
// end_cell, which are n_cell; zero where there are no spikes. *next moves on.
static void sum_moments(const fast_tile *t, int64_t *next, int64_t first_cell, int64_t n_cell)
{
    const tess_kde_electrode *e = t->e;
    const kde_scratch *scratch = t->tile->scratch;
    const size_t n_moment = (size_t)t->tile->model->grid.n_moment;
    memset(scratch->moments, 0, (size_t)n_cell * n_moment * t->lanes * sizeof(float));
    int64_t c = *next;
    int64_t last = c;
    while (last < e->n_cell && e->cell[last] < first_cell + n_cell) {
        last++;
    }
    const int64_t end_spike = e->cell_first[last];
    for (int64_t first = e->cell_first[c]; first < end_spike; first += KDE_CHUNK) {
        const int64_t end = first + KDE_CHUNK < end_spike ? first + KDE_CHUNK : end_spike;
        weights_of(t, first, end - first);
        for (int64_t i = first; i < end;) {
            const int64_t cell_end = e->cell_first[c + 1] < end ? e->cell_first[c + 1] : end;
            t->tile->kernels->decode_accumulate_f32(
                e->basis + (size_t)i * n_moment, n_moment, 0,
                scratch->weights_f32 + (size_t)(i - first) * t->lanes, t->lanes, 0,
                (size_t)(cell_end - i), 1, n_moment, t->lanes,
                scratch->moments + (size_t)(e->cell[c] - first_cell) * n_moment * t->lanes,
                t->lanes);
            i = cell_end;
            c += i == e->cell_first[c + 1];
        }
    }
    *next = last;
}

// Adds the first moments of the cells to the total of every lane.
static void add_totals(const fast_tile *t, int64_t n_cell)
{
    const size_t step = (size_t)t->tile->model->grid.n_moment * t->lanes;
    const kde_scratch *scratch = t->tile->scratch;
    for (int64_t c = 0; c < n_cell; c++) {
        for (size_t s = 0; s < t->lanes; s++) {
            scratch->total[s] += scratch->moments[(size_t)c * step + s];
        }
    }
}

// partial[value][row][b] at values of axes[1] from the moments of the row, run of neighbouring
// cells by run.
static void sum_row(const fast_tile *t, int64_t row, int64_t b)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const tess_kde_axis *axis = &grid->axes[1];
    const size_t lanes = t->lanes;
    const size_t order = (size_t)grid->order;
    const size_t n_moment = (size_t)grid->n_moment;
    const size_t before = (size_t)(b * grid->order - b * (b - 1) / 2); // moments of lower degrees
    const float *moments = t->tile->scratch->moments + before * lanes;
    const size_t stride = (size_t)grid->axes[0].n_cell * order * lanes;
    float *partial = t->tile->scratch->partial + ((size_t)row * order + (size_t)b) * lanes;
    const int64_t end = grid->row_first[row + 1];
    for (int64_t run = grid->row_first[row]; run < end;) {
        int64_t run_end = run + 1;
        while (run_end < end && grid->column[run_end] == grid->column[run_end - 1] + 1) {
            run_end++;
        }
        for (int64_t k = 0; k < axis->n_block; k++) {
            const int64_t low = axis->first[k] - grid->column[run];
            const int64_t high = axis->end[k] - grid->column[run];
            const int64_t from = run + (low > 0 ? low : 0);
            const int64_t to = run + high < run_end ? run + high : run_end;
            if (from >= to) {
                continue;
            }
            const size_t cell = (size_t)(k * axis->n_cell + grid->column[from]);
            t->tile->kernels->decode_accumulate_f32(
                axis->table + cell * order * TESS_KDE_BLOCK, TESS_KDE_BLOCK, order * TESS_KDE_BLOCK,
                moments + (size_t)(from - grid->row_first[row]) * n_moment * lanes, lanes,
                n_moment * lanes, order - (size_t)b, (size_t)(to - from), TESS_KDE_BLOCK, lanes,
                partial + (size_t)(k * TESS_KDE_BLOCK) * stride, stride);
        }
        run = run_end;
    }
}

// Along axes[0], for one value of axes[1] (on a line: the moments themselves).
static void sum_column(const fast_tile *t, int64_t column)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const tess_kde_axis *axis = &grid->axes[0];
    const kde_scratch *scratch = t->tile->scratch;
    const size_t lanes = t->lanes;
    const size_t order = (size_t)grid->order;
    const size_t column_items = (size_t)axis->n_cell * order * lanes;
    const float *rows =
        grid->n_dim == 2 ? scratch->partial + (size_t)column * column_items : scratch->moments;
    for (int64_t k = 0; k < axis->n_block; k++) {
        const int32_t *bins = grid->bins + (column * axis->n_block + k) * TESS_KDE_BLOCK;
        int has_bins = 0;
        for (int64_t j = 0; j < TESS_KDE_BLOCK; j++) {
            has_bins |= bins[j] >= 0;
        }
        if (!has_bins) {
            continue;
        }
        const size_t first = (size_t)axis->first[k];
        const size_t n = (size_t)(axis->end[k] - axis->first[k]) * order;
        memset(scratch->block, 0, TESS_KDE_BLOCK * lanes * sizeof(float));
        t->tile->kernels->decode_accumulate_f32(
            axis->table + ((size_t)(k * axis->n_cell) + first) * order * TESS_KDE_BLOCK,
            TESS_KDE_BLOCK, 0, rows + first * order * lanes, lanes, 0, n, 1, TESS_KDE_BLOCK, lanes,
            scratch->block, lanes);
        for (int64_t j = 0; j < TESS_KDE_BLOCK; j++) {
            if (bins[j] >= 0) {
                memcpy(scratch->sums_f32 + (size_t)bins[j] * lanes,
                       scratch->block + (size_t)j * lanes, lanes * sizeof(float));
            }
        }
    }
}

// In the plane row by row, so that the moments at hand are few.
static void sum_rows(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const int64_t n_partial =
        grid->axes[0].n_cell * grid->order * grid->axes[1].n_block * TESS_KDE_BLOCK;
    memset(t->tile->scratch->partial, 0, (size_t)n_partial * t->lanes * sizeof(float));
    int64_t next = 0;
    for (int64_t row = 0; row < grid->axes[0].n_cell; row++) {
        const int64_t first = grid->row_first[row];
        const int64_t n = grid->row_first[row + 1] - first;
        const int has_spikes = next < t->e->n_cell && t->e->cell[next] < first + n;
        if (!has_spikes) {
            continue;
        }
        sum_moments(t, &next, first, n);
        add_totals(t, n);
        for (int64_t b = 0; b < grid->order; b++) {
            sum_row(t, row, b);
        }
    }
}

static void sum_places(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    memset(t->tile->scratch->total, 0, t->lanes * sizeof(float));
    int64_t n_column = 1;
    if (grid->n_dim == 2) {
        n_column = grid->axes[1].n_value;
        sum_rows(t);
    } else {
        int64_t next = 0;
        sum_moments(t, &next, 0, grid->n_cell);
        add_totals(t, grid->n_cell);
    }
    for (int64_t column = 0; column < n_column; column++) {
        sum_column(t, column);
    }
}

double kde_least_sure(const kde_tile *tile, double first_moments)
{
    const tess_kde_electrode *e = tile->electrode;
    const tess_kde_grid *grid = &tile->model->grid;
    const double deepest = DEEPEST + log(e->total_weight);
    if (e->n_cell == 0) {
        return deepest;
    }
    const double by_depth = log(grid->growth * first_moments + e->far_weight) - grid->depth;
    return by_depth > deepest ? by_depth : deepest;
}

static double least_sure(const fast_tile *t, size_t lane)
{
    return kde_least_sure(t->tile, (double)t->tile->scratch->total[lane]);
}

static int is_within_f32(const fast_tile *t, size_t lane)
{
    for (int64_t f = 0; f < t->e->n_feature; f++) {
        const double mark = (double)t->tile->scratch->x_f32[(size_t)f * t->lanes + lane];
        if (fabs(mark) > t->tile->model->mark_reach) {
            return 0;
        }
    }
    return 1;
}

// One spike from its sums, bin by bin; 0 if it must be computed anew.
static int finish_spike(const fast_tile *t, size_t lane, float *values)
{
    const tess_kde_model *model = t->tile->model;
    const kde_scratch *scratch = t->tile->scratch;
    if (!is_within_f32(t, lane)) {
        return 0;
    }
    for (int64_t p = 0; p < model->n_bin; p++) {
        const double sum = (double)scratch->sums_f32[(size_t)p * t->lanes + lane];
        scratch->row[p] = sum > 0 ? log(sum) + t->e->offset[p] : -(double)INFINITY;
    }
    for (int64_t f = 0; f < t->e->n_feature; f++) {
        const double raw = t->tile->marks[(int64_t)lane * t->e->n_feature + f];
        scratch->mark[f] = (raw - t->e->mark_centre[f]) * t->e->mark_scale[f];
    }
    kde_spike spike = {.row = scratch->row, .mark = scratch->mark, .sure = least_sure(t, lane)};
    if (!kde_finish(t->tile, &spike, MOST_ANEW)) {
        return 0;
    }
    for (int64_t p = 0; p < model->n_bin; p++) {
        values[p] = (float)scratch->row[p];
    }
    return 1;
}

// values_f32[p][s] floored, and per lane how many of them are unsure or on the floor.
static void finish_lanes(const fast_tile *t)
{
    const tess_kde_model *model = t->tile->model;
    const kde_scratch *scratch = t->tile->scratch;
    const size_t n_bin = (size_t)model->n_bin;
    float *sure = scratch->lane;
    float *floor = scratch->lane + KDE_LANES;
    for (size_t s = 0; s < t->lanes; s++) {
        sure[s] = (float)least_sure(t, s);
    }
    t->tile->kernels->decode_logs_f32(scratch->sums_f32, t->e->offset_f32, n_bin, t->lanes, sure,
                                      scratch->values_f32, floor);
    for (size_t s = 0; s < t->lanes; s++) {
        floor[s] = model->floor_kind == TESS_KDE_FLOOR_RELATIVE
                       ? (float)((double)floor[s] - model->floor_nats)
                       : (float)model->floor_value;
    }
    t->tile->kernels->decode_floor_f32(scratch->values_f32, t->e->offset_f32, n_bin, t->lanes, sure,
                                       floor, scratch->lane + 2 * KDE_LANES,
                                       scratch->lane + 3 * KDE_LANES);
}

// Rows of the lanes, in blocks of bins that stay in the first cache.
static void copy_lanes(const fast_tile *t, float *values)
{
    enum { BLOCK = 16 };
    const int64_t n_bin = t->tile->model->n_bin;
    for (int64_t first = 0; first < n_bin; first += BLOCK) {
        const int64_t n = n_bin - first < BLOCK ? n_bin - first : BLOCK;
        const float *from = t->tile->scratch->values_f32 + (size_t)first * t->lanes;
        for (int64_t s = 0; s < t->tile->n; s++) {
            for (int64_t p = 0; p < n; p++) {
                values[s * n_bin + first + p] = from[(size_t)p * t->lanes + (size_t)s];
            }
        }
    }
}

// Values of all spikes; returns how many are left to be computed anew.
static int64_t finish_tile(const fast_tile *t, float *values, int *anew)
{
    const kde_scratch *scratch = t->tile->scratch;
    const int64_t n_bin = t->tile->model->n_bin;
    int64_t n_anew = 0;
    finish_lanes(t);
    copy_lanes(t, values);
    for (int64_t s = 0; s < t->tile->n; s++) {
        const int64_t n_floored = (int64_t)scratch->lane[3 * KDE_LANES + s];
        if (scratch->lane[2 * KDE_LANES + s] == 0 && is_within_f32(t, (size_t)s)) {
            t->tile->counts.n_floored += n_floored;
            t->tile->counts.n_flat += n_floored == n_bin;
        } else if (!finish_spike(t, (size_t)s, values + s * n_bin)) {
            anew[n_anew++] = (int)s;
        }
    }
    return n_anew;
}

// The spikes listed, in f64.
static void compute_anew(const fast_tile *t, const int *spikes, int64_t n, float *values)
{
    const tess_kde_model *model = t->tile->model;
    const size_t mark_bytes = (size_t)t->e->n_feature * sizeof(double);
    kde_tile tile = *t->tile;
    for (int64_t k = 0; k < n; k++) {
        memcpy(tile.scratch->anew + k * t->e->n_feature,
               t->tile->marks + spikes[k] * t->e->n_feature, mark_bytes);
    }
    tile.marks = tile.scratch->anew;
    tile.n = n;
    kde_tile_exact(&tile, tile.scratch->values);
    t->tile->counts = tile.counts;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t p = 0; p < model->n_bin; p++) {
            values[spikes[k] * model->n_bin + p] =
                (float)tile.scratch->values[k * model->n_bin + p];
        }
    }
}

void kde_tile_fast(kde_tile *tile, float *values)
{
    const size_t vector = tile->kernels->vector_bytes() / sizeof(float);
    fast_tile t = {.tile = tile, .e = tile->electrode};
    t.lanes = ((size_t)tile->n + vector - 1) / vector * vector;
    int anew[KDE_TILE];
    int64_t n_anew = tile->n;
    if (t.e->basis) {
        load_marks(&t);
        if (t.e->n_cell > 0) {
            sum_places(&t);
        } else {
            sum_kernel(&t);
        }
        n_anew = finish_tile(&t, values, anew);
    } else {
        for (int64_t s = 0; s < tile->n; s++) {
            anew[s] = (int)s;
        }
    }
    if (n_anew > 0) {
        compute_anew(&t, anew, n_anew, values);
    }
}
