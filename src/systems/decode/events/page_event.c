// Single events: posterior with the fitted line or the decoded path, states, spikes.
#include "systems/decode/events/page.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

enum { N_GRID = 12, MAP_HEIGHT = 190, MAX_STATE_LINES = 8 };

static const char MEMORY[] = "pictures of events";

// An event being drawn.
typedef struct picture {
    tess_de_events_page *page;
    const tess_decode_event *event;
    int64_t index;
    const double *rows;     // [n_bin][n_place]
    const uint8_t *counted; // [n_bin]
    double width;           // of a time bin, ms
    tess_blocks memory;
} picture;

static tess_figure_axis time_axis(const picture *x)
{
    return (tess_figure_axis){.label = "time in the event",
                              .unit = "ms",
                              .low = 0,
                              .high = (double)x->event->n_bin * x->width};
}

static void title_of(const picture *x, char title[128])
{
    const tess_de_events_page *p = x->page;
    const int32_t lead = p->leads[0];
    const int n = snprintf(title, 128, "Event %lld: %s %.3g", (long long)x->event->event,
                           tess_de_event_score_words(lead), x->event->scores[lead]);
    if (p->kind >= 0) {
        snprintf(title + n, 128 - (size_t)n, ", p %.3g",
                 p->info->p[tess_de_event_at(p->info, p->kind, x->index, lead)]);
    }
}

// ---- Along a route ----------------------------------------------------------------------------

// Row r of the picture is the route's bin nearest to the middle of that part of it.
static int64_t bin_near(const tess_events_route *route, double u)
{
    int64_t at = 0;
    while (at + 1 < route->n_bin && fabs(route->u[at + 1] - u) <= fabs(route->u[at] - u)) {
        at++;
    }
    return at;
}

// Where u is 0 on the axis: a line is drawn in positions, a track in distances along its route.
static double origin_of(const picture *x, const tess_events_route *route)
{
    return x->page->env->is_track ? 0 : x->page->env->interior_centers[route->bin[0]] - route->u[0];
}

static double fill_route(const picture *x, const tess_events_route *route, int64_t n_row,
                         double *cells)
{
    const int64_t n_place = x->page->info->n_place;
    double most = 0;
    for (int64_t r = 0; r < n_row; r++) {
        const double u = ((double)r + 0.5) / (double)n_row * route->length;
        const int32_t place = route->bin[bin_near(route, u)];
        for (int64_t t = 0; t < x->event->n_bin; t++) {
            const double value = x->rows[t * n_place + place];
            cells[t * n_row + r] = x->counted[t] ? value : (double)NAN;
            most = x->counted[t] && value > most ? value : most;
        }
    }
    return most;
}

// The line at the middle of every bin, as far as it is on the track.
static void fill_line(const picture *x, const tess_events_route *route, double *time, double *place)
{
    for (int64_t t = 0; t < x->event->n_bin; t++) {
        const double step = 1e-3 * x->width * x->event->line_velocity;
        const double u = x->event->line_intercept + (t > 0 ? step * (double)t : 0);
        const bool is_on = u >= 0 && u <= route->length;
        time[t] = ((double)t + 0.5) * x->width;
        place[t] = is_on ? origin_of(x, route) + u : (double)NAN;
    }
}

static tess_status draw_route(picture *x, bool is_folded)
{
    tess_de_events_page *p = x->page;
    const int32_t at = x->event->line_route >= 0 ? x->event->line_route : 0;
    const tess_events_route *route = &p->routes[at];
    const int64_t n_bin = x->event->n_bin;
    const double wish = round(0.5 * route->length / route->step);
    const int64_t n_row = wish < 1 ? 1 : wish > 2000 ? 2000 : (int64_t)wish;
    double *cells = tess_blocks_alloc(&x->memory, n_bin * n_row, sizeof *cells, MEMORY);
    double *time = tess_blocks_alloc(&x->memory, 2 * n_bin, sizeof *time, MEMORY);
    char title[128];
    char note[200];
    if (!cells || !time) {
        return TESS_E_MEMORY;
    }
    const double most = fill_route(x, route, n_row, cells);
    fill_line(x, route, time, time + n_bin);
    title_of(x, title);
    const tess_figure_map map = {.values = cells,
                                 .n_column = n_bin,
                                 .n_row = n_row,
                                 .label = "posterior",
                                 .low = 0,
                                 .high = most > 0 ? most : 1};
    const tess_figure_series line = {
        .name = "best line", .x = time, .y = time + n_bin, .n = n_bin, .colour = 1};
    snprintf(note, sizeof note, "%s%.0f cm/s; grey: bins that do not count.",
             p->env->is_track ? "The route of the best line, " : "Line of ",
             x->event->line_velocity);
    const double origin = origin_of(x, route);
    const tess_figure figure = {.title = title,
                                .x = time_axis(x),
                                .y = {.label = p->env->is_track ? "along the route" : "position",
                                      .unit = "cm",
                                      .low = origin,
                                      .high = origin + route->length},
                                .height = MAP_HEIGHT,
                                .is_narrow = !is_folded,
                                .needs_script = is_folded,
                                .map = &map,
                                .series = &line,
                                .n_series = x->event->line_route >= 0,
                                .note = is_folded ? note : NULL};
    tess_figure_draw(&p->html, &figure);
    return TESS_OK;
}

