// Stage clifford.fcgp on tensor cores: x and y, gated, to packed f16 with a scale per row.

#include "backend/cuda/clifford_fcgp_pack.cuh"

namespace
{

using namespace clifford_fcgp;

constexpr int64_t scan_blocks = 528;

// 8 features of all components, gated. Rows behind the last are zero.
template <typename A, typename T>
__device__ __forceinline__ void load_gated(values (&v)[A::n_component], const view<const T> &x,
                                           bool vector, int activation, int64_t b, int64_t n_row,
                                           int c, int64_t n_feature)
{
    load_chunks(v, x, vector, b < n_row ? b : 0, int64_t(c) * chunk, b < n_row ? n_feature : 0);
#pragma unroll
    for (int i = 0; i < chunk; i++) {
        const float factor = gate_of(activation, v[0][i]).value;
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            v[k][i] *= factor;
        }
    }
}

template <typename A>
__device__ __forceinline__ void
store_row(__half *to, int64_t b, int c, int steps, const values (&x)[A::n_component],
          const values (&y)[A::n_component], float scale_x, float scale_y)
{
    constexpr int n = A::n_component;
#pragma unroll
    for (int k = 0; k < n; k++) {
        store_chunk(to + packed_at(b, c, steps, 2 * n, k), x[k], scale_x);
        store_chunk(to + packed_at(b, c, steps, 2 * n, n + k), y[k], scale_y);
    }
}

// The largest weight, for the scale of all of them.
template <typename T>
struct weight_scan {
    weight_view<T> weight;
    uint64_t mask;
    int64_t n_line; // pairs of a path and a feature in
    int blocks;
};

template <typename T>
__device__ __forceinline__ void scan_weights(const weight_scan<T> &w, const extents &e,
                                             unsigned *largest)
{
    unsigned most = 0;
    for (int64_t line = blockIdx.x; line < w.n_line; line += w.blocks) {
        const int64_t p = line / e.n_in;
        if ((w.mask >> p & 1) != 0) {
#pragma unroll 4
            for (int64_t n = threadIdx.x; n < e.n_out; n += pack_threads) {
                most = max(most, finite_magnitude(w.weight.load(p, line - p * e.n_in, n)));
            }
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        most = max(most, __shfl_xor_sync(all_lanes, most, step));
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(largest, most);
    }
}

// The first blocks look for the largest weight: one launch less.
template <typename A, typename T>
__global__ void __launch_bounds__(pack_threads)
    inputs_kernel(view<const T> x, view<const T> y, bool vector, int activation, extents e,
                  sharing s, packed data, const __grid_constant__ weight_scan<T> w)
{
    if (int(blockIdx.x) < w.blocks) {
        scan_weights(w, e, data.largest_weight);
        return;
    }
    __shared__ unsigned most[2][max_rows];
    const int in_block = int(threadIdx.x) % s.rows();
    const int lane = int(threadIdx.x) / s.rows();
    const int64_t b = (int64_t(blockIdx.x) - w.blocks) * s.rows() + in_block;
    if (threadIdx.x < max_rows) {
        most[0][threadIdx.x] = 0;
        most[1][threadIdx.x] = 0;
    }
    __syncthreads();
    values left[A::n_component] = {};
    values right[A::n_component] = {};
    unsigned largest_x = 0;
    unsigned largest_y = 0;
    int exponent_x = 0;
    int exponent_y = 0;
    // First for the scales, then for the items; one piece of code, because gates are long.
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        for (int c = lane; c < s.n_chunk; c += s.per_row()) {
            if (round == 0 || s.n_chunk > s.per_row()) {
                load_gated<A>(left, x, vector, activation, b, e.n_row, c, e.n_in);
                load_gated<A>(right, y, vector, activation, b, e.n_row, c, e.n_in);
                largest_x = max(largest_x, largest_of(left));
                largest_y = max(largest_y, largest_of(right));
            }
            if (round == 1) {
                store_row<A>(data.inputs, b, c, e.in_steps, left, right,
                             power_of_two(input_exponent - exponent_x),
                             power_of_two(input_exponent - exponent_y));
            }
        }
        if (round == 0) {
            exponent_x = exponent_of(row_max(s, largest_x, &most[0][in_block]));
            exponent_y = exponent_of(row_max(s, largest_y, &most[1][in_block]));
        }
    }
    if (lane == 0) {
        data.input_exponent[b] = exponent_x + exponent_y - 2 * input_exponent;
    }
}

} // namespace

namespace clifford_fcgp
{

template <typename A, typename T>
cudaError_t pack_inputs(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                        const packed &data)
{
    const sharing s = sharing_of(e.in_steps);
    const view<const T> x = view_of<const T>(a.x);
    const view<const T> y = view_of<const T>(a.y);
    const bool vector = is_vector(x, chunk, e.n_in) && is_vector(y, chunk, e.n_in);
    const int64_t n_line = A::n_path * e.n_in;
    const weight_scan<T> w = {weight_view_of<T>(a.weight, a.problem.weight_dtype),
                              a.problem.path_mask, n_line,
                              int(n_line < scan_blocks ? n_line : scan_blocks)};
    const cudaError_t error = cudaMemsetAsync(data.largest_weight, 0, sizeof(unsigned), stream);
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t blocks = w.blocks + e.row_blocks * row_block / s.rows();
    inputs_kernel<A, T><<<unsigned(blocks), pack_threads, 0, stream>>>(
        x, y, vector, a.problem.activation, e, s, data, w);
    return cudaGetLastError();
}

#define INSTANTIATE(A, T)                                                                          \
    template cudaError_t pack_inputs<A, T>(cudaStream_t, const tess_stage_clifford_fcgp &,         \
                                           const extents &, const packed &);
INSTANTIATE(cl20, float)
INSTANTIATE(cl20, __half)
INSTANTIATE(cl20, __nv_bfloat16)
INSTANTIATE(cl30, float)
INSTANTIATE(cl30, __half)
INSTANTIATE(cl30, __nv_bfloat16)

} // namespace clifford_fcgp
