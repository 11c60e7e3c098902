#include "systems/decode/kde/kde_nodes.h"

#include "base/status.h"
#include "systems/decode/kde/distinct.h"

#include <math.h>
#include <string.h>

// Places are in units of sqrt(2) bandwidths: the kernel's variance is a half.
static const double VARIANCE = 0.5;
// The product of the two kernels is, over the nodes, a Gaussian about a point between spike and
// bin. Its variance in squared steps decides what a sum over nodes is off by, 2 exp(-2 pi^2 v), and
// so many of its deviations lie within the window: together 2.5e-6 of a sum, along each axis.
static const double PRODUCT_VARIANCE = 0.7;
static const double DEVIATIONS = 4.93;
// Nodes of a bin lie farther out, where a few more cost little.
static const double BIN_DEVIATIONS = 5.3;
// From the edge of a cell to the first node that its window leaves out, in steps.
static const double WINDOW_REACH = 0.5 * (TESS_KDE_WINDOW + 1 - TESS_KDE_STRIDE);
// From the first node to the edge of the first cell, and from the last place to the last node.
static const double MARGIN_LOW = 0.5 * (TESS_KDE_WINDOW - 1 - TESS_KDE_STRIDE);
static const double MARGIN_HIGH = 4.5;
// Nodes of a tile of spikes, and spikes with those that fill steps up: per spike and per electrode.
static const double MOST_NODES = 16384;
static const double MOST_FILL = 3;
static const double SPARE_FILL = 4096;

typedef struct lattice {
    const tess_kde_model *model;
    double wide;  // 1 / (2 b): from nodes to bins
    double scale; // of the sum over the nodes of one axis
    double reach; // of a bin
} lattice;

// The narrow kernel's variance for nodes so far apart.
static double narrow_variance(double width)
{
    const double share = PRODUCT_VARIANCE * width * width / VARIANCE;
    return VARIANCE * 0.5 * (1 - sqrt(1 - 4 * share));
}

// The largest width with which windows reach: at a distance of sqrt(depth) the product's centre is
// by the narrow kernel's share of it away from the spike.
static double find_width(double depth)
{
    double low = 0;
    double high = 0.99 * sqrt(0.25 * VARIANCE / PRODUCT_VARIANCE);
    for (int k = 0; k < 60; k++) {
        const double width = 0.5 * (low + high);
        const double centre = sqrt(depth) * narrow_variance(width) / VARIANCE / width;
        if (centre + DEVIATIONS * sqrt(PRODUCT_VARIANCE) <= WINDOW_REACH) {
            low = width;
        } else {
            high = width;
        }
    }
    return low;
}

static void widen(const double *x, int64_t n, double *low, double *high)
{
    for (int64_t i = 0; i < n; i++) {
        *low = fmin(*low, x[i]);
        *high = fmax(*high, x[i]);
    }
}

// Nodes and cells of coordinate k; false if there is nothing to spread, or too much.
static bool place_nodes(const tess_kde_model *m, int64_t k, tess_kde_nodes *nodes)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t e = 0; e < m->n_electrode; e++) {
        const tess_kde_electrode *from = &m->electrodes[e];
        if (from->n_cell > 0) {
            widen(from->place + k * from->stride, from->n_cell_spike, &low, &high);
        }
    }
    if (!(low <= high)) {
        return false;
    }
    const double spike_high = high;
    widen(m->bin_place + k * m->n_bin, m->n_bin, &low, &high);
    const double n = floor((high - low) / nodes->width + MARGIN_LOW + MARGIN_HIGH) + 1;
    if (!(n <= MOST_NODES)) {
        return false;
    }
    nodes->low[k] = low - MARGIN_LOW * nodes->width;
    nodes->n_node[k] = (int64_t)n;
    nodes->n_cell[k] = (int64_t)((spike_high - low) / nodes->width / TESS_KDE_STRIDE) + 1;
    return true;
}

// The cell of a place along an axis; what rounding moves over an edge stays with the last.
static int64_t cell_along(const tess_kde_nodes *nodes, int64_t k, double place)
{
    const double at = (place - nodes->low[k]) / nodes->width - MARGIN_LOW;
    const int64_t cell = at > 0 ? (int64_t)(at / TESS_KDE_STRIDE) : 0;
    return cell < nodes->n_cell[k] ? cell : nodes->n_cell[k] - 1;
}

