// The CUDA backend's table: devices, memory, queues and the dispatch of stages.
//
// Uses the runtime API, linked statically, and the device's primary context, which other CUDA users
// in the process share: it is never reset.

#include "backend/cuda/cuda_backend.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

namespace
{

const tess_cuda_stage *const *const systems[] = {tess_cuda_autoreject, tess_cuda_clifford,
                                                 tess_cuda_decode, tess_cuda_xpcs};

// Oldest architecture in this file, as 10 * major + minor. nvcc lists them in rising order.
constexpr int compiled_archs[] = {__CUDA_ARCH_LIST__};
constexpr int oldest_arch = compiled_archs[0] / 10;

// Only there to ask whether this file has code for a device.
__global__ void presence_kernel()
{
}

void explain(char *why, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void explain(char *why, size_t capacity, const char *format, ...)
{
    if (why == nullptr || capacity == 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, capacity, format, arguments);
    va_end(arguments);
}

// What a person can do about an error; faults of a kernel leave the process without its GPU.
const char *remedy_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return "lower the memory limit, or free the GPU of other programs (nvidia-smi lists them)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
        return "rebuild the module with CMAKE_CUDA_ARCHITECTURES for this GPU, or use --device cpu";
    case cudaErrorInvalidDevice:
        return "choose a device that 'tessera device' lists";
    case cudaErrorDevicesUnavailable:
        return "another process holds the GPU: wait for it, or use --device cpu";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
        return "the GPU is lost to this process: start again, and report it if it recurs";
    default:
        return "check the GPU with nvidia-smi, or use --device cpu";
    }
}

tess_status status_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return TESS_E_MEMORY;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
        return TESS_E_UNSUPPORTED;
    case cudaErrorInvalidDevice:
        return TESS_E_ARGUMENT;
    default:
        return TESS_E_DEVICE;
    }
}

void describe(const tess_backend_device *device, cudaError_t error, const char *what, char *text,
              size_t capacity)
{
    (void)snprintf(text, capacity, "cuda:%d: %s: %s: %s", device->ordinal, what,
                   cudaGetErrorString(error), remedy_of(error));
}

int major_of(int cuda_version)
{
    return cuda_version / 1000;
}

int minor_of(int cuda_version)
{
    return cuda_version % 1000 / 10;
}

void explain_no_gpu(cudaError_t error, int driver_version, char *why, size_t capacity)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (driver_version == 0) {
        explain(why, capacity,
                "no NVIDIA driver found (libcuda.so.1): install the driver, or use --device cpu");
    } else if (error == cudaErrorInsufficientDriver) {
        explain(why, capacity,
                "driver supports CUDA %d.%d, older than the %d.%d this module was built with: "
                "update the driver, or use --device cpu",
                major_of(driver_version), minor_of(driver_version), major_of(CUDART_VERSION),
                minor_of(CUDART_VERSION));
    } else if (error != cudaErrorNoDevice && error != cudaSuccess) {
        explain(why, capacity,
                "driver found but it cannot be used (%s): check nvidia-smi, or use --device cpu",
                cudaGetErrorString(error));
    } else if (visible != nullptr) {
        explain(why, capacity,
                "driver found but no GPU visible (CUDA_VISIBLE_DEVICES='%s'): unset it, or use "
                "--device cpu",
                visible);
    } else {
        explain(why, capacity,
                "driver found but no GPU visible: check nvidia-smi, or use --device cpu");
    }
}

bool is_usable(const cudaDeviceProp &properties)
{
    return properties.major * 10 + properties.minor >= oldest_arch;
}

