// The masses that lines of a route meet: windows, and rows of a table.
//
// Per bin one pass of prefix sums gives all windows. With D k = s (T - 1) + j the line meets bin k
// at m = i + s of class j, so that for one D the masses of neighbouring lines are neighbours in a
// row: the kernel adds rows. Rows hold masses less the median, so that off the route there is
// nothing to add.
#include "backend/cpu/decode/events_search.h"
#include "base/line_windows.h"
#include "base/select.h"
#include "base/status.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <string.h>

// Doubles of a worker's table of rows, and classes, beyond which rows are made as they are needed.
static const int64_t MOST_ITEMS = 4 << 20;
enum { MOST_CLASSES = 512 };

static int64_t width_of(const events_windows *w)
{
    return w->n_point + 2 * TESS_EVENTS_PAD;
}

static tess_line_route line_route(const tess_events_track *track, const tess_events_route *route)
{
    return (tess_line_route){route->n_bin, route->u, route->length, route->step, track->band};
}

// The longest run of points whose windows are, two points on, one bin on: run[0] is where it
// begins, run[1] its pairs of points.
static void find_run(const int32_t *low, const int32_t *high, int32_t n, int32_t *run)
{
    int32_t first = 0;
    run[0] = run[1] = 0;
    for (int32_t m = 2; m <= n; m++) {
        const bool goes_on = m < n && low[m] == low[m - 2] + 1 && high[m] == high[m - 2] + 1;
        if (!goes_on) {
            if ((m - first) / 2 > run[1]) {
                run[0] = first;
                run[1] = (m - first) / 2;
            }
            first = m - 1;
        }
    }
}

// The windows of a route for events of n_time bins, unless they are there already.
static tess_status make_windows(events_room *room, const tess_events_route *route, int64_t n_time,
                                events_windows *w)
{
    if (w->n_time == n_time) {
        return TESS_OK;
    }
    const tess_line_route way = line_route(room->args->track, route);
    const int64_t n_step = n_time > 1 ? n_time - 1 : 1;
    const int64_t most = (n_step < MOST_CLASSES ? n_step : MOST_CLASSES) + 1;
    w->n_point = tess_line_points(&way);
    const size_t n_item = (size_t)(3 * most + n_step + 2 * most * w->n_point + 2 * route->n_bin);
    w->n_on = tess_cpu_events_grow(room, &w->memory, n_item * sizeof(int32_t));
    if (!w->n_on) {
        return TESS_E_MEMORY;
    }
    w->low = w->n_on + most;
    w->high = w->low + most * w->n_point;
    w->class_of = w->high + most * w->n_point;
    w->run = w->class_of + n_step;
    w->bin_low = w->run + 2 * most;
    w->bin_high = w->bin_low + route->n_bin;
    tess_line_bin_windows(&way, w->bin_low, w->bin_high);
    w->n_time = n_time;
    w->n_class = 0;
    const size_t row_bytes = (size_t)w->n_point * sizeof(int32_t);
    for (int64_t j = 0; j < n_step; j++) {
        const int64_t c = w->n_class;
        int32_t *low = w->low + c * w->n_point;
        int32_t *high = w->high + c * w->n_point;
        w->n_on[c] = tess_line_windows(&way, (double)j / (double)n_step, w->n_point, low, high);
        const bool is_new = c == 0 || w->n_on[c] != w->n_on[c - 1] ||
                            memcmp(low, low - w->n_point, row_bytes) != 0 ||
                            memcmp(high, high - w->n_point, row_bytes) != 0;
        w->n_class += is_new;
        if (is_new) {
            find_run(low, high, w->n_on[c], w->run + 2 * c);
        }
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

// Prefix sums of rows a..a+n-1 of a route's bins. An addition waits for the one before: four rows
// at a time do not wait for each other.
static void sum_rows(events_room *room, int64_t n_bin, int64_t a, int64_t n)
{
    const double *in = room->route_rows + a * n_bin;
    double *out = room->prefix + a * (n_bin + 1);
    double sum[4] = {0};
    for (int64_t i = 0; i < n; i++) {
        out[i * (n_bin + 1)] = 0;
    }
    if (n == 4) {
        for (int64_t q = 0; q < n_bin; q++) {
            for (int64_t i = 0; i < 4; i++) {
                sum[i] += in[i * n_bin + q];
                out[i * (n_bin + 1) + q + 1] = sum[i];
            }
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t q = 0; q < n_bin; q++) {
            sum[i] += in[i * n_bin + q];
            out[i * (n_bin + 1) + q + 1] = sum[i];
        }
    }
}

// Prefix sums of every counted bin, and the median of the masses around the route's bins.
static void sum_windows(events_room *room, const tess_events_route *route, const events_windows *w,
                        int64_t n)
{
    const int64_t n_bin = route->n_bin;
    const int32_t no_run[2] = {0, 0};
    for (int64_t a = 0; a < n; a += 4) {
        sum_rows(room, n_bin, a, n - a < 4 ? n - a : 4);
    }
    for (int64_t a = 0; a < n; a++) {
        room->device->kernels->events_masses(room->prefix + a * (n_bin + 1), w->bin_low,
                                             w->bin_high, no_run, (size_t)n_bin, 0,
                                             room->route_place);
        room->masses[a] = tess_median_of(room->route_place, n_bin, room->halves);
    }
}

static void fill_row(const events_room *room, const double *prefix, double median,
                     const int32_t *low, const int32_t *high, const int32_t *run, int64_t n_on,
                     int64_t n_point, double *row)
{
    room->device->kernels->events_masses(prefix, low, high, run, (size_t)n_on, median, row);
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
            fill_row(room, room->prefix + a * (route->n_bin + 1), room->masses[a],
                     w->low + c * w->n_point, w->high + c * w->n_point, w->run + 2 * c, w->n_on[c],
                     w->n_point, tess_cpu_events_table_row(room, w, a * w->n_class + c));
        }
    }
    return TESS_OK;
}

