// The most likely paths of many sequences, a block of threads each: scores from the last row to the
// first, then the way from the first to the last.
//
// Additions and maxima in the CPU's order, of the same logarithms: the paths are the CPU's.

#include "backend/cuda/decode/hmm.h"

namespace
{

struct paths_args {
    tess_stage_decode_hmm_paths stage;
    tess_hmm_model m;
};

__device__ double ll_at(const tess_stage_decode_hmm_paths &stage, int64_t at)
{
    return stage.ll_dtype == TESS_F64 ? static_cast<const double *>(stage.ll)[at]
                                      : double(static_cast<const float *>(stage.ll)[at]);
}

// Logarithms that differ in the last bit would lead to other paths.
__device__ void bring_shares(const paths_args &a, hmm_block &block)
{
    for (int s = int(threadIdx.x); s < a.m.n_state; s += int(blockDim.x)) {
        block.meeting->share[s] = a.stage.share[s];
    }
    __syncthreads();
}

template <int threads, int n_own>
__global__ void __launch_bounds__(threads)
    scores_kernel(const __grid_constant__ paths_args a, const hmm_where where)
{
    extern __shared__ double shared[];
    __shared__ hmm_meeting meeting;
    const tess_stage_decode_hmm_paths &stage = a.stage;
    const tess_hmm_run run = stage.run[blockIdx.x];
    hmm_block block = hmm_begin<hmm_maxima>(a.m, where, shared, &meeting);
    const hmm_bins<n_own> bins(block);
    double own[n_own];
    bring_shares(a, block);
    const int64_t last = run.first + run.n_row - 1;
    for (int64_t t = last; t >= run.first; t--) {
#pragma unroll
        for (int k = 0; k < n_own; k++) { // what row t + 1 is worth
            const bool is_bin = t < last && bins.bin[k] >= 0;
            own[k] = hmm_maxima::none();
            if (is_bin) {
                own[k] = ll_at(stage, (t + 1) * a.m.n_ll + bins.column[k]) +
                         stage.scores[(t + 1) * a.m.n_bin + bins.bin[k]];
                block.vector(1)[bins.bin[k]] = own[k];
            }
        }
        if (t < last) {
            hmm_bring_weights(block, stage.transition + t * stage.transition_stride);
            const double best = hmm_states<hmm_maxima>(block, bins, own);
            hmm_spread<hmm_maxima, false>(block, block.vector(1), best, block.vector(0));
        }
#pragma unroll
        for (int k = 0; k < n_own; k++) { // a thread has the same bins in every row
            if (bins.bin[k] >= 0) {
                stage.scores[t * a.m.n_bin + bins.bin[k]] =
                    t < last ? block.vector(0)[bins.bin[k]] : 0;
            }
        }
    }
}

// The lowest of the best bins.
struct best_bin {
    double value;
    int bin;
};

__device__ best_bin better(const best_bin &a, const best_bin &b)
{
    return b.value > a.value || (b.value == a.value && b.bin < a.bin) ? b : a;
}

__device__ best_bin best_of_lanes(best_bin best)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const best_bin other = {__shfl_xor_sync(0xffffffffu, best.value, apart),
                                __shfl_xor_sync(0xffffffffu, best.bin, apart)};
        best = better(best, other);
    }
    return best;
}

// That of all threads; 0 if none is possible.
__device__ int best_of_block(best_bin best, best_bin *parts)
{
    best = best_of_lanes(best);
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = best;
    }
    __syncthreads();
    const int lane = int(threadIdx.x % 32);
    best = best_of_lanes(lane < int(blockDim.x / 32) ? parts[lane] : parts[0]);
    __syncthreads();
    return best.value > hmm_maxima::none() ? best.bin : 0;
}

template <int threads, int n_own>
__global__ void __launch_bounds__(threads)
    trace_kernel(const __grid_constant__ paths_args a, const hmm_where where)
{
    extern __shared__ double shared[];
    __shared__ hmm_meeting meeting;
    __shared__ best_bin parts[hmm_warps];
    const tess_stage_decode_hmm_paths &stage = a.stage;
    const tess_hmm_run run = stage.run[blockIdx.x];
    hmm_block block = hmm_begin<hmm_maxima>(a.m, where, shared, &meeting);
    const hmm_bins<n_own> bins(block);
    double own[n_own];
    bring_shares(a, block);
    int at = 0;
    for (int64_t t = run.first; t < run.first + run.n_row; t++) {
        const bool is_start = t == run.first;
        if (!is_start) {
#pragma unroll
            for (int k = 0; k < n_own; k++) { // at is certain
                own[k] = bins.bin[k] == at ? 0 : hmm_maxima::none();
                if (bins.bin[k] >= 0) {
                    block.vector(1)[bins.bin[k]] = own[k];
                }
            }
            hmm_bring_weights(block, stage.transition + (t - 1) * stage.transition_stride);
            const double sums = hmm_states<hmm_maxima>(block, bins, own);
            hmm_spread<hmm_maxima, true>(block, block.vector(1), sums, block.vector(0));
        }
        best_bin best = {hmm_maxima::none(), INT32_MAX};
#pragma unroll
        for (int k = 0; k < n_own; k++) {
            if (bins.bin[k] >= 0) {
                const double ll = ll_at(stage, t * a.m.n_ll + bins.column[k]);
                const double score = stage.scores[t * a.m.n_bin + bins.bin[k]];
                const double value = is_start ? stage.initial[bins.bin[k]] + ll + score
                                              : block.vector(0)[bins.bin[k]] + (ll + score);
                best = better(best, {value, bins.bin[k]});
            }
        }
        at = best_of_block(best, parts);
        if (threadIdx.x == 0) {
            stage.path[t] = at;
        }
    }
}

template <int threads, int n_own>
cudaError_t launch_shape(cudaStream_t stream, const paths_args &a, unsigned blocks)
{
    const cudaError_t error = hmm_launch(stream, scores_kernel<threads, n_own>, a.m, 1, blocks,
                                         threads, a, a.stage.scratch);
    return error != cudaSuccess ? error
                                : hmm_launch(stream, trace_kernel<threads, n_own>, a.m, 0, blocks,
                                             threads, a, a.stage.scratch);
}

cudaError_t paths_launch(cudaStream_t stream, const void *args)
{
    const auto &stage = *static_cast<const tess_stage_decode_hmm_paths *>(args);
    const paths_args a = {stage, *stage.model};
    if (stage.n_run == 0) {
        return cudaSuccess;
    }
    switch (hmm_shape_of(a.m).n_own) {
    case 1:
        return launch_shape<512, 1>(stream, a, unsigned(stage.n_run));
    case 4:
        return launch_shape<512, 4>(stream, a, unsigned(stage.n_run));
    case 8:
        return launch_shape<1024, 8>(stream, a, unsigned(stage.n_run));
    default:
        return launch_shape<1024, 32>(stream, a, unsigned(stage.n_run));
    }
}

tess_status paths_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_paths *>(args);
    return hmm_supports(device, a.model, "decode.hmm_paths");
}

size_t paths_scratch_bytes(const tess_backend_device *, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_paths *>(args);
    return size_t(a.n_run) * hmm_room_bytes(*a.model);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_hmm_paths = {
    TESS_STAGE_DECODE_HMM_PATHS,
    "decode.hmm_paths",
    sizeof(tess_stage_decode_hmm_paths),
    paths_supports,
    paths_scratch_bytes,
    paths_launch,
};
