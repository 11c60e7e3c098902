// The best line without looking at all.
//
// Lines of neighbouring slopes D .. D + 15 that begin at the same i meet bin k within 16 points of
// each other. The largest mass of each bin over those points bounds what any of these lines has
// there, so that one sum tells of 16 lines whether to look at them. Bounds are floats, not below
// what they bound, and their sums get back what rounding may have taken; lines that are looked at
// have the sums of looking at all, in every bit.
#include "backend/cpu/decode/events_search.h"
#include "base/status.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <string.h>

// How many tiles are looked at first, the most promising ones, so that others can be passed by.
enum { LINES = TESS_EVENTS_LINES, FIRST_TILES = 3 };

typedef struct line_tile {
    int32_t slope; // the first
    int32_t first; // i
    float bound;
} line_tile;

// The bounds of one route: a row for each counted bin, and the tiles.
typedef struct line_bounds {
    int32_t *time;
    int32_t *reach; // [n] points that slopes of a group are apart at a bin
    int32_t *shift;
    int32_t *n_item;
    int32_t *rest; // scratch of a tile's
    int32_t *turned;
    int32_t *offset;
    line_tile *tiles;
    int64_t n_tile;
    float *of_group; // bounds of one group's tiles
    float *items;    // [n][width]
    int64_t width;
} line_bounds;

bool tess_cpu_events_can_bound(const events_search *s)
{
    // Slopes times bins, and points, are 32 bits here.
    const double most = (double)(s->most_slope + EVENTS_SLOPES) * (double)(s->n_step + 1);
    return s->is_kept && 2 * s->most_slope >= EVENTS_SLOPES && most < 1e9 && s->last < 1 << 28;
}

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
    int64_t n_tile = 0;
    int64_t most = 0;
    for (int64_t g = 0; g < groups_of(s); g++) {
        int64_t n = 0;
        begins_of(s, -s->most_slope + g * EVENTS_SLOPES, &n);
        const int64_t of_group = n > 0 ? (n + LINES - 1) / LINES : 0;
        n_tile += of_group;
        most = of_group > most ? of_group : most;
    }
    b->width = s->windows->n_point + 2 * EVENTS_SLOPES + 2 * TESS_EVENTS_BLOCK;
    const size_t n_float = (size_t)(s->n * b->width + most + TESS_EVENTS_BEYOND);
    const size_t bytes = n_float * sizeof(float) + (size_t)n_tile * sizeof(line_tile) +
                         7 * (size_t)s->n * sizeof(int32_t);
    char *at = tess_cpu_events_grow(s->room, &s->room->bounds, bytes);
    if (!at) {
        return TESS_E_MEMORY;
    }
    b->items = (float *)at;
    b->of_group = b->items + s->n * b->width;
    b->tiles = (line_tile *)(b->of_group + most + TESS_EVENTS_BEYOND);
    b->time = (int32_t *)(b->tiles + n_tile);
    b->reach = b->time + s->n;
    b->shift = b->reach + s->n;
    b->n_item = b->shift + s->n;
    b->rest = b->n_item + s->n;
    b->turned = b->rest + s->n;
    b->offset = b->turned + s->n;
    return TESS_OK;
}

// The row of a counted bin, reach points longer at its beginning. Off the route there is 0.
static void fill_bound(const events_search *s, const line_bounds *b, int64_t a)
{
    const events_windows *w = s->windows;
    const int64_t written = w->n_point + 2 * b->reach[a];
    float *row = b->items + a * b->width;
    memset(row, 0, TESS_EVENTS_BLOCK * sizeof *row);
    row += TESS_EVENTS_BLOCK;
    s->room->device->kernels->events_reach(
        tess_cpu_events_table_row(s->room, w, a * w->n_class), (size_t)w->n_class,
        (size_t)(w->n_point + 2 * TESS_EVENTS_PAD), (size_t)w->n_point, (size_t)b->reach[a], row);
    memset(row + written, 0, (size_t)(b->width - TESS_EVENTS_BLOCK - written) * sizeof *row);
}

