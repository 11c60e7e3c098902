// Stage clifford.fcgp on tensor cores: weights to f16 with one exact scale for all, and gradients
// of weights from f32 to their type.

#include "backend/cuda/clifford.cuh"
#include "backend/cuda/clifford_fcgp_weights.cuh"
#include "backend/cuda/clifford_mma.cuh"

namespace clifford
{

namespace
{

constexpr int threads = 256;
constexpr int width = 8;    // weights of a thread at a time
constexpr int batch = 5;    // times, all on their way before the first is used
constexpr int resident = 4; // blocks of a multiprocessor
static_assert(fc_weight_blocks == resident * n_multiprocessor, "one wave");

__device__ __forceinline__ bool takes(const fc_weights &p, uint32_t line)
{
    return (p.path_mask >> (line / uint32_t(p.n_in)) & 1) != 0;
}

// Some eights of weights, a step apart. Lines of paths outside the mask are zeros and not stored.
template <typename W>
class weight_batch
{
  public:
    __device__ __forceinline__ weight_batch(const fc_weights &p, uint32_t first)
        : p_(p), per_line_(uint32_t(p.n_out + width - 1) / width),
          n_(uint32_t(p.n_line) * per_line_), first_(first)
    {
    }
    __device__ __forceinline__ bool is_any() const
    {
        return first_ < n_;
    }
    __device__ __forceinline__ void move_on()
    {
        first_ += batch * step();
    }
    // No branches between the loads of a batch: they wait together.
    __device__ __forceinline__ void load()
    {
        if (!p_.are_packs) {
            load_items();
            return;
        }
        pack<W, part> items[batch][width / part];
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const uint32_t line = line_of(b);
            const W *const at = first_item(line, first_of(b, line));
            const bool is_there = has(b, line);
#pragma unroll
            for (int i = 0; i < width / part; i++) {
                items[b][i] = is_there ? load_pack<W, part>(at + i * part) : zero_pack<W, part>();
            }
        }
#pragma unroll
        for (int b = 0; b < batch; b++) {
#pragma unroll
            for (int i = 0; i < width; i++) {
                w_[b][i] = widen(items[b][i / part].at[i % part]);
            }
        }
    }
    __device__ __forceinline__ uint32_t largest(uint32_t most) const
    {
#pragma unroll
        for (int b = 0; b < batch; b++) {
#pragma unroll
            for (int i = 0; i < width; i++) {
                most = max(most, clifford_mma::magnitude(w_[b][i]));
            }
        }
        return most;
    }
    __device__ __forceinline__ void store(float scale)
    {
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const uint32_t line = line_of(b);
            if (has(b, line)) {
#pragma unroll
                for (int i = 0; i < width; i++) {
                    w_[b][i] *= scale;
                }
                store_pack<__half, width>(p_.packed + line * p_.out_pitch + first_of(b, line),
                                          narrow_pack<__half, width>(w_[b]));
            }
        }
    }

  private:
    static constexpr int part = 16 / int(sizeof(W)); // weights of 16 bytes

    __device__ __forceinline__ static uint32_t step()
    {
        return gridDim.x * threads;
    }
    __device__ __forceinline__ uint32_t line_of(int b) const
    {
        return (first_ + b * step()) / per_line_;
    }
    __device__ __forceinline__ uint32_t first_of(int b, uint32_t line) const
    {
        return (first_ + b * step() - line * per_line_) * width;
    }
    __device__ __forceinline__ bool has(int b, uint32_t line) const
    {
        return first_ + b * step() < n_ && takes(p_, line);
    }
    __device__ __forceinline__ const W *first_item(uint32_t line, uint32_t n0) const
    {
        const uint32_t path = line / uint32_t(p_.n_in);
        return static_cast<const W *>(p_.weight.data) + path * p_.weight.stride[0] +
               (line - path * p_.n_in) * p_.weight.stride[1] + n0 * p_.weight.stride[2];
    }
    __device__ __forceinline__ void load_items()
    {
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const uint32_t line = line_of(b);
            const uint32_t n0 = first_of(b, line);
            const W *const at = first_item(line, n0);
#pragma unroll
            for (int i = 0; i < width; i++) {
                w_[b][i] = has(b, line) && int(n0) + i < p_.n_out
                               ? widen(at[i * p_.weight.stride[2]])
                               : 0.0f;
            }
        }
    }

    const fc_weights &p_;
    uint32_t per_line_, n_, first_;
    float w_[batch][width];
};

