// Spikes into rows of time: log likelihoods of rows from the values of their spikes.
//
// A thread has a bin of a row, which adds its spikes in their order; the values of some are on
// their way together. Reading the values and writing the rows is all it costs.

#include "backend/cuda/decode/stages.h"
#include "stage/decode_likelihood.h"

namespace
{

constexpr int threads = 128;
constexpr int64_t max_rows = 65535;

template <typename value_t, typename out_t>
__global__ void __launch_bounds__(threads) rows_kernel(tess_stage_decode_rows a)
{
    const value_t *values = static_cast<const value_t *>(a.values);
    const int64_t p = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (p >= a.n_bin) {
        return;
    }
    for (int64_t row = blockIdx.y; row < a.n_row; row += gridDim.y) {
        const int64_t first = a.row_first[row];
        const int64_t end = a.row_first[row + 1];
        double sum = -a.scale * a.intensity[p];
#pragma unroll 8
        for (int64_t k = first; k < end; k++) {
            const int64_t item = a.item[k];
            sum += item < 0 ? a.unheard_value : double(values[item * a.n_bin + p]);
        }
        static_cast<out_t *>(a.out)[row * a.n_bin + p] = out_t(sum);
    }
}

cudaError_t rows_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_rows *>(args);
    if (a.n_row == 0 || a.n_bin == 0) {
        return cudaSuccess;
    }
    const dim3 blocks(unsigned((a.n_bin + threads - 1) / threads),
                      unsigned(a.n_row < max_rows ? a.n_row : max_rows));
    const bool from_f64 = a.value_dtype == TESS_F64;
    if (a.out_dtype == TESS_F64) {
        if (from_f64) {
            rows_kernel<double, double><<<blocks, threads, 0, stream>>>(a);
        } else {
            rows_kernel<float, double><<<blocks, threads, 0, stream>>>(a);
        }
    } else if (from_f64) {
        rows_kernel<double, float><<<blocks, threads, 0, stream>>>(a);
    } else {
        rows_kernel<float, float><<<blocks, threads, 0, stream>>>(a);
    }
    return cudaGetLastError();
}

tess_status rows_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t rows_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_rows = {
    TESS_STAGE_DECODE_ROWS, "decode.rows",      sizeof(tess_stage_decode_rows),
    rows_supports,          rows_scratch_bytes, rows_launch,
};
