#include "systems/decode/report/events.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "events";

// Rows farther apart than this many usual steps are not neighbours.
static const double GAP = 1.5;

// Sums of a straight line through points, by least squares.
typedef struct slope {
    double n, x, y, xx, xy;
} slope;

static void slope_add(slope *s, double x, double y)
{
    if (isfinite(y)) {
        s->n += 1;
        s->x += x;
        s->y += y;
        s->xx += x * x;
        s->xy += x * y;
    }
}

static double slope_of(const slope *s)
{
    const double spread = s->n * s->xx - s->x * s->x;
    return s->n > 1 && spread > 0 ? (s->n * s->xy - s->x * s->y) / spread : (double)NAN;
}

struct tess_de_running {
    bool is_open;
    double last_time; // of the last row pushed
    double last_interval;
    tess_de_event event;
    double mass;    // sums over its rows
    double *states; // [n_state]
    slope place;    // first coordinate over time; on a track the way from the first place
    tess_de_spot first_place;
    slope away; // distance over time
    double speed;
    int64_t n_speed;
};

static tess_de_event_rule find_rule(const tess_de_view *v)
{
    for (int32_t s = 0; s < v->n_state; s++) {
        if (v->is_local_state[s]) {
            return TESS_DE_EVENTS_BY_STATE;
        }
    }
    return tess_de_view_has_truth(v) && v->n_place > 0 ? TESS_DE_EVENTS_BY_DISTANCE
                                                       : TESS_DE_EVENTS_NONE;
}

tess_status tess_de_events_create(const tess_de_view *view, const tess_decode_report_config *config,
                                  tess_de_events *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &view->ctx->heap);
    out->view = view;
    out->rule = find_rule(view);
    out->threshold = config->event_threshold;
    out->distance = config->event_distance;
    out->min_duration = config->event_min_duration;
    out->running = tess_blocks_alloc(&out->memory, 1, sizeof *out->running, MEMORY);
    if (out->running) {
        out->running->states =
            tess_blocks_alloc(&out->memory, view->n_state, sizeof(double), MEMORY);
    }
    if (!out->running || !out->running->states) {
        tess_blocks_free(&out->memory);
        return TESS_E_MEMORY;
    }
    return TESS_OK;
}

void tess_de_events_destroy(tess_de_events *events)
{
    if (events->view) {
        tess_heap_free(&events->view->ctx->heap, events->items,
                       (size_t)events->capacity * sizeof *events->items, TESS_TAG_RESULT);
        tess_blocks_free(&events->memory);
        memset(events, 0, sizeof *events);
    }
}

static double mass_away(const tess_de_events *events, const tess_de_row *row)
{
    const tess_de_view *v = events->view;
    const int64_t n_home = v->environments[0].n_place;
    double sum = 0;
    for (int64_t p = 0; p < v->n_place; p++) {
        const bool is_away =
            p >= n_home || tess_de_view_place_distance(v, p, &row->spot) > events->distance;
        sum += is_away ? row->place[p] : 0;
    }
    return sum;
}

double tess_de_events_probability(const tess_de_events *events, const tess_de_row *row)
{
    const tess_de_view *v = events->view;
    double sum = 0;
    if (!row->is_finite || events->rule == TESS_DE_EVENTS_NONE) {
        return (double)NAN;
    }
    if (events->rule == TESS_DE_EVENTS_BY_DISTANCE) {
        for (int32_t a = 0; a < v->n_axis; a++) {
            sum += row->animal[a];
        }
        return isfinite(sum) ? mass_away(events, row) : (double)NAN;
    }
    for (int32_t s = 0; s < v->n_state; s++) {
        sum += v->has_places[s] && !v->is_local_state[s] ? row->states[s] : 0;
    }
    return sum;
}

