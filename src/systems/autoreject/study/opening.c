// What a recording is worked on with: a context of its own, and its epochs.
#include "base/status.h"
#include "runtime/budget.h"
#include "systems/autoreject/study/study.h"

tess_status tess_ar_study_open_epochs(tess_context *ctx, const tess_autoreject_study *s,
                                      const tess_ar_study_item *item,
                                      tess_autoreject_epochs **epochs, int64_t **picks,
                                      int64_t *n_pick)
{
    *picks = NULL;
    TESS_TRY(tess_autoreject_epochs_open(ctx, item->info->path, &s->epochs, epochs));
    const int64_t n = tess_autoreject_epochs_get_info(*epochs)->sensors->n_chan;
    *picks = tess_heap_alloc(&ctx->heap, (size_t)n * sizeof **picks, TESS_TAG_IO, "picks");
    return *picks ? tess_autoreject_picks(*epochs, s->config.picks, *picks, n_pick) : TESS_E_MEMORY;
}

tess_status tess_ar_study_context(tess_autoreject_study *s, int64_t n_at_a_time, int64_t number,
                                  bool is_to_look, tess_log_fn log, void *user, tess_context **out)
{
    const int64_t threads = s->ctx->n_thread / n_at_a_time;
    const uint64_t room = tess_budget_room(s->ctx->memory_limit_bytes);
    return tess_context_create_beside(s->ctx, threads > 1 ? (int32_t)threads : 1,
                                      is_to_look ? room : room / (uint64_t)n_at_a_time, number, log,
                                      user, out);
}
