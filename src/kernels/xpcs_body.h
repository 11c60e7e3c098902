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
    return V(part)(XP_LANES);
}

static inline VF T_NAME(load)(const SCALAR *p)
{
    return V(take)(p, XP_LANES);
}

static inline void T_NAME(store)(SCALAR *p, VF v)
{
    V(put)(p, XP_LANES, v);
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

// is_ordinary: no z of the run needs care; behind its last column e is 0, and so is what comes of
// it.
XP_INLINE void T_NAME(points)(const PAIRS *pairs, size_t first, size_t n, SCALAR amplitude,
                              int power, int is_ordinary, SCALAR *m, SCALAR *t)
{
    const VF a = V(set1)(amplitude), by = V(set1)(amplitude > 0 ? 1 / amplitude : 0);
    for (size_t c = first; c < n; c += T_NAME(lanes)()) {
        const VF z = V(mul)(a, LOAD(pairs->b + c));
        const VF inverse_z = V(mul)(by, LOAD(pairs->inverse + c));
        VF s, d;
        if (is_ordinary) {
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

// First column, in steps of 16, from which no z of the run needs care: along a run b rises or
// falls.
static inline size_t T_NAME(ordinary_from)(const PAIRS *pairs, size_t n, SCALAR amplitude)
{
    const SCALAR small = T_NAME(tess_xp_small), far = T_NAME(tess_xp_far);
    const SCALAR last = pairs->b[n - 1] * amplitude;
    size_t c = 0;
    while (c < n && pairs->b[c] * amplitude < small) {
        c += 16;
    }
    const int is_ordinary = c < n && pairs->b[c] * amplitude < far && last >= small && last < far;
    return is_ordinary ? c : tess_xp_padded(n);
}

void TESS_KFN(T_NAME(xpcs_points))(const PAIRS *restrict pairs, size_t n, double amplitude,
                                   int power, SCALAR *restrict m, SCALAR *restrict t)
{
    const size_t width = tess_xp_padded(n);
    const SCALAR a = (SCALAR)fabs(amplitude);
    const size_t first = T_NAME(ordinary_from)(pairs, n, a);
    T_NAME(points)(pairs, 0, first, a, power, 0, m, t);
    if (power == 4 && t) {
        T_NAME(points)(pairs, first, width, a, 4, 1, m, t);
    } else if (power == 4) {
        T_NAME(points)(pairs, first, width, a, 4, 1, m, NULL);
    } else {
        T_NAME(points)(pairs, first, width, a, power, 1, m, t);
    }
}

// The lanes of all sums of an angle, at lane `at` of each.
#define ROW(k) (rows + (k)*XP_LANES)

// S1 and Sy.
static inline void T_NAME(weight_sums)(const TERMS *terms, size_t n, size_t at, SCALAR *rows)
{
    VF s1 = LOAD(ROW(0)), sy = LOAD(ROW(3));
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
    VF sf = LOAD(ROW(1)), sff = LOAD(ROW(2)), sfy = LOAD(ROW(5));
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
    const VF weight = V(set1)((SCALAR)terms->weight);
    VF sf = LOAD(ROW(1)), sff = LOAD(ROW(2)), sfy = LOAD(ROW(5));
    VF p0 = LOAD(ROW(6)), p1 = LOAD(ROW(7)), p2 = LOAD(ROW(8));
    VF q0 = LOAD(ROW(13)), q1 = LOAD(ROW(14)), q2 = LOAD(ROW(15));
    VF r0 = LOAD(ROW(20)), r1 = LOAD(ROW(21)), r2 = LOAD(ROW(22));
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
    const VF weight = V(set1)((SCALAR)terms->weight);
    const VF by_tau = V(set1)((SCALAR)(terms->weight * terms->tau));
    const VF by_tau2 = V(set1)((SCALAR)(terms->weight * terms->tau * terms->tau));
    VF p0 = LOAD(ROW(9)), p1 = LOAD(ROW(10)), p2 = LOAD(ROW(11)), p3 = LOAD(ROW(12));
    VF q0 = LOAD(ROW(16)), q1 = LOAD(ROW(17)), q2 = LOAD(ROW(18)), q3 = LOAD(ROW(19));
    VF r0 = LOAD(ROW(23)), r1 = LOAD(ROW(24)), r2 = LOAD(ROW(25)), r3 = LOAD(ROW(26));
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

static inline void T_NAME(angle_sums)(const PAIRS *pairs, const TERMS *terms, size_t n, int want,
                                      SCALAR *rows, ANGLE_SUMS *angles)
{
    for (size_t at = 0; at < XP_LANES; at += T_NAME(lanes)()) {
        if (terms->w) {
            T_NAME(part_sums)(pairs, terms, n, at, want, 1, rows + at, angles);
        } else if (want == TESS_XP_HESSIAN) {
            T_NAME(part_sums)(pairs, terms, n, at, TESS_XP_HESSIAN, 0, rows + at, angles);
        } else {
            T_NAME(part_sums)(pairs, terms, n, at, want, 0, rows + at, angles);
        }
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
