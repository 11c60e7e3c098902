// A random walk on a line by way of nodes: few products where a step reaches many bins.
//
// A Gaussian step of variance s is one of variance a from a bin to the nodes around it, one of
// s - 2 a from node to node, and one of a again from there to a bin. Of a lattice that is fine
// enough the sum over both nodes is the integral, and for a given pair of bins it is a Gaussian
// about two places between them: with a window that holds these places, relative errors are the
// same at any distance. All terms are positive, nothing cancels.
//
// With steps of 49 bins among 2000, nodes are 12 bins apart and windows have 31: 85 000 products
// from bins to nodes, 22 000 among 187 nodes, 64 000 back to bins, where bin to bin takes 2 500
// 000. With steps of 12 among 500 all are 55 000 instead of 135 000.
#include "base/status.h"
#include "systems/decode/states/transition.h"
#include "systems/decode/states/transition_grid.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Standard deviation of a sum over nodes, in widths between them: what a lattice that is too coarse
// adds is 4 exp(-2 pi^2 FINE^2), 6e-14.
static const double FINE = 1.27;
// Standard deviations on either side of a window: 7e-14 are left out at each end of a step.
static const double WIDE = 7.4;

// In units of bins. An interval is the bins between two nodes' midpoints; the node of interval k is
// number k + n_beyond.
typedef struct node_plan {
    int64_t n_bin;
    int64_t apart;    // bins of an interval
    int64_t half;     // a window is half nodes on either side of an interval's own
    int64_t n_beyond; // nodes beyond the first interval, and beyond the last
    int64_t n_interval;
    int64_t n_node;
    int64_t span;     // intervals of a row of a tile
    int64_t reach[2]; // steps among nodes, lowest and highest
    double narrow;    // variances of the outer steps and of the one among nodes
    double wide;
    double mean;
    double scale;
    int64_t lead; // cell of the first bin, and of the first node
    int64_t n_cell;
    int64_t in, among, out; // where their tables begin
    int64_t n_table;
} node_plan;

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Where cells and tables lie: tiles read and write a tile's width beyond both ends.
static void lay_out(node_plan *p)
{
    const int64_t tile = GRID_TILE * GRID_TILE;
    p->lead = less(tile, p->n_node + GRID_TILE) * p->apart + p->half;
    p->lead = (p->lead + GRID_TILE - 1) / GRID_TILE * GRID_TILE;
    p->n_cell = 2 * p->lead + more(p->n_interval * p->apart, p->n_node) + 2 * tile;
    p->in = 0;
    p->among = p->in + (2 * p->half + GRID_TILE) * p->apart * GRID_TILE;
    p->out = p->among + 2 * (p->n_node + 2 * tile) + 1;
    p->n_table = p->out + (2 * p->half + p->span) * p->span * p->apart;
}

// Nodes so far apart for a step of this variance and mean, in bins; false: there are none.
static bool plan_nodes(int64_t n_bin, double variance, double mean, int64_t apart, node_plan *p)
{
    const double farthest = sqrt(-2 * variance * log(tess_de_least_step(0)));
    const double deviation = FINE * (double)apart;
    const double root = variance * variance - 4 * variance * deviation * deviation;
    if (!(root > 0)) {
        return false;
    }
    memset(p, 0, sizeof *p);
    p->n_bin = n_bin;
    p->apart = apart;
    p->narrow = (variance - sqrt(root)) / 2;
    p->wide = variance - 2 * p->narrow;
    p->mean = mean;
    const double share = p->narrow / variance;
    if (share > 1.0 / 3) {
        return false; // the difference of both nodes would be too narrow for the lattice
    }
    p->half = (int64_t)ceil((farthest * share + WIDE * deviation) / (double)apart - 0.5);
    p->n_beyond =
        less((int64_t)ceil((fabs(mean) * share + WIDE * deviation) / (double)apart), p->half);
    p->n_interval = (n_bin + apart - 1) / apart;
    p->n_node = p->n_interval + 2 * p->n_beyond;
    p->span = apart % GRID_TILE == 0 ? 1 : GRID_TILE / 4;
    const double width = farthest * (1 - 2 * share) + WIDE * sqrt(2 * share * p->wide);
    p->reach[0] = more((int64_t)floor((mean - width) / (double)apart), 1 - p->n_node);
    p->reach[1] = less((int64_t)ceil((mean + width) / (double)apart), p->n_node - 1);
    p->scale =
        (double)(apart * apart) / (6.28318530717958647692 * p->narrow * sqrt(p->wide / variance));
    lay_out(p);
    return p->reach[0] <= p->reach[1];
}

