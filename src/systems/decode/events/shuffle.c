// How often chance does as well: shuffles of every scored event.
#include "systems/decode/events/shuffle.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/comm.h"

#include <string.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };
// Threads of a host that a GPU is worth here: 2 ms bins, 200 places.
static const double DEVICE_SPEED = 256;
_Static_assert((int)TESS_DECODE_SHUFFLE_UNITS == (int)TESS_EVENTS_UNITS, "the stage's kinds");

static tess_status check_kind(const tess_de_shuffle *t, int32_t kind)
{
    const bool is_sorted = t->model.unit_rows != NULL;
    const bool is_plane = t->model.track.n_route == 0;
    const char *name = tess_decode_shuffle_name(kind);
    if (is_sorted && kind == TESS_DECODE_SHUFFLE_MARKS) {
        TESS_FAIL(TESS_E_ARGUMENT, "shuffle %s: sorted spikes have no marks; take units", name);
    }
    if (!is_sorted && kind == TESS_DECODE_SHUFFLE_UNITS) {
        TESS_FAIL(TESS_E_ARGUMENT, "shuffle %s: clusterless spikes have no units; take marks",
                  name);
    }
    if (is_plane && (kind == TESS_DECODE_SHUFFLE_COLUMN || kind == TESS_DECODE_SHUFFLE_FIELD)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "shuffle %s: places of a plane have no order to be rotated in; take time or %s",
                  name, is_sorted ? "units" : "marks");
    }
    return TESS_OK;
}

static tess_status choose_kinds(tess_de_shuffle *t)
{
    tess_decode_events_info *info = &t->events->info;
    const bool is_sorted = t->model.unit_rows != NULL;
    int32_t bits = t->model.in->config.shuffles;
    if (bits == 0) {
        bits = 1 << TESS_DECODE_SHUFFLE_TIME;
        bits |= 1 << (is_sorted ? TESS_DECODE_SHUFFLE_UNITS : TESS_DECODE_SHUFFLE_MARKS);
        bits |= t->model.track.n_route == 0
                    ? 0
                    : 1 << TESS_DECODE_SHUFFLE_COLUMN | 1 << TESS_DECODE_SHUFFLE_FIELD;
    }
    if (bits < 0 || bits & 1 || bits >> (TESS_DECODE_N_SHUFFLE + 1)) {
        TESS_FAIL(TESS_E_ARGUMENT, "shuffles 0x%x: bits 1 to %d are kinds of shuffles",
                  (unsigned)bits, TESS_DECODE_N_SHUFFLE);
    }
    info->n_kind = 0;
    for (int32_t kind = 1; kind <= TESS_DECODE_N_SHUFFLE; kind++) {
        if (bits & 1 << kind) {
            TESS_TRY(check_kind(t, kind));
            info->kinds[info->n_kind++] = kind;
        }
    }
    return TESS_OK;
}

// This rank's shuffles of one kind of a batch: some at a time, so that a stop is noticed in
// between.
static tess_status run_share(tess_de_shuffle *t, const tess_de_events_batch *batch, int32_t k,
                             tess_blocks *scratch, double *scores)
{
    const int64_t n = t->n_shuffle;
    const int64_t most = tess_de_events_batch_shuffles(&t->model, t->events->events, batch->index,
                                                       batch->n_event, n);
    const int64_t n_event = batch->n_event;
    tess_stage_decode_events args = tess_de_events_stage(&t->model, batch);
    args.kind = t->events->info.kinds[k];
    args.scores =
        tess_blocks_alloc(scratch, n_event * most * N_SCORE, sizeof *args.scores, "shuffles");
    if (!args.scores) {
        return TESS_E_MEMORY;
    }
    const tess_comm_range own = tess_comm_share_of(t->model.ctx, n);
    const int64_t told = t->n_told;
    for (int64_t first = own.begin; first < own.end; first += most) {
        const int64_t count = own.end - first < most ? own.end - first : most;
        args.first_shuffle = first;
        args.n_shuffle = count;
        TESS_TRY(t->is_there ? tess_de_events_there_run(t->there, &args)
                             : tess_stage_run(t->model.device, TESS_STAGE_DECODE_EVENTS, &args,
                                              sizeof args));
        for (int64_t i = 0; i < n_event; i++) {
            memcpy(scores + (i * n + first) * N_SCORE, args.scores + i * count * N_SCORE,
                   (size_t)(count * N_SCORE) * sizeof *scores);
        }
        t->n_told = told + n_event * n * (first + count - own.begin) / (own.end - own.begin);
        tess_de_shuffle_keep(t);
        TESS_TRY(tess_watch_poll(&t->watch, t->n_told, t->n * t->events->info.n_kind * n));
    }
    return TESS_OK;
}

