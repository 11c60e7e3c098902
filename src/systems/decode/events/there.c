#include "systems/decode/events/there.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"

static const char WHAT[] = "shuffles on a device";
// Sequences of one slab at most, and what they take: more would only make a stop wait.
static const int64_t MOST_SEQUENCES = 8192;
static const uint64_t MOST_BYTES = 8ULL << 30;

// What a slab of sequences takes.
typedef struct slab_rooms {
    tess_resident sequences;
    tess_resident draws;
    tess_resident base;
    tess_resident ll;
    tess_resident transition;
    tess_resident posterior;
    tess_resident counted;
    tess_resident prefix;
    tess_resident scores;
    // Of states:
    tess_resident runs;
    tess_resident wrong;
    tess_resident ended;
    tess_resident norm;
    tess_resident filtered;
    tess_resident smoothed;
    tess_resident scratch;
} slab_rooms;

struct tess_de_events_there {
    tess_context *ctx;
    tess_device *device;
    const tess_de_hmm *hmm;
    tess_de_hmm_there *states; // NULL: bins are decoded alone
    tess_de_events_sent sent;
    slab_rooms rooms;
    uint64_t slab_bytes;
};

// One slab: sequences first..first+n-1 of all, event by event.
typedef struct events_slab {
    tess_de_events_there *there;
    const tess_stage_decode_events *args;
    int64_t first;
    int64_t n;
    int64_t n_row;
    tess_events_sequence *sequences;
    tess_hmm_run *runs;
} events_slab;

static const tess_hmm_model *model_of(const tess_de_events_there *there)
{
    return there->states ? &there->states->model : NULL;
}

static tess_status supports(const tess_device *device, const tess_de_hmm *hmm)
{
    const int32_t stages[] = {TESS_STAGE_DECODE_EVENTS_MIX, TESS_STAGE_DECODE_EVENTS_JUDGE};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        TESS_TRY(device->backend->supports(device->handle, stages[i], NULL));
    }
    if (!hmm) {
        return TESS_OK;
    }
    const tess_stage_decode_hmm_filter filter = {.model = &hmm->plain};
    const tess_stage_decode_hmm_smooth smooth = {.model = &hmm->plain};
    TESS_TRY(device->backend->supports(device->handle, TESS_STAGE_DECODE_HMM_FILTER, &filter));
    return device->backend->supports(device->handle, TESS_STAGE_DECODE_HMM_SMOOTH, &smooth);
}

tess_status tess_de_events_there_open(tess_context *ctx, const tess_de_hmm *hmm,
                                      tess_de_events_there **out)
{
    *out = NULL;
    if (ctx->device->shares_host_memory || supports(ctx->device, hmm) != TESS_OK) {
        tess_error_clear();
        return TESS_OK;
    }
    tess_de_events_there *there =
        tess_heap_alloc_zero(&ctx->heap, sizeof *there, TESS_TAG_PLAN, WHAT);
    if (!there) {
        return TESS_E_MEMORY;
    }
    there->ctx = ctx;
    there->device = ctx->device;
    there->hmm = hmm;
    const tess_status status =
        hmm ? tess_de_hmm_there_take(ctx, ctx->device, hmm, &there->states) : TESS_OK;
    if (status != TESS_OK) {
        tess_de_events_there_close(there);
        return status;
    }
    const uint64_t left = tess_device_left(ctx->device) / 2;
    there->slab_bytes = left < MOST_BYTES ? left : MOST_BYTES;
    *out = there;
    return TESS_OK;
}

