// The clusterless likelihood in f32: moments of cells of position, or the place kernel itself.
//
// Weights are 2^-q without a maximum taken out: a spike whose nearest encoding spikes are so far
// that this matters, or that lies where f32 is too coarse, is computed anew in f64.
#include "backend/cpu/decode/kde.h"

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
    t->tile->kernels->decode_weights_f32(t->e->marks_f32 + first, (size_t)t->e->stride, (size_t)n,
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
        t->tile->kernels->decode_accumulate_f32(t->e->basis + (size_t)first * n_bin, n_bin, 0, NULL,
                                                scratch->weights_f32, t->lanes, 0, (size_t)n, 1,
                                                n_bin, t->lanes, scratch->sums_f32, t->lanes);
    }
}

// Adds the spikes first..end-1, all of the electrode's cell c, to its moments.
static void add_to_cell(const fast_tile *t, int64_t c, int64_t first, int64_t end,
                        const float *weights, float *moments)
{
    const tess_kde_electrode *e = t->e;
    const size_t n_column = (size_t)t->tile->model->grid.n_column;
    const size_t n = (size_t)(e->cell_first[c + 1] - e->cell_first[c]);
    const float *basis = e->basis + (size_t)e->cell_first[c] * n_column;
    for (size_t k = 0; k < n_column; k += TESS_KDE_BLOCK) {
        const size_t width = n_column - k < TESS_KDE_BLOCK ? n_column - k : TESS_KDE_BLOCK;
        t->tile->kernels->decode_accumulate_f32(
            basis + n * k + (size_t)(first - e->cell_first[c]) * width, width, 0, NULL, weights,
            t->lanes, 0, (size_t)(end - first), 1, width, t->lanes, moments + k * t->lanes,
            t->lanes);
    }
}

// Zeroes the moments of cells *done..end-1, unless that was done before.
static void clear_cells(const fast_tile *t, int64_t first_cell, int64_t *done, int64_t end)
{
    const size_t cell_items = (size_t)t->tile->model->grid.n_column * t->lanes;
    if (*done < end) {
        memset(t->tile->scratch->moments + (size_t)(*done - first_cell) * cell_items, 0,
               (size_t)(end - *done) * cell_items * sizeof(float));
        *done = end;
    }
}

// moments[cell - first_cell][k] of the electrode's cells from e->cell[*next] on that lie before
// end_cell, which are n_cell; zero where there are no spikes. *next moves on.
static void sum_moments(const fast_tile *t, int64_t *next, int64_t first_cell, int64_t n_cell)
{
    const tess_kde_electrode *e = t->e;
    const kde_scratch *scratch = t->tile->scratch;
    const size_t cell_items = (size_t)t->tile->model->grid.n_column * t->lanes;
    int64_t cleared = first_cell;
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
            clear_cells(t, first_cell, &cleared, e->cell[c] + 1);
            add_to_cell(t, c, i, cell_end, scratch->weights_f32 + (size_t)(i - first) * t->lanes,
                        scratch->moments + (size_t)(e->cell[c] - first_cell) * cell_items);
            i = cell_end;
            c += i == e->cell_first[c + 1];
        }
    }
    clear_cells(t, first_cell, &cleared, first_cell + n_cell);
    *next = last;
}

// Adds the first moments of the cells to the total of every lane.
static void add_totals(const fast_tile *t, int64_t n_cell)
{
    const size_t step = (size_t)t->tile->model->grid.n_column * t->lanes;
    const kde_scratch *scratch = t->tile->scratch;
    for (int64_t c = 0; c < n_cell; c++) {
        for (size_t s = 0; s < t->lanes; s++) {
            scratch->total[s] += scratch->moments[(size_t)c * step + s];
        }
    }
}

// The row's cells within reach of block k of axes[1]: *from..*to-1.
static void cells_in_reach(const tess_kde_grid *grid, int64_t row, int64_t k, int64_t *from,
                           int64_t *to)
{
    *from = grid->row_first[row];
    *to = grid->row_first[row + 1];
    while (*from < *to && grid->column[*from] < grid->axes[1].first[k]) {
        (*from)++;
    }
    while (*from < *to && grid->column[*to - 1] >= grid->axes[1].end[k]) {
        (*to)--;
    }
}

// partial[value][b] at values of axes[1] from the moments of the row, which are of degree b of
// axes[0].
static void sum_row(const fast_tile *t, int64_t row, size_t b, const float *moments, float *partial)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const tess_kde_axis *axis = &grid->axes[1];
    const size_t order = (size_t)grid->order;
    const size_t cell_items = (size_t)grid->n_column * t->lanes;
    for (int64_t k = 0; k < axis->n_block; k++) {
        int64_t from, to;
        cells_in_reach(grid, row, k, &from, &to);
        if (from < to) {
            t->tile->kernels->decode_accumulate_f32(
                axis->table + (size_t)axis->row[k] * order * TESS_KDE_BLOCK, TESS_KDE_BLOCK,
                order * TESS_KDE_BLOCK, grid->column + from,
                moments + (size_t)(from - grid->row_first[row]) * cell_items, t->lanes, cell_items,
                order - b, (size_t)(to - from), TESS_KDE_BLOCK, t->lanes,
                partial + ((size_t)(k * TESS_KDE_BLOCK) * order + b) * t->lanes, order * t->lanes);
        }
    }
}

static int has_bins(const int32_t *bins)
{
    for (int64_t j = 0; j < TESS_KDE_BLOCK; j++) {
        if (bins[j] >= 0) {
            return 1;
        }
    }
    return 0;
}

