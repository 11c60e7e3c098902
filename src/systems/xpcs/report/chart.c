#include "systems/xpcs/report/chart.h"

#include "page/html_parts.h"

#include <math.h>
#include <stdio.h>

enum { LEFT = 70, TOP = 26, BOTTOM = 44, RIGHT = 12, N_COLOUR = 8 };

static const char *const COLOURS[N_COLOUR] = {"#2f7fd0", "#d9483b", "#3a9d5d", "#a35bb8",
                                              "#c98a1b", "#4c5a67", "#00a3a3", "#d4588f"};

typedef struct axis {
    double low; // of log10 where it is logarithmic
    double high;
    bool is_log;
} axis;

typedef struct drawing {
    tess_html *html;
    const tess_xp_chart *chart;
    axis x;
    axis y;
} drawing;

static double place(const axis *a, double value)
{
    const double v = a->is_log ? log10(value) : value;
    return (v - a->low) / (a->high - a->low);
}

static bool is_shown(const axis *a, double value)
{
    return isfinite(value) && (!a->is_log || value > 0);
}

static double x_of(const drawing *d, double value)
{
    return LEFT + place(&d->x, value) * (d->chart->width - LEFT - RIGHT);
}

static double y_of(const drawing *d, double value)
{
    return TOP + (1 - place(&d->y, value)) * (d->chart->height - TOP - BOTTOM);
}

// One decimal whatever the locale's decimal mark.
static void tenths(tess_html *html, double value)
{
    const long long n = llround(fabs(value) * 10);
    tess_text_printf(&html->text, "%s%lld.%lld", value < 0 && n > 0 ? "-" : "", n / 10, n % 10);
}

static void widen(axis *a, const double *values, const double *others, const axis *other, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (is_shown(a, values[i]) && is_shown(other, others[i])) {
            const double v = a->is_log ? log10(values[i]) : values[i];
            a->low = fmin(a->low, v);
            a->high = fmax(a->high, v);
        }
    }
}

static void finish_axis(axis *a, double margin)
{
    if (!(a->high >= a->low)) { // nothing to show
        a->low = 0;
        a->high = 1;
    }
    double span = a->high - a->low;
    const double least = 1e-9 * fmax(fabs(a->high), fabs(a->low));
    if (!(span > least)) {
        span = fmax(least, a->is_log ? 1 : fabs(a->high) * 0.1);
        span = span > 0 ? span : 1;
        a->low -= span / 2;
        a->high += span / 2;
    }
    a->low -= margin * span;
    a->high += margin * span;
}

static void set_axes(drawing *d, const tess_xp_series *series, int n_series)
{
    const double none = (double)INFINITY;
    d->x = (axis){none, -none, d->chart->is_log_x};
    d->y = (axis){none, -none, d->chart->is_log_y};
    for (int s = 0; s < n_series; s++) {
        widen(&d->x, series[s].x, series[s].y, &d->y, series[s].n);
        widen(&d->y, series[s].y, series[s].x, &d->x, series[s].n);
    }
    finish_axis(&d->x, 0.02);
    finish_axis(&d->y, 0.06);
}

static void label(drawing *d, double x, double y, const char *anchor, const char *text)
{
    tess_text_add(&d->html->text, "<text x=\"");
    tenths(d->html, x);
    tess_text_add(&d->html->text, "\" y=\"");
    tenths(d->html, y);
    tess_text_printf(&d->html->text, "\" text-anchor=\"%s\">", anchor);
    tess_html_escaped(d->html, text);
    tess_text_add(&d->html->text, "</text>\n");
}

static void line(drawing *d, double x1, double y1, double x2, double y2, const char *style)
{
    const double at[4] = {x1, y1, x2, y2};
    static const char *const names[4] = {"x1", "y1", "x2", "y2"};
    tess_text_add(&d->html->text, "<line");
    for (int i = 0; i < 4; i++) {
        tess_text_printf(&d->html->text, " %s=\"", names[i]);
        tenths(d->html, at[i]);
        tess_text_add(&d->html->text, "\"");
    }
    tess_text_printf(&d->html->text, " stroke=\"currentColor\" %s/>\n", style);
}

// As many decimals as numbers this far apart need; step 0: of a logarithmic axis.
static void number(double value, double step, char text[32])
{
    const double decimals = step > 0 ? ceil(-log10(step) - 1e-9) : -1;
    if (step > 0 && decimals < 7 && fabs(value) < 1e5) {
        snprintf(text, 32, "%.*f", decimals > 0 ? (int)decimals : 0, value);
    } else {
        snprintf(text, 32, "%.5g", value);
    }
}

// A number of an axis with its line across the drawing.
static void mark(drawing *d, bool is_x, double value, double step)
{
    static const char faint[] = "stroke-opacity=\".12\"";
    char text[32];
    number(value, step, text);
    if (is_x) {
        const double x = x_of(d, value);
        line(d, x, TOP, x, d->chart->height - BOTTOM, faint);
        label(d, x, d->chart->height - BOTTOM + 15, "middle", text);
    } else {
        const double y = y_of(d, value);
        line(d, LEFT, y, d->chart->width - RIGHT, y, faint);
        label(d, LEFT - 5, y + 4, "end", text);
    }
}

