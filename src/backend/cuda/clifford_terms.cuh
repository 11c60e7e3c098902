// An algebra as straight-line code, from its generated lists of terms. Included once per algebra,
// with TESS_CL_NAME (cl30), TESS_CL_UPPER (CL30) and TESS_CL_TERMS ("clifford/cl30_paths.def")
// defined.

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
#define CL_LEFT(p, i)                                                                              \
    if (paths.has(p)) {                                                                            \
        const C v = w[p] * x[i];
#define CL_LEFT_TERM(sign, k, j) s[k] = fma(sign v, y[j], s[k]);
#define CL_LEFT_END(p, i) }
#define CL_RIGHT(p, j)                                                                             \
    if (paths.has(p)) {                                                                            \
        const C v = w[p] * y[j];
#define CL_RIGHT_TERM(sign, k, i) s[k] = fma(sign v, x[i], s[k]);
#define CL_RIGHT_END(p, j) }
#define CL_OUT(p, k)                                                                               \
    if (paths.has(p)) {                                                                            \
        C q = C(0);
#define CL_OUT_TERM(sign, i, j) q = fma(sign x[i], y[j], q);
#define CL_OUT_END(p, k)                                                                           \
    s[k] = fma(w[p], q, s[k]);                                                                     \
    }
#include TESS_CL_TERMS
#undef CL_LEFT
#undef CL_LEFT_TERM
#undef CL_LEFT_END
#undef CL_RIGHT
#undef CL_RIGHT_TERM
#undef CL_RIGHT_END
#undef CL_OUT
#undef CL_OUT_TERM
#undef CL_OUT_END
}

template <typename C, typename Paths, typename Sums>
__device__ __forceinline__ void
TESS_CL_NAME::gradients(const C (&x)[n_component], const C (&y)[n_component], const C (&w)[n_path],
                        const C (&h)[n_component], C (&gx)[n_component], C (&gy)[n_component],
                        Sums &sums, const Paths &paths) const
{
#pragma unroll
    for (int c = 0; c < n_component; c++) {
        gx[c] = C(0);
        gy[c] = C(0);
    }
// A sum of terms serves the gradient of the factor in the middle and that of the weight.
#define CL_LEFT(p, i)                                                                              \
    if (paths.has(p)) {                                                                            \
        const C v = w[p] * x[i];                                                                   \
        C q = C(0);
#define CL_LEFT_TERM(sign, k, j)                                                                   \
    q = fma(sign h[k], y[j], q);                                                                   \
    gy[j] = fma(sign v, h[k], gy[j]);
#define CL_LEFT_END(p, i)                                                                          \
    gx[i] = fma(w[p], q, gx[i]);                                                                   \
    sums.add(p, x[i], q);                                                                          \
    }
#define CL_RIGHT(p, j)                                                                             \
    if (paths.has(p)) {                                                                            \
        const C v = w[p] * y[j];                                                                   \
        C q = C(0);
#define CL_RIGHT_TERM(sign, k, i)                                                                  \
    q = fma(sign h[k], x[i], q);                                                                   \
    gx[i] = fma(sign v, h[k], gx[i]);
#define CL_RIGHT_END(p, j)                                                                         \
    gy[j] = fma(w[p], q, gy[j]);                                                                   \
    sums.add(p, y[j], q);                                                                          \
    }
#define CL_OUT(p, k)                                                                               \
    if (paths.has(p)) {                                                                            \
        const C v = w[p] * h[k];                                                                   \
        C q = C(0);
#define CL_OUT_TERM(sign, i, j)                                                                    \
    q = fma(sign x[i], y[j], q);                                                                   \
    gx[i] = fma(sign v, y[j], gx[i]);                                                              \
    gy[j] = fma(sign v, x[i], gy[j]);
#define CL_OUT_END(p, k)                                                                           \
    sums.add(p, h[k], q);                                                                          \
    }
#include TESS_CL_TERMS
#undef CL_LEFT
#undef CL_LEFT_TERM
#undef CL_LEFT_END
#undef CL_RIGHT
#undef CL_RIGHT_TERM
#undef CL_RIGHT_END
#undef CL_OUT
#undef CL_OUT_TERM
#undef CL_OUT_END
}

} // namespace clifford

#undef TESS_CL_OF
#undef TESS_CL_JOIN
#undef TESS_CL_JOIN_
