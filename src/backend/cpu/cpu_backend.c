#include "backend/cpu/cpu_backend.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

static const tess_cpu_stage_table *const systems[] = {&tess_cpu_autoreject, &tess_cpu_clifford,
                                                      &tess_cpu_decode, &tess_cpu_xpcs};

// Work is done when it is enqueued; the queue only remembers the first failure.
struct tess_backend_queue {
    tess_backend_device *device;
    tess_status status;
    char message[TESS_MESSAGE_BYTES];
};

static const tess_cpu_stage *find_stage(int32_t id)
{
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        for (size_t i = 0; i < systems[s]->n_stage; i++) {
            if (systems[s]->stages[i].id == id) {
                return &systems[s]->stages[i];
            }
        }
    }
    return NULL;
}

static int32_t device_count(void *user, char *why, size_t why_capacity)
{
    (void)user;
    if (why_capacity > 0) {
        why[0] = '\0';
    }
    return 1;
}

static tess_status device_info(void *user, int32_t index, tess_device_info *info)
{
    (void)user;
    tess_machine machine;
    tess_machine_read(&machine);
    info->index = index;
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->id, sizeof info->id, "cpu");
    snprintf(info->name, sizeof info->name, "%s", machine.cpu_name);
    const tess_kernels *best = tess_kernels_select(NULL);
    snprintf(info->detail, sizeof info->detail, "%d of %d cores, best instruction set %s",
             machine.n_core_allowed, machine.n_core_present, best->isa);
    info->memory_bytes = machine.memory_bytes;
    info->memory_free_bytes = machine.memory_available_bytes;
    info->score = 100;
    return TESS_OK;
}

// Names of the instruction sets a user may ask for.
static void list_usable(char *text, size_t capacity)
{
    size_t n_set = 0;
    const tess_kernels *const *sets = tess_kernels_built(&n_set);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n_set && used < capacity; i++) {
        if (tess_kernels_usable(sets[i])) {
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                     sets[i]->isa);
        }
    }
}

// The context tells users; it cannot ask the kernels itself.
static void tell_isas(tess_context *ctx)
{
    size_t n_set = 0;
    const tess_kernels *const *sets = tess_kernels_built(&n_set);
    ctx->n_isa = n_set < TESS_MAX_ISAS ? (int32_t)n_set : TESS_MAX_ISAS;
    for (int32_t i = 0; i < ctx->n_isa; i++) {
        const int usable = tess_kernels_usable(sets[i]);
        ctx->isas[i] =
            (tess_isa_info){.name = sets[i]->isa,
                            .built = 1,
                            .usable = usable,
                            .chosen = strcmp(sets[i]->isa, ctx->isa) == 0,
                            // asking an SVE set for its length needs SVE
                            .vector_bytes = usable ? (int32_t)sets[i]->vector_bytes() : 0};
    }
}

static tess_status device_open(void *user, int32_t index, const tess_host *host,
                               tess_backend_device **out)
{
    (void)user;
    (void)index;
    *out = NULL;
    tess_context *ctx = host->user;
    // "portable" is what users call the plain C set.
    const char *wanted = strcmp(ctx->wanted_isa, "portable") == 0 ? "ref" : ctx->wanted_isa;
    const tess_kernels *kernels = tess_kernels_select(wanted[0] ? wanted : NULL);
    if (!kernels) {
        char usable[96];
        list_usable(usable, sizeof usable);
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "isa: '%s' is not built in or not supported by this CPU; usable are %s",
                  ctx->wanted_isa, usable);
    }
    tess_backend_device *device =
        tess_heap_alloc_zero(&ctx->heap, sizeof *device, TESS_TAG_CONTEXT, "CPU device");
    if (!device) {
        return TESS_E_MEMORY;
    }
    device->ctx = ctx;
    device->kernels = kernels;
    ctx->isa = kernels->isa;
    tell_isas(ctx);
    *out = device;
    return TESS_OK;
}

static void device_close(tess_backend_device *device)
{
    tess_heap_free(&device->ctx->heap, device, sizeof *device, TESS_TAG_CONTEXT);
}

static tess_status memory_alloc(tess_backend_device *device, tess_space space, size_t bytes,
                                void **out)
{
    (void)space; // all host memory is alike to the CPU
    *out = tess_heap_alloc(&device->ctx->heap, bytes, TESS_TAG_TILE, "a tile");
    return *out ? TESS_OK : TESS_E_MEMORY;
}

static void memory_free(tess_backend_device *device, tess_space space, void *ptr, size_t bytes)
{
    (void)space;
    tess_heap_free(&device->ctx->heap, ptr, bytes, TESS_TAG_TILE);
}

static tess_status queue_create(tess_backend_device *device, tess_backend_queue **out)
{
    tess_heap *heap = &device->ctx->heap;
    *out = tess_heap_alloc_zero(heap, sizeof **out, TESS_TAG_CONTEXT, "queue");
    if (!*out) {
        return TESS_E_MEMORY;
    }
    (*out)->device = device;
    return TESS_OK;
}

static void queue_destroy(tess_backend_queue *queue)
{
    tess_heap_free(&queue->device->ctx->heap, queue, sizeof *queue, TESS_TAG_CONTEXT);
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

static tess_status supports(tess_backend_device *device, int32_t stage, const void *args)
{
    (void)device;
    (void)args;
    if (!find_stage(stage)) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "stage 0x%04x does not exist on the CPU", (unsigned)stage);
    }
    return TESS_OK;
}

static const char *stage_name(int32_t stage)
{
    const tess_cpu_stage *found = find_stage(stage);
    return found ? found->name : NULL;
}

static size_t scratch_bytes(tess_backend_device *device, int32_t stage, const void *args)
{
    (void)device;
    (void)stage;
    (void)args;
    return 0;
}

static tess_status enqueue(tess_backend_queue *queue, int32_t stage, const void *args,
                           size_t args_bytes)
{
    if (queue->status != TESS_OK) {
        return TESS_OK; // reported by finish; nothing after a failure runs
    }
    const tess_cpu_stage *found = find_stage(stage);
    if (!found || args_bytes != found->args_bytes) {
        TESS_FAIL(TESS_E_INTERNAL, "stage 0x%04x (%s): its arguments have %zu bytes, not %zu",
                  (unsigned)stage, found ? found->name : "not of the CPU", args_bytes,
                  found ? found->args_bytes : 0);
    }
    queue->status = found->run(queue->device, args);
    if (queue->status != TESS_OK) {
        tess_error_copy_out(queue->message);
    }
    return TESS_OK;
}

static tess_status finish(tess_backend_queue *queue)
{
    const tess_status status = queue->status;
    if (status != TESS_OK) {
        tess_error_copy_in(queue->message);
        queue->status = TESS_OK;
    }
    return status;
}

const tess_backend tess_backend_cpu = {
    .struct_size = sizeof(tess_backend),
    .abi = TESS_MODULE_ABI,
    .name = "cpu",
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
    .benchmark = tess_cpu_benchmark,
    .stage_name = stage_name,
};