// The step from a bin to a node, or back: the bin is the i-th from the beginning of an interval,
// the node that of the interval k later.
static double narrow_step(const node_plan *p, int64_t i, int64_t k)
{
    const int64_t own = i >= 0 ? i / p->apart : -((p->apart - 1 - i) / p->apart);
    if (own - k > p->half || k - own > p->half) {
        return 0;
    }
    const double u = (double)i - ((double)(k * p->apart) + 0.5 * (double)(p->apart - 1));
    return exp(-u * u / (2 * p->narrow));
}

static void fill_table(const node_plan *p, double sign, double *table)
{
    for (int64_t t = 0; t < (2 * p->half + GRID_TILE) * p->apart; t++) {
        for (int64_t j = 0; j < GRID_TILE; j++) {
            table[p->in + t * GRID_TILE + j] = narrow_step(p, t - p->half * p->apart, j);
        }
    }
    const int64_t middle = p->among + p->n_node + GRID_TILE * GRID_TILE;
    for (int64_t d = p->reach[0]; d <= p->reach[1]; d++) {
        const double u = (double)(d * p->apart) - p->mean;
        table[middle + (sign > 0 ? d : -d)] = p->scale * exp(-u * u / (2 * p->wide));
    }
    const int64_t n = p->span * p->apart;
    for (int64_t t = 0; t < 2 * p->half + p->span; t++) {
        for (int64_t j = 0; j < n; j++) {
            table[p->out + t * n + j] = narrow_step(p, j, t - p->half);
        }
    }
}

static void add_tile(const tess_tile_sum *tile, grid_tiles *tiles)
{
    if (tiles->tiles) {
        tiles->tiles[tiles->n] = *tile;
    }
    tiles->n++;
    tiles->cost += tess_de_tile_cost(tile);
}

// Rows of a tile that begins with a given one of n, so many of which are a row.
static int64_t rows_from(int64_t first, int64_t n, int64_t of_row)
{
    return less(GRID_TILE, (n - first + of_row - 1) / of_row);
}

// Rows are GRID_TILE nodes each, one behind the other; terms are the bins about them that exist.
static void into_nodes(const node_plan *p, grid_tiles *tiles)
{
    for (int64_t g = 0; g < p->n_node; g += GRID_TILE * GRID_TILE) {
        const int64_t n_row = rows_from(g, p->n_node, GRID_TILE);
        const int64_t begin = (g - p->n_beyond) * p->apart;
        const int64_t last = begin + (n_row - 1) * GRID_TILE * p->apart;
        const int64_t from = more(-p->half * p->apart, -last);
        const int64_t to = less((p->half + GRID_TILE) * p->apart - 1, p->n_bin - 1 - begin);
        const tess_tile_sum tile = {.w = p->lead + begin + from,
                                    .x = p->in + (from + p->half * p->apart) * GRID_TILE,
                                    .out = p->lead + g,
                                    .w_row = (int32_t)(GRID_TILE * p->apart),
                                    .w_term = 1,
                                    .x_term = GRID_TILE,
                                    .out_row = GRID_TILE,
                                    .n_term = (int32_t)more(to - from + 1, 0),
                                    .n_row = (int32_t)n_row,
                                    .n = GRID_TILE};
        add_tile(&tile, tiles);
    }
}

static void among_nodes(const node_plan *p, const int64_t reach[2], grid_tiles *tiles)
{
    const int64_t middle = p->among + p->n_node + GRID_TILE * GRID_TILE;
    for (int64_t g = 0; g < p->n_node; g += GRID_TILE * GRID_TILE) {
        const int64_t n_row = rows_from(g, p->n_node, GRID_TILE);
        const int64_t from = more(-reach[1], -(g + (n_row - 1) * GRID_TILE));
        const int64_t to = less(GRID_TILE - 1 - reach[0], p->n_node - 1 - g);
        const tess_tile_sum tile = {.w = p->lead + g + from,
                                    .x = middle - from,
                                    .out = p->lead + g,
                                    .w_row = GRID_TILE,
                                    .w_term = 1,
                                    .x_term = -1,
                                    .out_row = GRID_TILE,
                                    .n_term = (int32_t)more(to - from + 1, 0),
                                    .n_row = (int32_t)n_row,
                                    .n = GRID_TILE};
        add_tile(&tile, tiles);
    }
}

// Rows are the bins of span intervals each; terms are the nodes of their windows, of which those
// that do not exist hold 0.
static void out_of_nodes(const node_plan *p, grid_tiles *tiles)
{
    const int64_t n = p->span * p->apart;
    for (int64_t k = 0; k < p->n_interval; k += GRID_TILE * p->span) {
        const tess_tile_sum tile = {.w = p->lead + k + p->n_beyond - p->half,
                                    .x = p->out,
                                    .out = p->lead + k * p->apart,
                                    .w_row = (int32_t)p->span,
                                    .w_term = 1,
                                    .x_term = (int32_t)n,
                                    .out_row = (int32_t)n,
                                    .n_term = (int32_t)(2 * p->half + p->span),
                                    .n_row = (int32_t)rows_from(k, p->n_interval, p->span),
                                    .n = (int32_t)n};
        add_tile(&tile, tiles);
    }
}

