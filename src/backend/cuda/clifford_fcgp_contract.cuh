// Pairs of a path and a component, for stage clifford.fcgp on tensor cores: from their gradients to
// those of x and y, and their products in the place of the gradients.
#ifndef TESS_CLIFFORD_FCGP_CONTRACT_CUH
#define TESS_CLIFFORD_FCGP_CONTRACT_CUH

#include "backend/cuda/clifford_fcgp_features.cuh"

namespace clifford
{

// Features of a thread: as many as leave its x and y, and their gradients, in registers.
template <typename A>
constexpr int contract_width = A::n_component <= 4    ? 4
                               : A::n_component <= 16 ? 2
                                                      : 1;

struct contract_task {
    fc_task rows;
    fc_contraction what;
};

// x or y, and their gates.
template <typename A, int V>
struct gated {
    features<V> f[A::n_component];
    gate<float> gates[V];
};

// Largest components of a row: of x, y, gated x, gated y.
template <typename A, int V>
__device__ __forceinline__ void measure(const gated<A, V> &one, uint32_t &plain, uint32_t &behind)
{
    features<V> peaks = peaks_of(one.f);
    plain = largest_of(peaks, plain);
#pragma unroll
    for (int v = 0; v < V; v++) {
        // Rounding keeps order: the largest component gives the largest product.
        peaks.at[v] = fminf(peaks.at[v] * fabsf(one.gates[v].factor), FLT_MAX);
        peaks.at[v] = peaks.at[v] == peaks.at[v] ? peaks.at[v] : 0.0f;
    }
    behind = largest_of(peaks, behind);
}

// How a row's numbers are scaled. x and y are brought to the range of f16 before anything else, so
// that no sum of products leaves that of f32.
struct row_scales {
    int plain_x, plain_y; // exponents
    int left, right;      // behind the gates
    int gradient;         // what the pairs' gradients lack
};

// 2^exponent, the nearest there is.
__device__ __forceinline__ float nearest_power_of_two(int exponent)
{
    return clifford_mma::power_of_two(min(max(exponent, -126), 127));
}

// A thread's next gradients of pairs on their way: memory is far.
template <typename A, int V>
struct pairs_ahead {
    static constexpr int most = V == 4 ? 6 : 12; // as registers allow
    static constexpr int depth = A::pairs() < most ? A::pairs() : most;
    pack<__half, V> items[depth];

