// What the kernels of the weighted product share: their arguments, weights, and how an algebra
// offers its kernels.
#ifndef TESS_CLIFFORD_SGP_CUH
#define TESS_CLIFFORD_SGP_CUH

#include "backend/cuda/clifford/common/norm.cuh"

namespace clifford
{

struct all_paths {
    __device__ __forceinline__ static constexpr bool has(int)
    {
        return true;
    }
};

struct some_paths {
    uint64_t mask;
    __device__ __forceinline__ bool has(int p) const
    {
        return (mask >> p & 1) != 0;
    }
};

struct sgp_args {
    tess_cl_view x, y, weight, out;
    tess_cl_view gz, gx, gy, grad_weight;
    void *statistics; // forward: written; backward: read; or NULL
    void *partials;   // sums over rows of weight gradients: [n_partial][n][path], or with
                      // partial_width v [n_partial][v][path][n / v]; computed type
    void *rows;       // split passes: [1 or 2][grade][row] of 1/r and dot, computed type
    int64_t n_row;
    int64_t n; // features
    uint64_t path_mask;
    double eps;
    int32_t dtype;
    int32_t weight_dtype;
    int32_t activation;
    int32_t normalize;
    int32_t metric;
    int32_t lanes;     // threads per row
    int32_t n_partial; // blocks or slices that leave partial sums
    int32_t partial_width;
};

// Whether a pass computes in f64: where it is asked to, and gradients of f32 through the norm of so
// few features that it is small now and then, which magnifies what f32 rounds.
constexpr int64_t few_features = 32;

inline bool is_wide(int32_t dtype, bool is_backward, int32_t normalize, int64_t n)
{
    return dtype == TESS_F64 ||
           (dtype == TESS_F32 && is_backward && normalize != 0 && n <= few_features);
}

// Weight gradients of one feature in registers.
template <int P, typename C>
struct register_sums {
    C at[P];
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int p = 0; p < P; p++) {
            at[p] = C(0);
        }
    }
    __device__ __forceinline__ void add(int p, C a, C b)
    {
        at[p] = fma(a, b, at[p]);
    }
};

// The passes of an algebra with straight-line code. The backward pass leaves in args.n_partial how
// many partial sums of weight gradients there are; 1 without a partial_width: none, grad_weight is
// written. Both answer cudaErrorNotSupported for what is left to the table.
struct sgp_kernels {
    int8_t metric[TESS_CLIFFORD_MAX_SYMBOLS];
    int32_t n_symbol;
    cudaError_t (*forward)(cudaStream_t stream, sgp_args &args);
    cudaError_t (*backward)(cudaStream_t stream, sgp_args &args);
};

extern const sgp_kernels sgp_cl20;
extern const sgp_kernels sgp_cl30;
extern const sgp_kernels sgp_cl301;
extern const sgp_kernels sgp_cl13;
extern const sgp_kernels sgp_cl41;

} // namespace clifford

#endif