void tess_cpu_events_set_slope(const events_search *s, int64_t slope)
{
    events_room *room = s->room;
    const double inverse = 1 / (double)s->n_step;
    for (int64_t a = 0; a < s->n; a++) {
        // By a product, which may be one off; a division takes long.
        const int64_t product = slope * room->time[a];
        int64_t shift = (int64_t)floor((double)product * inverse);
        int64_t rest = product - shift * s->n_step;
        shift += rest >= s->n_step ? 1 : rest < 0 ? -1 : 0;
        rest = product - shift * s->n_step;
        room->line_shift[a] = shift;
        room->line_rest[a] = rest;
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
    const tess_line_route way = line_route(room->args->track, s->route);
    const int64_t n_on = w->n_class > 0 ? w->n_on[c]
                                        : tess_line_windows(&way, (double)rest / (double)s->n_step,
                                                            w->n_point, low, high);
    const int32_t no_run[2] = {0, 0};
    fill_row(room, room->prefix + a * (s->route->n_bin + 1), room->masses[a], low, high,
             w->n_class > 0 ? w->run + 2 * c : no_run, n_on, w->n_point, row);
    room->line_row[a] = row;
    room->line_items[a] = n_on;
}

tess_status tess_cpu_events_begin(events_room *room, int64_t route, int64_t n_time, int64_t n,
                                  events_search *s)
{
    const tess_events_track *track = room->args->track;
    const tess_events_route *r = &track->routes[route];
    const tess_line_route way = line_route(track, r);
    *s = (events_search){
        .room = room,
        .route = r,
        .windows = &room->windows[route],
        .n_step = n_time > 1 ? n_time - 1 : 1,
        .n = n,
        .most_slope = tess_line_most_slope(&way, n_time, room->args->bin_s, track->max_velocity),
        .last = tess_line_last(&way)};
    TESS_TRY(make_windows(room, r, n_time, &room->windows[route]));
    tess_cpu_events_gather(room, r, n);
    sum_windows(room, r, s->windows, n);
    for (int64_t a = 0; a < n; a++) {
        s->base += room->masses[a];
    }
    return make_table(room, r, s->windows, n, &s->is_kept);
}
