// Products for one dtype; included by clifford_product.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define PRODUCT T_NAME(tess_cl_product)

static inline const SCALAR *T_NAME(row_at)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i)
{
    return rows.data + k * rows.component + r * rows.row + i;
}

// The factor of an item from component 0 of both.
static inline VF V(gelu_gate)(VF a, VF b)
{
    VF phi_a, phi_b, unused_a, unused_b;
    V(normal_pair)(a, b, &phi_a, &phi_b, &unused_a, &unused_b);
    return V(mul)(phi_a, phi_b);
}

// Multiplies a vector of every component with its gate and adds up the squares.
static void T_NAME(gate_any)(const PRODUCT *p, ptrdiff_t r, size_t i, SCALAR *out)
{
    const size_t n = p->n - i, step = V(len)();
    const VF gate = p->gate ? V(load)(p->gate + (size_t)r * p->gate_row + i)
                            : V(gelu_gate)(V(take)(T_NAME(row_at)(p->a, 0, r, i), n),
                                           V(take)(T_NAME(row_at)(p->b, 0, r, i), n));
    size_t k = 0;
    for (int g = 0; g < p->grades->n_grade; g++) {
        VF square = V(set1)(0);
        for (; k < (size_t)p->grades->end[g]; k++) {
            const VF o = V(mul)(gate, V(load)(out + k * step));
            square = V(fma)(o, o, square);
            V(store)(out + k * step, o);
        }
        p->squares[r * TESS_CLIFFORD_MAX_GRADES + g] += (double)V(hsum)(square);
    }
}

// Up to a vector of features by the list of terms. Sums wait in memory: vectors of some ISAs have
// no size to make arrays of.
static void T_NAME(product_any)(const PRODUCT *p, ptrdiff_t r, size_t i)
{
    enum { LANES = V_MAX_BYTES / sizeof(SCALAR) };
    SCALAR out[TESS_CLIFFORD_MAX_COMPONENTS * LANES];
    const size_t n = p->n - i, step = V(len)();
    const VF zero = V(set1)(0);
    VF pair = zero, path = zero;
    for (int k = 0; k < p->list->n_component; k++) {
        V(store)(out + (size_t)k * step, zero);
    }
    for (int t = 0; t < p->list->n_entry; t++) {
        const tess_cl_entry *e = &p->list->entries[t];
        const VF a = V(take)(T_NAME(row_at)(p->a, e->a, r, i), n);
        const VF b = V(take)(T_NAME(row_at)(p->b, e->b, r, i), n);
        pair = e->is_negative ? V(fnma)(a, b, pair) : V(fma)(a, b, pair);
        if (e->ends_pair) {
            const VF w = V(load)(p->weight + e->path * p->weight_stride + i);
            SCALAR *to = out + e->out * step;
            V(store)(to, V(fma)(w, pair, V(load)(to)));
            if (p->grad_weight) {
                path = V(fma)(V(take)(T_NAME(row_at)(p->x, e->out, r, i), n), pair, path);
            }
            pair = zero;
        }
        if (p->grad_weight && e->ends_path) {
            SCALAR *to = p->grad_weight + e->path * p->weight_stride + i;
            V(store)(to, V(add)(V(load)(to), path));
            path = zero;
        }
    }
    if (p->tau) {
        const size_t at = (size_t)r * p->tau_row + i;
        V(store)(out, V(fma)(V(load)(p->tau + at), V(load)(p->slope + at), V(load)(out)));
    }
    if (p->squares) {
        T_NAME(gate_any)(p, r, i, out);
    }
    for (ptrdiff_t k = 0; p->out.data && k < p->list->n_component; k++) {
        V(put)
        (p->out.data + k * p->out.component + r * p->out.row + i, n,
         V(load)(out + (size_t)k * step));
    }
}

// a b + c, or c - a b; is_plus is a constant.
static inline VF V(fma_if)(int is_plus, VF a, VF b, VF c)
{
    return is_plus ? V(fma)(a, b, c) : V(fnma)(a, b, c);
}

// Where straight-line code reads: items of one row, and strides from component to component and
// from path to path.
typedef struct T_NAME(form_at) {
    const SCALAR *a, *b, *x;
    ptrdiff_t a_stride, b_stride, x_stride;
    const SCALAR *weight;
    ptrdiff_t weight_stride;
    const SCALAR *tau, *slope;
    ptrdiff_t out_stride, grad_stride;
    ptrdiff_t a_ahead, b_ahead; // to rows that will soon be read
    const SCALAR *soon;         // written next
    ptrdiff_t soon_stride;
    const SCALAR *gate; // NULL: GELU's
    double *squares;
    ptrdiff_t n_component;
} T_NAME(form_at);

