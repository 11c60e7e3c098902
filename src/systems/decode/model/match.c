// Electrodes of a recording in the order of a model's.
#include "base/status.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/model/model.h"

#include <stdlib.h>

// Where a recording has an id.
typedef struct id_place {
    int64_t id;
    int64_t electrode;
} id_place;

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const id_place *)a)->id;
    const int64_t y = ((const id_place *)b)->id;
    return (x > y) - (x < y);
}

// from[e]: which of the recording's electrodes is the model's e; -1: none.
static tess_status find_electrodes(const tess_decode_recording_info *info,
                                   const tess_decode_model *model, tess_blocks *blocks,
                                   int64_t **from)
{
    const int64_t n = info->observation.spikes.n_electrode;
    const int64_t n_own = model->training.spikes.n_electrode;
    id_place *places = tess_blocks_alloc(blocks, n, sizeof *places, "ids");
    *from = tess_blocks_alloc(blocks, n_own, sizeof **from, "ids");
    if (!places || !*from) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        places[e] = (id_place){info->electrode_id[e], e};
    }
    qsort(places, (size_t)n, sizeof *places, by_id);
    for (int64_t e = 0; e < n_own; e++) {
        const id_place wanted = {model->electrode_id[e], 0};
        const id_place *found = bsearch(&wanted, places, (size_t)n, sizeof *places, by_id);
        (*from)[e] = found ? found->electrode : -1;
    }
    return TESS_OK;
}

// Electrodes of the model that the recording lacks would look silent, which says much of place:
// no rule makes that right.
static tess_status check_missing(const char *path, const tess_decode_model *model,
                                 const int64_t *from)
{
    enum { NAMED = 8 };
    const int64_t n_own = model->training.spikes.n_electrode;
    int64_t n_missing = 0;
    for (int64_t e = 0; e < n_own; e++) {
        if (from[e] >= 0) {
            continue;
        }
        if (n_missing++ == 0) {
            tess_error_set(TESS_E_MISMATCH,
                           "%s: lacks electrodes that the model was fitted to:", path);
        }
        if (n_missing <= NAMED) {
            tess_error_append("%s %lld", n_missing > 1 ? "," : "",
                              (long long)model->electrode_id[e]);
        }
    }
    if (n_missing > 0) {
        tess_error_append("%s (%lld of %lld); fit a model to electrodes that both have",
                          n_missing > NAMED ? ", ..." : "", (long long)n_missing, (long long)n_own);
    }
    return n_missing > 0 ? TESS_E_MISMATCH : TESS_OK;
}

static tess_status reorder(tess_decode_recording *recording, const int64_t *from, int64_t n,
                           tess_decode_spikes *spikes)
{
    const tess_decode_spikes old = *spikes;
    tess_de_spike_lists lists;
    TESS_TRY(tess_de_recording_spikes(recording, spikes, n, old.mark_dtype, &lists));
    for (int64_t e = 0; e < n; e++) {
        lists.n_spike[e] = old.n_spike[from[e]];
        lists.n_feature[e] = old.n_feature[from[e]];
        lists.times[e] = old.times[from[e]];
        lists.marks[e] = old.marks ? old.marks[from[e]] : NULL;
    }
    if (!old.marks) {
        spikes->marks = NULL; // sorted spikes
    }
    return TESS_OK;
}

static tess_status reorder_all(tess_decode_recording *recording, const tess_decode_model *model,
                               const int64_t *from)
{
    tess_decode_recording_info *info = &recording->info;
    tess_blocks *blocks = &recording->blocks;
    const int64_t n = model->training.spikes.n_electrode;
    const bool is_one = info->observation.spikes.times == info->training.spikes.times;
    info->electrode_id =
        tess_blocks_copy(blocks, model->electrode_id, n, sizeof *info->electrode_id, "ids");
    if (!info->electrode_id) {
        return TESS_E_MEMORY;
    }
    if (info->unit) {
        const int32_t **unit = tess_blocks_alloc(blocks, n, sizeof *unit, "units");
        if (!unit) {
            return TESS_E_MEMORY;
        }
        for (int64_t e = 0; e < n; e++) {
            unit[e] = info->unit[from[e]];
        }
        info->unit = unit;
    }
    TESS_TRY(reorder(recording, from, n, &info->training.spikes));
    if (is_one) {
        info->observation.spikes = info->training.spikes;
        return TESS_OK;
    }
    return reorder(recording, from, n, &info->observation.spikes);
}

tess_status tess_decode_recording_match(tess_context *ctx, tess_decode_recording *recording,
                                        const tess_decode_model *model)
{
    tess_error_clear();
    const tess_decode_recording_info *info = &recording->info;
    if (!info->electrode_id || !model->electrode_id) {
        return TESS_OK;
    }
    const int64_t n = info->observation.spikes.n_electrode;
    const int64_t n_unknown = n - model->training.spikes.n_electrode;
    int64_t *from = NULL;
    TESS_TRY(find_electrodes(info, model, &recording->blocks, &from));
    TESS_TRY(check_missing(info->path, model, from));
    if (n_unknown > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_ELECTRODES,
                      "%s: %lld of %lld electrodes are not the model's and are left out",
                      info->path, (long long)n_unknown, (long long)n);
    }
    return reorder_all(recording, model, from);
}
