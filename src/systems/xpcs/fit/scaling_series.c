// Fourier series of contrast and offset in phi, and unknowns of any mode made explicit.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>
#include <string.h>

typedef struct series {
    int64_t m;      // unknowns: contrast's, then offset's
    double *normal; // [m][m], then its factor
    double *scale;  // [m] by which rows and columns were multiplied
    double *right;  // [m]
    double *cross;  // [m][n_param]
} series;

static series series_of(const tess_xp_scaling *s)
{
    const int64_t m = 2 * s->n_basis;
    double *at = s->work + 2 * s->n_param;
    return (series){m, at, at + m * m, at + m * m + m, at + m * m + 2 * m};
}

// matrix += w b b^T in the rows and columns that begin there.
static void add_square(double *matrix, int64_t m, int64_t row, int64_t column, const double *b,
                       int64_t n_basis, double w)
{
    for (int64_t i = 0; i < n_basis; i++) {
        for (int64_t j = 0; j < n_basis; j++) {
            matrix[(row + i) * m + column + j] += w * b[i] * b[j];
        }
    }
}

// Factor of the normal matrix, scaled to a unit diagonal. Without contrast its rows are unit rows.
// False if it is singular.
static bool factorise(const tess_xp_scaling *s, const double *sums, bool has_contrast)
{
    const series f = series_of(s);
    const int64_t nb = s->n_basis;
    memset(f.normal, 0, (size_t)(f.m * f.m) * sizeof *f.normal);
    for (int64_t a = 0; a < s->n_angle; a++) {
        const double *six = sums + a * tess_xp_stride(s);
        const double *b = s->basis + a * nb;
        const double w = s->weight[a];
        add_square(f.normal, f.m, nb, nb, b, nb, w * six[TESS_XP_S1]);
        if (has_contrast) {
            add_square(f.normal, f.m, 0, 0, b, nb, w * six[TESS_XP_SFF]);
            add_square(f.normal, f.m, nb, 0, b, nb, w * six[TESS_XP_SF]);
        }
    }
    for (int64_t i = 0; i < f.m; i++) {
        if (i < nb && !has_contrast) {
            f.normal[i * f.m + i] = 1;
        }
        f.scale[i] = 1 / sqrt(f.normal[i * f.m + i]);
    }
    for (int64_t i = 0; i < f.m; i++) {
        for (int64_t j = 0; j <= i; j++) {
            f.normal[i * f.m + j] *= f.scale[i] * f.scale[j];
        }
    }
    return tess_cholesky(f.normal, f.m);
}

static void solve(const series *f, double *b)
{
    for (int64_t i = 0; i < f->m; i++) {
        b[i] *= f->scale[i];
    }
    tess_cholesky_solve(f->normal, f->m, b);
    for (int64_t i = 0; i < f->m; i++) {
        b[i] *= f->scale[i];
    }
}

void tess_xp_series_solve(const tess_xp_scaling *s, const double *sums, tess_xp_reduced *out)
{
    const series f = series_of(s);
    const int64_t nb = s->n_basis;
    const bool has_contrast = factorise(s, sums, true);
    const bool is_solved = has_contrast || factorise(s, sums, false);
    memset(f.right, 0, (size_t)f.m * sizeof *f.right);
    for (int64_t a = 0; a < s->n_angle && is_solved; a++) {
        const double *six = sums + a * tess_xp_stride(s);
        const double *b = s->basis + a * nb;
        const double d = s->mean[a] - s->reference;
        const double w = s->weight[a];
        for (int64_t i = 0; i < nb; i++) {
            f.right[i] += has_contrast ? w * b[i] * (six[TESS_XP_SFY] + d * six[TESS_XP_SF]) : 0;
            f.right[nb + i] += w * b[i] * (six[TESS_XP_SY] + d * six[TESS_XP_S1]);
        }
    }
    if (is_solved) {
        solve(&f, f.right);
    }
    f.right[nb] += s->reference;
    tess_xp_scaling_expand(s, f.right, out->contrast, out->offset);
    for (int64_t a = 0; a < s->n_angle; a++) {
        out->contrast_status[a] = has_contrast ? TESS_XPCS_FREE : TESS_XPCS_UNIDENTIFIED;
        out->offset_status[a] = is_solved ? TESS_XPCS_FREE : TESS_XPCS_UNIDENTIFIED;
    }
}

