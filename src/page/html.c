#include "page/html.h"

#include "page/html_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CELLS = 300, PLOT_WIDTH = 900 };

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 127;
}

void tess_html_escape(tess_text *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '<':
            tess_text_add(out, "&lt;");
            break;
        case '>':
            tess_text_add(out, "&gt;");
            break;
        case '&':
            tess_text_add(out, "&amp;");
            break;
        case '"':
            tess_text_add(out, "&quot;");
            break;
        default:
            // No page has control characters but the breaks of its lines.
            tess_text_append(out, is_control(*c) ? "?" : c, 1);
        }
    }
}

void tess_html_escaped(tess_html *html, const char *text)
{
    tess_html_escape(&html->text, text);
}

// Two decimals whatever the locale's decimal mark.
static void attribute(tess_html *html, const char *name, double value)
{
    const long long hundredths = llround(value * 100);
    tess_text_printf(&html->text, " %s=\"%lld.%02lld\"", name, hundredths / 100, hundredths % 100);
}

static void rectangle(tess_html *html, double x, double y, double width, double height,
                      const int rgb[3])
{
    tess_text_add(&html->text, "<rect");
    attribute(html, "x", x);
    attribute(html, "y", y);
    attribute(html, "width", width);
    attribute(html, "height", height);
    tess_text_printf(&html->text, " fill=\"#%02x%02x%02x\"/>\n", (unsigned)rgb[0], (unsigned)rgb[1],
                     (unsigned)rgb[2]);
}

void tess_html_element(tess_text *text, const char *tag, const char *content)
{
    tess_text_printf(text, "<%s>", tag);
    tess_html_escape(text, content);
    tess_text_printf(text, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void tess_html_colour(double fraction, int rgb[3])
{
    static const int stops[5][3] = {
        {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    const double x = (fraction < 0 ? 0 : fraction > 1 ? 1 : fraction) * 4;
    const int i = x >= 4 ? 3 : (int)x;
    for (int k = 0; k < 3; k++) {
        rgb[k] = (int)lround(stops[i][k] + (x - i) * (stops[i + 1][k] - stops[i][k]));
    }
}

// Maximum over a group of cells; NaN only if all of them are.
static double group_max(const double *values, int64_t n_col, int64_t r0, int64_t r1, int64_t c0,
                        int64_t c1)
{
    double best = (double)NAN;
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t c = c0; c < c1; c++) {
            best = fmax(best, values[r * n_col + c]);
        }
    }
    return best;
}

void tess_html_heat_map(tess_html *html, const double *values, int64_t n_row, int64_t n_col,
                        double low, double high, const char *row_label, const char *col_label,
                        const char *unit)
{
    const int64_t rows = n_row < MAX_CELLS ? n_row : MAX_CELLS;
    const int64_t cols = n_col < MAX_CELLS ? n_col : MAX_CELLS;
    const int64_t size = rows > 0 && PLOT_WIDTH / (2 * rows) > 2 ? PLOT_WIDTH / (2 * rows) : 2;
    const int64_t cell_h = size < 12 ? size : 12;
    const double cell_w = cols > 0 ? (double)PLOT_WIDTH / (double)cols : 1;
    const int64_t height = rows * cell_h;
    tess_text_printf(&html->text,
                     "<svg viewBox=\"0 0 %d %lld\" width=\"%d\" role=\"img\" "
                     "shape-rendering=\"crispEdges\">\n",
                     PLOT_WIDTH, (long long)(height + 44), PLOT_WIDTH);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) {
            const double value = group_max(values, n_col, r * n_row / rows, (r + 1) * n_row / rows,
                                           c * n_col / cols, (c + 1) * n_col / cols);
            int rgb[3] = {160, 160, 160};
            if (!isnan(value)) {
                tess_html_colour(high > low ? (value - low) / (high - low) : 0, rgb);
            }
            rectangle(html, (double)c * cell_w, (double)(r * cell_h), cell_w, (double)cell_h, rgb);
        }
    }
    tess_text_printf(&html->text, "<text x=\"0\" y=\"%lld\">", (long long)(height + 18));
    char caption[256];
    snprintf(caption, sizeof caption,
             "%lld %s downwards, %lld %s to the right; dark %.3g to bright %.3g %s; grey: NaN",
             (long long)n_row, row_label, (long long)n_col, col_label, low, high, unit);
    tess_html_escaped(html, caption);
    tess_text_add(&html->text, "</text></svg>\n");
}

void tess_html_histogram(tess_html *html, const int64_t *counts, int64_t n, double low, double high,
                         const char *label)
{
    enum { HEIGHT = 180 };
    static const int BAR_COLOUR[3] = {33, 145, 140};
    int64_t most = 1;
    for (int64_t i = 0; i < n; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    const double width = n > 0 ? (double)PLOT_WIDTH / (double)n : 1;
    tess_text_printf(&html->text, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">\n",
                     PLOT_WIDTH, HEIGHT + 24, PLOT_WIDTH);
    for (int64_t i = 0; i < n; i++) {
        const double h = (double)counts[i] * HEIGHT / (double)most;
        rectangle(html, (double)i * width, HEIGHT - h, width * 0.9, h, BAR_COLOUR);
    }
    char caption[256];
    snprintf(caption, sizeof caption, "%.3g to %.3g %s; tallest bar %lld", low, high, label,
             (long long)most);
    tess_text_printf(&html->text, "<text x=\"0\" y=\"%d\">", HEIGHT + 18);
    tess_html_escaped(html, caption);
    tess_text_add(&html->text, "</text></svg>\n");
}
