// The weighted product for any shape, stride, type and choice of paths: sums over rows first, then
// every feature by itself. Reads the inputs twice where the row kernels read them once.
#ifndef TESS_CLIFFORD_SGP_SPLIT_CUH
#define TESS_CLIFFORD_SGP_SPLIT_CUH

#include "backend/cuda/clifford/sgp/sgp.cuh"

namespace clifford
{

constexpr int split_threads = 256;

template <typename A>
struct split_args {
    A algebra;
    sgp_args a;
};

template <typename A, typename C>
__device__ __forceinline__ void load_components(const A &algebra, const tess_cl_view &view,
                                                int32_t dtype, int64_t row, int64_t n,
                                                C (&items)[A::n_component])
{
    const int64_t at = row * view.stride[1] + n * view.stride[2];
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        if (k < algebra.components()) {
            items[k] = load_item<C>(view.data, dtype, at + k * view.stride[0]);
        }
    }
}

template <typename A, typename C>
__device__ __forceinline__ void store_components(const A &algebra, const tess_cl_view &view,
                                                 int32_t dtype, int64_t row, int64_t n,
                                                 const C (&items)[A::n_component])
{
    const int64_t at = row * view.stride[1] + n * view.stride[2];
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        if (k < algebra.components()) {
            store_item<C>(view.data, dtype, at + k * view.stride[0], items[k]);
        }
    }
}

template <typename A, typename C>
__device__ __forceinline__ void load_weights(const A &algebra, const sgp_args &a, int64_t n,
                                             C (&w)[A::n_path])
{
#pragma unroll
    for (int p = 0; p < A::n_path; p++) {
        if (p < algebra.paths()) {
            w[p] = a.weight.data == nullptr
                       ? C(1)
                       : load_item<C>(a.weight.data, a.weight_dtype,
                                      n * a.weight.stride[0] + p * a.weight.stride[1]);
        }
    }
}

// r^2 of a row and sums of gz o, to 1/r and dot in rows; r to or from the statistics.
template <typename A, typename C, bool is_backward>
__device__ __forceinline__ void leave_row_norm(const A &algebra, const sgp_args &a, int64_t row,
                                               C per_feature, C *sums)
{
    constexpr int G = A::n_grade;
    C *statistics = static_cast<C *>(a.statistics);
    C *rows = static_cast<C *>(a.rows);
    const int n_grade = algebra.grades();
#pragma unroll
    for (int g = 0; g < G; g++) {
        sums[g] = sqrt(sums[g]);
        if (g < n_grade && statistics != nullptr) {
            C &kept = statistics[g * a.n_row + row];
            if (is_backward) {
                sums[g] = kept;
            } else {
                kept = sums[g];
            }
        }
    }
    C dots[G] = {};
#pragma unroll
    for (int g = 0; g < G && is_backward; g++) {
        dots[g] = sums[G + g];
    }
    const bool is_free = is_free_root(a.metric, C(a.eps), sums[0]);
#pragma unroll
    for (int g = 0; g < G; g++) {
        sums[g] = inverse_of(sums[g]);
    }
    const row_norm<G, C> norm = norm_of_row<G>(a.metric, per_feature, is_free, sums, dots);
#pragma unroll
    for (int g = 0; g < G; g++) {
        if (g < n_grade) {
            rows[g * a.n_row + row] = norm.inverse[g];
            if (is_backward) {
                rows[(n_grade + g) * a.n_row + row] = norm.dot[g];
            }
        }
    }
}

// Sums over the features of every row: of the statistic, and in the backward pass of gz o. Leaves
// 1/r and dot in rows.
template <typename A, typename C, bool is_backward>
__global__ void __launch_bounds__(split_threads)
    sgp_split_sums(const __grid_constant__ split_args<A> args)
{
    extern __shared__ uint4 shared[];
    constexpr int G = A::n_grade;
    constexpr int n_sum = is_backward ? 2 * G : G;
    const A &algebra = args.algebra;
    const sgp_args &a = args.a;
    const row_group group(a.lanes);
    C *partials = reinterpret_cast<C *>(shared) +
                  group.index * 2 * power_of_two_from(n_sum) * (group.lanes / 32);
    const C per_feature = C(1) / C(a.n);
    int half = 0;
    for (int64_t first = int64_t(blockIdx.x) * group.count; first < a.n_row;
         first += int64_t(gridDim.x) * group.count) {
        const int64_t row = first + group.index;
        C sums[n_sum] = {};
        for (int64_t n = group.lane; row < a.n_row && n < a.n; n += group.lanes) {
            C x[A::n_component];
            C y[A::n_component];
            C w[A::n_path];
            C o[A::n_component];
            load_components(algebra, a.x, a.dtype, row, n, x);
            load_components(algebra, a.y, a.dtype, row, n, y);
            load_weights(algebra, a, n, w);
            algebra.product(x, y, w, o, some_paths{a.path_mask});
            const C scale = gate_of(a.activation, x[0]).factor * gate_of(a.activation, y[0]).factor;
#pragma unroll
            for (int k = 0; k < A::n_component; k++) {
                o[k] *= scale;
            }
            add_statistic(algebra, a.metric, o, sums);
            if constexpr (is_backward) {
                load_components(algebra, a.gz, a.dtype, row, n, x);
                add_products(algebra, x, o, sums + G);
            }
        }
        sum_over_group(sums, group, partials + half);
        half ^= power_of_two_from(n_sum) * (group.lanes / 32);
        squares_of_sums<G>(a.metric, per_feature, C(a.eps), sums);
        if (group.lane == 0 && row < a.n_row) {
            leave_row_norm<A, C, is_backward>(algebra, a, row, per_feature, sums);
        }
    }
}

