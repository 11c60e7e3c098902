// Rows of views for one dtype; included by rows.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)

ROWS T_NAME(tess_cpu_cl_scratch)(const tess_cl_problem *problem, int64_t n_feature, SCALAR *scratch)
{
    const ptrdiff_t stride = (ptrdiff_t)tess_cpu_cl_stride(n_feature);
    return (ROWS){.data = scratch,
                  .component = stride,
                  .row = stride * (ptrdiff_t)problem->algebra->n_component};
}

ROWS T_NAME(tess_cpu_cl_target)(const tess_cl_problem *problem, const tess_cl_view *view,
                                int64_t n_feature, int64_t first, SCALAR *scratch)
{
    if (!view->data) {
        return (ROWS){.data = NULL};
    }
    if (!tess_cpu_cl_is_direct(problem, view)) {
        return T_NAME(tess_cpu_cl_scratch)(problem, n_feature, scratch);
    }
    return (ROWS){.data = (SCALAR *)view->data + first * view->stride[1],
                  .component = view->stride[0],
                  .row = view->stride[1]};
}

// A row of the view.
static tess_cl_items T_NAME(items_of)(const tess_cl_problem *problem, const tess_cl_view *view,
                                      int64_t row)
{
    const int64_t bytes = (int64_t)tess_dtype_bytes((tess_dtype)problem->dtype);
    return (tess_cl_items){.data = (unsigned char *)view->data + row * view->stride[1] * bytes,
                           .dtype = problem->dtype,
                           .component = view->stride[0],
                           .feature = view->stride[2]};
}

ROWS T_NAME(tess_cpu_cl_load)(const tess_kernels *kernels, const tess_cl_problem *problem,
                              const tess_cl_view *view, int64_t n_feature, int64_t first,
                              int64_t n_row, SCALAR *scratch)
{
    const ROWS rows = T_NAME(tess_cpu_cl_target)(problem, view, n_feature, first, scratch);
    for (int64_t r = 0; rows.data == scratch && r < n_row; r++) {
        const tess_cl_items items = T_NAME(items_of)(problem, view, first + r);
        kernels->T_NAME(clifford_take)(&items, (size_t)problem->algebra->n_component,
                                       (size_t)n_feature, rows.data + r * rows.row, rows.component);
    }
    return rows;
}

void T_NAME(tess_cpu_cl_store)(const tess_kernels *kernels, const tess_cl_problem *problem,
                               const tess_cl_view *view, int64_t n_feature, int64_t first,
                               int64_t n_row, ROWS rows)
{
    if (!rows.data || tess_cpu_cl_is_direct(problem, view)) {
        return;
    }
    for (int64_t r = 0; r < n_row; r++) {
        const tess_cl_items items = T_NAME(items_of)(problem, view, first + r);
        kernels->T_NAME(clifford_give)(rows.data + r * rows.row, rows.component,
                                       (size_t)problem->algebra->n_component, (size_t)n_feature,
                                       &items);
    }
}

// The sums that factors come from.
static void T_NAME(take_moments)(const tess_kernels *kernels, const tess_cl_problem *problem,
                                 const T_NAME(tess_cl_norm) * norm, const double *squares,
                                 int has_r, tess_cl_moments *moments)
{
    if (squares && problem->norm_metric == (int32_t)TESS_CLIFFORD_NORM_EUCLID) {
        for (size_t row = 0; row < norm->n_row; row++) {
            memcpy(moments[row].square, squares + row * TESS_CLIFFORD_MAX_GRADES,
                   sizeof moments[row].square);
        }
        return;
    }
    T_NAME(tess_cl_norm) with_r = *norm;
    with_r.has_r = has_r;
    kernels->T_NAME(clifford_moments)(&with_r, moments);
}

void T_NAME(tess_cpu_cl_row_factors)(const tess_kernels *kernels, const tess_cl_problem *problem,
                                     const T_NAME(tess_cl_norm) * norm, const double *squares,
                                     SCALAR *statistics, tess_cl_factors *factors)
{
    const int n_grade = problem->algebra->n_grade;
    const int has_r = statistics && problem->pass != TESS_CLIFFORD_FORWARD;
    tess_cl_moments moments[TESS_CPU_CL_ROWS];
    if (problem->normalize) {
        T_NAME(take_moments)(kernels, problem, norm, squares, has_r, moments);
    }
    for (size_t row = 0; row < norm->n_row; row++) {
        double r[TESS_CLIFFORD_MAX_GRADES];
        for (int g = 0; g < n_grade && has_r; g++) {
            r[g] = (double)statistics[g * problem->n_row + (int64_t)row];
        }
        fill_factors(problem, &moments[row], has_r, r, &factors[row]);
        for (int g = 0; g < n_grade && statistics && !has_r; g++) {
            statistics[g * problem->n_row + (int64_t)row] = (SCALAR)r[g];
        }
    }
}

#undef ROWS
