#include "runtime/run_identity.h"

#include <stdio.h>

static void add_shape(tess_identity *id, const char *sentence, const tess_array *array)
{
    char text[32 * (TESS_MAX_RANK + 1)];
    int used = snprintf(text, sizeof text, "%s", tess_dtype_name((tess_dtype)array->dtype));
    for (int32_t i = 0; i < array->rank; i++) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used, " %lld", (long long)array->shape[i]);
    }
    tess_identity_add(id, sentence, text);
}

void tess_run_identity_make(tess_context *ctx, const tess_plan *plan, tess_hash fingerprint,
                            tess_identity *id)
{
    tess_identity_init(id, ctx, plan->ops->name, tess_plan_device(plan, ctx)->backend->name);
    tess_identity_add(id, "settings were '*', are '*'", plan->settings);
    add_shape(id, "the input had another shape or type", &plan->in);
    tess_identity_add_hash(id,
                           "the input has changed since (size, time or content of its first or "
                           "last MiB)",
                           fingerprint);
    add_shape(id, "the output had another shape or type", &plan->out);
}