// A thread owns a feature and a slice of the rows.
struct split_place {
    int64_t n;
    int64_t row;
    int64_t n_slice;

    __device__ __forceinline__ explicit split_place(int lanes)
        : n(int64_t(blockIdx.x) * lanes + (int(threadIdx.x) & (lanes - 1))),
          row(int64_t(blockIdx.y) * (split_threads / lanes) + int(threadIdx.x) / lanes),
          n_slice(int64_t(gridDim.y) * (split_threads / lanes))
    {
    }
};

template <typename A, typename C>
__global__ void __launch_bounds__(split_threads)
    sgp_split_forward(const __grid_constant__ split_args<A> args)
{
    const A &algebra = args.algebra;
    const sgp_args &a = args.a;
    const split_place place(a.lanes);
    if (place.n >= a.n) {
        return;
    }
    C w[A::n_path];
    load_weights(algebra, a, place.n, w);
    const C *rows = static_cast<const C *>(a.rows);
    for (int64_t row = place.row; row < a.n_row; row += place.n_slice) {
        C x[A::n_component];
        C y[A::n_component];
        C o[A::n_component];
        load_components(algebra, a.x, a.dtype, row, place.n, x);
        load_components(algebra, a.y, a.dtype, row, place.n, y);
        algebra.product(x, y, w, o, some_paths{a.path_mask});
        const C scale = gate_of(a.activation, x[0]).factor * gate_of(a.activation, y[0]).factor;
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            if (k < algebra.components()) {
                o[k] *= scale;
                if (a.normalize) {
                    o[k] *= rows[algebra.grade(k) * a.n_row + row];
                }
            }
        }
        store_components(algebra, a.out, a.dtype, row, place.n, o);
    }
}

// Adds the threads of a block that own the same feature and writes the block's weight gradients.
template <typename A, typename C>
__device__ __forceinline__ void leave_partials(const A &algebra, const sgp_args &a, int64_t n,
                                               const register_sums<A::n_path, C> &sums, C *shared)
{
#pragma unroll
    for (int p = 0; p < A::n_path; p++) {
        if (p < algebra.paths()) {
            C total = sums.at[p];
            if (a.lanes < split_threads) {
                __syncthreads();
                shared[threadIdx.x] = total;
                __syncthreads();
                for (int t = int(threadIdx.x) + a.lanes; t < split_threads; t += a.lanes) {
                    total += shared[t];
                }
            }
            if (int(threadIdx.x) < a.lanes && n < a.n && a.n_partial == 1) {
                store_item<C>(a.grad_weight.data, a.weight_dtype,
                              n * a.grad_weight.stride[0] + p * a.grad_weight.stride[1], total);
            } else if (int(threadIdx.x) < a.lanes && n < a.n) {
                static_cast<C *>(a.partials)[(blockIdx.y * a.n + n) * algebra.paths() + p] = total;
            }
        }
    }
}

template <typename A, typename C>
__device__ __forceinline__ row_norm<A::n_grade, C> read_row_norm(const A &algebra,
                                                                 const sgp_args &a, int64_t row)
{
    const C *rows = static_cast<const C *>(a.rows);
    const int n_grade = algebra.grades();
    row_norm<A::n_grade, C> norm = {};
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        if (g < n_grade) {
            norm.inverse[g] = rows[g * a.n_row + row];
            norm.dot[g] = rows[(n_grade + g) * a.n_row + row];
        }
    }
    return norm;
}

