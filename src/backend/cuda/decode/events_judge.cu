// Posteriors and scores of many events, a block of threads each: sums in an order of their own, so
// that the last digits may differ from the CPU's, but always the same.

#include "backend/cuda/decode/events_line.h"
#include "backend/cuda/decode/hmm_block.h"

#include <cfloat>

namespace
{

using judge_args = tess_stage_decode_events_judge;

// As on the CPU.
constexpr double tie = 1e-9;
constexpr double no_variance = 1e-28;

constexpr int posterior_threads = 256;

// What states with places hold of a bin, and whether that is half of all. A warp.
__device__ bool join_states(const judge_args &a, const double *row, double *posterior)
{
    double mass = 0;
    for (int64_t p = threadIdx.x % 32; p < a.n_place; p += 32) {
        double sum = 0;
        for (int s = 0; s < a.n_state; s++) {
            sum += row[a.state_first[s] + p];
        }
        posterior[p] = sum;
        mass += sum;
    }
    mass = warp_sum(mass);
    for (int64_t p = threadIdx.x % 32; mass > 0 && p < a.n_place; p += 32) {
        const double share = posterior[p] * (1 / mass);
        posterior[p] = share < DBL_MIN ? 0 : share;
    }
    return mass >= 0.5;
}

// exp(ll - max) over its sum. A warp.
__device__ void normalise(const judge_args &a, const double *ll, double *posterior)
{
    double most = -INFINITY;
    for (int64_t p = threadIdx.x % 32; p < a.n_place; p += 32) {
        most = ll[p] > most ? ll[p] : most;
    }
    most = warp_max(most);
    double sum = 0;
    for (int64_t p = threadIdx.x % 32; p < a.n_place; p += 32) {
        posterior[p] = exp(ll[p] - most);
        sum += posterior[p];
    }
    sum = warp_sum(sum);
    for (int64_t p = threadIdx.x % 32; p < a.n_place; p += 32) {
        const double share = posterior[p] * (1 / sum);
        posterior[p] = share < DBL_MIN ? 0 : share;
    }
}

// A block for some bins of a sequence, a warp for each.
__global__ void __launch_bounds__(posterior_threads)
    posterior_kernel(const __grid_constant__ judge_args a)
{
    const tess_events_sequence sequence = a.sequences[blockIdx.x];
    const tess_events_item event = a.events[sequence.event];
    for (int64_t t = threadIdx.x / 32; t < event.n_time; t += posterior_threads / 32) {
        const int64_t row = sequence.first_row + t;
        double *posterior = a.posterior + row * a.n_place;
        bool counts = true;
        if (a.n_state > 0) {
            counts = join_states(a, a.rows + row * a.n_column, posterior);
        } else {
            normalise(a, a.rows + row * a.n_column, posterior);
            counts = a.is_counted[event.first_time + t] != 0;
        }
        if (threadIdx.x % 32 == 0) {
            a.counted[row] = counts ? 1 : 0;
        }
    }
}

// The bins that count, by the first warp.
__device__ int list_bins(const uint8_t *counted, int n_time, int *time)
{
    int n = 0;
    const int lane = int(threadIdx.x % 32);
    for (int first = 0; first < n_time; first += 32) {
        const bool counts = first + lane < n_time && counted[first + lane] != 0;
        const unsigned all = __ballot_sync(0xffffffffu, counts);
        if (counts) {
            time[n + __popc(all & ((1u << lane) - 1))] = first + lane;
        }
        n += __popc(all);
    }
    return n;
}

__device__ double distance_of(const judge_args &a, int p, int q)
{
    return a.centre != nullptr ? fabs(a.centre[p] - a.centre[q]) : a.distance[p * a.n_place + q];
}

// Most likely places, and how likely; a warp for each bin.
__device__ void find_best(const judge_args &a, const judged &e)
{
    for (int k = int(threadIdx.x / 32); k < e.n; k += judge_warps) {
        const double *row = e.row(k);
        double most = -INFINITY;
        for (int64_t p = threadIdx.x % 32; p < a.n_place; p += 32) {
            most = row[p] > most ? row[p] : most;
        }
        most = warp_max(most);
        int best = int(a.n_place) - 1;
        for (int first = 0; first < int(a.n_place); first += 32) {
            const int p = first + int(threadIdx.x % 32);
            const bool is_best = p < int(a.n_place) && row[p] >= (1 - tie) * most;
            const unsigned all = __ballot_sync(0xffffffffu, is_best);
            if (all != 0) {
                best = first + __ffs(int(all)) - 1;
                break;
            }
        }
        if (threadIdx.x % 32 == 0) {
            e.best[k] = best;
            e.value[k] = most;
        }
    }
    __syncthreads();
}

// The largest distance between any two of the places.
__device__ double farthest(const judge_args &a, const judged &e)
{
    double most = 0;
    for (int64_t pair = threadIdx.x; pair < int64_t(e.n) * e.n; pair += judge_threads) {
        const double d = distance_of(a, e.best[pair / e.n], e.best[pair % e.n]);
        most = d > most ? d : most;
    }
    return block_max(e, most);
}

__device__ void score_places(const judge_args &a, const judged &e, double *scores)
{
    find_best(a, e);
    double sum = 0; // in the CPU's order
    for (int k = 0; threadIdx.x == 0 && k < e.n; k++) {
        sum += e.value[k];
    }
    __syncthreads();
    for (int k = int(threadIdx.x) + 1; k < e.n; k += judge_threads) {
        e.value[k] = distance_of(a, e.best[k - 1], e.best[k]);
    }
    const double far = farthest(a, e);
    if (threadIdx.x == 0) {
        double distance = 0;
        double jump = 0;
        for (int k = 1; k < e.n; k++) {
            distance += e.value[k];
            jump = e.value[k] > jump ? e.value[k] : jump;
        }
        const double duration = double(e.time[e.n - 1] - e.time[0]) * a.bin_s;
        scores[TESS_EVENTS_SHARPNESS] = sum / double(e.n);
        scores[TESS_EVENTS_DISTANCE] = distance;
        scores[TESS_EVENTS_MAX_JUMP] = jump;
        scores[TESS_EVENTS_NET_DISTANCE] = distance_of(a, e.best[0], e.best[e.n - 1]);
        scores[TESS_EVENTS_COVERAGE] = a.extent > 0 ? far / a.extent : double(NAN);
        scores[TESS_EVENTS_SPEED] = duration > 0 ? distance / duration : double(NAN);
    }
}

__device__ double route_mass(const judged &e, const tess_events_way &way)
{
    double mass = 0;
    for (int k = int(threadIdx.x / 32); k < e.n; k += judge_warps) {
        const double *row = e.row(k);
        for (int64_t q = threadIdx.x % 32; q < way.n_bin; q += 32) {
            mass += row[way.bin[q]];
        }
    }
    return block_sum(e, mass);
}

__device__ int heaviest(const judge_args &a, const judged &e)
{
    if (a.n_route == 1) {
        return 0;
    }
    double most = 0;
    for (int r = 0; r < a.n_route; r++) {
        const double mass = route_mass(e, a.routes[r]);
        most = mass > most ? mass : most;
    }
    int r = 0;
    while (r < a.n_route - 1 && !(route_mass(e, a.routes[r]) >= (1 - tie) * most)) {
        r++;
    }
    return r;
}

// Sums over counted bins and a route's places: of P, P t, P u; then, about their means, of P t t,
// P u u and P t u.
__device__ double correlation(const judge_args &a, const judged &e)
{
    const tess_events_way &way = a.routes[heaviest(a, e)];
    double mass = 0, mean_time = 0, mean_place = 0;
    double in_time = 0, in_place = 0, both = 0;
    for (int round = 0; round < 2; round++) {
        double sums[3] = {0, 0, 0};
        for (int k = int(threadIdx.x / 32); k < e.n; k += judge_warps) {
            const double *row = e.row(k);
            const double t = double(e.time[k]) - mean_time;
            for (int64_t q = threadIdx.x % 32; q < way.n_bin; q += 32) {
                const double u = way.u[q] - mean_place;
                const double p = row[way.bin[q]];
                sums[0] += round == 0 ? p : p * t * t;
                sums[1] += round == 0 ? p * t : p * u * u;
                sums[2] += round == 0 ? p * u : p * t * u;
            }
        }
        for (double &sum : sums) {
            sum = block_sum(e, sum);
        }
        if (round == 0) {
            mass = sums[0];
            if (!(mass > 0)) {
                return double(NAN);
            }
            mean_time = sums[1] / mass;
            mean_place = sums[2] / mass;
        } else {
            in_time = sums[0];
            in_place = sums[1];
            both = sums[2];
        }
    }
    const bool is_any = in_time > no_variance * mass * mean_time * mean_time &&
                        in_place > no_variance * mass * way.length * way.length;
    return is_any ? both / sqrt(in_time * in_place) : double(NAN);
}

// Memory of a block: bins' times, places and values, lines' meetings of each warp, prefix sums.
struct judge_layout {
    size_t value, met, parts, time, best, prefix, end;
};

__host__ __device__ judge_layout layout_of(const judge_args &a, bool has_prefix)
{
    const size_t n = size_t(a.most_time);
    judge_layout l;
    l.value = 0;
    l.met = l.value + n * sizeof(double);
    l.parts = l.met + (a.n_route > 0 ? judge_warps * n * sizeof(int2) : 0);
    l.prefix = l.parts + judge_warps * sizeof(double);
    l.time = l.prefix + (has_prefix ? n * size_t(a.most_bins + 1) * sizeof(double) : 0);
    l.best = l.time + n * sizeof(int);
    l.end = l.best + n * sizeof(int);
    return l;
}

template <bool is_near>
__global__ void __launch_bounds__(judge_threads, 2)
    score_kernel(const __grid_constant__ judge_args a)
{
    extern __shared__ double shared[];
    __shared__ int n_counted;
    const judge_layout layout = layout_of(a, is_near);
    char *memory = reinterpret_cast<char *>(shared);
    const tess_events_sequence sequence = a.sequences[blockIdx.x];
    const tess_events_item event = a.events[sequence.event];
    double *scores = a.scores + int64_t(blockIdx.x) * TESS_EVENTS_N_SCORE;
    judged e;
    e.posterior = a.posterior + sequence.first_row * a.n_place;
    e.n_place = int(a.n_place);
    e.time = reinterpret_cast<int *>(memory + layout.time);
    e.best = reinterpret_cast<int *>(memory + layout.best);
    e.value = reinterpret_cast<double *>(memory + layout.value);
    e.met = reinterpret_cast<int2 *>(memory + layout.met);
    e.parts = reinterpret_cast<double *>(memory + layout.parts);
    e.prefix = is_near ? reinterpret_cast<double *>(memory + layout.prefix)
                       : a.prefix + sequence.first_row * (a.most_bins + 1);
    if (threadIdx.x < 32) {
        const int n = list_bins(a.counted + sequence.first_row, event.n_time, e.time);
        if (threadIdx.x == 0) {
            n_counted = n;
        }
    }
    if (int(threadIdx.x) < TESS_EVENTS_N_SCORE) {
        scores[threadIdx.x] = double(NAN);
    }
    __syncthreads();
    e.n = n_counted;
    if (e.n < a.min_bins || e.n < 1) {
        return;
    }
    score_places(a, e, scores);
    if (a.n_route == 0) {
        return;
    }
    const double found = correlation(a, e);
    double best = -INFINITY;
    for (int r = 0; r < a.n_route; r++) {
        const double sum =
            best_of_route(e, a.routes[r], a.windows[event.windows + r], event.n_time, a.most_time);
        best = sum > best ? sum : best;
    }
    if (threadIdx.x == 0) {
        scores[TESS_EVENTS_CORRELATION] = found;
        scores[TESS_EVENTS_LINE_FIT] = best / double(e.n);
    }
}

bool is_near(const judge_args &a)
{
    return layout_of(a, true).end <= hmm_shared_bytes();
}

cudaError_t judge_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const judge_args *>(args);
    if (a.n_sequence == 0) {
        return cudaSuccess;
    }
    const unsigned n = unsigned(a.n_sequence);
    posterior_kernel<<<n, posterior_threads, 0, stream>>>(a);
    const auto kernel = is_near(a) ? score_kernel<true> : score_kernel<false>;
    const size_t bytes = layout_of(a, is_near(a)).end;
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error != cudaSuccess) {
        return error;
    }
    kernel<<<n, judge_threads, bytes, stream>>>(a);
    return cudaGetLastError();
}

tess_status judge_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const judge_args *>(args);
    const tess_host *host = device->host;
    if (a.most_time > TESS_EVENTS_MOST_TIME || a.most_bins > TESS_EVENTS_MOST_BINS ||
        a.n_place > (1 << 30)) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage decode.events_judge on cuda:%d: %lld bins of an event and %lld of "
                          "a route, at most %d and %d: use --device cpu",
                          device->ordinal, static_cast<long long>(a.most_time),
                          static_cast<long long>(a.most_bins), int(TESS_EVENTS_MOST_TIME),
                          int(TESS_EVENTS_MOST_BINS));
    }
    return TESS_OK;
}

// Of prefix sums that do not fit a block's memory.
size_t judge_scratch_bytes(const tess_backend_device *, const void *args)
{
    const auto &a = *static_cast<const judge_args *>(args);
    return a.n_route == 0 || is_near(a)
               ? 0
               : size_t(a.n_row) * size_t(a.most_bins + 1) * sizeof(double);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_events_judge = {
    TESS_STAGE_DECODE_EVENTS_JUDGE,
    "decode.events_judge",
    sizeof(tess_stage_decode_events_judge),
    judge_supports,
    judge_scratch_bytes,
    judge_launch,
};
