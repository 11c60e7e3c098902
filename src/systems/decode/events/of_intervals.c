// Events that were found elsewhere: a table of intervals, or the states of a result.
#include "systems/decode/events/events.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>
#include <stdio.h>

static tess_status check_keys(const tess_decode_intervals *intervals)
{
    for (int64_t i = 0; intervals->event && i < intervals->n; i++) {
        if (intervals->event[i] < 0 || intervals->event[i] > UINT32_MAX) {
            TESS_FAIL(TESS_E_RANGE,
                      "event[%lld] = %lld: row numbers of 0 to 4294967295 are expected",
                      (long long)i, (long long)intervals->event[i]);
        }
    }
    return TESS_OK;
}

// The rate's bins that an interval touches.
static void touched(const tess_de_rate *rate, const tess_decode_event *event, int64_t *first,
                    int64_t *end)
{
    const double low = floor((event->start - rate->begin) / rate->bin + 1e-6);
    const double high = ceil((event->end - rate->begin) / rate->bin - 1e-6);
    const double n = (double)rate->n;
    *first = (int64_t)(low > 0 ? (low < n ? low : n) : 0);
    *end = (int64_t)(high > 0 ? (high < n ? high : n) : 0);
}

// Whether an earlier row that is an interval at all shares time with row i. latest: the last end
// among them, so that a table in order of time is not searched.
static bool overlaps_earlier(const tess_decode_event *events, int64_t i, double latest)
{
    for (int64_t k = 0; k < i && events[i].start < latest; k++) {
        if (!(events[k].reason & TESS_DECODE_EVENT_EMPTY) && events[k].start < events[i].end &&
            events[i].start < events[k].end) {
            return true;
        }
    }
    return false;
}

static void test_interval(const tess_de_events_input *in, const tess_de_ordered *ordered,
                          const tess_de_rate *rate, tess_decode_event *events, int64_t i,
                          double *latest)
{
    static const double slack = 1e-9; // s
    tess_decode_event *event = &events[i];
    if (!(event->end > event->start) || !isfinite(event->start) || !isfinite(event->end)) {
        event->reason |= TESS_DECODE_EVENT_EMPTY;
        return;
    }
    event->duration = event->end - event->start;
    if (!(event->start >= rate->begin - slack && event->end <= rate->end + slack)) {
        event->reason |= TESS_DECODE_EVENT_OUTSIDE;
    }
    event->reason |= overlaps_earlier(events, i, *latest) ? TESS_DECODE_EVENT_OVERLAPS : 0;
    *latest = event->end > *latest ? event->end : *latest;
    int64_t first = 0;
    int64_t end = 0;
    touched(rate, event, &first, &end);
    tess_de_event_test(in, ordered, rate, first, end, event);
}

static tess_status take(tess_context *ctx, const tess_de_events_input *in, tess_blocks *blocks,
                        const tess_decode_intervals *intervals, tess_decode_events *events)
{
    const tess_de_spike_rules rules = {TESS_DECODE_NAN_ERROR, 0};
    tess_de_ordered *ordered = NULL;
    tess_de_rate rate;
    TESS_TRY(check_keys(intervals));
    TESS_TRY(tess_de_events_order(ctx, blocks, &in->spikes, &rules, &ordered));
    TESS_TRY(tess_de_rate_make(ctx, blocks, in, ordered, &rate));
    tess_de_events_note_rate(events, &rate);
    TESS_TRY(tess_de_event_table_resize(events, intervals->n));
    double latest = -(double)INFINITY;
    for (int64_t i = 0; i < intervals->n; i++) {
        tess_decode_event *event = &events->events[i];
        event->start = intervals->start[i];
        event->end = intervals->end[i];
        event->event = intervals->event ? intervals->event[i] : i;
        test_interval(in, ordered, &rate, events->events, i, &latest);
        if (intervals->reason) {
            event->reason = intervals->reason[i];
        }
    }
    return TESS_OK;
}

tess_status tess_de_events_take_intervals(tess_context *ctx, const tess_de_events_input *in,
                                          const tess_decode_intervals *intervals,
                                          const char *source, tess_decode_events **out)
{
    tess_decode_events *events = NULL;
    TESS_TRY(tess_de_event_table_create(ctx, source, &in->config, &events));
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = take(ctx, in, &blocks, intervals, events);
    tess_blocks_free(&blocks);
    if (status != TESS_OK) {
        tess_decode_events_destroy(events);
        return status;
    }
    *out = events;
    return TESS_OK;
}

tess_status tess_decode_events_of_intervals(tess_context *ctx, const tess_decode_spikes *spikes,
                                            const tess_decode_position *position,
                                            const tess_decode_intervals *intervals,
                                            const tess_decode_events_config *config,
                                            tess_decode_events **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_events_input in;
    tess_decode_intervals own;
    tess_decode_intervals_init(&own, sizeof own);
    TESS_TRY(tess_struct_read(intervals, &own, sizeof own, "intervals"));
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    return tess_de_events_take_intervals(ctx, &in, &own, "intervals", out);
}

// The runs of rows at or above the threshold; start and end NULL: only counted.
static int64_t find_runs(const double *time, const double *probability, int64_t n_time,
                         double threshold, double *start, double *end)
{
    int64_t n = 0;
    for (int64_t k = 0; k + 1 < n_time; k++) {
        if (!(probability[k] >= threshold)) {
            continue;
        }
        const int64_t first = k;
        while (k + 1 < n_time && probability[k] >= threshold) {
            k++;
        }
        if (start) {
            start[n] = time[first];
            end[n] = time[k];
        }
        n++;
    }
    return n;
}

tess_status tess_decode_events_of_states(tess_context *ctx, const tess_decode_spikes *spikes,
                                         const tess_decode_position *position, const double *time,
                                         const double *probability, int64_t n_time,
                                         const tess_decode_events_config *config,
                                         tess_decode_events **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_events_input in;
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    const double threshold = in.config.state_threshold;
    const int64_t n = find_runs(time, probability, n_time, threshold, NULL, NULL);
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    double *start = tess_blocks_alloc(&blocks, n, sizeof *start, "events");
    double *end = tess_blocks_alloc(&blocks, n, sizeof *end, "events");
    tess_status status = TESS_E_MEMORY;
    if (start && end) {
        tess_decode_intervals intervals;
        tess_decode_intervals_init(&intervals, sizeof intervals);
        find_runs(time, probability, n_time, threshold, start, end);
        intervals.n = n;
        intervals.start = start;
        intervals.end = end;
        status = tess_de_events_take_intervals(ctx, &in, &intervals, "states", out);
    }
    if (status == TESS_OK && n == 0) {
        snprintf((*out)->problem, sizeof(*out)->problem,
                 "the states never hold %g together, which state_threshold asks for", threshold);
    }
    tess_blocks_free(&blocks);
    return status;
}
