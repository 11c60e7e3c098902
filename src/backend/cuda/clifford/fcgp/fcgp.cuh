// What the files of stage clifford.fcgp share: views, item types, gates, scratch memory.
#ifndef TESS_CLIFFORD_FCGP_CUH
#define TESS_CLIFFORD_FCGP_CUH

#include "stage/clifford.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace clifford_fcgp
{

// What items of a type are computed in.
template <typename T>
using math_of = std::conditional_t<std::is_same_v<T, double>, double, float>;

__device__ __forceinline__ float to_math(float value)
{
    return value;
}

__device__ __forceinline__ double to_math(double value)
{
    return value;
}

__device__ __forceinline__ float to_math(__half value)
{
    return __half2float(value);
}

__device__ __forceinline__ float to_math(__nv_bfloat16 value)
{
    return __bfloat162float(value);
}

template <typename T>
__device__ __forceinline__ T from_math(math_of<T> value)
{
    if constexpr (std::is_same_v<T, __half>) {
        return __float2half_rn(value);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        return __float2bfloat16_rn(value);
    } else {
        return value;
    }
}

// A tess_cl_view with its item type.
template <typename T>
struct view {
    T *data;
    int64_t stride[3];
    __device__ __forceinline__ T &at(int64_t k, int64_t b, int64_t n) const
    {
        return data[k * stride[0] + b * stride[1] + n * stride[2]];
    }
};

template <typename T>
view<T> view_of(const tess_cl_view &v)
{
    return {static_cast<T *>(v.data), {v.stride[0], v.stride[1], v.stride[2]}};
}

template <typename T>
view<T> contiguous(T *data, int64_t n_row, int64_t n_feature)
{
    return {data, {n_row * n_feature, n_feature, 1}};
}

// Weights or their gradients: of the type of the activations, or f32 beside 16-bit ones.
template <typename T>
struct weight_view {
    void *data;
    int64_t stride[3];
    bool is_f32;
    __device__ __forceinline__ math_of<T> load(int64_t p, int64_t m, int64_t n) const
    {
        const int64_t item = p * stride[0] + m * stride[1] + n * stride[2];
        if (sizeof(T) == 2 && is_f32) {
            return math_of<T>(static_cast<const float *>(data)[item]);
        }
        return to_math(static_cast<const T *>(data)[item]);
    }
    __device__ __forceinline__ void store(int64_t p, int64_t m, int64_t n, math_of<T> value) const
    {
        const int64_t item = p * stride[0] + m * stride[1] + n * stride[2];
        if (sizeof(T) == 2 && is_f32) {
            static_cast<float *>(data)[item] = float(value);
        } else {
            static_cast<T *>(data)[item] = from_math<T>(value);
        }
    }
};

template <typename T>
weight_view<T> weight_view_of(const tess_cl_view &v, int32_t dtype)
{
    return {v.data, {v.stride[0], v.stride[1], v.stride[2]}, dtype == TESS_F32};
}

// The factor f(s) of an activation and its derivative.
template <typename A>
struct gate {
    A value;
    A slope;
};

template <typename A>
__device__ __forceinline__ gate<A> gate_of(int activation, A s)
{
    switch (activation) {
    case TESS_CLIFFORD_GELU: {
        const A value = A(0.5) * A(erfc(-s * A(0.70710678118654752440)));
        return {value, A(0.39894228040143267794) * A(exp(A(-0.5) * s * s))};
    }
    case TESS_CLIFFORD_GELU_TANH: {
        const A root = A(0.79788456080286535588);
        const A cubic = A(0.044715);
        const A t = A(tanh(root * (s + cubic * s * s * s)));
        const A inner = root * (A(1) + A(3) * cubic * s * s);
        return {A(0.5) * s * (A(1) + t), A(0.5) * (A(1) + t) + A(0.5) * s * (A(1) - t * t) * inner};
    }
    case TESS_CLIFFORD_RELU:
        return {s > A(0) || s != s ? s : A(0), s > A(0) ? A(1) : A(0)};
    case TESS_CLIFFORD_SIGMOID: {
        const A value = A(1) / (A(1) + A(exp(-s)));
        return {value, value * (A(1) - value)};
    }
    case TESS_CLIFFORD_TANH: {
        const A value = A(tanh(s));
        return {value, A(1) - value * value};
    }
    case TESS_CLIFFORD_SILU: {
        const A share = A(1) / (A(1) + A(exp(-s)));
        const A slope = share * (A(1) - share);
        return {s * share, slope > A(0) ? share + s * slope : share};
    }
    default:
        return {A(1), A(0)};
    }
}

// Cuts scratch memory into parts of 256-byte alignment. With base NULL it only counts.
class arena
{
  public:
    explicit arena(void *base) : base_(static_cast<char *>(base))
    {
    }
    template <typename T>
    T *take(int64_t n)
    {
        T *part = base_ == nullptr ? nullptr : reinterpret_cast<T *>(base_ + used_);
        used_ += (size_t(n) * sizeof(T) + 255) / 256 * 256;
        return part;
    }
    size_t used() const
    {
        return used_;
    }

  private:
    char *base_;
    size_t used_ = 0;
};

inline int64_t blocks_of(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

// Whether the backward pass has to make the product again.
inline bool needs_product(const tess_stage_clifford_fcgp &a)
{
    return a.problem.normalize && (a.saved_out.data == nullptr || a.statistics == nullptr);
}

// The pairs of a path and an output component, in groups (all of a component, or all of a path),
// and their terms: i, j in 5 bits each, then 1 bit for minus. Travels as a kernel argument.
struct pair_table {
    uint16_t group_first[TESS_CLIFFORD_MAX_PATHS + 1];
    uint16_t pair_first[353];
    uint8_t path[352];
    uint8_t component[352];
    uint16_t terms[TESS_CLIFFORD_MAX_TERMS];
};

enum grouping { by_component, by_path };

inline pair_table table_of(const tess_cl_problem &problem, grouping order)
{
    const tess_clifford_algebra &algebra = *problem.algebra;
    pair_table t = {};
    const int n_group = order == by_component ? algebra.n_component : algebra.n_path;
    const int n_member = order == by_component ? algebra.n_path : algebra.n_component;
    int n_pair = 0;
    int n_term = 0;
    for (int group = 0; group < n_group; group++) {
        t.group_first[group] = uint16_t(n_pair);
        for (int member = 0; member < n_member; member++) {
            const int p = order == by_component ? member : group;
            const int k = order == by_component ? group : member;
            const int before = n_term;
            for (int i = 0; i < algebra.n_term; i++) {
                const tess_clifford_term &term = algebra.terms[i];
                if (term.path == p && term.k == k && (problem.path_mask >> p & 1) != 0) {
                    t.terms[n_term++] = uint16_t(term.i | term.j << 5 | (term.sign < 0) << 10);
                }
            }
            if (n_term > before) {
                t.pair_first[n_pair] = uint16_t(before);
                t.path[n_pair] = uint8_t(p);
                t.component[n_pair++] = uint8_t(k);
            }
        }
    }
    t.group_first[n_group] = uint16_t(n_pair);
    t.pair_first[n_pair] = uint16_t(n_term);
    return t;
}

// fcgp_rows.cu: what belongs to single rows, for any shape and type. Products, h and
// factors are in math_of<T>.

// The product of both gates, [n_row][n_in].
template <typename T>
cudaError_t gate_factors(cudaStream_t stream, const tess_cl_problem &problem, view<const T> x,
                         view<const T> y, math_of<T> *factor);

// out = product / r, and r where statistics are wanted. out may be product itself.
template <typename T>
cudaError_t norm_rows(cudaStream_t stream, const tess_cl_problem &problem, view<math_of<T>> product,
                      view<T> out, math_of<T> *statistics);

// h, [component][n_row][n_out], from the gradient of the result and the product, or where its data
// are NULL from the saved result and the statistics. Without normalize h is the gradient itself.
template <typename T>
cudaError_t norm_gradients(cudaStream_t stream, const tess_cl_problem &problem,
                           view<const T> grad_out, view<math_of<T>> product,
                           view<const T> saved_out, const math_of<T> *statistics, math_of<T> *h);

// Gradients of x and y from s and r, those by the gated inputs without their gates. Each pair may
// be NULL, and grad_x may be s, grad_y r.
template <typename T>
cudaError_t gate_gradients(cudaStream_t stream, const tess_cl_problem &problem, view<const T> x,
                           view<const T> y, view<math_of<T>> s, view<math_of<T>> r, view<T> grad_x,
                           view<T> grad_y);

// fcgp_simt.cu: any shape, algebra and type. Scratch is counted where it is NULL.
size_t simt_scratch_bytes(const tess_stage_clifford_fcgp &a);
cudaError_t simt_launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a);

// fcgp_tensor.cu: the five algebras with generated terms in 16-bit types, or f32 of
// precision high, where there are matrix units for them.
bool tensor_takes(const tess_stage_clifford_fcgp &a);
size_t tensor_scratch_bytes(const tess_stage_clifford_fcgp &a);
cudaError_t tensor_launch(cudaStream_t stream, const tess_stage_clifford_fcgp &a);

} // namespace clifford_fcgp

#endif