// Counts every visible GPU, so that indices are those of nvidia-smi and other CUDA programs; one
// too old for this file keeps its place and gets score 0.
int32_t device_count(void *, char *why, size_t why_capacity)
{
    explain(why, why_capacity, "%s", "");
    int driver_version = 0;
    int n_device = 0;
    cudaError_t error = cudaDriverGetVersion(&driver_version);
    if (error == cudaSuccess) {
        error = cudaGetDeviceCount(&n_device);
    }
    if (error != cudaSuccess || n_device <= 0) {
        (void)cudaGetLastError();
        explain_no_gpu(error, driver_version, why, why_capacity);
        return 0;
    }
    cudaDeviceProp properties;
    for (int i = 0; i < n_device; i++) {
        if (cudaGetDeviceProperties(&properties, i) == cudaSuccess && is_usable(properties)) {
            return n_device;
        }
    }
    (void)cudaGetLastError();
    explain(why, why_capacity,
            "no GPU of compute capability %d.%d or newer among the %d found: rebuild the module "
            "with CMAKE_CUDA_ARCHITECTURES for yours, or use --device cpu",
            oldest_arch / 10, oldest_arch % 10, n_device);
    return 0;
}

// There is no host to record a message with here: the sentence of a failure is left in detail.
tess_status device_info(void *, int32_t index, tess_device_info *info)
{
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
    info->index = index;
    (void)snprintf(info->backend, sizeof(info->backend), "cuda");
    (void)snprintf(info->id, sizeof(info->id), "cuda:%d", int(index));

    cudaDeviceProp properties;
    int driver_version = 0;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (error == cudaSuccess) {
        error = cudaDriverGetVersion(&driver_version);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        (void)snprintf(info->detail, sizeof(info->detail), "%s", cudaGetErrorString(error));
        return error == cudaErrorInvalidDevice ? TESS_E_ARGUMENT : TESS_E_DEVICE;
    }
    (void)snprintf(info->name, sizeof(info->name), "%.*s", int(sizeof(info->name)) - 1,
                   properties.name);
    (void)snprintf(info->detail, sizeof(info->detail),
                   "compute capability %d.%d, %d SMs, driver %d.%d", properties.major,
                   properties.minor, properties.multiProcessorCount, major_of(driver_version),
                   minor_of(driver_version));
    info->memory_bytes = properties.totalGlobalMem;
    if (!is_usable(properties)) {
        return TESS_OK;
    }
    const device_scope scope(index);
    // A GPU that another process holds exclusively is listed, but not chosen by "auto".
    if (scope.error() == cudaSuccess && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
        info->memory_free_bytes = free_bytes;
        info->score = 100;
    }
    (void)cudaGetLastError();
    return TESS_OK;
}

void device_close(tess_backend_device *device)
{
    if (device == nullptr) {
        return;
    }
    const tess_host *host = device->host;
    {
        const device_scope scope(device->ordinal);
        device->memory.release();
    }
    device->~tess_backend_device();
    host->release(host->user, device, sizeof(*device));
}

tess_status device_open(void *, int32_t index, const tess_host *host, tess_backend_device **out)
{
    *out = nullptr;
    void *room = host->alloc(host->user, sizeof(tess_backend_device));
    if (room == nullptr) {
        return TESS_E_MEMORY;
    }
    tess_backend_device *device = new (room) tess_backend_device{host, index, {}};
    const device_scope scope(index);
    cudaError_t error = scope.error();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (error == cudaSuccess) {
        cudaFuncAttributes attributes;
        error = cudaFuncGetAttributes(&attributes, presence_kernel);
    }
    if (error == cudaSuccess) {
        error = cudaMemGetInfo(&free_bytes, &total_bytes);
    }
    device->memory.open(total_bytes);
    if (error != cudaSuccess) {
        const tess_status status = tess_cuda_fail(device, error, "opening the device");
        device_close(device);
        return status;
    }
    *out = device;
    return TESS_OK;
}

tess_status memory_alloc(tess_backend_device *device, tess_space space, size_t bytes, void **out)
{
    *out = nullptr;
    const device_scope scope(device->ordinal);
    cudaError_t error = scope.error();
    const bool pinned = space == TESS_SPACE_PINNED;
    if (!pinned && space != TESS_SPACE_DEVICE) {
        return device->host->fail(device->host->user, TESS_E_SPACE,
                                  "cuda:%d: memory space %d is not this device's: allocate device "
                                  "or pinned memory",
                                  device->ordinal, int(space));
    }
    if (error == cudaSuccess) {
        error =
            device->memory.take(pinned ? memory_cache::PINNED : memory_cache::DEVICE, bytes, out);
    }
    if (error == cudaSuccess) {
        return TESS_OK;
    }
    *out = nullptr;
    char what[80];
    (void)snprintf(what, sizeof(what), "allocating %zu bytes of %s memory", bytes,
                   pinned ? "pinned host" : "device");
    return tess_cuda_fail(device, error, what);
}

