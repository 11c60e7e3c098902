// The search for the best line of a route, between its files.
#ifndef TESS_BACKEND_CPU_DECODE_EVENTS_SEARCH_H
#define TESS_BACKEND_CPU_DECODE_EVENTS_SEARCH_H

#include "backend/cpu/decode/events.h"

enum { EVENTS_SLOPES = 16 }; // that one bound is of

// All lines of one route.
typedef struct events_search {
    events_room *room;
    const tess_events_route *route;
    const events_windows *windows;
    int64_t n_step; // T - 1, at least 1
    int64_t n;      // counted bins
    int64_t most_slope;
    int64_t last; // of 2 i + D
    double base;  // sum of the medians
    bool is_kept;
} events_search;

static inline int64_t tess_cpu_events_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

// The first i of slope D, and how many there are.
static inline int64_t tess_cpu_events_offsets(const events_search *s, int64_t slope, int64_t *n)
{
    const int64_t first = -tess_cpu_events_floor(slope, 2);
    *n = tess_cpu_events_floor(s->last - slope, 2) - first + 1;
    return first;
}

// --- events_table.c ---

// The masses of a route for the n counted bins of an event.
TESS_MUST_CHECK tess_status tess_cpu_events_begin(events_room *room, int64_t route, int64_t n_time,
                                                  int64_t n, events_search *s);
// Where row (a, c) of the table begins.
double *tess_cpu_events_table_row(const events_room *room, const events_windows *w, int64_t row);
// s and j of every counted bin for slope D.
void tess_cpu_events_set_slope(const events_search *s, int64_t slope);
// The same for D + 1.
void tess_cpu_events_next_slope(const events_search *s);
// The row of counted bin a for the class of its j, made here where it is not kept.
void tess_cpu_events_set_row(const events_search *s, int64_t a);

// --- events_bound.c ---

// Whether tess_cpu_events_bounded() can do it.
bool tess_cpu_events_can_bound(const events_search *s);
// The largest sum of masses of all lines, without those that cannot reach it.
TESS_MUST_CHECK tess_status tess_cpu_events_bounded(const events_search *s, double *best);

#endif
