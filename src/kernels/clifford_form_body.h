// One form of the product of one algebra in straight-line code, for one dtype: FORM is out, left or
// right, or gated, which is out with its gate and sums of squares. Included by
// clifford_algebra_body.h only.
//
// Every item is read by the term that wants it, and each sum is stored when it is complete: the
// compiler keeps in registers what fits, and takes the rest from the first-level cache.

#if FORM_IS_GATED
// The next rows are asked for: there are more streams than prefetchers of the hardware follow. So
// is the place of the result: a worker would wait for its stores at the end of a block.
#define CL_OPEN(c)                                                                                 \
    __builtin_prefetch(a_next + (c)*at->a_stride + n, 0, 2);                                       \
    __builtin_prefetch(b_next + (c)*at->b_stride + n, 0, 2);                                       \
    __builtin_prefetch(at->soon + (c)*at->soon_stride + n, 1, 3);                                  \
    VF sum_##c = V(set1)(0);
#else
#define CL_OPEN(c) VF sum_##c = V(set1)(0);
#endif
#define CL_BEGIN(p, c) {
#define CL_FIRST_PLUS(i, j) VF pair = V(mul)(FACTOR_A(i), FACTOR_B(j));
#define CL_FIRST_MINUS(i, j) VF pair = V(fnma)(FACTOR_A(i), FACTOR_B(j), V(set1)(0));
#define CL_PLUS(i, j) pair = V(fma)(FACTOR_A(i), FACTOR_B(j), pair);
#define CL_MINUS(i, j) pair = V(fnma)(FACTOR_A(i), FACTOR_B(j), pair);
#define FACTOR_A(i) V(load)(at->a + (i)*at->a_stride + n)
#define FACTOR_B(j) V(load)(at->b + (j)*at->b_stride + n)
#define WEIGHT(p) V(load)(at->weight + (p)*at->weight_stride + n)

#if FORM_IS_LEFT
#define CL_END(p, c)                                                                               \
    sum_##c = V(fma)(WEIGHT(p), pair, sum_##c);                                                    \
    path = V(fma)(V(load)(at->x + (c)*at->x_stride + n), pair, path);                              \
    }
#define CL_PATH(p)                                                                                 \
    V(store)                                                                                       \
    (grad_weight + (p)*at->grad_stride + n,                                                        \
     V(add)(V(load)(grad_weight + (p)*at->grad_stride + n), path));                                \
    path = V(set1)(0);
#else
#define CL_END(p, c)                                                                               \
    sum_##c = V(fma)(WEIGHT(p), pair, sum_##c);                                                    \
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
#if FORM_IS_GATED
    const SCALAR *a_next = at->a + at->a_ahead, *b_next = at->b + at->b_ahead;
    VF square_0 = V(set1)(0), square_1 = square_0, square_2 = square_0;
    VF square_3 = square_0, square_4 = square_0, square_5 = square_0;
#endif
    for (size_t n = 0; n < n_item; n += V(len)()) {
#if FORM_IS_GATED
        const VF gate = at->gate ? V(load)(at->gate + n) : V(gelu_gate)(FACTOR_A(0), FACTOR_B(0));
#elif FORM_IS_LEFT
        VF path = V(set1)(0);
#endif
#include FORM_FILE(ALGEBRA, FORM_TERMS)
    }
#if FORM_IS_GATED
    at->squares[0] += (double)V(hsum)(square_0);
    at->squares[1] += (double)V(hsum)(square_1);
    at->squares[2] += (double)V(hsum)(square_2);
    at->squares[3] += (double)V(hsum)(square_3);
    at->squares[4] += (double)V(hsum)(square_4);
    at->squares[5] += (double)V(hsum)(square_5);
#endif
}

#undef CL_OPEN
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
#undef CL_PATH
#undef CL_CLOSE
#undef FACTOR_A
#undef FACTOR_B
#undef WEIGHT
#undef FORM
#undef FORM_TERMS
#undef FORM_IS_GATED
#undef FORM_IS_LEFT
#undef FORM_HAS_TAU