void memory_free(tess_backend_device *device, tess_space space, void *ptr, size_t bytes)
{
    const device_scope scope(device->ordinal);
    device->memory.give(space == TESS_SPACE_PINNED ? memory_cache::PINNED : memory_cache::DEVICE,
                        ptr, bytes);
}

// owned: a stream of the queue's own, ordered with the legacy default stream, so that arrays that
// other code in the process hands over there (DLPack) are finished before a stage reads them.
tess_status make_queue(tess_backend_device *device, bool owned, cudaStream_t stream,
                       tess_backend_queue **out)
{
    const tess_host *host = device->host;
    *out = nullptr;
    tess_backend_queue *queue =
        static_cast<tess_backend_queue *>(host->alloc(host->user, sizeof(*queue)));
    if (queue == nullptr) {
        return TESS_E_MEMORY;
    }
    *queue = {device, stream, owned, "nothing", TESS_OK, ""};
    if (owned) {
        const device_scope scope(device->ordinal);
        cudaError_t error = scope.error();
        if (error == cudaSuccess) {
            error = cudaStreamCreate(&queue->stream);
        }
        if (error != cudaSuccess) {
            host->release(host->user, queue, sizeof(*queue));
            return tess_cuda_fail(device, error, "creating a queue");
        }
    }
    *out = queue;
    return TESS_OK;
}

tess_status queue_create(tess_backend_device *device, tess_backend_queue **out)
{
    return make_queue(device, true, nullptr, out);
}

tess_status queue_adopt(tess_backend_device *device, void *stream, tess_backend_queue **out)
{
    return make_queue(device, false, static_cast<cudaStream_t>(stream), out);
}

void queue_destroy(tess_backend_queue *queue)
{
    if (queue == nullptr) {
        return;
    }
    const tess_host *host = queue->device->host;
    if (queue->owns_stream) {
        const device_scope scope(queue->device->ordinal);
        (void)cudaStreamDestroy(queue->stream);
        (void)cudaGetLastError();
    }
    host->release(host->user, queue, sizeof(*queue));
}

// Reports a failure of work in a queue, and keeps the first one for finish.
tess_status queue_fail(tess_backend_queue *queue, cudaError_t error, const char *work)
{
    if (queue->failed == TESS_OK) {
        queue->failed = status_of(error);
        describe(queue->device, error, work, queue->message, sizeof(queue->message));
    }
    return tess_cuda_fail(queue->device, error, work);
}

cudaMemcpyKind copy_kind(tess_space dst_space, tess_space src_space)
{
    if (dst_space == TESS_SPACE_DEVICE) {
        return src_space == TESS_SPACE_DEVICE ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    }
    return src_space == TESS_SPACE_DEVICE ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

tess_status copy(tess_backend_queue *queue, void *dst, tess_space dst_space, const void *src,
                 tess_space src_space, size_t bytes)
{
    if (bytes == 0) {
        return TESS_OK;
    }
    const device_scope scope(queue->device->ordinal);
    cudaError_t error = scope.error();
    queue->last_work = "copy";
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(dst, src, bytes, copy_kind(dst_space, src_space), queue->stream);
    }
    return error == cudaSuccess ? TESS_OK : queue_fail(queue, error, "copy");
}

const tess_cuda_stage *find_stage(int32_t id)
{
    for (const tess_cuda_stage *const *stages : systems) {
        for (; *stages != nullptr; stages++) {
            if ((*stages)->id == id) {
                return *stages;
            }
        }
    }
    return nullptr;
}

