// The kernels of a pass over two-time correlations, as plainly as they can be said.

#include "kernels/isa.h"
#include "kernels/xpcs_constants.h"

#include <float.h>
#include <math.h>

enum { RUN = TESS_XP_RUN };

typedef double lanes[8];

// Neighbours, pairs, halves.
static double total(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

// Distance, and its slope by the difference where it is rounded off.
static double integral(const double *sums, size_t i, size_t j, double eps, double *slope)
{
    const double d = fabs(sums[j] - sums[i]);
    if (eps == 0) {
        *slope = 1;
        return d;
    }
    const double rounded = sqrt(fma(d, d, eps));
    *slope = d / rounded;
    return rounded;
}

static void clear_pair(tess_xp_pairs_f64 *out, size_t c)
{
    out->e[c] = out->b[c] = out->inverse[c] = 0;
    for (int k = 0; k < 3; k++) {
        out->u[k][c] = out->v[k][c] = 0;
    }
}

void TESS_KFN(xpcs_pairs)(const tess_xp_source *restrict s, tess_xp_pairs_f64 *restrict out)
{
    double exponent[RUN];
    for (size_t c = 0; c < tess_xp_padded(s->n); c++) {
        clear_pair(out, c);
    }
    for (size_t c = 0; c < s->n; c++) {
        const size_t i = s->row, j = s->column + c;
        double slope;
        exponent[c] = -s->w2 * integral(s->diffusion, i, j, s->eps, &slope);
        for (int k = 0; k < 3 && s->diffusion_d[0]; k++) {
            out->u[k][c] = -s->w2 * ((s->diffusion_d[k][j] - s->diffusion_d[k][i]) * slope);
        }
        if (!s->shear) {
            continue;
        }
        const double b = integral(s->shear, i, j, s->eps, &slope);
        out->b[c] = b;
        out->inverse[c] = b > 0 ? 1 / b : 0;
        for (int k = 0; k < 3 && s->shear_d[0]; k++) {
            const double d = (s->shear_d[k][j] - s->shear_d[k][i]) * slope;
            out->v[k][c] = s->power * out->inverse[c] * d;
        }
    }
    TESS_KFN(exp_f64)(exponent, s->n, out->e);
    for (size_t c = 0; c < s->n; c++) {
        out->e[c] = exponent[c] < TESS_XP_EXPONENT_LEAST ? 0 : out->e[c];
        for (int k = 0; k < 3 && !s->shear; k++) {
            out->v[k][c] = out->e[c] * out->u[k][c];
        }
    }
}

#define T_BITS 64
#define FMA fma
#include "kernels/ref/xpcs_ref_body.h"

#undef FMA
#define T_BITS 32
#define FMA fmaf
#include "kernels/ref/xpcs_ref_body.h"
#undef FMA

void TESS_KFN(xpcs_sums_f64)(const tess_xp_pairs_f64 *restrict pairs,
                             const tess_xp_terms_f64 *restrict terms, size_t n, int want,
                             double *restrict sums, tess_xp_angle_sums_f64 *restrict angles)
{
    angle_sums_f64(pairs, terms, n, want, (lanes *)(void *)sums, angles);
}

void TESS_KFN(xpcs_sums_f32)(const tess_xp_pairs_f32 *restrict pairs,
                             const tess_xp_terms_f32 *restrict terms, size_t n, int want,
                             double *restrict sums, tess_xp_angle_sums_f32 *restrict angles)
{
    float rows[TESS_XP_N_SUM][16] = {{0}};
    const double once = 1 / TESS_XP_SCALE_F32;
    angle_sums_f32(pairs, terms, n, want, rows, angles);
    for (size_t r = 0; r < TESS_XP_N_SUM; r++) {
        // How often M or T is a factor.
        const int n_factor = r == 0 || r == 3 ? 0 : r == 2 || (r >= 13 && r < 20) ? 2 : 1;
        for (size_t k = 0; k < 8; k++) {
            const double sum = (double)rows[r][k] + (double)rows[r][k + 8];
            sums[8 * r + k] += n_factor == 0 ? sum : n_factor == 1 ? once * sum : once * once * sum;
        }
    }
}

void TESS_KFN(xpcs_narrow_pairs)(const tess_xp_pairs_f64 *restrict pairs, size_t n,
                                 tess_xp_pairs_f32 *restrict out)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const double e = pairs->e[c] * TESS_XP_SCALE_F32;
        out->e[c] = (float)(e < TESS_XP_LEAST_F32 ? 0 : e);
        out->b[c] = (float)pairs->b[c];
        out->inverse[c] = (float)pairs->inverse[c];
        for (int k = 0; k < 3; k++) {
            out->u[k][c] = (float)pairs->u[k][c];
            out->v[k][c] = (float)pairs->v[k][c];
        }
    }
}

