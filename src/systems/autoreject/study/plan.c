// What each recording holds and needs, and how many are worked on at a time.
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/group.h"
#include "systems/autoreject/epochs/epochs.h"
#include "systems/autoreject/study/study.h"

#include <string.h>
#include <unistd.h>

static tess_status plan_fit(tess_context *ctx, const tess_autoreject_study *s,
                            tess_autoreject_epochs *epochs, const int64_t *picks, int64_t n_pick,
                            tess_autoreject_fit_plan *plan)
{
    tess_autoreject_fit_config config = s->fit;
    config.picks = picks;
    config.n_pick = n_pick;
    return tess_autoreject_fit_get_plan(ctx, epochs, &config, plan, sizeof *plan);
}

// What is wrong with tables, or lost, is so for all who use the tree.
static tess_status keep_told(tess_autoreject_study *s, tess_ar_study_item *item, const char *told)
{
    if (!item->told && told) {
        item->told = tess_ar_study_text(s, told);
        return item->told ? TESS_OK : TESS_E_MEMORY;
    }
    return TESS_OK;
}

// Opens an item to see its size and what a fit of it would take.
static tess_status look(tess_context *ctx, tess_autoreject_study *s, tess_ar_study_item *item,
                        tess_autoreject_fit_plan *plan)
{
    tess_autoreject_epochs *epochs = NULL;
    int64_t *picks = NULL;
    int64_t n_pick = 0;
    tess_status status = tess_ar_study_open_epochs(ctx, s, item, &epochs, &picks, &n_pick);
    if (status == TESS_OK) {
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
        item->info->n_epoch = info->n_epoch;
        item->info->n_chan = n_pick;
        item->info->n_time = info->n_time;
        status = keep_told(s, item, epochs->told);
    }
    if (status == TESS_OK) {
        status = plan_fit(ctx, s, epochs, picks, n_pick, plan);
    }
    if (picks) {
        const int64_t n = tess_autoreject_epochs_get_info(epochs)->sensors->n_chan;
        tess_heap_free(&ctx->heap, picks, (size_t)n * sizeof *picks, TESS_TAG_IO);
    }
    tess_autoreject_epochs_close(epochs);
    return status;
}

static tess_status look_once(tess_context *ctx, tess_autoreject_study *s, tess_ar_study_item *item)
{
    tess_autoreject_fit_plan plan = {0};
    const tess_status status = look(ctx, s, item, &plan);
    item->info->memory_bytes = plan.memory_bytes;
    return status;
}

static bool is_todo(const tess_autoreject_study *s, const tess_ar_study_item *item)
{
    (void)s;
    return item->info->state == TESS_AUTOREJECT_STUDY_TODO;
}

static bool has_file(const tess_autoreject_study *s, const tess_ar_study_item *item,
                     const char *what)
{
    char path[TESS_AR_STUDY_PATH];
    return tess_ar_study_path(s, item, what, path) == TESS_OK && access(path, R_OK) == 0;
}

// Whether an earlier run has done this very recording.
static tess_status find_done(tess_autoreject_study *s, tess_ar_study_item *item)
{
    char path[TESS_AR_STUDY_PATH];
    TESS_TRY(tess_ar_study_identify_inputs(s, item));
    TESS_TRY(tess_ar_study_path(s, item, "epo.json", path));
    if (!s->config.resume || s->config.overwrite || access(path, F_OK) != 0) {
        return TESS_OK;
    }
    if (tess_ar_record_read(&s->memory, path, &item->record) != TESS_OK) {
        tess_ar_study_note(s, "%s: done again: %s", item->info->name, tess_last_error());
        tess_error_clear();
        return TESS_OK;
    }
    if (strcmp(item->record.settings, s->settings) != 0) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: was made with other settings or another version; give those again, "
                  "overwrite all, or another folder",
                  path);
    }
    if (strcmp(item->record.inputs, item->inputs) != 0) {
        tess_ar_study_note(s, "%s: done again: its files have changed", item->info->name);
        return TESS_OK;
    }
    if (has_file(s, item, "model.json") && has_file(s, item, "log.tsv") &&
        (item->record.n_kept == 0 || has_file(s, item, "epo.fif")) &&
        (!s->config.with_reports || has_file(s, item, "report.html"))) {
        item->info->state = TESS_AUTOREJECT_STUDY_KEPT;
        tess_ar_study_tell_record(s, item);
    }
    return TESS_OK;
}

// The one that takes the most memory.
static tess_ar_study_item *largest(const tess_autoreject_study *s, int64_t *n_todo)
{
    tess_ar_study_item *found = NULL;
    *n_todo = 0;
    for (int64_t i = 0; i < s->n; i++) {
        tess_ar_study_item *item = &s->items[i];
        const tess_autoreject_study_recording *r = item->info;
        if (is_todo(s, item)) {
            ++*n_todo;
            const double own = (double)r->n_epoch * (double)r->n_chan * (double)r->n_time;
            const double most = found ? (double)found->info->n_epoch * (double)found->info->n_chan *
                                            (double)found->info->n_time
                                      : -1;
            found = own > most ? item : found;
        }
    }
    return found;
}

// As many as the threads, or GPUs, fewer where the largest would not lie in its share of the
// memory.
static tess_status choose(tess_autoreject_study *s)
{
    int64_t n_todo = 0;
    tess_ar_study_item *most = largest(s, &n_todo);
    const int64_t n_device = tess_group_size(s->ctx, s->ctx->device);
    const int64_t n_useful = s->ctx->n_thread > n_device ? s->ctx->n_thread : n_device;
    int64_t n = s->config.n_at_a_time > 0 ? s->config.n_at_a_time : n_useful;
    const int64_t n_rank = tess_comm_size(s->ctx);
    const int64_t n_own = (n_todo + n_rank - 1) / n_rank; // at most
    n = n < n_own ? n : n_own;
    n = n < 1 ? 1 : n;
    for (bool fits = s->config.n_at_a_time > 0; most && !fits && n > 1;) {
        tess_context *ctx = NULL;
        tess_autoreject_fit_plan plan = {0};
        TESS_TRY(tess_ar_study_context(s, n, 0, false, NULL, NULL, &ctx));
        fits = look(ctx, s, most, &plan) == TESS_OK && plan.scratch_bytes == 0;
        tess_context_destroy(ctx);
        tess_error_clear();
        n -= !fits;
    }
    s->info.n_at_a_time = n;
    s->info.threads_each = s->ctx->n_thread / (int32_t)n > 1 ? s->ctx->n_thread / (int32_t)n : 1;
    s->info.limit_bytes = s->ctx->memory_limit_bytes;
    s->info.memory_bytes = most ? (uint64_t)n * most->info->memory_bytes : 0;
    return TESS_OK;
}

tess_status tess_ar_study_plan(tess_autoreject_study *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        TESS_TRY(find_done(s, &s->items[i]));
    }
    const tess_ar_study_work work = {.stage = "autoreject.study.open",
                                     .n_at_a_time = s->ctx->n_thread,
                                     .is_to_look = true,
                                     .wanted = is_todo,
                                     .fn = look_once};
    TESS_TRY(tess_ar_study_each(s, &work));
    TESS_TRY(tess_ar_study_note_told(s));
    return choose(s);
}