static int64_t cell_of(const tess_kde_nodes *nodes, const tess_kde_electrode *e, int64_t i)
{
    const int64_t row = cell_along(nodes, 0, e->place[i]);
    return nodes->n_dim == 1
               ? row
               : row * nodes->n_cell[1] + cell_along(nodes, 1, e->place[e->stride + i]);
}

static int64_t steps_of(int64_t n)
{
    return (n + TESS_KDE_STEP - 1) / TESS_KDE_STEP;
}

// Spikes of an electrode by cell, in their order.
static tess_status fill_steps(tess_blocks *blocks, const tess_kde_nodes *nodes,
                              tess_kde_electrode *e)
{
    const int64_t n_cell = nodes->n_cell[0] * nodes->n_cell[1];
    const int64_t n = e->n_cell > 0 ? e->n_cell_spike : 0;
    int32_t *cell_step = tess_blocks_alloc(blocks, n_cell + 1, sizeof *cell_step, "nodes");
    int64_t *next = tess_blocks_alloc(blocks, n_cell, sizeof *next, "nodes");
    if (!cell_step || !next) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        next[cell_of(nodes, e, i)]++;
    }
    for (int64_t c = 0; c < n_cell; c++) {
        cell_step[c + 1] = cell_step[c] + (int32_t)steps_of(next[c]);
        next[c] = (int64_t)cell_step[c] * TESS_KDE_STEP;
    }
    e->n_step = cell_step[n_cell];
    int32_t *spike = tess_blocks_alloc(blocks, e->n_step * TESS_KDE_STEP, sizeof *spike, "nodes");
    int32_t *step_cell = tess_blocks_alloc(blocks, e->n_step, sizeof *step_cell, "nodes");
    if (!spike || !step_cell) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < e->n_step * TESS_KDE_STEP; k++) {
        spike[k] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        spike[next[cell_of(nodes, e, i)]++] = (int32_t)i;
    }
    for (int64_t c = 0; c < n_cell; c++) {
        for (int32_t s = cell_step[c]; s < cell_step[c + 1]; s++) {
            step_cell[s] = (int32_t)c;
        }
    }
    e->step_spike = spike;
    e->step_cell = step_cell;
    e->cell_step = cell_step;
    return TESS_OK;
}

// From the nodes to the distinct values of one coordinate.
static tess_status fill_axis(tess_blocks *blocks, const lattice *l, int64_t k,
                             tess_kde_nodes *nodes, double *value)
{
    tess_kde_axis *axis = &nodes->axes[k];
    const tess_kde_model *m = l->model;
    axis->n_cell = nodes->n_node[k];
    axis->n_value = tess_de_distinct(m->bin_place + k * m->n_bin, m->n_bin, value);
    axis->n_block = (axis->n_value + TESS_KDE_BLOCK - 1) / TESS_KDE_BLOCK;
    float *table = tess_blocks_alloc(blocks, axis->n_block * axis->n_cell * TESS_KDE_BLOCK,
                                     sizeof *table, "nodes");
    int32_t *first = tess_blocks_alloc(blocks, axis->n_block, sizeof *first, "nodes");
    int32_t *end = tess_blocks_alloc(blocks, axis->n_block, sizeof *end, "nodes");
    if (!table || !first || !end) {
        return TESS_E_MEMORY;
    }
    for (int64_t b = 0; b < axis->n_block; b++) {
        first[b] = (int32_t)axis->n_cell;
        for (int64_t i = 0; i < axis->n_cell * TESS_KDE_BLOCK; i++) {
            const int64_t v = b * TESS_KDE_BLOCK + i % TESS_KDE_BLOCK;
            const int32_t g = (int32_t)(i / TESS_KDE_BLOCK);
            const double u =
                v < axis->n_value ? value[v] - nodes->low[k] - g * nodes->width : (double)INFINITY;
            if (fabs(u) <= l->reach) {
                first[b] = g < first[b] ? g : first[b];
                end[b] = g + 1;
                table[b * axis->n_cell * TESS_KDE_BLOCK + i] =
                    (float)(l->scale * exp(-l->wide * u * u));
            }
        }
        first[b] = first[b] < end[b] ? first[b] : end[b];
    }
    axis->table = table;
    axis->first = first;
    axis->end = end;
    return TESS_OK;
}

