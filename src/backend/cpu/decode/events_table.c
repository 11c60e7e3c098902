// The masses that lines of a route meet: windows, and rows of a table.
//
// Per bin one pass of prefix sums gives all windows. With D k = s (T - 1) + j the line meets bin k
// at m = i + s of class j, so that for one D the masses of neighbouring lines are neighbours in a
// row: the kernel adds rows. Rows hold masses less the median, so that off the route there is
// nothing to add.
#include "backend/cpu/decode/events_search.h"
#include "base/select.h"
#include "base/status.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <string.h>

// Points this close to the ends of a route, and bins this close to the edge of a window, are
// inside: cm.
static const double SLACK = 1e-7;
// Doubles of a worker's table of rows, and classes, beyond which rows are made as they are needed.
static const int64_t MOST_ITEMS = 4 << 20;
enum { MOST_CLASSES = 512 };

static int64_t width_of(const events_windows *w)
{
    return w->n_point + 2 * TESS_EVENTS_PAD;
}

static int64_t points_of(const tess_events_route *route)
{
    return (int64_t)floor((route->length + SLACK) / route->step) + 1;
}

// The windows of points m + fraction, m < n_point; returns how many of them lie on the route.
static int64_t find_windows(const tess_events_track *track, const tess_events_route *route,
                            double fraction, int64_t n_point, int32_t *low, int32_t *high)
{
    const double reach = track->band + SLACK;
    int64_t n_on = 0;
    int32_t first = 0;
    int32_t end = 0;
    for (int64_t m = 0; m < n_point; m++) {
        const double y = route->step * ((double)m + fraction);
        while (first < route->n_bin && y - route->u[first] > reach) {
            first++;
        }
        while (end < route->n_bin && route->u[end] - y <= reach) {
            end++;
        }
        low[m] = first;
        high[m] = end > first ? end : first;
        n_on += y <= route->length + SLACK;
    }
    return n_on;
}

// The windows of a route for events of n_time bins, unless they are there already.
static tess_status make_windows(events_room *room, const tess_events_route *route, int64_t n_time,
                                events_windows *w)
{
    if (w->n_time == n_time) {
        return TESS_OK;
    }
    const int64_t n_step = n_time > 1 ? n_time - 1 : 1;
    const int64_t most = (n_step < MOST_CLASSES ? n_step : MOST_CLASSES) + 1;
    w->n_point = points_of(route);
    const size_t bytes = (size_t)most * sizeof(int64_t) + (size_t)n_step * sizeof(int32_t) +
                         2 * (size_t)(most * w->n_point) * sizeof(int32_t);
    w->n_on = tess_cpu_events_grow(room, &w->memory, bytes);
    if (!w->n_on) {
        return TESS_E_MEMORY;
    }
    w->low = (int32_t *)(w->n_on + most);
    w->high = w->low + most * w->n_point;
    w->class_of = w->high + most * w->n_point;
    w->n_time = n_time;
    w->n_class = 0;
    const size_t row_bytes = (size_t)w->n_point * sizeof(int32_t);
    for (int64_t j = 0; j < n_step; j++) {
        const int64_t c = w->n_class;
        int32_t *low = w->low + c * w->n_point;
        int32_t *high = w->high + c * w->n_point;
        w->n_on[c] = find_windows(room->args->track, route, (double)j / (double)n_step, w->n_point,
                                  low, high);
        const bool is_new = c == 0 || w->n_on[c] != w->n_on[c - 1] ||
                            memcmp(low, low - w->n_point, row_bytes) != 0 ||
                            memcmp(high, high - w->n_point, row_bytes) != 0;
        w->n_class += is_new;
        w->class_of[j] = (int32_t)(w->n_class - 1);
        if (w->n_class == most && j + 1 < n_step) {
            w->n_class = 0; // too many
            break;
        }
    }
    return TESS_OK;
}

void tess_cpu_events_gather(events_room *room, const tess_events_route *route, int64_t n)
{
    for (int64_t a = 0; a < n; a++) {
        for (int64_t q = 0; q < route->n_bin; q++) {
            room->route_rows[a * route->n_bin + q] = room->row[a][route->bin[q]];
        }
    }
}

// Prefix sums of every counted bin, and the median of the masses around the route's bins.
static void sum_windows(events_room *room, const tess_events_route *route, int64_t n)
{
    const double reach = room->args->track->band + SLACK;
    const int64_t n_bin = route->n_bin;
    for (int64_t a = 0; a < n; a++) {
        const double *row = room->route_rows + a * n_bin;
        double *prefix = room->prefix + a * (n_bin + 1);
        prefix[0] = 0;
        for (int64_t q = 0; q < n_bin; q++) {
            prefix[q + 1] = prefix[q] + row[q];
        }
        int64_t low = 0;
        int64_t high = 0;
        for (int64_t q = 0; q < n_bin; q++) {
            while (route->u[q] - route->u[low] > reach) {
                low++;
            }
            while (high < n_bin && route->u[high] - route->u[q] <= reach) {
                high++;
            }
            room->route_place[q] = prefix[high] - prefix[low];
        }
        room->masses[a] = tess_median(room->route_place, n_bin);
    }
}

