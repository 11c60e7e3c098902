// Arrays made on the device, and one call over them: what the device's checks and times of the
// weighted product share.
#ifndef TESS_GPU_CLIFFORD_SGP_BIG_CUH
#define TESS_GPU_CLIFFORD_SGP_BIG_CUH

#include "gpu_clifford_arrays.h"

#include "backend/cuda/clifford/common/clifford.cuh"
#include "backend/cuda/clifford/stages.h"

namespace
{

template <typename T>
__global__ void fill_kernel(T *items, int64_t n, uint64_t seed)
{
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x) {
        uint64_t z = (uint64_t(i) + seed * 0x100000001b3ull) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        // Sum of four uniform numbers, of variance 1.
        float sum = -2.0f;
        for (int k = 0; k < 4; k++) {
            sum += float(z >> 16 * k & 65535) * (1.0f / 65536.0f);
        }
        items[i] = clifford::narrow<T>(sum * 1.7320508f);
    }
}

__global__ void differ_kernel(const uint32_t *a, const uint32_t *b, int64_t n,
                              unsigned long long *count)
{
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x) {
        // A word of poison that stayed counts as well.
        if (a[i] != b[i] || a[i] == 0xffffffffu) {
            atomicAdd(count, 1ull);
        }
    }
}

template <typename T>
T *make_items(int64_t n, uint64_t seed)
{
    void *data = nullptr;
    CHECK_CUDA(cudaMalloc(&data, size_t(n) * sizeof(T)));
    if (seed != 0) {
        fill_kernel<<<1024, 256>>>(static_cast<T *>(data), n, seed);
        CHECK_CUDA(cudaGetLastError());
    } else {
        CHECK_CUDA(cudaMemset(data, 0xff, size_t(n) * sizeof(T)));
    }
    return static_cast<T *>(data);
}

unsigned long long count_differences(const void *a, const void *b, int64_t bytes)
{
    unsigned long long *count = nullptr;
    unsigned long long result = 0;
    CHECK_CUDA(cudaMalloc(&count, sizeof(*count)));
    CHECK_CUDA(cudaMemset(count, 0, sizeof(*count)));
    differ_kernel<<<2048, 256>>>(static_cast<const uint32_t *>(a), static_cast<const uint32_t *>(b),
                                 bytes / 4, count);
    CHECK_CUDA(cudaMemcpy(&result, count, sizeof(result), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(count));
    return result;
}

tess_cl_view rows_view(void *data, int64_t n_row, int64_t n)
{
    return {data, {n_row * n, n, 1}};
}

struct big_case {
    const tess_clifford_algebra *algebra;
    int64_t n_row;
    int64_t n;
    float *x, *y, *gz, *w, *gw, *statistics;
    void *scratch;

    tess_stage_clifford_sgp stage(int pass, float *first, float *second) const
    {
        tess_stage_clifford_sgp s;
        memset(&s, 0, sizeof(s));
        s.problem.algebra = algebra;
        s.problem.path_mask = (uint64_t(1) << algebra->n_path) - 1;
        s.problem.n_row = n_row;
        s.problem.n_in = n;
        s.problem.n_out = n;
        s.problem.dtype = TESS_F32;
        s.problem.weight_dtype = TESS_F32;
        s.problem.pass = pass;
        s.problem.activation = TESS_CLIFFORD_GELU;
        s.problem.normalize = 1;
        s.problem.norm_metric = TESS_CLIFFORD_NORM_EUCLID;
        s.problem.eps = 1e-6;
        s.problem.scratch = scratch;
        s.x = rows_view(x, n_row, n);
        s.y = rows_view(y, n_row, n);
        s.weight = {w, {algebra->n_path, 1, 0}};
        s.statistics = statistics;
        if (pass == TESS_CLIFFORD_FORWARD) {
            s.out = rows_view(first, n_row, n);
        } else {
            s.grad_out = rows_view(gz, n_row, n);
            s.grad_x = rows_view(first, n_row, n);
            s.grad_y = rows_view(second, n_row, n);
            s.grad_weight = {gw, {algebra->n_path, 1, 0}};
        }
        return s;
    }
};

} // namespace

#endif