// Adds what the rows first..end-1 give along an axis to the values of block k, for one value of the
// other; rows[row - first][...] are row_items apart.
static void sum_block(const fast_tile *t, const tess_kde_axis *axis, size_t order, int64_t k,
                      int64_t first, int64_t end, const float *rows, size_t row_items, float *out)
{
    const int64_t from = axis->first[k] > first ? axis->first[k] : first;
    const int64_t to = axis->end[k] < end ? axis->end[k] : end;
    if (from < to) {
        const size_t n = (size_t)(to - from);
        const int is_whole = row_items == order * t->lanes; // one long group
        t->tile->kernels->decode_accumulate_f32(
            axis->table + (size_t)(axis->row[k] + from) * order * TESS_KDE_BLOCK, TESS_KDE_BLOCK,
            order * TESS_KDE_BLOCK, NULL, rows + (size_t)(from - first) * row_items, t->lanes,
            row_items, is_whole ? n * order : order, is_whole ? 1 : n, TESS_KDE_BLOCK, t->lanes,
            out, t->lanes);
    }
}

// Adds what a few rows give to the sums of all places.
static void sum_columns(const fast_tile *t, int64_t first, int64_t end, const float *rows,
                        size_t row_items)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const size_t column_items = (size_t)grid->order * t->lanes;
    const size_t block_items = TESS_KDE_BLOCK * t->lanes;
    const int64_t n_column = grid->n_dim == 2 ? grid->axes[1].n_value : 1;
    const int64_t n_block = grid->axes[0].n_block;
    for (int64_t column = 0; column < n_column; column++) {
        for (int64_t k = 0; k < n_block; k++) {
            const int64_t block = column * n_block + k;
            if (has_bins(grid->bins + block * TESS_KDE_BLOCK)) {
                sum_block(t, &grid->axes[0], (size_t)grid->order, k, first, end,
                          rows + (size_t)column * column_items, row_items,
                          t->tile->scratch->places + (size_t)block * block_items);
            }
        }
    }
}

// In the plane a few rows at a time, so that what is at hand stays in the cache.
static void sum_rows(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const int64_t n_row = grid->axes[0].n_cell;
    const size_t row_items =
        (size_t)(grid->axes[1].n_block * TESS_KDE_BLOCK * grid->order) * t->lanes;
    float *partial = t->tile->scratch->partial;
    int64_t next = 0;
    for (int64_t first = 0; first < n_row; first += KDE_ROWS) {
        const int64_t end = first + KDE_ROWS < n_row ? first + KDE_ROWS : n_row;
        if (next == t->e->n_cell || t->e->cell[next] >= grid->row_first[end]) {
            continue;
        }
        memset(partial, 0, (size_t)(end - first) * row_items * sizeof(float));
        for (int64_t row = first; row < end; row++) {
            const int64_t n = grid->row_first[row + 1] - grid->row_first[row];
            sum_moments(t, &next, grid->row_first[row], n);
            add_totals(t, n);
            const float *moments = t->tile->scratch->moments;
            for (size_t b = 0; b < (size_t)grid->order; b++) {
                sum_row(t, row, b, moments, partial + (size_t)(row - first) * row_items);
                moments += ((size_t)grid->order - b) * t->lanes;
            }
        }
        sum_columns(t, first, end, partial, row_items);
    }
}

// From the moments of a line to its nodes, and from there to its places.
static void sum_nodes(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const tess_kde_axis *to_nodes = &t->tile->model->nodes.axes[1];
    const tess_kde_axis *to_places = &t->tile->model->nodes.axes[0];
    const kde_scratch *scratch = t->tile->scratch;
    const size_t block_items = TESS_KDE_BLOCK * t->lanes;
    memset(scratch->partial, 0, (size_t)to_nodes->n_block * block_items * sizeof(float));
    for (int64_t k = 0; k < to_nodes->n_block; k++) {
        sum_block(t, to_nodes, (size_t)grid->order, k, 0, grid->n_cell, scratch->moments,
                  (size_t)grid->n_column * t->lanes, scratch->partial + (size_t)k * block_items);
    }
    for (int64_t k = 0; k < to_places->n_block; k++) {
        sum_block(t, to_places, 1, k, 0, to_nodes->n_value, scratch->partial, t->lanes,
                  scratch->places + (size_t)k * block_items);
    }
}

// Sums of the bins from those of all places.
static void take_bins(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const kde_scratch *scratch = t->tile->scratch;
    for (int64_t i = 0; i < kde_n_place(grid); i++) {
        if (grid->bins[i] >= 0) {
            memcpy(scratch->sums_f32 + (size_t)grid->bins[i] * t->lanes,
                   scratch->places + (size_t)i * t->lanes, t->lanes * sizeof(float));
        }
    }
}

static void sum_places(const fast_tile *t)
{
    const tess_kde_grid *grid = &t->tile->model->grid;
    const kde_scratch *scratch = t->tile->scratch;
    memset(scratch->total, 0, t->lanes * sizeof(float));
    memset(scratch->places, 0, (size_t)kde_n_place(grid) * t->lanes * sizeof(float));
    if (grid->n_dim == 2) {
        sum_rows(t);
    } else {
        int64_t next = 0;
        sum_moments(t, &next, 0, grid->n_cell);
        add_totals(t, grid->n_cell);
        if (kde_has_nodes(t->tile->model)) {
            sum_nodes(t);
        } else {
            sum_columns(t, 0, grid->n_cell, scratch->moments, (size_t)grid->n_column * t->lanes);
        }
    }
    take_bins(t);
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
