// The filter: likelihoods of all rows first, then row after row.

#include "backend/cuda/decode/hmm.h"

#include <algorithm>

namespace
{

// Behind the exponentials of a row stands what was taken from their exponents.
__host__ __device__ int64_t weighed_width(const tess_hmm_model &m)
{
    return m.n_ll + 1;
}

struct filter_args {
    tess_stage_decode_hmm_filter stage;
    tess_hmm_model m;
    double *weighed; // [n_row][weighed_width]
    double *norms;   // [n_row]
};

constexpr int weigh_threads = 128;

// exp(ll - max) of a row; max is 0 if it is not finite.
template <typename ll_t>
__global__ void __launch_bounds__(weigh_threads) weigh_kernel(const __grid_constant__ filter_args a)
{
    __shared__ double parts[weigh_threads / 32];
    const int64_t n = a.m.n_ll;
    for (int64_t row = blockIdx.x; row < a.stage.n_row; row += gridDim.x) {
        const ll_t *ll = static_cast<const ll_t *>(a.stage.ll) + row * n;
        double *out = a.weighed + row * weighed_width(a.m);
        double most = -INFINITY;
        for (int64_t i = threadIdx.x; i < n; i += weigh_threads) {
            most = hmm_maxima::plus(double(ll[i]), most);
        }
        most = hmm_join_lanes<hmm_maxima>(most, 32);
        __syncthreads();
        parts[threadIdx.x / 32] = most;
        __syncthreads();
        for (int w = 0; w < weigh_threads / 32; w++) {
            most = hmm_maxima::plus(parts[w], most);
        }
        most = isfinite(most) ? most : 0;
        for (int64_t i = threadIdx.x; i < n; i += weigh_threads) {
            out[i] = exp(double(ll[i]) - most);
        }
        if (threadIdx.x == 0) {
            out[n] = most;
        }
    }
}

// Sums become log norms, when all rows have theirs.
__global__ void __launch_bounds__(weigh_threads) norm_kernel(const __grid_constant__ filter_args a)
{
    const int64_t t = int64_t(blockIdx.x) * weigh_threads + threadIdx.x;
    if (t < a.stage.n_row) {
        const double norm = a.norms[t];
        const double most = a.weighed[t * weighed_width(a.m) + a.m.n_ll];
        a.stage.log_norm[t] = norm >= DBL_MIN ? log(norm) + most : -INFINITY;
    }
}

// What row t's prediction leaves behind for the caller.
template <int n_own>
__device__ void note_predicted(const filter_args &a, hmm_block &block, const hmm_bins<n_own> &bins,
                               int64_t t)
{
    const double *predicted = block.vector(0);
    double own[n_own];
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        own[k] = bins.bin[k] >= 0 ? predicted[bins.bin[k]] : 0;
        if (a.stage.predicted_rows != nullptr && bins.bin[k] >= 0) {
            hmm_keep(a.stage.predicted_rows, a.stage.dtype, t * a.m.n_bin + bins.bin[k], own[k]);
        }
    }
    const double sums = hmm_states<hmm_sums>(block, bins, own);
    if (a.stage.predictive_states != nullptr && int(threadIdx.x) < a.m.n_state) {
        a.stage.predictive_states[t * a.m.n_state + threadIdx.x] = sums;
    }
}

