// The kernels of a pass over two-time correlations, as plainly as they can be said.

#include "kernels/isa.h"
#include "kernels/xpcs.h"

#include <float.h>
#include <math.h>

enum { RUN = TESS_XP_RUN, LANES = TESS_XP_LANES };

typedef double lanes[LANES];

// Neighbours, pairs, halves.
static double total(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

static double polynomial(double x, const double *coefficient, size_t n)
{
    double sum = coefficient[0];
    for (size_t k = 1; k < n; k++) {
        sum = fma(sum, x, coefficient[k]);
    }
    return sum;
}

static size_t padded(size_t n)
{
    return (n + 15) / 16 * 16;
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

static void clear_pair(tess_xp_pairs *out, size_t c)
{
    out->e[c] = out->b[c] = out->inverse[c] = 0;
    for (int k = 0; k < 3; k++) {
        out->u[k][c] = out->v[k][c] = 0;
    }
}

void TESS_KFN(xpcs_pairs)(const tess_xp_source *restrict s, tess_xp_pairs *restrict out)
{
    double exponent[RUN];
    for (size_t c = 0; c < padded(s->n); c++) {
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

// sinc(z) and cos(z) - sinc(z), both up to the same sign.
static void sinc(double z, double inverse, double *s, double *d)
{
    if (z < TESS_XP_SMALL) {
        const double q = z * z;
        *s = polynomial(q, tess_xp_sinc_series, 4);
        *d = q * polynomial(q, tess_xp_slope_series, 4);
        return;
    }
    z = z < TESS_XP_FAR ? z : TESS_XP_FAR;
    const double k = fma(z, TESS_XP_INVERSE_PI, TESS_XP_MAGIC) - TESS_XP_MAGIC;
    const double r = fma(-k, TESS_XP_PI_2, fma(-k, TESS_XP_PI_1, z));
    const double q = r * r;
    const double sine = fma(polynomial(q, tess_xp_sin_tail, TESS_XP_N_TAIL), q, 1);
    const double cosine = fma(polynomial(q, tess_xp_cos_tail, TESS_XP_N_TAIL), q, 1);
    *s = r * inverse * sine;
    *d = cosine - *s;
}

void TESS_KFN(xpcs_points)(const tess_xp_pairs *restrict pairs, size_t n, double amplitude,
                           int power, double *restrict m, double *restrict t)
{
    const double a = fabs(amplitude), inverse = a > 0 ? 1 / a : 0;
    for (size_t c = 0; c < padded(n); c++) {
        double s, d;
        sinc(a * pairs->b[c], inverse * pairs->inverse[c], &s, &d);
        double factor = pairs->e[c] * s;
        if (power == 4) {
            factor *= s * s;
        }
        m[c] = factor * s;
        if (t) {
            t[c] = factor * d;
        }
    }
}

void TESS_KFN(xpcs_centre_f64)(const double *restrict y, size_t n, double mean, double *restrict g)
{
    for (size_t c = 0; c < padded(n); c++) {
        g[c] = c < n ? y[c] - mean : 0;
    }
}

void TESS_KFN(xpcs_centre_f32)(const float *restrict y, size_t n, double mean, double *restrict g)
{
    for (size_t c = 0; c < padded(n); c++) {
        g[c] = c < n ? (double)y[c] - mean : 0;
    }
}

void TESS_KFN(xpcs_mask)(const double *restrict by, const double *restrict frames, double row,
                         size_t n, double *restrict w, double *restrict g)
{
    for (size_t c = 0; c < padded(n); c++) {
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
    for (size_t c = 0; c < padded(n); c++) {
        const double y = g[c];
        g[c] = w[c] * y;
        sum[c % LANES] = fma(g[c], y, sum[c % LANES]);
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
    for (size_t c = 0; c < padded(n); c++) {
        const double error = fma(loss->contrast, m[c], loss->offset) - g[c];
        const double weighted = w[c] * error, square = weighted * error;
        double rho[3];
        loss_at(loss->loss, square * scale, rho);
        rho_sum[c % LANES] += rho[0];
        square_sum[c % LANES] += square;
        w[c] *= rho[2];
        g[c] = rho[1] * weighted;
    }
    sums[0] = total(rho_sum);
    sums[1] = total(square_sum);
}

// Sums of one column's products x, x M and g times M or T, with the factors of the pair.
static void add_products(const double x[3], double (*const factor)[RUN], size_t c, lanes *p,
                         lanes *q, lanes *r)
{
    const size_t lane = c % LANES;
    for (int k = 0; k < 3; k++) {
        p[k][lane] = fma(x[0], factor[k][c], p[k][lane]);
        q[k][lane] = fma(x[1], factor[k][c], q[k][lane]);
        r[k][lane] = fma(x[2], factor[k][c], r[k][lane]);
    }
}

static void add_angle(const tess_xp_terms *terms, double mm, double tm, double tt, size_t c,
                      tess_xp_angle_sums *angles)
{
    const double weight = terms->weight, by_tau = weight * terms->tau;
    angles->a[0][c] = fma(weight, mm, angles->a[0][c]);
    if (terms->t) {
        angles->a[1][c] = fma(weight, tm, angles->a[1][c]);
        angles->a[2][c] = fma(weight, tt, angles->a[2][c]);
        angles->a[3][c] = fma(by_tau, tm, angles->a[3][c]);
        angles->a[4][c] = fma(by_tau, tt, angles->a[4][c]);
        angles->a[5][c] = fma(by_tau * terms->tau, tt, angles->a[5][c]);
    }
}

void TESS_KFN(xpcs_sums)(const tess_xp_pairs *restrict pairs, const tess_xp_terms *restrict terms,
                         size_t n, int want, double *restrict sums,
                         tess_xp_angle_sums *restrict angles)
{
    lanes s[TESS_XP_N_SUM] = {{0}};
    lanes *p = s + 6, *q = p + 7, *r = q + 7;
    for (size_t c = 0; c < padded(n); c++) {
        const size_t lane = c % LANES;
        const double m = terms->m[c], g = terms->g[c];
        const double x = terms->w ? terms->w[c] * m : m;
        const double mm = x * m, mg = m * g;
        s[0][lane] += terms->w ? terms->w[c] : 0;
        s[1][lane] += x;
        s[2][lane] += mm;
        s[3][lane] += terms->w ? g : 0;
        s[5][lane] += mg;
        if (want == TESS_XP_COST) {
            continue;
        }
        const double of_m[3] = {x, mm, mg};
        add_products(of_m, (double(*)[RUN])pairs->u, c, p, q, r);
        double tm = 0, tt = 0;
        if (terms->t) {
            const double t = terms->t[c], xt = terms->w ? terms->w[c] * t : t;
            tm = xt * m, tt = xt * t;
            const double of_t[3] = {xt, tm, t * g};
            add_products(of_t, (double(*)[RUN])pairs->v, c, p + 3, q + 3, r + 3);
            p[6][lane] += of_t[0], q[6][lane] += of_t[1], r[6][lane] += of_t[2];
        }
        if (want == TESS_XP_HESSIAN) {
            add_angle(terms, mm, tm, tt, c, angles);
        }
    }
    for (size_t k = 0; k < TESS_XP_N_SUM; k++) {
        sums[k] = k >= 6 && k % 7 == 5 ? total(s[k]) * terms->tau : total(s[k]);
    }
}

void TESS_KFN(xpcs_outer)(const tess_xp_pairs *restrict pairs,
                          const tess_xp_angle_sums *restrict angles, size_t n, int n_param,
                          double *restrict h)
{
    lanes s[TESS_XP_N_OUTER] = {{0}};
    for (size_t c = 0; c < padded(n); c++) {
        const size_t lane = c % LANES;
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

void TESS_KFN(xpcs_static_pairs)(const tess_xp_pairs *restrict pairs, size_t n,
                                 double *restrict sums)
{
    lanes s[TESS_XP_N_STATIC_SUM] = {{0}};
    for (size_t c = 0; c < padded(n); c++) {
        const size_t lane = c % LANES;
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

static void static_sums(const tess_xp_pairs *pairs, const double *g, size_t n, double *sums)
{
    lanes s[4] = {{0}};
    for (size_t c = 0; c < padded(n); c++) {
        const size_t lane = c % LANES;
        s[0][lane] = fma(pairs->e[c], g[c], s[0][lane]);
        for (int k = 0; k < 3; k++) {
            s[1 + k][lane] = fma(pairs->v[k][c], g[c], s[1 + k][lane]);
        }
    }
    for (int k = 0; k < 4; k++) {
        sums[k] = total(s[k]);
    }
}

void TESS_KFN(xpcs_static_f64)(const tess_xp_pairs *restrict pairs, const double *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double g[RUN];
    TESS_KFN(xpcs_centre_f64)(y, n, mean, g);
    static_sums(pairs, g, n, sums);
}

void TESS_KFN(xpcs_static_f32)(const tess_xp_pairs *restrict pairs, const float *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double g[RUN];
    TESS_KFN(xpcs_centre_f32)(y, n, mean, g);
    static_sums(pairs, g, n, sums);
}
