// The pictures of a report that run over time.
#include "base/status.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_SNAPSHOT = 8, MAX_STATES = 16, HEIGHT = TESS_DE_PAGE_HEIGHT };

// Bright from a quarter of the mass in one bin on, as posteriors are usually shown, or from what
// nine columns in ten stay below.
static const double BRIGHT = 0.25;
static const double BRIGHT_SHARE = 0.9;

// Clock times have too many digits for the numbers of an axis: those count from the start.
static tess_html_axis time_axis(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    const double first = v->n_time > 0 ? v->time[0] : 0;
    const double last = v->n_time > 0 ? v->time[v->n_time - 1] : 1;
    const double span = last > first ? last - first : 1;
    if (fabs(first) < 1e5) {
        return (tess_html_axis){first, first + span, "time (s)"};
    }
    snprintf(p->time_label, sizeof p->time_label, "seconds after %.12g s", first);
    return (tess_html_axis){0, span, p->time_label};
}

// Edges of the lowest and highest line, half a step beyond the centres.
static tess_html_axis place_axis(const tess_de_page *p, int32_t axis, const char *label)
{
    const int64_t n = p->facts->n_line[axis];
    const double *at = p->facts->line_position[axis];
    const double half = n > 1 ? (at[n - 1] - at[0]) / (double)(n - 1) / 2 : 1;
    return (tess_html_axis){n > 0 ? at[0] - half : 0, n > 0 ? at[n - 1] + half : 1, label};
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double brightness(const tess_de_facts *f, int32_t axis)
{
    double peaks[TESS_DE_FACTS_COLUMNS];
    for (int64_t c = 0; c < f->n_column; c++) {
        peaks[c] = 0;
        for (int64_t i = 0; i < f->n_line[axis]; i++) {
            peaks[c] = fmax(peaks[c], f->map[axis][c * f->n_line[axis] + i]);
        }
    }
    qsort(peaks, (size_t)f->n_column, sizeof *peaks, ascending);
    const double high =
        f->n_column > 0 ? peaks[(int64_t)(BRIGHT_SHARE * (double)(f->n_column - 1))] : BRIGHT;
    return high > 0 && high < BRIGHT ? high : BRIGHT;
}

// "2 time bins each", and how long that is.
static void column_text(const tess_de_page *p, int64_t n_row, char *text, size_t capacity)
{
    const tess_de_view *v = p->view;
    const int64_t n_column = p->facts->n_column;
    const double bins = n_column > 0 ? (double)n_row / (double)n_column : 0;
    const double seconds = v->n_time > 1 && n_column > 0
                               ? (v->time[v->n_time - 1] - v->time[0]) / (double)n_column
                               : 0;
    if (bins <= 1) {
        snprintf(text, capacity, "Every time bin has its own column.");
    } else {
        snprintf(text, capacity, "A column is %.3g time bins (%.3g s).", bins, seconds);
    }
}

void tess_de_page_posterior(tess_de_page *p)
{
    static const char *const labels[] = {"x (cm)", "y (cm)", "z (cm)"};
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    char column[96];
    char sampled[64] = "";
    char placeless[128] = "";
    if (f->step > 1) {
        snprintf(sampled, sizeof sampled, ", of every %lld-th bin", (long long)f->step);
    }
    if (p->score.n_local > 0) {
        snprintf(placeless, sizeof placeless,
                 "Local has no place of its own and is not drawn: see the states.");
    }
    tess_html_heading(&p->html, "Posterior over place");
    for (int32_t a = 0; a < v->n_axis; a++) {
        const double bright = brightness(f, a);
        if (a == 0) {
            column_text(p, f->n_row * f->step, column, sizeof column);
            tess_de_page_say(p,
                             "Smoothed posterior, states with places summed. %s Each shows its "
                             "largest value%s. %s",
                             column, sampled, placeless);
        }
        tess_de_page_say(p, "Bright: %.2g and more.", bright);
        const tess_html_plot plot = {
            time_axis(p), place_axis(p, a, v->n_axis > 1 ? labels[a] : "position (cm)"), HEIGHT};
        const tess_html_series truth = {"true position", f->truth_mean[a], f->n_column};
        tess_html_image(&p->html, &plot, f->map[a], f->n_column, f->n_line[a], 0, bright, &truth,
                        v->truth[0] ? 1 : 0);
    }
}

void tess_de_page_states(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    const int32_t n_state = v->n_state < MAX_STATES ? v->n_state : MAX_STATES;
    char names[MAX_STATES][64];
    char column[96];
    tess_html_series lines[MAX_STATES];
    const double *means[MAX_STATES];
    for (int32_t s = 0; s < n_state; s++) {
        snprintf(names[s], sizeof names[s], "%.*s", (int)v->name_bytes,
                 v->names + s * v->name_bytes);
        lines[s] = (tess_html_series){names[s], f->state_most + s * f->n_column, f->n_column};
        means[s] = f->state_mean + s * f->n_column;
    }
    const tess_html_plot plot = {time_axis(p), {0, 1, "probability"}, HEIGHT / 2};
    tess_html_heading(&p->html, "States");
    column_text(p, v->n_time, column, sizeof column);
    tess_de_page_say(p,
                     "%s Lines: the largest probability of each state within a column, so that an "
                     "event of a single bin shows; the band under a line reaches down to the "
                     "column's mean. All time bins are looked at.",
                     column);
    tess_html_bands(&p->html, &plot, lines, means, n_state);
}

// Spikes of every electrode per column, relative to the electrode's busiest column.
tess_status tess_de_page_raster(tess_de_page *p)
{
    const tess_de_facts *f = p->facts;
    const tess_de_view *v = p->view;
    if (!p->recording || v->n_time < 2) {
        return TESS_OK;
    }
    const tess_decode_spikes *spikes = &p->recording->info.observation.spikes;
    const int64_t n_row = spikes->n_electrode;
    const double first = v->time[0];
    const double span = v->time[v->n_time - 1] - first;
    tess_blocks memory;
    tess_blocks_init(&memory, &v->ctx->heap);
    double *counts = tess_blocks_alloc(&memory, f->n_column * n_row, sizeof *counts, "the report");
    if (!counts) {
        tess_blocks_free(&memory);
        return TESS_E_MEMORY;
    }
    double most = 1;
    for (int64_t e = 0; e < n_row; e++) {
        for (int64_t i = 0; i < spikes->n_spike[e]; i++) {
            const double share = (spikes->times[e][i] - first) / span;
            if (share >= 0 && share <= 1) {
                const int64_t c = (int64_t)(share * (double)f->n_column);
                double *cell = &counts[(c < f->n_column ? c : f->n_column - 1) * n_row + e];
                *cell += 1;
                most = *cell > most ? *cell : most;
            }
        }
    }
    const tess_html_plot plot = {
        time_axis(p), {-0.5, (double)n_row - 0.5, "electrode"}, HEIGHT / 2};
    char text[96];
    snprintf(text, sizeof text, "Spikes per electrode and column; brightest: %.0f.", most);
    tess_html_heading(&p->html, "Spikes");
    tess_html_paragraph(&p->html, text);
    if (n_row > 0) {
        tess_html_image(&p->html, &plot, counts, f->n_column, n_row, 0, most, NULL, 0);
    }
    tess_blocks_free(&memory);
    return TESS_OK;
}

// The posterior over x and y at single moments; NaN outside.
static tess_status write_snapshot(tess_de_page *p, int64_t t, double *row, double *place,
                                  double *grid, void *raw)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    const int64_t n_x = f->n_line[0];
    const int64_t n_y = f->n_line[1];
    char caption[64];
    double most = 0;
    TESS_TRY(tess_de_view_rows(v->posterior, t, 1, raw, row));
    tess_de_place_posterior(v, row, place);
    for (int64_t i = 0; i < n_x * n_y; i++) {
        grid[i] = (double)NAN;
    }
    for (int64_t i = 0; i < v->n_place; i++) {
        grid[f->line_of_place[0][i] * n_y + f->line_of_place[1][i]] = place[i];
        most = place[i] > most ? place[i] : most;
    }
    snprintf(caption, sizeof caption, "%.10g s; brightest %.2g", v->time[t], most);
    tess_html_tile(&p->html, grid, n_x, n_y, 0, most > 0 ? most : 1, caption);
    return TESS_OK;
}