// Row t: u = predicted * likelihood, filtered, and what it predicts. likelihood has the thread's
// own bins. is_kept: the row is of the run, not one that a guess goes through. True: the bins are
// as they were.
template <int n_own>
__device__ bool filter_row(const filter_args &a, hmm_block &block, const hmm_bins<n_own> &bins,
                           int64_t t, bool is_kept, double (&likelihood)[n_own])
{
    const tess_stage_decode_hmm_filter &stage = a.stage;
    double *predicted = block.vector(0);
    double *row = block.vector(1);
    bool is_same = true;
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        likelihood[k] = bins.bin[k] >= 0 ? likelihood[k] * predicted[bins.bin[k]] : 0;
    }
    const double norm = hmm_all<hmm_sums>(block, hmm_states<hmm_sums>(block, bins, likelihood));
    const double by = TESS_HMM_SHARE(norm);
    if (threadIdx.x == 0 && is_kept) {
        a.norms[t] = norm;
    }
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        if (bins.bin[k] >= 0) {
            const int64_t at = t * a.m.n_bin + bins.bin[k];
            likelihood[k] = hmm_rounded(stage.dtype, likelihood[k] * by);
            row[bins.bin[k]] = likelihood[k];
            if (is_kept && stage.runs.again) {
                is_same &= hmm_is_same(likelihood[k], hmm_kept(stage.filtered, stage.dtype, at));
            }
            if (is_kept) {
                hmm_keep(stage.filtered, stage.dtype, at, likelihood[k]);
            }
        }
    }
    const double sums = hmm_states<hmm_sums>(block, bins, likelihood);
    if (is_kept && stage.causal_states != nullptr && int(threadIdx.x) < a.m.n_state) {
        stage.causal_states[t * a.m.n_state + threadIdx.x] = sums;
    }
    hmm_spread<hmm_sums, true>(block, row, sums, predicted);
    return is_same;
}

template <int n_own>
__device__ void bring(const filter_args &a, const hmm_bins<n_own> &bins, int64_t t,
                      double (&likelihood)[n_own])
{
    const double *row = a.weighed + t * weighed_width(a.m);
#pragma unroll
    for (int k = 0; k < n_own; k++) {
        likelihood[k] = bins.bin[k] >= 0 && t < a.stage.n_row ? row[bins.column[k]] : 0;
    }
}

// What the first row of a run meets: a vector, the same everywhere, or what the row before
// predicts.
template <int n_own>
__device__ void begin_run(const filter_args &a, hmm_block &block, const hmm_bins<n_own> &bins,
                          const tess_hmm_run &run)
{
    const tess_stage_decode_hmm_filter &stage = a.stage;
    double *predicted = block.vector(0);
    hmm_bring_weights(block, stage.transition +
                                 (run.first > 0 ? run.first - 1 : 0) * stage.transition_stride);
    if (stage.runs.again) {
        double own[n_own];
#pragma unroll
        for (int k = 0; k < n_own; k++) {
            own[k] = bins.bin[k] >= 0 ? stage.runs.guess[blockIdx.x * a.m.n_bin + bins.bin[k]] : 0;
            if (bins.bin[k] >= 0) {
                block.vector(1)[bins.bin[k]] = own[k];
            }
        }
        const double sums = hmm_states<hmm_sums>(block, bins, own);
        hmm_spread<hmm_sums, true>(block, block.vector(1), sums, predicted);
        return;
    }
    const double *given = run.begins == TESS_HMM_EDGE ? stage.initial : stage.predicted;
    for (int64_t i = threadIdx.x; i < a.m.n_bin; i += blockDim.x) {
        predicted[i] = run.begins == TESS_HMM_GUESSED ? 1 / double(a.m.n_bin) : given[i];
    }
    __syncthreads();
}

template <int threads, int n_own>
__global__ void __launch_bounds__(threads)
    filter_kernel(const __grid_constant__ filter_args a, const hmm_where where)
{
    extern __shared__ double shared[];
    __shared__ hmm_meeting meeting;
    const tess_hmm_runs &runs = a.stage.runs;
    const tess_hmm_run run = hmm_run_of(runs, a.stage.n_row, TESS_HMM_CARRIED);
    if (runs.again && !runs.is_wrong[blockIdx.x]) {
        return;
    }
    hmm_block block = hmm_begin<hmm_sums>(a.m, where, shared, &meeting);
    const hmm_bins<n_own> bins(block);
    const double *predicted = block.vector(0);
    double likelihood[n_own];
    double next[n_own];
    const int64_t end = run.first + run.n_row;
    int64_t t = runs.again ? run.first : run.first - run.n_guess;
    begin_run(a, block, bins, run);
    bring(a, bins, t, next);
    for (; t < end; t++) {
        const bool is_kept = t >= run.first;
#pragma unroll
        for (int k = 0; k < n_own; k++) {
            likelihood[k] = next[k];
        }
        bring(a, bins, t + 1, next); // arrives while row t is at work
        if (a.stage.transition_stride != 0) {
            hmm_bring_weights(block, a.stage.transition + t * a.stage.transition_stride);
        }
        if (is_kept &&
            (a.stage.predicted_rows != nullptr || a.stage.predictive_states != nullptr)) {
            note_predicted(a, block, bins, t);
        }
        const bool is_same = filter_row(a, block, bins, t, is_kept, likelihood);
        if (runs.again && __syncthreads_and(is_same)) {
            return; // and so are all that follow
        }
        if (t == run.first - 1) {
            for (int64_t i = threadIdx.x; i < a.m.n_bin; i += threads) {
                runs.guess[blockIdx.x * a.m.n_bin + i] = block.vector(1)[i];
            }
        }
    }
    double *ended = runs.n > 0 ? runs.ended : a.stage.predicted;
    for (int64_t i = threadIdx.x; blockIdx.x + 1 == gridDim.x && i < a.m.n_bin; i += threads) {
        ended[i] = predicted[i];
    }
}