static tess_status run_stage(tess_de_shuffle *t, const tess_de_events_batch *batch, int32_t k,
                             tess_blocks *scratch, double *scores)
{
    const int64_t told = t->n_told + batch->n_event * t->n_shuffle;
    const tess_status status = run_share(t, batch, k, scratch, scores);
    t->n_told = told;
    return tess_de_shuffle_gather(t, batch->n_event, status, scores);
}

static tess_status shuffle_batch(tess_de_shuffle *t, const tess_de_events_batch *batch, int32_t k,
                                 tess_blocks *scratch)
{
    const int64_t n = t->n_shuffle;
    double *values = tess_blocks_alloc(scratch, n, sizeof *values, "shuffles");
    double *all = tess_blocks_alloc(scratch, batch->n_event * n * N_SCORE, sizeof *all, "shuffles");
    if (!values || !all) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(run_stage(t, batch, k, scratch, all));
    for (int64_t i = 0; i < batch->n_event; i++) {
        const int64_t row = k * t->n_event + batch->index[i];
        const double *scores = all + i * n * N_SCORE;
        for (int score = 0; score < N_SCORE; score++) {
            for (int64_t s = 0; s < n; s++) {
                values[s] = scores[s * N_SCORE + score];
                tess_de_spread_add(&t->spreads[k * N_SCORE + score], values[s]);
            }
            tess_de_shuffle_judge(t, row * N_SCORE + score, t->events->info.kinds[k], score,
                                  t->events->events[batch->index[i]].scores[score], values);
        }
        if (t->statistics) {
            memcpy(t->statistics + row * n * N_SCORE, scores,
                   (size_t)(n * N_SCORE) * sizeof *scores);
        }
    }
    return TESS_OK;
}

// To the device, if there is one and it can.
static tess_status bring_batch(tess_de_shuffle *t, const tess_de_events_batch *batch)
{
    t->is_there = false;
    if (!t->there) {
        return TESS_OK;
    }
    const tess_stage_decode_events args = tess_de_events_stage(&t->model, batch);
    return tess_de_events_there_bring(t->there, &args, batch->n_row, &t->is_there);
}

// The kinds that the batch is not done by yet.
static tess_status shuffle_kinds(tess_de_shuffle *t, const tess_de_events_batch *batch)
{
    TESS_TRY(bring_batch(t, batch));
    const int32_t n_kind = t->events->info.n_kind;
    for (int32_t k = 0; k < n_kind * N_SCORE; k++) {
        t->spreads[k] = (tess_de_spread){.most = t->events->spreads[k].most};
    }
    for (int32_t k = (int32_t)t->at.n_kind; k < n_kind; k++) {
        tess_blocks scratch;
        tess_blocks_init(&scratch, &t->model.ctx->heap);
        const tess_status status = shuffle_batch(t, batch, k, &scratch);
        tess_blocks_free(&scratch);
        TESS_TRY(status);
        tess_de_shuffle_join(t, k);
        t->at.n_kind = k + 1;
    }
    return TESS_OK;
}

