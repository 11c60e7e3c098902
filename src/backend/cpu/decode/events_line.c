// Lines through a posterior. A line is a pair of integers, y_k = h (i + D k / (T - 1)); the mass of
// a bin is what lies within the band around y_k, and off the route the median over its bins.
// events_table.c has the masses.
#include "backend/cpu/decode/events_search.h"
#include "base/status.h"
#include "kernels/decode_events.h"

#include <math.h>

// Lines within this much of the best score are as good.
static const double TIE = 1e-9;

// The largest sum of masses among the lines of slope D, whose s and j are set.
static double best_of_slope(const events_search *s, int64_t slope)
{
    events_room *room = s->room;
    int64_t n_line = 0;
    const int64_t first = tess_cpu_events_offsets(s, slope, &n_line);
    double best = -(double)INFINITY;
    for (int64_t a = 0; a < s->n; a++) {
        tess_cpu_events_set_row(s, a);
    }
    if (n_line > 0) {
        room->device->kernels->events_line(room->line_row, room->line_shift, room->line_items,
                                           (size_t)s->n, s->base, first, (size_t)n_line, &best);
    }
    return best;
}

static tess_status search_route(const events_search *s, double *most)
{
    if (tess_cpu_events_can_bound(s)) {
        return tess_cpu_events_bounded(s, most);
    }
    double best = -(double)INFINITY;
    tess_cpu_events_set_slope(s, -s->most_slope);
    for (int64_t slope = -s->most_slope; slope <= s->most_slope; slope++) {
        const double sum = best_of_slope(s, slope);
        best = sum > best ? sum : best;
        tess_cpu_events_next_slope(s);
    }
    *most = best;
    return TESS_OK;
}

// The first line of slope D with at least this sum, if there is one.
static bool find_offset(const events_search *s, int64_t slope, double least, int64_t *offset)
{
    const events_room *room = s->room;
    tess_cpu_events_set_slope(s, slope);
    if (best_of_slope(s, slope) < least) {
        return false;
    }
    int64_t n_line = 0;
    const int64_t first = tess_cpu_events_offsets(s, slope, &n_line);
    for (int64_t i = first; i < first + n_line; i++) {
        double sum = s->base;
        for (int64_t a = 0; a < s->n; a++) {
            const int64_t at = i + room->line_shift[a];
            sum += at >= 0 && at < room->line_items[a] ? room->line_row[a][at] : 0;
        }
        if (sum >= least) {
            *offset = i;
            return true;
        }
    }
    return false;
}

// The flattest line with at least this sum, falling before rising.
static bool find_line(const events_search *s, double least, tess_events_line *line)
{
    for (int64_t d = 0; d <= s->most_slope; d++) {
        for (int64_t slope = -d; slope <= d; slope += d > 0 ? 2 * d : 1) {
            if (find_offset(s, slope, least, &line->offset)) {
                line->slope = slope;
                return true;
            }
        }
    }
    return false;
}

tess_status tess_cpu_events_line(events_room *room, int64_t n_time, int64_t n, double *score,
                                 tess_events_line *line)
{
    const int64_t n_route = room->args->track->n_route;
    double best = -(double)INFINITY;
    events_search search;
    for (int64_t r = 0; r < n_route; r++) {
        TESS_TRY(tess_cpu_events_begin(room, r, n_time, n, &search));
        double sum = 0;
        TESS_TRY(search_route(&search, &sum));
        best = sum > best ? sum : best;
    }
    *score = best / (double)n;
    for (int64_t r = 0; line && r < n_route; r++) {
        TESS_TRY(tess_cpu_events_begin(room, r, n_time, n, &search));
        if (find_line(&search, best - TIE * (double)n, line)) {
            line->route = r;
            break;
        }
    }
    return TESS_OK;
}