static void fill_row(const double *prefix, double median, const int32_t *low, const int32_t *high,
                     int64_t n_on, int64_t n_point, double *row)
{
    for (int64_t m = 0; m < n_on; m++) {
        row[m] = prefix[high[m]] - prefix[low[m]] - median;
    }
    memset(row + n_on, 0, (size_t)(n_point - n_on) * sizeof *row);
}

// Zeros around rows. They stay: only what is between them is written.
static void clear_table(events_room *room, double *items, int64_t n_row, int64_t width)
{
    if (items != room->table_items || n_row > room->table_rows || width != room->table_width) {
        memset(items, 0, (size_t)(n_row * width) * sizeof *items);
        room->table_items = items;
        room->table_rows = n_row;
        room->table_width = width;
    }
}

double *tess_cpu_events_table_row(const events_room *room, const events_windows *w, int64_t row)
{
    return (double *)room->line_table.items + row * width_of(w) + TESS_EVENTS_PAD;
}

// A row for every counted bin and class, or room for one of each bin.
static tess_status make_table(events_room *room, const tess_events_route *route,
                              const events_windows *w, int64_t n, bool *is_kept)
{
    *is_kept = w->n_class > 0 && n * w->n_class * width_of(w) <= MOST_ITEMS;
    const int64_t n_row = *is_kept ? n * w->n_class : n;
    const size_t bytes = (size_t)(n_row * width_of(w)) * sizeof(double);
    double *items = tess_cpu_events_grow(room, &room->line_table, bytes);
    if (!items) {
        return TESS_E_MEMORY;
    }
    clear_table(room, items, n_row, width_of(w));
    for (int64_t a = 0; *is_kept && a < n; a++) {
        for (int64_t c = 0; c < w->n_class; c++) {
            fill_row(room->prefix + a * (route->n_bin + 1), room->masses[a],
                     w->low + c * w->n_point, w->high + c * w->n_point, w->n_on[c], w->n_point,
                     tess_cpu_events_table_row(room, w, a * w->n_class + c));
        }
    }
    return TESS_OK;
}

void tess_cpu_events_set_slope(const events_search *s, int64_t slope)
{
    events_room *room = s->room;
    for (int64_t a = 0; a < s->n; a++) {
        const int64_t product = slope * room->time[a];
        room->line_shift[a] = tess_cpu_events_floor(product, s->n_step);
        room->line_rest[a] = product - room->line_shift[a] * s->n_step;
    }
}

void tess_cpu_events_next_slope(const events_search *s)
{
    events_room *room = s->room;
    for (int64_t a = 0; a < s->n; a++) {
        int64_t rest = room->line_rest[a] + room->time[a];
        const int64_t is_over = rest >= s->n_step;
        room->line_rest[a] = rest - is_over * s->n_step;
        room->line_shift[a] += is_over;
    }
}

void tess_cpu_events_set_row(const events_search *s, int64_t a)
{
    events_room *room = s->room;
    const events_windows *w = s->windows;
    if (s->is_kept) {
        const int64_t c = w->class_of[room->line_rest[a]];
        room->line_row[a] = tess_cpu_events_table_row(room, w, a * w->n_class + c);
        room->line_items[a] = w->n_on[c];
        return;
    }
    double *row = tess_cpu_events_table_row(room, w, a);
    const int64_t rest = room->line_rest[a];
    const int64_t c = w->n_class > 0 ? w->class_of[rest] : 0;
    int32_t *low = w->low + c * w->n_point;
    int32_t *high = w->high + c * w->n_point;
    const int64_t n_on =
        w->n_class > 0 ? w->n_on[c]
                       : find_windows(room->args->track, s->route, (double)rest / (double)s->n_step,
                                      w->n_point, low, high);
    fill_row(room->prefix + a * (s->route->n_bin + 1), room->masses[a], low, high, n_on, w->n_point,
             row);
    room->line_row[a] = row;
    room->line_items[a] = n_on;
}

tess_status tess_cpu_events_begin(events_room *room, int64_t route, int64_t n_time, int64_t n,
                                  events_search *s)
{
    const tess_events_track *track = room->args->track;
    const tess_events_route *r = &track->routes[route];
    const double n_step = n_time > 1 ? (double)(n_time - 1) : 0;
    *s = (events_search){.room = room,
                         .route = r,
                         .windows = &room->windows[route],
                         .n_step = n_time > 1 ? n_time - 1 : 1,
                         .n = n,
                         .most_slope = (int64_t)floor(
                             track->max_velocity * n_step * room->args->bin_s / r->step + 1e-9),
                         .last = (int64_t)floor(2 * r->length / r->step + 1e-9)};
    TESS_TRY(make_windows(room, r, n_time, &room->windows[route]));
    tess_cpu_events_gather(room, r, n);
    sum_windows(room, r, n);
    for (int64_t a = 0; a < n; a++) {
        s->base += room->masses[a];
    }
    return make_table(room, r, s->windows, n, &s->is_kept);
}
