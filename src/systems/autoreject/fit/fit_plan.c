// What a fit would need, without doing it.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/fit/setup.h"
#include "systems/autoreject/store/store.h"
#include "tessera/run.h"

#include <stdio.h>

static void describe(const tess_ar_setup *s, tess_autoreject_fit_plan *plan)
{
    const bool is_file = plan->scratch_bytes > 0;
    plan->strategy = is_file ? TESS_STRATEGY_CHUNKED : TESS_STRATEGY_LARGE;
    plan->limit_bytes = s->ctx->memory_limit_bytes;
    plan->n_tile = (s->epochs->info.n_time + TESS_AR_TILE - 1) / TESS_AR_TILE;
    if (is_file) {
        snprintf(plan->reason, sizeof plan->reason,
                 "the rearranged samples take %.3g GiB and go to a scratch file: the memory limit "
                 "is %.3g GiB",
                 (double)plan->scratch_bytes / (1 << 30), (double)plan->limit_bytes / (1 << 30));
    } else {
        snprintf(plan->reason, sizeof plan->reason, "everything fits the memory limit of %.3g GiB",
                 (double)plan->limit_bytes / (1 << 30));
    }
}

tess_status tess_autoreject_fit_get_plan(tess_context *ctx, tess_autoreject_epochs *epochs,
                                         const tess_autoreject_fit_config *config,
                                         tess_autoreject_fit_plan *plan, size_t struct_size)
{
    tess_error_clear();
    tess_autoreject_fit_plan own = {.struct_size = sizeof own};
    tess_ar_setup setup;
    tess_status status = tess_ar_setup_make(ctx, epochs, config, false, NULL, &setup);
    for (int64_t g = 0; status == TESS_OK && g < setup.n_group; g++) {
        tess_ar_memory_plan group;
        status = tess_ar_plan_memory(&setup, g, &group);
        own.memory_bytes =
            group.used_bytes > own.memory_bytes ? group.used_bytes : own.memory_bytes;
        if (group.is_file && group.sample_bytes > own.scratch_bytes) {
            own.scratch_bytes = group.sample_bytes; // one file at a time
        }
    }
    if (status == TESS_OK) {
        describe(&setup, &own);
        tess_struct_init(plan, struct_size, &own, sizeof own);
    }
    tess_ar_setup_free(&setup);
    return status;
}
