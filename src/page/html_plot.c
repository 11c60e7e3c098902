#include "page/html_plot.h"

#include "page/html_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 900,
    LEFT = 64,   // room for the numbers of the y axis
    BOTTOM = 40, // and of the x axis
    MAX_COLUMNS = 900,
    MAX_ROWS = 300,
    N_COLOUR = 255, // the 256th is grey: no value
    BMP_HEADER_BYTES = 54,
    TILE = 200
};

static const char *const LINE_COLOURS[] = {"#2f7fd0", "#d9483b", "#3a9d5d", "#a35bb8",
                                           "#c98a1b", "#4c5a67", "#00a3a3", "#d4588f"};

// Base64 in pieces of three bytes.
typedef struct encoder {
    tess_html *html;
    uint8_t bytes[3];
    int n;
} encoder;

static void flush(encoder *e)
{
    tess_html_base64(e->html, e->bytes, (size_t)e->n);
    e->n = 0;
}

static void put(encoder *e, uint64_t value, int n_byte)
{
    for (int i = 0; i < n_byte; i++) {
        e->bytes[e->n++] = (uint8_t)(value >> 8 * i);
        if (e->n == 3) {
            flush(e);
        }
    }
}

// A bitmap of one byte a pixel: every browser shows it, and it needs no compressor.
static void put_header(encoder *e, int64_t columns, int64_t rows)
{
    const int64_t stride = (columns + 3) / 4 * 4;
    const uint64_t offset = BMP_HEADER_BYTES + 4 * (N_COLOUR + 1);
    put(e, 'B' | 'M' << 8, 2);
    put(e, offset + (uint64_t)(stride * rows), 4);
    put(e, 0, 4);
    put(e, offset, 4);
    put(e, 40, 4); // size of what follows up to the colours
    put(e, (uint64_t)columns, 4);
    put(e, (uint64_t)rows, 4);
    put(e, 1, 2);
    put(e, 8, 2);
    put(e, 0, 4);
    put(e, (uint64_t)(stride * rows), 4);
    put(e, 2835, 4);
    put(e, 2835, 4);
    put(e, N_COLOUR + 1, 4);
    put(e, 0, 4);
    for (int i = 0; i <= N_COLOUR; i++) {
        int rgb[3] = {160, 160, 160};
        if (i < N_COLOUR) {
            tess_html_colour(i / (double)(N_COLOUR - 1), rgb);
        }
        put(e, (uint64_t)rgb[2] | (uint64_t)rgb[1] << 8 | (uint64_t)rgb[0] << 16, 4);
    }
}

static double group_max(const double *values, int64_t n_row, int64_t c0, int64_t c1, int64_t r0,
                        int64_t r1)
{
    double best = (double)NAN;
    for (int64_t c = c0; c < c1; c++) {
        for (int64_t r = r0; r < r1; r++) {
            best = fmax(best, values[c * n_row + r]);
        }
    }
    return best;
}

static void put_bitmap(tess_html *html, const double *values, int64_t n_col, int64_t n_row,
                       double low, double high)
{
    const int64_t columns = n_col < MAX_COLUMNS ? n_col : MAX_COLUMNS;
    const int64_t rows = n_row < MAX_ROWS ? n_row : MAX_ROWS;
    encoder e = {.html = html};
    tess_text_add(&html->text, "data:image/bmp;base64,");
    put_header(&e, columns, rows);
    for (int64_t r = 0; r < rows; r++) { // the lowest row comes first
        for (int64_t c = 0; c < columns; c++) {
            const double value =
                group_max(values, n_row, c * n_col / columns, (c + 1) * n_col / columns,
                          r * n_row / rows, (r + 1) * n_row / rows);
            double share = high > low ? (value - low) / (high - low) : 0;
            share = share < 0 ? 0 : share > 1 ? 1 : share;
            put(&e, isnan(value) ? N_COLOUR : (uint64_t)lround(share * (N_COLOUR - 1)), 1);
        }
        put(&e, 0, (int)((4 - columns % 4) % 4));
    }
    flush(&e);
}

static void point(tess_html *html, double x, double y, char before)
{
    const long long a = llround(x * 10);
    const long long b = llround(y * 10);
    tess_text_printf(&html->text, "%c%lld.%lld %lld.%lld", before, a / 10, a % 10, b / 10, b % 10);
}

static void label(tess_html *html, double x, double y, const char *anchor, const char *text)
{
    tess_text_printf(&html->text, "<text x=\"%lld\" y=\"%lld\" text-anchor=\"%s\">", llround(x),
                     llround(y), anchor);
    tess_html_escaped(html, text);
    tess_text_add(&html->text, "</text>\n");
}

