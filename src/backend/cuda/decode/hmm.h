// What the kernels of the hidden Markov model share: rows of bins over threads, and launches.
#ifndef TESS_CUDA_DECODE_HMM_H
#define TESS_CUDA_DECODE_HMM_H

#include "backend/cuda/decode/hmm_spread.h"

#include <cfloat>

// A value as rows of a dtype have it.
__device__ inline double hmm_rounded(int32_t dtype, double x)
{
    return dtype == TESS_F64     ? (x < DBL_MIN ? 0.0 : x)
           : x < double(FLT_MIN) ? 0.0
                                 : double(float(x));
}

// A value as rows of a dtype keep it. Types are asked for at run time: half the kernels to compile.
__device__ inline double hmm_keep(void *rows, int32_t dtype, int64_t at, double x)
{
    if (dtype == TESS_F64) {
        const double kept = x < DBL_MIN ? 0.0 : x;
        static_cast<double *>(rows)[at] = kept;
        return kept;
    }
    const float kept = x < double(FLT_MIN) ? 0.0f : float(x);
    static_cast<float *>(rows)[at] = kept;
    return double(kept);
}
__device__ inline double hmm_kept(const void *rows, int32_t dtype, int64_t at)
{
    return dtype == TESS_F64 ? static_cast<const double *>(rows)[at]
                             : double(static_cast<const float *>(rows)[at]);
}

__device__ inline bool hmm_is_same(double a, double b)
{
    return __double_as_longlong(a) == __double_as_longlong(b);
}

// The run of a block of threads.
__device__ inline tess_hmm_run hmm_run_of(const tess_hmm_runs &runs, int64_t n_row, int32_t begins)
{
    return runs.n > 0 ? runs.run[blockIdx.x] : tess_hmm_run{0, n_row, 0, begins, 0};
}

// Whether the row next to each run is that which its block took it to be, which it now is. Rows are
// those that were made, before runs that go forward and behind those that go back.
template <int threads>
__global__ void __launch_bounds__(threads)
    hmm_check_kernel(const tess_hmm_runs runs, const void *rows, int32_t dtype, int64_t n_bin,
                     bool is_forward)
{
    const tess_hmm_run run = runs.run[blockIdx.x];
    const int64_t next = is_forward ? run.first - 1 : run.first + run.n_row;
    double *guess = runs.guess + blockIdx.x * n_bin;
    int is_wrong = 0;
    for (int64_t i = threadIdx.x; run.begins == TESS_HMM_GUESSED && i < n_bin; i += threads) {
        const double row = hmm_kept(rows, dtype, next * n_bin + i);
        is_wrong |= hmm_is_same(row, guess[i]) ? 0 : 1;
        guess[i] = row;
    }
    is_wrong = __syncthreads_or(is_wrong);
    if (threadIdx.x == 0) {
        runs.is_wrong[blockIdx.x] = is_wrong;
    }
}

inline cudaError_t hmm_check(cudaStream_t stream, const tess_hmm_runs &runs, const void *rows,
                             int32_t dtype, int64_t n_bin, bool is_forward)
{
    constexpr int threads = 128;
    if (runs.n > 0) {
        hmm_check_kernel<threads>
            <<<unsigned(runs.n), threads, 0, stream>>>(runs, rows, dtype, n_bin, is_forward);
    }
    return cudaGetLastError();
}

// A warp has rows of 32 bins of one state, one behind the other.
template <int n_own>
struct hmm_bins {
    int bin[n_own];   // -1: there is no such bin
    int state[n_own]; // the same for the whole warp; -1: no row
    int column[n_own];

    __device__ explicit hmm_bins(const hmm_block &block)
    {
        const int32_t *first = block.at<int32_t>(block.model->first);
        const int32_t *ll_first = block.at<int32_t>(block.model->ll_first);
        const int32_t *row_first = block.at<int32_t>(block.model->row_first);
        for (int k = 0; k < n_own; k++) {
            const int row = int(threadIdx.x / 32) * n_own + k;
            bin[k] = -1;
            state[k] = -1;
            column[k] = 0;
            for (int s = 0; s < block.model->n_state; s++) {
                if (row >= row_first[s] && row < row_first[s + 1]) {
                    const int i = (row - row_first[s]) * 32 + int(threadIdx.x % 32);
                    state[k] = s;
                    bin[k] = first[s] + i < first[s + 1] ? first[s] + i : -1;
                    column[k] = ll_first[s] + i;
                }
            }
        }
    }
};