void TESS_KFN(xpcs_narrow)(const double *restrict x, size_t n, float *restrict y)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        y[c] = (float)x[c];
    }
}

void TESS_KFN(xpcs_widen)(const tess_xp_angle_sums_f32 *restrict angles, size_t n,
                          tess_xp_angle_sums_f64 *restrict out)
{
    for (size_t k = 0; k < 6; k++) {
        for (size_t c = 0; c < tess_xp_padded(n); c++) {
            out->a[k][c] = (double)angles->a[k][c] / (TESS_XP_SCALE_F32 * TESS_XP_SCALE_F32);
        }
    }
}

void TESS_KFN(xpcs_centre_f64)(const double *restrict y, size_t n, double mean, double *restrict g)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        g[c] = c < n ? y[c] - mean : 0;
    }
}

void TESS_KFN(xpcs_centre_f32)(const float *restrict y, size_t n, double mean, double *restrict g)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        g[c] = c < n ? (double)y[c] - mean : 0;
    }
}

void TESS_KFN(xpcs_mask)(const double *restrict by, const double *restrict frames, double row,
                         size_t n, double *restrict w, double *restrict g)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const int is_there = c < n && !isnan(g[c]);
        const double pair = is_there && frames ? row * frames[c] : row;
        w[c] = is_there ? (by ? by[c] * pair : pair) : 0;
        g[c] = is_there ? g[c] : 0;
    }
}

void TESS_KFN(xpcs_weigh)(const double *restrict w, size_t n, double *restrict g,
                          double *restrict square)
{
    lanes sum = {0};
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const double y = g[c];
        g[c] = w[c] * y;
        sum[c % 8] = fma(g[c], y, sum[c % 8]);
    }
    *square = total(sum);
}

// rho, its first derivative and rho' + 2 rho'' z.
static void loss_at(int64_t loss, double z, double rho[3])
{
    const double one = 1 + z;
    switch (loss) {
    case TESS_XP_SOFT_L1: {
        const double root = sqrt(one), slope = 1 / root;
        rho[0] = 2 * z / (root + 1);
        rho[1] = slope;
        rho[2] = slope / one;
        break;
    }
    case TESS_XP_HUBER: {
        const double root = sqrt(z);
        rho[0] = z > 1 ? 2 * root - 1 : z;
        rho[1] = z > 1 ? 1 / root : 1;
        rho[2] = z > 1 ? 0 : 1;
        break;
    }
    case TESS_XP_CAUCHY: {
        double log_one;
        TESS_KFN(log_f64)(&one, 1, &log_one);
        const double slope = 1 / one;
        rho[0] = fma(z - (one - 1), slope, log_one);
        rho[1] = slope;
        rho[2] = (1 - z) * (slope * slope);
        break;
    }
    case TESS_XP_ARCTAN: {
        const double slope = 1 / fma(z, z, 1);
        rho[0] = atan(z);
        rho[1] = slope;
        rho[2] = fma(-3 * z, z, 1) * (slope * slope);
        break;
    }
    default:
        rho[0] = z;
        rho[1] = rho[2] = 1;
        break;
    }
    rho[2] = rho[2] > DBL_EPSILON ? rho[2] : DBL_EPSILON;
}

