#include "systems/xpcs/files/symmetric.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>

enum { BLOCK = 64 }; // two blocks of f64 fit the first-level cache
static const double MAX_DIFFERENCE = 1e-3;

// A matrix of either type.
typedef struct square {
    float *f32; // one of the two
    double *f64;
    int64_t n;
} square;

static double value(const square *m, int64_t at)
{
    return m->f32 ? (double)m->f32[at] : m->f64[at];
}

static bool is_set(double x)
{
    return x != 0 && !isnan(x);
}

// Values above and below the diagonal.
static void look(const square *m, bool *upper, bool *lower)
{
    *upper = *lower = false;
    for (int64_t i = 0; i < m->n && !(*upper && *lower); i++) {
        for (int64_t j = 0; j < i && !*lower; j++) {
            *lower = is_set(value(m, i * m->n + j));
        }
        for (int64_t j = i + 1; j < m->n && !*upper; j++) {
            *upper = is_set(value(m, i * m->n + j));
        }
    }
}

static void copy_item(const square *m, int64_t to, int64_t from)
{
    if (m->f32) {
        m->f32[to] = m->f32[from];
    } else {
        m->f64[to] = m->f64[from];
    }
}

static void average(const square *m, int64_t above, int64_t below, int64_t row, int64_t column,
                    tess_xp_asymmetry *worst)
{
    const double a = value(m, above);
    const double b = value(m, below);
    if (a == b) {
        return;
    }
    const double relative = fabs(a - b) / fmax(fabs(a), fabs(b));
    if (relative > worst->relative || (isinf(a - b) && !isinf(worst->relative))) {
        *worst = (tess_xp_asymmetry){row, column, a, b, isinf(a - b) ? (double)INFINITY : relative};
    }
    const double mean = 0.5 * (a + b);
    if (m->f32) {
        m->f32[above] = m->f32[below] = (float)mean;
    } else {
        m->f64[above] = m->f64[below] = mean;
    }
}

// Pairs of a block above the diagonal and its image below.
static void work_block(const square *m, int64_t first_row, int64_t first_column, bool upper,
                       bool lower, tess_xp_asymmetry *worst)
{
    const int64_t n = m->n;
    const int64_t last_row = first_row + BLOCK < n ? first_row + BLOCK : n;
    const int64_t last_column = first_column + BLOCK < n ? first_column + BLOCK : n;
    for (int64_t i = first_row; i < last_row; i++) {
        for (int64_t j = first_column > i ? first_column : i + 1; j < last_column; j++) {
            if (!lower) {
                copy_item(m, j * n + i, i * n + j);
            } else if (!upper) {
                copy_item(m, i * n + j, j * n + i);
            } else {
                average(m, i * n + j, j * n + i, i, j, worst);
            }
        }
    }
}

bool tess_xp_symmetrise(void *matrix, tess_dtype dtype, int64_t n, tess_xp_asymmetry *worst)
{
    const square m = {.f32 = dtype == TESS_F32 ? matrix : NULL, .f64 = matrix, .n = n};
    bool upper;
    bool lower;
    *worst = (tess_xp_asymmetry){0};
    look(&m, &upper, &lower);
    for (int64_t i = 0; i < n; i += BLOCK) {
        for (int64_t j = i; j < n; j += BLOCK) {
            work_block(&m, i, j, upper, lower, worst);
        }
    }
    return worst->relative <= MAX_DIFFERENCE;
}

static double item(const tess_xp_view *v, int64_t i, int64_t j)
{
    const int64_t at = i * v->row_stride + j * v->column_stride;
    return v->dtype == TESS_F32 ? (double)((const float *)v->items)[at]
                                : ((const double *)v->items)[at];
}

bool tess_xp_upper_suffices(const tess_xp_view *view)
{
    bool is_image = true;
    bool is_empty = true;
    bool has_upper = false;
    for (int64_t i = 0; i < view->n && (is_image || is_empty); i += BLOCK) {
        for (int64_t j = i; j < view->n; j += BLOCK) {
            const int64_t last_row = i + BLOCK < view->n ? i + BLOCK : view->n;
            const int64_t last_column = j + BLOCK < view->n ? j + BLOCK : view->n;
            for (int64_t row = i; row < last_row; row++) {
                for (int64_t column = j > row ? j : row + 1; column < last_column; column++) {
                    const double above = item(view, row, column);
                    const double below = item(view, column, row);
                    is_image &= above == below || (isnan(above) && isnan(below));
                    is_empty &= !is_set(below);
                    has_upper |= is_set(above);
                }
            }
        }
    }
    return is_image || (is_empty && has_upper);
}

tess_status tess_xp_complete(void *matrix, tess_dtype dtype, int64_t n, const char *where,
                             const char *name, double phi)
{
    tess_xp_asymmetry worst;
    if (!tess_xp_symmetrise(matrix, dtype, n, &worst)) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "%s: matrix not symmetric: '%s' (phi %g) has %.7g at frames %" PRId64 ", %" PRId64
                  " and %.7g at their mirror image; keep one half and set the other to 0, or "
                  "average them",
                  where, name, phi, worst.upper, worst.row + 1, worst.column + 1, worst.lower);
    }
    return TESS_OK;
}
