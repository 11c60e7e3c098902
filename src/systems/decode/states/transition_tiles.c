// Tiles of a pass over a grid: as few and as full as the shape of the interior allows.
#include "systems/decode/states/transition_grid.h"

// What a tile costs besides its terms, in vector operations.
enum { TILE_OVERHEAD = 24 };

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

// A row alone waits for each of its sums before the next: it takes as long as four.
static int64_t rows_charged(int64_t n_row)
{
    return n_row <= 4 ? 4 : 8;
}

static void add_tile(grid_tiles *tiles, const tess_tile_sum *tile)
{
    if (tiles->tiles) {
        tiles->tiles[tiles->n] = *tile;
    }
    tiles->n++;
    tiles->cost += TILE_OVERHEAD + rows_charged(tile->n_row) * tile->n_term;
}

// 1 if a set has a cell in a box of n_row rows, step apart, and n columns.
static int any_in(const uint8_t *set, int64_t n_row, int64_t step, int64_t n)
{
    for (int64_t r = 0; r < n_row; r++) {
        for (int64_t j = 0; j < n; j++) {
            if (set[r * step + j]) {
                return 1;
            }
        }
    }
    return 0;
}

// First and last column, below n, in which a box of n_row rows has a cell; *low > *high: none.
static void extent(const uint8_t *set, int64_t n_row, int64_t step, int64_t n, int64_t *low,
                   int64_t *high)
{
    *low = n;
    *high = -1;
    for (int64_t r = 0; r < n_row; r++) {
        for (int64_t j = 0; j < n; j++) {
            if (set[r * step + j]) {
                *low = least(*low, j);
                *high = most(*high, j);
            }
        }
    }
}

