// The page of a sweep: maps over batch and features.
#include "base/status.h"
#include "page/html_grid.h"
#include "systems/clifford/bench/arrays.h"
#include "tessera/sys/clifford_bench.h"

#include <math.h>
#include <stdio.h>

enum { MAX_SIZES = 64 };

typedef struct sweep {
    const tess_clifford_timing *timings;
    tess_html_grid grid;
    int64_t rows[MAX_SIZES];
    int64_t columns[MAX_SIZES];
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

static double memory_share(const tess_clifford_timing *t)
{
    return over((double)t->memory_bytes, (double)t->separate_memory_bytes);
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

static const struct {
    const char *heading;
    double (*value)(const tess_clifford_timing *t);
    int decimals;
} maps[] = {
    {"Forward, ms", forward_ms, 3},
    {"Forward and backward, ms", both_ms, 3},
    {"Speed-up over separate passes, forward", forward_speedup, 2},
    {"Speed-up over separate passes, forward and backward", both_speedup, 2},
    {"Memory of forward and backward, MiB", memory_mib, 1},
    {"Memory, as a share of separate passes", memory_share, 2},
    {"Least traffic over time, forward, GB/s", forward_gbs, 1},
    {"Least traffic over time, forward and backward, GB/s", both_gbs, 1},
    {"Matrix products, forward and backward, Gflop/s", both_gflops, 1},
};

static void draw(tess_html *html, sweep *s, size_t map)
{
    double values[MAX_SIZES * MAX_SIZES];
    const int64_t n = s->grid.n_row * s->grid.n_column;
    double low = (double)INFINITY, high = 0;
    for (int64_t i = 0; i < n; i++) {
        values[i] = maps[map].value(&s->timings[i]);
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (!(high > 0)) {
        return;
    }
    s->grid.decimals = maps[map].decimals;
    s->grid.low = low;
    s->grid.high = high > low ? high : 2 * low;
    tess_html_heading(html, maps[map].heading);
    tess_html_grid_draw(html, &s->grid, values);
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
                        "after another with arrays between them. Batch goes down, features to the "
                        "right.");
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
    sweep s = {.timings = timings,
               .grid = {.row_label = "batch",
                        .column_label = "features",
                        .n_row = n_row_size,
                        .n_column = n_feature_size}};
    s.grid.rows = s.rows;
    s.grid.columns = s.columns;
    for (int64_t i = 0; i < n_row_size; i++) {
        s.rows[i] = timings[i * n_feature_size].n_row;
    }
    for (int64_t j = 0; j < n_feature_size; j++) {
        s.columns[j] = timings[j].n_feature;
    }
    tess_html html;
    tess_html_begin(&html, ctx, &(tess_origin){.stage = "clifford.bench"},
                    "Clifford operations: times and memory");
    facts(&html, ctx, op, dtype);
    for (size_t map = 0; map < sizeof maps / sizeof *maps; map++) {
        draw(&html, &s, map);
    }
    const tess_status status = tess_html_write(&html, path, overwrite);
    tess_html_destroy(&html);
    return status;
}
