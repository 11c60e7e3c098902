// Rows that stay on a device: likelihoods from the kernels that make them to the filter, filtered
// rows to the smoother, results to who asked for them there.
//
// No bit tells what stayed: stages are the same and take the same rows. What does not fit goes
// through the host's memory, as rows of a CPU do.
#include "systems/decode/states/engine.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"
#include "stage/decode_columns.h"
#include "systems/decode/states/engine_devices.h"
#include "systems/decode/states/engine_ranks.h"

// Left for models' rooms, whatever stays.
static const uint64_t RESERVE_BYTES = UINT64_C(256) << 20;

static size_t item_bytes(const tess_de_engine *e)
{
    return tess_dtype_bytes((tess_dtype)e->desc.detector->dtype);
}

bool tess_de_engine_has_paths_there(const tess_de_engine *engine)
{
    bool are_whole = engine->there.has_all_ll && engine->path.there;
    for (int64_t k = 0; are_whole && k < engine->sequences.n; k++) {
        const int64_t first = engine->sequences.begin[k];
        const int64_t last = engine->sequences.begin[k + 1] - 1;
        are_whole = first > last || first / engine->chunk_rows == last / engine->chunk_rows;
    }
    return are_whole;
}

bool tess_de_engine_has_results_there(const tess_de_engine_desc *desc)
{
    return desc->acausal.there || desc->causal.there || desc->predictive.there || desc->ll.there ||
           desc->acausal_states.there || desc->causal_states.there || desc->predictive_states.there;
}

// The likelihood's device filters, too, and can put columns together. Rows of other ranks come by
// the host's memory.
static bool makes_ll_there(const tess_de_engine *e)
{
    const tess_device *device = e->desc.device ? e->desc.device : e->ctx->device; // of a plan
    const bool can =
        device == e->states && e->desc.given_ll.dtype == 0 && !tess_de_is_divided(e) &&
        device->backend->supports(device->handle, TESS_STAGE_DECODE_COLUMNS, NULL) == TESS_OK;
    if (!can) {
        tess_error_clear();
    }
    return can;
}

void tess_de_engine_choose_there(tess_de_engine *engine, int64_t most_rows)
{
    const tess_de_engine_desc *desc = &engine->desc;
    const tess_decode_detector_info *info = &desc->detector->info;
    engine->there.has_ll = false;
    engine->there.has_all_ll = false;
    engine->there.has_filtered = false;
    engine->there.sends_rows = false;
    if (engine->states->shares_host_memory) {
        return;
    }
    const uint64_t left = tess_device_left(engine->states);
    const uint64_t room = left > RESERVE_BYTES ? (left - RESERVE_BYTES) / 4 : 0;
    // Rows, and again the columns they are made of.
    const uint64_t ll = 2 * (uint64_t)(most_rows * info->n_ll) * item_bytes(engine);
    const uint64_t all_ll = ll / 2 + (uint64_t)(engine->n_time * info->n_ll) * item_bytes(engine);
    const uint64_t filtered = (uint64_t)(engine->n_time * info->n_state_bin) * item_bytes(engine);
    engine->there.has_ll = makes_ll_there(engine) && (desc->ll.there || ll <= room);
    const bool is_again = desc->reuses_ll || (desc->path.dtype != 0 &&
                                              engine->sequences.n >= TESS_DE_SEQUENCES_THAT_PAY);
    engine->there.has_all_ll =
        engine->there.has_ll && is_again && !desc->ll.there && !desc->is_checked && all_ll <= room;
    const uint64_t taken = engine->there.has_all_ll ? all_ll : ll;
    const bool fits = taken <= room && filtered <= room - taken;
    engine->there.has_filtered = !desc->likelihood_only && !desc->is_checked &&
                                 (desc->causal.there || (fits && tess_de_engine_smooths(engine)));
    const uint64_t smoothed = 2 * (uint64_t)(most_rows * info->n_state_bin) * item_bytes(engine);
    // The path works in the buffers that would be on their way.
    engine->there.sends_rows = engine->there.has_filtered && desc->path.dtype == 0 &&
                               tess_de_rows_are_here(&desc->acausal) && smoothed <= room;
}

tess_status tess_de_engine_take_there(tess_de_engine *engine)
{
    const tess_decode_detector_info *info = &engine->desc.detector->info;
    if (engine->there.has_ll && !engine->desc.ll.there) {
        const int64_t n_row = engine->there.has_all_ll ? engine->n_time : engine->chunk_rows;
        TESS_TRY(tess_resident_create(
            engine->states, (size_t)(n_row * info->n_ll) * item_bytes(engine), &engine->there.ll));
    }
    if (engine->there.has_filtered && !engine->desc.causal.there) {
        TESS_TRY(tess_resident_create(
            engine->states, (size_t)(engine->n_time * info->n_state_bin) * item_bytes(engine),
            &engine->there.filtered));
    }
    return engine->there.sends_rows
               ? tess_resident_create(
                     engine->states,
                     (size_t)(engine->n_slot * engine->chunk_rows * info->n_state_bin) *
                         item_bytes(engine),
                     &engine->there.smoothed)
               : TESS_OK;
}

