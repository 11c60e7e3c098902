// What the files of the CUDA module share: devices, queues, the stage table and error reporting.
//
// C++17 without exceptions. Every function that touches a device holds a device_scope, because the
// current device belongs to the thread and the caller may use CUDA for something else.
#ifndef TESS_CUDA_BACKEND_H
#define TESS_CUDA_BACKEND_H

#include "backend/cuda/memory_cache.h"
#include "tessera/sys/backend.h"

#include <cuda_runtime.h>

struct tess_backend_device {
    const tess_host *host;
    int ordinal;
    memory_cache memory;
};

struct tess_backend_queue {
    tess_backend_device *device;
    cudaStream_t stream;
    bool owns_stream;
    const char *last_work; // newest stage or copy: where an asynchronous fault is looked for
    tess_status failed;    // first failure since the last finish, TESS_OK if none
    char message[320];     // its sentence
};

// One stage. Adding one: a .cu file in the folder of its system that defines such a constant, and a
// line in its stages.h and stages.cu.
struct tess_cuda_stage {
    int32_t id;
    const char *name; // "autoreject.ptp": how messages call it
    size_t args_bytes;
    // TESS_OK, or TESS_E_UNSUPPORTED with the reason recorded.
    tess_status (*supports)(const tess_backend_device *device, const void *args);
    size_t (*scratch_bytes)(const tess_backend_device *device, const void *args);
    // args passed supports(). Returns the launch's error.
    cudaError_t (*launch)(cudaStream_t stream, const void *args);
};

// The stages of a system, ended by a null pointer: <system>/stages.cu.
extern const tess_cuda_stage *const tess_cuda_autoreject[];
extern const tess_cuda_stage *const tess_cuda_clifford[];
extern const tess_cuda_stage *const tess_cuda_decode[];
extern const tess_cuda_stage *const tess_cuda_xpcs[];

// Makes a device current for one call and gives the thread back as it was found.
class device_scope
{
  public:
    explicit device_scope(int ordinal) : ordinal_(ordinal)
    {
        if (cudaGetDevice(&previous_) != cudaSuccess) {
            previous_ = ordinal;
        }
        error_ = cudaSetDevice(ordinal);
    }
    ~device_scope()
    {
        if (previous_ != ordinal_) {
            (void)cudaSetDevice(previous_);
        }
    }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;
    cudaError_t error() const
    {
        return error_;
    }

  private:
    int ordinal_;
    int previous_ = 0;
    cudaError_t error_ = cudaSuccess;
};

// Records "cuda:0: <what>: <CUDA's words>; <remedy>" with the host and returns the status that
// fits the error. Clears CUDA's per-thread error, so that the next launch is not blamed for it.
tess_status tess_cuda_fail(const tess_backend_device *device, cudaError_t error, const char *what);

// cuda_probe.cu
tess_status tess_cuda_benchmark(tess_backend_device *device, tess_device_ceilings *ceilings);

#endif