static void mark_linear(drawing *d, bool is_x, const axis *a)
{
    const double step = tess_html_step((a->high - a->low) * (is_x ? 1.0 : 0.9));
    for (double v = ceil(a->low / step) * step; v <= a->high; v += step) {
        mark(d, is_x, fabs(v) < 1e-9 * step ? 0 : v, step);
    }
}

// Powers of ten; between them 2 and 5 where there are few.
static void mark_log(drawing *d, bool is_x, const axis *a)
{
    static const double between[3] = {1, 2, 5};
    const double span = a->high - a->low;
    const int n_between = span < 1.5 ? 3 : 1;
    const double step = ceil(span / 7);
    for (double power = floor(a->low); power <= a->high; power += step) {
        for (int k = 0; k < n_between; k++) {
            const double value = between[k] * pow(10, power);
            if (log10(value) >= a->low && log10(value) <= a->high) {
                mark(d, is_x, value, 0);
            }
        }
    }
}

static void draw_frame(drawing *d)
{
    const tess_xp_chart *c = d->chart;
    tess_text_printf(&d->html->text,
                     "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">\n"
                     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                     "stroke=\"currentColor\" stroke-opacity=\".4\"/>\n",
                     c->width, c->height, c->width, LEFT, TOP, c->width - LEFT - RIGHT,
                     c->height - TOP - BOTTOM);
    label(d, LEFT, TOP - 9, "start", c->title);
    label(d, (c->width + LEFT) / 2.0, c->height - 8, "middle", c->x_label);
    tess_text_printf(&d->html->text,
                     "<text transform=\"translate(11 %d) rotate(-90)\" text-anchor=\"middle\">",
                     (c->height - BOTTOM + TOP) / 2);
    tess_html_escaped(d->html, c->y_label);
    tess_text_add(&d->html->text, "</text>\n");
    const axis *axes[2] = {&d->y, &d->x};
    for (int is_x = 0; is_x < 2; is_x++) {
        if (axes[is_x]->is_log) {
            mark_log(d, is_x != 0, axes[is_x]);
        } else {
            mark_linear(d, is_x != 0, axes[is_x]);
        }
    }
}

static void draw_line(drawing *d, const tess_xp_series *s)
{
    bool is_down = false;
    tess_text_printf(&d->html->text, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"",
                     COLOURS[s->colour % N_COLOUR]);
    for (int64_t i = 0; i < s->n; i++) {
        if (!is_shown(&d->x, s->x[i]) || !is_shown(&d->y, s->y[i])) {
            is_down = false;
            continue;
        }
        tess_text_add(&d->html->text, is_down ? "L" : "M");
        tenths(d->html, x_of(d, s->x[i]));
        tess_text_add(&d->html->text, " ");
        tenths(d->html, y_of(d, s->y[i]));
        is_down = true;
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

// Strokes of no length with round ends: far shorter than circles.
static void draw_points(drawing *d, const tess_xp_series *s)
{
    tess_text_printf(&d->html->text,
                     "<path fill=\"none\" stroke=\"%s\" stroke-width=\"4.5\" "
                     "stroke-opacity=\".65\" stroke-linecap=\"round\" d=\"",
                     COLOURS[s->colour % N_COLOUR]);
    for (int64_t i = 0; i < s->n; i++) {
        if (is_shown(&d->x, s->x[i]) && is_shown(&d->y, s->y[i])) {
            tess_text_add(&d->html->text, "M");
            tenths(d->html, x_of(d, s->x[i]));
            tess_text_add(&d->html->text, " ");
            tenths(d->html, y_of(d, s->y[i]));
            tess_text_add(&d->html->text, "h0");
        }
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

static void draw_legend(tess_html *html, const tess_xp_series *series, int n_series)
{
    tess_text_add(&html->text, "<figcaption style=\"font-size:.85em\">");
    for (int s = 0; s < n_series; s++) {
        if (series[s].name) {
            tess_text_printf(&html->text, "<span style=\"color:%s\">%s</span> ",
                             COLOURS[series[s].colour % N_COLOUR],
                             series[s].is_line ? "&#9473;" : "&#9679;");
            tess_html_escaped(html, series[s].name);
            tess_text_add(&html->text, " &nbsp; ");
        }
    }
    tess_text_add(&html->text, "</figcaption>");
}

void tess_xp_chart_draw(tess_html *html, const tess_xp_chart *chart, const tess_xp_series *series,
                        int n_series)
{
    drawing d = {.html = html, .chart = chart};
    set_axes(&d, series, n_series);
    tess_text_add(&html->text, "<figure style=\"margin:0\">");
    draw_frame(&d);
    for (int s = 0; s < n_series; s++) {
        if (series[s].is_line) {
            draw_line(&d, &series[s]);
        } else {
            draw_points(&d, &series[s]);
        }
    }
    tess_text_add(&html->text, "</svg>\n");
    draw_legend(html, series, n_series);
    tess_text_add(&html->text, "</figure>\n");
}

void tess_xp_row_begin(tess_html *html)
{
    tess_text_add(&html->text,
                  "<div style=\"display:flex;flex-wrap:wrap;gap:14px;margin:.6em 0\">\n");
}

void tess_xp_row_end(tess_html *html)
{
    tess_text_add(&html->text, "</div>\n");
}
