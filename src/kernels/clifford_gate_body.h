// Gates for one dtype; included by clifford_gate.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define GATE T_NAME(tess_cl_gate)

// s = 1 / (1 + exp(-x)) and s (1 - s), whichever side is small with its own precision.
static inline VF V(sigmoid)(VF x, VF *slope)
{
    const VF one = V(set1)(1), zero = V(set1)(0);
    const VF e = V(exp)(V(sub)(zero, V(abs)(x)));
    const VF large = V(div)(one, V(add)(one, e)), small = V(mul)(e, large);
    *slope = V(mul)(large, small);
    return V(select)(V(lt)(x, zero), small, large);
}

// x s(v) with v = sqrt(8 / pi) (x + 0.044715 x^3). Derivatives of v take x within bounds beyond
// which those of s are 0, lest 0 meets infinity.
static inline VF V(gelu_tanh)(VF x, VF *first, VF *second)
{
    const VF rate = V(set1)((SCALAR)1.59576912160573071176), cubic = V(set1)((SCALAR)0.044715);
    const VF bound = V(set1)(T_MANTISSA == 23 ? 12 : 25), one = V(set1)(1);
    const VF inside = V(max)(V(sub)(V(set1)(0), bound), V(min)(x, bound));
    const VF square = V(mul)(inside, inside);
    VF slope;
    const VF s = V(sigmoid)(V(mul)(V(mul)(rate, x), V(fma)(V(mul)(cubic, x), x, one)), &slope);
    const VF v1 = V(mul)(rate, V(fma)(V(mul)(V(set1)(3), cubic), square, one));
    const VF v2 = V(mul)(V(mul)(V(set1)(6), V(mul)(rate, cubic)), inside);
    const VF step = V(mul)(slope, v1); // derivative of s(v)
    *first = V(fma)(inside, step, s);
    const VF bend = V(fma)(V(mul)(step, v1), V(fnma)(V(set1)(2), s, one), V(mul)(slope, v2));
    *second = V(fma)(inside, bend, V(mul)(V(set1)(2), step));
    return V(mul)(x, s);
}

// tanh x: near 0 its continued fraction, which keeps the relative precision that 1 - exp(-2x) loses
// and is exact to f64 up to 1/4.
static inline VF V(tanh_gate)(VF x, VF *first, VF *second)
{
    const VF one = V(set1)(1), zero = V(set1)(0), size = V(abs)(x), square = V(mul)(x, x);
    const VF e = V(exp)(V(mul)(V(set1)(-2), size));
    const VF far = V(div)(V(sub)(one, e), V(add)(one, e));
    const VF above = V(fma)(V(fma)(V(set1)(21), square, V(set1)(1260)), square, V(set1)(10395));
    VF below = V(fma)(V(add)(square, V(set1)(210)), square, V(set1)(4725));
    below = V(fma)(below, square, V(set1)(10395));
    const VF near = V(div)(V(mul)(x, above), below);
    const VF signed_far = V(select)(V(lt)(x, zero), V(sub)(zero, far), far);
    const VF f = V(select)(V(lt)(size, V(set1)((SCALAR)0.25)), near, signed_far);
    // 4e / (1 + e)^2 keeps what 1 - f^2 loses far out.
    const VF sum = V(add)(one, e);
    *first = V(div)(V(mul)(V(set1)(4), e), V(mul)(sum, sum));
    *second = V(mul)(V(set1)(-2), V(mul)(f, *first));
    return f;
}

// x s(x). Derivatives take x within bounds beyond which those of s are 0, lest 0 meets infinity.
static inline VF V(silu)(VF x, VF *first, VF *second)
{
    const VF bound = V(set1)(T_MANTISSA == 23 ? 120 : 800);
    const VF inside = V(max)(V(sub)(V(set1)(0), bound), V(min)(x, bound));
    VF slope;
    const VF s = V(sigmoid)(x, &slope);
    *first = V(fma)(inside, slope, s);
    const VF bend = V(fma)(inside, V(fnma)(V(set1)(2), s, V(set1)(1)), V(set1)(2));
    *second = V(mul)(slope, bend);
    return V(mul)(x, s);
}

