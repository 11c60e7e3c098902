// What a fit holds, and what is said of the samples it saw.
#include "base/select.h"
#include "base/status.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/fit/setup.h"
#include "systems/autoreject/local/local.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <math.h>
#include <string.h>

// The least the threshold search can do with (threshold/plan.c), rounded up.
static uint64_t threshold_least(const tess_ar_setup *s, int64_t n_chan, bool is_augmented)
{
    const uint64_t n_epoch = (uint64_t)s->epochs->info.n_epoch;
    const uint64_t n_row = is_augmented ? 2 * n_epoch : n_epoch;
    const uint64_t worker = (n_row + n_row / 4 + (uint64_t)s->config.n_split) * 16 * 8 + 1024;
    const uint64_t process =
        s->config.search == TESS_AUTOREJECT_SEARCH_COMPAT ? n_row * 64 * 8 + (64 << 10) : 0;
    const uint64_t disturbed =
        (n_row < 256 ? n_row : 256) * 32 * 8; // of a channel's standard error
    return (uint64_t)n_chan * (n_row * 36 + disturbed) + n_row * 40 + n_epoch * 16 * 8 +
           (uint64_t)s->ctx->n_thread * (worker > process ? worker : process) + (64 << 10);
}

// Predictions that are kept are written and read again instead of made again: on a Neoverse N1 70
// of 545 ms of a fit of 64 channels less. Vectors of other sets are two to four times as long, and
// what memory takes there has not been measured against them. The reference goes the same way, so
// that every machine can check it.
static bool does_keeping_pay(const tess_ar_setup *s, const tess_ar_group *group)
{
    const bool is_set = strcmp(s->ctx->isa, "neon") == 0 || strcmp(s->ctx->isa, "ref") == 0;
    return is_set && s->device->shares_host_memory && s->config.augment &&
           tess_ar_setup_predicts(group);
}

tess_status tess_ar_plan_memory(const tess_ar_setup *s, int64_t group, tess_ar_memory_plan *plan)
{
    const tess_ar_group *g = &s->groups[group];
    const int64_t n_epoch = s->epochs->info.n_epoch;
    const bool is_augmented = tess_ar_setup_is_augmented(s, g);
    const double marker = 0; // only whether there is one counts for sizes
    const tess_ar_store_request request = {.epochs = s->epochs,
                                           .channels = g->channels,
                                           .n_chan = g->n_chan,
                                           .leave_one_out = is_augmented ? &marker : NULL};
    *plan = (tess_ar_memory_plan){0};
    uint64_t pass = 0;
    TESS_TRY(tess_ar_store_sizes(&request, &plan->sample_bytes, &pass));
    const uint64_t delta = (uint64_t)(n_epoch * g->n_chan) * sizeof(double) * 2;
    uint64_t search = threshold_least(s, g->n_chan, is_augmented);
    if (!s->thresholds_only) {
        const uint64_t local = tess_ar_local_least_bytes(s->ctx, n_epoch, g->n_chan, s->n_consensus,
                                                         s->n_n_interpolate, s->n_fold);
        search = local > search ? local : search;
    }
    // Of a file one tile lies in memory while it is worked on.
    const uint64_t tile = (uint64_t)(n_epoch * g->n_chan) * TESS_AR_TILE * sizeof(double);
    // The matrices of the repairer and what the model keeps.
    const uint64_t fixed = (uint64_t)(g->n_chan * g->n_chan) * 8 * sizeof(double) +
                           (uint64_t)(n_epoch * g->n_chan) * 4 * sizeof(double);
    const uint64_t beside = pass > delta + search + tile ? pass : delta + search + tile;
    const uint64_t limit = s->ctx->memory_limit_bytes;
    plan->least_bytes = fixed + beside;
    if (limit < plan->least_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "memory limit: %llu bytes are too few for %lld epochs of %lld %s channels; at "
                  "least %llu are needed (fewer with fewer threads)",
                  (unsigned long long)limit, (long long)n_epoch, (long long)g->n_chan,
                  tess_autoreject_type_name(g->type), (unsigned long long)plan->least_bytes);
    }
    // In memory where the search keeps room for a group of channels, so that passes are few.
    const uint64_t wished = 4 * beside;
    plan->is_file = plan->sample_bytes > limit || limit - plan->sample_bytes < fixed + wished;
    const uint64_t room = limit - fixed;
    plan->store_bytes = plan->is_file ? room : UINT64_MAX;
    if (plan->is_file && plan->store_bytes > plan->sample_bytes / 2 + pass) {
        plan->store_bytes = plan->sample_bytes / 2 + pass; // enough for buffers, not for all
    }
    plan->keeps_predictions = !plan->is_file && does_keeping_pay(s, g) &&
                              limit - fixed - wished >= 2 * plan->sample_bytes;
    const uint64_t samples = plan->sample_bytes * (plan->keeps_predictions ? 2 : 1);
    plan->search_bytes = room - delta - (plan->is_file ? tile : samples);
    plan->used_bytes = fixed + beside + (plan->is_file ? 0 : samples);
    return TESS_OK;
}

static void note_scale(const tess_ar_setup *s, int64_t group, const double *delta,
                       tess_autoreject_model *model)
{
    const int64_t n = s->epochs->info.n_epoch * s->groups[group].n_chan;
    const size_t bytes = (size_t)n * sizeof(double);
    if (s->groups[group].type != TESS_AUTOREJECT_EEG) {
        return;
    }
    double *all = tess_heap_alloc(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "peak-to-peaks");
    if (!all) {
        return;
    }
    memcpy(all, delta, bytes);
    const double median = tess_select(all, n, n / 2);
    if (median > 10e-3 || (median > 0 && median < 0.1e-6)) {
        tess_ar_model_warn(model, TESS_W_AUTOREJECT_UNIT,
                           "The median peak-to-peak of the EEG is %g V: are the samples in volts? "
                           "Search compat depends on the unit, exact and grid do not.",
                           median);
    }
    tess_heap_free(&s->ctx->heap, all, bytes, TESS_TAG_SCRATCH);
}

void tess_ar_note_samples(const tess_ar_setup *s, int64_t group, const double *delta,
                          tess_autoreject_model *model)
{
    const tess_ar_group *g = &s->groups[group];
    const int64_t n_epoch = s->epochs->info.n_epoch;
    int64_t n_partly = 0;
    note_scale(s, group, delta, model);
    for (int64_t c = 0; c < g->n_chan; c++) {
        int64_t n_flat = 0;
        for (int64_t e = 0; e < n_epoch; e++) {
            n_flat += delta[e * g->n_chan + c] == 0;
        }
        if (n_flat == n_epoch) {
            tess_ar_model_warn(model, TESS_W_AUTOREJECT_FLAT,
                               "Channel '%s' is flat in every epoch.",
                               s->epochs->sensors.channels[g->channels[c]].name);
        }
        n_partly += n_flat < n_epoch ? n_flat : 0;
    }
    if (n_partly > 0) {
        tess_ar_model_warn(model, TESS_W_AUTOREJECT_FLAT,
                           "Channels of type %s that are flat in an epoch but not in all: %lld "
                           "times; by peak-to-peak these are good.",
                           tess_autoreject_type_name(g->type), (long long)n_partly);
    }
}
