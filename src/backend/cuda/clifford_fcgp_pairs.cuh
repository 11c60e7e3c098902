// Pairs of a path and a component, for stage clifford.fcgp on tensor cores: their products of x and
// y, and back from the gradients of those to the gradients of x and y.
#ifndef TESS_CLIFFORD_FCGP_PAIRS_CUH
#define TESS_CLIFFORD_FCGP_PAIRS_CUH

#include "backend/cuda/clifford_fcgp_features.cuh"

namespace clifford
{

// Features of a thread: as many as leave its x and y, and its gradients, in registers.
template <typename A>
constexpr int form_width = A::n_component <= 4 ? 4 : 2;
template <typename A>
constexpr int contract_width = A::n_component <= 4    ? 4
                               : A::n_component <= 16 ? 2
                                                      : 1;
// Three where registers allow: rows wait for memory, then for each other.
template <typename A>
constexpr int form_resident =
    A::n_component == 8 ? 3 : fc_resident<2 * A::n_component * form_width<A>>;

template <int V, int D>
__device__ __forceinline__ void apply_gate(features<V> (&f)[D], int32_t activation)
{
    gate<float> gates[V];
    gates_of(activation, f[0].at, gates);
    features<V> factor;
#pragma unroll
    for (int v = 0; v < V; v++) {
        factor.at[v] = gates[v].factor;
    }
#pragma unroll
    for (int k = 0; k < D; k++) {
        f[k] = f[k] * factor;
    }
}

// The row's exponents for others to read; adds the row to what all rows of the chunk have in
// common.
__device__ __forceinline__ void tell_exponents(const fc_chunk &c, int64_t row, int left, int right,
                                               bool is_common)
{
    c.left_exponent[row] = left;
    c.right_exponent[row] = right;
    if (is_common) {
        atomicMax(c.common_exponent,
                  left + right - c.product_exponent + __ldcg(c.gradient_exponent + row));
    }
}

// How much smaller than the chunk's largest row this one is, as a factor of at most 1. Less than
// 2^-60 is zero as f16 anyway.
__device__ __forceinline__ float common_factor(const fc_chunk &c, int64_t row, int left, int right)
{
    const int own = left + right - c.product_exponent + __ldcg(c.gradient_exponent + row);
    return clifford_mma::power_of_two(max(own - __ldcg(c.common_exponent), -60));
}

template <typename A, int V>
__device__ __forceinline__ void
store_products(const fc_chunk &c, int64_t row, int n0, features<V> (&x)[A::n_component],
               features<V> (&y)[A::n_component], float scale_x, float scale_y, float factor)
{
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        x[k] = x[k] * scale_x * factor;
        y[k] = y[k] * scale_y;
    }
    __half *to = c.pairs + row * c.in_pitch + n0;
    A().products(x, y, [&](features<V> q) {
        store_halves(to, q);
        to += c.stride_pair;
    });
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads, form_resident<A>)
    form_kernel(const __grid_constant__ fc_task task)
{
    constexpr int V = form_width<A>;
    __shared__ uint2 partials[fc_max_threads / 32];
    const fc_chunk &c = task.c;
    const row_group group(task.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_in : 0;
    const int stride = group.lanes * V;
    const bool is_measured = task.how != fc_form_common;
    wait_for_previous();
    let_next_start();
    features<V> x[A::n_component];
    features<V> y[A::n_component];
    uint2 most = {};
    int left = 0;
    int right = 0;
    float factor = 1.0f;
    if (!is_measured) {
        left = __ldcg(c.left_exponent + read_row);
        right = __ldcg(c.right_exponent + read_row);
        factor = common_factor(c, read_row, left, right);
    }
    // First for the exponents, then for the products; one piece of code, because gates are long.
#pragma unroll 1
    for (int round = is_measured ? 0 : 1; round < 2; round++) {
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_in; n0 += stride) {
            if (round == 0 || !is_measured || c.n_in > stride) {
                load_features<T>(x, c.x, task.are_packs, read_row, n0, n);
                load_features<T>(y, c.y, task.are_packs, read_row, n0, n);
                apply_gate(x, c.activation);
                apply_gate(y, c.activation);
            }
            if (round == 0) {
                most = {largest_of(x, most.x), largest_of(y, most.y)};
            } else if (is_row) {
                const int half = c.product_exponent / 2;
                store_products<A>(c, row, n0, x, y, clifford_mma::power_of_two(half - left),
                                  clifford_mma::power_of_two(c.product_exponent - half - right),
                                  factor);
            }
        }
        if (round == 0) {
            most = max_over_group(most, group, partials);
            left = clifford_mma::exponent_of(most.x);
            right = clifford_mma::exponent_of(most.y);
            if (group.lane == 0 && is_row) {
                tell_exponents(c, row, left, right, task.how == fc_form_measure);
            }
            if (task.how == fc_form_measure) {
                return;
            }
        }
    }
}

// grad_i = f(own) f(other) s_i + [i = 0] f'(own) f(other) sum of own_j s_j, the sum given.
template <typename T, int V, int D>
__device__ __forceinline__ void
store_gradient(const tess_cl_view &grad, bool are_packs, int64_t row, int n0, int n,
               const features<V> (&s)[D], const features<V> &both, const features<V> &through_gate)
{
    if (grad.data == nullptr) {
        return;
    }
    T *to = first_item<T>(grad, row, n0);
#pragma unroll
    for (int k = 0; k < D; k++, to += grad.stride[0]) {
        store_features(to, are_packs, grad.stride[2], n0, n,
                       k == 0 ? fma(both, s[k], through_gate) : both * s[k]);
    }
}

