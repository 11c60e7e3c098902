// The best line without looking at all.
//
// Lines of neighbouring slopes D .. D + 15 that begin at the same i meet bin k within 16 points of
// each other. The largest mass of each bin over those points, added up in the order in which a
// line's masses are, is at least the sum of every one of these lines, in every bit: additions of
// larger numbers do not round to less. So one sum tells of 16 lines whether to look at them, and
// the result is that of looking at all.
#include "backend/cpu/decode/events_search.h"
#include "base/status.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <string.h>

// Lines of each slope that are looked at together or not at all, and how many such tiles are looked
// at first, the most promising ones, so that others can be passed by.
enum { LINES = 32, FIRST_TILES = 3 };

typedef struct line_tile {
    int64_t slope; // the first
    int64_t first; // i
    int64_t n;
    double bound;
} line_tile;

// The bounds of one route: a row for each counted bin, and the tiles.
typedef struct line_bounds {
    int64_t *reach; // [n] points that slopes of a group are apart at a bin
    const double **row;
    int64_t *shift;
    int64_t *n_item;
    line_tile *tiles;
    int64_t n_tile;
    double *items; // [n][width]
    int64_t width;
} line_bounds;

static int64_t groups_of(const events_search *s)
{
    return (2 * s->most_slope + EVENTS_SLOPES) / EVENTS_SLOPES;
}

// Lines of a group begin at first.. of them.
static int64_t begins_of(const events_search *s, int64_t slope, int64_t *n)
{
    const int64_t end = slope + EVENTS_SLOPES - 1;
    const int64_t first = -tess_cpu_events_floor(end < s->most_slope ? end : s->most_slope, 2);
    *n = tess_cpu_events_floor(s->last - slope, 2) - first + 1;
    return first;
}

static tess_status take_bounds(const events_search *s, line_bounds *b)
{
    int64_t most = 0;
    for (int64_t g = 0; g < groups_of(s); g++) {
        int64_t n = 0;
        begins_of(s, -s->most_slope + g * EVENTS_SLOPES, &n);
        most += n > 0 ? (n + LINES - 1) / LINES : 0;
    }
    b->width = s->windows->n_point + 2 * EVENTS_SLOPES + 2 * TESS_EVENTS_PAD;
    const size_t bytes = (size_t)(s->n * b->width) * sizeof(double) +
                         (size_t)most * sizeof(line_tile) + 4 * (size_t)s->n * sizeof(int64_t);
    char *at = tess_cpu_events_grow(s->room, &s->room->bounds, bytes);
    if (!at) {
        return TESS_E_MEMORY;
    }
    b->items = (double *)at;
    b->tiles = (line_tile *)(b->items + s->n * b->width);
    b->reach = (int64_t *)(b->tiles + most);
    b->shift = b->reach + s->n;
    b->n_item = b->shift + s->n;
    b->row = (const double **)(b->n_item + s->n);
    return TESS_OK;
}

// x[i] = the largest of x[i] .. x[i + reach], i < n.
static void widen(double *x, int64_t n, int64_t reach)
{
    int64_t seen = 1;
    for (; 2 * seen <= reach + 1; seen *= 2) {
        for (int64_t i = 0; i < n + reach + 1 - 2 * seen; i++) {
            x[i] = x[i] > x[i + seen] ? x[i] : x[i + seen];
        }
    }
    const int64_t rest = reach + 1 - seen;
    for (int64_t i = 0; i < n && rest > 0; i++) {
        x[i] = x[i] > x[i + rest] ? x[i] : x[i + rest];
    }
}

