// Rows of log likelihoods of shuffled events. Random numbers by counter, and additions in the CPU's
// order: the rows are the CPU's.

#include "backend/cuda/decode/stages.h"
#include "stage/decode_events_there.h"

#include <algorithm>

namespace
{

using mix_args = tess_stage_decode_events_mix;

constexpr int draw_threads = 64;
constexpr int row_threads = 128;

// Philox4x32-10 as base/rng_philox.c has it; word i of a shuffle's draws.
struct random_words {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t words[4];
    int64_t block;

    __device__ random_words(const mix_args &a, const tess_events_item &event, int64_t shuffle)
        : key{uint32_t(a.seed), uint32_t(a.seed >> 32)},
          counter{0, uint32_t(shuffle), event.key, uint32_t(a.kind)}, words{0, 0, 0, 0}, block(-1)
    {
    }
    __device__ void make(int64_t wanted)
    {
        uint32_t c[4] = {uint32_t(wanted), counter[1], counter[2], counter[3]};
        uint32_t k[2] = {key[0], key[1]};
        for (int round = 0; round < 10; round++) {
            const uint64_t p0 = uint64_t(0xD2511F53u) * c[0];
            const uint64_t p1 = uint64_t(0xCD9E8D57u) * c[2];
            const uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k[0], uint32_t(p1),
                                      uint32_t(p0 >> 32) ^ c[3] ^ k[1], uint32_t(p0)};
            for (int i = 0; i < 4; i++) {
                c[i] = next[i];
            }
            k[0] += 0x9E3779B9u;
            k[1] += 0xBB67AE85u;
        }
        for (int i = 0; i < 4; i++) {
            words[i] = c[i];
        }
        block = wanted;
    }
    // Draw i, an integer below m.
    __device__ int32_t below(int64_t i, int64_t m)
    {
        if (i / 4 != block) {
            make(i / 4);
        }
        const uint32_t word = i % 4 == 0   ? words[0]
                              : i % 4 == 1 ? words[1]
                              : i % 4 == 2 ? words[2]
                                           : words[3];
        return int32_t((uint64_t(word) * uint64_t(m)) >> 32);
    }
};

// A permutation of first..first+n-1 into order[first..].
__device__ void permute(random_words &random, int64_t first, int64_t n, int32_t *order)
{
    for (int64_t i = first; i < first + n; i++) {
        order[i] = int32_t(i);
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = random.below(first + i, i + 1);
        const int32_t item = order[first + i];
        order[first + i] = order[first + j];
        order[first + j] = item;
    }
}

__device__ void permute_marks(const mix_args &a, const tess_events_item &event,
                              random_words &random, int32_t *order)
{
    const int32_t *electrode = a.spike_electrode + event.first_spike;
    for (int64_t first = 0; first < event.n_spike;) {
        int64_t end = first + 1;
        while (end < event.n_spike && electrode[end] == electrode[first]) {
            end++;
        }
        permute(random, first, end - first, order);
        first = end;
    }
}

// What is drawn for a shuffle: a thread each.
__global__ void __launch_bounds__(draw_threads) draw_kernel(const __grid_constant__ mix_args a)
{
    const int64_t k = int64_t(blockIdx.x) * draw_threads + threadIdx.x;
    if (k >= a.n_sequence) {
        return;
    }
    const tess_events_sequence sequence = a.sequences[k];
    const tess_events_item event = a.events[sequence.event];
    random_words random(a, event, sequence.shuffle);
    int32_t *draws = a.draws + sequence.first_draw;
    switch (a.kind) {
    case TESS_EVENTS_COLUMN:
    case TESS_EVENTS_FIELD:
        for (int64_t i = 0; i < (a.kind == TESS_EVENTS_FIELD ? a.n_electrode : event.n_time); i++) {
            draws[i] = random.below(i, a.n_place);
        }
        break;
    case TESS_EVENTS_TIME:
        permute(random, 0, a.is_alone ? event.n_counted : event.n_time, draws);
        break;
    case TESS_EVENTS_MARKS:
        permute_marks(a, event, random, draws);
        break;
    case TESS_EVENTS_SPIKES:
        permute(random, 0, event.n_spike, draws);
        break;
    case TESS_EVENTS_UNITS:
        permute(random, 0, a.n_electrode, draws);
        break;
    default:
        break;
    }
}

// Item p of a row that was rotated.
__device__ double rotated(const double *row, int64_t p, int64_t shift, int64_t n)
{
    return row[p >= shift ? p - shift : p - shift + n];
}

// The ground intensity of rotated fields.
__global__ void __launch_bounds__(row_threads) base_kernel(const __grid_constant__ mix_args a)
{
    const int32_t *shift = a.draws + a.sequences[blockIdx.x].first_draw;
    for (int64_t p = threadIdx.x; p < a.n_place; p += row_threads) {
        double sum = 0;
        for (int64_t e = 0; e < a.n_electrode; e++) {
            sum = fma(-a.scale, rotated(a.ground + e * a.n_place, p, shift[e], a.n_place), sum);
        }
        a.base[blockIdx.x * a.n_place + p] = sum;
    }
}

