// A module that says it is CUDA's and has GPUs: the stages of a CPU of its own, memory that no host
// pointer names, and as many devices as FAKE_GPUS says (2). What several devices divide is tested
// with it where there is none. FAKE_GPUS_FAIL=K: stages of device K fail; FAKE_GPUS_BYTES: of each.
#include "base/status.h"
#include "runtime/context.h"
#include "stage/decode_events_there.h"
#include "stage/decode_hmm.h"
#include "tessera/tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const tess_backend tess_backend_cpu;

struct tess_backend_device {
    const tess_host *host;
    int32_t index;
    tess_context *ctx; // of this module's own library
};

struct tess_backend_queue {
    tess_backend_device *device;
    tess_backend_queue *cpu;
};

static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static tess_status tell(const tess_backend_device *device, tess_status status)
{
    return status == TESS_OK
               ? status
               : device->host->fail(device->host->user, status, "%s", tess_last_error());
}

static int32_t device_count(void *user, char *why, size_t capacity)
{
    (void)user;
    snprintf(why, capacity, "%s", number("FAKE_GPUS", 2) > 0 ? "" : "FAKE_GPUS is 0");
    return (int32_t)number("FAKE_GPUS", 2);
}

static tess_status device_info(void *user, int32_t index, tess_device_info *info)
{
    (void)user;
    const uint64_t bytes = (uint64_t)number("FAKE_GPUS_BYTES", INT64_C(1) << 30);
    *info = (tess_device_info){.struct_size = sizeof *info,
                               .index = index,
                               .backend = "cuda",
                               .name = "Fake GPU",
                               .detail = "a CPU",
                               .memory_bytes = bytes,
                               .memory_free_bytes = bytes,
                               .score = 100};
    snprintf(info->id, sizeof info->id, "cuda:%d", (int)index);
    return TESS_OK;
}

static void device_close(tess_backend_device *device)
{
    tess_context_destroy(device->ctx);
    free(device);
}

static tess_status device_open(void *user, int32_t index, const tess_host *host,
                               tess_backend_device **out)
{
    (void)user;
    tess_context_config config;
    tess_backend_device *device = calloc(1, sizeof *device);
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    config.device = "cpu";
    device->host = host;
    device->index = index;
    const tess_status status = tell(device, tess_context_create(&config, &device->ctx));
    if (status != TESS_OK) {
        free(device);
        return status;
    }
    *out = device;
    return TESS_OK;
}

static tess_status memory_alloc(tess_backend_device *device, tess_space space, size_t bytes,
                                void **out)
{
    (void)device;
    (void)space;
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*out) {
        return TESS_E_MEMORY;
    }
    memset(*out, 0xa5, bytes); // nothing is there by itself
    return TESS_OK;
}

static void memory_free(tess_backend_device *device, tess_space space, void *data, size_t bytes)
{
    (void)device;
    (void)space;
    memset(data, 0x5a, bytes);
    free(data);
}

static tess_status queue_create(tess_backend_device *device, tess_backend_queue **out)
{
    tess_backend_queue *queue = calloc(1, sizeof *queue);
    queue->device = device;
    *out = queue;
    return tell(device, tess_backend_cpu.queue_create(device->ctx->cpu.handle, &queue->cpu));
}

static void queue_destroy(tess_backend_queue *queue)
{
    tess_backend_cpu.queue_destroy(queue->cpu);
    free(queue);
}

static tess_status copy(tess_backend_queue *queue, void *dst, tess_space dst_space, const void *src,
                        tess_space src_space, size_t bytes)
{
    (void)queue;
    (void)dst_space;
    (void)src_space;
    memcpy(dst, src, bytes);
    return TESS_OK;
}

// What GPUs take in another way than the CPU is not theirs here.
static tess_status supports(tess_backend_device *device, int32_t stage, const void *args)
{
    static const int32_t others[] = {TESS_STAGE_DECODE_HMM_FILTER, TESS_STAGE_DECODE_HMM_SMOOTH,
                                     TESS_STAGE_DECODE_HMM_PATHS, TESS_STAGE_DECODE_EVENTS_MIX,
                                     TESS_STAGE_DECODE_EVENTS_JUDGE};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i] == stage) {
            return device->host->fail(device->host->user, TESS_E_UNSUPPORTED,
                                      "stage 0x%04x is not the fake's", (unsigned)stage);
        }
    }
    return tell(device, tess_backend_cpu.supports(device->ctx->cpu.handle, stage, args));
}

static size_t scratch_bytes(tess_backend_device *device, int32_t stage, const void *args)
{
    return tess_backend_cpu.scratch_bytes(device->ctx->cpu.handle, stage, args);
}

static tess_status enqueue(tess_backend_queue *queue, int32_t stage, const void *args, size_t bytes)
{
    const tess_backend_device *device = queue->device;
    if (number("FAKE_GPUS_FAIL", -1) == device->index) {
        return device->host->fail(device->host->user, TESS_E_DEVICE, "it was told to fail");
    }
    return tell(device, tess_backend_cpu.enqueue(queue->cpu, stage, args, bytes));
}

static tess_status finish(tess_backend_queue *queue)
{
    return tell(queue->device, tess_backend_cpu.finish(queue->cpu));
}

static const char *stage_name(int32_t stage)
{
    return tess_backend_cpu.stage_name(stage);
}

static const tess_backend table = {
    .struct_size = sizeof(tess_backend),
    .abi = TESS_MODULE_ABI,
    .name = "cuda",
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .copy = copy,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .enqueue = enqueue,
    .finish = finish,
    .stage_name = stage_name,
};

TESS_API const tess_module_info *tess_module_query(void);
TESS_API const tess_backend *tess_backend_entry(const tess_host *host);

const tess_module_info *tess_module_query(void)
{
    static const tess_module_info info = {.abi = TESS_MODULE_ABI,
                                          .kind = "backend",
                                          .name = "cuda",
                                          .version = TESS_VERSION,
                                          .built_with = "nothing"};
    return &info;
}

const tess_backend *tess_backend_entry(const tess_host *host)
{
    (void)host;
    return &table;
}
