// Every angle of the report: maps, mean along the diagonals, and ageing at fixed lags.
#include "base/status.h"
#include "systems/xpcs/report/chart.h"
#include "systems/xpcs/report/page.h"

#include <math.h>
#include <stdio.h>

enum {
    OPEN_ANGLES = 4, // more are folded, all but the worst
    MAP_SIDE = 262,
    MAP_LEFT = 44, // for the numbers of t2
    CHART_WIDTH = 460,
    CHART_HEIGHT = 280,
    LAG_BINS = 90, // no more than a curve holds
    SCALE_STOPS = 9
};

typedef struct curve {
    double x[TESS_XP_SWEEP_AGES];
    double measured[TESS_XP_SWEEP_AGES];
    double fitted[TESS_XP_SWEEP_AGES];
    int64_t n;
} curve;

static void add_mean(curve *c, double x, const tess_xp_sum *sum)
{
    if (sum->n > 0) {
        c->x[c->n] = x;
        c->measured[c->n] = sum->measured / (double)sum->n;
        c->fitted[c->n] = sum->fitted / (double)sum->n;
        c->n++;
    }
}

// Means along the diagonals, lags in bins that grow with the lag.
static void make_g2(const tess_xp_page *page, int64_t angle, curve *c)
{
    const tess_xp_sweep *s = &page->sweep;
    const tess_xp_sum *lags = s->lags + (angle - s->setup.first_angle) * s->n_frame;
    const double growth = pow((double)s->n_frame, 1.0 / (LAG_BINS - 1));
    c->n = 0;
    int64_t lag = 1;
    for (double edge = 1; lag < s->n_frame && c->n < LAG_BINS; edge *= growth) {
        tess_xp_sum sum = {0};
        double moment = 0;
        for (; lag < s->n_frame && (double)lag < edge * growth; lag++) {
            sum.measured += lags[lag].measured;
            sum.fitted += lags[lag].fitted;
            sum.n += lags[lag].n;
            moment += (double)lag * (double)lags[lag].n;
        }
        add_mean(c, sum.n > 0 ? moment / (double)sum.n * page->info->dt_s : 0, &sum);
    }
}

static void write_g2(tess_xp_page *page, int64_t angle)
{
    curve c;
    make_g2(page, angle, &c);
    const tess_xp_chart chart = {.title = "mean along diagonals: g2(tau)",
                                 .x_label = "tau (s)",
                                 .y_label = "c2",
                                 .is_log_x = true,
                                 .width = CHART_WIDTH,
                                 .height = CHART_HEIGHT};
    const tess_xp_series series[2] = {
        {.name = "measured", .x = c.x, .y = c.measured, .n = c.n, .colour = 0},
        {.name = "fitted", .x = c.x, .y = c.fitted, .n = c.n, .is_line = true, .colour = 1}};
    tess_xp_chart_draw(&page->html, &chart, series, 2);
}

static void write_ages(tess_xp_page *page, int64_t angle)
{
    const tess_xp_sweep *s = &page->sweep;
    const int64_t own = angle - s->setup.first_angle;
    curve cuts[TESS_XP_SWEEP_LAGS];
    char names[TESS_XP_SWEEP_LAGS][48];
    tess_xp_series series[2 * TESS_XP_SWEEP_LAGS];
    const double first = tess_xp_frame_time(page->data, 0);
    for (int l = 0; l < TESS_XP_SWEEP_LAGS; l++) {
        curve *c = &cuts[l];
        c->n = 0;
        for (int64_t b = 0; b < s->n_age; b++) {
            const double frame = ((double)b + 0.5) * (double)s->n_frame / (double)s->n_age - 0.5;
            add_mean(c, first + frame * page->info->dt_s,
                     &s->ages[(own * TESS_XP_SWEEP_LAGS + l) * s->n_age + b]);
        }
        snprintf(names[l], sizeof names[l], "tau %.4g s",
                 (double)s->age_lags[l] * page->info->dt_s);
        series[2 * l] =
            (tess_xp_series){.name = names[l], .x = c->x, .y = c->measured, .n = c->n, .colour = l};
        series[2 * l + 1] =
            (tess_xp_series){.x = c->x, .y = c->fitted, .n = c->n, .is_line = true, .colour = l};
    }
    const tess_xp_chart chart = {.title = "ageing at fixed lags (lines: fitted)",
                                 .x_label = "age (t1 + t2)/2 (s)",
                                 .y_label = "c2",
                                 .width = CHART_WIDTH,
                                 .height = CHART_HEIGHT};
    tess_xp_chart_draw(&page->html, &chart, series, 2 * TESS_XP_SWEEP_LAGS);
}

