// The reference of the kernels of clifford for one dtype; included by clifford_ref.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define NORM T_NAME(tess_cl_norm)
#define GATE T_NAME(tess_cl_gate)
#define PRODUCT T_NAME(tess_cl_product)
#define AT(rows, k, r, i) ((rows).data[(k) * (rows).component + (r) * (rows).row + (i)])

void TESS_KFN(T_NAME(clifford_take))(const tess_cl_items *restrict from, size_t n_component,
                                     size_t n, SCALAR *restrict to, ptrdiff_t to_component)
{
    for (ptrdiff_t k = 0; k < (ptrdiff_t)n_component; k++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
            const ptrdiff_t at = k * from->component + i * from->feature;
            SCALAR *out = &to[k * to_component + i];
            switch (from->dtype) {
            case TESS_BF16:
                *out = (SCALAR)tess_f32_of_bf16(((const uint16_t *)from->data)[at]);
                break;
            case TESS_F16:
                *out = (SCALAR)tess_f32_of_f16(((const uint16_t *)from->data)[at]);
                break;
            default:
                *out = ((const SCALAR *)from->data)[at];
                break;
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_give))(const SCALAR *restrict from, ptrdiff_t from_component,
                                     size_t n_component, size_t n, const tess_cl_items *restrict to)
{
    for (ptrdiff_t k = 0; k < (ptrdiff_t)n_component; k++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
            const ptrdiff_t at = k * to->component + i * to->feature;
            const SCALAR value = from[k * from_component + i];
            switch (to->dtype) {
            case TESS_BF16:
                ((uint16_t *)to->data)[at] = tess_bf16_of_f32((float)value);
                break;
            case TESS_F16:
                ((uint16_t *)to->data)[at] = tess_f16_of_f32((float)value);
                break;
            default:
                ((SCALAR *)to->data)[at] = value;
                break;
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_gates))(const T_NAME(tess_cl_gates) *restrict gates)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gates->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)gates->n; i++) {
            const ptrdiff_t at = r * (ptrdiff_t)gates->gate_row + i;
            double fx[3], fy[3];
            activate(gates->activation, (double)AT(gates->x, 0, r, i), fx);
            activate(gates->activation, (double)AT(gates->y, 0, r, i), fy);
            gates->gate[at] = (SCALAR)(fx[0] * fy[0]);
            if (gates->slope_x) {
                gates->slope_x[at] = (SCALAR)(fx[1] * fy[0]);
                gates->slope_y[at] = (SCALAR)(fx[0] * fy[1]);
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_gate))(const GATE *restrict gate, ROWS out)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)gate->n; i++) {
            double f[3];
            activate(gate->activation, (double)AT(gate->x, 0, r, i), f);
            for (ptrdiff_t k = 0; k < gate->n_component; k++) {
                AT(out, k, r, i) = (SCALAR)(f[0] * (double)AT(gate->x, k, r, i));
            }
        }
    }
}

// sum_k a_k b_k of one item.
static double T_NAME(dot)(int n_component, ROWS a, ROWS b, ptrdiff_t r, ptrdiff_t i)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < n_component; k++) {
        sum += (double)AT(a, k, r, i) * (double)AT(b, k, r, i);
    }
    return sum;
}

void TESS_KFN(T_NAME(clifford_gate_back))(const GATE *restrict gate, ROWS grad_x)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)gate->n; i++) {
            double f[3];
            activate(gate->activation, (double)AT(gate->x, 0, r, i), f);
            const double xg = T_NAME(dot)(gate->n_component, gate->x, gate->g, r, i);
            for (ptrdiff_t k = 0; k < gate->n_component; k++) {
                const double more = k == 0 ? f[1] * xg : 0;
                AT(grad_x, k, r, i) = (SCALAR)(f[0] * (double)AT(gate->g, k, r, i) + more);
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_gate_twice))(const GATE *restrict gate, ROWS d_g, ROWS d_x)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)gate->n; i++) {
            double f[3];
            activate(gate->activation, (double)AT(gate->x, 0, r, i), f);
            const double u0 = (double)AT(gate->u, 0, r, i);
            const double xg = T_NAME(dot)(gate->n_component, gate->x, gate->g, r, i);
            const double ug = T_NAME(dot)(gate->n_component, gate->u, gate->g, r, i);
            for (ptrdiff_t k = 0; k < gate->n_component; k++) {
                const double more = k == 0 ? f[1] * ug + u0 * f[2] * xg : 0;
                const double u = (double)AT(gate->u, k, r, i), x = (double)AT(gate->x, k, r, i);
                const double g = (double)AT(gate->g, k, r, i);
                if (d_g.data) {
                    AT(d_g, k, r, i) = (SCALAR)(f[0] * u + u0 * f[1] * x);
                }
                if (d_x.data) {
                    AT(d_x, k, r, i) = (SCALAR)(u0 * f[1] * g + more);
                }
            }
        }
    }
}

