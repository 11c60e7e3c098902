// Tiles of a pass over a grid: as few and as full as the shape of the interior allows.
//
// What a movement costs is what its tiles do. Along a line of cells a Gaussian step of 2 h + 1
// worths takes 2 h + n terms for n cells side by side, or as many as cells within h hold something;
// across lines it takes as many terms as lines within h do. In a W-maze of 724 bins of 2 cm with
// steps of variance 6 cm2 (h = 16, where f32 ends) the 10 lines of its arms need at least 18 000
// products, and with all joins the tiles do 51 000, 6400 vectors of 8, where a dense matrix has 524
// 000. How lines and columns are cut into tiles is found by comparing what all ways cost.
#include "systems/decode/states/transition_grid.h"

// Vectors of GRID_TILE columns that a tile may have, if its rows are lines, or stretches of one.
enum { MOST_VECTORS = 8, MOST_BAND_VECTORS = 4 };

int64_t tess_de_grid_step(const grid_layout *grid, int axis)
{
    int64_t step = axis == grid->n_axis - 1 ? 1 : grid->pitch;
    for (int a = axis + 1; a + 1 < grid->n_axis; a++) {
        step *= grid->n[a];
    }
    return step;
}

int64_t tess_de_grid_index(const grid_layout *grid, int axis, int64_t line, int64_t i)
{
    if (axis == grid->n_axis - 1) {
        return i;
    }
    for (int a = grid->n_axis - 2; a > axis; a--) {
        line /= grid->n[a];
    }
    return line % grid->n[axis];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Quarters of a cycle, as cores do that start four operations a cycle and end a product four cycles
// later: a term loads its columns, spreads a weight for every row, and multiplies.
int64_t tess_de_tile_cost(const tess_tile_sum *tile)
{
    enum { TILE = 80, BLOCK = 60, LATENCY = 16 };
    const int64_t rows = tile->n_row;
    // As the kernel takes them where there are 32 registers.
    const int64_t at_once = rows <= 2 ? 4 : rows <= 4 || rows >= 7 ? 3 : 2;
    int64_t cost = TILE;
    for (int64_t left = (tile->n + GRID_TILE - 1) / GRID_TILE; left > 0; left -= at_once) {
        const int64_t wide = least(left, at_once);
        cost += BLOCK + tile->n_term * most(LATENCY, rows + wide + rows * wide + 3);
    }
    return cost;
}

static void add_tile(grid_tiles *tiles, const tess_tile_sum *tile)
{
    if (tiles->tiles) {
        tiles->tiles[tiles->n] = *tile;
    }
    tiles->n++;
    tiles->cost += tess_de_tile_cost(tile);
}

// Rows of cells, step apart, that a pass is cut up over.
typedef struct grid_box {
    const grid_pass *pass;
    int64_t cell;
    int64_t n_row;
    int64_t step;
    int64_t n; // columns
} grid_box;

static grid_box rows_of(const grid_box *box, int64_t first, int64_t n_row)
{
    grid_box some = *box;
    some.cell += first * box->step;
    some.n_row = n_row;
    return some;
}

// First and last column from..to in which a box has a cell of a set; *low > *high: none.
static void extent(const grid_box *box, const grid_set *set, int64_t from, int64_t to, int64_t *low,
                   int64_t *high)
{
    *low = to + 1;
    *high = from - 1;
    for (int64_t r = 0; r < box->n_row && from <= to; r++) {
        const int64_t cell = box->cell + r * box->step;
        if (set->next[cell + from] <= cell + to) {
            *low = least(*low, set->next[cell + from] - cell);
            *high = most(*high, set->last[cell + to] - cell);
        }
    }
}

// 1 if row r of a box has a cell of a set in columns from..from+n-1.
static int any_in(const grid_box *box, const grid_set *set, int64_t r, int64_t from, int64_t n)
{
    const int64_t cell = box->cell + r * box->step + from;
    return set->next[cell] < cell + n;
}

// Columns from y on, whole vectors of them, up to the last wanted one of those given.
static int64_t trimmed(const grid_box *box, int64_t y, int64_t width)
{
    int64_t low, high;
    extent(box, &box->pass->want, y, least(y + width, box->n) - 1, &low, &high);
    return (high - y + GRID_TILE) / GRID_TILE * GRID_TILE;
}

static void begin_ways(grid_way *ways, int64_t n)
{
    for (int64_t i = 0; i <= n; i++) {
        ways[i].cost = INT64_MAX;
    }
    ways[0].cost = 0;
}

// A way from at to another place, if it is the cheapest so far.
static void offer(grid_way *ways, int64_t at, int64_t to, int64_t size, int64_t cost)
{
    const int64_t all = ways[at].cost + cost;
    if (all < ways[to].cost) {
        ways[to].cost = all;
        ways[to].from = at;
        ways[to].size = size;
    }
}

// Turns the cheapest way to n round, so that it can be walked from 0 on.
static void settle_ways(grid_way *ways, int64_t n)
{
    for (int64_t at = n; at > 0; at = ways[at].from) {
        ways[ways[at].from].to = at;
        ways[ways[at].from].chosen = ways[at].size;
    }
}

// Makes the tiles of columns y..y+width-1 of a box.
typedef void (*make_strip)(const grid_box *box, int64_t y, int64_t width, grid_tiles *tiles);

// Cuts the columns of a box into strips of up to n_vector vectors, so that they cost the least.
static void cut(const grid_box *box, make_strip make, int64_t n_vector, grid_way *ways,
                grid_tiles *tiles)
{
    begin_ways(ways, box->n);
    for (int64_t y = 0; y < box->n; y++) {
        int64_t low, high;
        if (ways[y].cost == INT64_MAX) {
            continue;
        }
        extent(box, &box->pass->want, y, box->n - 1, &low, &high);
        if (low > y) {
            offer(ways, y, low, 0, 0); // nothing is wanted before
            continue;
        }
        for (int64_t k = 1; k <= n_vector && y + (k - 1) * GRID_TILE < box->n; k++) {
            grid_tiles made = {0};
            make(box, y, k * GRID_TILE, &made);
            offer(ways, y, least(y + k * GRID_TILE, box->n), k, made.cost);
        }
    }
    settle_ways(ways, box->n);
    for (int64_t y = 0; y < box->n; y = ways[y].to) {
        if (ways[y].chosen > 0) {
            make(box, y, ways[y].chosen * GRID_TILE, tiles);
        }
    }
}

// Up to 64 cells of one line in a tile: its rows are stretches of GRID_TILE cells, one behind the
// other, which share the shifted steps.
static void along_line(const grid_box *line, grid_tiles *tiles)
{
    const grid_steps *steps = line->pass->steps;
    const int64_t n = line->n;
    int64_t low, high;
    extent(line, &line->pass->held, 0, n - 1, &low, &high);
    for (int64_t y = 0; y < n && low <= high;) {
        if (!any_in(line, &line->pass->want, 0, y, 1)) {
            y++;
            continue;
        }
        int64_t n_row = 1;
        while (n_row < GRID_TILE && y + n_row * GRID_TILE < n &&
               any_in(line, &line->pass->want, 0, y + n_row * GRID_TILE,
                      least(GRID_TILE, n - y - n_row * GRID_TILE))) {
            n_row++;
        }
        // Cells from..to relative to each stretch are its terms.
        const int64_t from = most(-steps->high, low - (y + (n_row - 1) * GRID_TILE));
        const int64_t to = least(GRID_TILE - 1 - steps->low, high - y);
        const tess_tile_sum tile = {.w = line->cell + y + from,
                                    .x = steps->middle - from,
                                    .out = line->cell + y,
                                    .w_row = GRID_TILE,
                                    .w_term = 1,
                                    .x_term = -1,
                                    .out_row = GRID_TILE,
                                    .n_term = (int32_t)(to - from + 1),
                                    .n_row = (int32_t)n_row,
                                    .n = GRID_TILE};
        add_tile(tiles, &tile);
        y += n_row * GRID_TILE;
    }
}

// Some columns of a band of lines: the lines are the rows of one tile.
static void along_strip(const grid_box *band, int64_t y, int64_t width, grid_tiles *tiles)
{
    const grid_steps *steps = band->pass->steps;
    const grid_set *want = &band->pass->want;
    const int64_t seen = least(width, band->n - y);
    int64_t top = 0, bottom = band->n_row - 1;
    while (!any_in(band, want, top, y, seen)) {
        top++;
    }
    while (!any_in(band, want, bottom, y, seen)) {
        bottom--;
    }
    const grid_box rows = rows_of(band, top, bottom - top + 1);
    const int64_t n = trimmed(&rows, y, width);
    int64_t low, high;
    extent(&rows, &band->pass->held, most(y - steps->high, 0),
           least(y + n - 1 - steps->low, band->n - 1), &low, &high);
    const tess_tile_sum tile = {.w = rows.cell + low,
                                .x = steps->middle + y - low,
                                .out = rows.cell + y,
                                .w_row = (int32_t)rows.step,
                                .w_term = 1,
                                .x_term = -1,
                                .out_row = (int32_t)rows.step,
                                .n_term = (int32_t)most(high - low + 1, 0),
                                .n_row = (int32_t)rows.n_row,
                                .n = (int32_t)n};
    add_tile(tiles, &tile);
}

// Lines as a band of them (size > 0), or one by itself (size 0).
static void along_lines(const grid_box *all, int64_t line, int64_t size, grid_way *ways,
                        grid_tiles *tiles)
{
    const grid_box lines = rows_of(all, line, size > 0 ? size : 1);
    if (size > 0) {
        cut(&lines, along_strip, MOST_BAND_VECTORS, ways, tiles);
    } else {
        along_line(&lines, tiles);
    }
}

void tess_de_grid_along(const grid_pass *pass, grid_tiles *tiles)
{
    const grid_layout *grid = pass->grid;
    const int64_t n_line = grid->n_line;
    const grid_box all = {pass, grid->lead, n_line, grid->pitch, grid->n[grid->n_axis - 1]};
    grid_way *ways = pass->ways;
    grid_way *within = pass->ways + n_line + 1; // of one band
    begin_ways(ways, n_line);
    for (int64_t line = 0; line < n_line; line++) {
        if (!any_in(&all, &pass->want, line, 0, all.n)) {
            offer(ways, line, line + 1, 0, 0);
            continue;
        }
        for (int64_t size = 0; size <= least(GRID_TILE, n_line - line); size++) {
            grid_tiles made = {0};
            along_lines(&all, line, size, within, &made);
            offer(ways, line, line + most(size, 1), size, made.cost);
        }
    }
    settle_ways(ways, n_line);
    for (int64_t line = 0; line < n_line; line = ways[line].to) {
        if (any_in(&all, &pass->want, line, 0, all.n)) {
            along_lines(&all, line, ways[line].chosen, within, tiles);
        }
    }
}

// Some columns of all lines of an axis: tiles of up to GRID_TILE wanted rows.
static void across_strip(const grid_box *box, int64_t y, int64_t width, grid_tiles *tiles)
{
    const grid_steps *steps = box->pass->steps;
    const grid_set *held = &box->pass->held, *want = &box->pass->want;
    const int64_t seen = least(width, box->n - y);
    for (int64_t x = 0; x < box->n_row;) {
        if (!any_in(box, want, x, y, seen)) {
            x++;
            continue;
        }
        int64_t n_row = least(GRID_TILE, box->n_row - x);
        while (!any_in(box, want, x + n_row - 1, y, seen)) {
            n_row--;
        }
        const grid_box rows = rows_of(box, x, n_row);
        const int64_t n = trimmed(&rows, y, width);
        int64_t from = most(x - steps->high, 0);
        int64_t to = least(x + n_row - 1 - steps->low, box->n_row - 1);
        while (from < to && !any_in(box, held, from, y, n)) {
            from++;
        }
        while (to > from && !any_in(box, held, to, y, n)) {
            to--;
        }
        const tess_tile_sum tile = {.w = steps->middle + x - from,
                                    .x = box->cell + from * box->step + y,
                                    .out = rows.cell + y,
                                    .w_row = 1,
                                    .w_term = -1,
                                    .x_term = (int32_t)box->step,
                                    .out_row = (int32_t)box->step,
                                    .n_term = (int32_t)most(to - from + 1, 0),
                                    .n_row = (int32_t)n_row,
                                    .n = (int32_t)n};
        add_tile(tiles, &tile);
        x += n_row;
    }
}

void tess_de_grid_across(const grid_pass *pass, int axis, grid_tiles *tiles)
{
    const grid_layout *grid = pass->grid;
    const int64_t step = tess_de_grid_step(grid, axis);
    const int64_t n = grid->n[axis];
    const int64_t n_outer = grid->n_line * grid->pitch / (n * step);
    for (int64_t outer = 0; outer < n_outer; outer++) {
        // The gap between lines takes what goes past their end.
        const grid_box box = {pass, grid->lead + outer * n * step, n, step, step};
        cut(&box, across_strip, MOST_VECTORS, pass->ways, tiles);
    }
}