static void write_scale(tess_xp_page *page, tess_xp_map which, double low, double high)
{
    uint8_t palette[256 * 3];
    tess_xp_maps_palette(which, palette);
    tess_text_printf(&page->html.text,
                     "<div style=\"margin-left:%dpx;height:9px;background:linear-gradient(to right",
                     MAP_LEFT);
    for (int i = 0; i < SCALE_STOPS; i++) {
        const uint8_t *rgb = palette + 3 * (i * 254 / (SCALE_STOPS - 1));
        tess_text_printf(&page->html.text, ",#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    }
    tess_text_printf(&page->html.text,
                     ")\"></div><div style=\"margin-left:%dpx;display:flex;"
                     "justify-content:space-between;font-size:.8em\"><span>",
                     MAP_LEFT);
    tess_xp_printf(&page->html, which == TESS_XP_RESIDUAL ? "%.3g" : "%.4g", low);
    tess_text_add(&page->html.text, "</span><span>");
    tess_xp_printf(&page->html, which == TESS_XP_RESIDUAL ? "%.3g sigma" : "%.4g", high);
    tess_text_add(&page->html.text, "</span></div>");
}

static void write_label(tess_xp_page *page, int64_t x, int64_t y, const char *anchor,
                        const char *text)
{
    tess_text_printf(&page->html.text, "<text x=\"%lld\" y=\"%lld\" text-anchor=\"%s\">%s</text>",
                     (long long)x, (long long)y, anchor, text);
}

// The times below and beside a map.
static void write_times(tess_xp_page *page)
{
    const double dt = page->info->dt_s;
    const double first = tess_xp_frame_time(page->data, 0);
    const double last = tess_xp_frame_time(page->data, page->info->n_frame - 1);
    const double step = tess_html_step((last - first) * 1.3);
    for (double t = ceil(first / step) * step; t <= last * (1 + 1e-12); t += step) {
        const double frame = (t - first) / dt + 0.5; // in the middle of its pixel
        const int64_t at = llround(frame / (double)page->info->n_frame * MAP_SIDE);
        char text[32];
        snprintf(text, sizeof text, "%.4g", t);
        write_label(page, MAP_LEFT + at, MAP_SIDE + 14, "middle", text);
        write_label(page, MAP_LEFT - 4, MAP_SIDE - at + 4, "end", text);
    }
    write_label(page, MAP_LEFT + MAP_SIDE / 2, MAP_SIDE + 30, "middle", "t1 (s)");
    tess_text_printf(&page->html.text,
                     "<text transform=\"translate(9 %d) rotate(-90)\" "
                     "text-anchor=\"middle\">t2 (s)</text>",
                     MAP_SIDE / 2);
}

static tess_status write_map(tess_xp_page *page, const tess_xp_maps *maps, tess_xp_map which)
{
    static const char *const names[3] = {"measured", "fitted", "measured - fitted"};
    uint8_t *file = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_xp_maps_png(maps, which, &file, &bytes));
    tess_text_printf(&page->html.text,
                     "<figure style=\"margin:0;width:%dpx\"><figcaption style=\"margin-left:%dpx\">"
                     "%s</figcaption><svg viewBox=\"0 -6 %d %d\" width=\"%d\" role=\"img\" "
                     "style=\"overflow:visible\"><image x=\"%d\" y=\"0\" width=\"%d\" "
                     "height=\"%d\" style=\"image-rendering:pixelated\" "
                     "href=\"data:image/png;base64,",
                     MAP_LEFT + MAP_SIDE, MAP_LEFT, names[which], MAP_LEFT + MAP_SIDE,
                     MAP_SIDE + 44, MAP_LEFT + MAP_SIDE, MAP_LEFT, MAP_SIDE, MAP_SIDE);
    tess_html_base64(&page->html, file, bytes);
    tess_text_add(&page->html.text, "\"/>");
    tess_heap_free(&page->ctx->heap, file, bytes, TESS_TAG_IO);
    write_times(page);
    tess_text_add(&page->html.text, "</svg>");
    if (which == TESS_XP_RESIDUAL) {
        write_scale(page, which, -maps->limit, maps->limit);
    } else {
        write_scale(page, which, maps->low, maps->high);
    }
    tess_text_add(&page->html.text, "</figure>\n");
    return TESS_OK;
}

static tess_status write_angle(tess_xp_page *page, tess_xp_maps *maps, int64_t a, bool is_open)
{
    const tess_xpcs_result_info *info = page->info;
    char text[96];
    tess_text_printf(
        &page->html.text,
        "<details id=\"angle%lld\"%s><summary style=\"font-weight:600;margin-top:1em\">",
        (long long)a + 1, is_open ? " open" : "");
    tess_xp_printf(&page->html, "φ = %.2f°, q = %.5g 1/Å: ", info->phi[a], info->q[a]);
    tess_xp_with_error(info->contrast[a], info->contrast_sd[a], text, sizeof text);
    tess_xp_printf(&page->html, "contrast %s, ", text);
    tess_xp_with_error(info->offset[a], info->offset_sd[a], text, sizeof text);
    tess_xp_printf(&page->html, "offset %s, reduced chi2 %.4g", text,
                   info->reduced_chi2_angle ? info->reduced_chi2_angle[a] : (double)NAN);
    tess_text_add(&page->html.text, "</summary>\n");
    TESS_TRY(tess_xp_page_sweep(page, a));
    tess_xp_maps_fill(maps, &page->sweep, a - page->sweep.setup.first_angle);
    tess_xp_row_begin(&page->html);
    for (int which = 0; which < 3; which++) {
        TESS_TRY(write_map(page, maps, (tess_xp_map)which));
    }
    tess_xp_row_end(&page->html);
    tess_xp_row_begin(&page->html);
    write_g2(page, a);
    write_ages(page, a);
    tess_xp_row_end(&page->html);
    tess_text_add(&page->html.text, "</details>\n");
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
