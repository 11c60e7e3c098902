// Matrix products of clifford on the CPU: numbers of any type and stride, packed matrices, and sums
// over rows.
#ifndef TESS_BACKEND_CPU_CLIFFORD_MATRIX_H
#define TESS_BACKEND_CPU_CLIFFORD_MATRIX_H

#include "backend/cpu/clifford/stages.h"
#include "stage/clifford.h"

// What a stage computes in: f32, or f64 for f64 activations.
typedef struct cl_math {
    const tess_kernels *kernels;
    bool is_f64;
    int64_t item;     // bytes of a number
    int64_t width;    // of a panel
    int64_t good_row; // multiples of so many rows go fastest
} cl_math;

cl_math tess_cpu_cl_math(const tess_kernels *kernels, int32_t dtype);

// n numbers of any type that lie step items apart, at an offset of items.
typedef struct cl_line {
    void *data;
    int32_t dtype;
    int64_t offset, step, n;
} cl_line;

static inline cl_line cl_line_of(const tess_cl_view *view, int32_t dtype, int64_t i, int64_t j,
                                 int64_t k, int64_t n)
{
    return (cl_line){.data = view->data,
                     .dtype = dtype,
                     .offset = i * view->stride[0] + j * view->stride[1] + k * view->stride[2],
                     .step = view->stride[2],
                     .n = n};
}

void tess_cpu_cl_line_load(const cl_math *math, const cl_line *line, void *to);
void tess_cpu_cl_line_store(const cl_math *math, const cl_line *line, const void *from);

// The numbers where they are, or loaded into room where they cannot be used so.
const void *tess_cpu_cl_line_borrow(const cl_math *math, const cl_line *line, void *room);

// c = a b, or c += a b: the kernels of either type.
void tess_cpu_cl_gemm(const cl_math *math, const void *a, int64_t n_row, const void *b,
                      int64_t depth, int64_t n_col, void *c, int64_t c_stride, bool is_first);

// The same with a by columns: a is [depth][n_row].
void tess_cpu_cl_gemm_t(const cl_math *math, const void *a, int64_t n_row, const void *b,
                        int64_t depth, int64_t n_col, void *c, int64_t c_stride, bool is_first);

// Row `row` of panels of that depth.
void tess_cpu_cl_pack_row(const cl_math *math, const void *x, int64_t n_col, int64_t depth,
                          int64_t row, void *panels);

// Matrices [n_matrix][n_in][n_out] in panels, cut in chunks of TESS_CL_GEMM_DEPTH rows.
typedef struct cl_packed {
    cl_math math;
    tess_cl_view view; // (matrix, in, out); strides swapped: the transposed ones
    int32_t dtype;
    int64_t n_matrix, n_in, n_out;
    int64_t matrix_items, all_bytes; // of memory
    char *memory, *rooms;            // rooms: of each worker
} cl_packed;

TESS_MUST_CHECK tess_status tess_cpu_cl_packed_create(tess_context *ctx, cl_packed *packed);
void tess_cpu_cl_packed_destroy(tess_context *ctx, cl_packed *packed);

// The panels of rows [first, first + depth) from column on; first is a multiple of the chunk's
// depth, column of the panel's width.
static inline char *cl_packed_at(const cl_packed *p, int64_t matrix, int64_t first, int64_t depth,
                                 int64_t column)
{
    const int64_t n_panel = (p->n_out + p->math.width - 1) / p->math.width;
    const int64_t at = matrix * p->matrix_items + first * n_panel * p->math.width + column * depth;
    return p->memory + at * p->math.item;
}

// Rows [row, row + n_row) of some components.
typedef struct cl_rows {
    const tess_cl_view *x;
    int32_t dtype;
    int64_t component, n_component;
    int64_t row, n_row;
} cl_rows;

// Times a packed matrix: c[l][n] = sum_m x[l][m] M[m][n] for n_col columns from column on, a
// multiple of the panel's width, or is added to c. Lines l are the rows of one component, then
// those of the next. tile: tess_cpu_cl_tile_items numbers.
void tess_cpu_cl_apply(const cl_packed *p, int64_t matrix, const cl_rows *rows, int64_t column,
                       int64_t n_col, void *tile, void *c, int64_t c_stride, bool is_first);

int64_t tess_cpu_cl_tile_items(const cl_packed *p, int64_t n_line);

// Sums over rows: grad[w][m][n] = sum over components of w and rows b of left[c][b][m]
// right[c][b][n].
typedef struct cl_outer {
    cl_math math;
    int64_t n_matrix, n_in, n_out;
    int64_t n_row; // of one call of tess_cpu_cl_outer_add at most
    void *self;    // of the two that follow
    // Rows [row, row + n_row) of the features [first, first + n) as a tile of TESS_CL_GEMM_ROW.
    void (*left)(void *self, int64_t matrix, int64_t component, int64_t row, int64_t n_row,
                 int64_t first, int64_t n, void *tile);
    // The same as panels of depth n_row: where they are, or packed into room, which takes n_row + 1
    // rows of panels. first is a multiple of their width.
    const void *(*right)(void *self, int64_t component, int64_t row, int64_t n_row, int64_t first,
                         int64_t n, void *room);
    int32_t component[TESS_CLIFFORD_MAX_PATHS];   // first of matrix w
    int32_t n_component[TESS_CLIFFORD_MAX_PATHS]; // 0: grad is 0
    tess_cl_view grad;                            // (matrix, in, out)
    int32_t dtype;                                // of grad
    bool is_first;
    int64_t row, n_row_now; // of the call that runs
    int64_t n_part;         // every part of the rows has its own sums, added in order at the end
    int64_t in_block, n_in_block, out_block, n_out_block;
    int64_t worker_bytes, all_bytes; // of memory
    char *memory, *sums;             // sums: [part][matrix][in][out]
} cl_outer;

TESS_MUST_CHECK tess_status tess_cpu_cl_outer_create(tess_context *ctx, cl_outer *outer);
// Adds rows [row, row + n_row).
TESS_MUST_CHECK tess_status tess_cpu_cl_outer_add(tess_context *ctx, cl_outer *outer, int64_t row,
                                                  int64_t n_row);
// Writes grad.
TESS_MUST_CHECK tess_status tess_cpu_cl_outer_finish(tess_context *ctx, cl_outer *outer);
void tess_cpu_cl_outer_destroy(tess_context *ctx, cl_outer *outer);

#endif
