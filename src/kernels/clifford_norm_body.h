// Norms for one dtype; included by clifford_norm.c only.
//
// Loops run over the features of one component, or of the components of one grade: long, and
// without a branch inside but for the metric.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define NORM T_NAME(tess_cl_norm)

// A row of a norm: where component 0 of its arrays begins.
typedef struct T_NAME(norm_row) {
    const NORM *norm;
    const SCALAR *o, *g, *u;
    const SCALAR *gate; // NULL: 1
} T_NAME(norm_row);

static inline T_NAME(norm_row) T_NAME(row_of)(const NORM *norm, ptrdiff_t r)
{
    return (T_NAME(norm_row)){.norm = norm,
                              .o = norm->o.data + r * norm->o.row,
                              .g = norm->g.data ? norm->g.data + r * norm->g.row : NULL,
                              .u = norm->u.data ? norm->u.data + r * norm->u.row : NULL,
                              .gate = norm->gate ? norm->gate + (size_t)r * norm->gate_row : NULL};
}

// The components of a grade.
typedef struct T_NAME(grade) {
    ptrdiff_t first, end;
} T_NAME(grade);

static inline T_NAME(grade) T_NAME(grade_of)(const tess_cl_grades *grades, int g)
{
    return (T_NAME(grade)){g > 0 ? grades->end[g - 1] : 0, grades->end[g]};
}

static inline VF V(gate_at)(const T_NAME(norm_row) * row, size_t i)
{
    return row->gate ? V(take)(row->gate + i, row->norm->n - i) : V(set1)(1);
}

static inline VF V(o_at)(const T_NAME(norm_row) * row, ptrdiff_t k, size_t i)
{
    return V(take)(row->o + k * row->norm->o.component + i, row->norm->n - i);
}

static inline VF V(g_at)(const T_NAME(norm_row) * row, ptrdiff_t k, size_t i)
{
    return V(take)(row->g + k * row->norm->g.component + i, row->norm->n - i);
}

static inline VF V(u_at)(const T_NAME(norm_row) * row, ptrdiff_t k, size_t i)
{
    return V(take)(row->u + k * row->norm->u.component + i, row->norm->n - i);
}

static inline VF V(sign_of)(VF x)
{
    const VF zero = V(set1)(0), one = V(set1)(1);
    const VF positive = V(select)(V(lt)(zero, x), one, x);
    return V(select)(V(lt)(x, zero), V(sub)(zero, one), positive);
}

// The quadratic form of a grade, without gate.
static inline VF V(form)(const T_NAME(norm_row) * row, T_NAME(grade) grade, size_t i)
{
    VF sum = V(set1)(0);
    for (ptrdiff_t k = grade.first; k < grade.end; k++) {
        const VF o = V(o_at)(row, k, i);
        sum = V(fma)(V(mul)(V(set1)((SCALAR)row->norm->grades->eta[k]), o), o, sum);
    }
    return sum;
}

// e_k = eta_k times this.
static inline VF V(sign)(const T_NAME(norm_row) * row, T_NAME(grade) grade, size_t i)
{
    return tess_cl_takes_size(row->norm->grades->metric) ? V(sign_of)(V(form)(row, grade, i))
                                                         : V(set1)(1);
}

// a_i b_i of two arrays times the gate, or its square if both are o, summed but for lanes.
static inline VF V(gated_dot)(const SCALAR *a, const SCALAR *b, const SCALAR *gate, size_t n,
                              int is_square)
{
    const size_t step = V(len)();
    VF even = V(set1)(0), odd = even;
    size_t i = 0;
    for (; n - i >= 2 * step; i += 2 * step) {
        const VF f = gate ? V(load)(gate + i) : V(set1)(1);
        const VF h = gate ? V(load)(gate + i + step) : f;
        const VF x = V(mul)(f, V(load)(a + i)), y = V(mul)(h, V(load)(a + i + step));
        even = V(fma)(x, is_square ? x : V(load)(b + i), even);
        odd = V(fma)(y, is_square ? y : V(load)(b + i + step), odd);
    }
    for (; i < n; i += step) {
        const VF x = V(mul)(gate ? V(take)(gate + i, n - i) : V(set1)(1), V(take)(a + i, n - i));
        even = V(fma)(x, is_square ? x : V(take)(b + i, n - i), even);
    }
    return V(add)(even, odd);
}

