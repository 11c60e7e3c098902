// What the sources use of CUDA C++ in kernels: words, indices, steps of a block and of a warp,
// atomics.
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include "emulated/threads.h"

#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) alignas(bytes)

#define threadIdx (emulated::thread_index())
#define blockIdx (emulated::block_index)
#define blockDim (emulated::shape.block)
#define gridDim (emulated::shape.grid)

// Where a function is called; its arguments by default are evaluated there.
#define EMULATED_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

// ---- Steps of a block ---------------------------------------------------------------------------

inline void __syncthreads(EMULATED_HERE)
{
    (void)emulated::meet_block({"__syncthreads", file, line}, 0, 0, false);
}

inline int __syncthreads_count(int is, EMULATED_HERE)
{
    return emulated::meet_block({"__syncthreads_count", file, line}, 0, 0, is != 0);
}

inline int __syncthreads_or(int is, EMULATED_HERE)
{
    return emulated::meet_block({"__syncthreads_or", file, line}, 0, 0, is != 0) > 0;
}

inline int __syncthreads_and(int is, EMULATED_HERE)
{
    return emulated::meet_block({"__syncthreads_and", file, line}, 0, 0, is == 0) == 0;
}

// ---- Steps of a warp ----------------------------------------------------------------------------

namespace emulated
{

template <typename T>
struct swapped {
    T value;
    int from; // lane whose value it takes
    T taken;
    place at;
};

template <typename T>
void swap_lanes(void *const (&mine)[warp_lanes], unsigned mask)
{
    for (int i = 0; i < warp_lanes; i++) {
        swapped<T> *one = static_cast<swapped<T> *>(mine[i]);
        if (one == nullptr) {
            continue;
        }
        const swapped<T> *from = static_cast<const swapped<T> *>(mine[one->from]);
        if (from != nullptr) {
            one->taken = from->value;
        } else { // a lane that does not exist, or stays away: no value that could be meant
            memset(static_cast<void *>(&one->taken), 0xff, sizeof(T));
            if (mask >> one->from & 1) {
                fault("%s, %s:%d: lane %d is not there", one->at.what, one->at.file, one->at.line,
                      one->from);
            }
        }
    }
}

template <typename T>
T swap(const char *what, const char *file, int line, unsigned mask, T value, int from)
{
    swapped<T> mine = {value, from, value, {what, file, line}};
    meet_warp(mine.at, mask, &mine, swap_lanes<T>);
    return mine.taken;
}

// Of values that all lanes bring, one answer: joined by act from lane to lane.
template <typename T>
struct joined {
    T value;
    T answer;
    T (*act)(T, T);
};

template <typename T>
void join_lanes(void *const (&mine)[warp_lanes], unsigned)
{
    T answer = {};
    bool is_first = true;
    for (void *one : mine) {
        if (one != nullptr) {
            const joined<T> &it = *static_cast<const joined<T> *>(one);
            answer = is_first ? it.value : it.act(answer, it.value);
            is_first = false;
        }
    }
    for (void *one : mine) {
        if (one != nullptr) {
            static_cast<joined<T> *>(one)->answer = answer;
        }
    }
}

template <typename T>
T join(const place &at, unsigned mask, T value, T (*act)(T, T))
{
    joined<T> mine = {value, value, act};
    meet_warp(at, mask, &mine, join_lanes<T>);
    return mine.answer;
}

inline void do_nothing(void *const (&)[warp_lanes], unsigned)
{
}

inline int lane_within(int lane, int first, int last, int own)
{
    return lane < first || lane > last ? own : lane;
}

} // namespace emulated

inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATED_HERE)
{
    emulated::meet_warp({"__syncwarp", file, line}, mask, nullptr, emulated::do_nothing);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32, EMULATED_HERE)
{
    const int first = emulated::lane() / width * width;
    return emulated::swap("__shfl_sync", file, line, mask, value, first + (from & (width - 1)));
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int apart, int width = 32, EMULATED_HERE)
{
    const int own = emulated::lane();
    const int last = own / width * width + width - 1;
    return emulated::swap("__shfl_xor_sync", file, line, mask, value,
                          emulated::lane_within(own ^ apart, 0, last, own));
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, int apart, int width = 32, EMULATED_HERE)
{
    const int own = emulated::lane();
    return emulated::swap("__shfl_up_sync", file, line, mask, value,
                          emulated::lane_within(own - apart, own / width * width, own, own));
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, int apart, int width = 32, EMULATED_HERE)
{
    const int own = emulated::lane();
    const int last = own / width * width + width - 1;
    return emulated::swap("__shfl_down_sync", file, line, mask, value,
                          emulated::lane_within(own + apart, own, last, own));
}

inline unsigned __ballot_sync(unsigned mask, int is, EMULATED_HERE)
{
    return emulated::join<unsigned>({"__ballot_sync", file, line}, mask,
                                    is ? 1u << emulated::lane() : 0u,
                                    [](unsigned a, unsigned b) { return a | b; });
}

template <typename T>
T __reduce_add_sync(unsigned mask, T value, EMULATED_HERE)
{
    return emulated::join<T>({"__reduce_add_sync", file, line}, mask, value,
                             [](T a, T b) { return T(unsigned(a) + unsigned(b)); });
}

template <typename T>
T __reduce_max_sync(unsigned mask, T value, EMULATED_HERE)
{
    return emulated::join<T>({"__reduce_max_sync", file, line}, mask, value,
                             [](T a, T b) { return a < b ? b : a; });
}

// ---- Memory -------------------------------------------------------------------------------------

template <typename T>
T __ldg(const T *from)
{
    return *from;
}

template <typename T>
T __ldcg(const T *from)
{
    return *from;
}

template <typename T>
T __ldcs(const T *from)
{
    return *from;
}

template <typename T>
T atomicAdd(T *to, std::common_type_t<T> value)
{
    const T before = *to;
    *to = before + value;
    return before;
}

template <typename T>
T atomicMax(T *to, std::common_type_t<T> value)
{
    const T before = *to;
    *to = before < value ? value : before;
    return before;
}

inline size_t __cvta_generic_to_shared(const void *pointer)
{
    return emulated::shared_address(pointer);
}

#endif
