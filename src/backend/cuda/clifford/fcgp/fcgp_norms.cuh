// The norm of stage clifford.fcgp on tensor cores: of the product's rows, and backward to gradients
// in f16.
#ifndef TESS_CLIFFORD_FCGP_NORMS_CUH
#define TESS_CLIFFORD_FCGP_NORMS_CUH

#include "backend/cuda/clifford/common/norm.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_strips.cuh"

#include <climits>

namespace clifford
{

template <typename A>
constexpr int norm_width = A::n_component <= 8 ? 4 : 2;
template <typename A>
constexpr int gradient_resident =
    A::n_component <= 8 ? fc_resident<2 * A::n_component * norm_width<A>> : 1;

// Feature v of every component.
template <int V, int D>
__device__ __forceinline__ void pick_feature(const features<V> (&f)[D], int v, float (&one)[D])
{
#pragma unroll
    for (int k = 0; k < D; k++) {
        one[k] = f[k].at[v];
    }
}

// Sums over a row's group; shared: partials_per_block() of the block.
template <int M>
__device__ __forceinline__ void sum_row(float (&sums)[M], const row_group &group, float *shared)
{
    const int n_warp = group.lanes < 32 ? 0 : group.lanes / 32;
    sum_over_group(sums, group, shared + group.index * power_of_two_from(M) * n_warp);
}

// sums becomes r.
template <typename A>
__device__ __forceinline__ void roots_of_sums(const fc_chunk &c, float (&sums)[A::n_grade])
{
    squares_of_sums<A::n_grade>(c.metric, 1.0f / float(c.n_out), c.eps, sums);
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        sums[g] = c.normalize ? sqrtf(sums[g]) : 1.0f;
    }
}

template <typename A, typename T>
__global__ void __launch_bounds__(fc_max_threads) norm_kernel(const __grid_constant__ fc_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = norm_width<A>;
    __shared__ float partials[partials_per_block(A::n_grade, fc_max_threads)];
    const fc_chunk &c = task.c;
    const row_group group(task.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_out : 0;
    const int stride = group.lanes * V;
    wait_for_previous();
    let_next_start();
    features<V> o[A::n_component];
    float sums[A::n_grade] = {};
#pragma unroll 1
    for (int n0 = group.lane * V; n0 < c.n_out; n0 += stride) {
        load_features<float>(o, c.product, task.are_packs, read_row, n0, n);
#pragma unroll
        for (int v = 0; v < V; v++) {
            float one[A::n_component];
            pick_feature(o, v, one);
            add_statistic(A(), c.metric, one, sums);
        }
    }
    sum_row(sums, group, partials);
    roots_of_sums<A>(c, sums);
    if (group.lane == 0 && is_row && c.statistics != nullptr) {
#pragma unroll
        for (int g = 0; g < A::n_grade; g++) {
            c.statistics[g * c.stride_statistics + row] = sums[g];
        }
    }
#pragma unroll 1
    for (int n0 = group.lane * V; n0 < n; n0 += stride) {
        if (c.n_out > stride) {
            load_features<float>(o, c.product, task.are_packs, row, n0, n);
        }
        T *to = first_item<T>(c.out, row, n0);
#pragma unroll
        for (int k = 0; k < A::n_component; k++, to += c.out.stride[0]) {
            store_features(to, task.are_packs, c.out.stride[2], n0, n,
                           o[k] * (1.0f / sums[A::grade(k)]));
        }
    }
#endif
}

// What norm_gradient takes, from z = o / r: h = (gz - e z mean of gz z) / r.
template <typename A>
__device__ __forceinline__ row_norm<A::n_grade, float>
norm_of_result(const fc_chunk &c, int64_t row, float (&dots)[A::n_grade])
{
    row_norm<A::n_grade, float> norm;
    join_grades<A::n_grade>(c.metric, dots);
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        const float r = __ldcg(c.statistics + g * c.stride_statistics + row);
        norm.inverse[g] = 1.0f / r;
        norm.dot[g] = is_free_root(c.metric, c.eps, r) ? dots[g] / float(c.n_out) : 0.0f;
    }
    return norm;
}

// gz becomes h.
template <typename A, int V>
__device__ __forceinline__ void
through_norm(const fc_chunk &c, const row_norm<A::n_grade, float> &norm,
             features<V> (&gz)[A::n_component], const features<V> (&z)[A::n_component])
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        float one_gz[A::n_component], one_z[A::n_component], h[A::n_component];
        pick_feature(gz, v, one_gz);
        pick_feature(z, v, one_z);
        norm_gradient(A(), c.metric, norm, 1.0f, one_z, one_gz, h);
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            gz[k].at[v] = h[k];
        }
    }
}

