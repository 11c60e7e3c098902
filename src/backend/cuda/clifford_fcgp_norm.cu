// Stage clifford.fcgp on tensor cores: the norm, forward, and backward to packed f16.

#include "backend/cuda/clifford_fcgp_pack.cuh"

namespace
{

using namespace clifford_fcgp;

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
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        load_chunk(gz[k], in.grad_out, in.vector, k, row, n0, n_feature);
        if (in.statistics == nullptr) {
            continue;
        }
        if (in.saved_f32.data != nullptr) {
            load_chunk(z[k], in.saved_f32, in.vector, k, row, n0, n_feature);
        } else {
            load_chunk(z[k], in.saved, in.vector, k, row, n0, n_feature);
        }
    }
}

// The sum over the threads of a row; parts: [rows][warps of a row].
__device__ __forceinline__ float row_sum(const sharing &s, float value, float *parts)
{
    for (int step = min(s.per_row(), 32) / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(all_lanes, value, step);
    }
    if (s.per_row() <= 32) {
        return value;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = value;
    }
    __syncthreads();
    const int n = s.per_row() / 32;
    const int first = int(threadIdx.x) / 32 / n * n;
    float sum = parts[first];
    for (int i = 1; i < n; i++) {
        sum += parts[first + i];
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
                                           float (&root)[A::n_grade], float *parts)
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

template <typename A, typename T>
__global__ void __launch_bounds__(pack_threads)
    gradients_kernel(const __grid_constant__ gradient_views<T> in, extents e, sharing s,
                     packed data)
{
    __shared__ unsigned most[max_rows];
    __shared__ float parts[pack_threads / 32];
    const int in_block = int(threadIdx.x) >> s.log2;
    const int lane = int(threadIdx.x) & (s.per_row() - 1);
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
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            store_chunk(data.gradients + packed_at(b, c, e.out_steps, A::n_component, k), gz[k],
                        scale_to_half(exponent));
        }
    }
    if (lane == 0) {
        data.gradient_exponent[b] = exponent - half_exponent;
    }
    if (lane == 0 && b < e.n_row) {
        atomicMax(data.largest_exponent, exponent - half_exponent + data.input_exponent[b]);
    }
}

// out = product / r for a row per warp; four features at a time where vector.
template <typename A, typename T>
__global__ void __launch_bounds__(pack_threads)
    finish_kernel(view<float> product, const float *squares, view<T> out, float *statistics,
                  extents e, bool vector, int metric, float eps)
{
    const int lane = int(threadIdx.x) % 32;
    const int64_t b = int64_t(blockIdx.x) * (pack_threads / 32) + threadIdx.x / 32;
    if (b >= e.n_row) {
        return;
    }
    float root[A::n_grade];
    float all = 0;
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        float sum = 0;
        for (int64_t block = 0; block * col_block < e.n_out; block++) {
            sum += squares[(block * A::n_grade + g) * e.n_row + b];
        }
        all += sum / float(e.n_out);
        root[g] = metric < 0 ? 1.0f : sqrtf(sum / float(e.n_out) + eps);
    }
#pragma unroll
    for (int g = 0; g < A::n_grade; g++) {
        root[g] =
            metric == TESS_CL_NORM_CLAMP ? sqrtf(all > eps || all != all ? all : eps) : root[g];
        if (lane == 0 && statistics != nullptr) {
            statistics[g * e.n_row + b] = root[g];
        }
    }
    const int width = vector ? 4 : 1;
    for (int64_t n = lane * width; n < e.n_out; n += 32 * width) {
        float o[A::n_component][4];
#pragma unroll
        for (int k = 0; k < A::n_component; k++) {
            const float *from = &product.at(k, b, n);
            if (vector) {
                const float4 loaded = *reinterpret_cast<const float4 *>(from);
                memcpy(o[k], &loaded, sizeof(loaded));
            } else {
                o[k][0] = *from;
            }
        }
        unrolled<A::n_component>([&](auto component) {
            constexpr int k = decltype(component)::value;
            constexpr int g = A::grade[k];
            T *to = &out.at(k, b, n);
            if (vector) {
                T items[4];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    items[i] = from_math<T>(o[k][i] / root[g]);
                }
                if constexpr (sizeof(T) == 4) {
                    *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(items);
                } else {
                    *reinterpret_cast<uint2 *>(to) = *reinterpret_cast<const uint2 *>(items);
                }
            } else {
                *to = from_math<T>(o[k][0] / root[g]);
            }
        });
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
    finish_kernel<A, T>
        <<<unsigned(blocks_of(e.n_row, pack_threads / 32)), pack_threads, 0, stream>>>(
            product, squares, out, statistics, e, vector, p.normalize ? p.norm_metric : -1,
            float(p.eps));
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
