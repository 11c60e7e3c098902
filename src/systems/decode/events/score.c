// Events decoded and scored.
#include "systems/decode/events/model.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/watch.h"

#include <math.h>
#include <stdio.h>

_Static_assert((int)TESS_DECODE_EVENT_N_SCORE == (int)TESS_EVENTS_N_SCORE, "the stage's scores");

typedef struct score_task {
    tess_de_events_model model;
    tess_decode_events *events;
    int64_t *index; // [n_scored]
    int64_t n;
    double *posterior;
    double *state_rows;
    uint8_t *counted;
    int64_t *row_event;
    double *row_time;
} score_task;

// Where the rows of each event go.
static tess_status lay_out(score_task *t)
{
    tess_decode_events *events = t->events;
    tess_blocks *blocks = &events->scored;
    const double width = t->model.width;
    int64_t n_row = 0;
    t->index = tess_blocks_alloc(blocks, events->info.n_event, sizeof *t->index, "events");
    if (!t->index) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < events->info.n_event; i++) {
        tess_decode_event *event = &events->events[i];
        event->first_row = -1;
        if (event->reason & TESS_DE_EVENT_DROPS) {
            continue;
        }
        event->n_bin = tess_de_event_bins(event->start, event->end, width);
        if (event->n_bin > INT32_MAX) {
            TESS_FAIL(TESS_E_RANGE, "event %lld has %lld bins of %g s; give it a max_duration",
                      (long long)event->event, (long long)event->n_bin, width);
        }
        if (event->n_bin == 0) {
            event->n_counted = 0;
            event->reason |= TESS_DECODE_EVENT_FEW_BINS;
            continue;
        }
        event->first_row = n_row;
        n_row += event->n_bin;
        t->index[t->n++] = i;
    }
    events->info.n_row = n_row;
    return TESS_OK;
}

static tess_status alloc_rows(score_task *t)
{
    tess_decode_events_info *info = &t->events->info;
    tess_blocks *blocks = &t->events->scored;
    const double bytes = 8 * (double)info->n_row * (double)(info->n_place + info->n_state + 3);
    const tess_context *ctx = t->model.ctx;
    if (bytes > 0.5 * (double)ctx->memory_limit_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "the posteriors of %lld events take %.0f MiB, and the memory limit is %llu MiB; "
                  "the smallest limit that works is about %.0f MiB",
                  (long long)t->n, bytes / 1048576,
                  (unsigned long long)(ctx->memory_limit_bytes >> 20), 2 * bytes / 1048576 + 1);
    }
    t->posterior =
        tess_blocks_alloc(blocks, info->n_row * info->n_place, sizeof(double), "posteriors");
    t->state_rows =
        tess_blocks_alloc(blocks, info->n_row * info->n_state, sizeof(double), "states");
    t->counted = tess_blocks_alloc(blocks, info->n_row, 1, "counted bins");
    t->row_event = tess_blocks_alloc(blocks, info->n_row, sizeof *t->row_event, "rows");
    t->row_time = tess_blocks_alloc(blocks, info->n_row, sizeof *t->row_time, "rows");
    return t->posterior && t->state_rows && t->counted && t->row_event && t->row_time
               ? TESS_OK
               : TESS_E_MEMORY;
}

// How the states divide an event's time.
static void sum_states(const score_task *t, tess_decode_event *event)
{
    const int64_t n_state = t->events->info.n_state;
    for (int64_t s = 0; s < n_state; s++) {
        event->state_time[s] = 0;
        event->state_probability[s] = 0;
    }
    for (int64_t k = 0; k < event->n_bin; k++) {
        const double *row = t->state_rows + (event->first_row + k) * n_state;
        int64_t best = 0;
        for (int64_t s = 0; s < n_state; s++) {
            best = row[s] > row[best] ? s : best;
            event->state_probability[s] += row[s] / (double)event->n_bin;
        }
        event->state_time[best] += 1 / (double)event->n_bin;
    }
}

