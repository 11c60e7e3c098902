// Points and sums of a run for one dtype; included by xpcs_pass.c only.
//
// A sum has XP_LANES lanes, whatever the length of a vector: column c belongs to lane c % XP_LANES.
// A vector shorter than that takes its part of the lanes through the whole run, then the next part.
#include "kernels/simd/dtype.h"

#if T_MANTISSA == 23
#define XP_LANES 16
#else
#define XP_LANES 8
#endif
#define PAIRS T_NAME(tess_xp_pairs)
#define TERMS T_NAME(tess_xp_terms)
#define ANGLE_SUMS T_NAME(tess_xp_angle_sums)
#define CONSTANT(name) V(set1)((SCALAR)T_NAME(tess_xp_##name))

// Lanes of a sum that a vector fills.
static inline size_t T_NAME(lanes)(void)
{
    return V(len)() < XP_LANES ? V(len)() : XP_LANES;
}

static inline VF T_NAME(load)(const SCALAR *p)
{
    return V(len)() <= XP_LANES ? V(load)(p) : V(load_n)(p, XP_LANES, 0);
}

static inline void T_NAME(store)(SCALAR *p, VF v)
{
    if (V(len)() <= XP_LANES) {
        V(store)(p, v);
    } else {
        V(store_n)(p, XP_LANES, v);
    }
}
#define LOAD T_NAME(load)
#define STORE T_NAME(store)

