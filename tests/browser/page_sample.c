// Writes a page with everything that reports can have, from numbers that the tests can make again.
#include "page/figure.h"
#include "runtime/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_LONG = 1000000, N_ROW = 8, N_CURVE = 200, N_EVENT = 3, BLOCK = 1000 };

static const double STEP = 0.002;
static const int64_t EVENTS[N_EVENT] = {123456, 500000, 800004};

// One bin that stands out at each event: it is lost if any level forgets the greatest.
static double value_of(int64_t i)
{
    for (int k = 0; k < N_EVENT; k++) {
        if (i == EVENTS[k]) {
            return 7 + k;
        }
    }
    return (double)((i * 7919) % 1000) / 1000 + sin((double)i * 1e-5);
}

static tess_status fill_long(tess_context *ctx, tess_pyramid *lines, tess_pyramid *map)
{
    tess_status status = tess_pyramid_create(
        ctx, &(tess_pyramid_setup){.n_column = N_LONG, .n_row = 2, .step = STEP, .bits = 16},
        lines);
    if (status == TESS_OK) {
        status = tess_pyramid_create(ctx,
                                     &(tess_pyramid_setup){.n_column = N_LONG,
                                                           .n_row = N_ROW,
                                                           .step = STEP,
                                                           .is_map = true,
                                                           .bits = 8,
                                                           .budget_bytes = 1 << 20},
                                     map);
    }
    for (int k = 0; k < N_EVENT && status == TESS_OK; k++) {
        tess_pyramid_keep(map, EVENTS[k] - 100, EVENTS[k] + 100);
    }
    for (int64_t i = 0; i < N_LONG && status == TESS_OK; i++) {
        double cells[N_ROW];
        const double pair[2] = {value_of(i),
                                i % 100000 < 500 ? (double)NAN : cos((double)i * 2e-5)};
        for (int r = 0; r < N_ROW; r++) {
            const uint32_t random = (uint32_t)i * 2654435761u + (uint32_t)r * 40503u;
            cells[r] = (double)((random >> 13) % 24) + (i == EVENTS[1] && r == 5 ? 100 : 0);
        }
        status = tess_pyramid_push(lines, pair, 1);
        status = status == TESS_OK ? tess_pyramid_push(map, cells, 1) : status;
    }
    status = status == TESS_OK ? tess_pyramid_finish(lines) : status;
    return status == TESS_OK ? tess_pyramid_finish(map) : status;
}

static void draw_long(tess_html *html, const tess_pyramid *lines, const tess_pyramid *map)
{
    tess_figure_mark marks[N_EVENT];
    for (int k = 0; k < N_EVENT; k++) {
        marks[k] = (tess_figure_mark){((double)EVENTS[k] - 5) * STEP,
                                      ((double)EVENTS[k] + 5) * STEP, "event"};
    }
    const double end = (N_LONG - 0.5) * STEP;
    const tess_figure_axis time = {"time", "s", -0.5 * STEP, end, false};
    const tess_figure_series series[2] = {
        {.name = "first", .pyramid = lines, .row = 0},
        {.name = "second", .pyramid = lines, .row = 1, .colour = 1}};
    tess_html_heading(html, "Long rows");
    tess_figure_draw(html, &(tess_figure){.title = "A million bins",
                                          .group = "time",
                                          .x = time,
                                          .y = {.label = "value", .unit = "V"},
                                          .series = series,
                                          .n_series = 2,
                                          .marks = marks,
                                          .n_mark = N_EVENT});
    const tess_figure_map cells = {
        .pyramid = map, .label = "height", .unit = "mm", .low = 0, .high = 30};
    tess_figure_draw(html, &(tess_figure){.title = "A map as long",
                                          .group = "time",
                                          .x = time,
                                          .y = {"row", "", -0.5, N_ROW - 0.5, false},
                                          .map = &cells,
                                          .marks = marks,
                                          .n_mark = N_EVENT,
                                          .note = "Note under a map."});
}

static void draw_curves(tess_html *html)
{
    double x[N_CURVE];
    double y[N_CURVE];
    double low[N_CURVE];
    double high[N_CURVE];
    double bars[24];
    for (int i = 0; i < N_CURVE; i++) {
        x[i] = pow(10, -3 + i * 0.02);
        y[i] = 1 / (1 + x[i]);
        low[i] = y[i] * 0.8;
        high[i] = y[i] * 1.2;
    }
    for (int i = 0; i < 24; i++) {
        bars[i] = i * (24 - i);
    }
    const tess_figure_series curve = {
        .name = "fit", .x = x, .y = y, .low = low, .high = high, .n = N_CURVE, .colour = 1};
    const tess_figure_series histogram = {
        .name = "counts", .y = bars, .n = 24, .style = TESS_FIGURE_BARS};
    tess_html_heading(html, "Curves & <bars>");
    tess_html_row_begin(html);
    tess_figure_draw(html, &(tess_figure){.title = "Logarithmic",
                                          .x = {"tau", "s", 0, 0, true},
                                          .y = {"g", "", 0, 0, true},
                                          .is_narrow = true,
                                          .series = &curve,
                                          .n_series = 1});
    tess_figure_draw(html, &(tess_figure){.title = "Histogram",
                                          .x = {"size", "cm", 0, 48, false},
                                          .y = {.label = "count"},
                                          .is_narrow = true,
                                          .series = &histogram,
                                          .n_series = 1});
    tess_html_row_end(html);
}

