// Stage clifford.fcgp on tensor cores: the norm, forward, and backward to packed f16.

#include "backend/cuda/clifford_fcgp_pack.cuh"

namespace
{

using namespace clifford_fcgp;

constexpr int finish_threads = 256;

struct component_grades {
    uint8_t of[8];
};

// What the backward pass of the norm reads: gradient and result, the latter as T or as f32.
template <typename T>
struct gradient_views {
    view<const T> grad_out;
    view<const T> saved;
    view<const float> saved_f32;
    const float *statistics; // NULL: no norm
    bool vector;
    bool is_clamp;
    float least_root; // of clamp: where r is not larger, it does not depend on the product
};

template <typename A, typename T>
__device__ __forceinline__ void
load_gradient(values (&gz)[A::n_component], values (&z)[A::n_component],
              const gradient_views<T> &in, const extents &e, int64_t b, int c)
{
    const int64_t row = b < e.n_row ? b : 0;
    const int64_t n_feature = b < e.n_row ? e.n_out : 0;
    const int64_t n0 = int64_t(c) * chunk;
    load_chunks(gz, in.grad_out, in.vector, row, n0, n_feature);
    if (in.statistics == nullptr) {
        return;
    }
    if (in.saved_f32.data != nullptr) {
        load_chunks(z, in.saved_f32, in.vector, row, n0, n_feature);
    } else {
        load_chunks(z, in.saved, in.vector, row, n0, n_feature);
    }
}

// The sum over the threads of a row; parts: [warp][row].
__device__ __forceinline__ float row_sum(const sharing &s, float value,
                                         float (&parts)[pack_threads / 32][max_rows])
{
    for (int step = s.rows(); step < 32; step *= 2) {
        value += __shfl_xor_sync(all_lanes, value, step);
    }
    __syncthreads();
    if (int(threadIdx.x) % 32 < s.rows()) {
        parts[threadIdx.x / 32][threadIdx.x % 32] = value;
    }
    __syncthreads();
    float sum = parts[0][int(threadIdx.x) % s.rows()];
    for (int warp = 1; warp < pack_threads / 32; warp++) {
        sum += parts[warp][int(threadIdx.x) % s.rows()];
    }
    return sum;
}

// gz becomes h = (gz - z d) / r.
template <typename A>
__device__ __forceinline__ void
apply_norm(values (&gz)[A::n_component], const values (&z)[A::n_component],
           const float (&mean)[A::n_grade], const float (&root)[A::n_grade])
{
    unrolled<A::n_component>([&](auto component) {
        constexpr int k = decltype(component)::value;
        constexpr int g = A::grade[k];
#pragma unroll
        for (int i = 0; i < chunk; i++) {
            gz[k][i] = fmaf(-z[k][i], mean[g], gz[k][i]) / root[g];
        }
    });
}

// Means over the row of gradient times result, per grade, and the roots.
template <typename A, typename T>
__device__ __forceinline__ void norm_means(const gradient_views<T> &in, const extents &e,
                                           const sharing &s, int64_t b, float (&sums)[A::n_grade],
                                           float (&root)[A::n_grade],
                                           float (&parts)[pack_threads / 32][max_rows])
{
    float all = 0;
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        root[g] = b < e.n_row ? in.statistics[g * e.n_row + b] : 1.0f;
        sums[g] = row_sum(s, sums[g], parts) / float(e.n_out);
        all += sums[g];
    }
    if (in.is_clamp) {
#pragma unroll
        for (int g = 0; g < A::n_grade; g++) {
            sums[g] = root[g] > in.least_root ? all : 0.0f;
        }
    }
}

// 8 features of a row to both packed forms.
template <typename A>
__device__ __forceinline__ void store_gradients(const packed &data, const extents &e,
                                                const values (&gz)[A::n_component], int64_t b,
                                                int c, float scale)
{
    unrolled<A::n_component>([&](auto component) {
        constexpr int k = decltype(component)::value;
        constexpr int pass = A::pass_of[A::grade[k]];
        constexpr int first = first_component<A>(pass);
        constexpr int n = components_before<A>(pass, A::n_component);
        constexpr int own = components_before<A>(pass, k);
        const int64_t quad = ((b / 16 * e.out_steps + c / 2) * A::n_component + k) * 256;
        store_chunk(data.gradients_by_row + quad + (c % 2 * 2 + b / 8 % 2) * 64 + b % 8 * 8, gz[k],
                    scale);
        // Items of the passes before, of this row block.
        const int64_t before = (b / row_block * A::n_component + first) * e.out_steps;
        store_chunk(data.gradients + before * row_block * step_size +
                        packed_at(b % row_block, c, e.out_steps, n, own),
                    gz[k], scale);
    });
}

