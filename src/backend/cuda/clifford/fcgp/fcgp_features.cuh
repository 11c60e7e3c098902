// Rows of stage clifford.fcgp on tensor cores: a group of threads has a row, a thread some
// neighbouring features of all components. Rows that a block's registers do not hold are read again
// from the cache. All orders depend on the number of features alone.
//
// Loads go past the first-level cache: kernels start before the one that wrote their operands ends.
// Every kernel lets the next one start only behind its own wait: whatever was written before the
// last kernel can be read at once.
#ifndef TESS_CLIFFORD_FCGP_FEATURES_CUH
#define TESS_CLIFFORD_FCGP_FEATURES_CUH

#include "backend/cuda/clifford/common/clifford.cuh"
#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_chunk.cuh"
#include "backend/cuda/warp_sum.h"

#include <cfloat>

namespace clifford
{

using ::fma; // of numbers, beside that of features

// V neighbouring features of a component. By value everywhere: lists of a thousand terms compile
// ten times as fast.
template <int V>
struct features {
    float at[V];
};

template <int V>
__device__ __forceinline__ features<V> operator*(features<V> a, features<V> b)
{
    features<V> c;
#pragma unroll
    for (int v = 0; v < V; v++) {
        c.at[v] = a.at[v] * b.at[v];
    }
    return c;
}

template <int V>
__device__ __forceinline__ features<V> operator*(features<V> a, float b)
{
    features<V> c;
#pragma unroll
    for (int v = 0; v < V; v++) {
        c.at[v] = a.at[v] * b;
    }
    return c;
}

template <int V>
__device__ __forceinline__ features<V> operator-(features<V> a)
{
    features<V> c;
#pragma unroll
    for (int v = 0; v < V; v++) {
        c.at[v] = -a.at[v];
    }
    return c;
}

template <int V>
__device__ __forceinline__ features<V> fma(features<V> a, features<V> b, features<V> c)
{
    features<V> d;
#pragma unroll
    for (int v = 0; v < V; v++) {
        d.at[v] = fmaf(a.at[v], b.at[v], c.at[v]);
    }
    return d;
}

// load_fresh of a caller's array, which makes room for what stays between the kernels.
template <typename T, int V>
__device__ __forceinline__ pack<T, V> load_input(const T *from)
{
    return load_pack_by<T, V>(from, [](const auto *word) { return load_last(word); });
}

template <typename T, int V>
__device__ __forceinline__ features<V> widen_pack(const pack<T, V> &items)
{
    features<V> f;
#pragma unroll
    for (int v = 0; v < V; v++) {
        f.at[v] = widen(items.at[v]);
    }
    return f;
}

// Where feature n0 of a row is in component 0. From component to component pointers move on:
// precomputed addresses of 32 components would fill the registers.
template <typename T>
__device__ __forceinline__ T *first_item(const tess_cl_view &view, int64_t row, int n0)
{
    return static_cast<T *>(view.data) + row * view.stride[1] + n0 * view.stride[2];
}

// V features of all components of a row, as they lie in memory.
template <typename T, int V, int D>
struct feature_packs {
    pack<T, V> items[D];

    __device__ __forceinline__ void load(const tess_cl_view &from, int64_t row, int n0, int n)
    {
        const T *at = first_item<const T>(from, row, n0);
#pragma unroll
        for (int k = 0; k < D; k++, at += from.stride[0]) {
            items[k] = n0 < n ? load_input<T, V>(at) : zero_pack<T, V>();
        }
    }
    __device__ __forceinline__ void widen_to(features<V> (&f)[D]) const
    {
#pragma unroll
        for (int k = 0; k < D; k++) {
            f[k] = widen_pack(items[k]);
        }
    }
};

template <typename T, int V, int D>
__device__ __forceinline__ void load_items(features<V> (&f)[D], const tess_cl_view &from,
                                           int64_t row, int n0, int n)
{
    const T *at = first_item<const T>(from, row, n0);
#pragma unroll
    for (int k = 0; k < D; k++, at += from.stride[0]) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            f[k].at[v] = n0 + v < n ? widen(load_input<T, 1>(at + v * from.stride[2]).at[0]) : 0.0f;
        }
    }
}

// Features from n0 on of all components of a row; zero from n on. are_packs: V of them can be moved
// together. No branches between the loads: they wait together.
template <typename T, int V, int D>
__device__ __forceinline__ void load_features(features<V> (&f)[D], const tess_cl_view &from,
                                              bool are_packs, int64_t row, int n0, int n)
{
    if (are_packs) {
        feature_packs<T, V, D> packs;
        packs.load(from, row, n0, n);
        packs.widen_to(f);
    } else {
        load_items<T>(f, from, row, n0, n);
    }
}

// The same of two arrays.
template <typename T, typename U, int V, int D>
__device__ __forceinline__ void load_features(features<V> (&f)[D], const tess_cl_view &from_f,
                                              features<V> (&g)[D], const tess_cl_view &from_g,
                                              bool are_packs, int64_t row, int n0, int n)
{
    if (are_packs) {
        feature_packs<T, V, D> packs_f;
        feature_packs<U, V, D> packs_g;
        packs_f.load(from_f, row, n0, n);
        packs_g.load(from_g, row, n0, n);
        packs_f.widen_to(f);
        packs_g.widen_to(g);
    } else {
        load_items<T>(f, from_f, row, n0, n);
        load_items<U>(g, from_g, row, n0, n);
    }
}

