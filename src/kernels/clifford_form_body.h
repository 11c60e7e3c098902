// One form of the product of one algebra in straight-line code, for one dtype: FORM is out, left or
// right, or gated, which is out with its gate and sums of squares. Included by
// clifford_algebra_body.h only.
//
// Every item is read by the term that wants it, and each sum is stored when it is complete: the
// compiler keeps in registers what fits, and takes the rest from the first-level cache.

// A pair whose first term is negative is summed with the other sign, and then subtracted: no term
// needs a 0 to be subtracted from. So does the first pair of a component need none to be added to.
#define CL_OPEN(c)                                                                                 \
    VF sum_##c = V(set1)(0);                                                                       \
    int has_##c = 0;
#define CL_BEGIN(p, c) {
#define CL_FIRST_PLUS(i, j)                                                                        \
    const int flips = 0;                                                                           \
    VF pair = V(mul)(FACTOR_A(i), FACTOR_B(j));
#define CL_FIRST_MINUS(i, j)                                                                       \
    const int flips = 1;                                                                           \
    VF pair = V(mul)(FACTOR_A(i), FACTOR_B(j));
#define CL_PLUS(i, j) pair = V(fma_if)(!flips, FACTOR_A(i), FACTOR_B(j), pair);
#define CL_MINUS(i, j) pair = V(fma_if)(flips, FACTOR_A(i), FACTOR_B(j), pair);
#define CL_WEIGH(p, c)                                                                             \
    sum_##c =                                                                                      \
        has_##c || flips ? V(fma_if)(!flips, WEIGHT(p), pair, sum_##c) : V(mul)(WEIGHT(p), pair);  \
    has_##c = 1;
#define WEIGHT(p) V(load)(weight + (p)*at->weight_stride + n)
#define FACTOR_A(i) V(load)(a + (i)*A_STRIDE + n)
#define FACTOR_B(j) V(load)(b + (j)*B_STRIDE + n)
#if FORM_IS_GATED && ALGEBRA_GATHERS
#define A_STRIDE GROUP
#define B_STRIDE GROUP
#else
#define A_STRIDE at->a_stride
#define B_STRIDE at->b_stride
#endif

#if FORM_IS_LEFT
#define CL_END(p, c)                                                                               \
    CL_WEIGH(p, c)                                                                                 \
    path = V(fma_if)(!flips, V(load)(at->x + (c)*at->x_stride + n), pair, path);                   \
    }
#define CL_PATH(p)                                                                                 \
    V(store)                                                                                       \
    (grad_weight + (p)*at->grad_stride + n,                                                        \
     V(add)(V(load)(grad_weight + (p)*at->grad_stride + n), path));                                \
    path = V(set1)(0);
#else
#define CL_END(p, c)                                                                               \
    CL_WEIGH(p, c)                                                                                 \
    }
#endif

#if FORM_IS_GATED
#define CL_CLOSE(c, g)                                                                             \
    sum_##c = V(mul)(gate, sum_##c);                                                               \
    square_##g = V(fma)(sum_##c, sum_##c, square_##g);                                             \
    V(store)(out + (c)*at->out_stride + n, sum_##c);
#elif FORM_HAS_TAU
#define CL_CLOSE(c, g)                                                                             \
    if ((c) == 0) {                                                                                \
        sum_##c = V(fma)(V(load)(at->tau + n), V(load)(at->slope + n), sum_##c);                   \
    }                                                                                              \
    V(store)(out + (c)*at->out_stride + n, sum_##c);
#else
#define CL_CLOSE(c, g) V(store)(out + (c)*at->out_stride + n, sum_##c);
#endif

static void FORM_NAME(FORM, ALGEBRA)(const T_NAME(form_at) *restrict at, SCALAR *restrict out,
                                     SCALAR *restrict grad_weight, size_t n_item)
{
    (void)grad_weight;
    const SCALAR *weight = at->weight;
#if FORM_IS_GATED
    SCALAR room[GROUP];
#if ALGEBRA_GATHERS
    SCALAR a[TESS_CLIFFORD_MAX_COMPONENTS * GROUP], b[TESS_CLIFFORD_MAX_COMPONENTS * GROUP];
#endif
    VF square_0 = V(set1)(0), square_1 = square_0, square_2 = square_0;
    VF square_3 = square_0, square_4 = square_0, square_5 = square_0;
    for (size_t first = 0; first < n_item; first += GROUP, weight += GROUP, out += GROUP) {
        const size_t n_group = n_item - first < GROUP ? n_item - first : GROUP;
#if ALGEBRA_GATHERS
        T_NAME(gather)(at, first, n_group, a, b);
#else
        const SCALAR *a = at->a + first, *b = at->b + first;
        T_NAME(ask_for)(at, first, n_group);
#endif
        if (!at->gate) {
            T_NAME(gelu_gates)(a, b, n_group, room);
        }
        const SCALAR *gates = at->gate ? at->gate + first : room;
        for (size_t n = 0; n < n_group; n += V(len)()) {
            const VF gate = V(load)(gates + n);
#include FORM_FILE(ALGEBRA, FORM_TERMS)
        }
    }
    at->squares[0] += (double)V(hsum)(square_0);
    at->squares[1] += (double)V(hsum)(square_1);
    at->squares[2] += (double)V(hsum)(square_2);
    at->squares[3] += (double)V(hsum)(square_3);
    at->squares[4] += (double)V(hsum)(square_4);
    at->squares[5] += (double)V(hsum)(square_5);
#else
    const SCALAR *a = at->a, *b = at->b;
    for (size_t n = 0; n < n_item; n += V(len)()) {
#if FORM_IS_LEFT
        VF path = V(set1)(0);
#endif
#include FORM_FILE(ALGEBRA, FORM_TERMS)
    }
#endif
}

#undef CL_OPEN
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_WEIGH
#undef CL_END
#undef CL_PATH
#undef CL_CLOSE
#undef FACTOR_A
#undef FACTOR_B
#undef A_STRIDE
#undef B_STRIDE
#undef WEIGHT
#undef FORM
#undef FORM_TERMS
#undef FORM_IS_GATED
#undef FORM_IS_LEFT
#undef FORM_HAS_TAU