// Tiles of the passes of one direction; tiles NULL: counted only.
static void make_passes(const node_plan *p, double sign, grid_tiles *tiles, int64_t first[4])
{
    const int64_t mirrored[2] = {-p->reach[1], -p->reach[0]};
    tiles->n = 0;
    tiles->cost = 0;
    first[0] = 0;
    into_nodes(p, tiles);
    first[1] = tiles->n;
    among_nodes(p, sign > 0 ? p->reach : mirrored, tiles);
    first[2] = tiles->n;
    out_of_nodes(p, tiles);
    first[3] = tiles->n;
}

// The cheapest distance between nodes; false: bin to bin costs no more than that.
static bool choose(int64_t n_bin, double variance, double mean, int64_t most, node_plan *best)
{
    int64_t least = most;
    for (int64_t apart = GRID_TILE / 2; apart <= n_bin && 4 * (double)(apart * apart) < variance;
         apart += GRID_TILE / 2) {
        node_plan plan;
        grid_tiles tiles = {0};
        int64_t first[4];
        if (plan_nodes(n_bin, variance, mean, apart, &plan)) {
            make_passes(&plan, 1, &tiles, first);
            if (tiles.cost < least) {
                least = tiles.cost;
                *best = plan;
            }
        }
    }
    return least < most;
}

// One direction: as the walk bin by bin, but for where cells are and what becomes of them.
static tess_status compile(tess_blocks *blocks, const node_plan *plan, double sign,
                           const tess_decode_environment_info *env, tess_hmm_operator *op)
{
    const int64_t n = env->n_interior;
    double *table = tess_blocks_alloc(blocks, plan->n_table, sizeof *table, "movement");
    int32_t *index = tess_blocks_alloc(blocks, n, sizeof *index, "movement");
    tess_tile_run *runs = tess_blocks_alloc(blocks, n, sizeof *runs, "movement");
    grid_tiles tiles = {0};
    int64_t first[4];
    make_passes(plan, sign, &tiles, first);
    tiles.tiles = tess_blocks_alloc(blocks, tiles.n, sizeof *tiles.tiles, "movement");
    if (!table || !index || !runs || !tiles.tiles) {
        return TESS_E_MEMORY;
    }
    fill_table(plan, sign, table);
    make_passes(plan, sign, &tiles, first);
    for (int64_t i = 0; i < n; i++) {
        index[i] = (int32_t)(plan->lead + env->interior_bin[i]);
    }
    op->n_cell = plan->n_cell;
    op->scatter = op->gather = index;
    op->n_run = tess_de_grid_runs(index, n, runs);
    op->scatter_runs = op->gather_runs = runs; // bins and cells of a line have the same order
    op->table = table;
    op->n_table = plan->n_table;
    op->n_pass = 3;
    for (int p = 0; p < 3; p++) {
        op->pass[p] = (tess_hmm_pass){
            .tiles = tiles.tiles + first[p], .n_tile = first[p + 1] - first[p], .weighs = 1};
    }
    return TESS_OK;
}

// Whether rows are worth so much that steps no larger than what float32 can hold, which bin to bin
// leaves out, and of which nodes give a part, do not count. A mean that leads far out of the line
// leaves rows of nothing else.
static bool rows_are_worth(const double *inverse, int64_t n)
{
    static const double seen = 1e-13;
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = inverse[i] > most ? inverse[i] : most;
    }
    return most * (double)n * tess_de_least_step(0) < seen;
}

tess_status tess_de_operator_by_nodes(tess_blocks *blocks, const tess_decode_environment_info *env,
                                      const tess_decode_movement *movement,
                                      const tess_de_operator *walk, tess_de_operator *out)
{
    *out = *walk;
    if (env->n_place_dim != 1 || !rows_are_worth(walk->forward.before, walk->forward.n_in)) {
        return TESS_OK;
    }
    const int64_t n = env->grid_shape[0];
    const double width = (env->bin_edges[0][n] - env->bin_edges[0][0]) / (double)n;
    int64_t cost = 0;
    for (int64_t i = 0; i < walk->forward.pass[0].n_tile; i++) {
        cost += tess_de_tile_cost(&walk->forward.pass[0].tiles[i]);
    }
    node_plan plan;
    if (!choose(n, movement->variance / (width * width), movement->mean[0] / width, cost, &plan)) {
        return TESS_OK;
    }
    TESS_TRY(compile(blocks, &plan, 1, env, &out->forward));
    return compile(blocks, &plan, -1, env, &out->backward);
}
