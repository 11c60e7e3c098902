// One page: free rates and the power law in one picture each, and which of them the data speak for.
#include "systems/xpcs/rates/page.h"

#include "base/blocks.h"
#include "base/status.h"
#include "page/figure.h"
#include "page/html.h"

#include <math.h>
#include <stdio.h>

enum { CELL = 128, N_HEAD = 3 };

static const double BAND = 1.9599639845400545;

typedef struct rates_page {
    tess_html html;
    const tess_xpcs_rates_info *info;
    double *low; // [n_frame] of the power law's band
    double *high;
} rates_page;

const char *tess_xp_rates_shape_name(int32_t shape)
{
    return shape == TESS_XPCS_RATES_MONOTONE ? "monotone" : "smooth";
}

const char *tess_xp_rates_spacing_name(int32_t spacing)
{
    return spacing == TESS_XPCS_RATES_LINEAR ? "linear" : "log";
}

static void write_verdict(rates_page *page)
{
    const tess_xpcs_rates_info *i = page->info;
    const double size = fabs(i->log_bayes_factor);
    const char *badge = !(size >= 1)              ? "not decided"
                        : i->log_bayes_factor > 0 ? "no power law"
                                                  : "power law";
    tess_html_badge(&page->html, TESS_HTML_NEUTRAL, badge);
    tess_html_badge(&page->html, i->is_converged ? TESS_HTML_GOOD : TESS_HTML_BAD,
                    i->is_converged ? "converged" : "not converged");
    tess_html_warnings(&page->html, i->notes);
    tess_html_paragraph(&page->html, i->verdict);
}

static void fact(rates_page *page, const char *name, const char *format, double a, double b)
{
    char text[CELL];
    snprintf(text, sizeof text, format, a, b);
    tess_html_fact(&page->html, name, text);
}

static void write_facts(rates_page *page)
{
    const tess_xpcs_rates_info *i = page->info;
    char text[CELL];
    tess_html_heading(&page->html, "Evidence");
    tess_html_fact_begin(&page->html);
    fact(page, "ln evidence of free form", "%.2f", i->log_evidence, 0);
    fact(page, "ln evidence of the power law", "%.2f ± %.2f", i->log_evidence_power,
         i->log_evidence_power_error);
    fact(page, "of which", "%.2f with offsets, %.2f without", i->log_evidence_offset,
         i->log_evidence_plain);
    fact(page, "ln Bayes factor", "%+.2f, above 0 for free form", i->log_bayes_factor, 0);
    fact(page, "noise of a point", "%.5g free, %.5g by the power law", i->noise, i->noise_power);
    snprintf(text, sizeof text, "%s, %lld knots even in %s", tess_xp_rates_shape_name(i->shape),
             (long long)i->n_knot, i->spacing == TESS_XPCS_RATES_LOG ? "ln t" : "t");
    tess_html_fact(&page->html, "free form", text);
    fact(page, "transport", "smoothness %.4g, %.1f coefficients by the data",
         i->transport.smoothness, i->transport.n_effective);
    if (i->has_shear) {
        fact(page, "shear", "smoothness %.4g, %.1f coefficients by the data", i->shear.smoothness,
             i->shear.n_effective);
        fact(page, "phi0", "%.4g ± %.2g degrees", i->phi0, i->phi0_sd);
    }
    fact(page, "time", "%.2f s, %.0f passes", i->seconds, (double)i->n_pass);
    tess_html_fact_end(&page->html);
}

// Both laws with their 95 % bands.
static void draw(rates_page *page, const tess_xpcs_rate_curve *curve, const char *title,
                 const char *unit, bool is_log)
{
    const tess_xpcs_rates_info *i = page->info;
    for (int64_t f = 0; f < i->n_frame; f++) {
        const double reach = isfinite(curve->power_sd[f]) ? BAND * curve->power_sd[f] : 0;
        page->high[f] = curve->power[f] + reach;
        page->low[f] = curve->power[f] - reach;
        if (is_log && !(page->low[f] > 0)) { // where a logarithmic axis would end
            page->low[f] = 0.1 * curve->power[f];
        }
    }
    const tess_figure_series series[2] = {{.name = "power law with offset",
                                           .x = i->t,
                                           .y = curve->power,
                                           .low = page->low,
                                           .high = page->high,
                                           .n = i->n_frame,
                                           .style = TESS_FIGURE_LINE,
                                           .colour = 1},
                                          {.name = "free form",
                                           .x = i->t,
                                           .y = curve->value,
                                           .low = curve->low,
                                           .high = curve->high,
                                           .n = i->n_frame,
                                           .style = TESS_FIGURE_LINE,
                                           .colour = 0}};
    const tess_figure figure = {
        .title = title,
        .group = "time",
        .x = {.label = "time", .unit = "s", .is_log = i->spacing == TESS_XPCS_RATES_LOG},
        .y = {.label = title, .unit = unit, .is_log = is_log},
        .series = series,
        .n_series = 2,
        .note = "Bands of 95 %."};
    tess_figure_draw(&page->html, &figure);
}

static void write_knots(rates_page *page)
{
    const tess_xpcs_rates_info *i = page->info;
    static const char *const heads[N_HEAD] = {"time in s", "D(t) in Å²/s", "shear rate in 1/s"};
    const int n = i->has_shear ? N_HEAD : N_HEAD - 1;
    tess_html_heading(&page->html, "Knots");
    tess_html_table_begin(&page->html, heads, n);
    for (int64_t k = 0; k < i->n_knot; k++) {
        char cells[N_HEAD][CELL];
        const char *list[N_HEAD] = {cells[0], cells[1], cells[2]};
        snprintf(cells[0], CELL, "%.5g", i->knots[k]);
        snprintf(cells[1], CELL, "%.5g ± %.2g", i->transport.knot_value[k],
                 i->transport.knot_sd[k]);
        if (i->has_shear) {
            snprintf(cells[2], CELL, "%.5g ± %.2g", i->shear.knot_value[k], i->shear.knot_sd[k]);
        }
        tess_html_table_row(&page->html, list, n);
    }
    tess_html_table_end(&page->html);
}

tess_status tess_xp_rates_page(tess_context *ctx, const tess_xpcs_rates_info *info,
                               const char *path, int overwrite)
{
    const tess_origin origin = {.stage = "xpcs.rates", .identity = info->identity};
    rates_page page = {.info = info};
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    page.low = tess_blocks_alloc(&memory, 2 * info->n_frame, sizeof *page.low, "the report");
    if (!page.low) {
        return TESS_E_MEMORY;
    }
    page.high = page.low + info->n_frame;
    tess_html_begin(&page.html, ctx, &origin, "Rates of any shape");
    write_verdict(&page);
    tess_html_heading(&page.html, "Rates");
    draw(&page, &info->transport, "D(t)", "Å²/s", true);
    if (info->has_shear) {
        draw(&page, &info->shear, "shear rate", "1/s", false);
    }
    write_facts(&page);
    write_knots(&page);
    tess_html_paragraph(&page.html,
                        "Free form: a cubic spline whose smoothness the marginal likelihood "
                        "chooses; its evidence is averaged over that. Points are taken as "
                        "independent: where they share frames, bands are too narrow and Bayes "
                        "factors too large.");
    const tess_status status = tess_html_write(&page.html, path, overwrite);
    tess_html_destroy(&page.html);
    tess_blocks_free(&memory);
    return status;
}
