// One step of all states' movements, by a block of threads.
#ifndef TESS_CUDA_DECODE_HMM_SPREAD_H
#define TESS_CUDA_DECODE_HMM_SPREAD_H

#include "backend/cuda/decode/hmm_block.h"

template <class algebra, int n_row>
__device__ inline void hmm_item(const tess_hmm_item *item, int n_item, const double *w,
                                const double *x, double *out)
{
    constexpr int ahead = n_row > 2 ? 2 : 8; // terms, as registers allow
    double sum[n_row];
    for (int r = 0; r < n_row; r++) {
        sum[r] = algebra::none();
    }
    for (int i = 0; i < n_item; i++) {
        const double *weight = w + item[i].w;
        const double *value = x + item[i].x;
        const int n_term = item[i].n_term & 0xffffff;
        const int w_row = item[i].w_row;
        const int w_term = item[i].w_term;
        const int x_term = item[i].x_term;
#pragma unroll ahead
        for (int k = 0; k < n_term; k++) {
            const double one = value[k * x_term];
#pragma unroll
            for (int r = 0; r < n_row; r++) {
                sum[r] = algebra::join(weight[k * w_term + r * w_row], one, sum[r]);
            }
        }
    }
    for (int r = 0; r < n_row; r++) {
        out[item->out + r * item->out_row] = sum[r];
    }
}

// Groups of items, or items if first is NULL. Not inlined: every kernel has it several times, and
// compilers take a minute for each.
template <class algebra>
__device__ __noinline__ void hmm_pass(const tess_hmm_item *items, const int32_t *first, int n_group,
                                      const double *w, const double *x, double *out)
{
    for (int i = int(threadIdx.x); i < n_group; i += int(blockDim.x)) {
        const tess_hmm_item *item = items + (first != nullptr ? first[i] : i);
        const int n_item = first != nullptr ? first[i + 1] - first[i] : 1;
        switch (item->n_term >> 24) {
        case 1:
            hmm_item<algebra, 1>(item, n_item, w, x, out);
            break;
        case 2:
            hmm_item<algebra, 2>(item, n_item, w, x, out);
            break;
        case 4:
            hmm_item<algebra, 4>(item, n_item, w, x, out);
            break;
        default:
            hmm_item<algebra, 8>(item, n_item, w, x, out);
            break;
        }
    }
}

// One step into a state: links and weights of the states that it comes from, apart items from each
// other, and the first bins of these.
struct hmm_into {
    const int32_t *link;
    const double *weight;
    const int32_t *first;
    int apart;
    int n_state;
};

// The first cells of an operator: the states that move alike, joined. False: there are none.
template <class algebra>
__device__ inline bool hmm_scatter(const hmm_block &block, const tess_hmm_block_operator &op,
                                   const hmm_into &into, int32_t k, const double *x)
{
    bool is_used = false;
    for (int from = 0; from < into.n_state; from++) {
        is_used |=
            into.link[from * into.apart] == k && into.weight[from * into.apart] != algebra::none();
    }
    if (!is_used) {
        return false;
    }
    const double *before = op.before >= 0 ? block.at<double>(op.before) : nullptr;
    const int32_t *scatter = op.scatter >= 0 ? block.at<int32_t>(op.scatter) : nullptr;
    for (int i = int(threadIdx.x); i < op.n_in; i += int(blockDim.x)) {
        double value = algebra::none();
        for (int from = 0; from < into.n_state; from++) {
            if (into.link[from * into.apart] == k) {
                value = algebra::plus(
                    value, algebra::times(into.weight[from * into.apart], x[into.first[from] + i]));
            }
        }
        value = before != nullptr ? algebra::times(value, before[i]) : value;
        block.room[op.scratch + (scatter != nullptr ? scatter[i] : i)] = value;
    }
    return true;
}

// y (bins of a state) from the operator's cells, joined with what is there or with base.
template <class algebra>
__device__ inline void hmm_move(const hmm_block &block, const tess_hmm_block_operator &op,
                                bool is_begun, double base, double *y)
{
    const double *table = op.table_at >= 0 ? block.room + op.table_at : op.table;
    const double *in = block.room + op.scratch;
    __syncthreads();
    for (int p = 0; p < op.n_pass; p++) {
        const tess_hmm_block_pass &pass = op.pass[p];
        double *out = block.room + op.scratch + (p + 1) * op.n_cell;
        hmm_pass<algebra>(block.at<tess_hmm_item>(pass.items),
                          pass.first >= 0 ? block.at<int32_t>(pass.first) : nullptr, pass.n_group,
                          pass.weighs ? in : table, pass.weighs ? table : in, out);
        __syncthreads();
        in = out;
    }
    const double *after = op.after >= 0 ? block.at<double>(op.after) : nullptr;
    const int32_t *gather = op.gather >= 0 ? block.at<int32_t>(op.gather) : nullptr;
    for (int i = int(threadIdx.x); i < op.n_out; i += int(blockDim.x)) {
        const double value = in[gather != nullptr ? gather[i] : i];
        const double whole = after != nullptr ? algebra::times(value, after[i]) : value;
        y[i] = algebra::plus(is_begun ? y[i] : base, whole);
    }
}

// y = x * A (forward) or A * x, of all states; sums has that of x, state s in lane s. All threads;
// x is whole before and y afterwards.
template <class algebra, bool is_forward>
__device__ inline void hmm_spread(const hmm_block &block, const double *x, double sums, double *y)
{
    const int n_state = block.model->n_state;
    const int32_t *first = block.at<int32_t>(block.model->first);
    const int32_t *link = block.at<int32_t>(block.model->link);
    const tess_hmm_block_operator *operators =
        block.at<tess_hmm_block_operator>(block.model->operators);
    for (int to = 0; to < n_state; to++) {
        const int begin = is_forward ? to : to * n_state;
        const hmm_into into = {link + begin, block.meeting->weight + begin, first,
                               is_forward ? n_state : 1, n_state};
        double *out = y + first[to];
        const int n = first[to + 1] - first[to];
        double base = algebra::none();
        bool has_identity = false;
        for (int from = 0; from < n_state; from++) {
            const double sum = __shfl_sync(0xffffffffu, sums, from);
            has_identity |= into.link[from * into.apart] == TESS_HMM_IDENTITY;
            if (into.link[from * into.apart] == TESS_HMM_UNIFORM) {
                const double weight = algebra::times(into.weight[from * into.apart],
                                                     block.meeting->share[is_forward ? to : from]);
                base = algebra::plus(base, algebra::times(weight, sum));
            }
        }
        bool is_begun = false;
        for (int k = 0; k < block.model->n_operator; k++) {
            if (hmm_scatter<algebra>(block, operators[k], into, k, x)) {
                hmm_move<algebra>(block, operators[k], is_begun, base, out);
                is_begun = true;
            }
        }
        for (int i = int(threadIdx.x); (has_identity || !is_begun) && i < n; i += int(blockDim.x)) {
            double value = is_begun ? out[i] : base;
            for (int from = 0; from < n_state; from++) {
                if (into.link[from * into.apart] == TESS_HMM_IDENTITY) {
                    value = algebra::plus(
                        value, algebra::times(into.weight[from * into.apart], x[first[from] + i]));
                }
            }
            out[i] = value;
        }
    }
    __syncthreads();
}

#endif
