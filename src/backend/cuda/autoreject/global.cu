// Autoreject's global threshold on CUDA: medians and errors of every tile, channel and fold
// (curve_kernels.h), then what they add, tile after tile and channel after channel.

#include "backend/cuda/autoreject/curve_kernels.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_global.h"

namespace
{

constexpr int total_threads = 256;

// errors: [n_tile][n_chan][n_fold][most_train]
__global__ void __launch_bounds__(total_threads)
    total_kernel(tess_stage_autoreject_global a, double *to)
{
    const int64_t n_item = a.n_error, n = a.n_group * n_item;
    const int64_t i = int64_t(blockIdx.x) * total_threads + threadIdx.x;
    if (i >= n) {
        return;
    }
    const int64_t group = i / n_item, item = i % n_item;
    int64_t fold = 0;
    while (a.first[fold + 1] <= item) {
        fold++;
    }
    const int64_t k = item - a.first[fold], end = (group + 1) * a.n_chan / a.n_group;
    double sum = to[i];
    for (int64_t tile = 0; tile < a.n_tile; tile++) {
        for (int64_t c = group * a.n_chan / a.n_group; c < end; c++) {
            sum += a.errors[((tile * a.n_chan + c) * a.n_fold + fold) * a.most_train + k];
        }
    }
    to[i] = sum;
}

// Against the medians of the given members.
cudaError_t add(cudaStream_t stream, const tess_stage_autoreject_global &a, const int32_t *members,
                const int64_t *member_first, int64_t most_members, double *to)
{
    curve_args args = {};
    args.a.x = a.x;
    args.a.order = a.order;
    args.a.validation = a.left;
    args.a.inverse = a.inverse;
    args.a.n_tile = a.n_tile;
    args.a.n_epoch = a.n_epoch;
    args.a.n_row = a.n_epoch;
    args.a.n_chan = a.n_chan;
    args.a.n_split = a.n_fold;
    args.a.n_train = a.most_train;
    args.a.stride_tile = a.tile_stride;
    args.a.stride_epoch = a.n_chan * TILE;
    args.a.stride_chan = TILE;
    args.a.members = members;
    args.a.medians = a.medians;
    args.a.errors = a.errors;
    args.member_first = member_first;
    args.most_members = most_members;
    cudaError_t error = launch_curves(stream, args);
    if (error == cudaSuccess) {
        const int64_t n = a.n_group * a.n_error;
        total_kernel<<<unsigned((n + total_threads - 1) / total_threads), total_threads, 0,
                       stream>>>(a, to);
        error = cudaGetLastError();
    }
    return error;
}

cudaError_t global_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_global *>(args);
    if (a.n_tile == 0 || a.n_chan == 0 || a.n_error == 0) {
        return cudaSuccess;
    }
    const cudaError_t error = add(stream, a, a.test_members, a.test_first, a.most_test, a.test);
    return error == cudaSuccess && a.train
               ? add(stream, a, a.train_members, a.first, a.most_train, a.train)
               : error;
}

tess_status global_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_global *>(args);
    const tess_host *host = device->host;
    if (reinterpret_cast<uintptr_t>(a.x) % 16 != 0 || a.tile_stride % 2 != 0 ||
        a.medians == nullptr || a.errors == nullptr || a.n_chan > 65535) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.global on cuda:%d: tiles of %lld channels must lie at "
                          "multiples of 16 bytes, and room for medians and errors be given",
                          device->ordinal, static_cast<long long>(a.n_chan));
    }
    return TESS_OK;
}

size_t global_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_global = {
    TESS_STAGE_AUTOREJECT_GLOBAL,
    "autoreject.global",
    sizeof(tess_stage_autoreject_global),
    global_supports,
    global_scratch_bytes,
    global_launch,
};