void tess_de_engine_free_there(tess_de_engine *engine)
{
    tess_resident_free(&engine->there.ll);
    tess_resident_free(&engine->there.filtered);
    tess_resident_free(&engine->there.smoothed);
    for (int32_t k = 0; k < TESS_MAX_GROUP; k++) {
        tess_resident_free(&engine->there.lent[k]);
        tess_de_ll_room_free(&engine->there.room[k]);
    }
}

tess_status tess_de_engine_prepare(tess_context *ctx, const tess_de_engine_desc *desc)
{
    if (!desc->device || desc->device->shares_host_memory || desc->given_ll.dtype != 0) {
        return TESS_OK;
    }
    const int32_t n_member = tess_group_size(ctx, desc->device);
    for (int64_t i = 0; i < desc->detector->n_encoding * n_member; i++) {
        const tess_decode_encoding *encoding = desc->detector->encodings[i / n_member];
        tess_device *device = tess_group_member(ctx, desc->device, (int32_t)(i % n_member));
        if (encoding && encoding->ops->prepare) {
            TESS_TRY(encoding->ops->prepare(ctx, device, encoding));
        }
    }
    return TESS_OK;
}

static void *row_of(void *rows, int64_t first, int64_t width, size_t item)
{
    return rows ? (char *)rows + (size_t)(first * width) * item : NULL;
}

tess_de_hmm_rows_there tess_de_engine_rows_there(const tess_de_engine *engine, int64_t first)
{
    const tess_de_engine_desc *desc = &engine->desc;
    const tess_decode_detector_info *info = &desc->detector->info;
    const size_t item = item_bytes(engine);
    const int64_t n_bin = info->n_state_bin;
    const int64_t n_state = info->n_state;
    void *filtered = desc->causal.there ? desc->causal.there : engine->there.filtered.data;
    tess_de_hmm_rows_there rows = {
        .predicted = row_of(desc->predictive.there, first, n_bin, item),
        .smoothed = row_of(desc->acausal.there, first, n_bin, item),
        .causal_states = row_of(desc->causal_states.there, first, n_state, sizeof(double)),
        .predictive_states = row_of(desc->predictive_states.there, first, n_state, sizeof(double)),
        .acausal_states = row_of(desc->acausal_states.there, first, n_state, sizeof(double))};
    if (engine->there.has_ll) {
        void *ll = desc->ll.there ? desc->ll.there : engine->there.ll.data;
        const bool is_all = desc->ll.there || engine->there.has_all_ll;
        rows.ll = row_of(ll, is_all ? first : 0, info->n_ll, item);
    }
    if (engine->there.has_filtered) {
        rows.filtered = row_of(filtered, first, n_bin, item);
    }
    if (engine->there.sends_rows) {
        const int64_t slot = first / engine->chunk_rows % engine->n_slot;
        rows.smoothed = row_of(engine->there.smoothed.data, slot * engine->chunk_rows, n_bin, item);
    }
    return rows;
}

tess_status tess_de_engine_fetch_smoothed(const tess_de_engine *engine,
                                          const tess_de_hmm_chunk *chunk)
{
    tess_device own = *engine->states;
    const size_t bytes =
        (size_t)(chunk->n_row * engine->desc.detector->info.n_state_bin) * item_bytes(engine);
    TESS_TRY(own.backend->queue_create(own.handle, &own.queue));
    const tess_resident rows = {
        .device = &own, .data = chunk->there.smoothed, .bytes = bytes, .is_borrowed = true};
    const tess_status status = tess_resident_fetch(&rows, chunk->filtered, bytes);
    own.backend->queue_destroy(own.queue);
    return status;
}

tess_status tess_de_engine_likelihood_there(tess_de_engine *engine, int64_t first, int64_t count,
                                            tess_decode_likelihood_report *report, void *ll,
                                            tess_de_hmm_chunk *chunk)
{
    const tess_de_engine_desc *desc = &engine->desc;
    const size_t bytes = (size_t)(count * desc->detector->info.n_ll) * item_bytes(engine);
    const bool is_here = tess_de_rows_are_here(&desc->ll) || desc->kept_ll.dtype != 0;
    TESS_TRY(tess_de_devices_compute_there(engine, first, count, report, chunk->there.ll));
    chunk->ll = is_here ? ll : NULL;
    if (!is_here) {
        return TESS_OK;
    }
    const tess_resident rows = {
        .device = engine->states, .data = chunk->there.ll, .bytes = bytes, .is_borrowed = true};
    return tess_resident_fetch(&rows, ll, bytes);
}
