// Thresholds with their validation curves, and where on the head the bad sensors are.
#include "systems/autoreject/report/page.h"

#include <math.h>

enum { CURVE_WIDTH = 200, CURVE_HEIGHT = 60, CURVE_POINTS = 60, HEAD = 400 };
// Names of more sensors than these would lie on top of each other.
enum { MOST_NAMES = 80, SCALE_STEPS = 20, SCALE_HEIGHT = 300 };

// The objective over the candidates of a channel as a small line, its threshold as a mark.
static void write_curve(tess_ar_page *page, const double *x, const double *y, int64_t n,
                        double threshold)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    const double first = n > 0 ? x[0] : 0;
    const double span = n > 0 && x[n - 1] > first ? x[n - 1] - first : 1;
    const double range = high > low ? high - low : 1;
    tess_text_printf(&page->html.text,
                     "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\"><polyline fill=\"none\" "
                     "stroke=\"#33658a\" points=\"",
                     CURVE_WIDTH, CURVE_HEIGHT, CURVE_WIDTH);
    const int64_t step = n > CURVE_POINTS ? (n + CURVE_POINTS - 1) / CURVE_POINTS : 1;
    for (int64_t i = 0; i < n; i += step) {
        tess_text_printf(&page->html.text, "%.4g,%.4g ", (x[i] - first) / span * CURVE_WIDTH,
                         2 + (high - y[i]) / range * (CURVE_HEIGHT - 4));
    }
    const double at = (threshold - first) / span * CURVE_WIDTH;
    tess_text_printf(&page->html.text,
                     "\"/><line x1=\"%.4g\" x2=\"%.4g\" y1=\"0\" y2=\"%d\" "
                     "stroke=\"#d7301f\"/></svg>",
                     at, at, CURVE_HEIGHT);
}

static void write_channel(tess_ar_page *page, const tess_autoreject_type_fit *fit, int64_t c,
                          int64_t first)
{
    const double scale = tess_ar_unit_of(fit->type).scale;
    tess_text_add(&page->html.text, "<tr><td>");
    tess_ar_page_name(page, page->model->channel_names[fit->channels[c]]);
    tess_text_printf(&page->html.text, "</td><td class=\"n\">%.4g</td><td class=\"n\">",
                     scale * fit->thresholds[c]);
    if (fit->standard_errors && isfinite(fit->standard_errors[c])) {
        tess_text_printf(&page->html.text, "%.2g", scale * fit->standard_errors[c]);
    }
    tess_text_printf(&page->html.text, "</td><td class=\"n\">%.1f %%</td><td>",
                     100 * tess_ar_bad_share(page->log, fit->channels[c]));
    if (fit->n_candidate && fit->candidates && fit->candidate_objectives) {
        write_curve(page, fit->candidates + first, fit->candidate_objectives + first,
                    fit->n_candidate[c], fit->thresholds[c]);
    }
    tess_text_add(&page->html.text, "</td></tr>\n");
}

void tess_ar_page_thresholds(tess_ar_page *page)
{
    const tess_autoreject_model_info *m = page->model;
    tess_html_heading(&page->html, "Thresholds");
    tess_html_paragraph(&page->html,
                        "Peak-to-peak threshold of every channel, its standard error (how far it "
                        "would lie with as many other epochs), the share of epochs above it, and "
                        "the cross-validated error at every candidate (left to right) with the "
                        "choice in red.");
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        int64_t first = 0;
        const char *unit = tess_ar_unit_of(fit->type).name;
        tess_text_printf(&page->html.text,
                         "<table><tr><th>%s channel</th><th class=\"n\">threshold (%s)</th><th "
                         "class=\"n\">standard error (%s)</th><th class=\"n\">bad</th>"
                         "<th>validation curve</th></tr>\n",
                         tess_autoreject_type_name(fit->type), unit, unit);
        for (int64_t c = 0; c < fit->n_chan; c++) {
            write_channel(page, fit, c, first);
            first += fit->n_candidate ? fit->n_candidate[c] : 0;
        }
        tess_text_add(&page->html.text, "</table>\n");
    }
}

// Seen from above, nose up: the angle from the vertex becomes the distance from the centre.
static int project(const double *loc, double *x, double *y)
{
    const double r = sqrt(loc[0] * loc[0] + loc[1] * loc[1] + loc[2] * loc[2]);
    if (!(r > 0)) {
        return 0;
    }
    const double polar = acos(loc[2] / r);
    const double flat = hypot(loc[0], loc[1]);
    const double scale = flat > 0 ? polar / (3.14159265358979323846 / 2) / flat : 0;
    *x = HEAD / 2.0 + loc[0] * scale * HEAD * 0.4;
    *y = HEAD / 2.0 - loc[1] * scale * HEAD * 0.4;
    return 1;
}