// The row of a counted bin, reach points longer at its beginning. Off the route there is 0.
static void fill_bound(const events_search *s, const line_bounds *b, int64_t a)
{
    const events_windows *w = s->windows;
    const int64_t n_point = w->n_point;
    const int64_t reach = b->reach[a];
    double *row = b->items + a * b->width;
    memset(row, 0, (size_t)b->width * sizeof *row);
    row += TESS_EVENTS_PAD;
    double *x = row + reach;
    memcpy(x, tess_cpu_events_table_row(s->room, w, a * w->n_class), (size_t)n_point * sizeof *x);
    for (int64_t c = 1; c < w->n_class; c++) {
        const double *y = tess_cpu_events_table_row(s->room, w, a * w->n_class + c);
        for (int64_t m = 0; m < n_point; m++) {
            x[m] = x[m] > y[m] ? x[m] : y[m];
        }
    }
    widen(row, n_point + reach, reach);
}

static void make_tiles(const events_search *s, line_bounds *b)
{
    events_room *room = s->room;
    b->n_tile = 0;
    for (int64_t g = 0; g < groups_of(s); g++) {
        const int64_t slope = -s->most_slope + g * EVENTS_SLOPES;
        int64_t n = 0;
        const int64_t first = begins_of(s, slope, &n);
        tess_cpu_events_set_slope(s, slope);
        for (int64_t a = 0; a < s->n; a++) {
            b->shift[a] = room->line_shift[a] + b->reach[a];
        }
        for (int64_t i = 0; i < n; i += LINES) {
            line_tile *tile = &b->tiles[b->n_tile++];
            *tile = (line_tile){slope, first + i, n - i < LINES ? n - i : LINES, 0};
            room->device->kernels->events_line(b->row, b->shift, b->n_item, (size_t)s->n, s->base,
                                               tile->first, (size_t)tile->n, &tile->bound);
        }
    }
}

// Every line of a tile.
static double best_of_tile(const events_search *s, line_tile *tile, double best)
{
    events_room *room = s->room;
    tess_cpu_events_set_slope(s, tile->slope);
    for (int64_t d = 0; d < EVENTS_SLOPES && tile->slope + d <= s->most_slope; d++) {
        int64_t n = 0;
        const int64_t first = tess_cpu_events_offsets(s, tile->slope + d, &n);
        const int64_t from = first > tile->first ? first : tile->first;
        const int64_t end = first + n < tile->first + tile->n ? first + n : tile->first + tile->n;
        for (int64_t a = 0; a < s->n; a++) {
            tess_cpu_events_set_row(s, a);
        }
        if (from < end) {
            double sum = 0;
            room->device->kernels->events_line(room->line_row, room->line_shift, room->line_items,
                                               (size_t)s->n, s->base, from, (size_t)(end - from),
                                               &sum);
            best = sum > best ? sum : best;
        }
        tess_cpu_events_next_slope(s);
    }
    tile->bound = -(double)INFINITY;
    return best;
}

tess_status tess_cpu_events_bounded(const events_search *s, double *best)
{
    line_bounds bounds;
    TESS_TRY(take_bounds(s, &bounds));
    for (int64_t a = 0; a < s->n; a++) {
        bounds.reach[a] = (s->n_step - 1 + (EVENTS_SLOPES - 1) * s->room->time[a]) / s->n_step;
        bounds.row[a] = bounds.items + a * bounds.width + TESS_EVENTS_PAD;
        bounds.n_item[a] = s->windows->n_point + bounds.reach[a];
        fill_bound(s, &bounds, a);
    }
    make_tiles(s, &bounds);
    double found = -(double)INFINITY;
    for (int k = 0; k < FIRST_TILES && bounds.n_tile > 0; k++) {
        line_tile *most = bounds.tiles;
        for (int64_t i = 1; i < bounds.n_tile; i++) {
            most = bounds.tiles[i].bound > most->bound ? &bounds.tiles[i] : most;
        }
        found = best_of_tile(s, most, found);
    }
    for (int64_t i = 0; i < bounds.n_tile; i++) {
        if (bounds.tiles[i].bound > found) {
            found = best_of_tile(s, &bounds.tiles[i], found);
        }
    }
    *best = found;
    return TESS_OK;
}
