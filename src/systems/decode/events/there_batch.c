#include "systems/decode/events/there.h"

#include "base/line_windows.h"
#include "base/status.h"
#include "runtime/upload.h"

#include <string.h>

static const char WHAT[] = "events of a device";

// What goes up, as the host has it.
typedef struct batch_lists {
    const tess_stage_decode_events *args;
    tess_blocks *blocks; // of this call
    tess_events_item *items;
    int64_t *bin_first;
    int32_t *bin_spike;
    int32_t *electrode;
    int64_t *row;
    int32_t *counted_time;
    uint8_t *is_counted;
    tess_events_way *ways;
    tess_events_windows *windows; // [n_length][n_route]
    int64_t *n_class;             // likewise
    int64_t *length;              // [n_length] time bins
    int64_t n_length;             // different ones
    int64_t n_spike;
    int64_t n_row;
} batch_lists;

static int64_t steps_of(int64_t n_time)
{
    return n_time > 1 ? n_time - 1 : 1;
}

static tess_line_route line_route(const tess_events_track *track, int64_t r)
{
    const tess_events_route *route = &track->routes[r];
    return (tess_line_route){route->n_bin, route->u, route->length, route->step, track->band};
}

// The classes of windows of lines over n_time bins.
static tess_status make_windows(batch_lists *lists, const tess_line_route *way, int64_t n_time,
                                tess_events_windows *out, int64_t *n_class)
{
    const tess_stage_decode_events *a = lists->args;
    const int64_t n_step = steps_of(n_time);
    const int64_t n_point = tess_line_points(way);
    int32_t *class_of = tess_blocks_alloc(lists->blocks, n_step, sizeof *class_of, WHAT);
    int32_t *n_on = tess_blocks_alloc(lists->blocks, n_step, sizeof *n_on, WHAT);
    int32_t *low = tess_blocks_alloc(lists->blocks, 2 * n_point, sizeof *low, WHAT);
    uint32_t *window = NULL;
    int64_t n_room = 0;
    if (!class_of || !n_on || !low) {
        return TESS_E_MEMORY;
    }
    *n_class = 0;
    for (int64_t j = 0; j < n_step; j++) {
        const int64_t c = *n_class;
        if (c == n_room) { // few as a rule; what was outgrown goes with the rest
            uint32_t *more =
                tess_blocks_alloc(lists->blocks, (2 * n_room + 4) * n_point, sizeof *more, WHAT);
            if (!more) {
                return TESS_E_MEMORY;
            }
            if (c > 0) {
                memcpy(more, window, (size_t)(c * n_point) * sizeof *more);
            }
            window = more;
            n_room = 2 * n_room + 4;
        }
        uint32_t *mine = window + c * n_point;
        n_on[c] = tess_line_windows(way, (double)j / (double)n_step, n_point, low, low + n_point);
        for (int64_t m = 0; m < n_point; m++) {
            mine[m] = (uint32_t)low[m] | (uint32_t)low[n_point + m] << 16;
        }
        *n_class += c == 0 || n_on[c] != n_on[c - 1] ||
                    memcmp(mine, mine - n_point, (size_t)n_point * sizeof *mine) != 0;
        class_of[j] = (int32_t)(*n_class - 1);
    }
    *out = (tess_events_windows){
        .n_point = n_point,
        .most_slope = tess_line_most_slope(way, n_time, a->bin_s, a->track->max_velocity),
        .class_of = class_of,
        .n_on = n_on,
        .window = window};
    return TESS_OK;
}