static tess_status make_room(tess_de_events *events)
{
    if (events->n_item < events->capacity) {
        return TESS_OK;
    }
    tess_heap *heap = &events->view->ctx->heap;
    const int64_t larger = events->capacity > 0 ? 2 * events->capacity : 64;
    const size_t bytes = (size_t)larger * sizeof *events->items;
    tess_de_event *items = tess_heap_alloc(heap, bytes, TESS_TAG_RESULT, MEMORY);
    if (!items) {
        return TESS_E_MEMORY;
    }
    if (events->n_item > 0) {
        memcpy(items, events->items, (size_t)events->n_item * sizeof *items);
    }
    tess_heap_free(heap, events->items, (size_t)events->capacity * sizeof *items, TESS_TAG_RESULT);
    events->items = items;
    events->capacity = larger;
    return TESS_OK;
}

// The state that held most, of those that can make an event.
static void name_state(const tess_de_events *events, tess_de_event *e)
{
    const tess_de_view *v = events->view;
    const double *sums = events->running->states;
    e->state = -1;
    for (int32_t s = 0; s < v->n_state; s++) {
        const bool counts = v->has_places[s] &&
                            (events->rule == TESS_DE_EVENTS_BY_DISTANCE || !v->is_local_state[s]);
        if (counts && (e->state < 0 || sums[s] > sums[e->state])) {
            e->state = s;
        }
    }
    e->state_probability = e->state < 0 ? (double)NAN : sums[e->state] / (double)e->n_row;
}

static tess_status close_event(tess_de_events *events, double end)
{
    struct tess_de_running *run = events->running;
    tess_de_event *e = &run->event;
    if (!run->is_open) {
        return TESS_OK;
    }
    run->is_open = false;
    e->duration = end - e->start;
    if (e->duration * (1 + 1e-9) < events->min_duration) {
        return TESS_OK;
    }
    e->mean = run->mass / (double)e->n_row;
    e->distance = run->away.n > 0 ? run->away.y / run->away.n : (double)NAN;
    e->velocity = events->view->n_axis == 1 ? slope_of(&run->place) : (double)NAN;
    e->departure = slope_of(&run->away);
    e->speed = run->n_speed > 0 ? run->speed / (double)run->n_speed : (double)NAN;
    name_state(events, e);
    events->n_found++;
    events->seconds += e->duration;
    if (events->n_item == TESS_DE_MAX_EVENTS) {
        return TESS_OK;
    }
    TESS_TRY(make_room(events));
    events->items[events->n_item++] = *e;
    return TESS_OK;
}

static void open_event(tess_de_events *events, const tess_de_row *row)
{
    struct tess_de_running *run = events->running;
    double *states = run->states;
    *run = (struct tess_de_running){.is_open = true,
                                    .last_time = run->last_time,
                                    .last_interval = run->last_interval,
                                    .states = states};
    memset(states, 0, (size_t)events->view->n_state * sizeof *states);
    run->event = (tess_de_event){
        .first_row = row->index, .start = row->time, .farthest = (double)NAN, .n_spike = -1};
    for (int32_t a = 0; a < TESS_DECODE_MAX_DIM; a++) {
        run->event.from[a] = run->event.to[a] = (double)NAN;
    }
}

static void extend_event(tess_de_events *events, const tess_de_row *row, double probability)
{
    const tess_de_view *v = events->view;
    struct tess_de_running *run = events->running;
    tess_de_event *e = &run->event;
    const double since = row->time - e->start;
    const bool is_placed = row->peak_place >= 0;
    const tess_de_spot peak =
        is_placed ? tess_de_view_spot_of_place(v, row->peak_place) : (tess_de_spot){.at = {0}};
    const double away = is_placed ? tess_de_view_distance(v, &peak, &row->spot) : (double)NAN;
    e->n_row++;
    e->most = probability > e->most ? probability : e->most;
    run->mass += probability;
    for (int32_t s = 0; s < v->n_state; s++) {
        run->states[s] += row->states[s];
    }
    if (is_placed) {
        const bool is_first = isnan(e->from[0]);
        run->first_place = is_first ? peak : run->first_place;
        memcpy(is_first ? e->from : e->to, row->peak, sizeof e->to);
        memcpy(e->to, row->peak, sizeof e->to);
    }
    slope_add(&run->place, since,
              is_placed && v->track ? tess_de_view_distance(v, &peak, &run->first_place)
                                    : row->peak[0]);
    slope_add(&run->away, since, away);
    e->farthest = away > e->farthest || isnan(e->farthest) ? away : e->farthest;
    if (isfinite(row->speed)) {
        run->speed += row->speed;
        run->n_speed++;
    }
}

