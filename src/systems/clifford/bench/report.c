// The page of a sweep: maps over batch and features.
#include "base/status.h"
#include "page/figure.h"
#include "systems/clifford/bench/arrays.h"
#include "tessera/sys/clifford_bench.h"

#include <math.h>
#include <stdio.h>

enum { MAX_SIZES = 64, ROW_PIXELS = 30, NAME_CHARS = 24, LISTED = 8 };

typedef struct sweep {
    const tess_clifford_timing *timings; // [n_row][n_column]
    int64_t n_row;
    int64_t n_column;
    char names[2][MAX_SIZES][NAME_CHARS]; // batches, features
    const char *rows[MAX_SIZES];
    const char *columns[MAX_SIZES];
} sweep;

static double over(double a, double b)
{
    return a > 0 && b > 0 ? a / b : (double)NAN;
}

// What the maps show, all of one timing.
static double forward_ms(const tess_clifford_timing *t)
{
    return over(t->forward_s, 1e-3);
}

static double both_ms(const tess_clifford_timing *t)
{
    return over(t->forward_backward_s, 1e-3);
}

static double forward_speedup(const tess_clifford_timing *t)
{
    return over(t->separate_forward_s, t->forward_s);
}

static double both_speedup(const tess_clifford_timing *t)
{
    return over(t->separate_forward_backward_s, t->forward_backward_s);
}

static double memory_saving(const tess_clifford_timing *t)
{
    return over((double)t->separate_memory_bytes, (double)t->memory_bytes);
}

static double memory_mib(const tess_clifford_timing *t)
{
    return over((double)t->memory_bytes, 1048576);
}

static double forward_gbs(const tess_clifford_timing *t)
{
    return over(t->forward_bytes * 1e-9, t->forward_s);
}

static double both_gbs(const tess_clifford_timing *t)
{
    return over(t->forward_backward_bytes * 1e-9, t->forward_backward_s);
}

static double both_gflops(const tess_clifford_timing *t)
{
    return over(t->forward_backward_flops * 1e-9, t->forward_backward_s);
}

typedef struct quantity {
    const char *title;
    const char *label; // with the unit, head of a column
    const char *unit;
    double (*value)(const tess_clifford_timing *t);
    bool is_ratio; // below 1 we lose
} quantity;

static const quantity SPEED[] = {
    {"Speed-up, forward", "speed-up, forward", "x", forward_speedup, true},
    {"Speed-up, forward and backward", "speed-up, both", "x", both_speedup, true},
    {"Memory of separate passes over ours", "memory saved", "x", memory_saving, true},
};

static const quantity ABSOLUTE[] = {
    {"Forward", "forward", "ms", forward_ms, false},
    {"Forward and backward", "both", "ms", both_ms, false},
    {"Memory of forward and backward", "memory", "MiB", memory_mib, false},
    {"Least traffic over time, forward", "forward", "GB/s", forward_gbs, false},
    {"Least traffic over time, forward and backward", "both", "GB/s", both_gbs, false},
    {"Matrix products, forward and backward", "products", "Gflop/s", both_gflops, false},
};

enum { N_SPEED = sizeof SPEED / sizeof *SPEED, N_ABSOLUTE = sizeof ABSOLUTE / sizeof *ABSOLUTE };