static tess_status shuffle_all(tess_de_shuffle *t)
{
    const tess_decode_event *table = t->events->events;
    tess_de_shuffle_position *at = &t->at;
    t->n_told = tess_de_shuffle_done(t);
    tess_watch_begin(&t->watch, t->model.ctx, "decode.events.shuffle", "shuffles", t->n_told,
                     1ULL << 40, TESS_STRATEGY_STANDARD);
    while (at->n_event < t->n) {
        const int64_t *index = t->index + at->n_event;
        tess_de_events_batch batch;
        if (at->n_batch == 0) {
            const tess_status chosen = tess_de_events_batch_size(
                &t->model, table, index, t->n - at->n_event, t->n_shuffle, &at->n_batch);
            TESS_TRY(tess_de_shuffle_agree(t, chosen));
        }
        TESS_TRY(tess_de_events_batch_open(&t->model, table, index, at->n_batch, &batch));
        const tess_status status = shuffle_kinds(t, &batch);
        tess_de_events_batch_close(&batch);
        TESS_TRY(status);
        *at = (tess_de_shuffle_position){.n_event = at->n_event + at->n_batch};
    }
    return TESS_OK;
}

static tess_status shuffle_kept(tess_de_shuffle *t)
{
    TESS_TRY(tess_de_shuffle_open_work(t));
    TESS_TRY(shuffle_all(t));
    TESS_TRY(tess_de_shuffle_finish(t));
    tess_de_shuffle_end_work(t);
    return TESS_OK;
}

static tess_status shuffle(tess_de_shuffle *t)
{
    tess_decode_events_info *info = &t->events->info;
    TESS_TRY(choose_kinds(t));
    if (t->n_shuffle == 0) {
        info->n_kind = 0; // nothing to say of chance
        return TESS_OK;
    }
    TESS_TRY(tess_de_shuffle_alloc(t));
    const tess_de_hmm *hmm = t->model.states.model ? t->model.detector->hmm : NULL;
    TESS_TRY(tess_de_events_there_open(t->model.ctx, hmm, &t->there));
    t->model.speed = t->there ? DEVICE_SPEED : t->model.speed;
    const tess_status status = shuffle_kept(t);
    tess_de_shuffle_close_work(t);
    tess_de_events_there_close(t->there);
    TESS_TRY(status);
    info->n_shuffle = t->n_shuffle;
    info->seed = (uint64_t)t->model.in->config.seed;
    info->p = t->p;
    info->q = t->q;
    info->shuffle_median = t->median;
    info->shuffle_high = t->high;
    info->shares = t->shares;
    info->statistics = t->statistics;
    return TESS_OK;
}

tess_status tess_decode_events_shuffle(tess_context *ctx, tess_decode_events *events,
                                       const tess_decode_detector *detector,
                                       const tess_decode_spikes *spikes,
                                       const tess_decode_position *position,
                                       const tess_decode_events_config *config)
{
    tess_error_clear();
    tess_de_events_input in;
    tess_de_shuffle task = {.events = events, .n_event = events->info.n_event};
    const int64_t begin = tess_now_ns();
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    if (!events->info.posterior) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "the events have no scores yet: tess_decode_events_score() comes "
                  "first");
    }
    TESS_TRY(tess_de_events_model_open(ctx, &in, detector, &task.model));
    tess_blocks_free(&events->tested);
    events->info.n_kind = 0;
    events->config = in.config;
    task.n_shuffle = in.config.n_shuffle;
    tess_status status = TESS_OK;
    if (task.model.width != events->info.event_bin || in.config.decoder != events->info.decoder) {
        status = tess_error_set(TESS_E_ARGUMENT,
                                "event_bin %g s and decoder: the events were scored with %g s and "
                                "decoder %s; score them again",
                                task.model.width, events->info.event_bin,
                                events->info.decoder ? "states" : "memoryless");
    } else {
        status = shuffle(&task);
    }
    tess_de_events_model_close(&task.model);
    events->info.elapsed_s += 1e-9 * (double)(tess_now_ns() - begin);
    return status;
}