template <typename A, typename C>
__global__ void __launch_bounds__(split_threads)
    sgp_split_backward(const __grid_constant__ split_args<A> args)
{
    extern __shared__ uint4 shared[];
    let_next_start();
    constexpr int D = A::n_component;
    const A &algebra = args.algebra;
    const sgp_args &a = args.a;
    const split_place place(a.lanes);
    register_sums<A::n_path, C> sums;
    sums.clear();
    C w[A::n_path];
    if (place.n < a.n) {
        load_weights(algebra, a, place.n, w);
    }
    for (int64_t row = place.row; row < a.n_row && place.n < a.n; row += place.n_slice) {
        C x[D];
        C y[D];
        C s[D];
        C h[D];
        load_components(algebra, a.x, a.dtype, row, place.n, x);
        load_components(algebra, a.y, a.dtype, row, place.n, y);
        load_components(algebra, a.gz, a.dtype, row, place.n, h);
        algebra.product(x, y, w, s, some_paths{a.path_mask});
        const gate<C> left = gate_of(a.activation, x[0]);
        const gate<C> right = gate_of(a.activation, y[0]);
        const C scale = left.factor * right.factor;
        if (a.normalize) {
            norm_gradient(algebra, a.metric, read_row_norm<A, C>(algebra, a, row), scale, s, h, h);
        }
        C tau = C(0);
#pragma unroll
        for (int k = 0; k < D; k++) {
            if (k < algebra.components()) {
                tau = fma(h[k], s[k], tau);
                h[k] *= scale;
            }
        }
        C gx[D];
        algebra.gradients(x, y, w, h, gx, s, sums, some_paths{a.path_mask});
        gx[0] = fma(left.slope * right.factor, tau, gx[0]);
        s[0] = fma(right.slope * left.factor, tau, s[0]);
        if (a.gx.data != nullptr) {
            store_components(algebra, a.gx, a.dtype, row, place.n, gx);
        }
        if (a.gy.data != nullptr) {
            store_components(algebra, a.gy, a.dtype, row, place.n, s);
        }
    }
    if (a.grad_weight.data != nullptr) {
        leave_partials(algebra, a, place.n, sums, reinterpret_cast<C *>(shared));
    }
}

// The grid of the second pass, from the shape alone.
struct split_shape {
    int lanes;
    int64_t n_column; // blocks over features
    int64_t n_slice;  // blocks over rows

    split_shape(int64_t n_row, int64_t n, int64_t n_block)
    {
        lanes = 1;
        while (lanes < split_threads && lanes < n) {
            lanes *= 2;
        }
        n_column = (n - 1) / lanes + 1;
        const int64_t rows_per_block = split_threads / lanes;
        const int64_t needed = (n_row - 1) / rows_per_block + 1;
        const int64_t wanted = (n_block - 1) / n_column + 1;
        n_slice = needed < wanted ? needed : wanted;
    }
};

constexpr int64_t split_forward_blocks = n_multiprocessor * 16;
constexpr int64_t split_backward_blocks = n_multiprocessor * 2;

template <typename A, typename C, bool is_backward>
cudaError_t launch_split_sums(cudaStream_t stream, split_args<A> args)
{
    args.a.lanes = 1;
    while (args.a.lanes < split_threads && args.a.lanes < args.a.n) {
        args.a.lanes *= 2;
    }
    constexpr int n_sum = is_backward ? 2 * A::n_grade : A::n_grade;
    const int64_t needed = (args.a.n_row - 1) / (split_threads / args.a.lanes) + 1;
    const int64_t most = n_multiprocessor * 32;
    return launch(sgp_split_sums<A, C, is_backward>, dim3(unsigned(needed < most ? needed : most)),
                  split_threads, sizeof(C) * partials_per_block(n_sum, split_threads), stream,
                  args);
}

template <typename A, typename C>
cudaError_t launch_split_forward(cudaStream_t stream, const A &algebra, const sgp_args &a)
{
    split_args<A> args = {algebra, a};
    if (a.normalize) {
        const cudaError_t error = launch_split_sums<A, C, false>(stream, args);
        if (error != cudaSuccess) {
            return error;
        }
    }
    const split_shape shape(a.n_row, a.n, split_forward_blocks);
    args.a.lanes = shape.lanes;
    return launch(sgp_split_forward<A, C>, dim3(unsigned(shape.n_column), unsigned(shape.n_slice)),
                  split_threads, 0, stream, args);
}

template <typename A, typename C>
cudaError_t launch_split_backward(cudaStream_t stream, const A &algebra, sgp_args &a)
{
    const split_shape shape(a.n_row, a.n, split_backward_blocks);
    a.n_partial = int32_t(shape.n_slice);
    split_args<A> args = {algebra, a};
    if (a.normalize) {
        const cudaError_t error = launch_split_sums<A, C, true>(stream, args);
        if (error != cudaSuccess) {
            return error;
        }
    }
    args.a.lanes = shape.lanes;
    return launch(sgp_split_backward<A, C>, dim3(unsigned(shape.n_column), unsigned(shape.n_slice)),
                  split_threads, sizeof(C) * split_threads, stream, args);
}

} // namespace clifford

#endif