// What the stage found, into the table.
static void note_event(const score_task *t, tess_decode_event *event, const double *scores,
                       const tess_events_line *line, const int32_t *ends)
{
    const tess_de_events_model *m = &t->model;
    for (int k = 0; k < TESS_DECODE_EVENT_N_SCORE; k++) {
        event->scores[k] = scores[k];
    }
    const double correlation = scores[TESS_EVENTS_CORRELATION];
    event->direction = (correlation > 0) - (correlation < 0);
    event->start_bin = ends[0];
    event->end_bin = ends[1];
    event->line_route = (int32_t)line->route;
    if (line->route >= 0) {
        const double step = m->track.routes[line->route].step;
        event->line_intercept = step * (double)line->offset;
        event->line_velocity =
            event->n_bin > 1 ? (double)line->slope * step / ((double)(event->n_bin - 1) * m->width)
                             : (double)NAN;
    }
    if (event->n_counted < m->in->config.min_bins) {
        event->reason |= TESS_DECODE_EVENT_FEW_BINS;
    }
    if (t->events->info.n_state > 0) {
        sum_states(t, event);
    }
}

static tess_status score_batch(score_task *t, const tess_de_events_batch *batch,
                               tess_blocks *scratch)
{
    tess_decode_events_info *info = &t->events->info;
    const int64_t n = batch->n_event;
    const int64_t first = t->events->events[batch->index[0]].first_row;
    tess_stage_decode_events args = tess_de_events_stage(&t->model, batch);
    args.kind = TESS_EVENTS_AS_THEY_ARE;
    args.scores =
        tess_blocks_alloc(scratch, n * TESS_EVENTS_N_SCORE, sizeof *args.scores, "scores");
    args.n_counted = tess_blocks_alloc(scratch, n, sizeof *args.n_counted, "counted bins");
    args.lines = tess_blocks_alloc(scratch, n, sizeof *args.lines, "lines");
    args.ends = tess_blocks_alloc(scratch, 2 * n, sizeof *args.ends, "places");
    args.log_evidence = tess_blocks_alloc(scratch, n, sizeof *args.log_evidence, "evidence");
    args.jump_evidence = tess_blocks_alloc(scratch, n, sizeof *args.jump_evidence, "evidence");
    if (!args.scores || !args.n_counted || !args.lines || !args.ends || !args.log_evidence ||
        !args.jump_evidence) {
        return TESS_E_MEMORY;
    }
    args.posterior = t->posterior + first * info->n_place;
    args.counted = t->counted + first;
    args.state_rows = info->n_state > 0 ? t->state_rows + first * info->n_state : NULL;
    TESS_TRY(tess_stage_run(t->model.device, TESS_STAGE_DECODE_EVENTS, &args, sizeof args));
    for (int64_t i = 0; i < n; i++) {
        tess_decode_event *event = &t->events->events[batch->index[i]];
        event->n_counted = args.n_counted[i];
        event->log_evidence = args.log_evidence[i];
        event->evidence_gain =
            (args.log_evidence[i] - args.jump_evidence[i]) / (double)event->n_bin;
        note_event(t, event, args.scores + i * TESS_EVENTS_N_SCORE, &args.lines[i],
                   args.ends + 2 * i);
        info->n_scored += !(event->reason & TESS_DE_EVENT_DROPS);
        for (int64_t k = 0; k < event->n_bin; k++) {
            t->row_event[event->first_row + k] = batch->index[i];
            t->row_time[event->first_row + k] = event->start + (double)k * t->model.width;
        }
    }
    return TESS_OK;
}

