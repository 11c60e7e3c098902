// Everything over time, on one axis.
#include "systems/decode/report/tracks.h"

#include "base/status.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAP_HEIGHT = 260, LINE_HEIGHT = 150, MAX_SERIES = 8, COLOURS = 8 };

// In a longer result the animal goes back and forth within a column and would cover the posterior.
static const double LONG = 4000; // s

// Means are drawn where a column stands for this many time bins, and least and largest say little.
enum { MANY_BINS = 50 };

static const tess_figure_axis PROBABILITY = {
    .label = "probability", .low = -TESS_DE_PAGE_MARGIN, .high = 1 + TESS_DE_PAGE_MARGIN};

typedef struct timeline {
    tess_de_page *page;
    const tess_de_tracks *tracks;
    const tess_figure_mark *marks;
    int64_t n_mark;
} timeline;

static tess_figure_axis time_axis(const timeline *t)
{
    const tess_de_time_axis *axis = &t->page->facts->axis;
    const double first = axis->first - (axis->is_time ? t->page->origin : 0);
    return (tess_figure_axis){.label = t->page->time_label,
                              .unit = axis->is_time ? "s" : "",
                              .low = first,
                              .high = first + (double)axis->n_column * axis->step};
}

static tess_figure start(const timeline *t, const char *title, int height)
{
    return (tess_figure){.title = title,
                         .group = TESS_DE_PAGE_GROUP,
                         .x = time_axis(t),
                         .height = height,
                         .marks = t->marks,
                         .n_mark = t->n_mark};
}

// Edges of the lowest and highest line, half a step beyond the centres.
static void place_range(const tess_de_lines *lines, double *low, double *high)
{
    const int64_t n = lines->n_line;
    const double half =
        n > 1 ? (lines->position[n - 1] - lines->position[0]) / (double)(n - 1) / 2 : 1;
    *low = n > 0 ? lines->position[0] - half : 0;
    *high = n > 0 ? lines->position[n - 1] + half : 1;
}

static void draw_map(const timeline *t, int32_t environment, int32_t axis)
{
    const tess_de_view *v = t->page->view;
    const tess_pyramid *pyramid = &t->tracks->maps[environment][axis];
    const char *name = v->environments[environment].name;
    const bool has_truth =
        environment == 0 && tess_de_view_has_truth(v) && v->end - v->start < LONG;
    char title[128];
    char note[128];
    if (!pyramid->ctx) {
        return;
    }
    const tess_figure_map map = {.pyramid = pyramid,
                                 .label = "posterior",
                                 .low = 0,
                                 .high = t->tracks->bright[environment][axis]};
    const tess_figure_series truth = {.name = "animal",
                                      .pyramid = &t->tracks->positions,
                                      .row =
                                          (int64_t)axis * TESS_DE_TRACK_ROWS + TESS_DE_TRACK_ANIMAL,
                                      .colour = 1};
    snprintf(title, sizeof title, "Posterior over %s%s%s", tess_de_page_axis_name(t->page, axis),
             v->n_environment > 1 ? ", environment " : "", v->n_environment > 1 ? name : "");
    tess_figure figure = start(t, title, MAP_HEIGHT);
    figure.y.label = tess_de_page_axis_name(t->page, axis);
    figure.y.unit = "cm";
    place_range(&t->tracks->digest.lines[environment][axis], &figure.y.low, &figure.y.high);
    figure.map = &map;
    figure.n_mark = 0; // shades would change the colours
    figure.series = &truth;
    figure.n_series = has_truth ? 1 : 0;
    snprintf(note, sizeof note,
             "Largest value of the time bins that a column stands for; what is above %.3g has the "
             "last colour.",
             map.high);
    figure.note = note;
    tess_figure_draw(&t->page->html, &figure);
}

static void draw_states(const timeline *t)
{
    const tess_de_view *v = t->page->view;
    const int32_t n_state = v->n_state < MAX_SERIES ? v->n_state : MAX_SERIES;
    const bool has_events = t->page->facts->events.rule == TESS_DE_EVENTS_BY_DISTANCE;
    tess_figure_series series[MAX_SERIES + 1];
    char names[MAX_SERIES][64];
    for (int32_t s = 0; s < n_state; s++) {
        tess_de_view_state_name(v, s, names[s], sizeof names[s]);
        series[s] = (tess_figure_series){
            .name = names[s], .pyramid = &t->tracks->states, .row = s, .colour = s % COLOURS};
    }
    series[n_state] = (tess_figure_series){.name = "away from the animal",
                                           .pyramid = &t->tracks->states,
                                           .row = v->n_state,
                                           .colour = n_state % COLOURS};
    tess_figure figure = start(t, "State probabilities", LINE_HEIGHT + 30);
    figure.y = PROBABILITY;
    figure.series = series;
    figure.n_series = n_state + has_events;
    figure.note = v->n_state > MAX_SERIES
                      ? "From the least to the largest probability of the time bins that a column "
                        "stands for; the first eight states are drawn."
                      : "From the least to the largest probability of the time bins that a column "
                        "stands for, so that an event of a single bin shows.";
    tess_figure_draw(&t->page->html, &figure);
}