// Largest gated components, as the products will be formed from.
template <int V, int D>
__device__ __forceinline__ uint32_t largest_gated(const features<V> (&f)[D],
                                                  const gate<float> (&gates)[V], uint32_t most)
{
#pragma unroll
    for (int k = 0; k < D; k++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            most = max(most, clifford_mma::magnitude(f[k].at[v] * gates[v].factor));
        }
    }
    return most;
}

// One thread's features: gradients of x and y from those of the pairs. The scales that come back,
// 2^e, are applied in halves: to x and y before, to the sums behind.
template <typename A, typename T, int V>
__device__ __forceinline__ uint2 contract_features(const fc_task &task, int64_t row, int n0,
                                                   clifford_mma::unscale scales, uint2 most)
{
    constexpr int D = A::n_component;
    const fc_chunk &c = task.c;
    features<V> x[D];
    features<V> y[D];
    load_features<T>(x, c.x, task.are_packs, row, n0, c.n_in);
    load_features<T>(y, c.y, task.are_packs, row, n0, c.n_in);
    gate<float> of_x[V];
    gate<float> of_y[V];
    gates_of(c.activation, x[0].at, of_x);
    gates_of(c.activation, y[0].at, of_y);
    most = {largest_gated(x, of_x, most.x), largest_gated(y, of_y, most.y)};
    features<V> gx[D];
    features<V> gy[D];
#pragma unroll
    for (int k = 0; k < D; k++) {
        x[k] = x[k] * scales.first;
        y[k] = y[k] * scales.first;
        gx[k] = {};
        gy[k] = {};
    }
    const __half *from = c.pairs + row * c.in_pitch + n0;
    A().pair_gradients(x, y, gx, gy, [&] {
        const features<V> g = widen_pack(load_fresh<__half, V>(from));
        from += c.stride_pair; // hundreds of precomputed addresses would fill the registers
        return g;
    });
    // Sum of x_i s_i, the same as that of y_j r_j: with the first half of the scales twice.
    features<V> dot = x[0] * gx[0];
#pragma unroll
    for (int k = 1; k < D; k++) {
        dot = fma(x[k], gx[k], dot);
    }
    dot = dot * (scales.second / scales.first);
    features<V> both, through_x, through_y;
#pragma unroll
    for (int v = 0; v < V; v++) {
        both.at[v] = of_x[v].factor * of_y[v].factor * scales.second;
        through_x.at[v] = of_x[v].slope * of_y[v].factor * dot.at[v];
        through_y.at[v] = of_y[v].slope * of_x[v].factor * dot.at[v];
    }
    store_gradient<T>(c.grad_x, task.are_packs, row, n0, c.n_in, gx, both, through_x);
    store_gradient<T>(c.grad_y, task.are_packs, row, n0, c.n_in, gy, both, through_y);
    return most;
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads,
                                  fc_resident<4 * A::n_component * contract_width<A>>)
    contract_kernel(const __grid_constant__ fc_task task)
{
    constexpr int V = contract_width<A>;
    __shared__ uint2 partials[fc_max_threads / 32];
    const fc_chunk &c = task.c;
    const row_group group(task.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    wait_for_previous();
    let_next_start();
    uint2 most = {};
    if (is_row) {
        const clifford_mma::unscale scales = clifford_mma::unscale_by(
            __ldcg(c.gradient_exponent + row) + __ldcg(c.weight_exponent) + c.sum_exponent);
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_in; n0 += group.lanes * V) {
            most = contract_features<A, T, V>(task, row, n0, scales, most);
        }
    }
    most = max_over_group(most, group, partials);
    if (group.lane == 0 && is_row) {
        tell_exponents(c, row, clifford_mma::exponent_of(most.x), clifford_mma::exponent_of(most.y),
                       true);
    }
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename A, typename T>
cudaError_t form_type(cudaStream_t stream, const fc_chunk &c, fc_form how)
{
    constexpr int V = form_width<A>;
    const fc_task task = {c, fc_lanes_for<V>(c.n_in),
                          fc_are_packs<T, V>(c.x, c.n_in) && fc_are_packs<T, V>(c.y, c.n_in), how};
    return fc_launch(stream, form_kernel<A, T>, task);
}

template <typename A, typename T>
cudaError_t contract_type(cudaStream_t stream, const fc_chunk &c)
{
    constexpr int V = contract_width<A>;
    const fc_task task = {c, fc_lanes_for<V>(c.n_in),
                          fc_are_packs<T, V>(c.x, c.n_in) && fc_are_packs<T, V>(c.y, c.n_in) &&
                              fc_are_packs<T, V>(c.grad_x, c.n_in) &&
                              fc_are_packs<T, V>(c.grad_y, c.n_in),
                          fc_form_measure};
    return fc_launch(stream, contract_kernel<A, T>, task);
}

template <typename A>
cudaError_t fc_form_pairs(cudaStream_t stream, const fc_chunk &c, fc_form how)
{
    return c.dtype == TESS_F16    ? form_type<A, __half>(stream, c, how)
           : c.dtype == TESS_BF16 ? form_type<A, __nv_bfloat16>(stream, c, how)
                                  : form_type<A, float>(stream, c, how);
}

template <typename A>
cudaError_t fc_contract_pairs(cudaStream_t stream, const fc_chunk &c)
{
    return c.dtype == TESS_F16    ? contract_type<A, __half>(stream, c)
           : c.dtype == TESS_BF16 ? contract_type<A, __nv_bfloat16>(stream, c)
                                  : contract_type<A, float>(stream, c);
}

} // namespace clifford

#endif
