#include "runtime/plan.h"

#include "base/checked.h"
#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/group.h"
#include "runtime/run_pieces.h"
#include "runtime/source.h"
#include "runtime/stage.h"

#include <stdio.h>
#include <string.h>

// Tiles are large enough to hide per-tile cost and small enough to stop within a moment: every
// thread has several blocks of a tile to work on.
static const uint64_t TILE_BYTES_PER_THREAD = UINT64_C(16) << 20;
static const uint64_t TILE_BYTES_MOST = UINT64_C(96) << 20;
// Stacks, heap slack and page tables that the resident count of the process will still gain.
static const uint64_t SLACK_BYTES = UINT64_C(8) << 20;

enum { SLOTS = 3 };

const char *tess_strategy_name(tess_strategy strategy)
{
    static const char *const names[] = {"STANDARD", "LARGE", "CHUNKED", "STREAMING"};
    return strategy >= 0 && strategy <= TESS_STRATEGY_STREAMING ? names[strategy] : "UNKNOWN";
}

static void format_bytes(uint64_t bytes, char *text, size_t capacity)
{
    const double value = (double)bytes;
    if (value >= 1073741824.0) {
        snprintf(text, capacity, "%.2f GiB", value / 1073741824.0);
    } else if (value >= 1048576.0) {
        snprintf(text, capacity, "%.1f MiB", value / 1048576.0);
    } else {
        snprintf(text, capacity, "%.1f KiB", value / 1024.0);
    }
}

// Bytes of one item of the first axis of an array.
static tess_status item_bytes_of(const tess_array *array, uint64_t *bytes)
{
    uint64_t n = (uint64_t)array->item_bytes;
    for (int32_t i = 1; i < array->rank; i++) {
        if (!tess_mul_u64(n, (uint64_t)array->shape[i], &n)) {
            TESS_FAIL(TESS_E_SHAPE,
                      "one item of the first axis has more bytes than can be counted");
        }
    }
    *bytes = n;
    return TESS_OK;
}

// Bytes a tile holds per item: a buffer for input that is not already in memory, and the output.
static uint64_t held_per_item(const tess_plan *plan, bool has_input)
{
    return (has_input ? plan->in_item_bytes : 0) + plan->out_item_bytes;
}

static void choose_strategy(tess_plan *plan, const tess_plan_request *request, uint64_t budget)
{
    tess_plan_info *info = &plan->info;
    const uint64_t input = plan->in_item_bytes * (uint64_t)info->n_item;
    const uint64_t total = input + plan->out_item_bytes * (uint64_t)info->n_item;
    const bool has_file = request->source && !tess_source_in_memory(request->source);
    const bool direct = request->source && tess_source_is_direct(request->source);
    char input_text[32];
    char limit_text[32];
    format_bytes(has_file ? input : total, input_text, sizeof input_text);
    format_bytes(info->limit_bytes, limit_text, sizeof limit_text);

    if (has_file && total > budget) {
        info->strategy = direct ? TESS_STRATEGY_CHUNKED : TESS_STRATEGY_STREAMING;
        snprintf(info->reason, sizeof info->reason, "%s of input exceed the %s limit; %s",
                 input_text, limit_text,
                 direct ? "the file is read piece by piece" : "the file is read by tiles");
    } else if (info->n_tile <= 1) {
        info->strategy = TESS_STRATEGY_STANDARD;
        snprintf(info->reason, sizeof info->reason, "%s in one tile", input_text);
    } else {
        info->strategy = TESS_STRATEGY_LARGE;
        snprintf(info->reason, sizeof info->reason, "%s fit the %s limit", input_text, limit_text);
    }
}

// Says the smallest limit that works, rounded up so that it works in the next process, too.
static tess_status too_small(const tess_plan *plan, uint64_t per_item, uint64_t base,
                             uint64_t smallest)
{
    char have[32];
    format_bytes(plan->info.limit_bytes, have, sizeof have);
    TESS_FAIL(TESS_E_LIMIT,
              "memory limit %s is too small: one of the %s takes %llu bytes and the process "
              "itself %llu; the smallest limit that works is %llu MiB",
              have, plan->ops->unit, (unsigned long long)per_item, (unsigned long long)base,
              (unsigned long long)((smallest >> 20) + 2));
}

// What the process has before the first tile, and what is held during the whole run.
static uint64_t base_bytes(const tess_context *ctx, const tess_plan_request *request)
{
    // Only a limit somebody set is held against what the process already has: a default derived
    // from the machine, or data the caller holds anyway, must not make a call impossible.
    const bool has_file = request->source && !tess_source_in_memory(request->source);
    const bool strict = has_file && ctx->memory_limit_is_set;
    const uint64_t resident = tess_resident_bytes() + SLACK_BYTES;
    const uint64_t spare = ctx->memory_limit_bytes / 4;
    const uint64_t held = request->source ? tess_source_held_bytes(request->source) : 0;
    return (strict || resident < spare ? resident : spare) + request->fixed_bytes + held;
}

static uint64_t items_wished(const tess_context *ctx, const tess_plan *plan,
                             const tess_plan_request *request)
{
    if (request->items_per_tile > 0) {
        return (uint64_t)request->items_per_tile;
    }
    const uint64_t wished = TILE_BYTES_PER_THREAD * (uint64_t)(ctx->n_thread + 1);
    const uint64_t bytes = wished < TILE_BYTES_MOST ? wished : TILE_BYTES_MOST;
    const uint64_t work_per_item = plan->in_item_bytes + plan->out_item_bytes;
    return bytes / (work_per_item > 0 ? work_per_item : 1);
}