// Least and largest are 0 and 1 nearly everywhere in a long result: means tell hours apart.
static void draw_means(const timeline *t)
{
    const tess_de_view *v = t->page->view;
    const tess_de_facts *f = t->page->facts;
    const int32_t n_state = v->n_state < MAX_SERIES ? v->n_state : MAX_SERIES;
    const double origin = t->page->origin;
    tess_figure_series series[MAX_SERIES];
    char names[MAX_SERIES][64];
    char note[160];
    double times[TESS_DE_FACTS_MEANS];
    if (v->n_time < (int64_t)MANY_BINS * TESS_DE_FACTS_MEANS || !f->axis.is_time) {
        return;
    }
    for (int64_t i = 0; i < f->n_mean; i++) {
        times[i] = f->mean_times[i] - origin;
    }
    for (int32_t s = 0; s < n_state; s++) {
        tess_de_view_state_name(v, s, names[s], sizeof names[s]);
        series[s] = (tess_figure_series){.name = names[s],
                                         .x = times,
                                         .y = f->state_means + s * f->n_mean,
                                         .n = f->n_mean,
                                         .colour = s % COLOURS};
    }
    snprintf(note, sizeof note, "Means of %.3g s each; stays whole while the others are zoomed.",
             (v->end - v->start) / (double)f->n_mean);
    tess_figure figure = start(t, "Mean state probabilities", LINE_HEIGHT);
    figure.y = PROBABILITY;
    figure.series = series;
    figure.n_series = n_state;
    figure.note = note;
    figure.group = NULL;
    figure.n_mark = 0;
    tess_figure_draw(&t->page->html, &figure);
}

static void draw_positions(const timeline *t, int32_t axis)
{
    // The last is drawn on top.
    static const struct {
        int row;
        const char *name;
        int colour;
    } lines[] = {{TESS_DE_TRACK_LOW, "2.5 % of the posterior below", 7},
                 {TESS_DE_TRACK_HIGH, "2.5 % above", 7},
                 {TESS_DE_TRACK_PEAK, "decoded", 0},
                 {TESS_DE_TRACK_ANIMAL, "animal", 1}};
    const int n =
        tess_de_view_has_truth(t->page->view) ? TESS_DE_TRACK_ROWS : TESS_DE_TRACK_ROWS - 1;
    tess_figure_series series[TESS_DE_TRACK_ROWS];
    char title[64];
    for (int i = 0; i < n; i++) {
        series[i] = (tess_figure_series){.name = lines[i].name,
                                         .pyramid = &t->tracks->positions,
                                         .row = (int64_t)axis * TESS_DE_TRACK_ROWS + lines[i].row,
                                         .colour = lines[i].colour};
    }
    snprintf(title, sizeof title, "Decoded %s", tess_de_page_axis_name(t->page, axis));
    tess_figure figure = start(t, title, LINE_HEIGHT + 30);
    figure.y.label = tess_de_page_axis_name(t->page, axis);
    figure.y.unit = "cm";
    place_range(&t->tracks->digest.lines[0][axis], &figure.y.low, &figure.y.high);
    figure.series = series;
    figure.n_series = n;
    figure.note = "Place of the largest posterior, states summed, with the central 95 % of it; a "
                  "gap where states without places hold more than half.";
    tess_figure_draw(&t->page->html, &figure);
}

static void draw_line(const timeline *t, const char *title, const tess_pyramid *pyramid,
                      const char *label, const char *unit, double high, const char *note)
{
    const tess_figure_series series = {.name = label, .pyramid = pyramid};
    tess_figure figure = start(t, title, LINE_HEIGHT);
    figure.y = (tess_figure_axis){.label = label,
                                  .unit = unit,
                                  .low = -TESS_DE_PAGE_MARGIN * high,
                                  .high = (1 + TESS_DE_PAGE_MARGIN) * high};
    figure.series = &series;
    figure.n_series = 1;
    figure.note = note;
    tess_figure_draw(&t->page->html, &figure);
}