// The colours of shares, right of the head.
static void write_scale(tess_ar_page *page)
{
    const int x = HEAD + 30;
    const int top = (HEAD - SCALE_HEIGHT) / 2;
    const double step = (double)SCALE_HEIGHT / SCALE_STEPS;
    for (int k = 0; k < SCALE_STEPS; k++) {
        int rgb[3];
        tess_html_colour((k + 0.5) / SCALE_STEPS, rgb);
        tess_text_printf(&page->html.text,
                         "<rect x=\"%d\" y=\"%.5g\" width=\"14\" height=\"%.5g\" "
                         "fill=\"#%02x%02x%02x\"/>",
                         x, top + (SCALE_STEPS - 1 - k) * step, step + 0.5, (unsigned)rgb[0],
                         (unsigned)rgb[1], (unsigned)rgb[2]);
    }
    for (int share = 0; share <= 100; share += 50) {
        tess_text_printf(&page->html.text,
                         "<text x=\"%d\" y=\"%.5g\" font-size=\"11\">%d %%</text>", x + 18,
                         top + SCALE_HEIGHT * (1 - share / 100.0) + 4, share);
    }
    tess_text_printf(&page->html.text,
                     "<text x=\"%d\" y=\"%d\" font-size=\"11\">bad epochs</text>\n", x - 6,
                     top - 10);
}

static void write_head(tess_ar_page *page, const tess_autoreject_type_fit *fit,
                       const tess_autoreject_sensors *sensors)
{
    tess_text_printf(&page->html.text,
                     "<svg viewBox=\"-20 -20 %d %d\" width=\"%d\" role=\"img\"><text x=\"0\" "
                     "y=\"0\" font-size=\"14\">%s</text><circle cx=\"%d\" "
                     "cy=\"%d\" r=\"%.4g\" fill=\"none\" stroke=\"#888\"/><path d=\"M%d %.4g L%d "
                     "%.4g L%d %.4g\" fill=\"none\" stroke=\"#888\"/>\n",
                     HEAD + 120, HEAD + 40, HEAD + 120, tess_autoreject_type_name(fit->type),
                     HEAD / 2, HEAD / 2, HEAD * 0.4, HEAD / 2 - 12, HEAD * 0.1, HEAD / 2,
                     HEAD * 0.1 - 14, HEAD / 2 + 12, HEAD * 0.1);
    for (int64_t c = 0; c < fit->n_chan; c++) {
        const double share = tess_ar_bad_share(page->log, fit->channels[c]);
        double x = 0;
        double y = 0;
        int rgb[3];
        if (!project(sensors->channels[fit->channels[c]].loc, &x, &y)) {
            continue;
        }
        tess_html_colour(share, rgb);
        tess_text_printf(&page->html.text,
                         "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"9\" "
                         "fill=\"#%02x%02x%02x\"><title>",
                         x, y, (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
        tess_ar_page_name(page, page->model->channel_names[fit->channels[c]]);
        tess_text_printf(&page->html.text, " %.1f %%</title></circle>\n", 100 * share);
        if (fit->n_chan <= MOST_NAMES) {
            tess_text_printf(&page->html.text,
                             "<text x=\"%.5g\" y=\"%.5g\" font-size=\"8\" "
                             "text-anchor=\"middle\">",
                             x, y + 17);
            tess_ar_page_name(page, page->model->channel_names[fit->channels[c]]);
            tess_text_add(&page->html.text, "</text>\n");
        }
    }
    write_scale(page);
    tess_text_add(&page->html.text, "</svg>\n");
}

void tess_ar_page_topography(tess_ar_page *page)
{
    const tess_autoreject_sensors *sensors = tess_autoreject_epochs_get_info(page->epochs)->sensors;
    tess_html_heading(&page->html, "Bad sensors on the head");
    tess_html_paragraph(&page->html,
                        "Seen from above, nose up; the colour is the share of epochs in which a "
                        "sensor is bad. Names and shares appear under the pointer, too.");
    for (int64_t t = 0; t < page->model->n_type; t++) {
        write_head(page, &page->model->types[t], sensors);
    }
}