// ---- On a plane -------------------------------------------------------------------------------

static int64_t best_place(const picture *x, int64_t t)
{
    const int64_t n_place = x->page->info->n_place;
    const double *row = x->rows + t * n_place;
    int64_t best = 0;
    for (int64_t k = 1; k < n_place; k++) {
        best = row[k] > row[best] ? k : best;
    }
    return best;
}

// Mean posterior of the counted bins, by cells of the grid; grey is no place.
static double fill_plane(const picture *x, double *cells)
{
    const tess_decode_environment_info *env = x->page->env;
    const int64_t n_place = x->page->info->n_place;
    double most = 0;
    for (int64_t b = 0; b < env->n_bin; b++) {
        cells[b] = (double)NAN;
    }
    for (int64_t k = 0; k < n_place; k++) {
        double sum = 0;
        for (int64_t t = 0; t < x->event->n_bin; t++) {
            sum += x->counted[t] ? x->rows[t * n_place + k] : 0;
        }
        cells[env->interior_bin[k]] = sum / (double)x->event->n_counted;
        most = fmax(most, cells[env->interior_bin[k]]);
    }
    return most;
}

static tess_figure_axis plane_axis(const tess_decode_environment_info *env, int axis)
{
    return (tess_figure_axis){.label = axis ? "y" : "x",
                              .unit = "cm",
                              .low = env->bin_edges[axis][0],
                              .high = env->bin_edges[axis][env->grid_shape[axis]]};
}

static tess_status draw_plane(picture *x, bool is_folded)
{
    tess_de_events_page *p = x->page;
    const tess_decode_environment_info *env = p->env;
    double *cells = tess_blocks_alloc(&x->memory, env->n_bin, sizeof *cells, MEMORY);
    double *path = tess_blocks_alloc(&x->memory, 2 * x->event->n_bin, sizeof *path, MEMORY);
    int64_t n = 0;
    char title[128];
    if (!cells || !path) {
        return TESS_E_MEMORY;
    }
    double *const y = path + x->event->n_bin;
    for (int64_t t = 0; t < x->event->n_bin; t++) {
        if (x->counted[t]) {
            const double *centre = env->interior_centers + 2 * best_place(x, t);
            path[n] = centre[0];
            y[n++] = centre[1];
        }
    }
    title_of(x, title);
    const double most = fill_plane(x, cells);
    const tess_figure_map map = {.values = cells,
                                 .n_column = env->grid_shape[0],
                                 .n_row = env->grid_shape[1],
                                 .label = "mean posterior",
                                 .low = 0,
                                 .high = most > 0 ? most : 1};
    const tess_figure_series series[] = {
        {.name = "most likely places", .x = path, .y = y, .n = n, .colour = 1},
        {.name = "the first", .x = path, .y = y, .n = 1, .style = TESS_FIGURE_POINTS, .colour = 2}};
    const tess_figure figure = {.title = title,
                                .x = plane_axis(env, 0),
                                .y = plane_axis(env, 1),
                                .is_narrow = true,
                                .is_square = true,
                                .needs_script = is_folded,
                                .map = &map,
                                .series = series,
                                .n_series = n > 0 ? 2 : 0};
    tess_figure_draw(&p->html, &figure);
    return TESS_OK;
}

// ---- States and spikes ------------------------------------------------------------------------

static tess_status draw_states(picture *x)
{
    tess_de_events_page *p = x->page;
    const tess_decode_events_info *info = p->info;
    const int64_t n_state = info->n_state < MAX_STATE_LINES ? info->n_state : MAX_STATE_LINES;
    const int64_t n_bin = x->event->n_bin;
    tess_figure_series series[MAX_STATE_LINES];
    double *room = tess_blocks_alloc(&x->memory, (n_state + 1) * n_bin, sizeof *room, MEMORY);
    if (!room) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < n_bin; t++) {
        room[n_state * n_bin + t] = ((double)t + 0.5) * x->width;
        for (int64_t s = 0; s < n_state; s++) {
            room[s * n_bin + t] = info->state_rows[(x->event->first_row + t) * info->n_state + s];
        }
    }
    for (int64_t s = 0; s < n_state; s++) {
        series[s] = (tess_figure_series){.name = info->state_names[s],
                                         .x = room + n_state * n_bin,
                                         .y = room + s * n_bin,
                                         .n = n_bin,
                                         .colour = (int)s};
    }
    const tess_figure figure = {.title = "States",
                                .x = time_axis(x),
                                .y = {.label = "probability", .low = -0.03, .high = 1.03},
                                .height = 130,
                                .needs_script = true,
                                .series = series,
                                .n_series = (int)n_state};
    if (n_state > 0) {
        tess_figure_draw(&p->html, &figure);
    }
    return TESS_OK;
}

