// See api.h.

#include "emulated/api.h"
#include "emulated/launch.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

struct emulated_stream {
    unsigned flags;
};

struct emulated_event {
    std::chrono::steady_clock::time_point at;
};

namespace
{

constexpr int not_a_number = 0xff; // every byte: as float, double, half and bfloat16
constexpr int processors = 2;
constexpr size_t device_bytes = size_t(8) << 30;
constexpr size_t line_bytes = 256; // what cudaMalloc aligns to
constexpr int plain_shared_bytes = 48 << 10;

std::mutex lock;
std::map<const char *, size_t> allocations; // of the device
std::map<const void *, int> allowed;        // dynamic shared memory of kernels that ask for much
size_t taken_bytes = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t error)
{
    last_error = error;
    return error;
}

// Whether any of the bytes, or all, lie in an allocation of the device.
bool is_on_device(const void *pointer, size_t bytes, bool wants_all)
{
    const std::lock_guard<std::mutex> guard(lock);
    const char *at = static_cast<const char *>(pointer);
    auto found = allocations.upper_bound(at);
    if (found == allocations.begin()) {
        return false;
    }
    --found;
    const char *end = found->first + found->second;
    return at < end && (!wants_all || at + bytes <= end);
}

void check_side(const void *pointer, size_t bytes, bool is_device, const char *what)
{
    if (bytes > 0 && is_on_device(pointer, bytes, is_device) != is_device) {
        emulated::fault("%s: %zu bytes at %p are not the %s's", what, bytes, pointer,
                        is_device ? "device" : "host");
    }
}

} // namespace

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    default:
        return "an error that the emulation does not make";
    }
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    if (device != 0) {
        return failed(cudaErrorInvalidDevice);
    }
    *properties = {"emulated on the CPU", device_bytes, 8, 0, processors};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    *value =
        attribute == cudaDevAttrMultiProcessorCount ? processors : int(emulated::most_shared_bytes);
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    const std::lock_guard<std::mutex> guard(lock);
    *free_bytes = device_bytes - taken_bytes;
    *total_bytes = device_bytes;
    return cudaSuccess;
}

cudaError_t emulated_malloc(void **out, size_t bytes)
{
    const std::lock_guard<std::mutex> guard(lock);
    *out = nullptr;
    if (bytes == 0) {
        return cudaSuccess;
    }
    if (bytes > device_bytes - taken_bytes || posix_memalign(out, line_bytes, bytes) != 0) {
        *out = nullptr;
        return failed(cudaErrorMemoryAllocation);
    }
    memset(*out, not_a_number, bytes);
    allocations[static_cast<char *>(*out)] = bytes;
    taken_bytes += bytes;
    return cudaSuccess;
}

cudaError_t emulated_host_alloc(void **out, size_t bytes)
{
    *out = nullptr;
    if (bytes > 0 && posix_memalign(out, line_bytes, bytes) != 0) {
        return failed(cudaErrorMemoryAllocation);
    }
    if (bytes > 0) {
        memset(*out, not_a_number, bytes);
    }
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    if (pointer == nullptr) {
        return cudaSuccess;
    }
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = allocations.find(static_cast<char *>(pointer));
    if (found == allocations.end()) {
        return failed(cudaErrorInvalidValue);
    }
    taken_bytes -= found->second;
    allocations.erase(found);
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t)
{
    check_side(to, bytes, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
               "cudaMemcpy to");
    check_side(from, bytes, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice,
               "cudaMemcpy from");
    memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t)
{
    check_side(to, bytes, true, "cudaMemset");
    memset(to, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes);
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    *out = new (std::nothrow) emulated_stream{flags};
    return *out != nullptr ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    *out = new (std::nothrow) emulated_event{};
    return *out != nullptr ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    event->at = std::chrono::steady_clock::now();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    *milliseconds = std::chrono::duration<float, std::milli>(stop->at - start->at).count();
    return cudaSuccess;
}

cudaError_t emulated_allow_shared(const void *kernel, int bytes)
{
    if (bytes < 0 || size_t(bytes) > emulated::most_shared_bytes) {
        return failed(cudaErrorInvalidValue);
    }
    const std::lock_guard<std::mutex> guard(lock);
    allowed[kernel] = bytes;
    return cudaSuccess;
}

namespace emulated
{

bool is_launchable(const void *kernel, const launch_shape &of)
{
    constexpr unsigned most_y = 65535;
    const uint64_t n_thread = uint64_t(of.block.x) * of.block.y * of.block.z;
    if (n_thread == 0 || n_thread > most_threads || of.block.z > 64 || of.grid.x == 0 ||
        of.grid.x > 0x7fffffffu || of.grid.y == 0 || of.grid.y > most_y || of.grid.z == 0 ||
        of.grid.z > most_y) {
        (void)failed(cudaErrorInvalidConfiguration);
        return false;
    }
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = allowed.find(kernel);
    const int most = found == allowed.end() ? 0 : found->second;
    if (of.dynamic_bytes > size_t(most > plain_shared_bytes ? most : plain_shared_bytes)) {
        (void)failed(cudaErrorInvalidValue);
        return false;
    }
    return true;
}

} // namespace emulated