// f, f' and f'' of an activation.
static inline VF V(activate)(int activation, VF x, VF *first, VF *second)
{
    const VF zero = V(set1)(0), one = V(set1)(1);
    VF f;
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        f = V(normal)(x, first);
        *second = V(mul)(V(sub)(zero, x), *first);
        return f;
    case TESS_CLIFFORD_GELU_TANH:
        return V(gelu_tanh)(x, first, second);
    case TESS_CLIFFORD_RELU:
        *first = V(select)(V(lt)(zero, x), one, zero);
        *second = zero;
        return V(select)(V(lt)(x, zero), zero, x);
    case TESS_CLIFFORD_SIGMOID:
        f = V(sigmoid)(x, first);
        *second = V(mul)(*first, V(fnma)(V(set1)(2), f, one));
        return f;
    case TESS_CLIFFORD_TANH:
        return V(tanh_gate)(x, first, second);
    case TESS_CLIFFORD_SILU:
        return V(silu)(x, first, second);
    default:
        *first = *second = zero;
        return one;
    }
}

// Where a row of x and y begins, and the same place of all components that will soon be read.
typedef struct T_NAME(gates_at) {
    const SCALAR *x, *y;
    ptrdiff_t x_stride, y_stride;
    ptrdiff_t x_ahead, y_ahead; // to rows whose component 0 comes next
    ptrdiff_t n_component;
} T_NAME(gates_at);

// One request per vector is one per line, or more than one. There are more streams than prefetchers
// of the hardware follow, and while gates are computed memory has nothing else to do.
static inline void T_NAME(ask_for)(const T_NAME(gates_at) * at, size_t i)
{
    __builtin_prefetch(at->x + at->x_ahead + i, 0, 3);
    __builtin_prefetch(at->y + at->y_ahead + i, 0, 3);
    for (ptrdiff_t k = 1; k < at->n_component; k++) {
        __builtin_prefetch(at->x + k * at->x_stride + i, 0, 3);
        __builtin_prefetch(at->y + k * at->y_stride + i, 0, 3);
    }
}

// A row. has_slopes is known where this is expanded: gates alone need no derivatives.
static inline void T_NAME(gates_row)(const T_NAME(gates_at) * at, size_t n, int activation,
                                     SCALAR *restrict gate, int has_slopes,
                                     SCALAR *restrict slope_x, SCALAR *restrict slope_y)
{
    for (size_t i = 0; i < n; i += V(len)()) {
        VF fx, fy, x1, y1, unused;
        const VF x0 = V(take)(at->x + i, n - i), y0 = V(take)(at->y + i, n - i);
        T_NAME(ask_for)(at, i);
        if (activation == TESS_CLIFFORD_GELU) {
            V(normal_pair)(x0, y0, &fx, &fy, &x1, &y1);
        } else {
            fx = V(activate)(activation, x0, &x1, &unused);
            fy = V(activate)(activation, y0, &y1, &unused);
        }
        V(store)(gate + i, V(mul)(fx, fy));
        if (has_slopes) {
            V(store)(slope_x + i, V(mul)(x1, fy));
            V(store)(slope_y + i, V(mul)(fx, y1));
        }
    }
}

void TESS_KFN(T_NAME(clifford_gates))(const T_NAME(tess_cl_gates) *restrict gates)
{
    const ptrdiff_t rows = 1 + AHEAD / (ptrdiff_t)gates->n;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gates->n_row; r++) {
        const size_t to = (size_t)r * gates->gate_row;
        const T_NAME(gates_at) at = {.x = gates->x.data + r * gates->x.row,
                                     .y = gates->y.data + r * gates->y.row,
                                     .x_stride = gates->x.component,
                                     .y_stride = gates->y.component,
                                     .x_ahead = rows * gates->x.row,
                                     .y_ahead = rows * gates->y.row,
                                     .n_component = gates->n_component};
        if (gates->slope_x) {
            T_NAME(gates_row)
            (&at, gates->n, gates->activation, gates->gate + to, 1, gates->slope_x + to,
             gates->slope_y + to);
        } else {
            T_NAME(gates_row)
            (&at, gates->n, gates->activation, gates->gate + to, 0, NULL, NULL);
        }
    }
}

