// Columns of rows of log likelihoods: put in place, modified, cleared where rows are missing.
//
// A thread has a column of a row. Reading and writing the rows is all it costs.

#include "backend/cuda/decode/stages.h"
#include "stage/decode_columns.h"

namespace
{

constexpr int threads = 128;
constexpr int64_t max_rows = 65535;

template <typename value_t>
__global__ void __launch_bounds__(threads) columns_kernel(tess_stage_decode_columns a)
{
    const int64_t p = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (p >= a.n_column) {
        return;
    }
    for (int64_t row = blockIdx.y; row < a.n_row; row += gridDim.y) {
        value_t value = static_cast<const value_t *>(a.from)[row * a.from_stride + p];
        const int32_t added = a.added != nullptr ? a.added_row[row] : -1;
        if (added >= 0) {
            value = value_t(double(value) + a.added[int64_t(added) * a.n_column + p]);
        }
        if (a.is_missing != nullptr && a.is_missing[row] != 0) {
            value = 0;
        }
        static_cast<value_t *>(a.ll)[row * a.n_ll + a.first + p] = value;
    }
}

cudaError_t columns_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_columns *>(args);
    if (a.n_row == 0 || a.n_column == 0) {
        return cudaSuccess;
    }
    const dim3 blocks(unsigned((a.n_column + threads - 1) / threads),
                      unsigned(a.n_row < max_rows ? a.n_row : max_rows));
    if (a.dtype == TESS_F64) {
        columns_kernel<double><<<blocks, threads, 0, stream>>>(a);
    } else {
        columns_kernel<float><<<blocks, threads, 0, stream>>>(a);
    }
    return cudaGetLastError();
}

tess_status columns_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t columns_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_columns = {
    TESS_STAGE_DECODE_COLUMNS, "decode.columns",      sizeof(tess_stage_decode_columns),
    columns_supports,          columns_scratch_bytes, columns_launch,
};
