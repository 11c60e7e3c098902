// What the stages of clifford share on the CPU: rows of views as the kernels take them, packed
// weights, and the products of blocks of rows.
#ifndef TESS_BACKEND_CPU_CLIFFORD_H
#define TESS_BACKEND_CPU_CLIFFORD_H

#include "backend/cpu/clifford/stages.h"
#include "kernels/clifford.h"
#include "stage/clifford.h"

// Most rows of a block.
enum { TESS_CPU_CL_ROWS = 16 };

// Items from one component of a scratch row to the next: padded, and no power of two, so that the
// components of a feature do not all fall into the same few cache sets.
size_t tess_cpu_cl_stride(int64_t n_feature);

// Rows of a block: few enough to stay in the first-level cache, from the shape alone.
int64_t tess_cpu_cl_block_rows(const tess_cl_problem *problem, int64_t n_feature);

// 1 if activations are computed in f64; the other types are in f32.
int tess_cpu_cl_is_f64(const tess_cl_problem *problem);

// 1 if kernels can work in the view's own memory.
int tess_cpu_cl_is_direct(const tess_cl_problem *problem, const tess_cl_view *view);

// Fills *grades for the kernels; metric: that of the problem.
void tess_cpu_cl_grades(const tess_cl_problem *problem, tess_cl_grades *grades);

// The terms of a form whose paths are in path_mask.
void tess_cpu_cl_list(const tess_clifford_algebra *algebra, uint64_t path_mask, tess_cl_form form,
                      tess_cl_list *list);

// Which straight-line code computes the problem's products; ANY where paths are left out.
tess_cl_code tess_cpu_cl_code(const tess_cl_problem *problem);

// One item of any activation or weight type.
double tess_cpu_cl_read(const void *data, int64_t at, int32_t dtype);
void tess_cpu_cl_write(void *data, int64_t at, int32_t dtype, double value);

// Rows [first, first + n_row) of an activation with n_feature features. *_load: the view's own
// memory if the kernels can read that, else a copy in scratch (block of rows x components x
// stride). *_target: where the kernels write; *_store then brings scratch rows into the view.
// *_scratch: rows in scratch. A view without data gives rows without.
// *_row_factors: what the pass multiplies with, and r (statistics, those of a grade n_row apart),
// which is written in the forward pass and read in the others; NULL: not wanted, or not known.
// squares: plain sums of squares of o that are known [n_row][TESS_CLIFFORD_MAX_GRADES], or NULL.
#define TESS_CPU_CL_DECLARE(T, SCALAR)                                                             \
    tess_cl_rows_##T tess_cpu_cl_scratch_##T(const tess_cl_problem *problem, int64_t n_feature,    \
                                             SCALAR *scratch);                                     \
    tess_cl_rows_##T tess_cpu_cl_load_##T(                                                         \
        const tess_kernels *kernels, const tess_cl_problem *problem, const tess_cl_view *view,     \
        int64_t n_feature, int64_t first, int64_t n_row, SCALAR *scratch);                         \
    tess_cl_rows_##T tess_cpu_cl_target_##T(const tess_cl_problem *problem,                        \
                                            const tess_cl_view *view, int64_t n_feature,           \
                                            int64_t first, SCALAR *scratch);                       \
    void tess_cpu_cl_store_##T(const tess_kernels *kernels, const tess_cl_problem *problem,        \
                               const tess_cl_view *view, int64_t n_feature, int64_t first,         \
                               int64_t n_row, tess_cl_rows_##T rows);                              \
    void tess_cpu_cl_row_factors_##T(const tess_kernels *kernels, const tess_cl_problem *problem,  \
                                     const tess_cl_norm_##T *norm, const double *squares,          \
                                     SCALAR *statistics, tess_cl_factors *factors);
TESS_CPU_CL_DECLARE(f32, float)
TESS_CPU_CL_DECLARE(f64, double)
#undef TESS_CPU_CL_DECLARE

// Items of scratch that load and target need per block of rows.
size_t tess_cpu_cl_block_items(const tess_cl_problem *problem, int64_t n_feature);

// The stage clifford.sgp in the type of its arrays (sgp_rows.c).
TESS_MUST_CHECK tess_status tess_cpu_cl_sgp_run(tess_backend_device *device,
                                                const tess_stage_clifford_sgp *a);

// The product of gated rows with its norm, ready for any worker. What a call of *_rows needs beside
// its arguments are scratch_bytes of the caller's, 64-byte aligned.
typedef struct tess_cpu_cl_sgp {
    const tess_kernels *kernels;
    const tess_cl_problem *problem;
    tess_cl_grades grades;
    tess_cl_code code;
    int64_t block_rows; // most rows of a call
    int is_large;       // out is the caller's memory, and too large for caches; 0 once opened
    size_t stride;
    size_t scratch_bytes;
    void *memory; // lists, then packed weights
    size_t memory_bytes;
    const tess_cl_list *lists[TESS_CL_N_FORM]; // NULL: not for this pass
    const void *weight;                        // [path][stride] of f32 or f64
} tess_cpu_cl_sgp;

// Packs the weights. n_out of the problem counts the features.
TESS_MUST_CHECK tess_status tess_cpu_cl_sgp_open(tess_backend_device *device,
                                                 const tess_cl_problem *problem,
                                                 const tess_cl_view *weight, tess_cpu_cl_sgp *sgp);
void tess_cpu_cl_sgp_close(tess_backend_device *device, tess_cpu_cl_sgp *sgp);

// z = norm(product of the gated x and y) for n_row <= block_rows rows. statistics: of the first of
// them, those of a grade n_row of the problem apart; NULL: not wanted.
void tess_cpu_cl_sgp_rows_f32(const tess_cpu_cl_sgp *sgp, void *scratch, size_t n_row,
                              tess_cl_rows_f32 x, tess_cl_rows_f32 y, tess_cl_rows_f32 out,
                              float *statistics);
void tess_cpu_cl_sgp_rows_f64(const tess_cpu_cl_sgp *sgp, void *scratch, size_t n_row,
                              tess_cl_rows_f64 x, tess_cl_rows_f64 y, tess_cl_rows_f64 out,
                              double *statistics);

#endif