// The windows of an event: those of another of its length, or new ones.
static tess_status find_windows(batch_lists *lists, int64_t i)
{
    const tess_events_track *track = lists->args->track;
    tess_events_item *item = &lists->items[i];
    for (int64_t k = 0; k < i; k++) {
        if (lists->items[k].n_time == item->n_time) {
            item->windows = lists->items[k].windows;
            return TESS_OK;
        }
    }
    item->windows = lists->n_length * track->n_route;
    lists->length[lists->n_length++] = item->n_time;
    for (int64_t r = 0; r < track->n_route; r++) {
        const tess_line_route way = line_route(track, r);
        TESS_TRY(make_windows(lists, &way, item->n_time, &lists->windows[item->windows + r],
                              &lists->n_class[item->windows + r]));
    }
    return TESS_OK;
}

static tess_status make_ways(batch_lists *lists, tess_de_events_sent *sent)
{
    const tess_events_track *track = lists->args->track;
    for (int64_t r = 0; r < track->n_route; r++) {
        const tess_line_route way = line_route(track, r);
        int32_t *low = tess_blocks_alloc(lists->blocks, 2 * way.n_bin, sizeof *low, WHAT);
        uint32_t *window = tess_blocks_alloc(lists->blocks, way.n_bin, sizeof *window, WHAT);
        if (!low || !window) {
            return TESS_E_MEMORY;
        }
        tess_line_bin_windows(&way, low, low + way.n_bin);
        for (int64_t q = 0; q < way.n_bin; q++) {
            window[q] = (uint32_t)low[q] | (uint32_t)low[way.n_bin + q] << 16;
        }
        lists->ways[r] = (tess_events_way){.n_bin = way.n_bin,
                                           .bin = track->routes[r].bin,
                                           .u = way.u,
                                           .bin_window = window,
                                           .length = way.length,
                                           .last = tess_line_last(&way)};
        sent->most_bins = way.n_bin > sent->most_bins ? way.n_bin : sent->most_bins;
    }
    return TESS_OK;
}

// An event's spikes by time bin, as its list has them, and the bins that have some.
static void list_event(batch_lists *lists, const tess_events_event *event, tess_events_item *item)
{
    int64_t *first = lists->bin_first + event->first_time;
    for (int64_t s = 0; s < event->n_spike; s++) {
        first[event->bin[s] + 1]++;
        lists->electrode[item->first_spike + s] = event->electrode[s];
        lists->row[item->first_spike + s] = event->row[s];
    }
    for (int64_t t = 0; t < event->n_time; t++) {
        lists->is_counted[event->first_time + t] = first[t + 1] > 0;
        if (first[t + 1] > 0) {
            lists->counted_time[event->first_time + item->n_counted++] = (int32_t)t;
        }
        first[t + 1] += first[t];
    }
    for (int64_t s = event->n_spike - 1; s >= 0; s--) { // from the last on: first[] moves back
        lists->bin_spike[--first[event->bin[s] + 1]] = (int32_t)(item->first_spike + s);
    }
    for (int64_t t = 0; t < event->n_time; t++) {
        first[t] = first[t + 1]; // where the bin's spikes begin is where they ended up
    }
    first[event->n_time] = item->first_spike + event->n_spike;
}

static tess_status alloc_lists(batch_lists *lists, const tess_de_events_sent *sent)
{
    const int64_t n_event = lists->args->n_event;
    const int64_t n_route = lists->args->track->n_route;
    tess_blocks *blocks = lists->blocks;
    lists->bin_first = tess_blocks_alloc(blocks, sent->n_time + 1, sizeof *lists->bin_first, WHAT);
    lists->bin_spike = tess_blocks_alloc(blocks, lists->n_spike, sizeof *lists->bin_spike, WHAT);
    lists->electrode = tess_blocks_alloc(blocks, lists->n_spike, sizeof *lists->electrode, WHAT);
    lists->row = tess_blocks_alloc(blocks, lists->n_spike, sizeof *lists->row, WHAT);
    lists->counted_time =
        tess_blocks_alloc(blocks, sent->n_time, sizeof *lists->counted_time, WHAT);
    lists->is_counted = tess_blocks_alloc(blocks, sent->n_time, 1, WHAT);
    lists->ways = tess_blocks_alloc(blocks, n_route, sizeof *lists->ways, WHAT);
    lists->windows = tess_blocks_alloc(blocks, n_event * n_route, sizeof *lists->windows, WHAT);
    lists->n_class = tess_blocks_alloc(blocks, n_event * n_route, sizeof *lists->n_class, WHAT);
    lists->length = tess_blocks_alloc(blocks, n_event, sizeof *lists->length, WHAT);
    return lists->bin_first && lists->bin_spike && lists->electrode && lists->row &&
                   lists->counted_time && lists->is_counted && lists->ways && lists->windows &&
                   lists->n_class && lists->length
               ? TESS_OK
               : TESS_E_MEMORY;
}

