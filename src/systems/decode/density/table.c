// Building a table: samples are replaced by moments about their nearest node, and the sum over
// nodes is a convolution, done one axis after the other.
//
// With d = (sample - node) / sigma and u = (target - node) / sigma,
//     exp(-(u - d)^2 / 2) = sum_a  d^a  He_a(u) / a!  exp(-u^2 / 2).
#include "systems/decode/density/table.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

enum {
    MAX_ORDER = 8,
    POINTS = 8, // of the interpolation, per axis
    MARGIN = 8, // nodes beyond what is asked for, so that every stencil is inside
};

static const double REACH = 10; // sigma: farther samples weigh less than 2e-22
// Nodes per sigma. A line is cheap, and finer nodes follow deeper valleys.
static const double NODES_LINE = 32;
static const double NODES_PLANE = 12;
static const double BEYOND = 3; // sigma: how far the table goes past the samples
static const double LEAST_SHARE =
    1e-11; // of the peak of all samples: what is cut off is 2e-11 of it
static const double COARSE_ERROR = 2.56e-7; // allowed on every other node; 2^8 less on all of them

// One axis of the sum. A missing axis has one node, order 1 and reach 0.
typedef struct axis {
    int64_t n;
    int64_t reach; // nodes
    int order;
    double first;
    double step; // cm
    double std;
    double *taps; // [order][2 reach + 1]: He_a(u) / a! exp(-u^2 / 2)
} axis;

static void fill_taps(axis *x)
{
    const int64_t width = 2 * x->reach + 1;
    for (int64_t k = 0; k < width; k++) {
        const double u = x->std > 0 ? (double)(k - x->reach) * x->step / x->std : 0;
        double previous = 0;
        double he = exp(-0.5 * u * u); // He_0; the recurrence is linear, so it may carry the factor
        double factorial = 1;
        for (int a = 0; a < x->order; a++) {
            x->taps[a * width + k] = he / factorial;
            const double next = u * he - a * previous;
            previous = he;
            he = next;
            factorial *= a + 1;
        }
    }
}

static tess_status make_axis(tess_blocks *blocks, const tess_de_table_samples *s, int64_t k,
                             double nodes_per_std, axis *out)
{
    double low = s->place[k];
    double high = low;
    for (int64_t i = 1; i < s->n; i++) {
        low = fmin(low, s->place[i * s->n_dim + k]);
        high = fmax(high, s->place[i * s->n_dim + k]);
    }
    const double step = s->std[k] / nodes_per_std;
    const double n = (high - low + 2 * BEYOND * s->std[k]) / step + 2 * MARGIN + 2;
    *out = (axis){.n = n < 1e9 ? (int64_t)n : INT64_C(1000000000),
                  .reach = (int64_t)ceil(REACH * nodes_per_std),
                  .order = MAX_ORDER,
                  .first = low - BEYOND * s->std[k] - MARGIN * step,
                  .step = step,
                  .std = s->std[k]};
    out->taps = tess_blocks_alloc(blocks, (2 * out->reach + 1) * MAX_ORDER, sizeof *out->taps,
                                  "density table");
    if (!out->taps) {
        return TESS_E_MEMORY;
    }
    fill_taps(out);
    return TESS_OK;
}

typedef struct building {
    const tess_de_table_samples *samples;
    axis x[2];
    int64_t *row_first; // [n[0] + 1] into row_item
    int64_t *row_item;  // samples by row, in order
    double *partial;    // [order of axis 0][n[0]][n[1]]: summed along axis 1
    double *moments;    // [workers][n[1]][order][order]
    double *sum;        // [n[0]][n[1]]
} building;

static int64_t node_of(const axis *x, double value)
{
    const int64_t node = x->n > 1 ? (int64_t)floor((value - x->first) / x->step + 0.5) : 0;
    return node < 0 ? 0 : node >= x->n ? x->n - 1 : node;
}

// Coordinate of a sample along an axis; axis 1 is the only one of one-dimensional places.
static double coordinate(const building *b, int64_t item, int ax)
{
    const tess_de_table_samples *s = b->samples;
    return ax == 0 && s->n_dim == 1 ? 0 : s->place[item * s->n_dim + (s->n_dim == 1 ? 0 : ax)];
}

