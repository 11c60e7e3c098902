// The pairs of a path and an output component of an algebra, as straight-line code. Included behind
// terms.cuh, with the same definitions and TESS_CL_PAIRS (cl30_pairs): the algebra with
// what follows.

namespace clifford
{

struct TESS_CL_PAIRS : TESS_CL_NAME {
    __host__ __device__ static constexpr int pairs();
    // The most terms that a pair has.
    __host__ __device__ static constexpr int most_terms();

    // store(sum of x_i y_j) for every pair, in their order.
    template <typename C, typename Store>
    __device__ __forceinline__ void products(const C (&x)[n_component], const C (&y)[n_component],
                                             Store &&store) const;

    // gx_i += g y_j, gy_j += g x_i over the terms of every pair, in their order, with g = load();
    // then store(sum of x_i y_j).
    template <typename C, typename Load, typename Store>
    __device__ __forceinline__ void exchange(const C (&x)[n_component], const C (&y)[n_component],
                                             C (&gx)[n_component], C (&gy)[n_component],
                                             Load &&load, Store &&store) const;
};

__host__ __device__ constexpr int TESS_CL_PAIRS::pairs()
{
    int n = 0;
#define CL_BEGIN(p, k) n++;
#define CL_FIRST_PLUS(i, j)
#define CL_FIRST_MINUS(i, j)
#define CL_PLUS(i, j)
#define CL_MINUS(i, j)
#define CL_END(p, k)
#include TESS_CL_TERMS
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
    return n;
}

__host__ __device__ constexpr int TESS_CL_PAIRS::most_terms()
{
    int most = 0;
#define CL_BEGIN(p, k)                                                                             \
    {                                                                                              \
        int n = 0;
#define CL_FIRST_PLUS(i, j) n++;
#define CL_FIRST_MINUS(i, j) n++;
#define CL_PLUS(i, j) n++;
#define CL_MINUS(i, j) n++;
#define CL_END(p, k)                                                                               \
    most = n > most ? n : most;                                                                    \
    }
#include TESS_CL_TERMS
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
    return most;
}

template <typename C, typename Store>
__device__ __forceinline__ void
TESS_CL_PAIRS::products(const C (&x)[n_component], const C (&y)[n_component], Store &&store) const
{
#define CL_BEGIN(p, k)                                                                             \
    {                                                                                              \
        C q;
#define CL_FIRST_PLUS(i, j) q = x[i] * y[j];
#define CL_FIRST_MINUS(i, j) q = -x[i] * y[j];
#define CL_PLUS(i, j) q = fma(x[i], y[j], q);
#define CL_MINUS(i, j) q = fma(-x[i], y[j], q);
#define CL_END(p, k)                                                                               \
    store(q);                                                                                      \
    }
#include TESS_CL_TERMS
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
}

template <typename C, typename Load, typename Store>
__device__ __forceinline__ void
TESS_CL_PAIRS::exchange(const C (&x)[n_component], const C (&y)[n_component], C (&gx)[n_component],
                        C (&gy)[n_component], Load &&load, Store &&store) const
{
#define CL_BEGIN(p, k)                                                                             \
    {                                                                                              \
        const C g = load();                                                                        \
        C q;
#define CL_BOTH(i, j, g)                                                                           \
    gx[i] = fma(g, y[j], gx[i]);                                                                   \
    gy[j] = fma(g, x[i], gy[j]);
#define CL_FIRST_PLUS(i, j)                                                                        \
    q = x[i] * y[j];                                                                               \
    CL_BOTH(i, j, g)
#define CL_FIRST_MINUS(i, j)                                                                       \
    q = -x[i] * y[j];                                                                              \
    CL_BOTH(i, j, -g)
#define CL_PLUS(i, j)                                                                              \
    q = fma(x[i], y[j], q);                                                                        \
    CL_BOTH(i, j, g)
#define CL_MINUS(i, j)                                                                             \
    q = fma(-x[i], y[j], q);                                                                       \
    CL_BOTH(i, j, -g)
#define CL_END(p, k)                                                                               \
    store(q);                                                                                      \
    }
#include TESS_CL_TERMS
#undef CL_BEGIN
#undef CL_BOTH
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
}

} // namespace clifford
