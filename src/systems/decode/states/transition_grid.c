// A random walk on a grid as convolutions.
//
// With K the product over axes of Gaussian steps and Z[a] the sum of K from bin a to all interior
// bins, C[a][b] = K[b - a] / Z[a]. Each axis is one pass over the grid. Only what an interior bin
// needs is computed, in tiles (transition_tiles.c); of the ways to lay out the grid and to order
// the passes the one with the least work is taken.
#include "systems/decode/states/transition_grid.h"

#include "base/status.h"
#include "systems/decode/states/transition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The axes of the environment, in the order in which a layout has them.
typedef struct grid_plan {
    int axis[TESS_DECODE_MAX_DIM]; // environment axis of each axis of the layout
    int last_first;                // the pass along the contiguous axis comes first
} grid_plan;

// Axis steps K[d] of a movement; sign -1 mirrors it.
static void fill_steps(const tess_decode_environment_info *env,
                       const tess_decode_movement *movement, int axis, double least, double sign,
                       grid_steps *steps)
{
    const int64_t n = env->grid_shape[axis];
    const double *edges = env->bin_edges[axis];
    const double width = (edges[n] - edges[0]) / (double)n;
    steps->low = n;
    steps->high = -n;
    for (int64_t d = 1 - n; d < n; d++) {
        const double u = (sign * (double)d * width - movement->mean[axis]);
        const double value = exp(-u * u / (2 * movement->variance));
        const int kept = value > least;
        steps->table[steps->middle + d] = kept ? value : 0;
        if (kept) {
            steps->low = d < steps->low ? d : steps->low;
            steps->high = d;
        }
    }
    if (steps->low > steps->high) {
        steps->low = steps->high = 0; // nothing is near: the step 0, which is worth nothing
    }
}

static int64_t whole_tiles(int64_t n)
{
    return (n + GRID_TILE - 1) / GRID_TILE * GRID_TILE;
}

// The first index along an axis that an interior bin has.
static int64_t first_along(const tess_decode_environment_info *env, int axis)
{
    int64_t step = 1, first = env->grid_shape[axis];
    for (int a = (int)env->n_place_dim - 1; a > axis; a--) {
        step *= env->grid_shape[a];
    }
    for (int64_t i = 0; i < env->n_interior; i++) {
        const int64_t at = env->interior_bin[i] / step % env->grid_shape[axis];
        first = at < first ? at : first;
    }
    return first;
}

// Lays the grid out: rows along the last axis, zeros between them as far as a step reaches. Where
// the interior begins, a cache line does.
static void lay_out(const tess_decode_environment_info *env, const grid_plan *plan,
                    grid_layout *grid)
{
    const int n_axis = grid->n_axis;
    int64_t gap = GRID_TILE;
    for (int a = 0; a < n_axis; a++) {
        grid->n[a] = env->grid_shape[plan->axis[a]];
    }
    const grid_steps *last = &grid->steps[plan->axis[n_axis - 1]];
    gap += last->high > -last->low ? last->high : -last->low;
    const int64_t begin = first_along(env, plan->axis[n_axis - 1]);
    grid->pitch = whole_tiles(grid->n[n_axis - 1] + gap);
    grid->lead = whole_tiles(gap + begin) - begin;
    grid->n_line = 1;
    for (int a = 0; a + 1 < n_axis; a++) {
        grid->n_line *= grid->n[a];
    }
    // Row tiles read and write past a line's end.
    grid->n_cell =
        whole_tiles(grid->lead + grid->n_line * grid->pitch + GRID_TILE * GRID_TILE + gap);
}

static int64_t cell_of(const tess_decode_environment_info *env, const grid_plan *plan,
                       const grid_layout *grid, int64_t bin)
{
    int64_t index[TESS_DECODE_MAX_DIM];
    for (int a = grid->n_axis - 1; a >= 0; a--) {
        index[a] = bin % env->grid_shape[a];
        bin /= env->grid_shape[a];
    }
    int64_t line = 0;
    for (int a = 0; a + 1 < grid->n_axis; a++) {
        line = line * grid->n[a] + index[plan->axis[a]];
    }
    return grid->lead + line * grid->pitch + index[plan->axis[grid->n_axis - 1]];
}

