#include "runtime/device.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_backend_slot *slot_of(tess_context *ctx, const char *name)
{
    for (int32_t i = 0; i < ctx->n_backend; i++) {
        if (strcmp(ctx->backends[i].name, name) == 0) {
            return &ctx->backends[i];
        }
    }
    return NULL;
}

const tess_backend *tess_backend_find(tess_context *ctx, const char *name, const char **why)
{
    tess_backend_slot *slot = slot_of(ctx, name);
    if (!slot) {
        if (ctx->n_backend == TESS_MAX_BACKENDS || strcmp(name, "cuda") != 0) {
            *why = "there is no such backend; known are cpu and cuda";
            return NULL;
        }
        slot = &ctx->backends[ctx->n_backend++];
        snprintf(slot->name, sizeof slot->name, "%s", name);
        tess_backend_entry_fn entry = NULL;
        *(void **)&entry =
            tess_module_open(ctx, "tessera-backend-cuda.so", "TESSERA_CUDA_PLUGIN", "backend",
                             "tess_backend_entry", NULL, slot->why_not, sizeof slot->why_not);
        slot->table = entry ? entry(&ctx->host) : NULL;
        if (entry && !slot->table) {
            snprintf(slot->why_not, sizeof slot->why_not, "its module did not start: %.400s",
                     tess_last_error());
        }
        if (slot->table) {
            char reason[sizeof slot->why_not];
            reason[0] = '\0';
            if (slot->table->device_count(slot->table->user, reason, sizeof reason) == 0) {
                memcpy(slot->why_not, reason, sizeof reason);
            }
        }
    }
    *why = slot->why_not;
    return slot->table;
}

const char *tess_device_why_not(tess_context *ctx, const char *backend)
{
    tess_error_clear();
    const char *why = "";
    (void)tess_backend_find(ctx, backend, &why);
    return why;
}

int64_t tess_isa_list(const tess_context *ctx, tess_isa_info *infos, int64_t capacity)
{
    for (int32_t i = 0; i < ctx->n_isa && i < capacity; i++) {
        infos[i] = ctx->isas[i];
    }
    return ctx->n_isa;
}

tess_status tess_device_adopt(tess_device *device, void *stream, tess_backend_queue **queue)
{
    *queue = NULL;
    if (device->adopted && device->adopted_stream == stream) {
        *queue = device->adopted;
        return TESS_OK;
    }
    if (!device->backend->queue_adopt) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "stream: device '%s' has no streams of its callers",
                  device->info.id);
    }
    TESS_TRY(device->backend->queue_adopt(device->handle, stream, queue));
    if (device->adopted) {
        device->backend->queue_destroy(device->adopted);
    }
    device->adopted = *queue;
    device->adopted_stream = stream;
    return TESS_OK;
}

void tess_device_close(tess_device *device)
{
    tess_device_free_kept(device);
    if (device->adopted) {
        device->backend->queue_destroy(device->adopted);
    }
    if (device->queue) {
        device->backend->queue_destroy(device->queue);
    }
    if (device->handle) {
        device->backend->device_close(device->handle);
    }
    memset(device, 0, sizeof *device);
}

tess_status tess_device_open(tess_context *ctx, const tess_backend *backend, int32_t index,
                             tess_device *device)
{
    memset(device, 0, sizeof *device);
    device->backend = backend;
    device->info.struct_size = sizeof device->info;
    device->shares_host_memory = strcmp(backend->name, "cpu") == 0;
    TESS_TRY(backend->device_open(backend->user, index, &ctx->host, &device->handle));
    tess_status status = backend->device_info(backend->user, index, &device->info);
    if (status == TESS_OK) {
        status = backend->queue_create(device->handle, &device->queue);
    }
    if (status != TESS_OK) {
        tess_device_close(device);
    }
    return status;
}