// Events follow each other in time and spikes.
static tess_status make_lists(batch_lists *lists, tess_de_events_sent *sent)
{
    const tess_stage_decode_events *a = lists->args;
    lists->items = tess_blocks_alloc(&sent->blocks, a->n_event, sizeof *lists->items, WHAT);
    if (!lists->items) {
        return TESS_E_MEMORY;
    }
    sent->host_items = lists->items;
    sent->n_event = a->n_event;
    sent->most_draw = a->n_electrode;
    for (int64_t i = 0; i < a->n_event; i++) {
        const tess_events_event *event = &a->events[i];
        TESS_ASSERT(event->first_time == sent->n_time && event->n_spike <= INT32_MAX);
        lists->items[i] = (tess_events_item){.key = event->key,
                                             .n_time = event->n_time,
                                             .first_time = event->first_time,
                                             .first_spike = lists->n_spike,
                                             .n_spike = (int32_t)event->n_spike};
        const int64_t n_draw = event->n_spike > event->n_time ? event->n_spike : event->n_time;
        sent->most_draw = n_draw > sent->most_draw ? n_draw : sent->most_draw;
        sent->most_time = event->n_time > sent->most_time ? event->n_time : sent->most_time;
        sent->n_time += event->n_time;
        lists->n_spike += event->n_spike;
    }
    TESS_TRY(alloc_lists(lists, sent));
    for (int64_t i = 0; i < a->n_event; i++) {
        list_event(lists, &a->events[i], &lists->items[i]);
        TESS_TRY(find_windows(lists, i));
    }
    return make_ways(lists, sent);
}

// Everything whose place others name, then those.
static void add_windows(tess_upload *up, const batch_lists *lists, tess_events_windows *there,
                        tess_events_way *ways, tess_de_events_sent *sent)
{
    const int64_t n_route = lists->args->track->n_route;
    const int64_t n = lists->n_length * n_route;
    for (int64_t k = 0; k < n; k++) {
        const tess_events_windows *from = &lists->windows[k];
        const int64_t n_step = steps_of(lists->length[k / n_route]);
        there[k] = *from;
        there[k].class_of = tess_upload_add(up, from->class_of, n_step, sizeof *from->class_of);
        there[k].n_on = tess_upload_add(up, from->n_on, lists->n_class[k], sizeof *from->n_on);
        there[k].window = tess_upload_add(up, from->window, lists->n_class[k] * from->n_point,
                                          sizeof *from->window);
    }
    for (int64_t r = 0; r < n_route; r++) {
        const tess_events_way *from = &lists->ways[r];
        ways[r] = *from;
        ways[r].bin = tess_upload_add(up, from->bin, from->n_bin, sizeof *from->bin);
        ways[r].u = tess_upload_add(up, from->u, from->n_bin, sizeof *from->u);
        ways[r].bin_window =
            tess_upload_add(up, from->bin_window, from->n_bin, sizeof *from->bin_window);
    }
    sent->windows = tess_upload_add(up, there, n, sizeof *there);
    sent->ways = tess_upload_add(up, ways, n_route, sizeof *ways);
}

