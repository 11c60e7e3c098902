#include "systems/xpcs/fit/plan.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/budget.h"
#include "runtime/comm.h"
#include "runtime/stage.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/settings/constants.h"

#include <stdio.h>
#include <string.h>

// Thresholds in points of the full matrices, as users know them.
static const struct {
    tess_strategy strategy;
    int64_t below;        // points
    uint64_t chunk_bytes; // worked on at a time
} strategies[] = {
    {TESS_STRATEGY_STANDARD, 1000000, (uint64_t)1 << 30},
    {TESS_STRATEGY_LARGE, 10000000, (uint64_t)256 << 20},
    {TESS_STRATEGY_CHUNKED, 100000000, (uint64_t)64 << 20},
    {TESS_STRATEGY_STREAMING, INT64_MAX, (uint64_t)16 << 20},
};

// Leaves of a chunk that every thread has at least.
enum { LEAST_LEAVES = 2 };

enum { N_PROBE = 32 };

// That points of the parameters after the first may take.
static const uint64_t SETS_BYTES = (uint64_t)32 << 20;
enum { SETS_SHARE = 16 }; // of the memory that there is

static int64_t leaves_of(const tess_context *ctx, const tess_xpcs_data *data, uint64_t bytes)
{
    const int64_t least = (int64_t)LEAST_LEAVES * ctx->n_thread;
    // No record is longer than the first.
    const uint64_t leaf = tess_xp_tiles_at(&data->tiles, 0).bytes * TESS_STAGE_XPCS_LEAF;
    const int64_t n = (int64_t)(bytes / leaf);
    return n > least ? n : least;
}

static void choose(const tess_context *ctx, const tess_xpcs_data *data, int32_t wish,
                   tess_xp_plan *plan)
{
    int32_t at = wish - 1; // 0 is auto
    if (wish == 0) {
        at = 0;
        while (data->info.n_point >= strategies[at].below) {
            at++;
        }
    }
    plan->strategy = (int32_t)strategies[at].strategy;
    plan->leaves_per_chunk = leaves_of(ctx, data, strategies[at].chunk_bytes);
    plan->is_streamed = strategies[at].strategy == TESS_STRATEGY_STREAMING;
    snprintf(plan->reason, sizeof plan->reason, "%.3g points%s", (double)data->info.n_point,
             wish == 0 ? "" : "; asked for");
}

// The estimates of contrast and noise come before the passes.
static uint64_t bytes_of(const tess_xpcs_data *data, int64_t n_param,
                         const tess_xpcs_fit_config *config, const tess_xp_plan *plan)
{
    const bool is_resident = data->info.residency == TESS_XPCS_IN_MEMORY ||
                             (data->info.residency == TESS_XPCS_IN_FILE && !plan->is_streamed);
    const uint64_t resident = is_resident ? data->info.bytes : 0;
    const bool is_told = config->contrast && config->offset &&
                         (config->sigma_mode == TESS_XPCS_SIGMA_CONSTANT ||
                          config->sigma_mode == TESS_XPCS_SIGMA_DATASET);
    const uint64_t before = is_told ? 0 : tess_xp_survey_bytes(data);
    const uint64_t pass =
        tess_xp_pass_bytes(data, n_param, plan->leaves_per_chunk, plan->is_streamed, plan->max_set);
    return resident + (pass > before ? pass : before);
}

// Replicates of a bootstrap and ends of profiles share passes, as far as memory goes.
static void choose_sets(const tess_xpcs_data *data, int64_t n_param,
                        const tess_xpcs_fit_config *config, uint64_t room, tess_xp_plan *plan)
{
    plan->max_set = 1;
    const uint64_t one = bytes_of(data, n_param, config, plan);
    if (config->uncertainty != 0) {
        plan->max_set = TESS_XP_MAX_LANE;
    }
    plan->memory_bytes = bytes_of(data, n_param, config, plan);
    const uint64_t share = room / SETS_SHARE < SETS_BYTES ? room / SETS_SHARE : SETS_BYTES;
    while (plan->max_set > 1 && (plan->memory_bytes > room || plan->memory_bytes - one > share)) {
        plan->max_set /= 2;
        plan->memory_bytes = bytes_of(data, n_param, config, plan);
    }
}

tess_status tess_xp_plan_make(tess_context *ctx, const tess_xpcs_data *data, int64_t n_param,
                              const tess_xpcs_fit_config *config, tess_xp_plan *plan)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    memset(plan, 0, sizeof *plan);
    plan->limit_bytes = ctx->memory_limit_bytes;
    choose(ctx, data, config->strategy, plan);
    if (config->chunk_tiles > 0) {
        plan->leaves_per_chunk =
            (config->chunk_tiles + TESS_STAGE_XPCS_LEAF - 1) / TESS_STAGE_XPCS_LEAF;
    }
    if (plan->leaves_per_chunk > n_leaf) {
        plan->leaves_per_chunk = n_leaf;
    }
    const uint64_t room = tess_budget_room(plan->limit_bytes);
    choose_sets(data, n_param, config, room, plan);
    if (plan->memory_bytes > room && data->info.residency == TESS_XPCS_IN_FILE) {
        plan->is_streamed = true;
        choose_sets(data, n_param, config, room, plan);
    }
    const int64_t wished = plan->leaves_per_chunk;
    while (plan->memory_bytes > room && plan->leaves_per_chunk > 1) {
        plan->leaves_per_chunk = (plan->leaves_per_chunk + 1) / 2;
        plan->memory_bytes = bytes_of(data, n_param, config, plan);
    }
    if (plan->memory_bytes > room) {
        TESS_FAIL(TESS_E_LIMIT,
                  "memory limit: %llu bytes are too few to fit %lld angles of %lld frames; at "
                  "least %llu are needed%s",
                  (unsigned long long)plan->limit_bytes, (long long)data->info.n_angle,
                  (long long)data->info.n_frame,
                  (unsigned long long)tess_budget_for_room(plan->memory_bytes),
                  data->info.residency == TESS_XPCS_IN_MEMORY
                      ? " (much less from a .txc2 file, which is not held in memory)"
                      : "");
    }
    if (plan->leaves_per_chunk < wished) {
        const size_t used = strlen(plan->reason);
        snprintf(plan->reason + used, sizeof plan->reason - used,
                 "; smaller chunks to keep to the limit");
    }
    return TESS_OK;
}

