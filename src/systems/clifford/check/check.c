// tess_clifford_check(): the parts in turn, and their findings.
#include "systems/clifford/check/check.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/budget.h"

#include <stdio.h>

// The most that any comparison of so many rows takes.
static tess_status bytes_of(const tess_cl_check *check, int64_t n_row, double *bytes)
{
    *bytes = 0;
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        tess_cl_trial trial;
        double needed;
        TESS_TRY(tess_cl_trial_init(&trial, check->ctx, NULL, check->metric,
                                    (tess_clifford_kind)kind, TESS_CLIFFORD_BIAS_SCALAR, n_row,
                                    check->config.n_feature));
        TESS_TRY(tess_cl_trial_bytes(&trial, TESS_CLIFFORD_BACKWARD, &needed));
        *bytes = needed > *bytes ? needed : *bytes;
    }
    return TESS_OK;
}

static tess_status fail_limit(const tess_cl_check *check, const char *why)
{
    char reason[256];
    snprintf(reason, sizeof reason, "%s", why);
    TESS_FAIL(TESS_E_MEMORY,
              "clifford.check: %lld rows of %lld features do not fit the memory limit of %.1f MiB "
              "(%s): check fewer --rows or --features, or raise the limit",
              (long long)check->config.n_row, (long long)check->config.n_feature,
              (double)check->ctx->memory_limit_bytes / 1048576, reason);
}

typedef tess_status (*check_part)(tess_cl_check *check, tess_blocks *blocks);

static tess_status run_parts(tess_cl_check *check)
{
    static const check_part parts[] = {tess_cl_check_equivariance, tess_cl_check_gradients,
                                       tess_cl_check_precision, tess_cl_check_determinism};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tess_blocks blocks;
        tess_blocks_init(&blocks, &check->ctx->heap);
        const tess_status status = parts[i](check, &blocks);
        tess_blocks_free(&blocks);
        TESS_TRY(status);
    }
    return TESS_OK;
}

// All rows are compared at once, since kernels treat many rows unlike few. Data that do not fit are
// refused before anything is done, stages that then take too much while it is.
static tess_status run_within_limit(tess_cl_check *check)
{
    tess_heap *heap = &check->ctx->heap;
    const uint64_t room = tess_budget_room(check->ctx->memory_limit_bytes);
    double bytes;
    TESS_TRY(bytes_of(check, check->config.n_row, &bytes));
    if (bytes > (double)room) {
        char why[64];
        snprintf(why, sizeof why, "the data alone are %.1f MiB", bytes / 1048576);
        return fail_limit(check, why);
    }
    tess_watch_begin(&check->watch, check->ctx, "clifford.check", "comparisons", 0, (uint64_t)bytes,
                     TESS_STRATEGY_STANDARD);
    heap->most_bytes = room;
    const tess_status status = run_parts(check);
    heap->most_bytes = 0;
    return status == TESS_E_MEMORY ? fail_limit(check, tess_last_error()) : status;
}

tess_status tess_clifford_check(tess_context *ctx, const tess_clifford_metric *metric,
                                const tess_clifford_check_config *given,
                                tess_clifford_finding *findings, int64_t capacity,
                                int64_t *n_finding)
{
    tess_error_clear();
    if (!ctx || !metric || !n_finding || (!findings && capacity > 0)) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford.check: ctx, metric, findings and n_finding must not "
                                   "be NULL");
    }
    *n_finding = 0;
    tess_cl_check check = {
        .ctx = ctx, .metric = metric, .findings = findings, .capacity = capacity};
    tess_clifford_check_config_init(&check.config, sizeof check.config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &check.config, sizeof check.config, "config"));
    }
    TESS_TRY(tess_params_check(tess_clifford_check_params(), &check.config));
    check.n_total = tess_cl_check_n_equivariance(metric) + tess_cl_check_n_gradient() +
                    tess_cl_check_n_precision() + tess_cl_check_n_determinism();
    TESS_TRY(run_within_limit(&check));
    *n_finding = check.n_finding;
    return TESS_OK;
}