static void add_states(tess_upload *up, const tess_events_states *states, int64_t n_time,
                       tess_de_events_sent *sent)
{
    const tess_hmm_model *m = states->model;
    const int64_t n_pair = (int64_t)m->n_state * m->n_state;
    const size_t item = sizeof(double);
    sent->added = tess_upload_add(up, states->added, n_time * m->n_ll, item);
    sent->transition = tess_upload_add(
        up, states->transition, states->transition_stride > 0 ? n_time * n_pair : n_pair, item);
    sent->initial = tess_upload_add(up, states->initial, m->n_bin, item);
}

static void add_all(tess_upload *up, const batch_lists *lists, tess_events_windows *windows,
                    tess_events_way *ways, tess_de_events_sent *sent)
{
    const tess_stage_decode_events *a = lists->args;
    const tess_events_track *track = a->track;
    const int64_t n_place = track->n_place;
    const int64_t n_spike = lists->n_spike;
    const size_t item = sizeof(double);
    sent->items = tess_upload_add(up, lists->items, a->n_event, sizeof *lists->items);
    sent->bin_first =
        tess_upload_add(up, lists->bin_first, sent->n_time + 1, sizeof *lists->bin_first);
    sent->bin_spike = tess_upload_add(up, lists->bin_spike, n_spike, sizeof *lists->bin_spike);
    sent->spike_electrode =
        tess_upload_add(up, lists->electrode, n_spike, sizeof *lists->electrode);
    sent->spike_row = tess_upload_add(up, lists->row, n_spike, sizeof *lists->row);
    sent->counted_time =
        tess_upload_add(up, lists->counted_time, sent->n_time, sizeof *lists->counted_time);
    sent->is_counted = tess_upload_add(up, lists->is_counted, sent->n_time, 1);
    sent->rows = tess_upload_add(up, a->rows, lists->n_row * n_place, item);
    sent->summed = tess_upload_add(up, a->summed, n_place, item);
    sent->ground = tess_upload_add(up, a->ground, a->n_electrode * n_place, item);
    sent->centre = tess_upload_add(up, track->centre, n_place, item);
    sent->distance = tess_upload_add(up, track->distance, n_place * n_place, item);
    sent->own = tess_upload_room(up, sent->n_time * n_place, item);
    if (a->states) {
        add_states(up, a->states, sent->n_time, sent);
    }
    add_windows(up, lists, windows, ways, sent);
}

static tess_status send_lists(const batch_lists *lists, tess_device *device,
                              tess_de_events_sent *sent)
{
    const int64_t n_route = lists->args->track->n_route;
    tess_events_windows *windows =
        tess_blocks_alloc(lists->blocks, lists->n_length * n_route, sizeof *windows, WHAT);
    tess_events_way *ways = tess_blocks_alloc(lists->blocks, n_route, sizeof *ways, WHAT);
    if (!windows || !ways) {
        return TESS_E_MEMORY;
    }
    tess_upload up = {.into = &sent->arrays};
    for (int round = 0; round < 2; round++) {
        add_all(&up, lists, windows, ways, sent);
        if (round == 0) {
            TESS_TRY(tess_upload_begin(&up, device));
        }
    }
    return tess_upload_end(&up);
}

tess_status tess_de_events_send(tess_context *ctx, tess_device *device,
                                const tess_stage_decode_events *args, int64_t n_row,
                                tess_de_events_sent *sent)
{
    *sent = (tess_de_events_sent){0};
    tess_blocks_init(&sent->blocks, &ctx->heap);
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    batch_lists lists = {.args = args, .blocks = &scratch, .n_row = n_row};
    tess_status status = make_lists(&lists, sent);
    if (status == TESS_OK) {
        status = send_lists(&lists, device, sent);
    }
    tess_blocks_free(&scratch);
    return status;
}

void tess_de_events_sent_free(tess_de_events_sent *sent)
{
    tess_resident_free(&sent->arrays);
    tess_blocks_free(&sent->blocks);
}