    __device__ __forceinline__ void start(const __half *from, int64_t stride, bool is_read)
    {
#pragma unroll
        for (int i = 0; i < depth; i++, from += stride) {
            items[i] = is_read ? load_fresh<__half, V>(from) : zero_pack<__half, V>();
        }
    }
};

// grad_i = f(own) f(other) s_i + [i = 0] f'(own) f(other) dot, all still to be multiplied with
// 2^exponent.
template <typename T, typename A, int V>
__device__ __forceinline__ void
store_gradient(const tess_cl_view &grad, const fc_task &task, int64_t row, int n0,
               const features<V> (&s)[A::n_component], const gated<A, V> &own,
               const gated<A, V> &other, const features<V> &dot, int exponent)
{
    if (grad.data == nullptr) {
        return;
    }
    const clifford_mma::unscale scales = clifford_mma::unscale_by(exponent);
    features<V> both, through_gate;
#pragma unroll
    for (int v = 0; v < V; v++) {
        const float factor = other.gates[v].factor * scales.first;
        both.at[v] = own.gates[v].factor * factor;
        through_gate.at[v] = own.gates[v].slope * factor * dot.at[v];
    }
    T *to = first_item<T>(grad, row, n0);
#pragma unroll
    for (int k = 0; k < A::n_component; k++, to += grad.stride[0]) {
        store_features(to, task.are_packs, grad.stride[2], n0, task.c.n_in,
                       (k == 0 ? fma(both, s[k], through_gate) : both * s[k]) * scales.second);
    }
}

// One thread's features: gradients of x and y from those of the pairs, and products.
template <typename A, typename T, int V>
__device__ __forceinline__ void contract_features(const contract_task &task, int64_t row, int n0,
                                                  const row_scales &scales, gated<A, V> &x,
                                                  gated<A, V> &y, pairs_ahead<A, V> &ahead)
{
    using namespace clifford_mma;
    constexpr int D = A::n_component;
    const fc_chunk &c = task.rows.c;
    const int half = c.product_exponent / 2;
    const float left = nearest_power_of_two(half - scales.left + scales.plain_x - half_exponent);
    const float right = nearest_power_of_two(c.product_exponent - half - scales.right +
                                             scales.plain_y - half_exponent);
    features<V> factor_x, factor_y;
#pragma unroll
    for (int v = 0; v < V; v++) {
        factor_x.at[v] = x.gates[v].factor * left;
        factor_y.at[v] = y.gates[v].factor * right;
    }
    features<V> gx[D];
    features<V> gy[D];
#pragma unroll
    for (int k = 0; k < D; k++) {
        x.f[k] = x.f[k] * scale_to_half(scales.plain_x);
        y.f[k] = y.f[k] * scale_to_half(scales.plain_y);
        gx[k] = {};
        gy[k] = {};
    }
    __half *to = c.pairs + row * c.in_pitch + n0;
    const __half *from = to + ahead.depth * c.stride_pair;
    const bool is_read = task.what.has_gradients != 0;
    int taken = 0;
    A().exchange(
        x.f, y.f, gx, gy,
        [&] {
            pack<__half, V> &item = ahead.items[taken % ahead.depth];
            const features<V> g = widen_pack(item);
            if (taken + ahead.depth < A::pairs()) {
                item = is_read ? load_fresh<__half, V>(from) : zero_pack<__half, V>();
                from += c.stride_pair; // hundreds of precomputed addresses would fill the registers
            }
            taken++;
            return g;
        },
        [&](features<V> q) {
            if (task.what.has_products) {
                store_halves(to, q * factor_x * factor_y);
            }
            to += c.stride_pair;
        });
    if (!is_read) {
        return;
    }
    // Sum of x_i s_i, the same as that of y_j r_j.
    features<V> dot = x.f[0] * gx[0];
#pragma unroll
    for (int k = 1; k < D; k++) {
        dot = fma(x.f[k], gx[k], dot);
    }
    store_gradient<T>(c.grad_x, task.rows, row, n0, gx, x, y,
                      dot * power_of_two(scales.plain_x - half_exponent),
                      scales.gradient + scales.plain_y - half_exponent);
    store_gradient<T>(c.grad_y, task.rows, row, n0, gy, y, x,
                      dot * power_of_two(scales.plain_y - half_exponent),
                      scales.gradient + scales.plain_x - half_exponent);
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads,
                                  fc_resident<4 * A::n_component * contract_width<A>>)
    contract_kernel(const __grid_constant__ contract_task task)
{
    constexpr int V = contract_width<A>;
    __shared__ maxima<4> partials[fc_max_threads / 32];
    const fc_chunk &c = task.rows.c;
    const row_group group(task.rows.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_in : 0;
    const int stride = group.lanes * V;
    const __half *const pairs = c.pairs + read_row * c.in_pitch;
    if (!c.are_inputs_ready) {
        wait_for_previous();
    }
    gated<A, V> x;
    gated<A, V> y;
    pairs_ahead<A, V> ahead;
    maxima<4> most = {};
    row_scales scales = {};
    // First for the exponents, then for the gradients; one piece of code, because gates are long.
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_in; n0 += stride) {
            const bool again = c.n_in > stride;
            if (round == 0 || again) {
                load_features<T, T>(x.f, c.x, y.f, c.y, task.rows.are_packs, read_row, n0, n);
                gates_of(c.activation, x.f[0].at, x.gates);
                gates_of(c.activation, y.f[0].at, y.gates);
            }
            if (round == 0) {
                measure(x, most.at[0], most.at[2]);
                measure(y, most.at[1], most.at[3]);
            } else if (is_row) {
                if (again) {
                    ahead.start(pairs + n0, c.stride_pair, task.what.has_gradients);
                }
                contract_features<A, T, V>(task, row, n0, scales, x, y, ahead);
            }
        }
        if (round == 0) {
            wait_for_previous();
            let_next_start();
            ahead.start(pairs + group.lane * V, c.stride_pair,
                        task.what.has_gradients && group.lane * V < n);
            scales.gradient = __ldcg(c.gradient_exponent + read_row);
            const int weight = task.what.has_gradients ? __ldcg(c.weight_exponent) : 0;
            most = max_over_group(most, group, partials);
            scales.plain_x = clifford_mma::exponent_of(most.at[0]);
            scales.plain_y = clifford_mma::exponent_of(most.at[1]);
            scales.left = clifford_mma::exponent_of(most.at[2]);
            scales.right = clifford_mma::exponent_of(most.at[3]);
            if (group.lane == 0 && is_row && task.what.has_products) {
                c.left_exponent[row] = scales.left;
                c.right_exponent[row] = scales.right;
                atomicMax(c.common_exponent,
                          fc_row_exponent(c, scales.left, scales.right, scales.gradient));
            }
            scales.gradient += weight + c.sum_exponent;
        }
    }
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename A, typename T>
cudaError_t contract_type(cudaStream_t stream, const fc_chunk &c, fc_contraction what)
{
    constexpr int V = contract_width<A>;
    const contract_task task = {
        {c, fc_lanes_for<V>(c.n_in),
         fc_are_packs<T, V>(c.x, c.n_in) && fc_are_packs<T, V>(c.y, c.n_in) &&
             fc_are_packs<T, V>(c.grad_x, c.n_in) && fc_are_packs<T, V>(c.grad_y, c.n_in)},
        what};
    return fc_launch(stream, contract_kernel<A, T>, task.rows, task);
}

template <typename A>
cudaError_t fc_contract_pairs(cudaStream_t stream, const fc_chunk &c, fc_contraction what)
{
    return c.dtype == TESS_F16    ? contract_type<A, __half>(stream, c, what)
           : c.dtype == TESS_BF16 ? contract_type<A, __nv_bfloat16>(stream, c, what)
                                  : contract_type<A, float>(stream, c, what);
}

} // namespace clifford

#endif