static void draw(tess_html *html, const sweep *s, const quantity *q)
{
    double values[MAX_SIZES * MAX_SIZES]; // [column][row]
    double low = (double)INFINITY;
    double high = 0;
    for (int64_t i = 0; i < s->n_row * s->n_column; i++) {
        const double value = q->value(&s->timings[i]);
        values[i % s->n_column * s->n_row + i / s->n_column] = value;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (!(high > 0)) {
        return;
    }
    const tess_figure_map map = {.values = values,
                                 .n_column = s->n_column,
                                 .n_row = s->n_row,
                                 .label = q->label,
                                 .unit = q->unit,
                                 .low = low,
                                 .high = high > low ? high : 2 * low,
                                 .is_log = true,
                                 .columns = s->columns,
                                 .rows = s->rows,
                                 .has_numbers = true,
                                 .lost_below = q->is_ratio ? 1 : 0,
                                 .lost_name = q->is_ratio ? "below 1: we lose" : NULL};
    tess_figure_draw(html, &(tess_figure){.title = q->title,
                                          .x = {"features", "", 0, (double)s->n_column, false},
                                          .y = {"batch", "", (double)s->n_row, 0, false},
                                          .height = (int)s->n_row * ROW_PIXELS,
                                          .is_narrow = true,
                                          .map = &map});
}

static void draw_all(tess_html *html, const sweep *s, const char *heading, const quantity *list,
                     int n)
{
    tess_html_heading(html, heading);
    for (int k = 0; k < n; k += 2) {
        tess_html_row_begin(html);
        draw(html, s, &list[k]);
        if (k + 1 < n) {
            draw(html, s, &list[k + 1]);
        }
        tess_html_row_end(html);
    }
}

static void number(double value, char text[NAME_CHARS])
{
    snprintf(text, NAME_CHARS, isnan(value) ? "-" : "%.4g", value);
}

static void write_table(tess_html *html, const sweep *s)
{
    enum { N = 2 + N_SPEED + N_ABSOLUTE };
    char names[N][64] = {"batch", "features"};
    const char *heads[N];
    for (int k = 0; k < N; k++) {
        const quantity *q = k < 2 + N_SPEED ? &SPEED[k - 2] : &ABSOLUTE[k - 2 - N_SPEED];
        if (k >= 2) {
            snprintf(names[k], sizeof names[k], "%s (%s)", q->label, q->unit);
        }
        heads[k] = names[k];
    }
    tess_html_heading(html, "All sizes");
    tess_html_table_begin(html, heads, N);
    for (int64_t i = 0; i < s->n_row * s->n_column; i++) {
        char cells[N][NAME_CHARS];
        const char *row[N];
        snprintf(cells[0], NAME_CHARS, "%s", s->rows[i / s->n_column]);
        snprintf(cells[1], NAME_CHARS, "%s", s->columns[i % s->n_column]);
        for (int k = 2; k < N; k++) {
            const quantity *q = k < 2 + N_SPEED ? &SPEED[k - 2] : &ABSOLUTE[k - 2 - N_SPEED];
            number(q->value(&s->timings[i]), cells[k]);
        }
        for (int k = 0; k < N; k++) {
            row[k] = cells[k];
        }
        tess_html_table_row(html, row, N);
    }
    tess_html_table_end(html);
}

// A badge for each ratio, and by name the sizes at which we lose.
static void write_verdict(tess_html *html, const sweep *s)
{
    for (int k = 0; k < N_SPEED; k++) {
        const quantity *q = &SPEED[k];
        int64_t n_known = 0;
        int64_t n_lost = 0;
        char text[160];
        for (int64_t i = 0; i < s->n_row * s->n_column; i++) {
            const double value = q->value(&s->timings[i]);
            n_known += isfinite(value);
            if (value < 1 && ++n_lost <= LISTED) {
                snprintf(text, sizeof text, "%s at batch %s, %s features: %.3g", q->title,
                         s->rows[i / s->n_column], s->columns[i % s->n_column], value);
                tess_html_warning(html, text);
            }
        }
        if (n_lost > LISTED) {
            snprintf(text, sizeof text, "%s: below 1 at %lld more sizes, see the map.", q->title,
                     (long long)(n_lost - LISTED));
            tess_html_warning(html, text);
        }
        if (n_known > 0) {
            snprintf(text, sizeof text, "%s: ahead at %lld of %lld sizes", q->label,
                     (long long)(n_known - n_lost), (long long)n_known);
            tess_html_badge(html, n_lost == 0 ? TESS_HTML_GOOD : TESS_HTML_CHECK, text);
        }
    }
}

static void facts(tess_html *html, tess_context *ctx, const tess_clifford_op *op, tess_dtype dtype)
{
    static const char *const kinds[] = {"",     "gate",   "norm",  "sgp",
                                        "fcgp", "linear", "layer", "fc_layer"};
    char metric[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    char text[64];
    tess_clifford_metric_text(&op->algebra.metric, metric, sizeof metric);
    tess_html_fact_begin(html);
    tess_html_fact(html, "Operation", kinds[op->kind]);
    tess_html_fact(html, "Signature", metric);
    snprintf(text, sizeof text, "%d components, %d paths, %d terms", op->algebra.n_component,
             op->algebra.n_path, op->algebra.n_term);
    tess_html_fact(html, "Algebra", text);
    tess_html_fact(html, "Type", tess_dtype_name(dtype));
    tess_html_fact(html, "Matrix products",
                   op->config.precision == TESS_CLIFFORD_HIGH ? "10 mantissa bits (high)"
                                                              : "highest");
    tess_html_fact(html, "Device", ctx->device->info.name);
    tess_html_fact(html, "Version", TESS_VERSION);
    tess_html_fact_end(html);
    tess_html_paragraph(html,
                        "Medians, inputs rotated so that no cache serves them twice. Separate "
                        "passes are this library's own linear map, gate, product and norm, one "
                        "after another with arrays between them. A frame marks where we lose: "
                        "slower, or more memory.");
}

static void fill(sweep *s, const tess_clifford_timing *timings, int64_t n_row, int64_t n_column)
{
    s->timings = timings;
    s->n_row = n_row;
    s->n_column = n_column;
    for (int64_t i = 0; i < n_row; i++) {
        snprintf(s->names[0][i], NAME_CHARS, "%lld", (long long)timings[i * n_column].n_row);
        s->rows[i] = s->names[0][i];
    }
    for (int64_t j = 0; j < n_column; j++) {
        snprintf(s->names[1][j], NAME_CHARS, "%lld", (long long)timings[j].n_feature);
        s->columns[j] = s->names[1][j];
    }
}

tess_status tess_clifford_bench_report(tess_context *ctx, const tess_clifford_op *op,
                                       tess_dtype dtype, const tess_clifford_timing *timings,
                                       int64_t n_row_size, int64_t n_feature_size, const char *path,
                                       int overwrite)
{
    if (!ctx || !op || !timings || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford bench report: no argument may be NULL");
    }
    if (n_row_size < 1 || n_row_size > MAX_SIZES || n_feature_size < 1 ||
        n_feature_size > MAX_SIZES) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "clifford bench report: %lld batch sizes and %lld feature counts, expected 1 to "
                  "%d of each",
                  (long long)n_row_size, (long long)n_feature_size, MAX_SIZES);
    }
    sweep s;
    fill(&s, timings, n_row_size, n_feature_size);
    tess_html html;
    tess_html_begin(&html, ctx, &(tess_origin){.stage = "clifford.bench"},
                    "Clifford operations: times and memory");
    write_verdict(&html, &s);
    facts(&html, ctx, op, dtype);
    draw_all(&html, &s, "Against separate passes", SPEED, N_SPEED);
    draw_all(&html, &s, "Times, memory and rates", ABSOLUTE, N_ABSOLUTE);
    write_table(&html, &s);
    const tess_status status = tess_html_write(&html, path, overwrite);
    tess_html_destroy(&html);
    return status;
}
