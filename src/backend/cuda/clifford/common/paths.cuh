// The product and its gradients path by path, included by terms.cuh: the weight goes to
// the factor with the fewest components, and a sum of terms serves this factor's gradient and the
// weight's. That is 312 instructions of 368 in three dimensions, where they are the limit;
// elsewhere the terms of a path are summed apart, which rounds a little less.

namespace clifford
{

// s_k = sum of w_p x_i y_j over all paths.
__device__ __forceinline__ void product_by_path(const TESS_CL_NAME &,
                                                const float (&x)[TESS_CL_NAME::n_component],
                                                const float (&y)[TESS_CL_NAME::n_component],
                                                const float (&w)[TESS_CL_NAME::n_path],
                                                float (&s)[TESS_CL_NAME::n_component])
{
#pragma unroll
    for (int k = 0; k < TESS_CL_NAME::n_component; k++) {
        s[k] = 0.0f;
    }
#define CL_LEFT(p, i)                                                                              \
    {                                                                                              \
        const float v = w[p] * x[i];
#define CL_LEFT_TERM(sign, k, j) s[k] = fmaf(sign v, y[j], s[k]);
#define CL_LEFT_END(p, i) }
#define CL_RIGHT(p, j)                                                                             \
    {                                                                                              \
        const float v = w[p] * y[j];
#define CL_RIGHT_TERM(sign, k, i) s[k] = fmaf(sign v, x[i], s[k]);
#define CL_RIGHT_END(p, j) }
#define CL_OUT(p, k)                                                                               \
    {                                                                                              \
        float q = 0.0f;
#define CL_OUT_TERM(sign, i, j) q = fmaf(sign x[i], y[j], q);
#define CL_OUT_END(p, k)                                                                           \
    s[k] = fmaf(w[p], q, s[k]);                                                                    \
    }
#include TESS_CL_PATHS
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

// gx_i = sum of w_p h_k y_j, gy_j = sum of w_p h_k x_i, and sums.add(p, h_k x_i y_j).
template <typename Sums>
__device__ __forceinline__ void gradients_by_path(
    const TESS_CL_NAME &, const float (&x)[TESS_CL_NAME::n_component],
    const float (&y)[TESS_CL_NAME::n_component], const float (&w)[TESS_CL_NAME::n_path],
    const float (&h)[TESS_CL_NAME::n_component], float (&gx)[TESS_CL_NAME::n_component],
    float (&gy)[TESS_CL_NAME::n_component], Sums &sums)
{
#pragma unroll
    for (int c = 0; c < TESS_CL_NAME::n_component; c++) {
        gx[c] = 0.0f;
        gy[c] = 0.0f;
    }
#define CL_LEFT(p, i)                                                                              \
    {                                                                                              \
        const float v = w[p] * x[i];                                                               \
        float q = 0.0f;
#define CL_LEFT_TERM(sign, k, j)                                                                   \
    q = fmaf(sign h[k], y[j], q);                                                                  \
    gy[j] = fmaf(sign v, h[k], gy[j]);
#define CL_LEFT_END(p, i)                                                                          \
    gx[i] = fmaf(w[p], q, gx[i]);                                                                  \
    sums.add(p, x[i], q);                                                                          \
    }
#define CL_RIGHT(p, j)                                                                             \
    {                                                                                              \
        const float v = w[p] * y[j];                                                               \
        float q = 0.0f;
#define CL_RIGHT_TERM(sign, k, i)                                                                  \
    q = fmaf(sign h[k], x[i], q);                                                                  \
    gx[i] = fmaf(sign v, h[k], gx[i]);
#define CL_RIGHT_END(p, j)                                                                         \
    gy[j] = fmaf(w[p], q, gy[j]);                                                                  \
    sums.add(p, y[j], q);                                                                          \
    }
#define CL_OUT(p, k)                                                                               \
    {                                                                                              \
        const float v = w[p] * h[k];                                                               \
        float q = 0.0f;
#define CL_OUT_TERM(sign, i, j)                                                                    \
    q = fmaf(sign x[i], y[j], q);                                                                  \
    gx[i] = fmaf(sign v, y[j], gx[i]);                                                             \
    gy[j] = fmaf(sign v, x[i], gy[j]);
#define CL_OUT_END(p, k)                                                                           \
    sums.add(p, h[k], q);                                                                          \
    }
#include TESS_CL_PATHS
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