static void sort_into_rows(building *b)
{
    const int64_t n = b->samples->n;
    for (int64_t i = 0; i < n; i++) {
        b->row_first[node_of(&b->x[0], coordinate(b, i, 0)) + 1]++;
    }
    for (int64_t r = 0; r < b->x[0].n; r++) {
        b->row_first[r + 1] += b->row_first[r];
    }
    // Filling moves each row's begin to its end, which is the next one's begin: shifted back below.
    for (int64_t i = 0; i < n; i++) {
        b->row_item[b->row_first[node_of(&b->x[0], coordinate(b, i, 0))]++] = i;
    }
    memmove(b->row_first + 1, b->row_first, (size_t)b->x[0].n * sizeof *b->row_first);
    b->row_first[0] = 0;
}

static void powers(double d, int order, double *out)
{
    out[0] = 1;
    for (int a = 1; a < order; a++) {
        out[a] = out[a - 1] * d;
    }
}

// Moments of a row's samples: [n[1]][MAX_ORDER][MAX_ORDER], total order below that of axis 1.
static void row_moments(const building *b, int64_t row, double *moments)
{
    const axis *x0 = &b->x[0];
    const axis *x1 = &b->x[1];
    const double node0 = x0->first + (double)row * x0->step;
    for (int64_t k = b->row_first[row]; k < b->row_first[row + 1]; k++) {
        const int64_t item = b->row_item[k];
        const double value = coordinate(b, item, 1);
        const int64_t column = node_of(x1, value);
        double p0[MAX_ORDER];
        double p1[MAX_ORDER];
        powers(x0->std > 0 ? (coordinate(b, item, 0) - node0) / x0->std : 0, x0->order, p0);
        powers((value - x1->first - (double)column * x1->step) / x1->std, x1->order, p1);
        const double w = b->samples->weights ? b->samples->weights[item] : 1;
        double *m = moments + column * MAX_ORDER * MAX_ORDER;
        for (int a = 0; a < x0->order; a++) {
            for (int c = 0; c < x1->order - a; c++) {
                m[a * MAX_ORDER + c] += w * p0[a] * p1[c];
            }
        }
    }
}

// One row along axis 1: partial[a][row][j] = sum over nodes and orders.
static tess_status row_block(void *arg, int64_t row, int32_t worker)
{
    const building *b = arg;
    const axis *x1 = &b->x[1];
    if (b->row_first[row] == b->row_first[row + 1]) {
        return TESS_OK;
    }
    const int64_t n = x1->n;
    const int64_t width = 2 * x1->reach + 1;
    const size_t items = (size_t)(n * MAX_ORDER * MAX_ORDER);
    double *moments = b->moments + (size_t)worker * items;
    memset(moments, 0, items * sizeof *moments);
    row_moments(b, row, moments);
    for (int64_t j = 0; j < n; j++) {
        const double *m = moments + j * MAX_ORDER * MAX_ORDER;
        if (m[0] == 0) {
            continue;
        }
        const int64_t begin = j - x1->reach > 0 ? j - x1->reach : 0;
        const int64_t end = j + x1->reach + 1 < n ? j + x1->reach + 1 : n;
        for (int a = 0; a < b->x[0].order; a++) {
            double *out = b->partial + (a * b->x[0].n + row) * n;
            for (int c = 0; c < x1->order - a; c++) {
                const double value = m[a * MAX_ORDER + c];
                const double *tap = x1->taps + c * width + x1->reach - j;
                for (int64_t i = begin; i < end; i++) {
                    out[i] += value * tap[i];
                }
            }
        }
    }
    return TESS_OK;
}

// One row of the result: along axis 0.
static tess_status column_block(void *arg, int64_t row, int32_t worker)
{
    (void)worker;
    const building *b = arg;
    const axis *x0 = &b->x[0];
    const int64_t n = b->x[1].n;
    const int64_t width = 2 * x0->reach + 1;
    double *out = b->sum + row * n;
    const int64_t begin = row - x0->reach > 0 ? row - x0->reach : 0;
    const int64_t end = row + x0->reach + 1 < x0->n ? row + x0->reach + 1 : x0->n;
    for (int64_t from = begin; from < end; from++) {
        if (b->row_first[from] == b->row_first[from + 1]) {
            continue;
        }
        for (int a = 0; a < x0->order; a++) {
            const double tap = x0->taps[a * width + x0->reach + row - from];
            const double *in = b->partial + (a * x0->n + from) * n;
            for (int64_t i = 0; i < n; i++) {
                out[i] += tap * in[i];
            }
        }
    }
    return TESS_OK;
}

