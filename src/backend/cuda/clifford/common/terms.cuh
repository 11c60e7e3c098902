// An algebra as straight-line code, from its generated lists of terms. Included once per algebra,
// with TESS_CL_NAME (cl30), TESS_CL_UPPER (CL30), TESS_CL_TERMS ("clifford/cl30.def"), TESS_CL_LEFT
// ("clifford/cl30_left.def") and TESS_CL_RIGHT defined; for its stream kernels TESS_CL_PATHS
// ("clifford/cl30_paths.def"), too.

#include "clifford/algebras.h"

#include <cstdint>

#define TESS_CL_JOIN_(a, b) a##b
#define TESS_CL_JOIN(a, b) TESS_CL_JOIN_(a, b)
#define TESS_CL_OF(word) TESS_CL_JOIN(TESS_CL_UPPER, word)

namespace clifford
{

struct TESS_CL_NAME {
    static constexpr int n_component = TESS_CL_OF(_COMPONENTS);
    static constexpr int n_grade = TESS_CL_OF(_GRADES);
    static constexpr int n_path = TESS_CL_OF(_PATHS);

    __host__ __device__ static constexpr int components()
    {
        return n_component;
    }
    __host__ __device__ static constexpr int grades()
    {
        return n_grade;
    }
    __host__ __device__ static constexpr int paths()
    {
        return n_path;
    }
    __host__ __device__ static constexpr int grade(int k)
    {
        constexpr int8_t table[] = {TESS_CL_OF(_GRADE)};
        return table[k];
    }
    __host__ __device__ static constexpr int eta(int k)
    {
        constexpr int8_t table[] = {TESS_CL_OF(_ETA)};
        return table[k];
    }
    // Whether every component counts with +1 in the quadratic form, so that all metrics agree.
    __host__ __device__ static constexpr bool is_euclidean()
    {
        bool all = true;
        for (int k = 0; k < n_component; k++) {
            all = all && eta(k) == 1;
        }
        return all;
    }

    // s_k = sum of w_p x_i y_j over the paths that take part.
    template <typename C, typename Paths>
    __device__ __forceinline__ void product(const C (&x)[n_component], const C (&y)[n_component],
                                            const C (&w)[n_path], C (&s)[n_component],
                                            const Paths &paths) const;

    // gx_i = sum of w_p h_k y_j, gy_j = sum of w_p h_k x_i, and sums.add(p, h_k x_i y_j).
    template <typename C, typename Paths, typename Sums>
    __device__ __forceinline__ void gradients(const C (&x)[n_component], const C (&y)[n_component],
                                              const C (&w)[n_path], const C (&h)[n_component],
                                              C (&gx)[n_component], C (&gy)[n_component],
                                              Sums &sums, const Paths &paths) const;
};

template <typename C, typename Paths>
__device__ __forceinline__ void
TESS_CL_NAME::product(const C (&x)[n_component], const C (&y)[n_component], const C (&w)[n_path],
                      C (&s)[n_component], const Paths &paths) const
{
#pragma unroll
    for (int k = 0; k < n_component; k++) {
        s[k] = C(0);
    }
#define CL_BEGIN(p, k)                                                                             \
    if (paths.has(p)) {                                                                            \
        C q;
#define CL_FIRST_PLUS(i, j) q = x[i] * y[j];
#define CL_FIRST_MINUS(i, j) q = -x[i] * y[j];
#define CL_PLUS(i, j) q = fma(x[i], y[j], q);
#define CL_MINUS(i, j) q = fma(-x[i], y[j], q);
#define CL_END(p, k)                                                                               \
    s[k] = fma(w[p], q, s[k]);                                                                     \
    }
#include TESS_CL_TERMS
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
}

template <typename C, typename Paths, typename Sums>
__device__ __forceinline__ void
TESS_CL_NAME::gradients(const C (&x)[n_component], const C (&y)[n_component], const C (&w)[n_path],
                        const C (&h)[n_component], C (&gx)[n_component], C (&gy)[n_component],
                        Sums &sums, const Paths &paths) const
{
// A sum of terms serves the gradient of x and that of the weight: 20 of 280 instructions less than
// sums of x y would take in three dimensions.
#define CL_OPEN(c) CL_RESULT[c] = C(0);
#define CL_CLOSE(c, g)
#define CL_BEGIN(p, c)                                                                             \
    if (paths.has(p)) {                                                                            \
        C q;
#define CL_FIRST_PLUS(k, j) q = h[k] * CL_FACTOR[j];
#define CL_FIRST_MINUS(k, j) q = -h[k] * CL_FACTOR[j];
#define CL_PLUS(k, j) q = fma(h[k], CL_FACTOR[j], q);
#define CL_MINUS(k, j) q = fma(-h[k], CL_FACTOR[j], q);
#define CL_END(p, c)                                                                               \
    CL_RESULT[c] = fma(w[p], q, CL_RESULT[c]);                                                     \
    CL_ALSO(p, c)                                                                                  \
    }
#define CL_PATH(p)
#define CL_RESULT gx
#define CL_FACTOR y
#define CL_ALSO(p, c) sums.add(p, x[c], q);
#include TESS_CL_LEFT
#undef CL_RESULT
#undef CL_FACTOR
#undef CL_ALSO
#define CL_RESULT gy
#define CL_FACTOR x
#define CL_ALSO(p, c)
#include TESS_CL_RIGHT
#undef CL_OPEN
#undef CL_CLOSE
#undef CL_BEGIN
#undef CL_FIRST_PLUS
#undef CL_FIRST_MINUS
#undef CL_PLUS
#undef CL_MINUS
#undef CL_END
#undef CL_PATH
#undef CL_RESULT
#undef CL_FACTOR
#undef CL_ALSO
}

} // namespace clifford

#ifdef TESS_CL_PATHS
#include "backend/cuda/clifford/common/paths.cuh"
#endif

#undef TESS_CL_OF
#undef TESS_CL_JOIN
#undef TESS_CL_JOIN_