static tess_status score_all(score_task *t)
{
    const tess_decode_event *table = t->events->events;
    tess_watch watch;
    tess_watch_begin(&watch, t->model.ctx, "decode.events.score", "events", 0, 1ULL << 40,
                     TESS_STRATEGY_STANDARD);
    for (int64_t done = 0; done < t->n;) {
        int64_t count = 0;
        tess_de_events_batch batch;
        tess_blocks scratch;
        TESS_TRY(
            tess_de_events_batch_size(&t->model, table, t->index + done, t->n - done, 1, &count));
        TESS_TRY(tess_de_events_batch_open(&t->model, table, t->index + done, count, &batch));
        tess_blocks_init(&scratch, &t->model.ctx->heap);
        const tess_status status = score_batch(t, &batch, &scratch);
        tess_blocks_free(&scratch);
        tess_de_events_batch_close(&batch);
        TESS_TRY(status);
        done += count;
        TESS_TRY(tess_watch_poll(&watch, done, t->n));
    }
    return TESS_OK;
}

// What an earlier call left is gone.
static void forget(tess_decode_events *events)
{
    tess_decode_events_info *info = &events->info;
    tess_blocks_free(&events->scored);
    tess_blocks_free(&events->tested);
    info->n_scored = 0;
    info->n_row = 0;
    info->n_kind = 0;
    info->posterior = NULL;
    info->state_rows = NULL;
    info->is_counted = NULL;
    info->row_event = NULL;
    info->row_time = NULL;
    info->p = NULL;
    info->q = NULL;
    info->shares = NULL;
    info->statistics = NULL;
    events->identity[0] = 0;
    for (int64_t i = 0; i < info->n_event; i++) {
        events->events[i].reason &= ~TESS_DECODE_EVENT_FEW_BINS;
    }
}

static tess_status score(score_task *t)
{
    tess_decode_events *events = t->events;
    tess_decode_events_info *info = &events->info;
    const tess_decode_detector *d = t->model.detector;
    info->decoder = t->model.in->config.decoder;
    info->n_place = t->model.track.n_place;
    info->n_route = t->model.track.n_route;
    info->n_state = t->model.states.model ? d->info.n_state : 0;
    info->state_names = d->info.state_names;
    info->event_bin = t->model.width;
    info->bin_scale = t->model.scale;
    events->env = t->model.env;
    TESS_TRY(lay_out(t));
    TESS_TRY(alloc_rows(t));
    TESS_TRY(score_all(t));
    info->posterior = t->posterior;
    info->state_rows = t->state_rows;
    info->is_counted = t->counted;
    info->row_event = t->row_event;
    info->row_time = t->row_time;
    return TESS_OK;
}

// What the scores are of, for the provenance of the table.
static void note_inputs(tess_decode_events *events, const tess_de_events_input *in,
                        const tess_decode_detector *detector)
{
    tess_de_fingerprint found;
    char model[33], spikes[33], position[33], design[33];
    tess_de_events_fingerprint(in, detector, &found);
    tess_hash_text(found.model, model);
    tess_hash_text(found.spikes, spikes);
    tess_hash_text(found.position, position);
    tess_hash_text(found.design, design);
    const bool has_design = found.n_time > 0;
    snprintf(events->hashes, sizeof events->hashes,
             "{\"model\": \"%s\", \"spikes\": \"%s\", \"position\": \"%s\"%s%s%s}", model, spikes,
             position, has_design ? ", \"design\": \"" : "", has_design ? design : "",
             has_design ? "\"" : "");
}

tess_status tess_decode_events_score(tess_context *ctx, tess_decode_events *events,
                                     const tess_decode_detector *detector,
                                     const tess_decode_spikes *spikes,
                                     const tess_decode_position *position,
                                     const tess_decode_events_config *config)
{
    tess_error_clear();
    tess_de_events_input in;
    score_task task = {.events = events};
    const int64_t begin = tess_now_ns();
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    TESS_TRY(tess_de_events_model_open(ctx, &in, detector, &task.model));
    forget(events);
    events->config = in.config;
    note_inputs(events, &in, detector);
    const tess_status status = score(&task);
    tess_de_events_model_close(&task.model);
    events->info.elapsed_s = 1e-9 * (double)(tess_now_ns() - begin);
    return status;
}