// What the floats' sum may lack: each of n additions half a unit of at most n; twice that.
static double slack_of(const events_search *s)
{
    return 0x1p-23 * (double)s->n * (double)s->n;
}

static void make_tiles(const events_search *s, line_bounds *b)
{
    const events_room *room = s->room;
    const float more = (float)((s->base + slack_of(s)) * (1 + 1e-6));
    b->n_tile = 0;
    for (int64_t g = 0; g < groups_of(s); g++) {
        const int64_t slope = -s->most_slope + g * EVENTS_SLOPES;
        int64_t n = 0;
        const int64_t first = begins_of(s, slope, &n);
        const int64_t n_tile = n > 0 ? (n + LINES - 1) / LINES : 0;
        tess_cpu_events_set_slope(s, slope);
        for (int64_t a = 0; a < s->n; a++) {
            b->shift[a] = (int32_t)room->line_shift[a] + b->reach[a];
        }
        room->device->kernels->events_bounds(b->items + TESS_EVENTS_BLOCK, (size_t)b->width,
                                             b->shift, b->n_item, (size_t)s->n, (int32_t)first,
                                             (size_t)n_tile, b->of_group);
        for (int64_t i = 0; i < n_tile; i++) {
            b->tiles[b->n_tile++] = (line_tile){(int32_t)slope, (int32_t)(first + i * LINES),
                                                (b->of_group[i] + more) * (1 + 0x1p-22F)};
        }
    }
}

// Every line of a tile.
static double best_of_tile(const events_search *s, const line_bounds *b, line_tile *tile,
                           double best)
{
    const events_windows *w = s->windows;
    const int64_t left = s->most_slope - tile->slope + 1;
    const tess_events_tile lines = {.rows = tess_cpu_events_table_row(s->room, w, 0),
                                    .width = w->n_point + 2 * TESS_EVENTS_PAD,
                                    .class_of = w->class_of,
                                    .n_item = w->n_on,
                                    .n_class = (int32_t)w->n_class,
                                    .n_step = (int32_t)s->n_step,
                                    .time = b->time,
                                    .n = (size_t)s->n,
                                    .base = s->base,
                                    .slope = tile->slope,
                                    .n_slope = left < EVENTS_SLOPES ? (int32_t)left : EVENTS_SLOPES,
                                    .first = tile->first,
                                    .n_line = LINES,
                                    .last = (int32_t)s->last,
                                    .rest = b->rest,
                                    .shift = b->turned,
                                    .offset = b->offset};
    double sum = 0;
    s->room->device->kernels->events_tile(&lines, &sum);
    tile->bound = -INFINITY;
    return sum > best ? sum : best;
}

tess_status tess_cpu_events_bounded(const events_search *s, double *best)
{
    line_bounds bounds;
    TESS_TRY(take_bounds(s, &bounds));
    for (int64_t a = 0; a < s->n; a++) {
        const int64_t time = s->room->time[a];
        bounds.time[a] = (int32_t)time;
        bounds.reach[a] = (int32_t)((s->n_step - 1 + (EVENTS_SLOPES - 1) * time) / s->n_step);
        bounds.n_item[a] = (int32_t)s->windows->n_point + bounds.reach[a];
        fill_bound(s, &bounds, a);
    }
    make_tiles(s, &bounds);
    double found = -(double)INFINITY;
    for (int k = 0; k < FIRST_TILES && bounds.n_tile > 0; k++) {
        line_tile *most = bounds.tiles;
        for (int64_t i = 1; i < bounds.n_tile; i++) {
            most = bounds.tiles[i].bound > most->bound ? &bounds.tiles[i] : most;
        }
        found = best_of_tile(s, &bounds, most, found);
    }
    for (int64_t i = 0; i < bounds.n_tile; i++) {
        if ((double)bounds.tiles[i].bound > found) {
            found = best_of_tile(s, &bounds, &bounds.tiles[i], found);
        }
    }
    *best = found;
    return TESS_OK;
}
