// Every angle of the report: maps, mean along the diagonals, and ageing at fixed lags.
#include "base/status.h"
#include "systems/xpcs/report/page.h"

#include <math.h>
#include <stdio.h>

enum { OPEN_ANGLES = 4 }; // more are folded, all but the worst

typedef struct age_curve {
    double x[TESS_XP_SWEEP_AGES];
    double measured[TESS_XP_SWEEP_AGES];
    double fitted[TESS_XP_SWEEP_AGES];
    int64_t n;
} age_curve;

static void write_g2(tess_xp_page *page, const tess_xp_lag_curve *c)
{
    const tess_figure_series series[2] = {
        {.name = "measured", .x = c->tau, .y = c->measured, .n = c->n, .style = TESS_FIGURE_POINTS},
        {.name = "fitted", .x = c->tau, .y = c->fitted, .n = c->n, .colour = 1}};
    tess_figure_draw(&page->html, &(tess_figure){.title = "g2(tau): diagonal means",
                                                 .x = {.label = "tau", .unit = "s", .is_log = true},
                                                 .y = {.label = "c2"},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2});
}

static void make_ages(const tess_xp_page *page, int64_t own, int l, age_curve *c)
{
    const tess_xp_sweep *s = &page->sweep;
    const tess_xp_sum *sums = &s->ages[(own * TESS_XP_SWEEP_LAGS + l) * s->n_age];
    const double first = tess_xp_frame_time(page->data, 0);
    c->n = 0;
    for (int64_t b = 0; b < s->n_age; b++) {
        const double frame = ((double)b + 0.5) * (double)s->n_frame / (double)s->n_age - 0.5;
        if (sums[b].n > 0) {
            c->x[c->n] = first + frame * page->info->dt_s;
            c->measured[c->n] = sums[b].measured / (double)sums[b].n;
            c->fitted[c->n++] = sums[b].fitted / (double)sums[b].n;
        }
    }
}

static void write_ages(tess_xp_page *page, int64_t own)
{
    age_curve cuts[TESS_XP_SWEEP_LAGS];
    char names[TESS_XP_SWEEP_LAGS][48];
    tess_figure_series series[2 * TESS_XP_SWEEP_LAGS];
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        const age_curve *c = &cuts[l];
        make_ages(page, own, l, &cuts[l]);
        snprintf(names[l], sizeof names[l], "tau %.4g s",
                 (double)page->sweep.age_lags[l] * page->info->dt_s);
        series[2 * l] = (tess_figure_series){.name = names[l],
                                             .x = c->x,
                                             .y = c->measured,
                                             .n = c->n,
                                             .style = TESS_FIGURE_POINTS,
                                             .colour = l};
        series[2 * l + 1] = (tess_figure_series){.x = c->x, .y = c->fitted, .n = c->n, .colour = l};
    }
    tess_figure_draw(&page->html, &(tess_figure){.title = "ageing (lines: fitted)",
                                                 .x = {.label = "age (t1 + t2)/2", .unit = "s"},
                                                 .y = {.label = "c2"},
                                                 .is_narrow = true,
                                                 .series = series,
                                                 .n_series = 2 * TESS_XP_SWEEP_LAGS});
}

// The three maps of an angle share their axes, so that they zoom together.
static void write_maps(tess_xp_page *page, const tess_xp_maps *maps, int64_t angle)
{
    static const char *const names[3] = {"measured", "fitted", "measured - fitted"};
    const double dt = page->info->dt_s;
    const double first = tess_xp_frame_time(page->data, 0) - dt / 2;
    const double last = tess_xp_frame_time(page->data, page->info->n_frame - 1) + dt / 2;
    char group[32];
    snprintf(group, sizeof group, "angle%lld", (long long)angle + 1);
    tess_html_row_begin(&page->html);
    for (int which = 0; which < 3; which++) {
        const bool is_residual = which == TESS_XP_RESIDUAL;
        const tess_figure_map map = {.values = maps->values + which * maps->side * maps->side,
                                     .n_column = maps->side,
                                     .n_row = maps->side,
                                     .is_symmetric = true,
                                     .label = is_residual ? "residual" : "c2",
                                     .unit = is_residual ? "sigma" : NULL,
                                     .low = is_residual ? -maps->limit : maps->low,
                                     .high = is_residual ? maps->limit : maps->high,
                                     .colours =
                                         is_residual ? TESS_FIGURE_DIVERGING : TESS_FIGURE_RISING};
        tess_figure_draw(&page->html, &(tess_figure){.title = names[which],
                                                     .plane = group,
                                                     .x = {"t1", "s", first, last, false},
                                                     .y = {"t2", "s", first, last, false},
                                                     .is_narrow = true,
                                                     .is_square = true,
                                                     .map = &map});
    }
    tess_html_row_end(&page->html);
}

