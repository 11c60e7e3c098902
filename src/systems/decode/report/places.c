// By place: where the animal was and how far decoding was off there; the plane at single moments.
#include "base/status.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "the report";

enum { N_MOMENT = 6 };

// The animal's environment as cells of a picture.
typedef struct plane {
    tess_blocks memory;
    tess_de_digest digest;
    int64_t n_x;
    int64_t n_y;
    double *cells; // [n_x][n_y]
} plane;

static void plane_destroy(plane *g)
{
    tess_de_digest_destroy(&g->digest);
    tess_blocks_free(&g->memory);
}

static tess_status plane_create(const tess_de_page *p, plane *g)
{
    memset(g, 0, sizeof *g);
    tess_blocks_init(&g->memory, &p->view->ctx->heap);
    TESS_TRY(tess_de_digest_create(p->view, &g->digest));
    g->n_x = g->digest.lines[0][0].n_line;
    g->n_y = p->view->n_axis > 1 ? g->digest.lines[0][1].n_line : 1;
    g->cells = tess_blocks_alloc(&g->memory, g->n_x * g->n_y, sizeof *g->cells, MEMORY);
    if (!g->cells) {
        plane_destroy(g);
        return TESS_E_MEMORY;
    }
    return TESS_OK;
}

// Values by place into cells; what is no place is NaN, and so are places that weigh nothing.
static double plane_fill(const tess_de_page *p, plane *g, const double *values,
                         const double *weights)
{
    const int64_t *x = g->digest.lines[0][0].of_place;
    const int64_t *y = p->view->n_axis > 1 ? g->digest.lines[0][1].of_place : NULL;
    double most = 0;
    for (int64_t i = 0; i < g->n_x * g->n_y; i++) {
        g->cells[i] = (double)NAN;
    }
    for (int64_t i = 0; i < p->view->environments[0].n_place; i++) {
        if (!weights || weights[i] > 0) {
            const double value = weights ? values[i] / weights[i] : values[i];
            g->cells[x[i] * g->n_y + (y ? y[i] : 0)] = value;
            most = value > most ? value : most;
        }
    }
    return most;
}

static tess_figure_axis plane_axis(const tess_de_page *p, const plane *g, int32_t axis)
{
    const tess_de_lines *lines = &g->digest.lines[0][axis];
    const int64_t n = lines->n_line;
    const double half =
        n > 1 ? (lines->position[n - 1] - lines->position[0]) / (double)(n - 1) / 2 : 1;
    return (tess_figure_axis){.label = tess_de_page_axis_name(p, axis),
                              .unit = "cm",
                              .low = lines->position[0] - half,
                              .high = lines->position[n - 1] + half};
}

// animal: a point of its own; NULL, or not known: none.
static void draw_plane(tess_de_page *p, const plane *g, const char *title, const char *label,
                       const char *unit, double most, const double *animal)
{
    const bool has_animal = animal && isfinite(animal[0]) && isfinite(animal[1]);
    const tess_figure_series point = {.name = "animal",
                                      .x = animal,
                                      .y = animal ? animal + 1 : NULL,
                                      .n = 1,
                                      .style = TESS_FIGURE_POINTS};
    const tess_figure_map map = {.values = g->cells,
                                 .n_column = g->n_x,
                                 .n_row = g->n_y,
                                 .label = label,
                                 .unit = unit,
                                 .low = 0,
                                 .high = most > 0 ? most : 1};
    const tess_figure figure = {.title = title,
                                .x = plane_axis(p, g, 0),
                                .y = plane_axis(p, g, 1),
                                .is_narrow = true,
                                .is_square = true,
                                .map = &map,
                                .series = &point,
                                .n_series = has_animal};
    tess_figure_draw(&p->html, &figure);
}

static void draw_along(tess_de_page *p, const plane *g, const char *title, const char *label,
                       const char *unit, double most)
{
    const double high = most > 0 ? most : 1;
    const tess_figure_series line = {
        .name = label, .x = g->digest.lines[0][0].position, .y = g->cells, .n = g->n_x};
    const tess_figure figure = {
        .title = title,
        .x = plane_axis(p, g, 0),
        .y = {.label = label, .unit = unit, .low = 0, .high = (1 + TESS_DE_PAGE_MARGIN) * high},
        .height = 180,
        .is_narrow = true,
        .series = &line,
        .n_series = 1};
    tess_figure_draw(&p->html, &figure);
}