static void draw_spikes(const timeline *t)
{
    const int64_t n = t->tracks->counts.n_electrode;
    const int64_t group = tess_de_track_group(n);
    const double most = t->tracks->most_spikes;
    char note[160];
    const tess_figure_map map = {.pyramid = &t->tracks->spikes,
                                 .label = "spikes in a time bin",
                                 .low = 0,
                                 .high = most > 1 ? most : 1};
    if (group > 1) {
        snprintf(note, sizeof note,
                 "Largest count of the time bins that a column stands for; a line is %lld "
                 "electrodes or units, the one with most spikes.",
                 (long long)group);
    } else {
        snprintf(note, sizeof note, "Largest count of the time bins that a column stands for.");
    }
    tess_figure figure = start(t, "Spikes", LINE_HEIGHT + 30);
    figure.y =
        (tess_figure_axis){.label = "electrode or unit", .low = -0.5, .high = (double)n - 0.5};
    figure.map = &map;
    figure.n_mark = 0;
    figure.note = note;
    tess_figure_draw(&t->page->html, &figure);
    draw_line(t, "Multi-unit rate", &t->tracks->rate, "spikes", "1/s",
              t->tracks->most_rate > 0 ? t->tracks->most_rate : 1,
              "Spikes of all electrodes within 10 ms of the start of a time bin.");
}

// The events of the table.
static tess_status collect_marks(const tess_de_page *p, tess_blocks *memory,
                                 tess_figure_mark **marks, int64_t *n_mark)
{
    const tess_de_events *events = &p->facts->events;
    const tess_de_time_axis *axis = &p->facts->axis;
    const double origin = axis->is_time ? p->origin : 0;
    const uint8_t *is_listed = tess_de_events_listed(events, memory, TESS_DE_LISTED_EVENTS);
    *marks = tess_blocks_alloc(memory, events->n_item, sizeof **marks, "events");
    *n_mark = 0;
    if (!is_listed || !*marks) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < events->n_item; i++) {
        double low = 0;
        double high = 0;
        tess_de_event_span(axis, &events->items[i], &low, &high);
        if (is_listed[i]) {
            (*marks)[(*n_mark)++] = (tess_figure_mark){.low = low - origin, .high = high - origin};
        }
    }
    return TESS_OK;
}

static void write_text(const timeline *t)
{
    tess_de_page *p = t->page;
    const tess_de_time_axis *axis = &p->facts->axis;
    tess_html_heading(&p->html, "Over time");
    tess_de_page_say(
        p,
        "All pictures of this section share one axis: zoom or move one and the others "
        "follow; the cursor reads the values of all. Shades are the non-local events of "
        "the table below; the arrows beside a picture that has them (keys n and p) go "
        "from one to the next.%s",
        axis->is_time && axis->has_gaps ? " The result has gaps in time." : "");
    if (!t->tracks->has_all) {
        tess_de_page_say(p, "The page has room for single time bins around the strongest events "
                            "only: --max-size gives it more, --from and --to look at a part.");
    }
    if (!axis->is_time) {
        tess_de_page_say(p, "The axis counts time bins: their times go back, or have gaps too long "
                            "to draw.");
    }
    if (p->score.n_local > 0) {
        tess_de_page_say(p, "Local has no place of its own and is not in the posterior: see the "
                            "states.");
    }
}

static void draw(const timeline *t)
{
    tess_de_page *p = t->page;
    const tess_de_view *v = p->view;
    for (int32_t e = 0; e < v->n_environment; e++) {
        for (int32_t a = 0; a < v->n_axis; a++) {
            draw_map(t, e, a);
        }
    }
    draw_means(t);
    draw_states(t);
    for (int32_t a = 0; a < v->n_axis && v->n_place > 0; a++) {
        draw_positions(t, a);
    }
    if (t->tracks->counts.n_electrode > 0) {
        draw_spikes(t);
    }
    if (tess_de_view_has_truth(v)) {
        draw_line(t, "Speed of the animal", &t->tracks->speed, "speed", "cm/s",
                  p->facts->largest_speed > 0 ? p->facts->largest_speed : 1,
                  v->track ? "Way over half a second around a time bin, along the track."
                           : "Way over half a second around a time bin, in the coordinates of the "
                             "places.");
    }
}

tess_status tess_de_page_timeline(tess_de_page *p)
{
    tess_blocks memory;
    tess_de_tracks tracks;
    tess_figure_mark *marks = NULL;
    timeline t = {.page = p, .tracks = &tracks};
    if (p->view->n_time == 0) {
        return TESS_OK;
    }
    tess_blocks_init(&memory, &p->view->ctx->heap);
    tess_status status = collect_marks(p, &memory, &marks, &t.n_mark);
    t.marks = marks;
    if (status == TESS_OK) {
        status = tess_de_tracks_make(p->facts, p->config, p->facts->axis.is_time ? p->origin : 0,
                                     &tracks);
    }
    if (status == TESS_OK) {
        write_text(&t);
        draw(&t);
        tess_de_tracks_destroy(&tracks);
    }
    tess_blocks_free(&memory);
    return status;
}