// n features of every component of both factors, so that each line is read once, whatever else
// shares its place in the cache, and every factor is found at a fixed distance. Not inlined: where
// it is seen that nothing overlaps, these become calls of memcpy, which for so few bytes take
// longer.
static __attribute__((noinline)) void T_NAME(gather)(const T_NAME(form_at) * at, size_t first,
                                                     size_t n, SCALAR *to_a, SCALAR *to_b)
{
    for (ptrdiff_t k = 0; k < at->n_component; k++, to_a += GROUP, to_b += GROUP) {
        const SCALAR *a = at->a + k * at->a_stride + first, *b = at->b + k * at->b_stride + first;
        for (size_t i = 0; i < n; i += V(len)()) {
            V(store)(to_a + i, V(load)(a + i));
            V(store)(to_b + i, V(load)(b + i));
        }
    }
}

// Asks for the lines of n features of the next rows, and of the result, whose stores a worker would
// wait for at the end of a block.
static void T_NAME(ask_for)(const T_NAME(form_at) * at, size_t first, size_t n)
{
    for (ptrdiff_t k = 0; k < at->n_component && V_ASKS; k++) {
        for (size_t i = first; i < first + n; i += LINE / sizeof(SCALAR)) {
            __builtin_prefetch(at->a + at->a_ahead + k * at->a_stride + i, 0, 2);
            __builtin_prefetch(at->b + at->b_ahead + k * at->b_stride + i, 0, 2);
            __builtin_prefetch(at->soon + k * at->soon_stride + i, 1, 3);
        }
    }
}

// GELU's gates of n features, from component 0 of both. In a loop of their own, two vectors at a
// time: they are long chains, which the product would not hide.
// clifford_gates has them with slopes, for the backward pass. To take them from there reads
// component 0 twice, and makes the forward pass 15, 6 and 3 % slower in Cl(2,0), Cl(3,0) and
// Cl(1,3) (1024 rows of 128 features, f32, one Neoverse N1).
static void T_NAME(gelu_gates)(const SCALAR *restrict a, const SCALAR *restrict b, size_t n,
                               SCALAR *restrict gate)
{
    const size_t step = V(len)();
    size_t i = 0;
    for (; i + step < n; i += 2 * step) {
        const VF even = V(gelu_gate)(V(load)(a + i), V(load)(b + i));
        const VF odd = V(gelu_gate)(V(load)(a + i + step), V(load)(b + i + step));
        V(store)(gate + i, even);
        V(store)(gate + i + step, odd);
    }
    if (i < n) {
        V(store)(gate + i, V(gelu_gate)(V(load)(a + i), V(load)(b + i)));
    }
}

// Few components are read where they are; of many, more lines are wanted at a time than a cache has
// places for them, if rows lie a power of two apart.
#define ALGEBRA cl20
#define ALGEBRA_GATHERS 0
#include "kernels/clifford_algebra_body.h"
#define ALGEBRA cl30
#define ALGEBRA_GATHERS 1
#include "kernels/clifford_algebra_body.h"
#define ALGEBRA cl301
#define ALGEBRA_GATHERS 1
#include "kernels/clifford_algebra_body.h"
#define ALGEBRA cl13
#define ALGEBRA_GATHERS 1
#include "kernels/clifford_algebra_body.h"
#define ALGEBRA cl41
#define ALGEBRA_GATHERS 1
#include "kernels/clifford_algebra_body.h"

typedef void (*T_NAME(form_fn))(const T_NAME(form_at) * at, SCALAR *out, SCALAR *grad_weight,
                                size_t n_item);

typedef struct T_NAME(algebra_forms) {
    T_NAME(form_fn) forms[TESS_CL_N_FORM];
    T_NAME(form_fn) gated;
    int n_component;
} T_NAME(algebra_forms);