// Midpoint interpolation of POINTS equally spaced values.
static const double middle[POINTS] = {-5.0 / 2048,   49.0 / 2048,   -245.0 / 2048, 1225.0 / 2048,
                                      1225.0 / 2048, -245.0 / 2048, 49.0 / 2048,   -5.0 / 2048};

// Whether every other node predicts this one, along one axis of stride items.
static bool is_smooth(const double *at, int64_t index, int64_t n, int64_t stride)
{
    if (n == 1) {
        return true;
    }
    if (index < POINTS - 1 || index + POINTS - 1 >= n) {
        return false;
    }
    double predicted = 0;
    for (int k = 0; k < POINTS; k++) {
        predicted += middle[k] * at[(2 * k - POINTS + 1) * stride];
    }
    return fabs(predicted - *at) <= COARSE_ERROR; // false for NaN
}

static void mark_usable(const int64_t n[2], const double *log_value, uint8_t *smooth,
                        uint8_t *usable)
{
    for (int64_t i = 0; i < n[0]; i++) {
        for (int64_t j = 0; j < n[1]; j++) {
            const double *at = log_value + i * n[1] + j;
            smooth[i * n[1] + j] = is_smooth(at, i, n[0], n[1]) && is_smooth(at, j, n[1], 1);
        }
    }
    // A cell leans on the nodes around it: two on either side must be smooth.
    const int64_t reach0 = n[0] > 1 ? 1 : 0;
    for (int64_t i = reach0; i + 2 * reach0 < n[0]; i++) {
        for (int64_t j = 1; j + 2 < n[1]; j++) {
            bool good = true;
            for (int64_t di = -reach0; di <= 2 * reach0; di++) {
                for (int64_t dj = -1; dj <= 2; dj++) {
                    good = good && smooth[(i + di) * n[1] + j + dj];
                }
            }
            usable[i * n[1] + j] = good;
        }
    }
}

static tess_status sum_up(tess_context *ctx, tess_blocks *scratch, building *b, double *log_value)
{
    const tess_de_table_samples *s = b->samples;
    const int64_t n = b->x[0].n * b->x[1].n;
    const int64_t n_moment = tess_pool_threads(ctx->pool) * b->x[1].n;
    b->row_first = tess_blocks_alloc(scratch, b->x[0].n + 1, sizeof(int64_t), "rows");
    b->row_item = tess_blocks_alloc(scratch, s->n, sizeof(int64_t), "samples of rows");
    b->moments = tess_blocks_alloc(scratch, n_moment, MAX_ORDER * MAX_ORDER * sizeof(double),
                                   "moments of a density table");
    b->partial = tess_blocks_alloc(scratch, n * b->x[0].order, sizeof(double), "sums");
    if (!b->row_first || !b->row_item || !b->moments || !b->partial) {
        return TESS_E_MEMORY;
    }
    b->sum = log_value;
    sort_into_rows(b);
    TESS_TRY(tess_parallel_for(ctx->pool, b->x[0].n, row_block, b));
    TESS_TRY(tess_parallel_for(ctx->pool, b->x[0].n, column_block, b));
    double total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        total += s->weights ? s->weights[i] : 1;
    }
    double norm = total;
    for (int64_t k = 0; k < s->n_dim; k++) {
        norm *= s->std[k] * 2.5066282746310002; // sqrt(2 pi)
    }
    for (int64_t i = 0; i < n; i++) {
        log_value[i] = log_value[i] > LEAST_SHARE * total ? log(log_value[i] / norm) : (double)NAN;
    }
    return TESS_OK;
}

