// Residuals of all points: how they are distributed, and whether they depend on the lag.
#include "systems/xpcs/report/lags.h"
#include "systems/xpcs/report/page.h"

#include <math.h>

enum { N_BAR = TESS_XP_SWEEP_BARS, HEIGHT = 240 };

// Mean by lag with the scatter that independent points would have; of one angle or of all.
void tess_xp_page_residual_lags(tess_xp_page *page, const tess_xp_lag_curve *c)
{
    double low[TESS_XP_LAG_BINS];
    double zero[TESS_XP_LAG_BINS] = {0};
    for (int64_t i = 0; i < c->n; i++) {
        low[i] = -c->scatter[i];
    }
    const tess_figure_series series[2] = {{.name = "expected: 0 ± 1/√points",
                                           .x = c->tau,
                                           .y = zero,
                                           .low = low,
                                           .high = c->scatter,
                                           .n = c->n,
                                           .colour = 5},
                                          {.name = "mean residual",
                                           .x = c->tau,
                                           .y = c->residual,
                                           .n = c->n,
                                           .style = TESS_FIGURE_POINTS}};
    tess_figure_draw(&page->html, &(tess_figure){.title = "mean residual by lag",
                                                 .x = {.label = "tau", .unit = "s", .is_log = true},
                                                 .y = {.label = "mean residual", .unit = "sigma"},
                                                 .height = HEIGHT,
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

static void write_rms(tess_xp_page *page, const tess_xp_lag_curve *c)
{
    double one[TESS_XP_LAG_BINS];
    double low[TESS_XP_LAG_BINS];
    double high[TESS_XP_LAG_BINS];
    for (int64_t i = 0; i < c->n; i++) {
        one[i] = 1;
        low[i] = 1 - c->scatter[i] / sqrt(2);
        high[i] = 1 + c->scatter[i] / sqrt(2);
    }
    const tess_figure_series series[2] = {{.name = "expected: 1 ± 1/√(2 points)",
                                           .x = c->tau,
                                           .y = one,
                                           .low = low,
                                           .high = high,
                                           .n = c->n,
                                           .colour = 5},
                                          {.name = "root mean square",
                                           .x = c->tau,
                                           .y = c->rms,
                                           .n = c->n,
                                           .style = TESS_FIGURE_POINTS}};
    tess_figure_draw(&page->html, &(tess_figure){.title = "rms residual by lag",
                                                 .x = {.label = "tau", .unit = "s", .is_log = true},
                                                 .y = {.label = "rms", .unit = "sigma"},
                                                 .height = HEIGHT,
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

static void write_distribution(tess_xp_page *page, bool is_log)
{
    const tess_xp_residuals *s = &page->residuals;
    const double width = 2 * TESS_XP_SWEEP_RANGE / N_BAR;
    const double n = (double)s->n_point;
    double density[N_BAR];
    double x[N_BAR];
    double normal[N_BAR];
    for (int i = 0; i < N_BAR; i++) {
        x[i] = -TESS_XP_SWEEP_RANGE + width * (i + 0.5);
        density[i] = (double)s->bars[i] / (n * width);
        normal[i] = exp(-0.5 * x[i] * x[i]) / sqrt(2 * 3.14159265358979323846);
        normal[i] = normal[i] > 0.5 / (n * width) ? normal[i] : (double)NAN; // less than a point
    }
    const tess_figure_series series[2] = {
        {.name = "residuals", .y = density, .n = N_BAR, .style = TESS_FIGURE_BARS},
        {.name = "normal distribution", .x = x, .y = normal, .n = N_BAR, .colour = 1}};
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = is_log ? "the same, logarithmic" : "distribution",
                                    .x = {.label = "(measured - fitted)/sigma",
                                          .low = -TESS_XP_SWEEP_RANGE,
                                          .high = TESS_XP_SWEEP_RANGE},
                                    .y = {.label = "density", .unit = "1/sigma", .is_log = is_log},
                                    .height = HEIGHT,
                                    .is_narrow = true,
                                    .series = series,
                                    .n_series = 2});
}

void tess_xp_page_residuals(tess_xp_page *page)
{
    const tess_xp_residuals *s = &page->residuals;
    if (s->n_point == 0) {
        return;
    }
    tess_html_heading(&page->html, "Residuals");
    tess_text_add(&page->html.text, "<p>");
    tess_xp_printf(
        &page->html,
        "Of all %lld points, in sigma: root mean square %.4g; %lld beyond %g sigma. By lag, all "
        "angles together, below: what the model does not describe stands outside the band. Points "
        "that share a frame are not independent, so some scatter beyond the band is usual.",
        (long long)s->n_point, sqrt(s->squares / (double)s->n_point), (long long)s->n_beyond,
        TESS_XP_SWEEP_RANGE);
    tess_text_add(&page->html.text, "</p>\n");
    tess_xp_lag_curve all;
    tess_xp_lag_bins(page->lags, page->info->n_frame, page->info->dt_s, &all);
    tess_html_row_begin(&page->html);
    tess_xp_page_residual_lags(page, &all);
    write_rms(page, &all);
    tess_html_row_end(&page->html);
    tess_html_row_begin(&page->html);
    write_distribution(page, false);
    write_distribution(page, true);
    tess_html_row_end(&page->html);
}
