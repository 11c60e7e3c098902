// Density by expansions: exp(-(u - v)^2 / 2) = exp(-u^2 / 2) exp(-v^2 / 2) sum_k (u v)^k / k!, u
// from a target to the centre of a cell and v from there to a sample, both in bandwidths.
//
// The moments of a cell are sums over its samples of exp(-v^2 / 2) v^k / k!, in two dimensions of
// total degree below the order. Evaluation takes one axis after the other, so that a grid of
// targets costs rows times cells, not bins times cells.
#include "systems/decode/density/density.h"

#include "base/blocks.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Cells are a quarter of a bandwidth wide. Where the density is above 1e-30, what counts is within
// 11.8 bandwidths, and |u v| < 1.48 (2.09 in the plane): the first term left out is below 3e-11
// (7e-10) of its cell. Cells farther than REACH give less than 1e-42.
static const double CELL = 0.25;
static const double REACH = 14;
enum { ORDER_1D = 16, ORDER_2D = 18, MAX_ORDER = 18 };

// More moments than this (512 MiB) and cells are given up.
static const double MOST_MOMENTS = 67108864;
enum { TARGET_BLOCK = 16, CELL_BLOCK = 16 };

// One coordinate: the cells over the samples, and the distinct values among the targets.
typedef struct axis {
    double low;
    int64_t n_cell;
    double *value; // [n_value] rising, in bandwidths
    int64_t n_value;
    int64_t *value_of; // [m]
} axis;

typedef struct cells {
    const density_task *task;
    axis axes[2]; // of 1-D only [0]; rows of cells are along [0]
    int64_t n_cell;
    int64_t order;
    int64_t n_moment;
    int64_t *first;  // [n_cell + 1]
    int64_t *sample; // [n] sorted by cell
    double *moments; // [n_cell][n_moment], powers of v0 fastest
    double *partial; // [n_cell of axis 1][order][n_value of axis 0]
} cells;

static double centre(const axis *a, int64_t cell)
{
    return a->low + ((double)cell + 0.5) * CELL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t find(const axis *a, double value)
{
    const double *found = bsearch(&value, a->value, (size_t)a->n_value, sizeof *a->value, compare);
    return found - a->value;
}

static bool axis_make(const density_task *t, int64_t k, tess_blocks *blocks, axis *a)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; i < t->n; i++) {
        const double z = t->samples[i * t->d + k] / t->std[k];
        low = z < low ? z : low;
        high = z > high ? z : high;
    }
    a->low = low;
    const double n_cell = floor((high - low) / CELL) + 1;
    a->n_cell = n_cell < 1e9 ? (int64_t)n_cell : (int64_t)1e9;
    a->value = tess_blocks_alloc(blocks, t->m, sizeof *a->value, "density targets");
    a->value_of = tess_blocks_alloc(blocks, t->m, sizeof *a->value_of, "density targets");
    if (!a->value || !a->value_of) {
        return false;
    }
    for (int64_t j = 0; j < t->m; j++) {
        a->value[j] = t->targets[j * t->d + k] / t->std[k];
    }
    qsort(a->value, (size_t)t->m, sizeof *a->value, compare);
    for (int64_t j = 0; j < t->m; j++) {
        if (j == 0 || a->value[j] != a->value[a->n_value - 1]) {
            a->value[a->n_value++] = a->value[j];
        }
    }
    for (int64_t j = 0; j < t->m; j++) {
        a->value_of[j] = find(a, t->targets[j * t->d + k] / t->std[k]);
    }
    return true;
}

static int64_t cell_of(const cells *c, int64_t i)
{
    const density_task *t = c->task;
    int64_t cell = 0;
    for (int64_t k = t->d - 1; k >= 0; k--) {
        const axis *a = &c->axes[k];
        const int64_t at = (int64_t)((t->samples[i * t->d + k] / t->std[k] - a->low) / CELL);
        cell = cell * a->n_cell + (at < a->n_cell ? at : a->n_cell - 1);
    }
    return cell;
}

static void sort_samples(cells *c)
{
    const int64_t n = c->task->n;
    for (int64_t i = 0; i < n; i++) {
        c->first[cell_of(c, i) + 1]++;
    }
    for (int64_t k = 0; k < c->n_cell; k++) {
        c->first[k + 1] += c->first[k];
    }
    for (int64_t i = 0; i < n; i++) {
        c->sample[c->first[cell_of(c, i)]++] = i;
    }
    memmove(c->first + 1, c->first, (size_t)c->n_cell * sizeof *c->first);
    c->first[0] = 0;
}

static void add_sample(const cells *c, int64_t i, const double *centres, double *moments)
{
    const density_task *t = c->task;
    double v[2] = {0, 0};
    double square = 0;
    for (int64_t k = 0; k < t->d; k++) {
        v[k] = t->samples[i * t->d + k] / t->std[k] - centres[k];
        square += v[k] * v[k];
    }
    double high = (t->weights ? t->weights[i] : 1) * exp(-0.5 * square);
    const int64_t n_high = t->d == 2 ? c->order : 1;
    for (int64_t b = 0; b < n_high; b++) {
        double low = high;
        for (int64_t a = 0; a < c->order - b; a++) {
            *moments++ += low;
            low *= v[0];
        }
        high *= v[1];
    }
}