static void number(tess_html *html, double x, double y, const char *anchor, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    label(html, x, y, anchor, text);
}

double tess_html_step(double range)
{
    const double raw = range / 5;
    const double power = pow(10, floor(log10(raw)));
    const double unit = raw / power;
    return (unit < 1.5 ? 1 : unit < 3.5 ? 2 : unit < 7.5 ? 5 : 10) * power;
}

static void draw_axes(tess_html *html, const tess_html_plot *plot)
{
    const double bottom = plot->height;
    const double width = WIDTH - LEFT;
    const double x_range = plot->x.high - plot->x.low;
    const double y_range = plot->y.high - plot->y.low;
    tess_text_printf(&html->text,
                     "<rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" fill=\"none\" "
                     "stroke=\"currentColor\" stroke-opacity=\".4\"/>\n",
                     LEFT, WIDTH - LEFT, plot->height);
    if (x_range > 0 && isfinite(x_range)) {
        const double step = tess_html_step(x_range);
        for (double v = ceil(plot->x.low / step) * step; v <= plot->x.high; v += step) {
            number(html, LEFT + (v - plot->x.low) / x_range * width, bottom + 16, "middle",
                   fabs(v) < 1e-9 * step ? 0 : v);
        }
    }
    if (y_range > 0 && isfinite(y_range)) {
        const double step = tess_html_step(y_range);
        for (double v = ceil(plot->y.low / step) * step; v <= plot->y.high; v += step) {
            number(html, LEFT - 6, bottom - (v - plot->y.low) / y_range * bottom + 4, "end",
                   fabs(v) < 1e-9 * step ? 0 : v);
        }
    }
    label(html, LEFT + width / 2, bottom + 34, "middle", plot->x.label);
    tess_text_printf(&html->text,
                     "<text transform=\"translate(12 %d) rotate(-90)\" "
                     "text-anchor=\"middle\">",
                     plot->height / 2);
    tess_html_escaped(html, plot->y.label);
    tess_text_add(&html->text, "</text>\n");
}

static void draw_line(tess_html *html, const tess_html_plot *plot, const tess_html_series *line,
                      const char *colour)
{
    const double width = WIDTH - LEFT;
    const double range = plot->y.high - plot->y.low;
    bool is_down = false;
    tess_text_printf(&html->text, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"",
                     colour);
    for (int64_t i = 0; i < line->n; i++) {
        const double share = range > 0 ? (line->values[i] - plot->y.low) / range : 0;
        if (!(share >= -0.02 && share <= 1.02)) {
            is_down = false;
            continue;
        }
        const double x = LEFT + width * ((double)i + 0.5) / (double)line->n;
        point(html, x, plot->height * (1 - share), is_down ? 'L' : 'M');
        is_down = true;
    }
    tess_text_add(&html->text, "\"/>\n");
}

static void open_drawing(tess_html *html, const tess_html_plot *plot)
{
    tess_text_printf(&html->text,
                     "<svg viewBox=\"0 -6 %d %d\" width=\"%d\" role=\"img\" "
                     "style=\"overflow:visible\">\n",
                     WIDTH, plot->height + BOTTOM + 6, WIDTH);
}

static void draw_legend(tess_html *html, const tess_html_series *lines, int n_line,
                        const char *const *colours, int n_colour)
{
    tess_text_add(&html->text, "<p>");
    for (int i = 0; i < n_line; i++) {
        if (lines[i].name) {
            tess_text_printf(&html->text, "<span style=\"color:%s\">&#9632;</span> ",
                             colours[i % n_colour]);
            tess_html_escaped(html, lines[i].name);
            tess_text_add(&html->text, " &nbsp; ");
        }
    }
    tess_text_add(&html->text, "</p>\n");
}

void tess_html_image(tess_html *html, const tess_html_plot *plot, const double *values,
                     int64_t n_col, int64_t n_row, double low, double high,
                     const tess_html_series *lines, int n_line)
{
    static const char *const over[] = {"#ff4d4d", "#ffffff"};
    open_drawing(html, plot);
    tess_text_printf(&html->text,
                     "<image x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" "
                     "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"",
                     LEFT, WIDTH - LEFT, plot->height);
    put_bitmap(html, values, n_col, n_row, low, high);
    tess_text_add(&html->text, "\"/>\n");
    for (int i = 0; i < n_line; i++) {
        draw_line(html, plot, &lines[i], over[i % 2]);
    }
    draw_axes(html, plot);
    tess_text_add(&html->text, "</svg>\n");
    if (n_line > 0) {
        draw_legend(html, lines, n_line, over, 2);
    }
}

