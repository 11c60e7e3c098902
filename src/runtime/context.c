#include "runtime/context.h"

#include "base/json.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/budget.h"
#include "runtime/comm.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"
#include "runtime/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tess_context_config_init(tess_context_config *config, size_t struct_size)
{
    const tess_context_config defaults = {.log_level = TESS_LOG_WARNING};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status host_fail(void *user, tess_status status, const char *format, ...)
{
    (void)user;
    va_list args;
    va_start(args, format);
    tess_error_set_v(status, format, args);
    va_end(args);
    return status;
}

static void *host_alloc(void *user, size_t bytes)
{
    tess_context *ctx = user;
    return tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "a file or module");
}

static void host_release(void *user, void *ptr, size_t bytes)
{
    tess_context *ctx = user;
    tess_heap_free(&ctx->heap, ptr, bytes, TESS_TAG_IO);
}

static void host_log(void *user, tess_log_level level, const char *format, ...)
{
    tess_context *ctx = user;
    va_list args;
    va_start(args, format);
    tess_log_write_v(&ctx->log, level, format, args);
    va_end(args);
}

typedef struct host_job {
    tess_job_fn job;
    void *arg;
} host_job;

static tess_status run_host_job(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const host_job *h = arg;
    return h->job(h->arg, block);
}

static tess_status host_share(void *user, int64_t n_block, tess_job_fn job, void *arg)
{
    const tess_context *ctx = user;
    host_job h = {.job = job, .arg = arg};
    return tess_parallel_for(ctx->pool, n_block, run_host_job, &h);
}

static void register_builtins(tess_context *ctx, const tess_builtins *builtins)
{
    for (int32_t i = 0; i < builtins->n_backend && i < TESS_MAX_BACKENDS; i++) {
        tess_backend_slot *slot = &ctx->backends[ctx->n_backend++];
        slot->table = builtins->backends[i];
        snprintf(slot->name, sizeof slot->name, "%s", slot->table->name);
    }
    for (int32_t i = 0; i < builtins->n_format && i < TESS_MAX_FORMATS; i++) {
        ctx->formats[ctx->n_format++] = builtins->formats[i];
    }
}

static tess_status keep_text(tess_context *ctx, const char *text, char **kept)
{
    *kept = text ? tess_heap_strdup(&ctx->heap, text, TESS_TAG_CONTEXT) : NULL;
    return !text || *kept ? TESS_OK : TESS_E_MEMORY;
}

static void free_text(tess_context *ctx, char *text)
{
    if (text) {
        tess_heap_free(&ctx->heap, text, strlen(text) + 1, TESS_TAG_CONTEXT);
    }
}

// What ranks on one machine would otherwise each take for themselves.
static void divide_machine(tess_context *ctx, bool has_threads)
{
    const int32_t n = ctx->comm ? ctx->comm->place.n_node_rank : 1;
    if (n > 1 && !ctx->memory_limit_is_set) {
        ctx->memory_limit_bytes /= (uint64_t)n;
        ctx->memory_limit_origin = "80 % of RAM, by ranks of this machine";
    }
    // A launcher that binds ranks to cores has divided them.
    if (n > 1 && !has_threads && ctx->machine.n_core_allowed == ctx->machine.n_core_present) {
        ctx->n_thread = ctx->n_thread / n > 1 ? ctx->n_thread / n : 1;
        ctx->n_thread_origin = "cores, by ranks of this machine";
    }
}

// Rank 0 speaks for all.
static void hush(tess_context *ctx)
{
    if (!tess_comm_is_first(ctx)) {
        ctx->log.level = TESS_LOG_ERROR;
        ctx->progress = NULL;
    }
}

static tess_status take_machine(tess_context *ctx, const tess_context_config *config)
{
    tess_machine_read(&ctx->machine);
    TESS_TRY(tess_budget_threads(&ctx->machine, config->n_thread, &ctx->n_thread,
                                 &ctx->n_thread_origin));
    TESS_TRY(tess_budget_memory(&ctx->machine, config->memory_limit_bytes, &ctx->memory_limit_bytes,
                                &ctx->memory_limit_origin, &ctx->memory_limit_is_set));
    divide_machine(ctx, ctx->n_thread_origin != ctx->machine.n_core_origin);
    ctx->host.memory_limit_bytes = ctx->memory_limit_bytes;
    ctx->host.n_thread = ctx->n_thread;
    return TESS_OK;
}

