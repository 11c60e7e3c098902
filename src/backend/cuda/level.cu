// See level.h.

#include "backend/cuda/level.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace
{

constexpr int max_devices = 64;
constexpr size_t unit_bytes = 4096;

// Never launched: its static shared memory tells the level of the code that was loaded.
__global__ void level_kernel(int *to)
{
    constexpr int level = TESS_CUDA_HAS_GROUPS   ? TESS_CUDA_GROUPS
                          : TESS_CUDA_HAS_MATRIX ? TESS_CUDA_MATRIX
                                                 : TESS_CUDA_PLAIN;
    __shared__ volatile int room[level * unit_bytes / sizeof(int)];
    room[threadIdx.x] = to[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = room[threadIdx.x ^ 1];
}

bool is_generic_wished()
{
    const char *wish = getenv("TESSERA_CUDA_GENERIC");
    return wish != nullptr && strcmp(wish, "1") == 0;
}

tess_cuda_level level_of_code()
{
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, level_kernel) != cudaSuccess) {
        (void)cudaGetLastError();
        return TESS_CUDA_PLAIN;
    }
    // Rounded: a driver may count a little of its own.
    const size_t level = (attributes.sharedSizeBytes + unit_bytes / 2) / unit_bytes;
    return level >= TESS_CUDA_GROUPS   ? TESS_CUDA_GROUPS
           : level == TESS_CUDA_MATRIX ? TESS_CUDA_MATRIX
                                       : TESS_CUDA_PLAIN;
}

struct known_device {
    std::atomic<int> level; // 0: not asked yet
    std::atomic<int> shared_bytes;
};

// What is known of the current device.
const known_device &here()
{
    static const bool is_generic = is_generic_wished();
    static known_device known[max_devices];
    int device = 0;
    (void)cudaGetDevice(&device);
    known_device &one = known[device < max_devices ? device : 0];
    if (one.level.load(std::memory_order_acquire) == 0) {
        int level = level_of_code();
        level = is_generic && level > TESS_CUDA_MATRIX ? TESS_CUDA_MATRIX : level;
        int bytes = 0;
        (void)cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        constexpr int most_without_groups = 163 * 1024;
        one.shared_bytes.store(level < TESS_CUDA_GROUPS ? std::min(bytes, most_without_groups)
                                                        : bytes,
                               std::memory_order_relaxed);
        one.level.store(level, std::memory_order_release);
    }
    return one;
}

// What the driver was told of a kernel on a device.
struct told_kernel {
    const void *kernel;
    int device;
    size_t bytes;
};

constexpr size_t n_told = 1024; // more kernels than there are; behind the last, one is told again

// Where a kernel is noted on a device, or may be; null where all places are taken.
told_kernel *note_of(told_kernel *notes, const void *kernel, int device)
{
    const size_t first = (uintptr_t(kernel) >> 4) + size_t(device) * 31;
    for (size_t i = 0; i < n_told; i++) {
        told_kernel &one = notes[(first + i) % n_told];
        if (one.kernel == nullptr || (one.kernel == kernel && one.device == device)) {
            return &one;
        }
    }
    return nullptr;
}

} // namespace

cudaError_t tess_cuda_allow_shared(const void *kernel, size_t bytes)
{
    static std::mutex lock;
    static told_kernel notes[n_told];
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) {
        return error;
    }
    const std::lock_guard<std::mutex> guard(lock);
    told_kernel *note = note_of(notes, kernel, device);
    if (note != nullptr && note->kernel != nullptr && note->bytes >= bytes) {
        return cudaSuccess;
    }
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error == cudaSuccess && note != nullptr) {
        *note = {kernel, device, bytes};
    }
    return error;
}

tess_cuda_level tess_cuda_level_here()
{
    return tess_cuda_level(here().level.load(std::memory_order_relaxed));
}

size_t tess_cuda_shared_bytes()
{
    return size_t(here().shared_bytes.load(std::memory_order_relaxed));
}
