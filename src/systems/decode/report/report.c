// The HTML report of a decoded result.
#include "base/file.h"
#include "base/status.h"
#include "page/html_plot.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ERROR_BIN = 60, N_SNAPSHOT = 8, MAX_STATES = 16, HEIGHT = 260 };

// Bright from a quarter of the mass in one bin on, as posteriors are usually shown, or from what
// nine columns in ten stay below.
static const double BRIGHT = 0.25;
static const double BRIGHT_SHARE = 0.9;

typedef struct page {
    tess_html html;
    const tess_de_view *view;
    const tess_de_facts *facts;
    const tess_decode_recording *recording;  // may be NULL
    const tess_decode_stream_report *report; // may be NULL
    char time_label[64];
} page;

static void fact(page *p, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(page *p, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(&p->html, name, text);
}

static void write_facts(page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    tess_html_fact_begin(&p->html);
    fact(p, "time bins", "%lld", (long long)v->n_time);
    if (v->n_time > 0) {
        fact(p, "time", "%.10g to %.10g s", v->time[0], v->time[v->n_time - 1]);
    }
    fact(p, "place bins", "%lld, %d-D", (long long)v->n_place, (int)v->n_axis);
    if (!isnan(v->log_evidence)) {
        fact(p, "log evidence", "%.6f", v->log_evidence);
    }
    if (f->n_scored > 0) {
        fact(p, "median error", "%.3g cm (90 %% below %.3g cm) over %lld bins",
             tess_de_facts_error(f, 0.5), tess_de_facts_error(f, 0.9), (long long)f->n_scored);
    }
    for (int32_t s = 0; s < v->n_state; s++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)v->name_bytes, v->names + s * v->name_bytes);
        fact(p, name, "%.1f %% of the time", 100 * f->occupancy[s]);
    }
    tess_html_fact_end(&p->html);
    if (f->step > 1) {
        char text[160];
        snprintf(text, sizeof text, "Figures and errors use every %lld-th time bin.",
                 (long long)f->step);
        tess_html_paragraph(&p->html, text);
    }
}

// Clock times have too many digits for the numbers of an axis: those count from the start.
static tess_html_axis time_axis(page *p)
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
static tess_html_axis place_axis(const page *p, int32_t axis, const char *label)
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

static void write_posterior(page *p)
{
    static const char *const labels[] = {"x (cm)", "y (cm)", "z (cm)"};
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    tess_html_heading(&p->html, "Posterior over place");
    for (int32_t a = 0; a < v->n_axis; a++) {
        const double bright = brightness(f, a);
        char text[200];
        snprintf(text, sizeof text,
                 "Smoothed posterior, states summed; columns are groups of time bins, each showing "
                 "its largest value. Bright: %.2g and more.",
                 bright);
        tess_html_paragraph(&p->html, text);
        const tess_html_plot plot = {
            time_axis(p), place_axis(p, a, v->n_axis > 1 ? labels[a] : "position (cm)"), HEIGHT};
        const tess_html_series truth = {"true position", f->truth_mean[a], f->n_column};
        tess_html_image(&p->html, &plot, f->map[a], f->n_column, f->n_line[a], 0, bright, &truth,
                        v->truth[0] ? 1 : 0);
    }
}

static tess_status write_states(page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    const int32_t n_state = v->n_state < MAX_STATES ? v->n_state : MAX_STATES;
    char names[MAX_STATES][64];
    tess_html_series lines[MAX_STATES];
    tess_blocks memory;
    tess_blocks_init(&memory, &v->ctx->heap);
    double *values =
        tess_blocks_alloc(&memory, n_state * f->n_column, sizeof *values, "the report");
    if (!values) {
        tess_blocks_free(&memory);
        return TESS_E_MEMORY;
    }
    for (int32_t s = 0; s < n_state; s++) {
        snprintf(names[s], sizeof names[s], "%.*s", (int)v->name_bytes,
                 v->names + s * v->name_bytes);
        double *line = values + s * f->n_column;
        for (int64_t c = 0; c < f->n_column; c++) {
            line[c] = f->state_mean[c * v->n_state + s];
        }
        lines[s] = (tess_html_series){names[s], line, f->n_column};
    }
    const tess_html_plot plot = {time_axis(p), {0, 1, "probability"}, HEIGHT / 2};
    tess_html_heading(&p->html, "States");
    tess_html_chart(&p->html, &plot, lines, n_state);
    tess_blocks_free(&memory);
    return TESS_OK;
}

static void write_errors(page *p)
{
    const tess_de_facts *f = p->facts;
    int64_t counts[N_ERROR_BIN] = {0};
    const double high = tess_de_facts_error(f, 0.99);
    if (f->n_scored == 0) {
        return;
    }
    for (int64_t i = 0; i < f->n_scored; i++) {
        const double at = high > 0 ? f->errors[i] / high * N_ERROR_BIN : 0;
        if (f->errors[i] <= high) {
            counts[at < N_ERROR_BIN - 1 ? (int)at : N_ERROR_BIN - 1]++;
        }
    }
    tess_html_heading(&p->html, "Error");
    tess_html_paragraph(&p->html, "Distance from the place with the largest posterior to the true "
                                  "position.");
    tess_html_histogram(&p->html, counts, N_ERROR_BIN, 0, high, "cm (the upper 1 % is left out)");
}