static tess_status set_up_own(tess_context *ctx, const tess_context_config *config)
{
    const char *trace_path = tess_comm_is_first(ctx) ? config->trace_path : NULL;
    TESS_TRY(tess_tracer_init(&ctx->tracer, &ctx->heap, config->profile != 0, trace_path != NULL));
    TESS_TRY(keep_text(ctx, trace_path, &ctx->trace_path));
    TESS_TRY(keep_text(ctx, config->command_line, &ctx->command_line));
    TESS_TRY(keep_text(ctx, config->command, &ctx->command));
    TESS_TRY(take_machine(ctx, config));
    TESS_TRY(tess_pool_create(&ctx->heap, &ctx->log, ctx->n_thread, &ctx->pool));
    const char *isa = config->isa ? config->isa : getenv("TESSERA_ISA");
    if (isa && snprintf(ctx->wanted_isa, sizeof ctx->wanted_isa, "%s", isa) >=
                   (int)sizeof ctx->wanted_isa) {
        TESS_FAIL(TESS_E_ARGUMENT, "isa: '%.40s' is not an instruction set", isa);
    }
    TESS_TRY(tess_device_budget_init(&ctx->device_budget, config->device_memory_limit_bytes));
    const char *device = config->device ? config->device : getenv("TESSERA_DEVICE");
    return tess_device_choose(ctx, device && *device ? device : "cpu");
}

// Everything that can fail once the context exists.
static tess_status set_up(tess_context *ctx, const tess_context_config *config)
{
    TESS_TRY(tess_comm_open(ctx, config->comm, config->communicator));
    hush(ctx);
    return tess_comm_settle(ctx, set_up_own(ctx, config));
}

tess_status tess_context_create_with(const tess_context_config *given,
                                     const tess_builtins *builtins, tess_context **out)
{
    tess_error_clear();
    *out = NULL;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }

    tess_heap heap;
    tess_heap_init(&heap, config.allocator);
    tess_context *ctx = tess_heap_alloc_zero(&heap, sizeof *ctx, TESS_TAG_CONTEXT, "context");
    if (!ctx) {
        return TESS_E_MEMORY;
    }
    tess_heap_init(&ctx->heap, config.allocator);
    tess_log_init(&ctx->log, config.log, config.log_user, (tess_log_level)config.log_level);
    ctx->progress = config.progress;
    ctx->progress_user = config.progress_user;
    ctx->profile = config.profile != 0;
    ctx->host = (tess_host){.struct_size = sizeof ctx->host,
                            .abi = TESS_MODULE_ABI,
                            .user = ctx,
                            .fail = host_fail,
                            .alloc = host_alloc,
                            .release = host_release,
                            .log = host_log,
                            .share = host_share};
    register_builtins(ctx, builtins);
    const tess_status status = set_up(ctx, &config);
    if (status != TESS_OK) {
        tess_context_destroy(ctx);
        return status;
    }
    *out = ctx;
    return TESS_OK;
}

tess_status tess_context_create_beside(const tess_context *ctx, int32_t n_thread,
                                       uint64_t memory_limit_bytes, int64_t number, tess_log_fn log,
                                       void *log_user, tess_context **out)
{
    const int32_t member = (int32_t)(number % tess_group_size(ctx, ctx->device));
    const tess_builtins builtins = {.backends = &ctx->cpu.backend,
                                    .n_backend = 1,
                                    .n_format = ctx->n_format,
                                    .formats = ctx->formats};
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = n_thread;
    config.memory_limit_bytes = memory_limit_bytes;
    config.isa = ctx->isa;
    config.device = tess_group_member(ctx, ctx->device, member)->info.id;
    config.allocator = &ctx->heap.allocator;
    config.device_memory_limit_bytes = ctx->device_budget.limit_bytes;
    config.log = log;
    config.log_user = log_user;
    config.log_level = (int32_t)ctx->log.level;
    TESS_TRY(tess_context_create_with(&config, &builtins, out));
    (*out)->is_beside = true;
    return TESS_OK;
}