template <typename A, typename T>
__global__ void __launch_bounds__(pack_threads)
    gradients_kernel(const __grid_constant__ gradient_views<T> in, extents e, sharing s,
                     packed data)
{
    __shared__ unsigned most[max_rows];
    __shared__ float parts[pack_threads / 32][max_rows];
    const int in_block = int(threadIdx.x) % s.rows();
    const int lane = int(threadIdx.x) / s.rows();
    const int64_t b = int64_t(blockIdx.x) * s.rows() + in_block;
    const bool again = s.n_chunk > s.per_row();
    if (threadIdx.x < max_rows) {
        most[threadIdx.x] = 0;
    }
    __syncthreads();
    values gz[A::n_component] = {};
    values z[A::n_component] = {};
    float sums[A::n_grade] = {};
    float root[A::n_grade];
    if (in.statistics != nullptr) {
        for (int c = lane; c < s.n_chunk; c += s.per_row()) {
            load_gradient<A>(gz, z, in, e, b, c);
            unrolled<A::n_component>([&](auto component) {
                constexpr int k = decltype(component)::value;
                constexpr int g = A::grade[k];
#pragma unroll
                for (int i = 0; i < chunk; i++) {
                    sums[g] = fmaf(gz[k][i], z[k][i], sums[g]);
                }
            });
        }
        norm_means<A>(in, e, s, b, sums, root, parts);
    }
    unsigned largest = 0;
    for (int c = lane; c < s.n_chunk; c += s.per_row()) {
        if (again || in.statistics == nullptr) {
            load_gradient<A>(gz, z, in, e, b, c);
        }
        if (in.statistics != nullptr) {
            apply_norm<A>(gz, z, sums, root);
        }
        largest = max(largest, largest_of(gz));
    }
    const int exponent = exponent_of(row_max(s, largest, &most[in_block]));
    for (int c = lane; c < s.n_chunk; c += s.per_row()) {
        if (again) {
            load_gradient<A>(gz, z, in, e, b, c);
            if (in.statistics != nullptr) {
                apply_norm<A>(gz, z, sums, root);
            }
        }
        store_gradients<A>(data, e, gz, b, c, scale_to_half(exponent));
    }
    if (lane == 0) {
        data.gradient_exponent[b] = exponent - half_exponent;
    }
    if (lane == 0 && b < e.n_row) {
        atomicMax(data.largest_exponent, exponent - half_exponent + data.input_exponent[b]);
    }
}

// Mean square of a row and grade, from the sums of blocks of columns; by a warp.
__device__ __forceinline__ float mean_square(const float *squares, const extents &e, int n_grade,
                                             int g, int64_t b, int lane)
{
    float sum = 0;
    for (int64_t block = lane; block * col_block < e.n_out; block += 32) {
        sum += squares[(block * n_grade + g) * e.n_row + b];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(all_lanes, sum, step);
    }
    return sum / float(e.n_out);
}

template <typename A>
__device__ __forceinline__ float root_of(const float *squares, const extents &e, int metric,
                                         float eps, int g, int64_t b, int lane)
{
    if (metric != TESS_CL_NORM_CLAMP) {
        return sqrtf(mean_square(squares, e, A::n_grade, g, b, lane) + eps);
    }
    float all = 0;
    for (int i = 0; i < A::n_grade; i++) {
        all += mean_square(squares, e, A::n_grade, i, b, lane);
    }
    return sqrtf(all > eps || all != all ? all : eps);
}

// Four features where vector, else one.
template <typename T>
__device__ __forceinline__ void scale_items(const float *from, T *to, bool vector, float root)
{
    if (!vector) {
        *to = from_math<T>(*from / root);
        return;
    }
    struct alignas(4 * sizeof(T)) four {
        T item[4];
    };
    const float4 o = *reinterpret_cast<const float4 *>(from);
    *reinterpret_cast<four *>(to) = {{from_math<T>(o.x / root), from_math<T>(o.y / root),
                                      from_math<T>(o.z / root), from_math<T>(o.w / root)}};
}