void tess_de_events_there_close(tess_de_events_there *there)
{
    if (!there) {
        return;
    }
    slab_rooms *r = &there->rooms;
    tess_resident *rooms[] = {&r->sequences,  &r->draws,     &r->base,     &r->ll,
                              &r->transition, &r->posterior, &r->counted,  &r->prefix,
                              &r->scores,     &r->runs,      &r->wrong,    &r->ended,
                              &r->norm,       &r->filtered,  &r->smoothed, &r->scratch};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        tess_resident_free(rooms[i]);
    }
    tess_de_events_sent_free(&there->sent);
    if (there->states) {
        tess_de_hmm_there_put(there->hmm, there->states);
    }
    tess_heap_free(&there->ctx->heap, there, sizeof *there, TESS_TAG_PLAN);
}

// Room of at least so many bytes; what was in it is lost.
static tess_status take(const tess_de_events_there *there, tess_resident *room, int64_t n,
                        size_t item_bytes)
{
    const size_t bytes = (size_t)(n > 0 ? n : 1) * item_bytes;
    if (room->data && room->bytes >= bytes) {
        return TESS_OK;
    }
    tess_resident_free(room);
    return tess_resident_create(there->device, bytes, room);
}

static int64_t columns_of(const tess_de_events_there *there, const tess_stage_decode_events *a)
{
    return there->states ? model_of(there)->n_ll : a->track->n_place;
}

// Bytes that a sequence takes beside its rows, and those of a row.
static uint64_t sequence_bytes(const tess_de_events_there *there, const tess_stage_decode_events *a)
{
    const tess_hmm_model *m = model_of(there);
    const int64_t items = a->track->n_place + TESS_EVENTS_N_SCORE + (m ? m->n_scratch : 0);
    return (uint64_t)(items + there->sent.most_draw) * 8 + sizeof(tess_events_sequence) +
           sizeof(tess_hmm_run);
}
static uint64_t row_bytes(const tess_de_events_there *there, const tess_stage_decode_events *a)
{
    const tess_hmm_model *m = model_of(there);
    int64_t items = columns_of(there, a) + a->track->n_place + there->sent.most_bins + 4;
    if (m) {
        items += 2 * m->n_bin + (m->n_bin > m->n_ll ? m->n_bin : m->n_ll) + 4 +
                 (int64_t)m->n_state * m->n_state;
    }
    return (uint64_t)items * 8;
}

// The judge's arguments but for rooms.
static tess_stage_decode_events_judge judge_of(const tess_de_events_there *there,
                                               const tess_stage_decode_events *a)
{
    const tess_de_events_sent *sent = &there->sent;
    const tess_events_track *track = a->track;
    tess_stage_decode_events_judge judge = {.events = sent->items,
                                            .most_time = sent->most_time,
                                            .most_bins = sent->most_bins,
                                            .n_place = track->n_place,
                                            .n_column = track->n_place,
                                            .n_route = (int32_t)track->n_route,
                                            .is_counted = sent->is_counted,
                                            .routes = sent->ways,
                                            .windows = sent->windows,
                                            .centre = sent->centre,
                                            .distance = sent->distance,
                                            .extent = track->extent,
                                            .bin_s = a->bin_s,
                                            .min_bins = a->min_bins};
    const tess_hmm_model *m = model_of(there);
    for (int32_t s = 0; m && s < m->n_state; s++) {
        judge.n_column = m->n_bin;
        if (m->first[s + 1] - m->first[s] == track->n_place) {
            judge.state_first[judge.n_state++] = (int32_t)m->first[s];
        }
    }
    return judge;
}

