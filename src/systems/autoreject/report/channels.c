// The table of channels, and the validation curves of their thresholds.
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { CURVE_LEFT = 32, CURVE_WIDTH = 168, CURVE_HEIGHT = 60, CURVE_BELOW = 12, CURVE_POINTS = 60 };

void tess_ar_page_channels(tess_ar_page *page)
{
    static const char *const heads[] = {"channel", "type",     "threshold", "standard error",
                                        "bad",     "repaired", "left bad"};
    const tess_autoreject_log_info *log = page->log;
    tess_html_heading(&page->html, "Channels");
    tess_html_paragraph(&page->html,
                        "Peak-to-peak threshold of every channel, its standard error (how far it "
                        "would lie with as many other epochs), and the shares of epochs in which "
                        "the channel is bad, and bad and repaired.");
    tess_html_table_begin(&page->html, heads, 7);
    for (int64_t c = 0; c < log->n_chan; c++) {
        const int32_t t = page->type_of[c];
        if (t < 0) {
            continue;
        }
        const tess_ar_unit unit = tess_ar_unit_of_channel(page, c);
        char text[5][40];
        snprintf(text[0], sizeof text[0], "%.4g %s", unit.scale * page->threshold_of[c], unit.name);
        if (isfinite(page->error_of[c])) {
            const double error = unit.scale * page->error_of[c];
            snprintf(text[1], sizeof text[1], error >= 100 ? "%.0f %s" : "%.2g %s", error,
                     unit.name);
        } else {
            snprintf(text[1], sizeof text[1], "-");
        }
        snprintf(text[2], sizeof text[2], "%.1f %%", 100 * tess_ar_label_share(log, c, 1, 2));
        snprintf(text[3], sizeof text[3], "%.1f %%", 100 * tess_ar_label_share(log, c, 2, 2));
        snprintf(text[4], sizeof text[4], "%.1f %%", 100 * tess_ar_label_share(log, c, 1, 1));
        const char *const cells[] = {
            page->names[c], tess_autoreject_type_name(page->model->types[t].type),
            text[0],        text[1],
            text[2],        text[3],
            text[4]};
        tess_html_table_row(&page->html, cells, 7);
    }
    tess_html_table_end(&page->html);
}

typedef struct curve {
    const double *x; // [n] candidates
    const double *y; // [n] their objectives
    int64_t n;
    double threshold;
    tess_ar_unit unit;
} curve;

static void write_number(tess_ar_page *page, double x, int y, const char *anchor, double value,
                         const char *unit)
{
    tess_text_printf(&page->html.text,
                     "<text x=\"%.4g\" y=\"%d\" text-anchor=\"%s\" style=\"font-size:9px\">%s%s%s"
                     "</text>",
                     x, y, anchor, tess_ar_number_of(value).text, unit[0] ? " " : "", unit);
}

// The objective over the candidates of a channel as a small line, its threshold as a mark, and the
// ends of both axes in numbers.
static void write_curve(tess_ar_page *page, const char *name, const curve *c)
{
    tess_text *out = &page->html.text;
    const int64_t n = c->n;
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, c->y[i]);
        high = fmax(high, c->y[i]);
    }
    const double first = n > 0 ? c->x[0] : 0;
    const double last = n > 0 ? c->x[n - 1] : 0;
    const double span = last > first ? last - first : 1;
    const double range = high > low ? high - low : 1;
    char shown[TESS_AR_NAME];
    tess_ar_shown_name(name, shown);
    tess_text_add(out, "<figure class=\"curve\"><figcaption>");
    tess_html_escaped(&page->html, shown);
    tess_text_printf(out,
                     ": %.4g %s</figcaption><div class=\"still\"><svg viewBox=\"0 0 %d %d\" "
                     "width=\"%d\" role=\"img\"><polyline fill=\"none\" stroke=\"#2f7fd0\" "
                     "points=\"",
                     c->unit.scale * c->threshold, c->unit.name, CURVE_LEFT + CURVE_WIDTH,
                     CURVE_HEIGHT + CURVE_BELOW, CURVE_LEFT + CURVE_WIDTH);
    const int64_t step = n > CURVE_POINTS ? (n + CURVE_POINTS - 1) / CURVE_POINTS : 1;
    for (int64_t k = 0; k < n + step - 1; k += step) {
        const int64_t i = k < n ? k : n - 1; // the line ends where the axis does
        tess_text_printf(out, "%.4g,%.4g ", CURVE_LEFT + (c->x[i] - first) / span * CURVE_WIDTH,
                         2 + (high - c->y[i]) / range * (CURVE_HEIGHT - 4));
    }
    const double at = CURVE_LEFT + (c->threshold - first) / span * CURVE_WIDTH;
    tess_text_printf(
        out, "\"/><line x1=\"%.4g\" x2=\"%.4g\" y1=\"0\" y2=\"%d\" stroke=\"" TESS_AR_BAD "\"/>",
        at, at, CURVE_HEIGHT);
    if (n > 0 && isfinite(low) && isfinite(high)) {
        const int below = CURVE_HEIGHT + CURVE_BELOW - 2;
        write_number(page, CURVE_LEFT - 3, 9, "end", c->unit.scale * high, "");
        write_number(page, CURVE_LEFT - 3, CURVE_HEIGHT, "end", c->unit.scale * low, "");
        write_number(page, CURVE_LEFT, below, "start", c->unit.scale * first, "");
        write_number(page, CURVE_LEFT + CURVE_WIDTH, below, "end", c->unit.scale * last,
                     c->unit.name);
    }
    tess_text_add(out, "</svg></div></figure>\n");
}

void tess_ar_page_curves(tess_ar_page *page)
{
    const tess_autoreject_model_info *m = page->model;
    bool is_open = false;
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        if (!fit->n_candidate || !fit->candidates || !fit->candidate_objectives) {
            continue;
        }
        if (!is_open) {
            tess_html_heading(&page->html, "Validation curves");
            tess_html_paragraph(&page->html,
                                "The cross-validated error (upwards) at every candidate threshold "
                                "of a channel (to the right), both in the unit on the right, with "
                                "the choice in red.");
        }
        is_open = true;
        tess_html_fold_begin(&page->html, NULL, tess_autoreject_type_name(fit->type), false);
        tess_html_row_begin(&page->html);
        int64_t first = 0;
        for (int64_t c = 0; c < fit->n_chan; c++) {
            write_curve(page, m->channel_names[fit->channels[c]],
                        &(curve){.x = fit->candidates + first,
                                 .y = fit->candidate_objectives + first,
                                 .n = fit->n_candidate[c],
                                 .threshold = fit->thresholds[c],
                                 .unit = tess_ar_unit_of(fit->type)});
            first += fit->n_candidate[c];
        }
        tess_html_row_end(&page->html);
        tess_html_fold_end(&page->html);
    }
}