template <class algebra>
__device__ inline void hmm_leave(hmm_block &block, int state, double value)
{
    value = hmm_join_lanes<algebra>(value, 32);
    if (threadIdx.x % 32 == 0 && state >= 0) {
        block.meeting->parts[block.turn][state][threadIdx.x / 32] = value;
    }
}

// What all threads have of each state, state s in lane s. A step of all threads together. Bins that
// do not exist have none.
template <class algebra, int n_own>
__device__ inline double hmm_states(hmm_block &block, const hmm_bins<n_own> &bins,
                                    const double (&values)[n_own])
{
    double mine = values[0];
#pragma unroll
    for (int k = 1; k < n_own; k++) {
        if (bins.state[k] != bins.state[k - 1]) { // where states meet within a warp
            hmm_leave<algebra>(block, bins.state[k - 1], mine);
            mine = algebra::none();
        }
        mine = algebra::plus(mine, values[k]);
    }
    hmm_leave<algebra>(block, bins.state[n_own - 1], mine);
    __syncthreads();
    const int lane = int(threadIdx.x % 32);
    const int n_warp = int(blockDim.x / 32);
    const int at_once = 32 / n_warp; // states
    double found = algebra::none();
    for (int s = 0; s < block.model->n_state; s += at_once) {
        const int state = s + lane / n_warp;
        const double part = state < hmm_max_states
                                ? block.meeting->parts[block.turn][state][lane % n_warp]
                                : algebra::none();
        const double all = hmm_join_lanes<algebra>(part, n_warp);
        const double its = __shfl_sync(0xffffffffu, all, (lane - s) * n_warp & 31);
        found = lane >= s && lane < s + at_once ? its : found;
    }
    block.turn ^= 1;
    return found;
}

// Threads, and rows of a warp, for a model.
struct hmm_shape {
    int threads;
    int n_own;
};

inline hmm_shape hmm_shape_of(const tess_hmm_model &m)
{
    const int64_t n_row = m.n_bin / 32 + m.n_state; // at most
    return n_row <= 16    ? hmm_shape{512, 1}
           : n_row <= 64  ? hmm_shape{512, 4}
           : n_row <= 256 ? hmm_shape{1024, 8}
                          : hmm_shape{1024, 32};
}

inline size_t hmm_room_size(const tess_hmm_model &m)
{
    return size_t(m.n_scratch) * sizeof(double);
}

// Bytes of a room outside shared memory.
inline size_t hmm_room_bytes(const tess_hmm_model &m)
{
    return hmm_room_size(m) <= hmm_shared_bytes() ? 0 : hmm_room_size(m);
}

// Blocks of threads, each with a room.
inline unsigned hmm_blocks(const tess_hmm_runs &runs)
{
    return runs.n > 0 ? unsigned(runs.n) : 1;
}

// hmm_filter.cu: TESS_OK, or TESS_E_UNSUPPORTED with the reason recorded.
tess_status hmm_supports(const tess_backend_device *device, const tess_hmm_model *m,
                         const char *stage);

// Launches kernel(args, where) for a direction of a model: in shared memory what fits, room (of
// each block) elsewhere.
template <typename function, typename arguments>
cudaError_t hmm_launch(cudaStream_t stream, function kernel, const tess_hmm_model &m, int direction,
                       unsigned blocks, int threads, const arguments &args, double *room)
{
    const bool is_near = hmm_room_bytes(m) == 0;
    size_t shared = is_near ? hmm_room_size(m) : 0;
    hmm_where where = {is_near ? nullptr : room, m.there[direction],
                       int32_t(m.there_bytes[direction]), -1};
    if (shared + size_t(where.model_bytes) <= hmm_shared_bytes()) {
        where.model_at = int32_t(shared);
        shared += size_t(where.model_bytes);
    }
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(hmm_shared_bytes()));
    if (error != cudaSuccess) {
        return error;
    }
    kernel<<<blocks, threads, shared, stream>>>(args, where);
    return cudaGetLastError();
}

#endif