tess_status tess_de_events_push(tess_de_events *events, const tess_de_row *row, double probability)
{
    struct tess_de_running *run = events->running;
    const double step = events->view->step;
    const bool is_next =
        !(row->time - run->last_time > GAP * step) && row->interval == run->last_interval;
    const bool belongs = probability >= events->threshold;
    if (run->is_open && (!belongs || !is_next)) {
        TESS_TRY(close_event(events, is_next ? row->time : run->last_time + step));
    }
    if (belongs && !run->is_open) {
        open_event(events, row);
    }
    if (belongs) {
        extend_event(events, row, probability);
    }
    run->last_time = row->time;
    run->last_interval = row->interval;
    return TESS_OK;
}

tess_status tess_de_events_finish(tess_de_events *events)
{
    return close_event(events, events->running->last_time + events->view->step);
}

static int by_strength(const void *a, const void *b)
{
    const tess_de_event *x = *(const tess_de_event *const *)a;
    const tess_de_event *y = *(const tess_de_event *const *)b;
    const double p = x->mean * x->duration;
    const double q = y->mean * y->duration;
    return p != q ? (p < q) - (p > q)
                  : (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

const tess_de_event **tess_de_events_strongest(const tess_de_events *events, tess_blocks *memory)
{
    const tess_de_event **sorted =
        tess_blocks_alloc(memory, events->n_item, sizeof *sorted, MEMORY);
    for (int64_t i = 0; sorted && i < events->n_item; i++) {
        sorted[i] = &events->items[i];
    }
    if (sorted && events->n_item > 0) {
        qsort(sorted, (size_t)events->n_item, sizeof *sorted, by_strength);
    }
    return sorted;
}

const uint8_t *tess_de_events_listed(const tess_de_events *events, tess_blocks *memory, int64_t n)
{
    const tess_de_event **sorted = tess_de_events_strongest(events, memory);
    uint8_t *is_listed = tess_blocks_alloc(memory, events->n_item, 1, MEMORY);
    for (int64_t i = 0; sorted && is_listed && i < events->n_item && i < n; i++) {
        is_listed[sorted[i] - events->items] = 1;
    }
    return sorted ? is_listed : NULL;
}

// The event that a row of the file belongs to; NULL: none.
static tess_de_event *event_at(const tess_de_events *events, int64_t row)
{
    int64_t low = 0;
    int64_t high = events->n_item;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (events->items[middle].first_row <= row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    tess_de_event *e = low > 0 ? &events->items[low - 1] : NULL;
    return e && row < e->first_row + e->n_row ? e : NULL;
}

void tess_de_events_count_spikes(tess_de_events *events, const tess_decode_observation *from)
{
    const tess_decode_spikes *spikes = &from->spikes;
    for (int64_t i = 0; i < events->n_item; i++) {
        events->items[i].n_spike = 0;
    }
    for (int64_t k = 0; events->n_item > 0 && k < spikes->n_electrode; k++) {
        for (int64_t i = 0; i < spikes->n_spike[k]; i++) {
            int64_t row = -1;
            tess_decode_time_bin(from->time, from->n_time, &spikes->times[k][i], 1, &row);
            tess_de_event *e = row < 0 ? NULL : event_at(events, row - events->view->first_row);
            if (e) {
                e->n_spike++;
            }
        }
    }
}