static tess_status build(tess_context *ctx, tess_blocks *blocks, tess_blocks *scratch,
                         const tess_de_table_samples *s, int64_t max_node, tess_de_table *out)
{
    building b = {.samples = s};
    b.x[0] = (axis){.n = 1, .order = 1};
    const bool is_line = s->n_dim == 1;
    if (is_line) {
        b.x[0].taps = tess_blocks_alloc(scratch, 1, sizeof(double), "density table");
        if (!b.x[0].taps) {
            return TESS_E_MEMORY;
        }
        b.x[0].taps[0] = 1;
    } else {
        TESS_TRY(make_axis(scratch, s, 0, NODES_PLANE, &b.x[0]));
    }
    TESS_TRY(make_axis(scratch, s, is_line ? 0 : 1, is_line ? NODES_LINE : NODES_PLANE, &b.x[1]));
    if (b.x[0].n > max_node / b.x[1].n) {
        return TESS_OK;
    }
    const int64_t n = b.x[0].n * b.x[1].n;
    double *log_value = tess_blocks_alloc(blocks, n, sizeof *log_value, "density table");
    uint8_t *usable = tess_blocks_alloc(blocks, n, 1, "density table");
    uint8_t *smooth = tess_blocks_alloc(scratch, n, 1, "density table");
    if (!log_value || !usable || !smooth) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(sum_up(ctx, scratch, &b, log_value));
    for (int k = 0; k < 2; k++) {
        out->n[k] = b.x[k].n;
        out->first[k] = b.x[k].first;
        out->per_cm[k] = b.x[k].n > 1 ? 1 / b.x[k].step : 0;
    }
    mark_usable(out->n, log_value, smooth, usable);
    out->log_value = log_value;
    out->is_usable = usable;
    return TESS_OK;
}

tess_status tess_de_table_build(tess_context *ctx, tess_blocks *blocks,
                                const tess_de_table_samples *samples, int64_t max_node,
                                tess_de_table *out)
{
    *out = (tess_de_table){.n = {0, 0}};
    if (samples->n == 0 || samples->n_dim > 2) {
        return TESS_OK;
    }
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    const tess_status status = build(ctx, blocks, &scratch, samples, max_node, out);
    tess_blocks_free(&scratch);
    return status;
}

// Weights of the POINTS nodes around a place t = 0..1 into the middle cell.
static void stencil(double t, double *weight)
{
    double product = 1; // of all distances, each taken out again by division or skipped when 0
    double distance[POINTS];
    static const double scale[POINTS] = {-1.0 / 5040, 1.0 / 720, -1.0 / 240, 1.0 / 144,
                                         -1.0 / 144,  1.0 / 240, -1.0 / 720, 1.0 / 5040};
    double before[POINTS];
    for (int k = 0; k < POINTS; k++) {
        distance[k] = t + (POINTS / 2 - 1) - k;
        before[k] = product;
        product *= distance[k];
    }
    double after = 1;
    for (int k = POINTS - 1; k >= 0; k--) {
        weight[k] = before[k] * after * scale[k];
        after *= distance[k];
    }
}

// Cell of a coordinate and how far into it; false outside.
static bool find_cell(const tess_de_table *table, int ax, double value, int64_t *cell, double *t)
{
    const double at = (value - table->first[ax]) * table->per_cm[ax];
    if (!(at >= POINTS / 2 - 1) || !(at < (double)(table->n[ax] - POINTS / 2))) {
        return false;
    }
    *cell = (int64_t)at;
    *t = at - (double)*cell;
    return true;
}

bool tess_de_table_lookup(const tess_de_table *table, int64_t n_dim, const double *place,
                          double *log_value)
{
    if (table->n[0] == 0) {
        return false;
    }
    int64_t cell0 = 0;
    int64_t cell1 = 0;
    double t0 = 0;
    double t1 = 0;
    if ((n_dim == 2 && !find_cell(table, 0, place[0], &cell0, &t0)) ||
        !find_cell(table, 1, place[n_dim - 1], &cell1, &t1) ||
        !table->is_usable[cell0 * table->n[1] + cell1]) {
        return false;
    }
    double weight0[POINTS] = {1};
    double weight1[POINTS];
    const int n_row = n_dim == 2 ? POINTS : 1;
    stencil(t1, weight1);
    if (n_dim == 2) {
        stencil(t0, weight0);
        cell0 -= POINTS / 2 - 1;
    }
    double sum = 0;
    for (int i = 0; i < n_row; i++) {
        const double *row = table->log_value + (cell0 + i) * table->n[1] + cell1 - POINTS / 2 + 1;
        double part = 0;
        for (int j = 0; j < POINTS; j++) {
            part += weight1[j] * row[j];
        }
        sum += weight0[i] * part;
    }
    *log_value = sum;
    return !isnan(sum); // a corner of the stencil may lie where there are no samples
}
