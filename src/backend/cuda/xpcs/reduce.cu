// Sums of leaves in the tree of fixed shape.
//
// A block has 32 sums of one stretch; its leaves come to shared memory, up to 128 at a time, and
// are added by pairs there. What is left of a long stretch is added by pairs where it lies.

#include "backend/cuda/xpcs/stages.h"
#include "stage/xpcs.h"

namespace
{

constexpr int columns = 32, rows = 16, most = 128;

// Where stretch number `which` begins, counted from the first leaf, and its length.
__device__ int64_t find_stretch(const tess_stage_xpcs_reduce &a, int64_t which, int64_t *length)
{
    int64_t at = 0;
    for (int64_t k = 0;; k++, at += *length) {
        *length = 1;
        while ((a.first + at) % (2 * *length) == 0 && at + 2 * *length <= a.n_leaf) {
            *length *= 2;
        }
        if (k == which) {
            return at;
        }
    }
}

__global__ void __launch_bounds__(columns *rows) reduce_kernel(tess_stage_xpcs_reduce a)
{
    __shared__ double leaves[most][columns];
    const int64_t x = int64_t(blockIdx.x) * columns + threadIdx.x;
    const int row = threadIdx.y;
    int64_t length;
    const int64_t at = find_stretch(a, blockIdx.y, &length);
    double *sums = a.sums + (blockIdx.z * a.n_leaf + at) * a.n_sum + x;
    const bool is_there = x < a.n_sum;
    const int n = int(length < most ? length : most);
    for (int64_t begin = 0; begin < length; begin += n) {
        for (int k = row; k < n; k += rows) {
            leaves[k][threadIdx.x] = is_there ? sums[(begin + k) * a.n_sum] : 0;
        }
        for (int step = 1; step < n; step *= 2) {
            __syncthreads();
            for (int k = row * 2 * step; k < n; k += rows * 2 * step) {
                leaves[k][threadIdx.x] += leaves[k + step][threadIdx.x];
            }
        }
        __syncthreads();
        if (row == 0 && is_there) {
            sums[begin * a.n_sum] = leaves[0][threadIdx.x];
        }
        __syncthreads();
    }
    for (int64_t step = n; step < length && row == 0 && is_there; step *= 2) {
        for (int64_t k = 0; k < length; k += 2 * step) {
            sums[k * a.n_sum] += sums[(k + step) * a.n_sum];
        }
    }
    if (row == 0 && is_there) {
        a.out[(blockIdx.z * a.n_stretch + blockIdx.y) * a.n_sum + x] = sums[0];
    }
}

cudaError_t reduce_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_reduce *>(args);
    if (a.n_leaf == 0 || a.n_set == 0) {
        return cudaSuccess;
    }
    const dim3 blocks(unsigned((a.n_sum + columns - 1) / columns), unsigned(a.n_stretch),
                      unsigned(a.n_set));
    reduce_kernel<<<blocks, dim3(columns, rows), 0, stream>>>(a);
    return cudaGetLastError();
}

tess_status reduce_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t reduce_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_reduce = {
    TESS_STAGE_XPCS_REDUCE, "xpcs.reduce",        sizeof(tess_stage_xpcs_reduce),
    reduce_supports,        reduce_scratch_bytes, reduce_launch,
};