tess_status tess_device_count(tess_context *ctx, const char *name, const char *id, int32_t *n)
{
    const char *why = "";
    const tess_backend *backend = tess_backend_find(ctx, name, &why);
    char reason[512];
    reason[0] = '\0';
    *n = backend ? backend->device_count(backend->user, reason, sizeof reason) : 0;
    if (*n == 0) {
        TESS_FAIL(TESS_E_DEVICE,
                  "device '%s' is not available: %s; use --device cpu or auto (device=\"cpu\")", id,
                  reason[0] ? reason : why);
    }
    return TESS_OK;
}

tess_status tess_device_unknown(const char *id)
{
    TESS_FAIL(TESS_E_DEVICE,
              "device: '%.40s' is not a device; use cpu, cuda, cuda:1, cuda:0,cuda:1, cuda:all or "
              "auto",
              id);
}

tess_status tess_device_open_named(tess_context *ctx, const char *id, tess_device *device)
{
    char name[16];
    const size_t n = strcspn(id, ":");
    if (n == 0 || n >= sizeof name) {
        return tess_device_unknown(id);
    }
    snprintf(name, sizeof name, "%.*s", (int)n, id);
    char *end = NULL;
    const long index = id[n] == ':' ? strtol(id + n + 1, &end, 10) : 0;
    if (id[n] == ':' && (end == id + n + 1 || *end != '\0' || index < 0)) {
        return tess_device_unknown(id);
    }
    int32_t count = 0;
    TESS_TRY(tess_device_count(ctx, name, id, &count));
    if (index >= count) {
        TESS_FAIL(TESS_E_DEVICE, "device '%s' does not exist: %s has %d, from %s:0 on", id, name,
                  count, name);
    }
    const char *why = "";
    return tess_device_open(ctx, tess_backend_find(ctx, name, &why), (int32_t)index, device);
}

tess_status tess_device_list(tess_context *ctx, tess_device_info *infos, int64_t capacity,
                             int64_t *n_device)
{
    tess_error_clear();
    const char *why = "";
    (void)tess_backend_find(ctx, "cuda", &why);
    *n_device = 0;
    for (int32_t b = 0; b < ctx->n_backend; b++) {
        const tess_backend *backend = ctx->backends[b].table;
        char reason[512];
        const int32_t count =
            backend ? backend->device_count(backend->user, reason, sizeof reason) : 0;
        for (int32_t i = 0; i < count; i++) {
            if (*n_device < capacity) {
                tess_device_info *info = &infos[*n_device];
                memset(info, 0, sizeof *info);
                info->struct_size = sizeof *info;
                TESS_TRY(backend->device_info(backend->user, i, info));
            }
            (*n_device)++;
        }
    }
    return TESS_OK;
}

tess_status tess_device_benchmark(tess_context *ctx, const char *id, tess_device_ceilings *ceilings,
                                  size_t struct_size)
{
    tess_error_clear();
    tess_device_ceilings measured = {.struct_size = sizeof measured};
    if (struct_size == 0 || struct_size > sizeof measured) {
        TESS_FAIL(TESS_E_VERSION, "ceilings: size %zu is unknown to this library", struct_size);
    }
    tess_device *device = ctx->device;
    tess_device temporary = {0};
    if (strcmp(id, "cpu") == 0) {
        device = &ctx->cpu;
    } else if (strcmp(id, device->info.id) != 0) {
        TESS_TRY(tess_device_open_named(ctx, id, &temporary));
        device = &temporary;
    }
    tess_status status = TESS_E_UNSUPPORTED;
    if (device->backend->benchmark) {
        status = device->backend->benchmark(device->handle, &measured);
    } else {
        tess_error_set(status, "device '%s' has no benchmark", id);
    }
    tess_device_close(&temporary);
    TESS_TRY(status);
    memcpy(ceilings, &measured, struct_size);
    ceilings->struct_size = (uint32_t)struct_size;
    return TESS_OK;
}