cudaError_t launch_rows(cudaStream_t stream, const filter_args &a, double *room)
{
    const hmm_shape shape = hmm_shape_of(a.m);
    const auto kernel = shape.n_own == 1   ? filter_kernel<512, 1>
                        : shape.n_own == 4 ? filter_kernel<512, 4>
                        : shape.n_own == 8 ? filter_kernel<1024, 8>
                                           : filter_kernel<1024, 32>;
    const cudaError_t error =
        hmm_launch(stream, kernel, a.m, 0, hmm_blocks(a.stage.runs), shape.threads, a, room);
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t blocks = (a.stage.n_row + weigh_threads - 1) / weigh_threads;
    norm_kernel<<<unsigned(blocks), weigh_threads, 0, stream>>>(a);
    return hmm_check(stream, a.stage.runs, a.stage.filtered, a.stage.dtype, a.m.n_bin, true);
}

size_t weighed_bytes(const tess_stage_decode_hmm_filter &a)
{
    return size_t(a.n_row * weighed_width(*a.model)) * sizeof(double);
}

cudaError_t filter_launch(cudaStream_t stream, const void *args)
{
    const auto &stage = *static_cast<const tess_stage_decode_hmm_filter *>(args);
    if (stage.n_row == 0) {
        return cudaSuccess;
    }
    double *norms = stage.scratch + weighed_bytes(stage) / sizeof(double);
    const filter_args a = {stage, *stage.model, stage.scratch, norms};
    double *room = norms + stage.n_row;
    const unsigned blocks = unsigned(std::min<int64_t>(stage.n_row, 1 << 20));
    if (stage.runs.again) { // what was weighed is there
        return launch_rows(stream, a, room);
    }
    if (stage.ll_dtype == TESS_F64) {
        weigh_kernel<double><<<blocks, weigh_threads, 0, stream>>>(a);
    } else {
        weigh_kernel<float><<<blocks, weigh_threads, 0, stream>>>(a);
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        return error;
    }
    return launch_rows(stream, a, room);
}

tess_status filter_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_filter *>(args);
    return hmm_supports(device, a.model, "decode.hmm_filter");
}

size_t filter_scratch_bytes(const tess_backend_device *, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_hmm_filter *>(args);
    return weighed_bytes(a) + size_t(a.n_row) * sizeof(double) +
           hmm_blocks(a.runs) * hmm_room_bytes(*a.model);
}

} // namespace

tess_status hmm_supports(const tess_backend_device *device, const tess_hmm_model *m,
                         const char *stage)
{
    constexpr int64_t most_bins = 32768;
    const tess_host *host = device->host;
    if (m->n_bin > most_bins || m->n_state > hmm_max_states) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage %s on cuda:%d: %lld bins of %d states, at most %lld of %d: use "
                          "--device cpu",
                          stage, device->ordinal, static_cast<long long>(m->n_bin), m->n_state,
                          static_cast<long long>(most_bins), hmm_max_states);
    }
    return TESS_OK;
}

const tess_cuda_stage tess_cuda_stage_decode_hmm_filter = {
    TESS_STAGE_DECODE_HMM_FILTER,
    "decode.hmm_filter",
    sizeof(tess_stage_decode_hmm_filter),
    filter_supports,
    filter_scratch_bytes,
    filter_launch,
};