static void draw(tess_de_page *p, plane *g, const double *values, const double *weights,
                 const char *title, const char *label, const char *unit)
{
    const double most = plane_fill(p, g, values, weights);
    if (p->view->n_axis == 2) {
        draw_plane(p, g, title, label, unit, most, NULL);
    } else {
        draw_along(p, g, title, label, unit, most);
    }
}

tess_status tess_de_page_places(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_agreement *a = &p->facts->agreement;
    plane g;
    if (a->n_scored == 0 || v->n_axis > 2 || v->n_environment == 0) {
        return TESS_OK;
    }
    TESS_TRY(plane_create(p, &g));
    const int64_t n = v->environments[0].n_place;
    double *seconds = tess_blocks_alloc(&g.memory, n, sizeof *seconds, MEMORY);
    if (!seconds) {
        plane_destroy(&g);
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        seconds[i] = a->seen[i] * v->step * (double)p->facts->step;
    }
    tess_html_heading(&p->html, "By place");
    tess_de_page_say(p, "Scored time bins by %s: how long it was there, and the mean error.",
                     v->represented_position ? "the place represented" : "the animal's place");
    tess_html_row_begin(&p->html);
    draw(p, &g, seconds, NULL, "Occupancy", "time", "s");
    draw(p, &g, a->error_sum, a->seen, "Mean error", "mean error", "cm");
    tess_html_row_end(&p->html);
    plane_destroy(&g);
    return TESS_OK;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// The middles of the strongest events, or times spread evenly where there are none.
static tess_status choose_moments(const tess_de_page *p, tess_blocks *memory,
                                  int64_t rows[N_MOMENT], int64_t *n_moment)
{
    const tess_de_events *events = &p->facts->events;
    const int64_t n_time = p->view->n_time;
    const tess_de_event **sorted = tess_de_events_strongest(events, memory);
    if (!sorted) {
        return TESS_E_MEMORY;
    }
    const int64_t n_there = events->n_item > 0 ? events->n_item : n_time;
    const int64_t n = n_there < N_MOMENT ? n_there : N_MOMENT;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = events->n_item > 0 ? sorted[i]->first_row + sorted[i]->n_row / 2
                                     : (2 * i + 1) * n_time / (2 * n);
    }
    qsort(rows, (size_t)n, sizeof *rows, ascending);
    *n_moment = n;
    return TESS_OK;
}

static tess_status read_moment(plane *g, tess_de_block *block, int64_t at, tess_de_row *row)
{
    block->capacity = 1;
    TESS_TRY(tess_de_block_read(block, at));
    tess_de_digest_row(&g->digest, block, 0, row);
    return TESS_OK;
}

// On one scale, so that what is bright in one is so in all.
static tess_status draw_moments(tess_de_page *p, plane *g, tess_de_block *block,
                                const int64_t *rows, int64_t n)
{
    tess_de_row row;
    char title[48];
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY(read_moment(g, block, rows[i], &row));
        most = fmax(most, plane_fill(p, g, row.place, NULL));
    }
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY(read_moment(g, block, rows[i], &row));
        plane_fill(p, g, row.place, NULL);
        snprintf(title, sizeof title, "%.10g s", row.time);
        draw_plane(p, g, title, "posterior", "", most, row.animal);
    }
    return TESS_OK;
}

tess_status tess_de_page_moments(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    plane g;
    tess_de_block block;
    int64_t rows[N_MOMENT];
    int64_t n = 0;
    if (v->n_axis != 2 || v->n_time == 0 || v->n_environment == 0) {
        return TESS_OK;
    }
    TESS_TRY(plane_create(p, &g));
    tess_status status = choose_moments(p, &g.memory, rows, &n);
    if (status == TESS_OK) {
        status = tess_de_block_create(v, &block);
    }
    if (status != TESS_OK) {
        plane_destroy(&g);
        return status;
    }
    tess_html_heading(&p->html, "Moments");
    tess_de_page_say(p, "Posterior over the plane, states summed, %s; grey: no place.",
                     p->facts->events.n_item > 0 ? "in the middle of the strongest events"
                                                 : "at times spread evenly");
    tess_html_row_begin(&p->html);
    status = draw_moments(p, &g, &block, rows, n);
    tess_html_row_end(&p->html);
    tess_de_block_destroy(&block);
    plane_destroy(&g);
    return status;
}
