// Sums of a run's pairs alone: outer products of the Jacobian's factors, and static models; built
// once per ISA.

#include "kernels/isa.h"
#include "kernels/xpcs_lanes.h"

// by a a^T, upper triangle into rows of the given numbers.
static inline void square_sums(const double (*a)[TESS_XP_ROW], const double *by, size_t n,
                               size_t at, const int number[6], double *rows)
{
    v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    for (size_t c = at; c < n; c += LANES) {
        const v_f64 f = load(by + c), a0 = load(a[0] + c), a1 = load(a[1] + c);
        const v_f64 a2 = load(a[2] + c);
        const v_f64 x0 = v_mul_f64(f, a0), x1 = v_mul_f64(f, a1), x2 = v_mul_f64(f, a2);
        s0 = v_fma_f64(x0, a0, s0), s1 = v_fma_f64(x0, a1, s1), s2 = v_fma_f64(x0, a2, s2);
        s3 = v_fma_f64(x1, a1, s3), s4 = v_fma_f64(x1, a2, s4), s5 = v_fma_f64(x2, a2, s5);
    }
    store(rows + number[0] * LANES, s0), store(rows + number[1] * LANES, s1);
    store(rows + number[2] * LANES, s2), store(rows + number[3] * LANES, s3);
    store(rows + number[4] * LANES, s4), store(rows + number[5] * LANES, s5);
}

// by u v^T.
static inline void mixed_sums(const tess_xp_pairs_f64 *pairs, const double *by, size_t n, size_t at,
                              const int number[3], double *rows)
{
    for (int k = 0; k < 3; k++) {
        v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0;
        for (size_t c = at; c < n; c += LANES) {
            const v_f64 x = v_mul_f64(load(by + c), load(pairs->u[k] + c));
            s0 = v_fma_f64(x, load(pairs->v[0] + c), s0);
            s1 = v_fma_f64(x, load(pairs->v[1] + c), s1);
            s2 = v_fma_f64(x, load(pairs->v[2] + c), s2);
        }
        store(rows + number[k] * LANES, s0), store(rows + (number[k] + 1) * LANES, s1);
        store(rows + (number[k] + 2) * LANES, s2);
    }
}

// by a.
static inline void vector_sums(const double (*a)[TESS_XP_ROW], const double *by, size_t n,
                               size_t at, const int number[3], double *rows)
{
    v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0;
    for (size_t c = at; c < n; c += LANES) {
        const v_f64 f = load(by + c);
        s0 = v_fma_f64(f, load(a[0] + c), s0);
        s1 = v_fma_f64(f, load(a[1] + c), s1);
        s2 = v_fma_f64(f, load(a[2] + c), s2);
    }
    store(rows + number[0] * LANES, s0), store(rows + number[1] * LANES, s1);
    store(rows + number[2] * LANES, s2);
}

static inline void scalar_sums(const double *by, size_t n, size_t at, double *row)
{
    v_f64 sum = v_set1_f64(0);
    for (size_t c = at; c < n; c += LANES) {
        sum = v_add_f64(sum, load(by + c));
    }
    store(row, sum);
}

static void totals_of(const double *rows, int n, double *out)
{
    for (int k = 0; k < n; k += 8) {
        double total[8];
        v_row_sums_f64(rows + k * LANES, total);
        for (int i = 0; i < 8 && k + i < n; i++) {
            out[k + i] = total[i];
        }
    }
}

void TESS_KFN(xpcs_outer)(const tess_xp_pairs_f64 *restrict pairs,
                          const tess_xp_angle_sums_f64 *restrict angles, size_t n, int n_param,
                          double *restrict h)
{
    // Where the parts of the upper triangle lie, by rows.
    static const int uu_alone[] = {0, 1, 2, 3, 4, 5}, uu[] = {0, 1, 2, 7, 8, 13};
    static const int uv[] = {3, 9, 14}, u_phi[] = {6, 12, 17};
    static const int vv[] = {18, 19, 20, 22, 23, 25}, v_phi[] = {21, 24, 26};
    double rows[32 * LANES] __attribute__((aligned(64))) = {0};
    const size_t width = tess_xp_padded(n);
    const double(*u)[TESS_XP_ROW] = pairs->u, (*v)[TESS_XP_ROW] = pairs->v;
    for (size_t at = 0; at < LANES; at += lanes()) {
        double *part = rows + at;
        square_sums(u, angles->a[0], width, at, n_param == 7 ? uu : uu_alone, part);
        if (n_param == 7) {
            mixed_sums(pairs, angles->a[1], width, at, uv, part);
            vector_sums(u, angles->a[3], width, at, u_phi, part);
            square_sums(v, angles->a[2], width, at, vv, part);
            vector_sums(v, angles->a[4], width, at, v_phi, part);
            scalar_sums(angles->a[5], width, at, part + 27 * LANES);
        }
    }
    totals_of(rows, n_param * (n_param + 1) / 2, h);
}

