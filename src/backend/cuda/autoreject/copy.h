// Copies from global to shared memory that a thread does not wait for.
#ifndef TESS_CUDA_AUTOREJECT_COPY_H
#define TESS_CUDA_AUTOREJECT_COPY_H

#include <cstdint>

// BYTES: 8 or 16, both places a multiple of it. Nothing is read where it is not there: 0 instead.
template <int BYTES>
__device__ __forceinline__ void copy_start(void *shared, const void *global, bool is_there)
{
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(BYTES),
                 "r"(is_there ? BYTES : 0)
                 : "memory");
}

// Ends a group of copies.
__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for this thread's groups but the newest N.
template <int N>
__device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#endif
