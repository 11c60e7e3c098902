// The same weights for every epoch on CUDA: products that are stored.

#include "backend/cuda/autoreject/product.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_interpolation.h"

namespace
{

__global__ void __launch_bounds__(product_shape::threads, 2)
    augment_kernel(product_args a, double *out, int64_t out_stride_segment, int64_t out_stride_row)
{
    using shape = product_shape;
    __shared__ product_shared shared;
    const int64_t segment = int64_t(blockIdx.x) * shape::segments;
    const int64_t row = int64_t(blockIdx.y) * shape::rows;
    double sums[shape::each][shape::each];
    product_sums(shared, a, a.x, row, segment, sums);
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
#pragma unroll
        for (int j = 0; j < shape::each; j += 2) {
            const int64_t r = row + product_row(i);
            const int column = product_column(j);
            const int64_t s = segment + column / TILE;
            if (r < a.n_row && s < a.n_segment) {
                double *to = out + r * out_stride_row + s * out_stride_segment + column % TILE;
                *reinterpret_cast<double2 *>(to) = make_double2(sums[i][j], sums[i][j + 1]);
            }
        }
    }
}

cudaError_t augment_launch(cudaStream_t stream, const void *args)
{
    using shape = product_shape;
    const auto &a = *static_cast<const tess_stage_autoreject_augment *>(args);
    if (a.n_epoch == 0 || a.n_row == 0) {
        return cudaSuccess;
    }
    const product_args product = {a.w, a.x, a.n_row, a.n_chan, a.n_epoch, a.stride_epoch, 0};
    const dim3 grid(unsigned((a.n_epoch + shape::segments - 1) / shape::segments),
                    unsigned((a.n_row + shape::rows - 1) / shape::rows));
    augment_kernel<<<grid, shape::threads, 0, stream>>>(product, a.out, a.out_stride_epoch,
                                                        a.out_stride_row);
    return cudaGetLastError();
}

tess_status augment_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_augment *>(args);
    const tess_host *host = device->host;
    const uintptr_t places = reinterpret_cast<uintptr_t>(a.x) | reinterpret_cast<uintptr_t>(a.out);
    const int64_t strides = a.stride_epoch | a.out_stride_epoch | a.out_stride_row;
    if (a.width != TILE || a.stride_chan != TILE || places % 16 != 0 || strides % 2 != 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.augment on cuda:%d: epochs of %lld samples, channels "
                          "%lld items apart; only tiles of %d samples are written for CUDA",
                          device->ordinal, static_cast<long long>(a.width),
                          static_cast<long long>(a.stride_chan), int(TILE));
    }
    return TESS_OK;
}

size_t augment_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_augment = {
    TESS_STAGE_AUTOREJECT_AUGMENT,
    "autoreject.augment",
    sizeof(tess_stage_autoreject_augment),
    augment_supports,
    augment_scratch_bytes,
    augment_launch,
};