void TESS_KFN(xpcs_robust)(const tess_xp_robust *restrict loss, const double *restrict m, size_t n,
                           double *restrict w, double *restrict g, double *restrict sums)
{
    lanes rho_sum = {0}, square_sum = {0};
    const double scale = loss->inverse_variance / (loss->f_scale * loss->f_scale);
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const double error = fma(loss->contrast, m[c], loss->offset) - g[c];
        const double weighted = w[c] * error, square = weighted * error;
        double rho[3];
        loss_at(loss->loss, square * scale, rho);
        rho_sum[c % 8] += rho[0];
        square_sum[c % 8] += square;
        w[c] *= rho[2];
        g[c] = rho[1] * weighted;
    }
    sums[0] = total(rho_sum);
    sums[1] = total(square_sum);
}

void TESS_KFN(xpcs_outer)(const tess_xp_pairs_f64 *restrict pairs,
                          const tess_xp_angle_sums_f64 *restrict angles, size_t n, int n_param,
                          double *restrict h)
{
    lanes s[TESS_XP_N_OUTER] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const size_t lane = c % 8;
        size_t at = 0;
        for (int k = 0; k < 3; k++) {
            const double uu = angles->a[0][c] * pairs->u[k][c];
            const double uv = angles->a[1][c] * pairs->u[k][c];
            for (int l = k; l < 3; l++, at++) {
                s[at][lane] = fma(uu, pairs->u[l][c], s[at][lane]);
            }
            for (int l = 0; l < 3 && n_param == 7; l++, at++) {
                s[at][lane] = fma(uv, pairs->v[l][c], s[at][lane]);
            }
            if (n_param == 7) {
                s[at][lane] = fma(angles->a[3][c], pairs->u[k][c], s[at][lane]);
                at++;
            }
        }
        for (int k = 0; k < 3 && n_param == 7; k++) {
            const double vv = angles->a[2][c] * pairs->v[k][c];
            for (int l = k; l < 3; l++, at++) {
                s[at][lane] = fma(vv, pairs->v[l][c], s[at][lane]);
            }
            s[at][lane] = fma(angles->a[4][c], pairs->v[k][c], s[at][lane]);
            at++;
        }
        s[at][lane] += n_param == 7 ? angles->a[5][c] : 0;
    }
    for (int k = 0; k < n_param * (n_param + 1) / 2; k++) {
        h[k] = total(s[k]);
    }
}

void TESS_KFN(xpcs_static_pairs)(const tess_xp_pairs_f64 *restrict pairs, size_t n,
                                 double *restrict sums)
{
    lanes s[TESS_XP_N_STATIC_SUM] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const size_t lane = c % 8;
        const double e = pairs->e[c];
        s[0][lane] += e;
        s[1][lane] = fma(e, e, s[1][lane]);
        for (int k = 0, at = 8; k < 3; k++) {
            const double eu = pairs->v[k][c];
            s[2 + k][lane] += eu;
            s[5 + k][lane] = fma(e, eu, s[5 + k][lane]);
            for (int l = k; l < 3; l++, at++) {
                s[at][lane] = fma(eu, pairs->v[l][c], s[at][lane]);
            }
        }
    }
    for (int k = 0; k < TESS_XP_N_STATIC_SUM; k++) {
        sums[k] = total(s[k]);
    }
}

static void static_sums(const tess_xp_pairs_f64 *pairs, const double *g, size_t n, double *sums)
{
    lanes s[4] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const size_t lane = c % 8;
        s[0][lane] = fma(pairs->e[c], g[c], s[0][lane]);
        for (int k = 0; k < 3; k++) {
            s[1 + k][lane] = fma(pairs->v[k][c], g[c], s[1 + k][lane]);
        }
    }
    for (int k = 0; k < 4; k++) {
        sums[k] = total(s[k]);
    }
}

void TESS_KFN(xpcs_static_f64)(const tess_xp_pairs_f64 *restrict pairs, const double *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double g[RUN];
    TESS_KFN(xpcs_centre_f64)(y, n, mean, g);
    static_sums(pairs, g, n, sums);
}

void TESS_KFN(xpcs_static_f32)(const tess_xp_pairs_f64 *restrict pairs, const float *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double g[RUN];
    TESS_KFN(xpcs_centre_f32)(y, n, mean, g);
    static_sums(pairs, g, n, sums);
}
