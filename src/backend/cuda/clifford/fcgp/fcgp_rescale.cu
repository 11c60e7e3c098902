// Stage clifford.fcgp on tensor cores: the gradients of a chunk's rows to one scale for all.

#include "backend/cuda/clifford/fcgp/fcgp_features.cuh"

namespace clifford
{

namespace
{

constexpr int threads = 256;
constexpr int width = 8; // items of a thread: rows are whole multiples

struct rescale_task {
    fc_chunk c;
    int64_t per_row; // eights
};

__global__ void __launch_bounds__(threads) rescale_kernel(const __grid_constant__ rescale_task task)
{
#if TESS_CUDA_HAS_MATRIX
    const fc_chunk &c = task.c;
    const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
    const bool is_item = i < c.n_row * task.per_row;
    __half *const at = c.gradients + blockIdx.y * c.stride_gradient + i * width;
    // Written before the last kernel.
    const pack<__half, width> items =
        is_item ? load_fresh<__half, width>(at) : zero_pack<__half, width>();
    const int64_t row = i / task.per_row;
    wait_for_previous();
    let_next_start();
    if (!is_item) {
        return;
    }
    const int own =
        fc_row_exponent(c, __ldcg(c.left_exponent + row), __ldcg(c.right_exponent + row),
                        __ldcg(c.gradient_exponent + row));
    // Less than 2^-60 is zero as f16 anyway.
    const float factor = clifford_mma::power_of_two(max(own - __ldcg(c.common_exponent), -60));
    store_halves(at, widen_pack(items) * factor);
#endif
}

} // namespace

cudaError_t fc_rescale_gradients(cudaStream_t stream, const fc_chunk &c, int32_t n_component)
{
    const int64_t per_row = c.out_pitch / width;
    const rescale_task task = {c, per_row};
    const dim3 grid(unsigned(cl_fc_whole(c.n_row * per_row, threads)), unsigned(n_component));
    return launch_early(rescale_kernel, grid, threads, 0, stream, task);
}

} // namespace clifford