// As many sequences as there is room for, one at least.
static tess_status cut_slab(events_slab *slab, tess_blocks *blocks)
{
    const tess_de_events_there *there = slab->there;
    const tess_stage_decode_events *a = slab->args;
    const int64_t n_left = a->n_event * a->n_shuffle - slab->first;
    const int64_t most = n_left < MOST_SEQUENCES ? n_left : MOST_SEQUENCES;
    const uint64_t per_row = row_bytes(there, a);
    const uint64_t per_sequence = sequence_bytes(there, a);
    slab->sequences = tess_blocks_alloc(blocks, most, sizeof *slab->sequences, WHAT);
    slab->runs = tess_blocks_alloc(blocks, most, sizeof *slab->runs, WHAT);
    if (!slab->sequences || !slab->runs) {
        return TESS_E_MEMORY;
    }
    uint64_t bytes = 0;
    for (slab->n = 0; slab->n < most; slab->n++) {
        const int64_t k = slab->first + slab->n;
        const int64_t n_time = there->sent.host_items[k / a->n_shuffle].n_time;
        bytes += (uint64_t)n_time * per_row + per_sequence;
        if (slab->n > 0 && bytes > there->slab_bytes) {
            break;
        }
        slab->sequences[slab->n] =
            (tess_events_sequence){.event = k / a->n_shuffle,
                                   .shuffle = a->first_shuffle + k % a->n_shuffle,
                                   .first_row = slab->n_row,
                                   .first_draw = slab->n * there->sent.most_draw};
        slab->runs[slab->n] =
            (tess_hmm_run){.first = slab->n_row, .n_row = n_time, .begins = TESS_HMM_EDGE};
        slab->n_row += n_time;
    }
    return TESS_OK;
}

static tess_status take_rooms(const events_slab *slab)
{
    tess_de_events_there *there = slab->there;
    slab_rooms *r = &there->rooms;
    const tess_hmm_model *m = model_of(there);
    const int64_t n_place = slab->args->track->n_place;
    const int64_t n_row = slab->n_row;
    const size_t item = sizeof(double);
    TESS_TRY(take(there, &r->sequences, slab->n, sizeof *slab->sequences));
    TESS_TRY(take(there, &r->draws, slab->n * there->sent.most_draw, sizeof(int32_t)));
    TESS_TRY(take(there, &r->base, slab->n * n_place, item));
    TESS_TRY(take(there, &r->ll, n_row * columns_of(there, slab->args), item));
    TESS_TRY(take(there, &r->posterior, n_row * n_place, item));
    TESS_TRY(take(there, &r->counted, n_row, 1));
    TESS_TRY(take(there, &r->scores, slab->n * TESS_EVENTS_N_SCORE, item));
    if (!m) {
        return TESS_OK;
    }
    TESS_TRY(take(there, &r->runs, slab->n, sizeof *slab->runs));
    TESS_TRY(take(there, &r->wrong, slab->n, sizeof(int32_t)));
    TESS_TRY(take(there, &r->ended, m->n_bin, item));
    TESS_TRY(take(there, &r->norm, n_row, item));
    TESS_TRY(take(there, &r->filtered, n_row * m->n_bin, item));
    TESS_TRY(take(there, &r->smoothed, n_row * m->n_bin, item));
    return slab->args->states->transition_stride > 0
               ? take(there, &r->transition, n_row * m->n_state * m->n_state, item)
               : TESS_OK;
}

// Rows of log likelihoods; as they are: of every event once, without states.
static tess_status mix(const events_slab *slab, int32_t kind)
{
    const tess_de_events_there *there = slab->there;
    const tess_de_events_sent *sent = &there->sent;
    const tess_stage_decode_events *a = slab->args;
    const slab_rooms *r = &there->rooms;
    const bool is_own = kind == TESS_EVENTS_AS_THEY_ARE;
    tess_stage_decode_events_mix args = {.kind = kind,
                                         .is_alone = !there->states,
                                         .seed = a->seed,
                                         .events = sent->items,
                                         .sequences = r->sequences.data,
                                         .n_sequence = slab->n,
                                         .most_time = sent->most_time,
                                         .n_place = a->track->n_place,
                                         .n_electrode = a->n_electrode,
                                         .scale = a->scale,
                                         .bin_first = sent->bin_first,
                                         .bin_spike = sent->bin_spike,
                                         .spike_electrode = sent->spike_electrode,
                                         .spike_row = sent->spike_row,
                                         .counted_time = sent->counted_time,
                                         .rows = sent->rows,
                                         .summed = sent->summed,
                                         .ground = sent->ground,
                                         .own = sent->own,
                                         .n_ll = a->track->n_place,
                                         .n_block = 1,
                                         .draws = r->draws.data,
                                         .base = r->base.data,
                                         .ll = is_own ? sent->own : r->ll.data};
    if (there->states && !is_own) {
        const tess_events_states *states = a->states;
        args.n_ll = model_of(there)->n_ll;
        args.n_block = (int32_t)states->n_block;
        for (int64_t b = 0; b < states->n_block; b++) {
            args.block_first[b] = states->block_first[b];
        }
        args.added = sent->added;
        if (states->transition_stride > 0) {
            args.transition = sent->transition;
            args.n_pair = states->transition_stride;
            args.transition_rows = r->transition.data;
        }
    }
    return tess_stage_start(there->device, TESS_STAGE_DECODE_EVENTS_MIX, &args, sizeof args);
}