// Cells reached from set along an axis by d in low..high; sets have one byte per cell.
static void reach(const grid_layout *grid, int axis, int64_t low, int64_t high, const uint8_t *set,
                  uint8_t *out)
{
    const int64_t step = tess_de_grid_step(grid, axis);
    memset(out, 0, (size_t)grid->n_cell);
    for (int64_t line = 0; line < grid->n_line; line++) {
        for (int64_t i = 0; i < grid->n[grid->n_axis - 1]; i++) {
            const int64_t cell = grid->lead + line * grid->pitch + i;
            if (!set[cell]) {
                continue;
            }
            const int64_t at = tess_de_grid_index(grid, axis, line, i);
            const int64_t from = at + low > 0 ? at + low : 0;
            const int64_t to = at + high < grid->n[axis] - 1 ? at + high : grid->n[axis] - 1;
            for (int64_t k = from; k <= to; k++) {
                out[cell + (k - at) * step] = 1;
            }
        }
    }
}

// The passes of a plan in order: axis of the layout of pass p.
static int axis_of_pass(const grid_plan *plan, int n_axis, int p)
{
    if (plan->last_first) {
        return p == 0 ? n_axis - 1 : p - 1;
    }
    return p;
}

// What finding tiles needs.
typedef struct grid_work {
    int64_t *cells; // [n_interior]
    uint8_t *sets;  // [2 + n_axis][n_cell]
    int32_t *near;  // [4][n_cell]
    grid_way *ways;
} grid_work;

static tess_status take_work(tess_blocks *temporary, const tess_decode_environment_info *env,
                             const grid_plan *plan, const grid_layout *grid, grid_work *work)
{
    const char *what = "movement";
    work->cells = tess_blocks_alloc(temporary, env->n_interior, sizeof *work->cells, what);
    work->sets = tess_blocks_alloc(temporary, (2 + grid->n_axis) * grid->n_cell, 1, what);
    work->near = tess_blocks_alloc(temporary, 4 * grid->n_cell, sizeof *work->near, what);
    work->ways = tess_blocks_alloc(temporary, grid->n_cell + 2, sizeof *work->ways, what);
    if (!work->cells || !work->sets || !work->near || !work->ways) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < env->n_interior; i++) {
        work->cells[i] = cell_of(env, plan, grid, env->interior_bin[i]);
    }
    return TESS_OK;
}

static grid_set set_of(const uint8_t *bytes, int64_t n, int32_t *near)
{
    const grid_set set = {near, near + n};
    for (int64_t i = 0, last = -1; i < n; i++) {
        last = bytes[i] ? i : last;
        set.last[i] = (int32_t)last;
    }
    for (int64_t i = n - 1, next = n; i >= 0; i--) {
        next = bytes[i] ? i : next;
        set.next[i] = (int32_t)next;
    }
    return set;
}

// Tiles of all passes; tiles NULL: counted only.
static void make_passes(const grid_plan *plan, const grid_layout *grid, const grid_work *work,
                        int64_t n, grid_tiles *tiles, int64_t *first)
{
    const int n_axis = grid->n_axis;
    uint8_t *held = work->sets;
    uint8_t *spare = held + grid->n_cell;
    uint8_t *need = held + 2 * grid->n_cell;
    memset(held, 0, (size_t)((2 + n_axis) * grid->n_cell));
    for (int64_t i = 0; i < n; i++) {
        held[work->cells[i]] = 1;
        need[(n_axis - 1) * grid->n_cell + work->cells[i]] = 1;
    }
    for (int p = n_axis - 1; p > 0; p--) {
        const int axis = axis_of_pass(plan, n_axis, p);
        const grid_steps *steps = &grid->steps[plan->axis[axis]];
        reach(grid, axis, -steps->high, -steps->low, need + p * grid->n_cell,
              need + (p - 1) * grid->n_cell);
    }
    tiles->n = 0;
    tiles->cost = 0;
    for (int p = 0; p < n_axis; p++) {
        const int axis = axis_of_pass(plan, n_axis, p);
        const grid_steps *steps = &grid->steps[plan->axis[axis]];
        uint8_t *want = need + p * grid->n_cell;
        reach(grid, axis, steps->low, steps->high, held, spare);
        for (int64_t i = 0; i < grid->n_cell; i++) {
            want[i] &= spare[i];
        }
        const grid_pass pass = {grid, steps, set_of(held, grid->n_cell, work->near),
                                set_of(want, grid->n_cell, work->near + 2 * grid->n_cell),
                                work->ways};
        first[p] = tiles->n;
        if (axis == n_axis - 1) {
            tess_de_grid_along(&pass, tiles);
        } else {
            tess_de_grid_across(&pass, axis, tiles);
        }
        memcpy(held, want, (size_t)grid->n_cell);
    }
    first[n_axis] = tiles->n;
}

