// What the row kernels of clifford need of the device beyond C++: loads that leave the first-level
// cache alone, barriers of parts of a block, and launches with one struct as argument.
#ifndef TESS_CLIFFORD_DEVICE_CUH
#define TESS_CLIFFORD_DEVICE_CUH

#include "backend/cuda/level.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace clifford
{

constexpr unsigned all_lanes = 0xffffffffu;
// Multiprocessors of the device that grids are made for. A constant, because the number of partial
// sums, and with it their bits, must not depend on the device found.
constexpr int n_multiprocessor = 132;

// Loads of data that are read once and that nobody writes while the kernel is there. Not for what a
// kernel started early (launch_early) waits for: the compiler may read it before it has waited.
__device__ __forceinline__ uint4 load_once(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ uint2 load_once(const uint2 *p)
{
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ uint32_t load_once(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}

__device__ __forceinline__ uint16_t load_once(const uint16_t *p)
{
    uint16_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}

// Of data that others write: from the second-level cache, where they are the first to leave.
__device__ __forceinline__ uint64_t leave_first()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ uint64_t stay()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ uint4 load_last(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.cg.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(leave_first()));
    return v;
}

__device__ __forceinline__ uint2 load_last(const uint2 *p)
{
    uint2 v;
    asm volatile("ld.global.cg.L2::cache_hint.v2.u32 {%0,%1}, [%2], %3;"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p), "l"(leave_first()));
    return v;
}

__device__ __forceinline__ uint32_t load_last(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.global.cg.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(v)
                 : "l"(p), "l"(leave_first()));
    return v;
}

__device__ __forceinline__ uint16_t load_last(const uint16_t *p)
{
    uint16_t v;
    asm volatile("ld.global.cg.L2::cache_hint.u16 %0, [%1], %2;"
                 : "=h"(v)
                 : "l"(p), "l"(leave_first()));
    return v;
}

// Has the second-level cache fetch what will be read soon.
__device__ __forceinline__ void prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// Stores of whole words: left to itself the compiler cuts most of them into items, and every warp
// then sends half-filled sectors twice.
__device__ __forceinline__ void store_word(uint4 *p, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void store_word(uint2 *p, uint2 v)
{
    asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
}

__device__ __forceinline__ void store_word(uint32_t *p, uint32_t v)
{
    asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void store_word(uint16_t *p, uint16_t v)
{
    asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"(v) : "memory");
}

// The same of results that nobody reads again soon.
__device__ __forceinline__ void store_last(uint4 *p, uint4 v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void store_last(uint2 *p, uint2 v)
{
    asm volatile("st.global.cs.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
}

__device__ __forceinline__ void store_last(uint32_t *p, uint32_t v)
{
    asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void store_last(uint16_t *p, uint16_t v)
{
    asm volatile("st.global.cs.u16 [%0], %1;" ::"l"(p), "h"(v) : "memory");
}

// All of the first `threads` threads that name this barrier. Numbers 1..15; threads a multiple of
// the warp.
__device__ __forceinline__ void part_barrier(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// 1 / d and 1 / sqrt(d) to one or two units in the last place. A plain_ one wants d, and gives 1 /
// d, in the normal range: care for the others is six instructions.
__device__ __forceinline__ float plain_reciprocal_approximate(float d)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
    return r;
}

__device__ __forceinline__ float reciprocal_approximate(float d)
{
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(d));
    return r;
}

__device__ __forceinline__ float root_reciprocal_approximate(float d)
{
    float r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(d));
    return r;
}

// 2^v to two units in the last place; below the least normal number 0.
__device__ __forceinline__ float power_of_two_approximate(float v)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

// One thread of a warp, chosen by the device, so that the compiler knows that it is one.
__device__ __forceinline__ bool is_elected()
{
    uint32_t is_one;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}\n"
                 : "=r"(is_one));
    return is_one != 0;
}

// Words of shared memory by their address there.
__device__ __forceinline__ void store_shared(uint32_t at, float value)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(value) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t at, float (&values)[1])
{
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(values[0]) : "r"(at) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t at, float (&values)[2])
{
    asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];"
                 : "=f"(values[0]), "=f"(values[1])
                 : "r"(at)
                 : "memory");
}

// A value that the compiler must keep: it would rather compute it again in every iteration.
__device__ __forceinline__ uint32_t kept(uint32_t value)
{
    asm volatile("" : "+r"(value));
    return value;
}

__device__ __forceinline__ float kept(float value)
{
    asm volatile("" : "+f"(value));
    return value;
}

template <typename T>
__device__ __forceinline__ T *kept(T *pointer)
{
    asm volatile("" : "+l"(pointer));
    return pointer;
}

// A kernel that was started early (launch_early) waits here for the one before it, whose results
// it may read from then on. The one before says when the next may take up free places.
__device__ __forceinline__ void wait_for_previous()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_start()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Shared memory beyond the 48 KiB that every kernel may have wants a word. What the kernel declares
// itself counts too.
inline cudaError_t allow_shared(const void *function, size_t bytes)
{
    return bytes <= 32 * 1024 ? cudaSuccess : tess_cuda_allow_shared(function, bytes);
}

// Starts kernel(args) with that much dynamic shared memory.
template <typename Args>
cudaError_t launch(void (*kernel)(Args), dim3 grid, int threads, size_t shared_bytes,
                   cudaStream_t stream, const Args &args)
{
    const void *function = reinterpret_cast<const void *>(kernel);
    const cudaError_t error = allow_shared(function, shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    void *pointers[] = {const_cast<Args *>(&args)};
    return cudaLaunchKernel(function, grid, dim3(unsigned(threads)), pointers, shared_bytes,
                            stream);
}

// The same, without waiting for the kernel before it to end where kernels know how to. They share a
// multiprocessor only where they divide its memory alike: as much of it shared as there is, as
// those with large tiles have, unless carveout says otherwise.
template <typename Args>
cudaError_t launch_early(void (*kernel)(Args), dim3 grid, int threads, size_t shared_bytes,
                         cudaStream_t stream, const Args &args,
                         int carveout = cudaSharedmemCarveoutMaxShared)
{
    const void *function = reinterpret_cast<const void *>(kernel);
    const cudaError_t error = allow_shared(function, shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    if (tess_cuda_level_here() < TESS_CUDA_GROUPS) {
        return launch(kernel, grid, threads, shared_bytes, stream, args);
    }
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attributes[1].val.sharedMemCarveout = unsigned(carveout);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(unsigned(threads));
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = carveout == cudaSharedmemCarveoutDefault ? 1 : 2; // which takes no default
    void *pointers[] = {const_cast<Args *>(&args)};
    return cudaLaunchKernelExC(&config, function, pointers);
}

} // namespace clifford

#endif
