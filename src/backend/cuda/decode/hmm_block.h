// The kernels of the hidden Markov model: a block of threads, its memory, and how its threads meet.
//
// Rows follow rows, so one block of threads has the whole sequence: its vectors, and all that
// describes the model, lie in shared memory, and its threads meet five to seven times a row. What
// does not depend on the row before (exponentials, logarithms, the smoother's predictions) is made
// by as many blocks as there are. Which thread has which bin depends on the model alone, so that
// neither chunks nor repeats change a bit.
#ifndef TESS_CUDA_DECODE_HMM_BLOCK_H
#define TESS_CUDA_DECODE_HMM_BLOCK_H

#include "backend/cuda/decode/stages.h"
#include "backend/cuda/level.h"
#include "stage/decode_hmm.h"

constexpr int hmm_max_states = 16;
constexpr int hmm_warps = 32; // at most, of a block

// For vectors, tables and the model, beside what kernels declare: 212 KiB of an H200.
inline size_t hmm_shared_bytes()
{
    return tess_cuda_shared_bytes() - (size_t(15) << 10);
}

// Sums of products...
struct hmm_sums {
    static __device__ double none()
    {
        return 0;
    }
    static __device__ double plus(double a, double b)
    {
        return a + b;
    }
    static __device__ double times(double a, double b)
    {
        return a * b;
    }
    static __device__ double join(double w, double x, double to)
    {
        return fma(w, x, to);
    }
    static __device__ double share(double width) // of one of so many bins
    {
        return 1 / width;
    }
};

// ... and maxima of sums of logarithms.
struct hmm_maxima {
    static __device__ double none()
    {
        return -INFINITY;
    }
    static __device__ double plus(double a, double b)
    {
        return a > b ? a : b;
    }
    static __device__ double times(double a, double b)
    {
        return a + b;
    }
    static __device__ double join(double w, double x, double to)
    {
        return plus(w + x, to);
    }
    static __device__ double share(double width)
    {
        return -log(width);
    }
};

// Values of all threads meet here. Two of each: what is read may still be read when the next is
// written. Parts of a state that a warp has no bin of stay none.
struct hmm_meeting {
    double parts[2][hmm_max_states][hmm_warps];
    double share[hmm_max_states];
    double weight[hmm_max_states * hmm_max_states]; // transition of the row at hand
};

// A block of threads at work. turn is each thread's own and the same in all.
struct hmm_block {
    const tess_hmm_block *model; // offsets from itself
    double *room;                // [n_scratch]: two vectors of N_s, cells, tables
    hmm_meeting *meeting;
    int n_bin;
    int turn;

    __device__ double *vector(int which) const
    {
        return room + which * n_bin;
    }
    template <typename item>
    __device__ const item *at(int32_t offset) const
    {
        return reinterpret_cast<const item *>(reinterpret_cast<const char *>(model) + offset);
    }
};

template <class algebra>
__device__ inline double hmm_join_lanes(double value, int n_lane)
{
    for (int apart = n_lane / 2; apart > 0; apart /= 2) {
        value = algebra::plus(value, __shfl_xor_sync(0xffffffffu, value, apart));
    }
    return value;
}

// What was found of each state, state s in lane s, joined.
template <class algebra>
__device__ inline double hmm_all(const hmm_block &block, double found)
{
    double all = algebra::none();
    for (int s = 0; s < block.model->n_state; s++) {
        all = algebra::plus(all, __shfl_sync(0xffffffffu, found, s));
    }
    return all;
}

// Where a kernel finds room and model: in shared memory, or where they lie.
struct hmm_where {
    double *room;      // NULL: shared
    const char *model; // on the device
    int32_t model_bytes;
    int32_t model_at; // in shared memory; -1: read where it lies
};

// Room at its beginning, tables and model where they are read. All threads.
template <class algebra>
__device__ inline hmm_block hmm_begin(const tess_hmm_model &m, const hmm_where &where,
                                      double *shared, hmm_meeting *meeting)
{
    double *room = where.room != nullptr ? where.room + int64_t(blockIdx.x) * m.n_scratch : shared;
    const char *model = where.model;
    if (where.model_at >= 0) {
        char *copy = reinterpret_cast<char *>(shared) + where.model_at;
        const int4 *from = reinterpret_cast<const int4 *>(where.model);
        for (int i = int(threadIdx.x); i < where.model_bytes / 16; i += int(blockDim.x)) {
            reinterpret_cast<int4 *>(copy)[i] = from[i];
        }
        model = copy;
    }
    for (int64_t i = threadIdx.x; i < m.n_scratch; i += blockDim.x) {
        room[i] = algebra::none();
    }
    for (int i = int(threadIdx.x); i < 2 * hmm_max_states * hmm_warps; i += int(blockDim.x)) {
        (&meeting->parts[0][0][0])[i] = algebra::none();
    }
    __syncthreads();
    const hmm_block block = {reinterpret_cast<const tess_hmm_block *>(model), room, meeting,
                             int(m.n_bin), 0};
    const tess_hmm_block_operator *operators =
        block.at<tess_hmm_block_operator>(block.model->operators);
    for (int k = 0; k < block.model->n_operator; k++) {
        const tess_hmm_block_operator &op = operators[k];
        for (int i = int(threadIdx.x); op.table_at >= 0 && i < op.n_table; i += int(blockDim.x)) {
            room[op.table_at + i] = op.table[i];
        }
    }
    const int32_t *first = block.at<int32_t>(block.model->first);
    for (int s = int(threadIdx.x); s < block.model->n_state; s += int(blockDim.x)) {
        meeting->share[s] = algebra::share(double(first[s + 1] - first[s]));
    }
    __syncthreads();
    return block;
}

// The transition of a row, to be read after the next meeting.
__device__ inline void hmm_bring_weights(const hmm_block &block, const double *transition)
{
    const int n_state = block.model->n_state;
    for (int i = int(threadIdx.x); i < n_state * n_state; i += int(blockDim.x)) {
        block.meeting->weight[i] = transition[i];
    }
}

#endif