tess_status tess_xp_plan_make_for_all(tess_context *ctx, const tess_xpcs_data *data,
                                      int64_t n_param, const tess_xpcs_fit_config *config,
                                      tess_xp_plan *plan)
{
    const tess_status status = tess_xp_plan_make(ctx, data, n_param, config, plan);
    return tess_comm_broadcast(ctx, (tess_comm_point){"the plan", 0}, status, plan, sizeof *plan);
}

// Time of a pass from leaves spread over the data; a fit that masks bad ones has not yet begun.
static tess_status probe_leaves(tess_context *ctx, const tess_xp_pass_setup *setup,
                                const tess_xp_point *point, bool is_masking, double *pass_s)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&setup->data->tiles);
    const int64_t n_probe = n_leaf < N_PROBE ? n_leaf : N_PROBE;
    tess_xp_pass pass;
    TESS_TRY(tess_xp_pass_open(ctx, setup, &pass));
    tess_status status = TESS_OK;
    const int64_t begin_ns = tess_now_ns();
    for (int64_t i = 0; status == TESS_OK && i < n_probe; i++) {
        status = tess_xp_pass_leaf(&pass, point, i * n_leaf / n_probe);
        if (is_masking && tess_xp_is_bad_read(status)) {
            tess_error_clear();
            status = TESS_OK;
        }
    }
    const double took_s = (double)(tess_now_ns() - begin_ns) * 1e-9;
    *pass_s = took_s * (double)n_leaf / (double)(n_probe * ctx->n_thread);
    tess_xp_pass_close(&pass);
    return status;
}

static tess_status probe(tess_context *ctx, tess_device *device, tess_xpcs_data *data,
                         const tess_xpcs_model *model, bool is_masking, double *pass_s)
{
    int64_t n_param = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)model->mode, &n_param);
    double theta[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < n_param; k++) {
        theta[k] = params[k].start;
    }
    const size_t bytes = (size_t)data->info.n_angle * sizeof(double);
    double *ones = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "weights of the angles");
    if (!ones) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < data->info.n_angle; a++) {
        ones[a] = 1;
    }
    const tess_xp_pass_setup setup = {.device = device,
                                      .data = data,
                                      .model = model,
                                      .f_scale = 1,
                                      .inverse_variance = ones,
                                      .leaves_per_chunk = 1,
                                      .is_streamed = true,
                                      .is_alone = true};
    const tess_xp_point point = {.theta = theta,
                                 .contrast = ones,
                                 .offset = ones,
                                 .want = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN};
    const tess_status status = probe_leaves(ctx, &setup, &point, is_masking, pass_s);
    tess_heap_free(&ctx->heap, ones, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_xpcs_fit_get_plan(tess_context *ctx, tess_xpcs_data *data,
                                   const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                   tess_xpcs_fit_plan *plan, size_t struct_size)
{
    tess_xpcs_fit_config own;
    tess_xpcs_model constants;
    tess_xpcs_fit_plan result = {0};
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS, TESS_STAGE_XPCS_REDUCE,
                                     TESS_STAGE_XPCS_GRIDS};
    tess_xp_plan inner;
    tess_device *device = NULL;
    TESS_TRY(tess_stage_choose(ctx, stages, 3, "fit", &device));
    tess_xpcs_fit_config_init(&own, sizeof own);
    if (config) {
        TESS_TRY(tess_struct_read(config, &own, sizeof own, "config"));
    }
    TESS_TRY(tess_xp_constants_for_data(model, &data->info, &constants));
    TESS_TRY(tess_xp_device_for(ctx, constants.mode, "fit", &device));
    TESS_TRY(tess_params_check(tess_xpcs_fit_params(), &own));
    const int64_t n_param = tess_xp_n_param((tess_xpcs_mode)constants.mode);
    TESS_TRY(tess_xp_plan_make(ctx, data, n_param, &own, &inner));
    result.strategy = inner.strategy;
    result.memory_bytes = inner.memory_bytes;
    result.limit_bytes = inner.limit_bytes;
    // The original's formula counts contrast and offset among the parameters.
    result.original_bytes = (uint64_t)data->info.n_point * (uint64_t)(1 + n_param + 2) * 16;
    result.n_tile = data->tiles.n_tile;
    result.tiles_per_chunk = inner.leaves_per_chunk * TESS_STAGE_XPCS_LEAF;
    memcpy(result.reason, inner.reason, sizeof result.reason);
    TESS_TRY(probe(ctx, device, data, &constants, own.bad_chunk == 1, &result.pass_s));
    tess_struct_init(plan, struct_size, &result, sizeof result);
    return TESS_OK;
}