// The sum of squares of a grade with the signs of the metric.
static double T_NAME(sum_squares)(const T_NAME(norm_row) * row, T_NAME(grade) grade)
{
    const NORM *norm = row->norm;
    VF sum = V(set1)(0);
    if (tess_cl_takes_size(norm->grades->metric)) {
        for (size_t i = 0; i < norm->n; i += V(len)()) {
            const VF gate = V(gate_at)(row, i);
            sum = V(fma)(V(mul)(gate, gate), V(abs)(V(form)(row, grade, i)), sum);
        }
        return (double)V(hsum)(sum);
    }
    for (ptrdiff_t k = grade.first; k < grade.end; k++) {
        if (norm->grades->eta[k] != 0) {
            const SCALAR *o = row->o + k * norm->o.component;
            sum = V(fma)(V(set1)((SCALAR)norm->grades->eta[k]),
                         V(gated_dot)(o, o, row->gate, norm->n, 1), sum);
        }
    }
    return (double)V(hsum)(sum);
}

static double T_NAME(sum_go)(const T_NAME(norm_row) * row, T_NAME(grade) grade)
{
    const NORM *norm = row->norm;
    VF sum = V(set1)(0);
    for (ptrdiff_t k = grade.first; k < grade.end; k++) {
        sum = V(add)(sum, V(gated_dot)(row->o + k * norm->o.component,
                                       row->g + k * norm->g.component, row->gate, norm->n, 0));
    }
    return (double)V(hsum)(sum);
}

static void T_NAME(sum_u)(const T_NAME(norm_row) * row, T_NAME(grade) grade, double *uo, double *ug)
{
    const NORM *norm = row->norm;
    VF with_o = V(set1)(0), with_g = with_o;
    for (size_t i = 0; i < norm->n; i += V(len)()) {
        VF part = V(set1)(0);
        for (ptrdiff_t k = grade.first; k < grade.end; k++) {
            const VF u = V(u_at)(row, k, i), eta = V(set1)((SCALAR)norm->grades->eta[k]);
            part = V(fma)(u, V(mul)(eta, V(o_at)(row, k, i)), part);
            with_g = V(fma)(u, V(g_at)(row, k, i), with_g);
        }
        const VF sign = V(sign)(row, grade, i);
        with_o = V(fma)(V(mul)(part, V(gate_at)(row, i)), sign, with_o);
    }
    *uo += (double)V(hsum)(with_o);
    *ug += (double)V(hsum)(with_g);
}

void TESS_KFN(T_NAME(clifford_moments))(const NORM *restrict norm,
                                        tess_cl_moments *restrict moments)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        const T_NAME(norm_row) row = T_NAME(row_of)(norm, r);
        tess_cl_moments *m = &moments[r];
        memset(m, 0, sizeof *m);
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const T_NAME(grade) grade = T_NAME(grade_of)(norm->grades, g);
            const int to = tess_cl_shares_root(norm->grades->metric) ? 0 : g;
            m->square[to] += norm->has_r ? 0 : T_NAME(sum_squares)(&row, grade);
            if (row.g) {
                m->go[to] += T_NAME(sum_go)(&row, grade);
            }
            if (row.u) {
                T_NAME(sum_u)(&row, grade, &m->uo[to], &m->ug[to]);
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_scale))(const NORM *restrict norm,
                                      const tess_cl_factors *restrict factors, ROWS out)
{
    const size_t n = norm->n, step = V(len)();
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        const T_NAME(norm_row) row = T_NAME(row_of)(norm, r);
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const T_NAME(grade) grade = T_NAME(grade_of)(norm->grades, g);
            const VF a = V(set1)((SCALAR)factors[r].a[g]);
            for (ptrdiff_t k = grade.first; k < grade.end; k++) {
                const SCALAR *o = row.o + k * norm->o.component;
                SCALAR *to = out.data + k * out.component + r * out.row;
                const int is_large = norm->is_large && (uintptr_t)to % (step * sizeof(SCALAR)) == 0;
                size_t i = 0;
                for (; n - i >= step; i += step) {
                    const VF by = row.gate ? V(mul)(a, V(load)(row.gate + i)) : a;
                    const VF z = V(mul)(by, V(load)(o + i));
                    if (is_large) {
                        V(stream)(to + i, z);
                    } else {
                        V(store)(to + i, z);
                    }
                }
                if (i < n) {
                    const VF by = V(mul)(a, V(gate_at)(&row, i));
                    V(store_n)(to + i, n - i, V(mul)(by, V(o_at)(&row, k, i)));
                }
            }
        }
    }
    if (norm->is_large) {
        v_stream_end(); // a fence, which plain stores would wait at too
    }
}