// A bin of a shuffle.
struct mixed_bin {
    const int32_t *draws;
    int64_t first_spike;
    int64_t k;    // of the sequence
    int64_t time; // of the batch, whose spikes these are
    int64_t shift;
};

__device__ double mixed(const mix_args &a, const mixed_bin &bin, int64_t p)
{
    if (a.kind == TESS_EVENTS_COLUMN || a.kind == TESS_EVENTS_TIME) {
        return rotated(a.own + bin.time * a.n_place, p, bin.shift, a.n_place);
    }
    double sum =
        a.kind == TESS_EVENTS_FIELD ? a.base[bin.k * a.n_place + p] : -a.scale * a.summed[p];
    for (int64_t i = a.bin_first[bin.time]; i < a.bin_first[bin.time + 1]; i++) {
        const int64_t s = a.bin_spike[i];
        int64_t row = a.spike_row[s];
        int64_t shift = 0;
        if (a.kind == TESS_EVENTS_MARKS || a.kind == TESS_EVENTS_SPIKES) {
            row = a.spike_row[bin.first_spike + bin.draws[s - bin.first_spike]];
        } else if (a.kind == TESS_EVENTS_UNITS) {
            row = bin.draws[a.spike_electrode[s]];
        } else if (a.kind == TESS_EVENTS_FIELD) {
            shift = bin.draws[a.spike_electrode[s]];
        }
        sum += rotated(a.rows + row * a.n_place, p, shift, a.n_place);
    }
    return sum;
}

// Which bin of the event stands at bin t.
__device__ int64_t moved(const mix_args &a, const tess_events_item &event, const int32_t *draws,
                         int64_t t)
{
    if (a.kind != TESS_EVENTS_TIME) {
        return t;
    }
    if (!a.is_alone) {
        return draws[t];
    }
    const int32_t *counted = a.counted_time + event.first_time;
    int64_t low = 0; // the first counted bin from t on
    for (int64_t n = event.n_counted; n > 0;) {
        const int64_t half = n / 2;
        const bool is_before = counted[low + half] < t;
        low = is_before ? low + half + 1 : low;
        n = is_before ? n - half - 1 : half;
    }
    return low < event.n_counted && counted[low] == t ? counted[draws[low]] : t;
}

__global__ void __launch_bounds__(row_threads) row_kernel(const __grid_constant__ mix_args a)
{
    const tess_events_sequence sequence = a.sequences[blockIdx.x];
    const tess_events_item event = a.events[sequence.event];
    const int32_t *draws = a.draws + sequence.first_draw;
    for (int64_t t = blockIdx.y; t < event.n_time; t += gridDim.y) {
        const int64_t from = event.first_time + moved(a, event, draws, t);
        const mixed_bin bin = {draws, event.first_spike, int64_t(blockIdx.x), from,
                               a.kind == TESS_EVENTS_COLUMN ? draws[t] : 0};
        const int64_t row = sequence.first_row + t;
        for (int64_t c = threadIdx.x; c < a.n_ll; c += row_threads) {
            double value = a.added != nullptr ? a.added[from * a.n_ll + c] : 0;
            for (int b = 0; b < a.n_block; b++) {
                const int64_t p = c - a.block_first[b];
                if (p >= 0 && p < a.n_place) {
                    value += mixed(a, bin, p);
                }
            }
            a.ll[row * a.n_ll + c] = value;
        }
        for (int64_t i = threadIdx.x; i < a.n_pair; i += row_threads) { // times stay
            a.transition_rows[row * a.n_pair + i] =
                a.transition[(event.first_time + t) * a.n_pair + i];
        }
    }
}

cudaError_t mix_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const mix_args *>(args);
    constexpr int64_t most_blocks = 65535;
    if (a.n_sequence == 0) {
        return cudaSuccess;
    }
    const unsigned n = unsigned(a.n_sequence);
    if (a.kind != TESS_EVENTS_AS_THEY_ARE) {
        draw_kernel<<<(n + draw_threads - 1) / draw_threads, draw_threads, 0, stream>>>(a);
    }
    if (a.kind == TESS_EVENTS_FIELD) {
        base_kernel<<<n, row_threads, 0, stream>>>(a);
    }
    const dim3 grid(n, unsigned(std::min(a.most_time, most_blocks)));
    row_kernel<<<grid, row_threads, 0, stream>>>(a);
    return cudaGetLastError();
}

tess_status mix_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t mix_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_events_mix = {
    TESS_STAGE_DECODE_EVENTS_MIX,
    "decode.events_mix",
    sizeof(tess_stage_decode_events_mix),
    mix_supports,
    mix_scratch_bytes,
    mix_launch,
};
