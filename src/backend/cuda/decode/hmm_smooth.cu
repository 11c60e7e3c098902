// The smoother: what every row predicts first, then row after row from the last to the first.

#include "backend/cuda/decode/hmm.h"

#include <algorithm>

namespace
{

// Rows are predicted by so many blocks, of which each has a room.
constexpr int64_t most_lanes = 528;

struct smooth_args {
    tess_stage_decode_hmm_smooth stage;
    tess_hmm_model m;
    double *predicted; // [n_row][N_s]: row t's is of row t + 1
    void *smoothed;
};

template <int n_own>
__device__ void bring(const hmm_bins<n_own> &bins, const void *rows, int32_t dtype, int64_t first,
                      double (&own)[n_own])
{
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        own[k] = bins.bin[k] >= 0 ? hmm_kept(rows, dtype, first + bins.bin[k]) : 0;
    }
}

template <int threads, int n_own>
__global__ void __launch_bounds__(threads)
    predict_kernel(const __grid_constant__ smooth_args a, const hmm_where where)
{
    extern __shared__ double shared[];
    __shared__ hmm_meeting meeting;
    hmm_block block = hmm_begin<hmm_sums>(a.m, where, shared, &meeting);
    const hmm_bins<n_own> bins(block);
    double *row = block.vector(1);
    double own[n_own];
    hmm_bring_weights(block, a.stage.transition);
    for (int64_t t = blockIdx.x; t < a.stage.n_row; t += gridDim.x) {
        bring(bins, a.stage.filtered, a.stage.dtype, t * a.m.n_bin, own);
        if (a.stage.transition_stride != 0) {
            hmm_bring_weights(block, a.stage.transition + t * a.stage.transition_stride);
        }
#pragma unroll
        for (int k = 0; k < n_own; k++) {
            if (bins.bin[k] >= 0) {
                row[bins.bin[k]] = own[k];
            }
        }
        const double sums = hmm_states<hmm_sums>(block, bins, own);
        hmm_spread<hmm_sums, true>(block, row, sums, block.vector(0));
        for (int64_t i = threadIdx.x; i < a.m.n_bin; i += threads) {
            a.predicted[t * a.m.n_bin + i] = block.vector(0)[i];
        }
    }
}

// Row t from the smoothed row after it, both in the thread's own bins.
template <int n_own>
__device__ void smooth_row(const smooth_args &a, hmm_block &block, const hmm_bins<n_own> &bins,
                           double (&kept)[n_own], double (&predicted)[n_own], double (&next)[n_own])
{
    double *other = block.vector(0);
    double *ratio = block.vector(1);
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        next[k] = predicted[k] == 0 ? 0 : next[k] / predicted[k];
        if (bins.bin[k] >= 0) {
            ratio[bins.bin[k]] = next[k];
        }
    }
    const double sums = hmm_states<hmm_sums>(block, bins, next);
    hmm_spread<hmm_sums, false>(block, ratio, sums, other);
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        next[k] = bins.bin[k] >= 0 ? kept[k] * other[bins.bin[k]] : 0;
    }
    const double norm = hmm_all<hmm_sums>(block, hmm_states<hmm_sums>(block, bins, next));
    const double by = TESS_HMM_SHARE(norm);
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        next[k] = hmm_rounded(a.stage.dtype, next[k] * by);
    }
}

// Row t to where it is wanted; true if it is there already, bit by bit.
template <int n_own>
__device__ bool keep_row(const smooth_args &a, hmm_block &block, const hmm_bins<n_own> &bins,
                         int64_t t, const double (&next)[n_own])
{
    const tess_stage_decode_hmm_smooth &stage = a.stage;
    bool is_same = true;
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        if (bins.bin[k] >= 0) {
            const int64_t at = t * a.m.n_bin + bins.bin[k];
            if (stage.runs.again) {
                is_same &= hmm_is_same(next[k], hmm_kept(a.smoothed, stage.dtype, at));
            }
            hmm_keep(a.smoothed, stage.dtype, at, next[k]);
        }
    }
    if (stage.acausal_states != nullptr) {
        const double sums = hmm_states<hmm_sums>(block, bins, next);
        if (int(threadIdx.x) < a.m.n_state) {
            stage.acausal_states[t * a.m.n_state + threadIdx.x] = sums;
        }
    }
    return is_same;
}

template <int n_own>
__device__ void leave_row(const hmm_bins<n_own> &bins, const double (&next)[n_own], double *out)
{
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        if (bins.bin[k] >= 0) {
            out[bins.bin[k]] = next[k];
        }
    }
}