// Up to 64 cells of one line in a tile: its rows are stretches of GRID_TILE cells, one behind the
// other, which share the shifted steps.
static void along_line(const grid_layout *grid, const grid_steps *steps, const uint8_t *held,
                       const uint8_t *want, int64_t cell, grid_tiles *tiles)
{
    const int64_t n = grid->n[grid->n_axis - 1];
    int64_t low, high;
    extent(held + cell, 1, 0, n, &low, &high);
    for (int64_t y = 0; y < n && low <= high;) {
        if (!want[cell + y]) {
            y++;
            continue;
        }
        int64_t n_row = 1;
        while (n_row < GRID_TILE && y + n_row * GRID_TILE < n &&
               any_in(want + cell + y + n_row * GRID_TILE, 1, 0,
                      least(GRID_TILE, n - y - n_row * GRID_TILE))) {
            n_row++;
        }
        // Cells from..to relative to each stretch are its terms.
        const int64_t from = most(-steps->high, low - (y + (n_row - 1) * GRID_TILE));
        const int64_t to = least(GRID_TILE - 1 - steps->low, high - y);
        const tess_tile_sum tile = {.w = cell + y + from,
                                    .x = steps->middle - from,
                                    .out = cell + y,
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

// A band of lines, in boxes of GRID_TILE columns.
static void along_band(const grid_layout *grid, const grid_steps *steps, const uint8_t *held,
                       const uint8_t *want, int64_t cell, int64_t n_line, grid_tiles *tiles)
{
    const int64_t n = grid->n[grid->n_axis - 1];
    const int64_t pitch = grid->pitch;
    for (int64_t y = 0; y < n;) {
        if (!any_in(want + cell + y, n_line, pitch, 1)) {
            y++;
            continue;
        }
        const int64_t width = least(GRID_TILE, n - y);
        int64_t top = 0, bottom = n_line - 1;
        while (!any_in(want + cell + top * pitch + y, 1, 0, width)) {
            top++;
        }
        while (!any_in(want + cell + bottom * pitch + y, 1, 0, width)) {
            bottom--;
        }
        const int64_t n_row = bottom - top + 1;
        int64_t low, high;
        extent(held + cell + top * pitch, n_row, pitch, n, &low, &high);
        const int64_t from = most(y - steps->high, low);
        const int64_t to = least(y + GRID_TILE - 1 - steps->low, high);
        const tess_tile_sum tile = {.w = cell + top * pitch + from,
                                    .x = steps->middle + y - from,
                                    .out = cell + top * pitch + y,
                                    .w_row = (int32_t)pitch,
                                    .w_term = 1,
                                    .x_term = -1,
                                    .out_row = (int32_t)pitch,
                                    .n_term = (int32_t)(to - from + 1),
                                    .n_row = (int32_t)n_row,
                                    .n = GRID_TILE};
        add_tile(tiles, &tile);
        y += GRID_TILE;
    }
}

void tess_de_grid_along(const grid_layout *grid, const grid_steps *steps, const uint8_t *held,
                        const uint8_t *want, grid_tiles *tiles)
{
    for (int64_t line = 0; line < grid->n_line; line += GRID_TILE) {
        const int64_t n_line = least(GRID_TILE, grid->n_line - line);
        const int64_t cell = grid->lead + line * grid->pitch;
        grid_tiles lines = {0}, band = {0};
        for (int64_t k = 0; k < n_line; k++) {
            along_line(grid, steps, held, want, cell + k * grid->pitch, &lines);
        }
        along_band(grid, steps, held, want, cell, n_line, &band);
        if (band.cost < lines.cost) {
            along_band(grid, steps, held, want, cell, n_line, tiles);
            continue;
        }
        for (int64_t k = 0; k < n_line; k++) {
            along_line(grid, steps, held, want, cell + k * grid->pitch, tiles);
        }
    }
}

// One box of columns: tiles of up to GRID_TILE wanted rows.
static void across_box(const grid_steps *steps, const uint8_t *held, const uint8_t *want,
                       int64_t cell, int64_t n, int64_t step, grid_tiles *tiles)
{
    int64_t first = 0, last = n - 1;
    while (first < n && !any_in(held + cell + first * step, 1, 0, GRID_TILE)) {
        first++;
    }
    while (last > first && !any_in(held + cell + last * step, 1, 0, GRID_TILE)) {
        last--;
    }
    for (int64_t x = 0; x < n && first < n;) {
        if (!any_in(want + cell + x * step, 1, 0, GRID_TILE)) {
            x++;
            continue;
        }
        int64_t n_row = least(GRID_TILE, n - x);
        while (!any_in(want + cell + (x + n_row - 1) * step, 1, 0, GRID_TILE)) {
            n_row--;
        }
        const int64_t from = most(x - steps->high, first);
        const int64_t to = least(x + n_row - 1 - steps->low, last);
        const tess_tile_sum tile = {.w = steps->middle + x - from,
                                    .x = cell + from * step,
                                    .out = cell + x * step,
                                    .w_row = 1,
                                    .w_term = -1,
                                    .x_term = (int32_t)step,
                                    .out_row = (int32_t)step,
                                    .n_term = (int32_t)(to - from + 1),
                                    .n_row = (int32_t)n_row,
                                    .n = GRID_TILE};
        add_tile(tiles, &tile);
        x += n_row;
    }
}

void tess_de_grid_across(const grid_layout *grid, int axis, const grid_steps *steps,
                         const uint8_t *held, const uint8_t *want, grid_tiles *tiles)
{
    const int64_t step = tess_de_grid_step(grid, axis);
    const int64_t n = grid->n[axis];
    const int64_t n_outer = grid->n_line * grid->pitch / (n * step);
    for (int64_t outer = 0; outer < n_outer; outer++) {
        const int64_t cell = grid->lead + outer * n * step;
        for (int64_t j = 0; j < step;) {
            if (!any_in(want + cell + j, n, step, 1)) {
                j++;
                continue;
            }
            across_box(steps, held, want, cell + j, n, step, tiles);
            j += GRID_TILE; // the gap between lines takes what goes past their end
        }
    }
}