static double T_NAME(gate_of)(const NORM *norm, ptrdiff_t r, ptrdiff_t i)
{
    return norm->gate ? (double)norm->gate[r * (ptrdiff_t)norm->gate_row + i] : 1;
}

static int T_NAME(first_of)(const tess_cl_grades *grades, int g)
{
    return g > 0 ? grades->end[g - 1] : 0;
}

// e_k = eta_k times this, of a grade of one item.
static double T_NAME(sign)(const NORM *norm, int g, ptrdiff_t r, ptrdiff_t i)
{
    if (!tess_cl_takes_size(norm->grades->metric)) {
        return 1;
    }
    double form = 0;
    for (int k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
        const double o = T_NAME(gate_of)(norm, r, i) * (double)AT(norm->o, k, r, i);
        form += norm->grades->eta[k] * o * o;
    }
    return sign_of(form);
}

void TESS_KFN(T_NAME(clifford_moments))(const NORM *restrict norm,
                                        tess_cl_moments *restrict moments)
{
    const tess_cl_grades *grades = norm->grades;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        tess_cl_moments sum = {{0}, {0}, {0}, {0}};
        for (int g = 0; g < grades->n_grade; g++) {
            const int to = tess_cl_shares_root(grades->metric) ? 0 : g;
            for (ptrdiff_t i = 0; i < (ptrdiff_t)norm->n; i++) {
                const double sign = T_NAME(sign)(norm, g, r, i);
                for (int k = T_NAME(first_of)(grades, g); k < grades->end[g]; k++) {
                    const double o = T_NAME(gate_of)(norm, r, i) * (double)AT(norm->o, k, r, i);
                    const double e = sign * grades->eta[k];
                    const double gz = norm->g.data ? (double)AT(norm->g, k, r, i) : 0;
                    const double u = norm->u.data ? (double)AT(norm->u, k, r, i) : 0;
                    sum.square[to] += e * o * o;
                    sum.go[to] += gz * o;
                    sum.uo[to] += e * u * o;
                    sum.ug[to] += u * gz;
                }
            }
        }
        moments[r] = sum;
    }
}

void TESS_KFN(T_NAME(clifford_scale))(const NORM *restrict norm,
                                      const tess_cl_factors *restrict factors, ROWS out)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        for (int g = 0; g < norm->grades->n_grade; g++) {
            for (int k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
                for (ptrdiff_t i = 0; i < (ptrdiff_t)norm->n; i++) {
                    AT(out, k, r, i) = (SCALAR)(factors[r].a[g] * T_NAME(gate_of)(norm, r, i) *
                                                (double)AT(norm->o, k, r, i));
                }
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_norm_back))(const NORM *restrict norm,
                                          const tess_cl_factors *restrict factors, ROWS h,
                                          SCALAR *restrict tau, size_t tau_row)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        for (ptrdiff_t i = 0; i < (ptrdiff_t)norm->n; i++) {
            const double gate = T_NAME(gate_of)(norm, r, i);
            double sum = 0;
            for (int g = 0; g < norm->grades->n_grade; g++) {
                const double b = factors[r].b[g] * T_NAME(sign)(norm, g, r, i) * gate;
                for (int k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
                    const double o = (double)AT(norm->o, k, r, i);
                    double slope = factors[r].a[g] * (double)AT(norm->g, k, r, i);
                    slope -= factors[r].b[g] != 0 ? b * norm->grades->eta[k] * o : 0;
                    sum += slope * o;
                    AT(h, k, r, i) = (SCALAR)(gate * slope);
                }
            }
            if (tau) {
                tau[r * (ptrdiff_t)tau_row + i] = (SCALAR)sum;
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_norm_twice))(const NORM *restrict norm,
                                           const tess_cl_factors *restrict factors, ROWS d_g,
                                           ROWS d_o)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)norm->n_row; r++) {
        const tess_cl_factors *f = &factors[r];
        for (int g = 0; g < norm->grades->n_grade; g++) {
            for (ptrdiff_t i = 0; i < (ptrdiff_t)norm->n; i++) {
                const double sign = T_NAME(sign)(norm, g, r, i);
                for (int k = T_NAME(first_of)(norm->grades, g); k < norm->grades->end[g]; k++) {
                    const double o = T_NAME(gate_of)(norm, r, i) * (double)AT(norm->o, k, r, i);
                    const double u = (double)AT(norm->u, k, r, i), e = sign * norm->grades->eta[k];
                    if (d_g.data) {
                        AT(d_g, k, r, i) = (SCALAR)(f->a[g] * u - f->b[g] * o);
                    }
                    if (d_o.data) {
                        AT(d_o, k, r, i) = (SCALAR)(-f->b[g] * (double)AT(norm->g, k, r, i) -
                                                    f->c[g] * e * u - f->e[g] * e * o);
                    }
                }
            }
        }
    }
}

#include "kernels/ref/clifford_product_ref_body.h"

#undef ROWS
#undef NORM
#undef GATE
#undef PRODUCT
#undef AT