static void draw_maps(tess_html *html)
{
    static const char *const columns[4] = {"16", "64", "256", "1024"};
    static const char *const rows[3] = {"a", "b", "c<i>"};
    static const tess_figure_kind kinds[3] = {
        {"good", "#c7e9c0"}, {"bad", "#d7301f"}, {"repaired", "#2b8cbe"}};
    const double ratios[12] = {0.5, 1.5, 2, 0.9, 3, 4, 5, 6, 7, 8, (double)NAN, 16};
    const double labels[12] = {0, 1, 2, 0, 0, 0, 1, 0, 2, 0, 0, 1};
    const tess_figure_map speed = {.values = ratios,
                                   .n_column = 4,
                                   .n_row = 3,
                                   .label = "speed-up",
                                   .low = 0.5,
                                   .high = 16,
                                   .is_log = true,
                                   .columns = columns,
                                   .rows = rows,
                                   .has_numbers = true,
                                   .lost_below = 1,
                                   .lost_name = "slower"};
    const tess_figure_map choices = {.values = labels,
                                     .n_column = 4,
                                     .n_row = 3,
                                     .kinds = kinds,
                                     .n_kind = 3,
                                     .columns = columns,
                                     .rows = rows,
                                     .edit = "labels"};
    tess_html_heading(html, "Maps");
    tess_figure_draw(html, &(tess_figure){.title = "Ratios",
                                          .x = {"features", "", 0, 4, false},
                                          .y = {"batch", "", 3, 0, false},
                                          .height = 120,
                                          .map = &speed});
    tess_figure_draw(html, &(tess_figure){.title = "Choices",
                                          .x = {"epoch", "", 0, 4, false},
                                          .y = {"channel", "", 3, 0, false},
                                          .height = 120,
                                          .map = &choices});
    tess_figure_export(html, "Export choices", "{\"schema\":\"sample/1\",\"labels\":null}",
                       "choices.json");
}

static void draw_tables(tess_html *html)
{
    static const char *const heads[] = {"name", "time", "value"};
    static const char *const cells[][3] = {{"b10", "2 s", "1.5 ± 0.2"},
                                           {"b9", "30 ms", "NaN"},
                                           {"<script>alert(1)</script>", "1 µs", "-3e2"},
                                           {"a", "4.5 s", "12"}};
    tess_html_heading(html, "Tables");
    tess_html_table_begin(html, heads, 3);
    for (int i = 0; i < 4; i++) {
        tess_html_table_row(html, cells[i], 3);
    }
    tess_html_table_end(html);
    static const char *const events[] = {"event", "at"};
    tess_html_table_begin(html, events, 2);
    for (int k = 0; k < N_EVENT; k++) {
        char text[2][32];
        snprintf(text[0], sizeof text[0], "%d", k + 1);
        snprintf(text[1], sizeof text[1], "%.3f s", (double)EVENTS[k] * STEP);
        const char *const row[] = {text[0], text[1]};
        tess_html_table_row_at(html, row, 2, "time", ((double)EVENTS[k] - 5) * STEP,
                               ((double)EVENTS[k] + 5) * STEP);
    }
    tess_html_table_end(html);
    tess_html_fold_begin(html, "fold", "A fold", false);
    tess_html_paragraph(html, "Inside.");
    tess_html_fold_end(html);
}

static tess_status write_page(tess_context *ctx, const char *path)
{
    tess_html html;
    tess_pyramid lines = {0};
    tess_pyramid map = {0};
    tess_html_begin(&html, ctx, &(tess_origin){.stage = "page.sample"}, "Sample <page>");
    tess_html_badge(&html, TESS_HTML_GOOD, "fit good");
    tess_html_badge(&html, TESS_HTML_CHECK, "2 to check");
    tess_html_badge(&html, TESS_HTML_BAD, "not converged");
    tess_html_warnings(&html, "First warning.\nSecond & last <warning>.");
    tess_html_fact_begin(&html);
    tess_html_fact(&html, "data",
                   "a_very_long_name_of_a_file_without_any_break_in_it_at_all_0123456789.h5");
    tess_html_fact_end(&html);
    tess_status status = fill_long(ctx, &lines, &map);
    if (status == TESS_OK) {
        draw_long(&html, &lines, &map);
        draw_curves(&html);
        draw_maps(&html);
        draw_tables(&html);
        tess_html_cite(&html, "Cite this.");
        tess_html_provenance(&html, "{\"made\": \"here\"}");
        status = tess_html_write(&html, path, 1);
    }
    tess_pyramid_destroy(&lines);
    tess_pyramid_destroy(&map);
    tess_html_destroy(&html);
    return status;
}

int main(int argc, char **argv)
{
    tess_context *ctx = NULL;
    tess_context_config config;
    if (argc != 2) {
        fprintf(stderr, "usage: page_sample FILE.html\n");
        return 64;
    }
    tess_context_config_init(&config, sizeof config);
    tess_status status = tess_context_create(&config, &ctx);
    if (status == TESS_OK) {
        status = write_page(ctx, argv[1]);
    }
    if (status != TESS_OK) {
        fprintf(stderr, "%s\n", tess_last_error());
    }
    tess_context_destroy(ctx);
    return status != TESS_OK;
}
