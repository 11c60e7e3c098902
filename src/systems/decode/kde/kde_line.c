// A kernel of variance s is one of s - a, from a spike to nodes, and one of a, from the nodes
// around a bin to it:
//
//   exp(-(z - c)^2) = sum over nodes g of exp(-(z - g)^2 / 2 (s - a)) narrow(c - g)
//
// Over the nodes a term is a Gaussian about a place between spike and bin, so that stopping at a
// window and summing instead of integrating leave the same relative error at any distance. What
// spikes give to the nodes comes from the moments that cells have anyway: the wide kernel, over the
// exp(-v^2) that moments hold, is a Chebyshev series in the place within the cell, too. It is cut
// at the same term; sums are linear, so that what is lost by that is the same as without nodes.
//
// A bin then takes some 20 products, where moments of 18 cells and order 14 are 252; there are 80
// nodes on a line of 28 bandwidths, whatever its bins.
#include "systems/decode/kde/kde_line.h"

#include "base/status.h"
#include "systems/decode/kde/kde_axis.h"

#include <math.h>

// Places are in units of sqrt(2) bandwidths: the kernel's variance is a half.
static const double VARIANCE = 0.5;
// Deviation of a term over the nodes in widths between them: 5e-9 for the sum. And deviations on
// either side of a window: 6e-9.
static const double FINE = 1.0;
static const double WIDE = 5.7;
static const double ERROR = 2e-8;
// Table entries below this are left out: they would only make denormal products.
static const double LEAST_ENTRY = 1e-30;
// Points that a series is found from: terms of 40 and more, which they take for others, are below
// 1e-30.
enum { POINTS = 32 };
static const double PI = 3.14159265358979323846;

typedef struct line_nodes {
    double width;
    double narrow;   // the variance a
    double low;      // place of the first node
    int64_t n;       // nodes
    double of_cells; // how far from a node cells count
    double of_bins;  // how far from a bin nodes count
    double cost;
} line_nodes;

// Nodes so far apart; false: their terms would be wider than the kernel allows.
static bool nodes_of_width(const kde_plan *plan, const double *value, int64_t n_value, double width,
                           line_nodes *nodes)
{
    const double deviation = FINE * width;
    const double share = deviation * deviation / VARIANCE;
    if (!(share < 0.25)) {
        return false;
    }
    nodes->width = width;
    nodes->narrow = VARIANCE * 0.5 * (1 - sqrt(1 - 4 * share));
    const double shift = nodes->narrow / VARIANCE;
    nodes->of_bins = plan->x.reach * shift + WIDE * deviation;
    nodes->of_cells = fmax(plan->x.reach, plan->x.reach * (1 - shift) + WIDE * deviation);
    nodes->low = value[0] - nodes->of_bins;
    const double high = value[n_value - 1] + nodes->of_bins;
    nodes->n = (int64_t)ceil((high - nodes->low) / width) + 1;
    const double blocks = ceil((double)n_value / TESS_KDE_BLOCK);
    const double spread = (value[n_value - 1] - value[0]) / blocks;
    const double cells = fmin(2 * nodes->of_cells / plan->x.width + 1, (double)plan->n_cell[0]);
    nodes->cost =
        ceil((double)nodes->n / TESS_KDE_BLOCK) * TESS_KDE_BLOCK * cells * (double)plan->x.order +
        blocks * TESS_KDE_BLOCK * ((2 * nodes->of_bins + spread) / width + 1);
    return true;
}

// Chebyshev polynomials at the points.
typedef struct polynomials {
    double at[TESS_KDE_MAX_ORDER][POINTS];
} polynomials;

static void fill_polynomials(polynomials *p)
{
    for (int64_t k = 0; k < TESS_KDE_MAX_ORDER; k++) {
        for (int64_t j = 0; j < POINTS; j++) {
            p->at[k][j] = cos(PI * (double)k * ((double)j + 0.5) / POINTS);
        }
    }
}