void tess_html_chart(tess_html *html, const tess_html_plot *plot, const tess_html_series *lines,
                     int n_line)
{
    const int n_colour = (int)(sizeof LINE_COLOURS / sizeof *LINE_COLOURS);
    open_drawing(html, plot);
    for (int i = 0; i < n_line; i++) {
        draw_line(html, plot, &lines[i], LINE_COLOURS[i % n_colour]);
    }
    draw_axes(html, plot);
    tess_text_add(&html->text, "</svg>\n");
    draw_legend(html, lines, n_line, LINE_COLOURS, n_colour);
}

// The room between two lines of n values; NaN counts as the low end of y.
static void fill_between(tess_html *html, const tess_html_plot *plot, const double *low,
                         const double *high, int64_t n, const char *colour)
{
    const double range = plot->y.high - plot->y.low;
    tess_text_printf(&html->text, "<path fill=\"%s\" fill-opacity=\".3\" d=\"", colour);
    for (int64_t i = 0; i < 2 * n; i++) {
        const int64_t k = i < n ? i : 2 * n - 1 - i; // there along the top, back along the bottom
        const double value = i < n ? high[k] : low[k];
        double share = range > 0 ? (value - plot->y.low) / range : 0;
        share = share >= 0 ? (share > 1 ? 1 : share) : 0;
        point(html, LEFT + (WIDTH - LEFT) * ((double)k + 0.5) / (double)n,
              plot->height * (1 - share), i == 0 ? 'M' : 'L');
    }
    tess_text_add(&html->text, "Z\"/>\n");
}

void tess_html_bands(tess_html *html, const tess_html_plot *plot, const tess_html_series *lines,
                     const double *const *low, int n_line)
{
    const int n_colour = (int)(sizeof LINE_COLOURS / sizeof *LINE_COLOURS);
    open_drawing(html, plot);
    for (int i = 0; i < n_line; i++) {
        fill_between(html, plot, low[i], lines[i].values, lines[i].n, LINE_COLOURS[i % n_colour]);
    }
    for (int i = 0; i < n_line; i++) {
        draw_line(html, plot, &lines[i], LINE_COLOURS[i % n_colour]);
    }
    draw_axes(html, plot);
    tess_text_add(&html->text, "</svg>\n");
    draw_legend(html, lines, n_line, LINE_COLOURS, n_colour);
}

void tess_html_bars(tess_html *html, const tess_html_plot *plot, const double *heights, int64_t n)
{
    const double range = plot->y.high - plot->y.low;
    const double width = (double)(WIDTH - LEFT) / (double)(n > 0 ? n : 1);
    open_drawing(html, plot);
    tess_text_printf(&html->text, "<path fill=\"%s\" d=\"", LINE_COLOURS[0]);
    for (int64_t i = 0; i < n; i++) {
        double share = range > 0 ? (heights[i] - plot->y.low) / range : 0;
        share = share >= 0 ? (share > 1 ? 1 : share) : 0;
        const double left = LEFT + width * (double)i;
        const double top = plot->height * (1 - share);
        point(html, left, plot->height, 'M');
        point(html, left, top, 'L');
        point(html, left + 0.9 * width, top, 'L');
        point(html, left + 0.9 * width, plot->height, 'L');
        tess_text_add(&html->text, "Z");
    }
    tess_text_add(&html->text, "\"/>\n");
    draw_axes(html, plot);
    tess_text_add(&html->text, "</svg>\n");
}

void tess_html_tiles_begin(tess_html *html)
{
    tess_text_add(&html->text, "<div style=\"display:flex;flex-wrap:wrap;gap:12px\">\n");
}

void tess_html_tile(tess_html *html, const double *values, int64_t n_col, int64_t n_row, double low,
                    double high, const char *caption)
{
    const double ratio = n_col > 0 ? (double)n_row / (double)n_col : 1;
    tess_text_printf(&html->text,
                     "<figure style=\"margin:0\"><img width=\"%d\" height=\"%lld\" alt=\"\" "
                     "style=\"image-rendering:pixelated\" src=\"",
                     TILE, llround(TILE * (ratio < 3 ? ratio : 3)));
    put_bitmap(html, values, n_col, n_row, low, high);
    tess_text_add(&html->text, "\"><figcaption>");
    tess_html_escaped(html, caption);
    tess_text_add(&html->text, "</figcaption></figure>\n");
}

void tess_html_tiles_end(tess_html *html)
{
    tess_text_add(&html->text, "</div>\n");
}