static void write_calibration(page *p)
{
    enum { N = TESS_DE_FACTS_LEVELS };
    const tess_de_facts *f = p->facts;
    double covered[N];
    double nominal[N];
    int64_t sum = 0;
    if (f->n_scored == 0) {
        return;
    }
    // A point in the middle of each step: drawn where the line chart puts it.
    for (int i = 0; i < N; i++) {
        covered[i] = ((double)sum + 0.5 * (double)f->levels[i]) / (double)f->n_scored;
        nominal[i] = (i + 0.5) / N;
        sum += f->levels[i];
    }
    const tess_html_series lines[] = {{"this result", covered, N}, {"ideal", nominal, N}};
    const tess_html_plot plot = {{0, 1, "share of the posterior in the smallest set of bins"},
                                 {0, 1, "share of rows whose true place is in it"},
                                 HEIGHT};
    tess_html_heading(&p->html, "Calibration");
    tess_html_chart(&p->html, &plot, lines, 2);
}

// Spikes of every electrode per column, relative to the electrode's busiest column.
static tess_status write_raster(page *p)
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
static tess_status write_snapshot(page *p, int64_t t, double *row, double *place, double *grid,
                                  void *raw)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    const int64_t n_x = f->n_line[0];
    const int64_t n_y = f->n_line[1];
    char caption[64];
    double most = 0;
    TESS_TRY(tess_de_view_row(v->posterior, t, raw, row));
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

static tess_status write_snapshots(page *p)
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

static void timing(page *p, const char *name, double seconds)
{
    char cells[2][64];
    snprintf(cells[0], sizeof cells[0], "%s", name);
    snprintf(cells[1], sizeof cells[1], "%.3f", seconds);
    const char *const row[] = {cells[0], cells[1]};
    tess_html_table_row(&p->html, row, 2);
}

static void write_run(page *p)
{
    static const char *const heads[] = {"stage", "seconds"};
    const tess_decode_stream_report *r = p->report;
    char text[256];
    if (!r) {
        return;
    }
    tess_html_heading(&p->html, "Run");
    tess_html_table_begin(&p->html, heads, 2);
    timing(p, "likelihood", r->likelihood_s);
    timing(p, "filter", r->filter_s);
    timing(p, "smoother", r->smoother_s);
    timing(p, "writing", r->write_s);
    timing(p, "checkpoints", r->checkpoint_s);
    timing(p, "all", r->elapsed_s);
    tess_html_table_end(&p->html);
    const tess_decode_likelihood_report *l = &r->likelihood;
    snprintf(text, sizeof text,
             "%lld spikes decoded, %lld before and %lld after the time bins, %lld left out; "
             "%lld %s.",
             (long long)l->n_spike, (long long)l->n_before, (long long)l->n_after,
             (long long)l->n_excluded, (long long)r->n_chunk, r->n_chunk == 1 ? "chunk" : "chunks");
    tess_html_paragraph(&p->html, text);
}

static void write_warnings(page *p)
{
    const tess_decode_stream_report *r = p->report;
    char text[256];
    if (!r) {
        return;
    }
    const tess_decode_likelihood_report *l = &r->likelihood;
    if (l->n_value > 0 && (double)l->n_floored > 0.05 * (double)l->n_value) {
        snprintf(text, sizeof text,
                 "Warning: %.2g %% of the spike values lie on the floor, %lld spikes are flat over "
                 "all bins.",
                 100 * (double)l->n_floored / (double)l->n_value, (long long)l->n_flat_spike);
        tess_html_paragraph(&p->html, text);
    }
    if (r->n_impossible > 0) {
        snprintf(text, sizeof text,
                 "Warning: at %lld time bins, the first being %lld, no state could explain the "
                 "spikes.",
                 (long long)r->n_impossible, (long long)r->first_impossible);
        tess_html_paragraph(&p->html, text);
    }
}

static tess_status write_provenance(page *p)
{
    char *text = NULL;
    TESS_TRY(tess_de_view_provenance(p->view, &text));
    if (text) {
        tess_html_heading(&p->html, "Provenance");
        tess_html_code(&p->html, text);
    }
    tess_text_free(text);
    return TESS_OK;
}

static tess_status write_page(page *p)
{
    write_facts(p);
    write_warnings(p);
    write_posterior(p);
    TESS_TRY(write_snapshots(p));
    TESS_TRY(write_states(p));
    write_errors(p);
    write_calibration(p);
    TESS_TRY(write_raster(p));
    write_run(p);
    tess_html_heading(&p->html, "Method");
    tess_html_paragraph(&p->html,
                        "Clusterless decoding of position from spike waveform features (Deng et "
                        "al., Neural Computation 27, 2015, 1438-1460) with a state-space model "
                        "over position and discrete states (Denovellis et al., eLife 10, 2021, "
                        "e64505).");
    return write_provenance(p);
}

tess_status tess_decode_report(tess_context *ctx, const char *result_path,
                               const tess_decode_recording *recording,
                               const tess_decode_stream_report *report, const char *path,
                               int overwrite)
{
    tess_error_clear();
    tess_de_view view;
    tess_de_facts facts;
    TESS_TRY(tess_file_check_distinct(result_path, path));
    TESS_TRY(tess_file_check_distinct(recording ? recording->info.path : NULL, path));
    TESS_TRY(tess_de_view_open(ctx, result_path, recording, &view));
    tess_status status = tess_de_facts_gather(&view, &facts);
    if (status != TESS_OK) {
        tess_de_view_close(&view);
        return status;
    }
    page p = {.view = &view, .facts = &facts, .recording = recording, .report = report};
    tess_html_begin(&p.html, ctx, &(tess_origin){.stage = "decode.report"}, "Decoded position");
    status = write_page(&p);
    if (status == TESS_OK) {
        status = tess_html_write(&p.html, path, overwrite);
    }
    tess_html_destroy(&p.html);
    tess_de_facts_free(&facts);
    tess_de_view_close(&view);
    return status;
}