// The largest of a value over the block, for all its threads.
__device__ __forceinline__ uint32_t max_over_block(uint32_t value)
{
    __shared__ uint32_t partials[threads / 32];
    value = __reduce_max_sync(all_lanes, value);
    if (threadIdx.x % 32 == 0) {
        partials[threadIdx.x / 32] = value;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < threads / 32; i++) {
        value = max(value, partials[i]);
    }
    return value;
}

template <typename W>
__global__ void __launch_bounds__(threads, resident)
    largest_kernel(const __grid_constant__ fc_weights p)
{
    wait_for_previous();
    let_next_start();
    uint32_t most = 0;
    weight_batch<W> weights(p, blockIdx.x * threads + threadIdx.x);
    for (; weights.is_any(); weights.move_on()) {
        weights.load();
        most = weights.largest(most);
    }
    most = max_over_block(most);
    if (threadIdx.x == 0) {
        p.partials[blockIdx.x] = most;
    }
}

// Lines of out_pitch halves; what lies behind n_out is never read. The first weights are read while
// the kernel before still looks for the largest: it writes none.
template <typename W>
__global__ void __launch_bounds__(threads, resident)
    weights_kernel(const __grid_constant__ fc_weights p)
{
    weight_batch<W> weights(p, blockIdx.x * threads + threadIdx.x);
    weights.load();
    wait_for_previous();
    let_next_start();
    uint32_t most = 0;
    for (int i = int(threadIdx.x); i < fc_weight_blocks; i += threads) {
        most = max(most, __ldcg(p.partials + i));
    }
    const int exponent = clifford_mma::exponent_of(max_over_block(most));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *p.exponent = exponent - clifford_mma::half_exponent;
    }
    const float scale = clifford_mma::scale_to_half(exponent);
    while (weights.is_any()) {
        weights.store(scale);
        weights.move_on();
        if (weights.is_any()) {
            weights.load();
        }
    }
}

struct narrow_args {
    const float *from; // [line][n_out]
    tess_cl_view to;
    int64_t n_line;
    int32_t n_in, n_out;
};

template <typename W>
__global__ void __launch_bounds__(threads) narrow_kernel(const __grid_constant__ narrow_args p)
{
    wait_for_previous();
    let_next_start();
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.n_line * p.n_out;
         i += int64_t(gridDim.x) * threads) {
        const int64_t line = i / p.n_out;
        const int64_t path = line / p.n_in;
        narrow(__ldcg(p.from + i),
               static_cast<W *>(
                   p.to.data)[path * p.to.stride[0] + (line - path * p.n_in) * p.to.stride[1] +
                              (i - line * p.n_out) * p.to.stride[2]]);
    }
}

template <typename W>
cudaError_t pack_type(cudaStream_t stream, fc_weights p)
{
    const tess_cl_view &w = p.weight;
    constexpr int half = 16 / int(sizeof(W));
    p.are_packs = w.stride[2] == 1 && w.stride[0] % half == 0 && w.stride[1] % half == 0 &&
                  p.n_out % width == 0 && reinterpret_cast<uintptr_t>(w.data) % 16 == 0;
    const dim3 grid(fc_weight_blocks);
    const cudaError_t error = launch_early(largest_kernel<W>, grid, threads, 0, stream, p);
    return error != cudaSuccess ? error
                                : launch_early(weights_kernel<W>, grid, threads, 0, stream, p);
}

} // namespace

cudaError_t fc_pack_weights(cudaStream_t stream, const fc_weights &p, int32_t dtype)
{
    return dtype == TESS_F16    ? pack_type<__half>(stream, p)
           : dtype == TESS_BF16 ? pack_type<__nv_bfloat16>(stream, p)
                                : pack_type<float>(stream, p);
}

cudaError_t fc_narrow_weights(cudaStream_t stream, const float *from, const tess_cl_view &to,
                              int64_t n_line, int32_t n_in, int32_t n_out, int32_t dtype)
{
    const narrow_args args = {from, to, n_line, n_in, n_out};
    const dim3 grid(4 * fc_weight_blocks);
    return dtype == TESS_F16
               ? launch_early(narrow_kernel<__half>, grid, threads, 0, stream, args)
               : launch_early(narrow_kernel<__nv_bfloat16>, grid, threads, 0, stream, args);
}

} // namespace clifford