#define FORMS(name, NAME)                                                                          \
    [TESS_CL_CODE_##                                                                               \
        NAME] = {{FORM_NAME_(out, name), FORM_NAME_(left, name), FORM_NAME_(right, name)},         \
                 FORM_NAME_(gated, name),                                                          \
                 NAME##_COMPONENTS},
static const T_NAME(algebra_forms) T_NAME(all_forms)[TESS_CL_N_CODE] = {CL_ALGEBRAS(FORMS)};
#undef FORMS

// NULL: there is none, the list is gone through.
static T_NAME(form_fn) T_NAME(form_of)(const PRODUCT *p)
{
    const T_NAME(algebra_forms) *algebra = &T_NAME(all_forms)[p->code];
    return p->squares ? algebra->gated : algebra->forms[p->form];
}

// Reads row r of the product from feature i on. What it has none of is 0, and what is not wanted
// goes where nobody looks.
static T_NAME(form_at) T_NAME(place)(const PRODUCT *p, ptrdiff_t r, size_t i)
{
    static const SCALAR zeros[TILE];
    const int has_x = p->grad_weight != NULL;
    const ptrdiff_t rows = 1 + AHEAD / (ptrdiff_t)p->n;
    const ROWS soon = p->soon.data ? p->soon : p->out;
    return (T_NAME(form_at)){.a = T_NAME(row_at)(p->a, 0, r, i),
                             .b = T_NAME(row_at)(p->b, 0, r, i),
                             .x = has_x ? T_NAME(row_at)(p->x, 0, r, i) : zeros,
                             .a_stride = p->a.component,
                             .b_stride = p->b.component,
                             .x_stride = has_x ? p->x.component : 0,
                             .weight = p->weight + i,
                             .weight_stride = (ptrdiff_t)p->weight_stride,
                             .tau = p->tau ? p->tau + (size_t)r * p->tau_row + i : zeros,
                             .slope = p->tau ? p->slope + (size_t)r * p->tau_row + i : zeros,
                             .out_stride = p->out.data ? p->out.component : 0,
                             .grad_stride = has_x ? (ptrdiff_t)p->weight_stride : 0,
                             .a_ahead = rows * p->a.row,
                             .b_ahead = rows * p->b.row,
                             .soon = soon.data ? T_NAME(row_at)(soon, 0, r, i) : zeros,
                             .soon_stride = soon.data ? soon.component : 0,
                             .gate = p->gate ? p->gate + (size_t)r * p->gate_row + i : NULL,
                             .squares =
                                 p->squares ? p->squares + r * TESS_CLIFFORD_MAX_GRADES : NULL,
                             .n_component = T_NAME(all_forms)[p->code].n_component};
}

// The n < len last features: through padded copies, so that code for whole vectors is all there is.
static void T_NAME(product_tail)(const PRODUCT *p, ptrdiff_t r, size_t i, SCALAR *grad_weight)
{
    enum { LANES = V_MAX_BYTES / sizeof(SCALAR), SIZE = TESS_CLIFFORD_MAX_COMPONENTS * LANES };
    const T_NAME(algebra_forms) *algebra = &T_NAME(all_forms)[p->code];
    const size_t n = p->n - i, step = V(len)();
    SCALAR a[SIZE], b[SIZE], x[SIZE], out[SIZE];
    T_NAME(form_at) at = T_NAME(place)(p, r, i);
    for (ptrdiff_t k = 0; k < algebra->n_component; k++) {
        V(store)(a + (size_t)k * step, V(load_n)(at.a + k * at.a_stride, n, 0));
        V(store)(b + (size_t)k * step, V(load_n)(at.b + k * at.b_stride, n, 0));
        V(store)(x + (size_t)k * step, V(load_n)(at.x + k * at.x_stride, n, 0));
    }
    at.a = a, at.b = b, at.x = x;
    at.a_stride = at.b_stride = at.x_stride = at.out_stride = (ptrdiff_t)step;
    T_NAME(form_of)(p)(&at, out, grad_weight, step);
    for (ptrdiff_t k = 0; p->out.data && k < algebra->n_component; k++) {
        V(store_n)
        (p->out.data + k * p->out.component + r * p->out.row + i, n,
         V(load)(out + (size_t)k * step));
    }
}

void TESS_KFN(T_NAME(clifford_product))(const PRODUCT *restrict product)
{
    const PRODUCT *p = product;
    const T_NAME(form_fn) form = T_NAME(form_of)(p);
    const size_t step = V(len)();
    SCALAR sink[TILE];
    if (p->squares) {
        memset(p->squares, 0, p->n_row * TESS_CLIFFORD_MAX_GRADES * sizeof *p->squares);
    }
    for (size_t i = 0; i < p->n; i += TILE) {
        const size_t left = p->n - i < TILE ? p->n - i : TILE, whole = left - left % step;
        for (ptrdiff_t r = 0; r < (ptrdiff_t)p->n_row; r++) {
            if (!form) {
                for (size_t j = i; j < i + left; j += step) {
                    T_NAME(product_any)(p, r, j);
                }
                continue;
            }
            SCALAR *grad_weight = p->grad_weight ? p->grad_weight + i : sink;
            SCALAR *out = p->out.data ? p->out.data + r * p->out.row + (ptrdiff_t)i : sink;
            const T_NAME(form_at) at = T_NAME(place)(p, r, i);
            form(&at, out, grad_weight, whole);
            if (whole < left) {
                T_NAME(product_tail)
                (p, r, i + whole, p->grad_weight ? p->grad_weight + i + whole : sink);
            }
        }
    }
}

#undef ROWS
#undef PRODUCT