template <typename A, int V>
__device__ __forceinline__ void add_dots(const features<V> (&gz)[A::n_component],
                                         const features<V> (&z)[A::n_component],
                                         float (&dots)[A::n_grade])
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        float one_gz[A::n_component], one_z[A::n_component];
        pick_feature(gz, v, one_gz);
        pick_feature(z, v, one_z);
        add_products(A(), one_gz, one_z, dots);
    }
}

template <int V, int D>
__device__ __forceinline__ void store_gradients(const fc_chunk &c, int64_t row, int n0,
                                                const features<V> (&h)[D], int exponent)
{
    __half *to = c.gradients + row * c.out_pitch + n0;
#pragma unroll
    for (int k = 0; k < D; k++, to += c.stride_gradient) {
        store_halves(to, h[k] * clifford_mma::scale_to_half(exponent));
    }
}

// A result that was made again comes from the last kernel.
__device__ __forceinline__ bool is_read_early(const fc_chunk &c)
{
    return c.are_inputs_ready && c.saved_out.data != c.product.data;
}

__device__ __forceinline__ void start_common_exponent(const fc_chunk &c)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *c.common_exponent = INT_MIN;
    }
}

template <typename A, typename T, typename Z, int V>
__device__ __forceinline__ void load_gradients(const fc_task &task, int64_t row, int n0, int n,
                                               features<V> (&gz)[A::n_component],
                                               features<V> (&z)[A::n_component])
{
    const fc_chunk &c = task.c;
    if (c.normalize) {
        load_features<T, Z>(gz, c.grad_out, z, c.saved_out, task.are_packs, row, n0, n);
    } else {
        load_features<T>(gz, c.grad_out, task.are_packs, row, n0, n);
    }
}

__device__ __forceinline__ void store_exponent(const fc_chunk &c, const row_group &group,
                                               int64_t row, int exponent)
{
    if (group.lane == 0) {
        c.gradient_exponent[row] = exponent - clifford_mma::half_exponent;
    }
}

// T: of the gradient, Z: of the saved result.
template <typename A, typename T, typename Z>
__global__ void __launch_bounds__(fc_max_threads, gradient_resident<A>)
    gradient_kernel(const __grid_constant__ fc_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = norm_width<A>, D = A::n_component;
    __shared__ float partials[partials_per_block(A::n_grade, fc_max_threads)];
    __shared__ maxima<1> largest[fc_max_threads / 32];
    const fc_chunk &c = task.c;
    const row_group group(task.lanes);
    const int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    const bool is_row = row < c.n_row;
    const int64_t read_row = is_row ? row : 0;
    const int n = is_row ? c.n_out : 0;
    const int stride = group.lanes * V;
    const int first_round = c.normalize ? 0 : 1;
    const bool again = c.n_out > stride;
    if (!is_read_early(c)) {
        wait_for_previous();
    }
    features<V> gz[D], z[D];
    float dots[A::n_grade] = {};
    row_norm<A::n_grade, float> norm = {};
    maxima<1> most = {};
    int exponent = 0;
    // Sums of the norm, then the largest gradient, then the items.
#pragma unroll 1
    for (int round = first_round; round < 3; round++) {
#pragma unroll 1
        for (int n0 = group.lane * V; n0 < c.n_out; n0 += stride) {
            if (round == first_round || again) {
                load_gradients<A, T, Z>(task, read_row, n0, n, gz, z);
            }
            if (round == 0) {
                add_dots<A>(gz, z, dots);
            } else if (c.normalize && (round == 1 || again)) {
                through_norm<A>(c, norm, gz, z);
            }
            if (round == 1) {
                most.at[0] = largest_of(peaks_of(gz), most.at[0]);
            }
            if (round == 2 && is_row) {
                store_gradients(c, row, n0, gz, exponent);
            }
        }
        if (round == first_round) {
            wait_for_previous();
            let_next_start();
        }
        if (round == 0) {
            sum_row(dots, group, partials);
            norm = norm_of_result<A>(c, read_row, dots);
        }
        if (round == 1) {
            exponent = clifford_mma::exponent_of(max_over_group(most, group, largest).at[0]);
        }
    }
    start_common_exponent(c);
    if (is_row) {
        store_exponent(c, group, row, exponent);
    }
#endif
}