static tess_status draw_raster(picture *x)
{
    tess_de_events_page *p = x->page;
    const tess_decode_spikes *spikes = p->spikes;
    const double end = x->event->start + 1e-3 * (double)x->event->n_bin * x->width;
    const int64_t most = x->event->n_spike;
    double *time = tess_blocks_alloc(&x->memory, 2 * most, sizeof *time, MEMORY);
    int64_t n = 0;
    if (!time) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; spikes && e < spikes->n_electrode; e++) {
        for (int64_t i = 0; i < spikes->n_spike[e] && n < most; i++) {
            const double s = spikes->times[e][i];
            if (s >= x->event->start && s < end) {
                time[n] = 1e3 * (s - x->event->start);
                time[most + n++] = (double)e;
            }
        }
    }
    const tess_figure_series points = {
        .name = "spikes", .x = time, .y = time + most, .n = n, .style = TESS_FIGURE_POINTS};
    const tess_figure figure = {.title = "Spikes",
                                .x = time_axis(x),
                                .y = {.label = "electrode or unit",
                                      .low = -1,
                                      .high = spikes ? (double)spikes->n_electrode : 1},
                                .height = 150,
                                .needs_script = true,
                                .series = &points,
                                .n_series = 1};
    if (n > 0) {
        tess_figure_draw(&p->html, &figure);
    }
    return TESS_OK;
}

// ---- All of them ------------------------------------------------------------------------------

static picture open_picture(tess_de_events_page *p, int64_t index)
{
    const tess_decode_event *event = &p->info->events[index];
    picture x = {.page = p,
                 .event = event,
                 .index = index,
                 .rows = p->info->posterior + event->first_row * p->info->n_place,
                 .counted = p->info->is_counted + event->first_row,
                 .width = 1e3 * p->info->event_bin};
    tess_blocks_init(&x.memory, &p->html.ctx->heap);
    return x;
}

static tess_status draw_posterior(picture *x, bool is_folded)
{
    return x->page->info->n_route > 0 ? draw_route(x, is_folded) : draw_plane(x, is_folded);
}

static tess_status draw_whole(picture *x)
{
    TESS_TRY(draw_posterior(x, true));
    TESS_TRY(draw_states(x));
    TESS_TRY(draw_raster(x));
    tess_de_events_page_scores(x->page, x->index);
    return TESS_OK;
}

static tess_status draw_grid(tess_de_events_page *p)
{
    const int64_t n = p->n_drawn < N_GRID ? p->n_drawn : N_GRID;
    tess_status status = TESS_OK;
    tess_html_row_begin(&p->html);
    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        picture x = open_picture(p, p->best[i]);
        status = draw_posterior(&x, false);
        tess_blocks_free(&x.memory);
    }
    tess_html_row_end(&p->html);
    return status;
}

static tess_status write_folds(tess_de_events_page *p)
{
    tess_status status = TESS_OK;
    for (int64_t i = 0; status == TESS_OK && i < p->n_drawn; i++) {
        char id[32];
        char summary[192];
        char title[128];
        picture x = open_picture(p, p->best[i]);
        title_of(&x, title);
        snprintf(id, sizeof id, "event%lld", (long long)x.event->event);
        snprintf(summary, sizeof summary, "%s; %.4f s, %.0f ms, %lld spikes", title, x.event->start,
                 1e3 * x.event->duration, (long long)x.event->n_spike);
        tess_html_fold_begin(&p->html, id, summary, false);
        status = draw_whole(&x);
        tess_html_fold_end(&p->html);
        tess_blocks_free(&x.memory);
    }
    return status;
}

tess_status tess_de_events_page_pictures(tess_de_events_page *p)
{
    if (p->n_drawn == 0) {
        return TESS_OK;
    }
    tess_html_heading(&p->html, "The most significant events");
    if (p->info->n_route == 0 && p->env->n_place_dim != 2) {
        tess_de_events_say(p, "Places of %lld dimensions are not drawn.",
                           (long long)p->env->n_place_dim);
        return TESS_OK;
    }
    tess_de_events_say(p, "%lld of %lld scored events; report_events draws more.%s",
                       (long long)p->n_drawn, (long long)p->n_best,
                       p->info->n_route > 0
                           ? " Lines are the best of all that were tried, and shuffles have theirs "
                             "too: a line alone is no evidence."
                           : "");
    TESS_TRY(draw_grid(p));
    return write_folds(p);
}