void tess_context_destroy(tess_context *ctx)
{
    if (!ctx) {
        return;
    }
    if (ctx->trace_path && ctx->device && !ctx->trace_is_written) {
        // Nobody is left to hear of a failure but the log.
        char message[TESS_MESSAGE_BYTES];
        tess_error_copy_out(message);
        if (tess_context_trace_write(ctx) != TESS_OK) {
            tess_log_warn(&ctx->log, TESS_W_RUN_TRACE, "%s", tess_last_error());
        }
        tess_error_copy_in(message);
    }
    tess_device_forget(ctx);
    tess_group_close(ctx);
    tess_device_close(&ctx->other);
    tess_device_close(&ctx->cpu);
    tess_pool_destroy(ctx->pool);
    tess_comm_close(ctx);
    tess_heap_free(&ctx->heap, ctx->profile_text, ctx->profile_bytes, TESS_TAG_CONTEXT);
    free_text(ctx, ctx->trace_path);
    free_text(ctx, ctx->command_line);
    free_text(ctx, ctx->command);
    if (ctx->tracer.heap) {
        tess_tracer_destroy(&ctx->tracer);
    }
    tess_log_destroy(&ctx->log);
    tess_heap heap = {.allocator = ctx->heap.allocator};
    tess_heap_free(&heap, ctx, sizeof *ctx, TESS_TAG_CONTEXT);
}

void tess_context_cancel(tess_context *ctx)
{
    atomic_store(&ctx->cancelled, 1);
}

void tess_context_cancel_clear(tess_context *ctx)
{
    atomic_store(&ctx->cancelled, 0);
}

void tess_context_checkpoint(tess_context *ctx)
{
    if (ctx) {
        atomic_store(&ctx->checkpoint_wanted, 1);
    }
}

tess_status tess_context_check_cancel(tess_context *ctx)
{
    if (atomic_load(&ctx->cancelled)) {
        TESS_FAIL(TESS_CANCELLED, "stopped on request");
    }
    return TESS_OK;
}

tess_status tess_context_get_info(const tess_context *ctx, tess_context_info *info,
                                  size_t struct_size)
{
    tess_error_clear();
    tess_context_info all = {.struct_size = (uint32_t)struct_size,
                             .n_thread = ctx->n_thread,
                             .memory_limit_bytes = ctx->memory_limit_bytes,
                             .n_thread_origin = ctx->n_thread_origin,
                             .memory_limit_origin = ctx->memory_limit_origin,
                             .isa = ctx->isa,
                             .device = tess_group_id(ctx, ctx->device),
                             .device_reason = ctx->device_reason,
                             .rank = tess_comm_rank(ctx),
                             .n_rank = tess_comm_size(ctx),
                             .comm = ctx->comm ? ctx->comm->place.library : NULL};
    if (ctx->device->budget) {
        all.device_memory_limit_bytes = ctx->device->budget->limit_bytes;
        all.device_memory_limit_origin = ctx->device->budget->origin;
    }
    if (struct_size < sizeof info->struct_size || struct_size > sizeof all) {
        TESS_FAIL(TESS_E_VERSION, "info: size %zu is unknown to this library", struct_size);
    }
    memcpy(info, &all, struct_size);
    return TESS_OK;
}

void tess_context_memory(const tess_context *ctx, uint64_t *now_bytes, uint64_t *peak_bytes)
{
    *now_bytes = atomic_load(&ctx->heap.now_bytes);
    *peak_bytes = atomic_load(&ctx->heap.peak_bytes);
}

tess_status tess_context_trace_write(tess_context *ctx)
{
    tess_error_clear();
    char *origin = NULL;
    size_t bytes = 0;
    if (!ctx->trace_path) {
        return TESS_OK;
    }
    TESS_TRY(
        tess_origin_make(ctx, &(tess_origin){.stage = "trace", .with_run = true}, &origin, &bytes));
    ctx->trace_is_written = true;
    const tess_status status = tess_tracer_write(&ctx->tracer, ctx->trace_path, origin);
    tess_heap_free(&ctx->heap, origin, bytes, TESS_TAG_RESULT);
    return status;
}

tess_status tess_json_create(tess_context *ctx, int indent, tess_json **out)
{
    tess_error_clear();
    return tess_json_create_on(&ctx->heap, indent, out);
}