// cross := sums of w c P and w c Q by unknown.
static void fill_cross(const tess_xp_scaling *s, const double *sums, const double *before,
                       bool has_contrast, const series *f)
{
    const int64_t p = s->n_param;
    const int64_t nb = s->n_basis;
    memset(f->cross, 0, (size_t)(f->m * p) * sizeof *f->cross);
    for (int64_t a = 0; a < s->n_angle; a++) {
        const double *jp = sums + a * tess_xp_stride(s) + TESS_XP_SIX;
        const double *b = s->basis + a * nb;
        const double factor = s->weight[a] * before[a];
        for (int64_t i = 0; i < nb; i++) {
            for (int64_t k = 0; k < p; k++) {
                f->cross[i * p + k] += has_contrast ? factor * b[i] * jp[p + k] : 0;
                f->cross[(nb + i) * p + k] += factor * b[i] * jp[k];
            }
        }
    }
}

void tess_xp_series_project(const tess_xp_scaling *s, const double *sums, const double *before,
                            tess_xp_reduced *out)
{
    const series f = series_of(s);
    const int64_t p = s->n_param;
    const int64_t nb = s->n_basis;
    const bool has_contrast = out->contrast_status[0] == TESS_XPCS_FREE;
    if (out->offset_status[0] != TESS_XPCS_FREE || !factorise(s, sums, has_contrast)) {
        return;
    }
    fill_cross(s, sums, before, has_contrast, &f);
    for (int64_t k = 0; k < p; k++) {
        for (int64_t i = 0; i < f.m; i++) {
            f.right[i] = f.cross[i * p + k];
        }
        solve(&f, f.right);
        for (int64_t l = k; l < p; l++) {
            double sum = 0;
            for (int64_t i = 0; i < f.m; i++) {
                sum += f.right[i] * f.cross[i * p + l];
            }
            out->hessian[k * p + l] -= sum;
            out->hessian[l * p + k] = out->hessian[k * p + l];
        }
        for (int64_t a = 0; a < s->n_angle; a++) {
            const double *b = s->basis + a * nb;
            double *contrast = out->response + a * p + k;
            double *offset = out->response + (s->n_angle + a) * p + k;
            for (int64_t i = 0; i < nb; i++) {
                *contrast -= b[i] * f.right[i];
                *offset -= b[i] * f.right[nb + i];
            }
        }
    }
}

void tess_xp_series_inverse(const tess_xp_scaling *s, const double *sums, double *inverse)
{
    const series f = series_of(s);
    const int64_t nb = s->n_basis;
    const int64_t n = s->n_angle;
    const bool has_contrast = factorise(s, sums, true);
    if (!has_contrast && !factorise(s, sums, false)) {
        return;
    }
    for (int64_t row = has_contrast ? 0 : n; row < 2 * n; row++) {
        const int64_t part = row < n ? 0 : 1;
        memset(f.right, 0, (size_t)f.m * sizeof *f.right);
        memcpy(f.right + part * nb, s->basis + (row - part * n) * nb, (size_t)nb * sizeof *f.right);
        solve(&f, f.right);
        for (int64_t a = 0; a < n; a++) {
            double sum[2] = {0, 0};
            for (int64_t i = 0; i < nb; i++) {
                sum[0] += s->basis[a * nb + i] * f.right[i];
                sum[1] += s->basis[a * nb + i] * f.right[nb + i];
            }
            inverse[row * 2 * n + a] = has_contrast ? sum[0] : 0;
            inverse[row * 2 * n + n + a] = sum[1];
        }
    }
}
