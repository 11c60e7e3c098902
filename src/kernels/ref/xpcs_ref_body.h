// Points and sums of a run, plainly, for one dtype; included by xpcs_pass_ref.c only.
#include "kernels/simd/dtype.h"

#undef LANES
#define LANES (T_MANTISSA == 23 ? 16 : 8)
#define PAIRS T_NAME(tess_xp_pairs)
#define TERMS T_NAME(tess_xp_terms)
#define ANGLE_SUMS T_NAME(tess_xp_angle_sums)
#define CONSTANT(name) T_NAME(tess_xp_##name)
#define POLYNOMIAL(name, x)                                                                        \
    T_NAME(polynomial)((x), CONSTANT(name), sizeof(CONSTANT(name)) / sizeof(SCALAR))

typedef SCALAR T_NAME(lanes)[LANES];

static SCALAR T_NAME(polynomial)(SCALAR x, const SCALAR *coefficient, size_t n)
{
    SCALAR sum = coefficient[0];
    for (size_t k = 1; k < n; k++) {
        sum = FMA(sum, x, coefficient[k]);
    }
    return sum;
}

// sinc(z) and cos(z) - sinc(z), both up to the same sign; inverse is 1/z.
static void T_NAME(sinc)(SCALAR z, SCALAR inverse, SCALAR *s, SCALAR *d)
{
    if (z < CONSTANT(small)) {
        const SCALAR q = z * z;
        *s = POLYNOMIAL(sinc_series, q);
        *d = q * POLYNOMIAL(slope_series, q);
        return;
    }
    z = z < CONSTANT(far) ? z : CONSTANT(far);
    const SCALAR k = FMA(z, CONSTANT(inverse_pi), CONSTANT(magic)) - CONSTANT(magic);
    const SCALAR r = FMA(-k, CONSTANT(pi_2), FMA(-k, CONSTANT(pi_1), z));
    const SCALAR q = r * r;
    const SCALAR sine = FMA(POLYNOMIAL(sin_tail, q), q, 1);
    const SCALAR cosine = FMA(POLYNOMIAL(cos_tail, q), q, 1);
    *s = r * inverse * sine;
    *d = cosine - *s;
}

void TESS_KFN(T_NAME(xpcs_points))(const PAIRS *restrict pairs, size_t n, double amplitude,
                                   int power, SCALAR *restrict m, SCALAR *restrict t)
{
    const SCALAR a = (SCALAR)fabs(amplitude), inverse = a > 0 ? 1 / a : 0;
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        SCALAR s, d;
        T_NAME(sinc)(a * pairs->b[c], inverse * pairs->inverse[c], &s, &d);
        SCALAR factor = pairs->e[c] * s;
        if (power == 4) {
            factor *= s * s;
        }
        m[c] = factor * s;
        if (t) {
            t[c] = factor * d;
        }
    }
}

// Sums of one column's products x, x M and g times M or T, with the factors of the pair.
static void T_NAME(add_products)(const SCALAR x[3], const SCALAR (*factor)[TESS_XP_ROW], size_t c,
                                 T_NAME(lanes) * p, T_NAME(lanes) * q, T_NAME(lanes) * r)
{
    const size_t lane = c % LANES;
    for (int k = 0; k < 3; k++) {
        p[k][lane] = FMA(x[0], factor[k][c], p[k][lane]);
        q[k][lane] = FMA(x[1], factor[k][c], q[k][lane]);
        r[k][lane] = FMA(x[2], factor[k][c], r[k][lane]);
    }
}

static void T_NAME(add_angle)(const TERMS *terms, SCALAR mm, SCALAR tm, SCALAR tt, size_t c,
                              ANGLE_SUMS *angles)
{
    const SCALAR weight = (SCALAR)terms->weight, by_tau = (SCALAR)(terms->weight * terms->tau);
    const SCALAR by_tau2 = (SCALAR)(terms->weight * terms->tau * terms->tau);
    angles->a[0][c] = FMA(weight, mm, angles->a[0][c]);
    if (terms->t) {
        angles->a[1][c] = FMA(weight, tm, angles->a[1][c]);
        angles->a[2][c] = FMA(weight, tt, angles->a[2][c]);
        angles->a[3][c] = FMA(by_tau, tm, angles->a[3][c]);
        angles->a[4][c] = FMA(by_tau, tt, angles->a[4][c]);
        angles->a[5][c] = FMA(by_tau2, tt, angles->a[5][c]);
    }
}

static void T_NAME(angle_sums)(const PAIRS *pairs, const TERMS *terms, size_t n, int want,
                               T_NAME(lanes) * s, ANGLE_SUMS *angles)
{
    T_NAME(lanes) *p = s + 6, *q = p + 7, *r = q + 7;
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const size_t lane = c % LANES;
        const SCALAR m = terms->m[c], g = terms->g[c];
        const SCALAR x = terms->w ? terms->w[c] * m : m;
        const SCALAR mm = x * m, mg = m * g;
        s[0][lane] += terms->w ? terms->w[c] : 0;
        s[1][lane] += x;
        s[2][lane] += mm;
        s[3][lane] += terms->w ? g : 0;
        s[5][lane] += mg;
        if (want == TESS_XP_COST) {
            continue;
        }
        const SCALAR of_m[3] = {x, mm, mg};
        T_NAME(add_products)(of_m, pairs->u, c, p, q, r);
        SCALAR tm = 0, tt = 0;
        if (terms->t) {
            const SCALAR t = terms->t[c], xt = terms->w ? terms->w[c] * t : t;
            tm = xt * m, tt = xt * t;
            const SCALAR of_t[3] = {xt, tm, t * g};
            T_NAME(add_products)(of_t, pairs->v, c, p + 3, q + 3, r + 3);
            p[6][lane] += of_t[0], q[6][lane] += of_t[1], r[6][lane] += of_t[2];
        }
        if (want == TESS_XP_HESSIAN) {
            T_NAME(add_angle)(terms, mm, tm, tt, c, angles);
        }
    }
}

#undef PAIRS
#undef TERMS
#undef ANGLE_SUMS
#undef CONSTANT
#undef POLYNOMIAL
