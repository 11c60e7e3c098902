#include "backend/cuda/memory_cache.h"

#include <cstdlib>
#include <cstring>

namespace
{

constexpr size_t pinned_limit = size_t(256) << 20;
constexpr size_t smallest = 512;
constexpr size_t small = size_t(1) << 20;
constexpr size_t page = size_t(2) << 20; // the driver's own step

// What is asked of the driver: few sizes, so that blocks fit again.
size_t size_of(size_t bytes)
{
    if (bytes > small) {
        return (bytes + page - 1) / page * page;
    }
    size_t size = smallest;
    while (size < bytes) {
        size *= 2;
    }
    return size;
}

cudaError_t from_driver(memory_cache::kind of, size_t bytes, void **out)
{
    return of == memory_cache::PINNED ? cudaHostAlloc(out, bytes, cudaHostAllocPortable)
                                      : cudaMalloc(out, bytes);
}

// Freeing can only report an earlier fault, which the queue's finish has reported.
void to_driver(memory_cache::kind of, void *ptr)
{
    if (of == memory_cache::PINNED) {
        (void)cudaFreeHost(ptr);
    } else {
        (void)cudaFree(ptr);
    }
    (void)cudaGetLastError();
}

} // namespace

void memory_cache::open(size_t total_bytes)
{
    const char *wish = getenv("TESSERA_DEVICE_CACHE");
    const bool is_off = wish != nullptr && strcmp(wish, "0") == 0;
    n_block_ = 0;
    held_[DEVICE] = 0;
    held_[PINNED] = 0;
    limit_[DEVICE] = is_off ? 0 : total_bytes / 32;
    limit_[PINNED] = is_off ? 0 : pinned_limit;
}

void *memory_cache::find(kind of, size_t bytes)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int i = 0; i < n_block_; i++) {
        if (blocks_[i].of == of && blocks_[i].bytes == bytes) {
            void *ptr = blocks_[i].ptr;
            held_[of] -= bytes;
            blocks_[i] = blocks_[--n_block_];
            return ptr;
        }
    }
    return nullptr;
}

cudaError_t memory_cache::take(kind of, size_t bytes, void **out)
{
    if (limit_[of] == 0) {
        return from_driver(of, bytes, out);
    }
    const size_t size = size_of(bytes);
    *out = find(of, size);
    if (*out != nullptr) {
        return cudaSuccess;
    }
    const cudaError_t error = from_driver(of, size, out);
    if (error != cudaErrorMemoryAllocation) {
        return error;
    }
    (void)cudaGetLastError();
    release();
    return from_driver(of, size, out);
}

void memory_cache::give(kind of, void *ptr, size_t bytes)
{
    const size_t size = size_of(bytes);
    const bool is_well = limit_[of] > 0 && cudaDeviceSynchronize() == cudaSuccess;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_well && n_block_ < most_blocks && size <= limit_[of] - held_[of]) {
            blocks_[n_block_++] = {ptr, size, of};
            held_[of] += size;
            return;
        }
    }
    to_driver(of, ptr);
}

void memory_cache::release()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int i = 0; i < n_block_; i++) {
        to_driver(blocks_[i].of, blocks_[i].ptr);
    }
    n_block_ = 0;
    held_[DEVICE] = 0;
    held_[PINNED] = 0;
}