// The same for rows that come as strips.
template <typename A, typename T, typename Z>
__global__ void __launch_bounds__(fc_max_threads, gradient_resident<A>)
    gradient_strips_kernel(const __grid_constant__ fc_task task)
{
#if TESS_CUDA_HAS_MATRIX
    constexpr int V = norm_width<A>;
    constexpr int D = A::n_component;
    constexpr int n_partial = partials_per_block(A::n_grade, fc_max_threads);
    __shared__ float partials[n_partial];
    __shared__ maxima<1> largest[2][fc_max_threads / 32];
    __shared__ uint64_t barriers[fc_max_slot_groups];
    extern __shared__ __align__(128) unsigned char slots[];
    const fc_chunk &c = task.c;
    const row_group group = group_of_warps(task.lanes);
    const slot_of_two<T, Z, D> strips = {uint32_t(c.n_out), c.normalize != 0};
    row_slot slot(slots + group.index * strips.bytes(), barriers + group.index, group);
    start_slots(group, {&slot});
    const int64_t step = int64_t(gridDim.x) * group.count;
    const bool is_fetching = slot.is_fetching();
    const int n0 = group.lane * V;
    int64_t row = int64_t(blockIdx.x) * group.count + group.index;
    if (!is_read_early(c)) {
        wait_for_previous();
    }
    if (is_fetching && row < c.n_row) {
        strips.fetch(slot, c.grad_out, c.saved_out, row);
    }
    wait_for_previous();
    let_next_start();
    start_common_exponent(c);
    for (int turn = 0; row < c.n_row; row += step, turn ^= 1) {
        features<V> gz[D];
        features<V> z[D];
        strips.read(slot, gz, z, n0);
        if (c.normalize) {
            float dots[A::n_grade] = {};
            add_dots<A>(gz, z, dots);
            sum_row(dots, group, partials + turn * (n_partial / 2));
            through_norm<A>(c, norm_of_result<A>(c, row, dots), gz, z);
        }
        const maxima<1> most =
            max_over_group<1>({largest_of(peaks_of(gz), 0)}, group, largest[turn]);
        if (is_fetching && row + step < c.n_row) {
            strips.fetch(slot, c.grad_out, c.saved_out, row + step);
        }
        const int exponent = clifford_mma::exponent_of(most.at[0]);
        store_exponent(c, group, row, exponent);
        if (n0 < c.n_out) {
            store_gradients(c, row, n0, gz, exponent);
        }
    }
#endif
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename A, typename T>
cudaError_t norm_type(cudaStream_t stream, const fc_chunk &c)
{
    constexpr int V = norm_width<A>;
    const fc_task task = {c, fc_lanes_for<V>(c.n_out),
                          fc_are_packs<float, V>(c.product, c.n_out) &&
                              fc_are_packs<T, V>(c.out, c.n_out)};
    return fc_launch(stream, norm_kernel<A, T>, task);
}

template <typename A, typename T, typename Z>
cudaError_t gradient_type(cudaStream_t stream, const fc_chunk &c)
{
    constexpr int V = norm_width<A>;
    const fc_task task = {c, fc_lanes_for<V>(c.n_out),
                          fc_are_packs<T, V>(c.grad_out, c.n_out) &&
                              fc_are_packs<Z, V>(c.saved_out, c.n_out)};
    if constexpr (fc_has_strips<A>) {
        constexpr int resident = 2; // all rows of 512 at once
        const slot_of_two<T, Z, A::n_component> strips = {uint32_t(c.n_out), c.normalize != 0};
        if (fc_are_strips<T, V>(c.grad_out, c.n_out) && fc_are_strips<Z, V>(c.saved_out, c.n_out) &&
            fc_slots_fit(task, strips.bytes(), resident)) {
            return fc_launch_slots(stream, gradient_strips_kernel<A, T, Z>, task, task,
                                   strips.bytes(), resident);
        }
    }
    return fc_launch(stream, gradient_kernel<A, T, Z>, task);
}

template <typename A>
cudaError_t fc_norm_rows(cudaStream_t stream, const fc_chunk &c)
{
    return c.out_dtype == TESS_F16    ? norm_type<A, __half>(stream, c)
           : c.out_dtype == TESS_BF16 ? norm_type<A, __nv_bfloat16>(stream, c)
                                      : norm_type<A, float>(stream, c);
}

template <typename A, typename T>
cudaError_t gradient_saved(cudaStream_t stream, const fc_chunk &c)
{
    return c.saved_dtype == TESS_F32 ? gradient_type<A, T, float>(stream, c)
                                     : gradient_type<A, T, T>(stream, c);
}

template <typename A>
cudaError_t fc_gradient_rows(cudaStream_t stream, const fc_chunk &c)
{
    return c.dtype == TESS_F16    ? gradient_saved<A, __half>(stream, c)
           : c.dtype == TESS_BF16 ? gradient_saved<A, __nv_bfloat16>(stream, c)
                                  : gradient_saved<A, float>(stream, c);
}

} // namespace clifford

#endif