// Up to a vector of features: all components, because tau is a sum over them.
static inline void T_NAME(slopes_at)(const T_NAME(norm_row) * row, const tess_cl_factors *factors,
                                     size_t i, SCALAR *h, ptrdiff_t h_component, SCALAR *tau)
{
    const NORM *norm = row->norm;
    const int is_euclid = norm->grades->metric == TESS_CLIFFORD_NORM_EUCLID;
    const VF gate = V(gate_at)(row, i);
    VF sum = V(set1)(0);
    for (int g = 0; g < norm->grades->n_grade; g++) {
        const T_NAME(grade) grade = T_NAME(grade_of)(norm->grades, g);
        const VF a = V(set1)((SCALAR)factors->a[g]);
        const int has_o = factors->b[g] != 0;
        VF b = V(mul)(V(set1)((SCALAR)factors->b[g]), gate);
        b = is_euclid ? b : V(mul)(b, V(sign)(row, grade, i));
        for (ptrdiff_t k = grade.first; k < grade.end; k++) {
            const VF o = V(o_at)(row, k, i);
            const VF by = is_euclid ? b : V(mul)(b, V(set1)((SCALAR)norm->grades->eta[k]));
            VF slope = V(mul)(a, V(g_at)(row, k, i));
            slope = has_o ? V(fnma)(by, o, slope) : slope;
            sum = V(fma)(slope, o, sum);
            V(put)(h + k * h_component + i, norm->n - i, V(mul)(gate, slope));
        }
    }
    if (tau) {
        V(store)(tau + i, sum);
    }
}

void TESS_KFN(T_NAME(clifford_norm_back))(const NORM *restrict norm,
                                          const tess_cl_factors *restrict factors, ROWS h,
                                          SCALAR *restrict tau, size_t tau_row)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        const T_NAME(norm_row) row = T_NAME(row_of)(norm, r);
        SCALAR *to = h.data + r * h.row, *sums = tau ? tau + (size_t)r * tau_row : NULL;
        for (size_t i = 0; i < norm->n; i += V(len)()) {
            T_NAME(slopes_at)(&row, &factors[r], i, to, h.component, sums);
        }
    }
}

void TESS_KFN(T_NAME(clifford_norm_twice))(const NORM *restrict norm,
                                           const tess_cl_factors *restrict factors, ROWS d_g,
                                           ROWS d_o)
{
    const size_t n = norm->n;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        const T_NAME(norm_row) row = T_NAME(row_of)(norm, r);
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const T_NAME(grade) grade = T_NAME(grade_of)(norm->grades, g);
            const VF a = V(set1)((SCALAR)factors[r].a[g]), b = V(set1)((SCALAR)factors[r].b[g]);
            const VF c = V(set1)((SCALAR)factors[r].c[g]), e = V(set1)((SCALAR)factors[r].e[g]);
            for (size_t i = 0; i < n; i += V(len)()) {
                const VF gate = V(gate_at)(&row, i), sign = V(sign)(&row, grade, i);
                for (ptrdiff_t k = grade.first; k < grade.end; k++) {
                    const VF o = V(mul)(gate, V(o_at)(&row, k, i)), u = V(u_at)(&row, k, i);
                    const VF by = V(mul)(sign, V(set1)((SCALAR)norm->grades->eta[k]));
                    if (d_g.data) {
                        V(put)
                        (d_g.data + k * d_g.component + r * d_g.row + i, n - i,
                         V(fnma)(b, o, V(mul)(a, u)));
                    }
                    if (d_o.data) {
                        const VF inner = V(fma)(c, u, V(mul)(e, o));
                        const VF bg = V(mul)(b, V(g_at)(&row, k, i));
                        V(put)
                        (d_o.data + k * d_o.component + r * d_o.row + i, n - i,
                         V(sub)(V(set1)(0), V(fma)(by, inner, bg)));
                    }
                }
            }
        }
    }
}

#undef ROWS
#undef NORM