// Threads read for themselves where that takes no more memory than tiles would.
static bool takes_pieces(tess_context *ctx, const tess_plan *plan, const tess_plan_request *request,
                         uint64_t base)
{
    const uint64_t pieces = tess_run_pieces_bytes(ctx, plan->in_item_bytes);
    return request->source && tess_source_is_direct(request->source) &&
           tess_plan_device(plan, ctx)->shares_host_memory &&
           base + 2 * pieces + SLOTS * plan->out_item_bytes <= ctx->memory_limit_bytes;
}

static tess_status choose_tiles(tess_context *ctx, tess_plan *plan,
                                const tess_plan_request *request)
{
    tess_plan_info *info = &plan->info;
    const bool in_memory = !request->source || tess_source_in_memory(request->source);
    uint64_t base = base_bytes(ctx, request);
    plan->has_pieces = takes_pieces(ctx, plan, request, base);
    if (plan->has_pieces) {
        base += tess_run_pieces_bytes(ctx, plan->in_item_bytes);
    }
    const bool has_input =
        !plan->has_pieces && !(in_memory && tess_plan_device(plan, ctx)->shares_host_memory);
    const uint64_t per_item = held_per_item(plan, has_input);
    info->limit_bytes = ctx->memory_limit_bytes;
    info->n_slot = SLOTS;

    const uint64_t smallest = base + SLOTS * per_item;
    if (smallest > info->limit_bytes) {
        return too_small(plan, per_item, base, smallest);
    }
    const uint64_t budget = info->limit_bytes - base;
    const uint64_t n_item = (uint64_t)info->n_item;
    uint64_t items = items_wished(ctx, plan, request);
    const uint64_t fits = per_item > 0 ? budget / (SLOTS * per_item) : items;
    items = items < fits ? items : fits;
    items = items < n_item ? items : n_item;
    items = items > 0 ? items : 1;
    info->items_per_tile = (int64_t)items;
    info->n_tile = (int64_t)((n_item + items - 1) / items);
    info->tile_bytes = items * plan->in_item_bytes;
    info->memory_bytes = base + SLOTS * per_item * items;
    choose_strategy(plan, request, budget);
    return TESS_OK;
}

static tess_status choose_device(tess_context *ctx, tess_plan *plan)
{
    const tess_plan_ops *ops = plan->ops;
    TESS_TRY(tess_group_refuse(ctx, ops->name));
    if (ops->n_stage > 0) {
        tess_device *device = NULL;
        TESS_TRY(tess_stage_choose(ctx, ops->stages, ops->n_stage, ops->name, &device));
        plan->is_on_cpu = device == &ctx->cpu;
        return TESS_OK;
    }
    plan->is_on_cpu = true;
    if (ctx->device != &ctx->cpu && !ctx->device_is_auto) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "device '%s' has no stages for %s, which runs on the CPU alone; use --device cpu "
                  "(device=\"cpu\")",
                  ctx->device->info.id, ops->name);
    }
    return TESS_OK;
}

static tess_status fill_plan(tess_context *ctx, const tess_plan_request *request, tess_plan *plan)
{
    plan->heap = &ctx->heap;
    plan->ops = request->ops;
    plan->out = request->out;
    TESS_TRY(choose_device(ctx, plan));
    plan->info.struct_size = sizeof plan->info;
    plan->info.n_item = request->out.shape[0];
    TESS_TRY(item_bytes_of(&plan->out, &plan->out_item_bytes));
    if (request->source) {
        tess_source_array(request->source, &plan->in);
        TESS_TRY(item_bytes_of(&plan->in, &plan->in_item_bytes));
    }
    uint64_t total;
    if (!tess_add_u64(plan->in_item_bytes, plan->out_item_bytes, &total) ||
        !tess_mul_u64(total, (uint64_t)plan->info.n_item, &total)) {
        TESS_FAIL(TESS_E_SHAPE, "more bytes than can be counted");
    }
    return choose_tiles(ctx, plan, request);
}

tess_status tess_plan_create(tess_context *ctx, const tess_plan_request *request, tess_plan **out)
{
    *out = NULL;
    tess_plan *plan = tess_heap_alloc_zero(&ctx->heap, sizeof *plan, TESS_TAG_PLAN, "plan");
    if (!plan) {
        return TESS_E_MEMORY;
    }
    const tess_status status = fill_plan(ctx, request, plan);
    if (status != TESS_OK) {
        tess_heap_free(&ctx->heap, plan, sizeof *plan, TESS_TAG_PLAN);
        return status;
    }
    *out = plan;
    return TESS_OK;
}

void tess_plan_set_settings(tess_plan *plan, const tess_param_table *table, const void *config,
                            const char *skip)
{
    size_t used = 0;
    plan->table = table;
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_param *param = &table->params[i];
        char key[64];
        snprintf(key, sizeof key, "|%s|", param->name);
        if (strstr(skip, key)) {
            continue;
        }
        char value[64];
        tess_param_get_text(param, config, value, sizeof value);
        const int n = snprintf(plan->settings + used, sizeof plan->settings - used, "%s%s=%s",
                               used > 0 ? ";" : "", param->name, value);
        TESS_ASSERT(n > 0 && (size_t)n < sizeof plan->settings - used);
        used += (size_t)n;
    }
}

const tess_plan_info *tess_plan_get_info(const tess_plan *plan)
{
    return &plan->info;
}

void tess_plan_destroy(tess_plan *plan)
{
    if (plan) {
        tess_heap_free(plan->heap, plan, sizeof *plan, TESS_TAG_PLAN);
    }
}
