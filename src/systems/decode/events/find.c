// Candidate events by the multi-unit rate, and the tests that every event has to pass.
#include "systems/decode/events/events.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

// Bins first..end-1.
typedef struct run {
    int64_t first;
    int64_t end;
    int64_t n_part;
} run;

// The next stretch of bins above the threshold or above the mean that has one of the former, from
// bin *at on.
static bool next_run(const tess_de_rate *rate, double threshold, int64_t *at, run *out)
{
    while (*at < rate->n) {
        const int64_t first = *at;
        bool is_event = false;
        while (*at < rate->n && (rate->z[*at] > 0 || rate->z[*at] > threshold)) {
            is_event |= rate->z[(*at)++] > threshold;
        }
        if (is_event) {
            *out = (run){first, *at, 1};
            return true;
        }
        *at += *at == first;
    }
    return false;
}

// All events, joined where they are close; runs NULL: only counted.
static int64_t find_runs(const tess_de_rate *rate, const tess_decode_events_config *config,
                         run *runs)
{
    const double join = config->join / rate->bin - 1e-6;
    run last = {0, 0, 0};
    int64_t n = 0;
    int64_t at = 0;
    run next;
    while (next_run(rate, config->threshold_z, &at, &next)) {
        if (last.n_part > 0 && (double)(next.first - last.end) < join) {
            last = (run){last.first, next.end, last.n_part + 1};
        } else {
            last = next;
            n++;
        }
        if (runs) {
            runs[n - 1] = last;
        }
    }
    return n;
}

// Spikes, and the electrodes they are on.
static void count_spikes(const tess_de_events_input *in, const tess_de_ordered *ordered,
                         tess_decode_event *event)
{
    event->n_spike = 0;
    event->n_electrode = 0;
    for (int64_t e = 0; e < in->spikes.n_electrode; e++) {
        const tess_de_ordered *o = &ordered[e];
        const int64_t n = tess_de_first_from(o->time, o->n, event->end) -
                          tess_de_first_from(o->time, o->n, event->start);
        event->n_spike += n > 0 ? n : 0;
        event->n_electrode += n > 0;
    }
}

// Time bins of the memoryless decoder that have a spike.
static int64_t count_bins(const tess_de_events_input *in, const tess_de_ordered *ordered,
                          const tess_decode_event *event, double width)
{
    int64_t n = 0;
    for (int64_t t = 0; t < event->n_bin; t++) {
        bool is_silent = true;
        for (int64_t e = 0; e < in->spikes.n_electrode && is_silent; e++) {
            const tess_de_ordered *o = &ordered[e];
            // The first spike that may be in this bin; the rule itself decides.
            int64_t i = tess_de_first_from(o->time, o->n, event->start + ((double)t - 0.5) * width);
            while (i < o->n && tess_de_event_bin(event->start, width, o->time[i]) < t) {
                i++;
            }
            is_silent = i >= o->n || tess_de_event_bin(event->start, width, o->time[i]) != t;
        }
        n += !is_silent;
    }
    return n;
}

void tess_de_event_test(const tess_de_events_input *in, const tess_de_ordered *ordered,
                        const tess_de_rate *rate, int64_t first, int64_t end,
                        tess_decode_event *event)
{
    const tess_decode_events_config *c = &in->config;
    const double duration = (event->end - event->start) / rate->bin;
    count_spikes(in, ordered, event);
    event->max_speed = tess_de_rate_max_speed(rate, first, end);
    bool is_moving = false;
    for (int64_t i = first; i < end; i++) {
        is_moving |= !rate->still[i];
        if (!(event->peak_z >= rate->z[i])) {
            event->peak_z = rate->z[i];
        }
    }
    event->reason |=
        floor(duration + 1e-6) < c->min_duration / rate->bin - 1e-6 ? TESS_DECODE_EVENT_SHORT : 0;
    event->reason |=
        ceil(duration - 1e-6) > c->max_duration / rate->bin + 1e-6 ? TESS_DECODE_EVENT_LONG : 0;
    event->reason |= event->n_spike < c->min_spikes ? TESS_DECODE_EVENT_FEW_SPIKES : 0;
    event->reason |= event->n_electrode < c->min_electrodes ? TESS_DECODE_EVENT_FEW_ELECTRODES : 0;
    event->reason |= is_moving ? TESS_DECODE_EVENT_MOVING : 0;
    if ((event->reason & TESS_DE_EVENT_DROPS) || c->decoder != TESS_DECODE_EVENT_MEMORYLESS) {
        return;
    }
    const double width = tess_de_event_width(c, 0);
    event->n_bin = tess_de_event_bins(event->start, event->end, width);
    event->n_counted = count_bins(in, ordered, event, width);
    event->reason |= event->n_counted < c->min_bins ? TESS_DECODE_EVENT_FEW_BINS : 0;
}