// out = product / r. A warp has a component of a row, a block neighbouring rows of one component:
// memory is read and written in long runs.
template <typename A, typename T>
__global__ void __launch_bounds__(finish_threads)
    finish_kernel(view<float> product, const float *squares, view<T> out, float *statistics,
                  extents e, bool vector, int metric, float eps,
                  const __grid_constant__ component_grades grades)
{
    const int lane = int(threadIdx.x) % 32;
    const int k = int(blockIdx.y);
    const int g = grades.of[k];
    const int64_t b = int64_t(blockIdx.x) * (finish_threads / 32) + threadIdx.x / 32;
    if (b >= e.n_row) {
        return;
    }
    const float root = metric < 0 ? 1.0f : root_of<A>(squares, e, metric, eps, g, b, lane);
    if (lane == 0 && statistics != nullptr && (k == 0 || grades.of[k - 1] != g)) {
        statistics[g * e.n_row + b] = root;
    }
    const float *from = &product.at(k, b, 0);
    T *const to = &out.at(k, b, 0);
    const int width = vector ? 4 : 1;
#pragma unroll 4
    for (int64_t n = lane * width; n < e.n_out; n += 32 * width) {
        scale_items(from + n * product.stride[2], to + n * out.stride[2], vector, root);
    }
}

} // namespace

namespace clifford_fcgp
{

template <typename A, typename T>
cudaError_t pack_gradients(cudaStream_t stream, const tess_stage_clifford_fcgp &a, const extents &e,
                           const packed &data, view<const float> saved_f32, const float *statistics)
{
    const tess_cl_problem &p = a.problem;
    const sharing s = sharing_of(e.out_steps);
    gradient_views<T> in = {view_of<const T>(a.grad_out),
                            view_of<const T>(a.saved_out),
                            saved_f32,
                            p.normalize ? statistics : nullptr,
                            false,
                            p.norm_metric == TESS_CL_NORM_CLAMP,
                            sqrtf(float(p.eps))};
    in.vector = is_vector(in.grad_out, chunk, e.n_out) &&
                (saved_f32.data != nullptr ? is_vector(saved_f32, chunk, e.n_out)
                                           : is_vector(in.saved, chunk, e.n_out));
    cudaError_t error = cudaMemsetAsync(data.largest_exponent, 0x80, sizeof(int), stream);
    if (error == cudaSuccess) {
        gradients_kernel<A, T>
            <<<unsigned(e.row_blocks * row_block / s.rows()), pack_threads, 0, stream>>>(in, e, s,
                                                                                         data);
        error = cudaGetLastError();
    }
    return error;
}

template <typename A, typename T>
cudaError_t finish_norm(cudaStream_t stream, const tess_cl_problem &p, const extents &e,
                        view<float> product, const float *squares, view<T> out, float *statistics)
{
    const bool vector = is_vector(product, 4, e.n_out) && is_vector(out, 4, e.n_out);
    component_grades grades = {};
    for (int k = 0; k < A::n_component; k++) {
        grades.of[k] = p.algebra->grade[k];
    }
    const dim3 grid(unsigned(blocks_of(e.n_row, finish_threads / 32)), A::n_component);
    finish_kernel<A, T><<<grid, finish_threads, 0, stream>>>(
        product, squares, out, statistics, e, vector, p.normalize ? p.norm_metric : -1,
        float(p.eps), grades);
    return cudaGetLastError();
}

#define INSTANTIATE(A, T)                                                                          \
    template cudaError_t pack_gradients<A, T>(cudaStream_t, const tess_stage_clifford_fcgp &,      \
                                              const extents &, const packed &, view<const float>,  \
                                              const float *);                                      \
    template cudaError_t finish_norm<A, T>(cudaStream_t, const tess_cl_problem &, const extents &, \
                                           view<float>, const float *, view<T>, float *);
INSTANTIATE(cl20, float)
INSTANTIATE(cl20, __half)
INSTANTIATE(cl20, __nv_bfloat16)
INSTANTIATE(cl30, float)
INSTANTIATE(cl30, __half)
INSTANTIATE(cl30, __nv_bfloat16)

} // namespace clifford_fcgp
