// What the parts of a check find, and how far they are.
#include "systems/clifford/check/check.h"

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

tess_status tess_cl_check_next(tess_cl_check *check, tess_blocks *blocks)
{
    tess_blocks_free(blocks);
    return tess_watch_poll(&check->watch, ++check->n_done, check->n_total);
}