static tess_status take_scratch(const tess_de_events_there *there, int32_t stage, const void *args,
                                tess_resident *room)
{
    const tess_device *device = there->device;
    return take(there, room, (int64_t)device->backend->scratch_bytes(device->handle, stage, args),
                1);
}

// Filter and smoother, every sequence a run.
static tess_status decode(const events_slab *slab)
{
    tess_de_events_there *there = slab->there;
    slab_rooms *r = &there->rooms;
    const tess_events_states *states = slab->args->states;
    const int64_t stride = states->transition_stride;
    const double *transition = stride > 0 ? r->transition.data : there->sent.transition;
    const tess_hmm_runs runs = {
        .n = slab->n, .run = r->runs.data, .is_wrong = r->wrong.data, .ended = r->ended.data};
    tess_stage_decode_hmm_filter filter = {.model = model_of(there),
                                           .n_row = slab->n_row,
                                           .ll = r->ll.data,
                                           .ll_dtype = TESS_F64,
                                           .dtype = TESS_F64,
                                           .transition = transition,
                                           .transition_stride = stride,
                                           .predicted = r->ended.data,
                                           .filtered = r->filtered.data,
                                           .log_norm = r->norm.data,
                                           .initial = there->sent.initial,
                                           .runs = runs};
    tess_stage_decode_hmm_smooth smooth = {.model = model_of(there),
                                           .n_row = slab->n_row,
                                           .dtype = TESS_F64,
                                           .is_last = 1,
                                           .transition = transition,
                                           .transition_stride = stride,
                                           .filtered = r->filtered.data,
                                           .next = r->ended.data,
                                           .smoothed = r->smoothed.data,
                                           .runs = runs};
    TESS_TRY(take_scratch(there, TESS_STAGE_DECODE_HMM_FILTER, &filter, &r->scratch));
    TESS_TRY(take_scratch(there, TESS_STAGE_DECODE_HMM_SMOOTH, &smooth, &r->scratch));
    filter.scratch = smooth.scratch = r->scratch.data;
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_DECODE_HMM_FILTER, &filter, sizeof filter));
    return tess_stage_start(there->device, TESS_STAGE_DECODE_HMM_SMOOTH, &smooth, sizeof smooth);
}

static tess_status judge(const events_slab *slab)
{
    tess_de_events_there *there = slab->there;
    slab_rooms *r = &there->rooms;
    tess_stage_decode_events_judge args = judge_of(there, slab->args);
    args.sequences = r->sequences.data;
    args.n_sequence = slab->n;
    args.n_row = slab->n_row;
    args.rows = there->states ? r->smoothed.data : r->ll.data;
    args.posterior = r->posterior.data;
    args.counted = r->counted.data;
    args.scores = r->scores.data;
    TESS_TRY(take_scratch(there, TESS_STAGE_DECODE_EVENTS_JUDGE, &args, &r->prefix));
    args.prefix = r->prefix.data;
    return tess_stage_start(there->device, TESS_STAGE_DECODE_EVENTS_JUDGE, &args, sizeof args);
}