typedef struct walk_build {
    tess_blocks *blocks;
    const tess_decode_environment_info *env;
    grid_layout grid; // with the steps of one direction
    double *table;
    int64_t n_table;
} walk_build;

static tess_status prepare(const tess_decode_movement *movement, int is_exact, double sign,
                           walk_build *build)
{
    const tess_decode_environment_info *env = build->env;
    grid_layout *grid = &build->grid;
    grid->n_axis = (int)env->n_place_dim;
    build->n_table = 0;
    for (int a = 0; a < grid->n_axis; a++) {
        grid->steps[a].middle = build->n_table + env->grid_shape[a] - 1 + GRID_TILE;
        build->n_table += 2 * (env->grid_shape[a] + GRID_TILE);
    }
    build->table = tess_blocks_alloc(build->blocks, build->n_table, sizeof(double), "movement");
    if (!build->table) {
        return TESS_E_MEMORY;
    }
    for (int a = 0; a < grid->n_axis; a++) {
        grid->steps[a].table = build->table;
        fill_steps(env, movement, a, tess_de_least_step(is_exact), sign, &grid->steps[a]);
    }
    return TESS_OK;
}

// Every plan's work; the best goes to *best.
static tess_status choose(walk_build *build, tess_blocks *temporary, grid_plan *best,
                          int64_t *best_cost)
{
    const tess_decode_environment_info *env = build->env;
    const int n_axis = build->grid.n_axis;
    *best_cost = INT64_MAX;
    for (int k = 0; k < 2 * n_axis; k++) {
        if (n_axis == 1 && k > 0) {
            break;
        }
        grid_plan plan = {.last_first = k % 2};
        plan.axis[n_axis - 1] = k / 2;
        for (int a = 0, next = 0; a < n_axis; a++) {
            if (a != k / 2) {
                plan.axis[next++] = a;
            }
        }
        lay_out(env, &plan, &build->grid);
        grid_work work;
        TESS_TRY(take_work(temporary, env, &plan, &build->grid, &work));
        grid_tiles tiles = {0};
        int64_t first[TESS_DECODE_MAX_DIM + 1];
        make_passes(&plan, &build->grid, &work, env->n_interior, &tiles, first);
        if (tiles.cost < *best_cost) {
            *best = plan;
            *best_cost = tiles.cost;
        }
    }
    return TESS_OK;
}

int64_t tess_de_grid_runs(const int32_t *cells, int64_t n, tess_tile_run *runs)
{
    int64_t n_run = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || cells[i] != cells[i - 1] + 1) {
            runs[n_run++] = (tess_tile_run){.bin = (int32_t)i, .cell = cells[i]};
        }
        runs[n_run - 1].n++;
    }
    return n_run;
}

static int compare_cells(const void *a, const void *b)
{
    const tess_tile_run *first = a, *second = b;
    return (first->cell > second->cell) - (first->cell < second->cell);
}

// The operator without its row sums.
static tess_status compile(walk_build *build, const grid_plan *plan, tess_blocks *temporary,
                           tess_hmm_operator *op)
{
    const tess_decode_environment_info *env = build->env;
    const int64_t n = env->n_interior;
    const int n_axis = build->grid.n_axis;
    grid_layout *grid = &build->grid;
    lay_out(env, plan, grid);
    grid_work work;
    TESS_TRY(take_work(temporary, env, plan, grid, &work));
    int32_t *index = tess_blocks_alloc(build->blocks, n, sizeof *index, "movement");
    tess_tile_run *runs = tess_blocks_alloc(build->blocks, n, sizeof *runs, "movement");
    tess_tile_run *by_cell = tess_blocks_alloc(build->blocks, n, sizeof *runs, "movement");
    if (!index || !runs || !by_cell) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        index[i] = (int32_t)work.cells[i];
    }
    grid_tiles tiles = {0};
    int64_t first[TESS_DECODE_MAX_DIM + 1];
    make_passes(plan, grid, &work, n, &tiles, first);
    tiles.tiles = tess_blocks_alloc(build->blocks, tiles.n, sizeof *tiles.tiles, "movement");
    if (!tiles.tiles) {
        return TESS_E_MEMORY;
    }
    make_passes(plan, grid, &work, n, &tiles, first);
    const int64_t n_run = tess_de_grid_runs(index, n, runs);
    memcpy(by_cell, runs, (size_t)n_run * sizeof *runs);
    qsort(by_cell, (size_t)n_run, sizeof *runs, compare_cells);
    *op = (tess_hmm_operator){.n_in = n,
                              .n_out = n,
                              .n_cell = grid->n_cell,
                              .scatter = index,
                              .gather = index,
                              .scatter_runs = by_cell,
                              .gather_runs = runs,
                              .n_run = n_run,
                              .table = build->table,
                              .n_table = build->n_table,
                              .n_pass = n_axis};
    for (int p = 0; p < n_axis; p++) {
        op->pass[p] = (tess_hmm_pass){.tiles = tiles.tiles + first[p],
                                      .n_tile = first[p + 1] - first[p],
                                      .weighs = axis_of_pass(plan, n_axis, p) == n_axis - 1};
    }
    return TESS_OK;
}