static void write_summary(tess_xp_page *page, int64_t a, bool is_open)
{
    const tess_xpcs_result_info *info = page->info;
    char contrast[96];
    char offset[96];
    char text[320];
    char id[32];
    tess_xp_with_error(info->contrast[a], info->contrast_sd[a], contrast, sizeof contrast);
    tess_xp_with_error(info->offset[a], info->offset_sd[a], offset, sizeof offset);
    snprintf(text, sizeof text,
             "φ = %.2f°, q = %.5g 1/Å: contrast %s, offset %s, reduced chi2 %.4g", info->phi[a],
             info->q[a], contrast, offset,
             info->reduced_chi2_angle ? info->reduced_chi2_angle[a] : (double)NAN);
    snprintf(id, sizeof id, "angle%lld", (long long)a + 1);
    tess_html_fold_begin(&page->html, id, text, is_open);
}

static tess_status write_angle(tess_xp_page *page, tess_xp_maps *maps, int64_t a, bool is_open)
{
    write_summary(page, a, is_open);
    TESS_TRY(tess_xp_page_sweep(page, a));
    const int64_t own = a - page->sweep.setup.first_angle;
    const int64_t n_frame = page->info->n_frame;
    const tess_xp_sum *sums = page->sweep.lags + own * n_frame;
    tess_xp_lag_curve lags;
    tess_xp_lag_bins(sums, n_frame, page->info->dt_s, &lags);
    for (int64_t lag = 0; lag < n_frame; lag++) {
        page->lags[lag].residual += sums[lag].residual;
        page->lags[lag].squares += sums[lag].squares;
        page->lags[lag].n += sums[lag].n;
    }
    tess_xp_maps_fill(maps, &page->sweep, own);
    write_maps(page, maps, a);
    tess_html_row_begin(&page->html);
    write_g2(page, &lags);
    write_ages(page, own);
    tess_xp_page_residual_lags(page, &lags);
    tess_html_row_end(&page->html);
    tess_html_fold_end(&page->html);
    return tess_context_check_cancel(page->ctx);
}

static int64_t worst_angle(const tess_xpcs_result_info *info)
{
    int64_t worst = 0;
    for (int64_t a = 1; info->reduced_chi2_angle && a < info->n_angle; a++) {
        worst = info->reduced_chi2_angle[a] > info->reduced_chi2_angle[worst] ? a : worst;
    }
    return worst;
}

tess_status tess_xp_page_angles(tess_xp_page *page)
{
    const tess_xpcs_result_info *info = page->info;
    const int64_t worst = worst_angle(info);
    const double first = tess_xp_frame_time(page->data, 0);
    const double last = tess_xp_frame_time(page->data, info->n_frame - 1);
    tess_html_heading(&page->html, "Measured and fitted correlations");
    tess_text_add(&page->html.text, "<p>");
    tess_xp_printf(
        &page->html,
        "t1 to the right and t2 upwards, both %.4g to %.4g s, %lld x %lld cells, each the "
        "mean of its points; grey: not measured. Measured and fitted share a scale from "
        "percentile 1 to 99; residuals are in sigma of a point.",
        first, last, (long long)page->sweep.side, (long long)page->sweep.side);
    if (info->n_angle > OPEN_ANGLES) {
        tess_text_printf(&page->html.text, " <a href=\"#angle%lld\">", (long long)worst + 1);
        tess_xp_printf(&page->html, "φ = %.2f°", info->phi[worst]);
        tess_text_add(&page->html.text, "</a> has the largest chi2 and is unfolded.");
    }
    tess_text_add(&page->html.text, "</p>\n");
    tess_xp_maps maps;
    tess_status status = tess_xp_maps_create(&page->sweep, &maps);
    for (int64_t a = 0; a < info->n_angle && status == TESS_OK; a++) {
        status = write_angle(page, &maps, a, info->n_angle <= OPEN_ANGLES || a == worst);
    }
    tess_xp_maps_destroy(&maps);
    return status;
}
