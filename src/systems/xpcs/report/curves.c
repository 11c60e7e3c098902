// Curves of the report: rates over time, distribution of residuals, course of the fit.
#include "base/status.h"
#include "systems/xpcs/report/bands.h"
#include "systems/xpcs/report/chart.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <stdio.h>

enum { WIDE = 460, NARROW = 300, HEIGHT = 240, N_RATE = 240 };

// Frames spaced by their logarithms, first and last included.
static int64_t choose_frames(int64_t n_frame, int64_t *frames)
{
    int64_t n = 0;
    for (int64_t i = 0; i < N_RATE; i++) {
        const double share = (double)i / (N_RATE - 1);
        const int64_t frame = llround(pow((double)n_frame, share)) - 1;
        if (n == 0 || frame > frames[n - 1]) {
            frames[n++] = frame;
        }
    }
    return n;
}

static void write_rate(tess_xp_page *page, int which, const double *t, const double *rate,
                       const char *title, const char *label)
{
    int64_t frames[N_RATE];
    double x[N_RATE];
    double y[N_RATE];
    double sd[N_RATE];
    double low[N_RATE];
    double high[N_RATE];
    const int64_t n = choose_frames(page->info->n_frame, frames);
    for (int64_t i = 0; i < n; i++) {
        x[i] = t[frames[i]];
        y[i] = rate[frames[i]];
    }
    const tess_xp_chart chart = {.title = title,
                                 .x_label = "t (s)",
                                 .y_label = label,
                                 .is_log_x = true,
                                 .is_log_y = true,
                                 .width = WIDE,
                                 .height = HEIGHT};
    const bool has_band = tess_xp_rate_sd(page->info, which, x, n, sd);
    for (int64_t i = 0; i < n && has_band; i++) {
        low[i] = y[i] - sd[i]; // not above zero: not drawn
        high[i] = y[i] + sd[i];
    }
    const tess_xp_series series[3] = {
        {.name = has_band ? "fit" : "fit; no band: a parameter is unidentified",
         .x = x,
         .y = y,
         .n = n,
         .is_line = true,
         .colour = 1},
        {.name = "one sigma, by the covariance", .x = x, .y = high, .n = n, .is_line = true},
        {.x = x, .y = low, .n = n, .is_line = true}};
    tess_xp_chart_draw(&page->html, &chart, series, has_band ? 3 : 1);
}

tess_status tess_xp_page_rates(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    const bool has_shear = info->mode == TESS_XPCS_LAMINAR_FLOW;
    const int64_t n = info->n_frame;
    tess_xpcs_model model;
    TESS_TRY(tess_xp_constants_for_data(page->model, &page->data->info, &model));
    tess_blocks memory;
    tess_blocks_init(&memory, &page->ctx->heap);
    double *values = tess_blocks_alloc(&memory, 3 * n, sizeof *values, "the report's rates");
    if (!values) {
        return TESS_E_MEMORY;
    }
    tess_xpcs_grids grids = {.struct_size = sizeof grids,
                             .t = values,
                             .diffusion = values + n,
                             .shear = has_shear ? values + 2 * n : NULL};
    const tess_status status = tess_xpcs_model_grids(page->ctx, &model, info->theta, n, &grids);
    if (status == TESS_OK) {
        tess_xp_row_begin(&page->html);
        write_rate(page, 0, values, values + n, "transport rate D0 t^alpha + D_offset", "Å²/s");
        if (has_shear) {
            write_rate(page, 1, values, values + 2 * n,
                       "shear rate gamma_dot_t0 t^beta + gamma_dot_t_offset", "1/s");
        }
        tess_xp_row_end(&page->html);
    }
    tess_blocks_free(&memory);
    return status;
}

