// Norms for one dtype; included by clifford_norm.c only.
#include "kernels/simd/dtype.h"

#include "kernels/clifford_load.h"

#define ROWS T_NAME(tess_cl_rows)
#define NORM T_NAME(tess_cl_norm)

static inline VF V(at)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i, size_t n)
{
    return V(take)(rows.data + k * rows.component + r * rows.row + i, n - i);
}

static inline void V(set)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i, size_t n, VF v)
{
    V(put)(rows.data + k * rows.component + r * rows.row + i, n - i, v);
}

static inline VF V(gate_of)(const NORM *norm, ptrdiff_t r, size_t i)
{
    return norm->gate ? V(take)(norm->gate + (size_t)r * norm->gate_row + i, norm->n - i)
                      : V(set1)(1);
}

static inline ptrdiff_t T_NAME(first_of)(const tess_cl_grades *grades, int g)
{
    return g > 0 ? grades->end[g - 1] : 0;
}

static inline VF V(sign_of)(VF x)
{
    const VF zero = V(set1)(0), one = V(set1)(1);
    const VF positive = V(select)(V(lt)(zero, x), one, x);
    return V(select)(V(lt)(x, zero), V(sub)(zero, one), positive);
}

// The quadratic form of a grade.
static inline VF V(form)(const NORM *norm, int g, ptrdiff_t r, size_t i, VF gate)
{
    VF sum = V(set1)(0);
    for (ptrdiff_t k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
        const VF o = V(mul)(gate, V(at)(norm->o, k, r, i, norm->n));
        sum = V(fma)(V(mul)(V(set1)((SCALAR)norm->grades->eta[k]), o), o, sum);
    }
    return sum;
}

// e_k = eta_k times this.
static inline VF V(sign)(const NORM *norm, int g, ptrdiff_t r, size_t i, VF gate)
{
    return norm->grades->metric == TESS_CL_NORM_ABS ? V(sign_of)(V(form)(norm, g, r, i, gate))
                                                    : V(set1)(1);
}

static double T_NAME(sum_squares)(const NORM *norm, int g, ptrdiff_t r)
{
    const int is_abs = norm->grades->metric == TESS_CL_NORM_ABS;
    VF sum = V(set1)(0);
    for (size_t i = 0; i < norm->n; i += V(len)()) {
        const VF form = V(form)(norm, g, r, i, V(gate_of)(norm, r, i));
        sum = V(add)(sum, is_abs ? V(abs)(form) : form);
    }
    return (double)V(hsum)(sum);
}

static double T_NAME(sum_go)(const NORM *norm, int g, ptrdiff_t r)
{
    VF sum = V(set1)(0);
    for (size_t i = 0; i < norm->n; i += V(len)()) {
        VF part = V(set1)(0);
        for (ptrdiff_t k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
            part = V(fma)(V(at)(norm->g, k, r, i, norm->n), V(at)(norm->o, k, r, i, norm->n), part);
        }
        sum = V(fma)(part, V(gate_of)(norm, r, i), sum);
    }
    return (double)V(hsum)(sum);
}

static void T_NAME(sum_u)(const NORM *norm, int g, ptrdiff_t r, double *uo, double *ug)
{
    VF with_o = V(set1)(0), with_g = with_o;
    for (size_t i = 0; i < norm->n; i += V(len)()) {
        const VF gate = V(gate_of)(norm, r, i);
        VF part = V(set1)(0);
        for (ptrdiff_t k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
            const VF u = V(at)(norm->u, k, r, i, norm->n);
            const VF o =
                V(mul)(V(set1)((SCALAR)norm->grades->eta[k]), V(at)(norm->o, k, r, i, norm->n));
            part = V(fma)(u, o, part);
            with_g = V(fma)(u, V(at)(norm->g, k, r, i, norm->n), with_g);
        }
        with_o = V(fma)(V(mul)(part, gate), V(sign)(norm, g, r, i, gate), with_o);
    }
    *uo += (double)V(hsum)(with_o);
    *ug += (double)V(hsum)(with_g);
}