tess_status tess_de_page_snapshots(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    if (v->n_axis != 2 || v->n_time == 0) {
        return TESS_OK;
    }
    tess_blocks memory;
    tess_blocks_init(&memory, &v->ctx->heap);
    const int64_t n_cell = p->facts->n_line[0] * p->facts->n_line[1];
    const char *what = "the report";
    double *row = tess_blocks_alloc(&memory, v->n_state_bin, sizeof *row, what);
    double *place = tess_blocks_alloc(&memory, v->n_place, sizeof *place, what);
    double *grid = tess_blocks_alloc(&memory, n_cell, sizeof *grid, what);
    void *raw = tess_blocks_alloc(&memory, v->n_state_bin, sizeof(double), what);
    tess_status status = row && place && grid && raw ? TESS_OK : TESS_E_MEMORY;
    tess_html_heading(&p->html, "Moments");
    tess_html_paragraph(&p->html, "Posterior over the plane, x to the right, y upwards; grey: "
                                  "outside.");
    tess_html_tiles_begin(&p->html);
    const int64_t n = v->n_time < N_SNAPSHOT ? v->n_time : N_SNAPSHOT;
    for (int64_t i = 0; i < n && status == TESS_OK; i++) {
        status = write_snapshot(p, (2 * i + 1) * v->n_time / (2 * n), row, place, grid, raw);
    }
    tess_html_tiles_end(&p->html);
    tess_blocks_free(&memory);
    return status;
}
