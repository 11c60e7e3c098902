// An operator from a matrix: columns in blocks, and of each block only the rows that hold
// something.
#include "base/status.h"
#include "systems/decode/states/transition.h"

#include <float.h>
#include <string.h>

// Columns of a block: two of the longest common vectors.
enum { WIDTH = 16 };

double tess_de_least_step(int is_exact)
{
    return is_exact ? 0 : (double)FLT_MIN;
}

// A matrix or its transpose.
typedef struct matrix_view {
    const double *items;
    int64_t n_row;
    int64_t n_column;
    int64_t row_step;
    int64_t column_step;
    double least;
} matrix_view;

static double at(const matrix_view *m, int64_t row, int64_t column)
{
    const double value = m->items[row * m->row_step + column * m->column_step];
    return value > m->least ? value : 0;
}

static int holds_something(const matrix_view *m, int64_t row, int64_t first, int64_t n)
{
    for (int64_t j = first; j < first + n; j++) {
        if (at(m, row, j) != 0) {
            return 1;
        }
    }
    return 0;
}

typedef struct matrix_build {
    tess_tile_sum *tiles; // NULL: only counted
    double *table;
    int64_t n_tile;
    int64_t n_table;
} matrix_build;

static void add_run(const matrix_view *m, int64_t row, int64_t end, int64_t first, int64_t n,
                    int is_first, matrix_build *build)
{
    if (build->tiles) {
        build->tiles[build->n_tile] = (tess_tile_sum){.w = row,
                                                      .x = build->n_table,
                                                      .out = first,
                                                      .w_term = 1,
                                                      .x_term = (int32_t)n,
                                                      .n_term = (int32_t)(end - row),
                                                      .n_row = 1,
                                                      .n = (int32_t)n,
                                                      .add = !is_first};
        for (int64_t r = row; r < end; r++) {
            for (int64_t j = 0; j < n; j++) {
                build->table[build->n_table + (r - row) * n + j] = at(m, r, first + j);
            }
        }
    }
    build->n_tile++;
    build->n_table += (end - row) * n;
}

// Every block of columns: its runs of rows, or one empty run so that its result is 0.
static void walk(const matrix_view *m, matrix_build *build)
{
    build->n_tile = 0;
    build->n_table = 0;
    for (int64_t first = 0; first < m->n_column; first += WIDTH) {
        const int64_t n = m->n_column - first < WIDTH ? m->n_column - first : WIDTH;
        int is_first = 1;
        for (int64_t row = 0; row < m->n_row;) {
            if (!holds_something(m, row, first, n)) {
                row++;
                continue;
            }
            int64_t end = row + 1;
            while (end < m->n_row && holds_something(m, end, first, n)) {
                end++;
            }
            add_run(m, row, end, first, n, is_first, build);
            is_first = 0;
            row = end;
        }
        if (is_first) {
            add_run(m, 0, 0, first, n, 1, build);
        }
    }
}

static tess_status compile(tess_blocks *blocks, const matrix_view *m, tess_hmm_operator *op)
{
    matrix_build build = {0};
    walk(m, &build);
    build.tiles = tess_blocks_alloc(blocks, build.n_tile, sizeof *build.tiles, "movement");
    build.table = tess_blocks_alloc(blocks, build.n_table, sizeof *build.table, "movement");
    if (!build.tiles || !build.table) {
        return TESS_E_MEMORY;
    }
    walk(m, &build);
    *op = (tess_hmm_operator){.n_in = m->n_row,
                              .n_out = m->n_column,
                              .table = build.table,
                              .n_table = build.n_table,
                              .n_pass = 1,
                              .pass = {{build.tiles, build.n_tile, 1, 0}}};
    return TESS_OK;
}

tess_status tess_de_operator_of_matrix(tess_blocks *blocks, const double *matrix, int64_t n_in,
                                       int64_t n_out, int is_exact, tess_de_operator *out)
{
    const double least = tess_de_least_step(is_exact);
    const matrix_view straight = {matrix, n_in, n_out, n_out, 1, least};
    const matrix_view transposed = {matrix, n_out, n_in, 1, n_out, least};
    memset(out, 0, sizeof *out);
    TESS_TRY(compile(blocks, &straight, &out->forward));
    TESS_TRY(compile(blocks, &transposed, &out->backward));
    out->cost = (out->forward.n_table + out->backward.n_table) / 8;
    return TESS_OK;
}