void tess_xp_page_residuals(tess_xp_page *page)
{
    enum { N = TESS_XP_SWEEP_BARS, STEPS = 2 * N };
    const tess_xp_residuals *s = &page->residuals;
    const double width = 2 * TESS_XP_SWEEP_RANGE / N;
    const double n = (double)s->n_point;
    double x[STEPS];
    double y[STEPS];
    double normal[STEPS];
    if (s->n_point == 0) {
        return;
    }
    for (int i = 0; i < STEPS; i++) {
        x[i] = -TESS_XP_SWEEP_RANGE + width * (i / 2 + i % 2);
        y[i] = (double)s->bars[i / 2] / (n * width);
        normal[i] = exp(-0.5 * x[i] * x[i]) / sqrt(2 * 3.14159265358979323846);
        normal[i] = normal[i] > 0.5 / (n * width) ? normal[i] : (double)NAN; // less than a point
    }
    tess_html_heading(&page->html, "Residuals");
    tess_text_add(&page->html.text, "<p>");
    tess_xp_printf(
        &page->html, "Of all %lld points, in sigma: root mean square %.4g; %lld beyond %g sigma.",
        (long long)s->n_point, sqrt(s->squares / n), (long long)s->n_beyond, TESS_XP_SWEEP_RANGE);
    tess_text_add(&page->html.text, "</p>\n");
    const tess_xp_series series[2] = {
        {.name = "residuals", .x = x, .y = y, .n = STEPS, .is_line = true, .colour = 0},
        {.name = "normal distribution",
         .x = x,
         .y = normal,
         .n = STEPS,
         .is_line = true,
         .colour = 1}};
    tess_xp_row_begin(&page->html);
    for (int is_log = 0; is_log < 2; is_log++) {
        const tess_xp_chart chart = {.title = is_log ? "the same, logarithmic" : "distribution",
                                     .x_label = "(measured - fitted)/sigma",
                                     .y_label = "density",
                                     .is_log_y = is_log != 0,
                                     .width = WIDE,
                                     .height = HEIGHT};
        tess_xp_chart_draw(&page->html, &chart, series, 2);
    }
    tess_xp_row_end(&page->html);
}

static void write_course(tess_xp_page *page, const char *title, const double *x, const double *y,
                         const double *rejected, int64_t n)
{
    const tess_xp_chart chart = {.title = title,
                                 .x_label = "iteration",
                                 .y_label = title,
                                 .is_log_y = true,
                                 .width = NARROW,
                                 .height = HEIGHT};
    const tess_xp_series series[2] = {
        {.name = "accepted", .x = x, .y = y, .n = n, .colour = 0},
        {.name = "rejected", .x = x, .y = rejected, .n = n, .colour = 1}};
    tess_xp_chart_draw(&page->html, &chart, series, 2);
}

tess_status tess_xp_page_convergence(tess_xp_page *page)
{
    static const char *const titles[3] = {"cost", "gradient norm", "trust radius"};
    const int64_t n = page->info->n_trace;
    if (n < 1) {
        return TESS_OK;
    }
    tess_blocks memory;
    tess_blocks_init(&memory, &page->ctx->heap);
    double *x = tess_blocks_alloc(&memory, 3 * n, sizeof *x, "the report's convergence");
    if (!x) {
        return TESS_E_MEMORY;
    }
    tess_html_heading(&page->html, "Convergence");
    tess_xp_row_begin(&page->html);
    for (int which = 0; which < 3; which++) {
        for (int64_t i = 0; i < n; i++) {
            const tess_xpcs_trace *t = &page->info->trace[i];
            const double values[3] = {t->cost, t->gradient_norm, t->radius};
            x[i] = (double)t->iteration;
            x[n + i] = t->is_accepted ? values[which] : (double)NAN;
            x[2 * n + i] = t->is_accepted ? (double)NAN : values[which];
        }
        write_course(page, titles[which], x, x + n, x + 2 * n, n);
    }
    tess_xp_row_end(&page->html);
    tess_blocks_free(&memory);
    return TESS_OK;
}