// Sf Sff, P and Q of columns e u.
static inline void static_first_sums(const tess_xp_pairs_f64 *pairs, size_t n, size_t at,
                                     double *rows)
{
    const v_f64 zero = v_set1_f64(0);
    v_f64 sf = zero, sff = zero, p0 = zero, p1 = zero, p2 = zero, q0 = zero, q1 = zero, q2 = zero;
    for (size_t c = at; c < n; c += LANES) {
        const v_f64 e = load(pairs->e + c), eu0 = load(pairs->v[0] + c);
        const v_f64 eu1 = load(pairs->v[1] + c), eu2 = load(pairs->v[2] + c);
        sf = v_add_f64(sf, e), sff = v_fma_f64(e, e, sff);
        p0 = v_add_f64(p0, eu0), p1 = v_add_f64(p1, eu1), p2 = v_add_f64(p2, eu2);
        q0 = v_fma_f64(e, eu0, q0), q1 = v_fma_f64(e, eu1, q1), q2 = v_fma_f64(e, eu2, q2);
    }
    store(rows, sf), store(rows + LANES, sff), store(rows + 2 * LANES, p0);
    store(rows + 3 * LANES, p1), store(rows + 4 * LANES, p2), store(rows + 5 * LANES, q0);
    store(rows + 6 * LANES, q1), store(rows + 7 * LANES, q2);
}

static inline void static_second_sums(const tess_xp_pairs_f64 *pairs, size_t n, size_t at,
                                      double *rows)
{
    v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    for (size_t c = at; c < n; c += LANES) {
        const v_f64 a = load(pairs->v[0] + c), b = load(pairs->v[1] + c);
        const v_f64 d = load(pairs->v[2] + c);
        s0 = v_fma_f64(a, a, s0), s1 = v_fma_f64(a, b, s1), s2 = v_fma_f64(a, d, s2);
        s3 = v_fma_f64(b, b, s3), s4 = v_fma_f64(b, d, s4), s5 = v_fma_f64(d, d, s5);
    }
    store(rows + 8 * LANES, s0), store(rows + 9 * LANES, s1), store(rows + 10 * LANES, s2);
    store(rows + 11 * LANES, s3), store(rows + 12 * LANES, s4), store(rows + 13 * LANES, s5);
}

void TESS_KFN(xpcs_static_pairs)(const tess_xp_pairs_f64 *restrict pairs, size_t n,
                                 double *restrict sums)
{
    double rows[16 * LANES] __attribute__((aligned(64))) = {0};
    for (size_t at = 0; at < LANES; at += lanes()) {
        static_first_sums(pairs, tess_xp_padded(n), at, rows + at);
        static_second_sums(pairs, tess_xp_padded(n), at, rows + at);
    }
    totals_of(rows, TESS_XP_N_STATIC_SUM, sums);
}

// Samples less their mean; 0 behind the n-th.
static inline v_f64 centred(const double *y, size_t left, double mean)
{
    const size_t most = lanes() < v_len_f64() ? lanes() : v_len_f64();
    return v_sub_f64(left >= v_len_f64() ? v_load_f64(y)
                                         : v_load_n_f64(y, left < most ? left : most, mean),
                     v_set1_f64(mean));
}

void TESS_KFN(xpcs_static_f64)(const tess_xp_pairs_f64 *restrict pairs, const double *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double rows[8 * LANES] __attribute__((aligned(64))) = {0};
    v_prefetch_ahead(y, n * sizeof *y);
    for (size_t at = 0; at < LANES; at += lanes()) {
        v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0;
        for (size_t c = at; c < n; c += LANES) {
            const v_f64 g = centred(y + c, n - c, mean);
            s0 = v_fma_f64(load(pairs->e + c), g, s0);
            s1 = v_fma_f64(load(pairs->v[0] + c), g, s1);
            s2 = v_fma_f64(load(pairs->v[1] + c), g, s2);
            s3 = v_fma_f64(load(pairs->v[2] + c), g, s3);
        }
        store(rows + at, s0), store(rows + LANES + at, s1);
        store(rows + 2 * LANES + at, s2), store(rows + 3 * LANES + at, s3);
    }
    totals_of(rows, 4, sums);
}

void TESS_KFN(xpcs_static_f32)(const tess_xp_pairs_f64 *restrict pairs, const float *restrict y,
                               size_t n, double mean, double *restrict sums)
{
    double wide[TESS_XP_RUN] __attribute__((aligned(64)));
    v_prefetch_ahead(y, n * sizeof *y);
    for (size_t c = 0; c < n; c++) {
        wide[c] = (double)y[c];
    }
    TESS_KFN(xpcs_static_f64)(pairs, wide, n, mean, sums);
}
