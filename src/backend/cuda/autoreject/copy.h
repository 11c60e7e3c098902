// Copies from global to shared memory that a thread does not wait for; before sm_80 it does.
#ifndef TESS_CUDA_AUTOREJECT_COPY_H
#define TESS_CUDA_AUTOREJECT_COPY_H

#include "backend/cuda/level.h"

#include <cstdint>

// BYTES: 8 or 16, both places a multiple of it. Nothing is read where it is not there: 0 instead.
template <int BYTES>
__device__ __forceinline__ void copy_start(void *shared, const void *global, bool is_there)
{
#if TESS_CUDA_HAS_MATRIX
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(BYTES),
                 "r"(is_there ? BYTES : 0)
                 : "memory");
#else
    for (int i = 0; i < BYTES / 8; i++) {
        static_cast<uint64_t *>(shared)[i] =
            is_there ? static_cast<const uint64_t *>(global)[i] : 0;
    }
#endif
}

// Ends a group of copies.
__device__ __forceinline__ void copy_commit()
{
#if TESS_CUDA_HAS_MATRIX
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's groups but the newest N.
template <int N>
__device__ __forceinline__ void copy_wait()
{
#if TESS_CUDA_HAS_MATRIX
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif
