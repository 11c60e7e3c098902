// Pairs of a path and a component, for stage clifford.fcgp on tensor cores: their products of x and
// y.
#ifndef TESS_CLIFFORD_FCGP_PAIRS_CUH
#define TESS_CLIFFORD_FCGP_PAIRS_CUH

#include "backend/cuda/clifford/fcgp/fcgp_features.cuh"

namespace clifford
{

// Features of a thread: as many as leave its x and y in registers. Words of 16 bytes, and all rows
// of a chunk at work at once.
template <typename A>
constexpr int form_width = A::n_component <= 8 ? 4 : 2;

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

template <typename A, int V>
__device__ __forceinline__ void
store_products(const fc_chunk &c, int64_t row, int n0, features<V> (&x)[A::n_component],
               features<V> (&y)[A::n_component], int left, int right)
{
    const int half = c.product_exponent / 2;
    const float scale_x = clifford_mma::power_of_two(half - left);
    const float scale_y = clifford_mma::power_of_two(c.product_exponent - half - right);
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        x[k] = x[k] * scale_x;
        y[k] = y[k] * scale_y;
    }
    __half *to = c.pairs + row * c.in_pitch + n0;
    A().products(x, y, [&](features<V> q) {
        store_halves(to, q);
        to += c.stride_pair;
    });
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads, fc_resident<2 * A::n_component * form_width<A>>)
    form_kernel(const __grid_constant__ fc_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = form_width<A>;
    __shared__ maxima<2> partials[fc_max_threads / 32];
    const fc_chunk &c = task.c;
    const row_group group(task.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_in : 0;
    const int stride = group.lanes * V;
    if (!c.are_inputs_ready) {
        wait_for_previous();
    }
    features<V> x[A::n_component];
    features<V> y[A::n_component];
    maxima<2> most = {};
    int left = 0;
    int right = 0;
    // First for the exponents, then for the products; one piece of code, because gates are long.
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_in; n0 += stride) {
            if (round == 0 || c.n_in > stride) {
                load_features<T, T>(x, c.x, y, c.y, task.are_packs, read_row, n0, n);
                apply_gate(x, c.activation);
                apply_gate(y, c.activation);
            }
            if (round == 0) {
                most = {largest_of(peaks_of(x), most.at[0]), largest_of(peaks_of(y), most.at[1])};
            } else if (is_row) {
                store_products<A>(c, row, n0, x, y, left, right);
            }
        }
        if (round == 0) {
            wait_for_previous();
            let_next_start();
            most = max_over_group(most, group, partials);
            left = clifford_mma::exponent_of(most.at[0]);
            right = clifford_mma::exponent_of(most.at[1]);
            if (group.lane == 0 && is_row) {
                c.left_exponent[row] = left;
                c.right_exponent[row] = right;
            }
        }
    }
#endif
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename A, typename T>
cudaError_t form_type(cudaStream_t stream, const fc_chunk &c)
{
    constexpr int V = form_width<A>;
    const fc_task task = {c, fc_lanes_for<V>(c.n_in),
                          fc_are_packs<T, V>(c.x, c.n_in) && fc_are_packs<T, V>(c.y, c.n_in)};
    return fc_launch(stream, form_kernel<A, T>, task);
}

template <typename A>
cudaError_t fc_form_pairs(cudaStream_t stream, const fc_chunk &c)
{
    return c.dtype == TESS_F16    ? form_type<A, __half>(stream, c)
           : c.dtype == TESS_BF16 ? form_type<A, __nv_bfloat16>(stream, c)
                                  : form_type<A, float>(stream, c);
}

} // namespace clifford

#endif