// Features from n0 on of one component, as far as there are n; `stride` from one to the next.
template <typename T, int V>
__device__ __forceinline__ void store_features(T *to, bool are_packs, int64_t stride, int n0, int n,
                                               features<V> f)
{
    if (are_packs) {
        if (n0 < n) {
            using word = typename word_of<int(sizeof(T)) * V>::type;
            const pack<T, V> items = narrow_pack<T, V>(f.at);
            word bits;
            memcpy(&bits, &items, sizeof(items));
            store_last(reinterpret_cast<word *>(to), bits);
        }
        return;
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (n0 + v < n) {
            to[v * stride] = narrow<T>(f.at[v]);
        }
    }
}

// To scratch memory, whose rows are long enough for whole packs.
template <int V>
__device__ __forceinline__ void store_halves(__half *to, const features<V> &f)
{
    store_pack<__half, V>(to, narrow_pack<__half, V>(f.at));
}

// The largest magnitude of a feature's components; infinities and NaN count as 0, as those of
// magnitude do. fmaxf is one instruction and passes NaN by: only infinities make it count anew.
template <int V, int D>
__device__ __forceinline__ features<V> peaks_of(const features<V> (&f)[D])
{
    features<V> peaks = {};
#pragma unroll
    for (int k = 0; k < D; k++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            peaks.at[v] = fmaxf(peaks.at[v], fabsf(f[k].at[v]));
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (peaks.at[v] > FLT_MAX) {
            uint32_t most = 0;
#pragma unroll
            for (int k = 0; k < D; k++) {
                most = max(most, clifford_mma::magnitude(f[k].at[v]));
            }
            peaks.at[v] = __uint_as_float(most);
        }
    }
    return peaks;
}

template <int V>
__device__ __forceinline__ uint32_t largest_of(const features<V> &peaks, uint32_t most)
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        most = max(most, __float_as_uint(peaks.at[v]));
    }
    return most;
}

// Of the products of a row's pairs and gradients, as the exponents of its x, y and h are.
__device__ __forceinline__ int fc_row_exponent(const fc_chunk &c, int left, int right, int gradient)
{
    return left + right - c.product_exponent + gradient;
}

constexpr int fc_max_threads = 256;

// Blocks that a multiprocessor shall hold, by what a thread of them keeps in registers. Left alone
// the compiler aims too high and spills.
template <int n_kept>
constexpr int fc_resident = n_kept <= 32   ? 3
                            : n_kept <= 64 ? 2
                                           : 1;

// Largest magnitudes of M kinds.
template <int M>
struct alignas(sizeof(uint32_t) * M) maxima {
    uint32_t at[M];
};

// Over a group, for all its threads. partials: of the block, once.
template <int M>
__device__ __forceinline__ maxima<M> max_over_group(maxima<M> most, const row_group &group,
                                                    maxima<M> (&partials)[fc_max_threads / 32])
{
    if (group.lanes < 32) {
        for (int step = group.lanes / 2; step > 0; step /= 2) {
#pragma unroll
            for (int m = 0; m < M; m++) {
                most.at[m] = max(most.at[m], __shfl_xor_sync(all_lanes, most.at[m], step));
            }
        }
        return most;
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
        most.at[m] = warp_max(most.at[m]);
    }
    if (group.lanes == 32) {
        return most;
    }
    const int first = (int(threadIdx.x) - group.lane) / 32;
    if (threadIdx.x % 32 == 0) {
        partials[threadIdx.x / 32] = most;
    }
    group.sync();
    for (int warp = first; warp < first + group.lanes / 32; warp++) {
        const maxima<M> other = partials[warp];
#pragma unroll
        for (int m = 0; m < M; m++) {
            most.at[m] = max(most.at[m], other.at[m]);
        }
    }
    return most;
}

// ---- Launch -------------------------------------------------------------------------------------

// A kernel's chunk, and how its threads share rows.
struct fc_task {
    fc_chunk c;
    int32_t lanes;
    int32_t are_packs; // everywhere
};

template <typename T, int V>
bool fc_are_packs(const tess_cl_view &view, int64_t n)
{
    return view.data == nullptr ||
           (view.stride[2] == 1 && view.stride[0] % V == 0 && view.stride[1] % V == 0 &&
            n % V == 0 && reinterpret_cast<uintptr_t>(view.data) % (sizeof(T) * V) == 0);
}

// Threads of a row of n features, V each.
template <int V>
int fc_lanes_for(int64_t n)
{
    int lanes = 1;
    while (lanes < fc_max_threads && int64_t(lanes) * V < n) {
        lanes *= 2;
    }
    return lanes;
}

// args: what the kernel takes, with the task in it.
template <typename Args>
cudaError_t fc_launch(cudaStream_t stream, void (*kernel)(Args), const fc_task &task,
                      const Args &args)
{
    const int threads = task.lanes > 128 ? task.lanes : 128;
    const int64_t blocks = cl_fc_whole(task.c.n_row, threads / task.lanes);
    return launch_early(kernel, dim3(unsigned(blocks)), threads, 0, stream, args);
}

inline cudaError_t fc_launch(cudaStream_t stream, void (*kernel)(fc_task), const fc_task &task)
{
    return fc_launch(stream, kernel, task, task);
}

} // namespace clifford

#endif