// Coefficients of exp(v^2 - (u - v)^2 / 2 (s - a)), v = t width / 2, in Chebyshev polynomials of t.
static void series(const kde_plan *plan, const polynomials *p, double wide, double u, double *out)
{
    double value[POINTS];
    for (int64_t j = 0; j < POINTS; j++) {
        const double v = 0.5 * plan->x.width * p->at[1][j];
        value[j] = exp(v * v - wide * (u - v) * (u - v));
    }
    for (int64_t k = 0; k < plan->x.order; k++) {
        double sum = 0;
        for (int64_t j = 0; j < POINTS; j++) {
            sum += value[j] * p->at[k][j];
        }
        out[k] = sum * (k == 0 ? 1.0 : 2.0) / POINTS;
    }
}

static tess_status from_cells(tess_blocks *blocks, tess_blocks *scratch, const kde_plan *plan,
                              const line_nodes *nodes, tess_kde_axis *axis)
{
    const int64_t order = plan->x.order;
    const double wide = 0.5 / (VARIANCE - nodes->narrow);
    const kde_points cells = {.first = plan->low[0] + 0.5 * plan->x.width,
                              .step = plan->x.width,
                              .n = plan->n_cell[0],
                              .reach = nodes->of_cells + 0.5 * plan->x.width};
    float *table;
    double *place = tess_blocks_alloc(scratch, nodes->n, sizeof *place, "place kernel");
    if (!place) {
        return TESS_E_MEMORY;
    }
    for (int64_t g = 0; g < nodes->n; g++) {
        place[g] = nodes->low + (double)g * nodes->width;
    }
    TESS_TRY(tess_de_kde_axis(blocks, &cells, place, nodes->n, order, false, axis, &table));
    double entry[TESS_KDE_MAX_ORDER];
    polynomials p;
    fill_polynomials(&p);
    for (int64_t g = 0; g < nodes->n; g++) {
        const int64_t b = g / TESS_KDE_BLOCK;
        for (int64_t c = axis->first[b]; c < axis->end[b]; c++) {
            const double centre = plan->low[0] + ((double)c + 0.5) * plan->x.width;
            if (fabs(place[g] - centre) > cells.reach) {
                continue;
            }
            series(plan, &p, wide, place[g] - centre, entry);
            float *to = table + tess_de_kde_entry(axis, order, b, c) + g % TESS_KDE_BLOCK;
            for (int64_t k = 0; k < order; k++) {
                to[k * TESS_KDE_BLOCK] = fabs(entry[k]) < LEAST_ENTRY ? 0 : (float)entry[k];
            }
        }
    }
    return TESS_OK;
}

static tess_status to_bins(tess_blocks *blocks, const line_nodes *nodes, const double *value,
                           int64_t n_value, tess_kde_axis *axis)
{
    const double scale = 1 / (FINE * sqrt(2 * PI));
    const kde_points points = {nodes->low, nodes->width, nodes->n, nodes->of_bins};
    float *table;
    TESS_TRY(tess_de_kde_axis(blocks, &points, value, n_value, 1, false, axis, &table));
    for (int64_t v = 0; v < n_value; v++) {
        const int64_t b = v / TESS_KDE_BLOCK;
        for (int64_t g = axis->first[b]; g < axis->end[b]; g++) {
            const double u = value[v] - (nodes->low + (double)g * nodes->width);
            if (fabs(u) <= nodes->of_bins) {
                table[tess_de_kde_entry(axis, 1, b, g) + v % TESS_KDE_BLOCK] =
                    (float)(scale * exp(-u * u / (2 * nodes->narrow)));
            }
        }
    }
    return TESS_OK;
}

tess_status tess_de_kde_line(tess_blocks *blocks, tess_blocks *scratch, const double *value,
                             int64_t n_value, double most_spikes, double bound,
                             tess_kde_model *stage, kde_plan *plan)
{
    line_nodes best = {.cost = plan->place_cost};
    for (double width = 0.12; width < 0.36; width += 0.02) {
        line_nodes nodes;
        if (nodes_of_width(plan, value, n_value, width, &nodes) && nodes.cost < best.cost) {
            best = nodes;
        }
    }
    const double without = most_spikes * ((double)n_value - (double)plan->x.order);
    if (best.n == 0 || without <= best.cost || plan->x.bound + ERROR > bound) {
        return TESS_OK;
    }
    TESS_TRY(from_cells(blocks, scratch, plan, &best, &stage->nodes.axes[1]));
    TESS_TRY(to_bins(blocks, &best, value, n_value, &stage->nodes.axes[0]));
    plan->place_cost = best.cost;
    plan->x.bound += ERROR;
    return TESS_OK;
}