// Horner's rule; n is a constant, so the loop unrolls.
static inline VF T_NAME(polynomial)(VF x, const SCALAR *coefficient, size_t n)
{
    VF sum = V(set1)(coefficient[0]);
    for (size_t k = 1; k < n; k++) {
        sum = V(fma)(sum, x, V(set1)(coefficient[k]));
    }
    return sum;
}
#define POLYNOMIAL(name, x)                                                                        \
    T_NAME(polynomial)                                                                             \
    ((x), T_NAME(tess_xp_##name), sizeof(T_NAME(tess_xp_##name)) / sizeof(SCALAR))

// sinc(z) and cos(z) - sinc(z) for ordinary z, both up to the same sign; inverse is 1/z.
static inline void T_NAME(sinc)(VF z, VF inverse, VF *s, VF *d)
{
    const VF magic = CONSTANT(magic), one = V(set1)(1);
    const VF k = V(sub)(V(fma)(z, CONSTANT(inverse_pi), magic), magic);
    const VF r = V(fnma)(k, CONSTANT(pi_2), V(fnma)(k, CONSTANT(pi_1), z));
    const VF q = V(mul)(r, r);
    const VF sine = V(fma)(POLYNOMIAL(sin_tail, q), q, one);
    const VF cosine = V(fma)(POLYNOMIAL(cos_tail, q), q, one);
    *s = V(mul)(V(mul)(r, inverse), sine);
    *d = V(sub)(cosine, *s);
}

// The same for every z >= 0.
static inline void T_NAME(sinc_of_any)(VF z, VF inverse, VF *s, VF *d)
{
    const VF far = CONSTANT(far), q = V(mul)(z, z);
    const VM is_small = V(lt)(z, CONSTANT(small));
    T_NAME(sinc)(V(select)(V(lt)(z, far), z, far), inverse, s, d);
    *s = V(select)(is_small, POLYNOMIAL(sinc_series, q), *s);
    *d = V(select)(is_small, V(mul)(q, POLYNOMIAL(slope_series, q)), *d);
}

// The columns of a vector; b rises or falls along the run, so its ends tell whether any z needs
// care.
XP_INLINE void T_NAME(points)(const PAIRS *pairs, size_t n, SCALAR amplitude, int power, SCALAR *m,
                              SCALAR *t)
{
    const size_t step = T_NAME(lanes)();
    const SCALAR inverse = amplitude > 0 ? 1 / amplitude : 0;
    const SCALAR least = T_NAME(tess_xp_small) * inverse * (SCALAR)1.001;
    const SCALAR most = T_NAME(tess_xp_far) * inverse * (SCALAR)0.999;
    const VF a = V(set1)(amplitude), by = V(set1)(inverse);
    for (size_t c = 0; c < n; c += step) {
        const SCALAR first = pairs->b[c], last = pairs->b[c + step - 1];
        const VF z = V(mul)(a, LOAD(pairs->b + c));
        const VF inverse_z = V(mul)(by, LOAD(pairs->inverse + c));
        VF s, d;
        if (first > least && last > least && first < most && last < most) {
            T_NAME(sinc)(z, inverse_z, &s, &d);
        } else {
            T_NAME(sinc_of_any)(z, inverse_z, &s, &d);
        }
        VF factor = V(mul)(LOAD(pairs->e + c), s);
        if (power == 4) {
            factor = V(mul)(factor, V(mul)(s, s));
        }
        STORE(m + c, V(mul)(factor, s));
        if (t) {
            STORE(t + c, V(mul)(factor, d));
        }
    }
}

void TESS_KFN(T_NAME(xpcs_points))(const PAIRS *restrict pairs, size_t n, double amplitude,
                                   int power, SCALAR *restrict m, SCALAR *restrict t)
{
    const size_t width = padded(n);
    const SCALAR a = (SCALAR)fabs(amplitude);
    if (power == 4 && t) {
        T_NAME(points)(pairs, width, a, 4, m, t);
    } else if (power == 4) {
        T_NAME(points)(pairs, width, a, 4, m, NULL);
    } else {
        T_NAME(points)(pairs, width, a, power, m, t);
    }
}

// The lanes of all sums of an angle, at lane `at` of each.
#define ROW(k) (rows + (k)*XP_LANES)

// S1 and Sy.
static inline void T_NAME(weight_sums)(const TERMS *terms, size_t n, size_t at, SCALAR *rows)
{
    VF s1 = V(set1)(0), sy = s1;
    for (size_t c = at; c < n; c += XP_LANES) {
        s1 = V(add)(s1, LOAD(terms->w + c));
        sy = V(add)(sy, LOAD(terms->g + c));
    }
    STORE(ROW(0), s1);
    STORE(ROW(3), sy);
}

// Sf Sff Sfy.
XP_INLINE void T_NAME(cost_sums)(const TERMS *terms, size_t n, size_t at, int has_weights,
                                 SCALAR *rows)
{
    VF sf = V(set1)(0), sff = sf, sfy = sf;
    for (size_t c = at; c < n; c += XP_LANES) {
        const VF m = LOAD(terms->m + c);
        const VF x = has_weights ? V(mul)(LOAD(terms->w + c), m) : m;
        sf = V(add)(sf, x);
        sff = V(add)(sff, V(mul)(x, m));
        sfy = V(add)(sfy, V(mul)(m, LOAD(terms->g + c)));
    }
    STORE(ROW(1), sf);
    STORE(ROW(2), sff);
    STORE(ROW(5), sfy);
}

// Those, and the columns of diffusion. a: onto it weight M^2, unless it is NULL.
XP_INLINE void T_NAME(m_sums)(const PAIRS *pairs, const TERMS *terms, size_t n, size_t at,
                              int has_weights, SCALAR *rows, SCALAR *a)
{
    const VF zero = V(set1)(0), weight = V(set1)((SCALAR)terms->weight);
    VF sf = zero, sff = zero, sfy = zero;
    VF p0 = zero, p1 = zero, p2 = zero, q0 = zero, q1 = zero, q2 = zero;
    VF r0 = zero, r1 = zero, r2 = zero;
    for (size_t c = at; c < n; c += XP_LANES) {
        const VF m = LOAD(terms->m + c);
        const VF x = has_weights ? V(mul)(LOAD(terms->w + c), m) : m;
        const VF mm = V(mul)(x, m), mg = V(mul)(m, LOAD(terms->g + c));
        const VF u0 = LOAD(pairs->u[0] + c), u1 = LOAD(pairs->u[1] + c);
        const VF u2 = LOAD(pairs->u[2] + c);
        sf = V(add)(sf, x), sff = V(add)(sff, mm), sfy = V(add)(sfy, mg);
        p0 = V(fma)(x, u0, p0), p1 = V(fma)(x, u1, p1), p2 = V(fma)(x, u2, p2);
        q0 = V(fma)(mm, u0, q0), q1 = V(fma)(mm, u1, q1), q2 = V(fma)(mm, u2, q2);
        r0 = V(fma)(mg, u0, r0), r1 = V(fma)(mg, u1, r1), r2 = V(fma)(mg, u2, r2);
        if (a) {
            STORE(a + c, V(fma)(weight, mm, LOAD(a + c)));
        }
    }
    STORE(ROW(1), sf), STORE(ROW(2), sff), STORE(ROW(5), sfy);
    STORE(ROW(6), p0), STORE(ROW(7), p1), STORE(ROW(8), p2);
    STORE(ROW(13), q0), STORE(ROW(14), q1), STORE(ROW(15), q2);
    STORE(ROW(20), r0), STORE(ROW(21), r1), STORE(ROW(22), r2);
}

// The columns of shear and phi0. angles: onto it the terms with T, unless it is NULL.
XP_INLINE void T_NAME(t_sums)(const PAIRS *pairs, const TERMS *terms, size_t n, size_t at,
                              int has_weights, SCALAR *rows, ANGLE_SUMS *angles)
{
    const VF zero = V(set1)(0), weight = V(set1)((SCALAR)terms->weight);
    const VF by_tau = V(set1)((SCALAR)(terms->weight * terms->tau));
    const VF by_tau2 = V(set1)((SCALAR)(terms->weight * terms->tau * terms->tau));
    VF p0 = zero, p1 = zero, p2 = zero, p3 = zero, q0 = zero, q1 = zero, q2 = zero, q3 = zero;
    VF r0 = zero, r1 = zero, r2 = zero, r3 = zero;
    for (size_t c = at; c < n; c += XP_LANES) {
        const VF t = LOAD(terms->t + c);
        const VF x = has_weights ? V(mul)(LOAD(terms->w + c), t) : t;
        const VF tm = V(mul)(x, LOAD(terms->m + c)), tg = V(mul)(t, LOAD(terms->g + c));
        const VF v0 = LOAD(pairs->v[0] + c), v1 = LOAD(pairs->v[1] + c);
        const VF v2 = LOAD(pairs->v[2] + c);
        p0 = V(fma)(x, v0, p0), p1 = V(fma)(x, v1, p1), p2 = V(fma)(x, v2, p2);
        q0 = V(fma)(tm, v0, q0), q1 = V(fma)(tm, v1, q1), q2 = V(fma)(tm, v2, q2);
        r0 = V(fma)(tg, v0, r0), r1 = V(fma)(tg, v1, r1), r2 = V(fma)(tg, v2, r2);
        p3 = V(add)(p3, x), q3 = V(add)(q3, tm), r3 = V(add)(r3, tg);
        if (angles) {
            const VF tt = V(mul)(x, t);
            STORE(angles->a[1] + c, V(fma)(weight, tm, LOAD(angles->a[1] + c)));
            STORE(angles->a[2] + c, V(fma)(weight, tt, LOAD(angles->a[2] + c)));
            STORE(angles->a[3] + c, V(fma)(by_tau, tm, LOAD(angles->a[3] + c)));
            STORE(angles->a[4] + c, V(fma)(by_tau, tt, LOAD(angles->a[4] + c)));
            STORE(angles->a[5] + c, V(fma)(by_tau2, tt, LOAD(angles->a[5] + c)));
        }
    }
    STORE(ROW(9), p0), STORE(ROW(10), p1), STORE(ROW(11), p2), STORE(ROW(12), p3);
    STORE(ROW(16), q0), STORE(ROW(17), q1), STORE(ROW(18), q2), STORE(ROW(19), q3);
    STORE(ROW(23), r0), STORE(ROW(24), r1), STORE(ROW(25), r2), STORE(ROW(26), r3);
}

// All sums of the lanes from `at` on.
XP_INLINE void T_NAME(part_sums)(const PAIRS *pairs, const TERMS *terms, size_t n, size_t at,
                                 int want, int has_weights, SCALAR *rows, ANGLE_SUMS *angles)
{
    if (has_weights) {
        T_NAME(weight_sums)(terms, n, at, rows);
    }
    if (want == TESS_XP_COST) {
        T_NAME(cost_sums)(terms, n, at, has_weights, rows);
        return;
    }
    T_NAME(m_sums)
    (pairs, terms, n, at, has_weights, rows, want == TESS_XP_HESSIAN ? angles->a[0] : NULL);
    if (terms->t) {
        T_NAME(t_sums)
        (pairs, terms, n, at, has_weights, rows, want == TESS_XP_HESSIAN ? angles : NULL);
    }
}

void TESS_KFN(T_NAME(xpcs_sums))(const PAIRS *restrict pairs, const TERMS *restrict terms, size_t n,
                                 int want, double *restrict sums, ANGLE_SUMS *restrict angles)
{
    SCALAR rows[TESS_XP_N_SUM_ROOM * XP_LANES] __attribute__((aligned(64))) = {0};
    for (size_t at = 0; at < XP_LANES; at += T_NAME(lanes)()) {
        if (terms->w) {
            T_NAME(part_sums)(pairs, terms, padded(n), at, want, 1, rows + at, angles);
        } else if (want == TESS_XP_HESSIAN) {
            T_NAME(part_sums)(pairs, terms, padded(n), at, TESS_XP_HESSIAN, 0, rows + at, angles);
        } else {
            T_NAME(part_sums)(pairs, terms, padded(n), at, want, 0, rows + at, angles);
        }
    }
    double totals[TESS_XP_N_SUM_ROOM];
    T_NAME(row_totals)(rows, want == TESS_XP_COST ? 8 : TESS_XP_N_SUM_ROOM, totals);
    for (size_t k = 0; k < TESS_XP_N_SUM; k++) {
        sums[k] = want == TESS_XP_COST && k >= 6 ? 0 : totals[k] * T_NAME(unscale)(k);
    }
    for (size_t k = 12; k < TESS_XP_N_SUM && want != TESS_XP_COST; k += 7) {
        sums[k] *= terms->tau;
    }
}

#undef XP_LANES
#undef PAIRS
#undef TERMS
#undef ANGLE_SUMS
#undef CONSTANT
#undef LOAD
#undef STORE
#undef POLYNOMIAL
#undef ROW
