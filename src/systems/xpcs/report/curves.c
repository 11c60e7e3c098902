// Curves of the report: rates over time, course of the fit.
#include "base/status.h"
#include "systems/xpcs/report/bands.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <stdio.h>

enum { N_RATE = 240 };

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

static void write_rate(tess_xp_page *page, int which, const double *t, const double *rate)
{
    static const char *const titles[2] = {"transport rate", "shear rate"};
    static const char *const labels[2] = {"D(t)", "rate"};
    static const char *const units[2] = {"Å²/s", "1/s"};
    static const char *const notes[2] = {"D0 t^alpha + D_offset",
                                         "gamma_dot_t0 t^beta + gamma_dot_t_offset"};
    int64_t frames[N_RATE];
    double x[N_RATE] = {0};
    double y[N_RATE] = {0};
    double sd[N_RATE];
    double low[N_RATE];
    double high[N_RATE];
    const int64_t n = choose_frames(page->info->n_frame, frames);
    for (int64_t i = 0; i < n; i++) {
        x[i] = t[frames[i]];
        y[i] = rate[frames[i]];
    }
    const bool has_band = tess_xp_rate_sd(page->info, which, x, n, sd);
    for (int64_t i = 0; i < n && has_band; i++) {
        low[i] = y[i] - sd[i]; // not above zero: down to the end of the axis
        high[i] = y[i] + sd[i];
    }
    const tess_figure_series series = {.name = has_band
                                                   ? "fit, with one sigma by the covariance"
                                                   : "fit; no band: a parameter is unidentified",
                                       .x = x,
                                       .y = y,
                                       .low = has_band ? low : NULL,
                                       .high = has_band ? high : NULL,
                                       .n = n,
                                       .colour = 1};
    tess_figure_draw(
        &page->html,
        &(tess_figure){.title = titles[which],
                       .x = {.label = "t", .unit = "s", .is_log = true},
                       .y = {.label = labels[which], .unit = units[which], .is_log = true},
                       .is_narrow = true,
                       .series = &series,
                       .n_series = 1,
                       .note = notes[which]});
}

tess_status tess_xp_page_rates(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    const bool has_shear = info->mode == TESS_XPCS_LAMINAR_FLOW;
    const int64_t n = info->n_frame;
    if (info->mode == TESS_XPCS_TWO_COMPONENT) {
        tess_xp_page_two(page);
        return TESS_OK;
    }
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
        tess_html_heading(&page->html,
                          has_shear ? "Transport and shear over time" : "Transport over time");
        tess_html_row_begin(&page->html);
        write_rate(page, 0, values, values + n);
        if (has_shear) {
            write_rate(page, 1, values, values + 2 * n);
        }
        tess_html_row_end(&page->html);
    }
    tess_blocks_free(&memory);
    return status;
}

static void write_course(tess_xp_page *page, const char *title, const double *x, const double *y,
                         const double *rejected, int64_t n)
{
    const tess_figure_series series[2] = {
        {.name = "accepted", .x = x, .y = y, .n = n, .style = TESS_FIGURE_POINTS},
        {.name = "rejected",
         .x = x,
         .y = rejected,
         .n = n,
         .style = TESS_FIGURE_POINTS,
         .colour = 1}};
    tess_figure_draw(&page->html, &(tess_figure){.title = title,
                                                 .x = {.label = "iteration"},
                                                 .y = {.label = title, .is_log = true},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

tess_status tess_xp_page_convergence(tess_xp_page *page)
{
    static const char *const titles[3] = {"cost above the best", "gradient norm", "trust radius"};
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
    double best = (double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        best = fmin(best, page->info->trace[i].cost);
    }
    tess_html_heading(&page->html, "Convergence");
    tess_html_row_begin(&page->html);
    for (int which = 0; which < 3; which++) {
        for (int64_t i = 0; i < n; i++) {
            const tess_xpcs_trace *t = &page->info->trace[i];
            const double values[3] = {t->cost - best, t->gradient_norm, t->radius};
            x[i] = (double)t->iteration;
            x[n + i] = t->is_accepted ? values[which] : (double)NAN;
            x[2 * n + i] = t->is_accepted ? (double)NAN : values[which];
        }
        write_course(page, titles[which], x, x + n, x + 2 * n, n);
    }
    tess_html_row_end(&page->html);
    tess_blocks_free(&memory);
    return TESS_OK;
}