tess_status unknown_stage(const tess_backend_device *device, int32_t stage)
{
    return device->host->fail(device->host->user, TESS_E_UNSUPPORTED,
                              "stage 0x%04x on cuda:%d: not written for CUDA in this version: use "
                              "--device cpu",
                              unsigned(stage), device->ordinal);
}

tess_status supports(tess_backend_device *device, int32_t stage, const void *args)
{
    const tess_cuda_stage *found = find_stage(stage);
    if (found == nullptr) {
        return unknown_stage(device, stage);
    }
    return args == nullptr ? TESS_OK : found->supports(device, args);
}

const char *stage_name(int32_t stage)
{
    const tess_cuda_stage *found = find_stage(stage);
    return found == nullptr ? nullptr : found->name;
}

size_t scratch_bytes(tess_backend_device *device, int32_t stage, const void *args)
{
    const tess_cuda_stage *found = find_stage(stage);
    const device_scope scope(device->ordinal); // what a kernel needs may depend on the GPU
    return found == nullptr ? 0 : found->scratch_bytes(device, args);
}

tess_status enqueue(tess_backend_queue *queue, int32_t stage, const void *args, size_t args_bytes)
{
    tess_backend_device *device = queue->device;
    const tess_cuda_stage *found = find_stage(stage);
    if (found == nullptr) {
        return unknown_stage(device, stage);
    }
    if (args_bytes != found->args_bytes) {
        return device->host->fail(device->host->user, TESS_E_VERSION,
                                  "stage %s on cuda:%d: arguments of %zu bytes, expected %zu: the "
                                  "module and the library are of different versions",
                                  found->name, device->ordinal, args_bytes, found->args_bytes);
    }
    const tess_status status = found->supports(device, args);
    if (status != TESS_OK) {
        return status;
    }
    const device_scope scope(device->ordinal);
    cudaError_t error = scope.error();
    queue->last_work = found->name;
    if (error == cudaSuccess) {
        error = found->launch(queue->stream, args);
    }
    return error == cudaSuccess ? TESS_OK : queue_fail(queue, error, found->name);
}

tess_status finish(tess_backend_queue *queue)
{
    const tess_host *host = queue->device->host;
    const device_scope scope(queue->device->ordinal);
    cudaError_t error = scope.error();
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(queue->stream);
    }
    if (queue->failed != TESS_OK) {
        const tess_status status = queue->failed;
        queue->failed = TESS_OK;
        (void)cudaGetLastError();
        return host->fail(host->user, status, "%s", queue->message);
    }
    if (error == cudaSuccess) {
        return TESS_OK;
    }
    // Faults surface late: the newest work is named as the last that can have caused it.
    char what[96];
    (void)snprintf(what, sizeof(what), "%s or work queued before it", queue->last_work);
    return tess_cuda_fail(queue->device, error, what);
}

const tess_backend table = {
    sizeof(tess_backend),
    TESS_MODULE_ABI,
    "cuda",
    nullptr,
    device_count,
    device_info,
    device_open,
    device_close,
    memory_alloc,
    memory_free,
    queue_create,
    queue_destroy,
    copy,
    supports,
    scratch_bytes,
    enqueue,
    finish,
    tess_cuda_benchmark,
    queue_adopt,
    stage_name,
};

const tess_module_info module_info = {
    TESS_MODULE_ABI,
    0,
    "backend",
    "cuda",
    TESS_VERSION,
    "CUDA " TEXT(__CUDACC_VER_MAJOR__) "." TEXT(
        __CUDACC_VER_MINOR__) ", architectures " TESS_CUDA_ARCHS,
};

} // namespace

tess_status tess_cuda_fail(const tess_backend_device *device, cudaError_t error, const char *what)
{
    char text[sizeof(tess_backend_queue::message)];
    describe(device, error, what, text, sizeof(text));
    (void)cudaGetLastError();
    return device->host->fail(device->host->user, status_of(error), "%s", text);
}

extern "C" TESS_API const tess_module_info *tess_module_query(void)
{
    return &module_info;
}

extern "C" TESS_API const tess_backend *tess_backend_entry(const tess_host *)
{
    return &table;
}