void TESS_KFN(T_NAME(clifford_moments))(const NORM *restrict norm,
                                        tess_cl_moments *restrict moments)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        tess_cl_moments *m = &moments[r];
        memset(m, 0, sizeof *m);
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const int to = norm->grades->metric == TESS_CL_NORM_CLAMP ? 0 : g;
            m->square[to] += T_NAME(sum_squares)(norm, g, r);
            if (norm->g.data) {
                m->go[to] += T_NAME(sum_go)(norm, g, r);
            }
            if (norm->u.data) {
                T_NAME(sum_u)(norm, g, r, &m->uo[to], &m->ug[to]);
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_scale))(const NORM *restrict norm,
                                      const tess_cl_factors *restrict factors, ROWS out)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const VF a = V(set1)((SCALAR)factors[r].a[g]);
            for (ptrdiff_t k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
                for (size_t i = 0; i < norm->n; i += V(len)()) {
                    const VF by = V(mul)(a, V(gate_of)(norm, r, i));
                    V(set)(out, k, r, i, norm->n, V(mul)(by, V(at)(norm->o, k, r, i, norm->n)));
                }
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_norm_back))(const NORM *restrict norm,
                                          const tess_cl_factors *restrict factors, ROWS h,
                                          SCALAR *restrict tau, size_t tau_row)
{
    const tess_cl_grades *grades = norm->grades;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        for (size_t i = 0; i < norm->n; i += V(len)()) {
            const VF gate = V(gate_of)(norm, r, i);
            VF sum = V(set1)(0);
            for (int g = 0; g < grades->n_grade; g++) {
                const VF a = V(set1)((SCALAR)factors[r].a[g]);
                const int has_o = factors[r].b[g] != 0;
                const VF b = V(mul)(V(mul)(V(set1)((SCALAR)factors[r].b[g]), gate),
                                    V(sign)(norm, g, r, i, gate));
                for (ptrdiff_t k = T_NAME(first_of)(grades, g); k < grades->end[g]; k++) {
                    const VF o = V(at)(norm->o, k, r, i, norm->n);
                    VF slope = V(mul)(a, V(at)(norm->g, k, r, i, norm->n));
                    if (has_o) {
                        slope = V(fnma)(V(mul)(b, V(set1)((SCALAR)grades->eta[k])), o, slope);
                    }
                    sum = V(fma)(slope, o, sum);
                    V(set)(h, k, r, i, norm->n, V(mul)(gate, slope));
                }
            }
            if (tau) {
                V(store)(tau + (size_t)r * tau_row + i, sum);
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_norm_twice))(const NORM *restrict norm,
                                           const tess_cl_factors *restrict factors, ROWS d_g,
                                           ROWS d_o)
{
    const size_t n = norm->n;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        for (int g = 0; g < norm->grades->n_grade; g++) {
            const VF a = V(set1)((SCALAR)factors[r].a[g]), b = V(set1)((SCALAR)factors[r].b[g]);
            const VF c = V(set1)((SCALAR)factors[r].c[g]), e = V(set1)((SCALAR)factors[r].e[g]);
            for (size_t i = 0; i < n; i += V(len)()) {
                const VF gate = V(gate_of)(norm, r, i), sign = V(sign)(norm, g, r, i, gate);
                for (ptrdiff_t k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g];
                     k++) {
                    const VF o = V(mul)(gate, V(at)(norm->o, k, r, i, n));
                    const VF u = V(at)(norm->u, k, r, i, n);
                    const VF by = V(mul)(sign, V(set1)((SCALAR)norm->grades->eta[k]));
                    if (d_g.data) {
                        V(set)(d_g, k, r, i, n, V(fnma)(b, o, V(mul)(a, u)));
                    }
                    if (d_o.data) {
                        const VF inner = V(fma)(c, u, V(mul)(e, o));
                        const VF bg = V(mul)(b, V(at)(norm->g, k, r, i, n));
                        V(set)(d_o, k, r, i, n, V(sub)(V(set1)(0), V(fma)(by, inner, bg)));
                    }
                }
            }
        }
    }
}

#undef ROWS
#undef NORM
