// One form of the product of one algebra in straight-line code, for one dtype: FORM is out, left or
// right. Included by clifford_algebra_body.h only.
//
// Every item is read by the term that wants it, and each sum is stored when it is complete: the
// compiler keeps in registers what fits, and takes the rest from the first-level cache.

#if FORM_IS_FIRST
#define CL_OPEN(c)                                                                                 \
    __builtin_prefetch(at->a + (c)*at->a_stride + at->a_ahead + n, 0, 2);                          \
    __builtin_prefetch(at->b + (c)*at->b_stride + at->b_ahead + n, 0, 2);                          \
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

#if FORM_HAS_TAU
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
    for (size_t n = 0; n < n_item; n += V(len)()) {
#if FORM_IS_LEFT
        VF path = V(set1)(0);
#endif
#include FORM_FILE(ALGEBRA, FORM)
    }
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
#undef FORM_IS_FIRST
#undef FORM_IS_LEFT
#undef FORM_HAS_TAU