// 1 / Z of every interior bin, 0 where nothing can be reached.
static tess_status invert_row_sums(const walk_build *build, tess_blocks *temporary, double *inverse)
{
    const tess_decode_environment_info *env = build->env;
    double *sums = tess_blocks_alloc(temporary, env->n_bin, sizeof *sums, "movement");
    double *line = tess_blocks_alloc(temporary, env->n_bin, sizeof *line, "movement");
    if (!sums || !line) {
        return TESS_E_MEMORY;
    }
    for (int64_t b = 0; b < env->n_bin; b++) {
        sums[b] = env->is_interior[b] ? 1 : 0;
    }
    int64_t inner = env->n_bin;
    int64_t outer = 1;
    for (int a = 0; a < build->grid.n_axis; a++) {
        const int64_t n = env->grid_shape[a];
        const grid_steps *reached = &build->grid.steps[a];
        const double *steps = build->table + reached->middle;
        inner /= n;
        for (int64_t o = 0; o < outer * inner; o++) {
            double *from = sums + o / inner * n * inner + o % inner;
            for (int64_t i = 0; i < n; i++) {
                const int64_t first = i + reached->low > 0 ? i + reached->low : 0;
                const int64_t last = i + reached->high < n ? i + reached->high : n - 1;
                double sum = 0;
                for (int64_t k = first; k <= last; k++) {
                    sum = fma(steps[k - i], from[k * inner], sum);
                }
                line[i] = sum;
            }
            for (int64_t i = 0; i < n; i++) {
                from[i * inner] = line[i];
            }
        }
        outer *= n;
    }
    for (int64_t i = 0; i < env->n_interior; i++) {
        const double sum = sums[env->interior_bin[i]];
        inverse[i] = sum > 0 ? 1 / sum : 0;
    }
    return TESS_OK;
}

static tess_status build_walk(tess_blocks *blocks, tess_blocks *temporary,
                              const tess_decode_environment_info *env,
                              const tess_decode_movement *movement, int is_exact,
                              tess_de_operator *out)
{
    double *inverse = tess_blocks_alloc(blocks, env->n_interior, sizeof *inverse, "movement");
    if (!inverse) {
        return TESS_E_MEMORY;
    }
    walk_build forward = {.blocks = blocks, .env = env};
    walk_build backward = {.blocks = blocks, .env = env};
    grid_plan plan;
    int64_t cost = 0;
    TESS_TRY(prepare(movement, is_exact, 1, &forward));
    TESS_TRY(prepare(movement, is_exact, -1, &backward));
    TESS_TRY(invert_row_sums(&forward, temporary, inverse));
    TESS_TRY(choose(&forward, temporary, &plan, &cost));
    TESS_TRY(compile(&forward, &plan, temporary, &out->forward));
    TESS_TRY(compile(&backward, &plan, temporary, &out->backward));
    out->forward.before = inverse;
    out->backward.after = inverse;
    out->cost = 2 * (cost / 4 + env->n_interior);
    return TESS_OK;
}

tess_status tess_de_operator_of_walk(tess_blocks *blocks, const tess_decode_environment_info *env,
                                     const tess_decode_movement *movement, int is_exact,
                                     tess_de_operator *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks temporary;
    tess_blocks_init(&temporary, blocks->heap);
    const tess_status status = build_walk(blocks, &temporary, env, movement, is_exact, out);
    tess_blocks_free(&temporary);
    return status;
}