template <int threads, int n_own>
__global__ void __launch_bounds__(threads)
    smooth_kernel(const __grid_constant__ smooth_args a, const hmm_where where)
{
    extern __shared__ double shared[];
    __shared__ hmm_meeting meeting;
    const tess_stage_decode_hmm_smooth &stage = a.stage;
    const tess_hmm_runs &runs = stage.runs;
    const tess_hmm_run run =
        hmm_run_of(runs, stage.n_row, stage.is_last ? TESS_HMM_EDGE : TESS_HMM_CARRIED);
    if (runs.again && !runs.is_wrong[blockIdx.x]) {
        return;
    }
    hmm_block block = hmm_begin<hmm_sums>(a.m, where, shared, &meeting);
    const hmm_bins<n_own> bins(block);
    double kept[n_own], predicted[n_own], kept_before[n_own], predicted_before[n_own];
    double next[n_own];
    const int64_t end = run.first + run.n_row;
    const int64_t last = end - 1 + (runs.again ? 0 : run.n_guess);
    // A guess takes the first row it goes through for the last of all.
    const bool is_edge = !runs.again && run.begins != TESS_HMM_CARRIED;
    const double *given = runs.again ? runs.guess + blockIdx.x * a.m.n_bin : stage.next;
    hmm_bring_weights(block, stage.transition + last * stage.transition_stride);
    bring(bins, given, TESS_F64, 0, next);
    bring(bins, stage.filtered, stage.dtype, last * a.m.n_bin, kept_before);
    bring(bins, a.predicted, TESS_F64, last * a.m.n_bin, predicted_before);
    for (int64_t t = last; t >= run.first; t--) {
#pragma unroll
        for (int k = 0; k < n_own; k++) {
            kept[k] = kept_before[k];
            predicted[k] = predicted_before[k];
        }
        if (t > run.first) { // arrive while row t is at work
            bring(bins, stage.filtered, stage.dtype, (t - 1) * a.m.n_bin, kept_before);
            bring(bins, a.predicted, TESS_F64, (t - 1) * a.m.n_bin, predicted_before);
        }
        if (stage.transition_stride != 0) {
            hmm_bring_weights(block, stage.transition + t * stage.transition_stride);
        }
        if (is_edge && t == last) {
#pragma unroll
            for (int k = 0; k < n_own; k++) {
                next[k] = kept[k];
            }
        } else {
            smooth_row(a, block, bins, kept, predicted, next);
        }
        const bool is_same = t < end && keep_row(a, block, bins, t, next);
        if (runs.again && __syncthreads_and(is_same)) {
            return; // and so are all before
        }
        if (t == end) {
            leave_row(bins, next, runs.guess + blockIdx.x * a.m.n_bin);
        }
    }
    if (blockIdx.x == 0) {
        leave_row(bins, next, runs.n > 0 ? runs.ended : stage.next);
    }
}

template <int threads, int n_own>
cudaError_t launch_shape(cudaStream_t stream, const smooth_args &a, int64_t lanes, double *room)
{
    cudaError_t error = cudaSuccess;
    if (!a.stage.runs.again) { // what was predicted is there
        error = hmm_launch(stream, predict_kernel<threads, n_own>, a.m, 0, unsigned(lanes), threads,
                           a, room);
    }
    if (error == cudaSuccess) {
        error = hmm_launch(stream, smooth_kernel<threads, n_own>, a.m, 1, hmm_blocks(a.stage.runs),
                           threads, a, room);
    }
    return error;
}

cudaError_t launch_rows(cudaStream_t stream, const smooth_args &a, int64_t lanes, double *room)
{
    switch (hmm_shape_of(a.m).n_own) {
    case 1:
        return launch_shape<512, 1>(stream, a, lanes, room);
    case 4:
        return launch_shape<512, 4>(stream, a, lanes, room);
    case 8:
        return launch_shape<1024, 8>(stream, a, lanes, room);
    default:
        return launch_shape<1024, 32>(stream, a, lanes, room);
    }
}

int64_t lanes_of(const tess_stage_decode_hmm_smooth &a)
{
    return std::min(a.n_row, most_lanes);
}

size_t predicted_bytes(const tess_stage_decode_hmm_smooth &a)
{
    return size_t(a.n_row * a.model->n_bin) * sizeof(double);
}

cudaError_t smooth_launch(cudaStream_t stream, const void *args)
{
    const auto &stage = *static_cast<const tess_stage_decode_hmm_smooth *>(args);
    if (stage.n_row == 0) {
        return cudaSuccess;
    }
    const smooth_args a = {stage, *stage.model, stage.scratch,
                           stage.runs.n > 0 ? stage.smoothed : stage.filtered};
    double *room = stage.scratch + predicted_bytes(stage) / sizeof(double);
    const cudaError_t error = launch_rows(stream, a, lanes_of(stage), room);
    return error != cudaSuccess
               ? error
               : hmm_check(stream, stage.runs, a.smoothed, stage.dtype, a.m.n_bin, false);
}

tess_status smooth_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_smooth *>(args);
    return hmm_supports(device, a.model, "decode.hmm_smooth");
}

size_t smooth_scratch_bytes(const tess_backend_device *, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_smooth *>(args);
    const int64_t rooms = std::max<int64_t>(lanes_of(a), hmm_blocks(a.runs));
    return predicted_bytes(a) + size_t(rooms) * hmm_room_bytes(*a.model);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_hmm_smooth = {
    TESS_STAGE_DECODE_HMM_SMOOTH,
    "decode.hmm_smooth",
    sizeof(tess_stage_decode_hmm_smooth),
    smooth_supports,
    smooth_scratch_bytes,
    smooth_launch,
};
