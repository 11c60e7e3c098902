// tess_clifford_check(): the parts in turn, and their findings.
#include "systems/clifford/check/check.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <stdio.h>

const char *tess_cl_check_kind_name(tess_clifford_kind kind)
{
    const tess_clifford_op op = {.kind = (int32_t)kind};
    return tess_cl_op_name(&op) + sizeof "clifford." - 1;
}

void tess_cl_check_add(tess_cl_check *check, tess_dtype dtype, double error, double allowed,
                       bool is_control, const char *format, ...)
{
    const int64_t at = check->n_finding++;
    if (at >= check->capacity) {
        return;
    }
    tess_clifford_finding *finding = &check->findings[at];
    *finding = (tess_clifford_finding){
        .error = error,
        .allowed = allowed,
        .is_control = is_control,
        .passed = is_control ? error > allowed : error <= allowed, // a NaN passes neither
    };
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->name, sizeof finding->name, format, arguments);
    va_end(arguments);
    snprintf(finding->dtype, sizeof finding->dtype, "%s", tess_dtype_name(dtype));
}

typedef tess_status (*check_part)(tess_cl_check *check, tess_blocks *blocks);

tess_status tess_clifford_check(tess_context *ctx, const tess_clifford_metric *metric,
                                const tess_clifford_check_config *given,
                                tess_clifford_finding *findings, int64_t capacity,
                                int64_t *n_finding)
{
    static const check_part parts[] = {tess_cl_check_equivariance, tess_cl_check_gradients,
                                       tess_cl_check_precision, tess_cl_check_determinism};
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tess_blocks blocks;
        tess_blocks_init(&blocks, &ctx->heap);
        const tess_status status = parts[i](&check, &blocks);
        tess_blocks_free(&blocks);
        TESS_TRY(status);
    }
    *n_finding = check.n_finding;
    return TESS_OK;
}