// Divides the sums of a cell by k!.
static void divide_moments(const cells *c, double *moments)
{
    const int64_t n_high = c->task->d == 2 ? c->order : 1;
    double high = 1;
    for (int64_t b = 0; b < n_high; b++) {
        high *= b > 0 ? (double)b : 1;
        double low = high;
        for (int64_t a = 0; a < c->order - b; a++) {
            low *= a > 0 ? (double)a : 1;
            *moments++ /= low;
        }
    }
}

static tess_status moments_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const cells *c = arg;
    const int64_t n0 = c->axes[0].n_cell;
    const int64_t end = (block + 1) * CELL_BLOCK < c->n_cell ? (block + 1) * CELL_BLOCK : c->n_cell;
    for (int64_t cell = block * CELL_BLOCK; cell < end; cell++) {
        const double centres[2] = {centre(&c->axes[0], cell % n0),
                                   c->task->d == 2 ? centre(&c->axes[1], cell / n0) : 0};
        for (int64_t k = c->first[cell]; k < c->first[cell + 1]; k++) {
            add_sample(c, c->sample[k], centres, c->moments + cell * c->n_moment);
        }
        divide_moments(c, c->moments + cell * c->n_moment);
    }
    return TESS_OK;
}

// Cells of an axis within reach of a value: first..end-1.
static void within_reach(const axis *a, double value, int64_t *first, int64_t *end)
{
    const double low = floor((value - REACH - a->low) / CELL);
    const double high = ceil((value + REACH - a->low) / CELL);
    const double last = (double)a->n_cell;
    *first = low <= 0 ? 0 : (int64_t)(low < last ? low : last);
    *end = high <= 0 ? 0 : (int64_t)(high < last ? high : last);
}

// Targets side by side, and what a cell's expansion is worth at each: 0 out of reach.
typedef struct lanes {
    double u[TARGET_BLOCK];
    double worth[TARGET_BLOCK];
} lanes;

static void set_lanes(const axis *a, int64_t cell, const double *value, const int64_t *first,
                      const int64_t *end, lanes *out)
{
    for (int64_t t = 0; t < TARGET_BLOCK; t++) {
        out->u[t] = value[t] - centre(a, cell);
        out->worth[t] = first[t] <= cell && cell < end[t] ? exp(-0.5 * out->u[t] * out->u[t]) : 0;
    }
}

// sum += worth * (m[0] + m[1] u + ... + m[n-1] u^(n-1))
static void add_polynomial(const double *m, int64_t n, const lanes *at, double *sum)
{
    double s[TARGET_BLOCK];
    for (int64_t t = 0; t < TARGET_BLOCK; t++) {
        s[t] = m[n - 1];
    }
    for (int64_t k = n - 2; k >= 0; k--) {
        for (int64_t t = 0; t < TARGET_BLOCK; t++) {
            s[t] = s[t] * at->u[t] + m[k];
        }
    }
    for (int64_t t = 0; t < TARGET_BLOCK; t++) {
        sum[t] += s[t] * at->worth[t];
    }
}

// partial[row][b][value] = sum over the row's cells and a, at n distinct values of axis 0.
static void partial_at(const cells *c, int64_t row, int64_t at, int64_t n)
{
    const axis *a = &c->axes[0];
    double sum[MAX_ORDER][TARGET_BLOCK] = {{0}};
    double value[TARGET_BLOCK];
    int64_t first[TARGET_BLOCK];
    int64_t end[TARGET_BLOCK];
    for (int64_t t = 0; t < TARGET_BLOCK; t++) {
        value[t] = a->value[at + (t < n ? t : n - 1)];
        within_reach(a, value[t], &first[t], &end[t]);
    }
    const int64_t n_high = c->task->d == 2 ? c->order : 1;
    for (int64_t k = first[0]; k < end[TARGET_BLOCK - 1]; k++) { // values rise
        const int64_t cell = row * a->n_cell + k;
        if (c->first[cell] == c->first[cell + 1]) {
            continue;
        }
        lanes here;
        set_lanes(a, k, value, first, end, &here);
        const double *moment = c->moments + cell * c->n_moment;
        for (int64_t b = 0; b < n_high; b++) {
            add_polynomial(moment, c->order - b, &here, sum[b]);
            moment += c->order - b;
        }
    }
    for (int64_t b = 0; b < n_high; b++) {
        memcpy(c->partial + (row * n_high + b) * a->n_value + at, sum[b],
               (size_t)n * sizeof sum[b][0]);
    }
}

