// The non-local events of a result, as a table.
#include "base/status.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>

// A longer table is folded.
enum { MAX_OPEN = 100, N_CELL = 9, CELL = 96 };

static void number(char cell[CELL], const char *format, double value)
{
    if (isnan(value)) {
        cell[0] = 0;
    } else {
        snprintf(cell, CELL, format, value);
    }
}

// The state that holds most, and how much.
static void state(char cell[CELL], const tess_de_page *p, const tess_de_event *e)
{
    char name[64];
    cell[0] = 0;
    if (e->state >= 0) {
        tess_de_view_state_name(p->view, e->state, name, sizeof name);
        snprintf(cell, CELL, "%s (%.2f)", name, e->state_probability);
    }
}

// First and last place.
static void path(char cell[CELL], const tess_de_page *p, const tess_de_event *e)
{
    const double *const ends[] = {e->from, e->to};
    size_t used = 0;
    cell[0] = 0;
    for (int i = 0; i < 2 && !isnan(e->from[0]); i++) {
        used += (size_t)snprintf(cell + used, CELL - used, "%s", i ? " \u2192 " : "");
        for (int32_t a = 0; a < p->view->n_axis; a++) {
            used += (size_t)snprintf(cell + used, CELL - used, a ? ", %.0f" : "%.0f", ends[i][a]);
            used = used < CELL ? used : CELL - 1;
        }
    }
}

// Velocity along the axis, or away from the animal where there are several, and in words whether
// the decoded place moved away from the animal, by more than a place over the event.
static void movement(char cell[CELL], const tess_de_page *p, const tess_de_event *e)
{
    const double velocity = p->view->n_axis == 1 ? e->velocity : e->departure;
    const double way = e->departure * e->duration;
    const double least = isnan(p->view->spacing) ? 0 : p->view->spacing;
    const char *words = isnan(way)     ? ""
                        : way > least  ? " away"
                        : way < -least ? " towards"
                                       : " stays";
    cell[0] = 0;
    if (!isnan(velocity)) {
        snprintf(cell, CELL, "%.0f%s", velocity, words);
    }
}

static void write_row(tess_de_page *p, const tess_de_event *e)
{
    char cells[N_CELL][CELL];
    const char *row[N_CELL];
    int n = 0;
    double low = 0;
    double high = 0;
    snprintf(cells[n++], CELL, "%.4f", e->start);
    snprintf(cells[n++], CELL, "%.1f", 1e3 * e->duration);
    state(cells[n++], p, e);
    number(cells[n++], "%.3f", e->mean);
    path(cells[n++], p, e);
    number(cells[n++], "%.1f", e->distance);
    movement(cells[n++], p, e);
    number(cells[n++], "%.1f", e->speed);
    if (e->n_spike >= 0) {
        snprintf(cells[n++], CELL, "%lld", (long long)e->n_spike);
    }
    for (int i = 0; i < n; i++) {
        row[i] = cells[i];
    }
    const tess_de_time_axis *axis = &p->facts->axis;
    const double origin = axis->is_time ? p->origin : 0;
    tess_de_event_span(axis, e, &low, &high);
    tess_html_table_row_at(&p->html, row, n, TESS_DE_PAGE_GROUP, low - origin, high - origin);
}

static int list_heads(const tess_de_page *p, const char *heads[N_CELL])
{
    int n = 0;
    heads[n++] = "start (s)";
    heads[n++] = "lasts (ms)";
    heads[n++] = "state";
    heads[n++] = "P(non-local)";
    heads[n++] = "path (cm)";
    heads[n++] = "distance (cm)";
    heads[n++] = "moves (cm/s)";
    heads[n++] = "speed (cm/s)";
    if (p->config->recording) {
        heads[n++] = "spikes";
    }
    return n;
}

static void write_definition(tess_de_page *p)
{
    const tess_de_events *events = &p->facts->events;
    if (events->rule == TESS_DE_EVENTS_BY_STATE) {
        tess_de_page_say(p,
                         "An event is a run of time bins in which states with places other than "
                         "Local together have a probability of at least %.3g, for at least %.4g s.",
                         events->threshold, events->min_duration);
    } else {
        tess_de_page_say(p,
                         "No state is Local: an event is a run of time bins in which at least %.3g "
                         "of the posterior lies farther than %.4g cm from the animal, for at least "
                         "%.4g s.",
                         events->threshold, events->distance, events->min_duration);
    }
    const double seconds = p->view->end - p->view->start + p->view->step;
    tess_de_page_say(p,
                     events->n_found == 1
                         ? "%lld event, %.4g s in all, %.2g %% of the time, %.3g per minute."
                         : "%lld events, %.4g s in all, %.2g %% of the time, %.3g per minute.",
                     (long long)events->n_found, events->seconds,
                     seconds > 0 ? 100 * events->seconds / seconds : 0,
                     seconds > 0 ? 60 * (double)events->n_found / seconds : 0);
}

// The strongest events, as many as the table takes, in order of time.
static tess_status write_rows(tess_de_page *p)
{
    const tess_de_events *events = &p->facts->events;
    tess_blocks memory;
    tess_blocks_init(&memory, &p->view->ctx->heap);
    const uint8_t *is_listed = tess_de_events_listed(events, &memory, TESS_DE_LISTED_EVENTS);
    if (!is_listed) {
        tess_blocks_free(&memory);
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < events->n_item; i++) {
        if (is_listed[i]) {
            write_row(p, &events->items[i]);
        }
    }
    tess_blocks_free(&memory);
    return TESS_OK;
}

tess_status tess_de_page_events(tess_de_page *p)
{
    const tess_de_events *events = &p->facts->events;
    const char *heads[N_CELL];
    char summary[64];
    tess_html_heading(&p->html, "Non-local events");
    if (events->rule == TESS_DE_EVENTS_NONE) {
        tess_de_page_say(p, "There is no telling: no state is Local, and the animal's position is "
                            "not known.");
        return TESS_OK;
    }
    write_definition(p);
    if (events->n_item == 0) {
        tess_de_page_say(p, "--event-threshold and --event-min-duration look for others.");
        return TESS_OK;
    }
    const int64_t n =
        events->n_item < TESS_DE_LISTED_EVENTS ? events->n_item : TESS_DE_LISTED_EVENTS;
    tess_de_page_say(p,
                     "A click on a start goes there. State: the one that holds most, with its mean "
                     "probability. Path: first and last place of the largest posterior; distance: "
                     "its mean from the animal; moves: its velocity %s, and whether it leads away "
                     "from the animal; speed: of the animal.%s",
                     p->view->track         ? "along the track, from its first place"
                     : p->view->n_axis == 1 ? "along the axis"
                                            : "away from the animal",
                     n < events->n_found
                         ? " The 2,000 strongest are listed; --from and --to look at "
                           "others."
                         : "");
    snprintf(summary, sizeof summary, n == 1 ? "Table of %lld event" : "Table of %lld events",
             (long long)n);
    tess_html_fold_begin(&p->html, "events", summary, n <= MAX_OPEN);
    tess_html_table_begin(&p->html, heads, list_heads(p, heads));
    const tess_status status = write_rows(p);
    tess_html_table_end(&p->html);
    tess_html_fold_end(&p->html);
    return status;
}