void tess_de_events_note_rate(tess_decode_events *events, const tess_de_rate *rate)
{
    tess_decode_events_info *info = &events->info;
    info->begin = rate->begin;
    info->end = rate->end;
    info->rate_mean = rate->mean;
    info->rate_sd = rate->sd;
    info->n_rate_bin = rate->n;
    info->n_still_bin = rate->n_still;
}

static double largest(const double *z, int64_t n)
{
    double most = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, z[i]);
    }
    return most;
}

// Why there is no event, where there is none.
static void say_problem(tess_decode_events *events, const tess_de_rate *rate,
                        const tess_decode_events_config *config)
{
    char *text = events->problem;
    const size_t room = sizeof events->problem;
    if (rate->n == 0) {
        snprintf(text, room, "the recording is shorter than one bin of %g s", rate->bin);
    } else if (rate->n_still == 0) {
        snprintf(text, room,
                 "the animal is never slower than %g cm/s: no still bins to compare with",
                 config->max_speed);
    } else if (!(rate->sd > 0)) {
        snprintf(text, room, "the multi-unit rate of still bins does not vary: it is always %g/s",
                 rate->mean);
    } else if (events->info.n_event == 0) {
        snprintf(text, room,
                 "the multi-unit rate reaches at most %.3g standard deviations above its mean, and "
                 "threshold_z is %g",
                 largest(rate->z, rate->n), config->threshold_z);
    }
}

static tess_status fill_table(const tess_de_events_input *in, const tess_de_ordered *ordered,
                              const tess_de_rate *rate, tess_blocks *blocks,
                              tess_decode_events *events)
{
    const int64_t n = find_runs(rate, &in->config, NULL);
    run *runs = tess_blocks_alloc(blocks, n, sizeof *runs, "events");
    if (!runs) {
        return TESS_E_MEMORY;
    }
    find_runs(rate, &in->config, runs);
    TESS_TRY(tess_de_event_table_resize(events, n));
    for (int64_t i = 0; i < n; i++) {
        tess_decode_event *event = &events->events[i];
        event->start = rate->begin + (double)runs[i].first * rate->bin;
        event->end = rate->begin + (double)runs[i].end * rate->bin;
        event->duration = event->end - event->start;
        event->n_part = runs[i].n_part;
        tess_de_event_test(in, ordered, rate, runs[i].first, runs[i].end, event);
    }
    return TESS_OK;
}

static tess_status find(tess_context *ctx, const tess_de_events_input *in, tess_blocks *blocks,
                        tess_decode_events *events)
{
    const tess_de_spike_rules rules = {TESS_DECODE_NAN_ERROR, 0};
    tess_de_ordered *ordered = NULL;
    tess_de_rate rate;
    TESS_TRY(tess_de_events_order(ctx, blocks, &in->spikes, &rules, &ordered));
    TESS_TRY(tess_de_rate_make(ctx, blocks, in, ordered, &rate));
    tess_de_events_note_rate(events, &rate);
    TESS_TRY(fill_table(in, ordered, &rate, blocks, events));
    say_problem(events, &rate, &in->config);
    return TESS_OK;
}

tess_status tess_decode_events_find(tess_context *ctx, const tess_decode_spikes *spikes,
                                    const tess_decode_position *position,
                                    const tess_decode_events_config *config,
                                    tess_decode_events **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_events_input in;
    tess_decode_events *events = NULL;
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    TESS_TRY(tess_de_event_table_create(ctx, "multi-unit rate", &in.config, &events));
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = find(ctx, &in, &blocks, events);
    tess_blocks_free(&blocks);
    if (status != TESS_OK) {
        tess_decode_events_destroy(events);
        return status;
    }
    *out = events;
    return TESS_OK;
}
