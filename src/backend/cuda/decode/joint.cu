// Gaussian sums at single points: the local likelihood.
//
// A block has one point and its threads stride over the encoding spikes, once for the largest term
// and once for the sum; partial sums are added in a fixed tree.

#include "backend/cuda/decode/stages.h"
#include "stage/decode_joint.h"

namespace
{

constexpr int threads = 128;
constexpr int64_t max_blocks = 1 << 20;

template <typename real>
__device__ inline real term(const tess_stage_decode_joint &a, const real *y, int64_t i)
{
    const real *x = static_cast<const real *>(a.x) + i;
    const real *bias = static_cast<const real *>(a.bias);
    real t = bias != nullptr ? bias[i] : real(0);
    for (int64_t d = 0; d < a.n_dim; d++) {
        const real u = x[d * a.n] - y[d];
        t = fma(-u, u, t);
    }
    return t;
}

template <typename real>
__global__ void __launch_bounds__(threads) joint_kernel(tess_stage_decode_joint a)
{
    __shared__ double shared[threads];
    const int thread = int(threadIdx.x);
    for (int64_t j = blockIdx.x; j < a.n_y; j += gridDim.x) {
        const real *y = static_cast<const real *>(a.y) + j * a.n_dim;
        double most = -INFINITY;
        for (int64_t i = thread; i < a.n; i += threads) {
            most = fmax(most, double(term(a, y, i)));
        }
        __syncthreads();
        shared[thread] = most;
        __syncthreads();
        for (int step = threads / 2; step > 0; step /= 2) {
            if (thread < step) {
                shared[thread] = fmax(shared[thread], shared[thread + step]);
            }
            __syncthreads();
        }
        most = shared[0];
        __syncthreads();
        double sum = 0;
        if (most > -INFINITY) {
            for (int64_t i = thread; i < a.n; i += threads) {
                sum += double(exp(term(a, y, i) - real(most)));
            }
        }
        shared[thread] = sum;
        __syncthreads();
        for (int step = threads / 2; step > 0; step /= 2) {
            if (thread < step) {
                shared[thread] += shared[thread + step];
            }
            __syncthreads();
        }
        if (thread == 0) {
            a.out[j] = most > -INFINITY ? most + log(shared[0]) : -INFINITY;
        }
    }
}

cudaError_t joint_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_joint *>(args);
    if (a.n_y == 0) {
        return cudaSuccess;
    }
    const unsigned blocks = unsigned(a.n_y < max_blocks ? a.n_y : max_blocks);
    if (a.dtype == TESS_F64) {
        joint_kernel<double><<<blocks, threads, 0, stream>>>(a);
    } else {
        joint_kernel<float><<<blocks, threads, 0, stream>>>(a);
    }
    return cudaGetLastError();
}

tess_status joint_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t joint_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_joint = {
    TESS_STAGE_DECODE_JOINT, "decode.joint",      sizeof(tess_stage_decode_joint),
    joint_supports,          joint_scratch_bytes, joint_launch,
};