static inline VF V(at)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i, size_t n)
{
    return V(take)(rows.data + k * rows.component + r * rows.row + i, n - i);
}

static inline void V(set)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i, size_t n, VF v)
{
    V(put)(rows.data + k * rows.component + r * rows.row + i, n - i, v);
}

void TESS_KFN(T_NAME(clifford_gate))(const GATE *restrict gate, ROWS out)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (size_t i = 0; i < gate->n; i += V(len)()) {
            VF first, second;
            const VF x0 = V(at)(gate->x, 0, r, i, gate->n);
            const VF f = V(activate)(gate->activation, x0, &first, &second);
            for (ptrdiff_t k = 0; k < gate->n_component; k++) {
                V(set)(out, k, r, i, gate->n, V(mul)(f, V(at)(gate->x, k, r, i, gate->n)));
            }
        }
    }
}

// sum_k a_k b_k.
static inline VF V(dot)(const GATE *gate, ROWS a, ROWS b, ptrdiff_t r, size_t i)
{
    VF sum = V(set1)(0);
    for (ptrdiff_t k = 0; k < gate->n_component; k++) {
        sum = V(fma)(V(at)(a, k, r, i, gate->n), V(at)(b, k, r, i, gate->n), sum);
    }
    return sum;
}

void TESS_KFN(T_NAME(clifford_gate_back))(const GATE *restrict gate, ROWS grad_x)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (size_t i = 0; i < gate->n; i += V(len)()) {
            VF first, second;
            const VF x0 = V(at)(gate->x, 0, r, i, gate->n);
            const VF f = V(activate)(gate->activation, x0, &first, &second);
            const VF xg = V(dot)(gate, gate->x, gate->g, r, i);
            const VF g0 = V(at)(gate->g, 0, r, i, gate->n);
            V(set)(grad_x, 0, r, i, gate->n, V(fma)(f, g0, V(mul)(first, xg)));
            for (ptrdiff_t k = 1; k < gate->n_component; k++) {
                V(set)(grad_x, k, r, i, gate->n, V(mul)(f, V(at)(gate->g, k, r, i, gate->n)));
            }
        }
    }
}

void TESS_KFN(T_NAME(clifford_gate_twice))(const GATE *restrict gate, ROWS d_g, ROWS d_x)
{
    const size_t n = gate->n;
    for (ptrdiff_t r = 0; r < (ptrdiff_t)gate->n_row; r++) {
        for (size_t i = 0; i < n; i += V(len)()) {
            VF first, second;
            const VF x0 = V(at)(gate->x, 0, r, i, n), u0 = V(at)(gate->u, 0, r, i, n);
            const VF f = V(activate)(gate->activation, x0, &first, &second);
            const VF by = V(mul)(u0, first);
            for (ptrdiff_t k = 0; k < gate->n_component && d_g.data; k++) {
                const VF x = V(at)(gate->x, k, r, i, n), u = V(at)(gate->u, k, r, i, n);
                V(set)(d_g, k, r, i, n, V(fma)(f, u, V(mul)(by, x)));
            }
            if (!d_x.data) {
                continue;
            }
            const VF xg = V(dot)(gate, gate->x, gate->g, r, i);
            const VF ug = V(dot)(gate, gate->u, gate->g, r, i);
            VF more = V(fma)(first, ug, V(mul)(V(mul)(u0, second), xg));
            for (ptrdiff_t k = 0; k < gate->n_component; k++) {
                V(set)(d_x, k, r, i, n, V(fma)(by, V(at)(gate->g, k, r, i, n), more));
                more = V(set1)(0);
            }
        }
    }
}

#undef ROWS
#undef GATE