static tess_status partial_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const cells *c = arg;
    const int64_t n_value = c->axes[0].n_value;
    const int64_t per_row = (n_value + TARGET_BLOCK - 1) / TARGET_BLOCK;
    const int64_t first = block % per_row * TARGET_BLOCK;
    const int64_t left = n_value - first;
    partial_at(c, block / per_row, first, left < TARGET_BLOCK ? left : TARGET_BLOCK);
    return TESS_OK;
}

static double value_at(const cells *c, int64_t target)
{
    const axis *a = &c->axes[0];
    const int64_t at = a->value_of[target];
    if (c->task->d == 1) {
        return c->partial[at];
    }
    const axis *rows = &c->axes[1];
    const double value = rows->value[rows->value_of[target]];
    double sum = 0;
    int64_t first;
    int64_t end;
    within_reach(rows, value, &first, &end);
    for (int64_t row = first; row < end; row++) {
        const double u = value - centre(rows, row);
        const double *partial = c->partial + row * c->order * a->n_value + at;
        double s = 0;
        for (int64_t b = c->order - 1; b >= 0; b--) {
            s = s * u + partial[b * a->n_value];
        }
        sum += s * exp(-0.5 * u * u);
    }
    return sum;
}

static tess_status value_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const cells *c = arg;
    const density_task *t = c->task;
    const int64_t end = (block + 1) * TARGET_BLOCK < t->m ? (block + 1) * TARGET_BLOCK : t->m;
    for (int64_t j = block * TARGET_BLOCK; j < end; j++) {
        const double sum = value_at(c, j);
        t->out[j] = sum > 0 ? t->scale * sum : 0;
    }
    return TESS_OK;
}

// Whether cells cost less than pairs, and little enough memory.
static bool worth_it(const cells *c)
{
    const density_task *t = c->task;
    const double rows = t->d == 2 ? (double)c->axes[1].n_cell : 1;
    const double n_cell = rows * (double)c->axes[0].n_cell;
    const double n_moment = (double)c->n_moment;
    const double values = (double)c->axes[0].n_value;
    const double reach = 2 * REACH / CELL;
    const double row_cells = (double)c->axes[0].n_cell < reach ? (double)c->axes[0].n_cell : reach;
    const double near_rows = rows < reach ? rows : reach;
    const double cost = (double)t->n * n_moment + rows * values * row_cells * n_moment +
                        (double)t->m * near_rows * (double)c->order;
    return n_cell * n_moment <= MOST_MOMENTS && rows * (double)c->order * values <= MOST_MOMENTS &&
           cost < 10 * (double)t->n * (double)t->m;
}

static tess_status evaluate(cells *c)
{
    tess_pool *pool = c->task->ctx->pool;
    const int64_t rows = c->task->d == 2 ? c->axes[1].n_cell : 1;
    const int64_t per_row = (c->axes[0].n_value + TARGET_BLOCK - 1) / TARGET_BLOCK;
    sort_samples(c);
    TESS_TRY(tess_parallel_for(pool, (c->n_cell + CELL_BLOCK - 1) / CELL_BLOCK, moments_block, c));
    TESS_TRY(tess_parallel_for(pool, rows * per_row, partial_block, c));
    return tess_parallel_for(pool, (c->task->m + TARGET_BLOCK - 1) / TARGET_BLOCK, value_block, c);
}

static tess_status with_blocks(const density_task *task, tess_blocks *blocks, bool *done)
{
    cells c = {.task = task,
               .order = task->d == 2 ? ORDER_2D : ORDER_1D,
               .n_moment = task->d == 2 ? ORDER_2D * (ORDER_2D + 1) / 2 : ORDER_1D,
               .n_cell = 1};
    for (int64_t k = 0; k < task->d; k++) {
        if (!axis_make(task, k, blocks, &c.axes[k])) {
            return TESS_E_MEMORY;
        }
    }
    if (!worth_it(&c)) {
        return TESS_OK;
    }
    const int64_t rows = task->d == 2 ? c.axes[1].n_cell : 1;
    c.n_cell = rows * c.axes[0].n_cell;
    const int64_t n_partial = rows * (task->d == 2 ? c.order : 1) * c.axes[0].n_value;
    c.first = tess_blocks_alloc(blocks, c.n_cell + 1, sizeof *c.first, "density cells");
    c.sample = tess_blocks_alloc(blocks, task->n, sizeof *c.sample, "density cells");
    c.moments = tess_blocks_alloc(blocks, c.n_cell * c.n_moment, sizeof *c.moments, "moments");
    c.partial = tess_blocks_alloc(blocks, n_partial, sizeof *c.partial, "moments");
    if (!c.first || !c.sample || !c.moments || !c.partial) {
        return TESS_E_MEMORY;
    }
    *done = true;
    return evaluate(&c);
}

tess_status tess_de_density_cells(const density_task *task, bool *done)
{
    *done = false;
    if (task->d > 2) {
        return TESS_OK;
    }
    tess_blocks blocks;
    tess_blocks_init(&blocks, &task->ctx->heap);
    const tess_status status = with_blocks(task, &blocks, done);
    tess_blocks_free(&blocks);
    return status;
}