static tess_status put_slab(const events_slab *slab)
{
    slab_rooms *r = &slab->there->rooms;
    TESS_TRY(take_rooms(slab));
    TESS_TRY(tess_resident_put(&r->sequences, 0, slab->sequences,
                               (size_t)slab->n * sizeof *slab->sequences));
    return slab->there->states
               ? tess_resident_put(&r->runs, 0, slab->runs, (size_t)slab->n * sizeof *slab->runs)
               : TESS_OK;
}

// The rows of events as they are, which columns and times are made of.
static tess_status make_own(tess_de_events_there *there, const tess_stage_decode_events *args)
{
    events_slab slab = {.there = there, .args = args, .n = there->sent.n_event};
    slab.sequences = tess_blocks_alloc(&there->sent.blocks, slab.n, sizeof *slab.sequences, WHAT);
    if (!slab.sequences) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < slab.n; i++) {
        slab.sequences[i] =
            (tess_events_sequence){.event = i, .first_row = there->sent.host_items[i].first_time};
    }
    const size_t bytes = (size_t)slab.n * sizeof *slab.sequences;
    TESS_TRY(take(there, &there->rooms.sequences, slab.n, sizeof *slab.sequences));
    TESS_TRY(take(there, &there->rooms.draws, 1, sizeof(int32_t)));
    TESS_TRY(tess_resident_put(&there->rooms.sequences, 0, slab.sequences, bytes));
    TESS_TRY(mix(&slab, TESS_EVENTS_AS_THEY_ARE));
    return tess_stage_finish(there->device); // what was sent is not read any more
}

tess_status tess_de_events_there_bring(tess_de_events_there *there,
                                       const tess_stage_decode_events *args, int64_t n_row,
                                       bool *fits)
{
    tess_de_events_sent_free(&there->sent);
    TESS_TRY(tess_de_events_send(there->ctx, there->device, args, n_row, &there->sent));
    const tess_stage_decode_events_judge judge = judge_of(there, args);
    *fits =
        there->device->backend->supports(there->device->handle, TESS_STAGE_DECODE_EVENTS_JUDGE,
                                         &judge) == TESS_OK &&
        (uint64_t)there->sent.most_time * row_bytes(there, args) + sequence_bytes(there, args) <=
            there->slab_bytes &&
        (!args->states || args->states->n_block <= TESS_EVENTS_MOST_BLOCKS);
    tess_error_clear();
    return *fits ? make_own(there, args) : TESS_OK;
}

static tess_status run_slab(events_slab *slab, tess_blocks *blocks)
{
    tess_de_events_there *there = slab->there;
    TESS_TRY(tess_context_check_cancel(there->ctx));
    TESS_TRY(cut_slab(slab, blocks));
    TESS_TRY(put_slab(slab));
    TESS_TRY(mix(slab, slab->args->kind));
    if (there->states) {
        TESS_TRY(decode(slab));
    }
    TESS_TRY(judge(slab));
    return tess_resident_fetch(&there->rooms.scores,
                               slab->args->scores + slab->first * TESS_EVENTS_N_SCORE,
                               (size_t)(slab->n * TESS_EVENTS_N_SCORE) * sizeof(double));
}

tess_status tess_de_events_there_run(tess_de_events_there *there,
                                     const tess_stage_decode_events *args)
{
    const int64_t n = args->n_event * args->n_shuffle;
    tess_status status = TESS_OK;
    for (int64_t first = 0; status == TESS_OK && first < n;) {
        events_slab slab = {.there = there, .args = args, .first = first};
        tess_blocks blocks;
        tess_blocks_init(&blocks, &there->ctx->heap);
        status = run_slab(&slab, &blocks);
        tess_blocks_free(&blocks);
        first += slab.n;
    }
    return status;
}
