// Memory that was given back, kept for the next who asks: a gigabyte from the driver takes
// milliseconds, as does a pinned buffer, and every run asks for the same ones again.
//
// Belongs to a device that is open, and goes with it. What is kept is at most a thirty-second of
// the device's memory, and 256 MiB of pinned memory; TESSERA_DEVICE_CACHE=0 keeps nothing.
#ifndef TESS_CUDA_MEMORY_CACHE_H
#define TESS_CUDA_MEMORY_CACHE_H

#include <cuda_runtime.h>

#include <mutex>

class memory_cache
{
  public:
    enum kind { DEVICE, PINNED };

    // total_bytes: of the device.
    void open(size_t total_bytes);
    // The device is current in these.
    cudaError_t take(kind of, size_t bytes, void **out);
    // bytes: as they were asked for. Waits for the device, as the driver's own does.
    void give(kind of, void *ptr, size_t bytes);
    void release();

  private:
    struct block {
        void *ptr;
        size_t bytes;
        kind of;
    };
    static constexpr int most_blocks = 64;

    void *find(kind of, size_t bytes);

    std::mutex mutex_;
    block blocks_[most_blocks];
    int n_block_;
    size_t held_[2];
    size_t limit_[2];
};

#endif