// Both axes, and which bin each pair of coordinates is.
static tess_status fill_axes(tess_blocks *blocks, const lattice *l, tess_kde_nodes *nodes)
{
    const tess_kde_model *m = l->model;
    double *value[2] = {NULL, NULL};
    for (int64_t k = 0; k < m->n_dim; k++) {
        value[k] = tess_blocks_alloc(blocks, m->n_bin, sizeof(double), "nodes");
        if (!value[k]) {
            return TESS_E_MEMORY;
        }
        TESS_TRY(fill_axis(blocks, l, k, nodes, value[k]));
    }
    const int64_t n_row = nodes->axes[0].n_block * TESS_KDE_BLOCK;
    const int64_t n_column = m->n_dim == 2 ? nodes->axes[1].n_value : 1;
    int32_t *bins = tess_blocks_alloc(blocks, n_column * n_row, sizeof *bins, "nodes");
    if (!bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_column * n_row; i++) {
        bins[i] = -1;
    }
    for (int64_t p = 0; p < m->n_bin; p++) {
        int64_t at[2] = {0, 0};
        for (int64_t k = 0; k < m->n_dim; k++) {
            at[k] = tess_de_distinct_find(value[k], nodes->axes[k].n_value,
                                          m->bin_place[k * m->n_bin + p]);
        }
        bins[at[1] * n_row + at[0]] = (int32_t)p;
    }
    nodes->bins = bins;
    return TESS_OK;
}

// Whether cells have spikes enough to fill most of their steps.
static bool is_dense(const tess_kde_model *m, const tess_kde_electrode *electrodes)
{
    double n_spike = 0;
    double n_filled = 0;
    for (int64_t e = 0; e < m->n_electrode; e++) {
        n_spike += (double)m->electrodes[e].n_cell_spike;
        n_filled += (double)(electrodes[e].n_step * TESS_KDE_STEP);
    }
    return n_filled <= MOST_FILL * n_spike + SPARE_FILL * (double)m->n_electrode;
}

tess_status tess_de_kde_nodes(tess_blocks *blocks, const tess_kde_model *model,
                              tess_kde_nodes *nodes, tess_kde_electrode *electrodes)
{
    *nodes = (tess_kde_nodes){.n_node = {1, 1}, .n_cell = {1, 1}};
    if (model->grid.n_dim == 0 || model->n_bin > TESS_KDE_NODE_BINS) {
        return TESS_OK;
    }
    const double depth = model->grid.depth;
    tess_kde_nodes trial = *nodes;
    trial.n_dim = model->n_dim;
    trial.width = find_width(depth);
    const double a = narrow_variance(trial.width);
    const double deviation = sqrt(PRODUCT_VARIANCE) * trial.width;
    const double root_2pi = 2.50662827463100050242;
    const lattice l = {.model = model,
                       .wide = 0.5 / (VARIANCE - a),
                       .scale = trial.width / (root_2pi * deviation),
                       .reach = sqrt(depth) * (1 - a / VARIANCE) + BIN_DEVIATIONS * deviation};
    trial.narrow = 0.5 / a;
    trial.per_total = pow(trial.width / (root_2pi * sqrt(a)), (double)model->n_dim);
    for (int64_t k = 0; k < model->n_dim; k++) {
        if (!place_nodes(model, k, &trial)) {
            return TESS_OK;
        }
    }
    if (trial.n_node[1] > TESS_KDE_NODE_COLUMNS ||
        (double)trial.n_node[0] * (double)trial.n_node[1] > MOST_NODES) {
        return TESS_OK;
    }
    for (int64_t e = 0; e < model->n_electrode; e++) {
        electrodes[e] = model->electrodes[e];
        TESS_TRY(fill_steps(blocks, &trial, &electrodes[e]));
    }
    if (!is_dense(model, electrodes)) {
        return TESS_OK;
    }
    TESS_TRY(fill_axes(blocks, &l, &trial));
    *nodes = trial;
    return TESS_OK;
}
