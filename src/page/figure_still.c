// Figures as SVG: what is seen without scripts, and while they load.
#include "page/figure_parts.h"
#include "page/png.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LEFT = 66,
    RIGHT = 12,
    TOP = 24,
    BOTTOM = 40,
    SCALE = 36, // room for the colours under a map
    FULL = 900,
    HALF = 460,
    THIRD = 330,
    MAX_NAMES = 40,
    LETTER = 7,         // width of one, about
    MAX_NUMBERS = 1024, // cells that have their numbers written in
    STOPS = 9
};

// An axis in the units it is drawn in: logarithms where it is logarithmic.
typedef struct span {
    double low;
    double high;
    bool is_log;
} span;

typedef struct drawing {
    tess_html *html;
    const tess_figure *figure;
    span x;
    span y;
    double x_low; // in the values' units
    double x_high;
    int width;
    int height; // of the inside
} drawing;

static double into(const span *s, double value)
{
    return s->is_log ? log10(value) : value;
}

static double x_at(const drawing *d, double t)
{
    return LEFT + (t - d->x.low) / (d->x.high - d->x.low) * (d->width - LEFT - RIGHT);
}

static double y_at(const drawing *d, double t)
{
    return TOP + (1 - (t - d->y.low) / (d->y.high - d->y.low)) * d->height;
}

static double cut(double v, double low, double high)
{
    return v >= low ? (v > high ? high : v) : low;
}

// One decimal whatever the locale's decimal mark; far outside is cut, as nobody sees it.
static void number(drawing *d, double value)
{
    const double near = cut(value, -2000, 4000);
    const long long n = llround(fabs(near) * 10);
    tess_text_printf(&d->html->text, "%s%lld.%lld", near < 0 && n > 0 ? "-" : "", n / 10, n % 10);
}

static void point(drawing *d, const char *before, double x, double y)
{
    tess_text_add(&d->html->text, before);
    number(d, x);
    tess_text_add(&d->html->text, " ");
    number(d, y);
}

static void label_within(drawing *d, double x, double y, const char *anchor, const char *more,
                         const char *text)
{
    tess_text_printf(&d->html->text, "<text x=\"%lld\" y=\"%lld\" text-anchor=\"%s\"%s>",
                     llround(x), llround(y), anchor, more);
    tess_html_escaped(d->html, text);
    tess_text_add(&d->html->text, "</text>\n");
}

static void label(drawing *d, double x, double y, const char *anchor, const char *text)
{
    label_within(d, x, y, anchor, "", text);
}

static void axis_name(const tess_figure_axis *axis, char text[160])
{
    const bool has_unit = axis->unit && axis->unit[0];
    snprintf(text, 160, has_unit ? "%s (%s)" : "%s", axis->label ? axis->label : "",
             has_unit ? axis->unit : "");
}

// Of which the text stands at a place of its own.
static void mark_beside(drawing *d, bool is_x, double t, double place, const char *text)
{
    const double bottom = TOP + d->height;
    const double at = is_x ? x_at(d, t) : y_at(d, t);
    const bool has_grid = !d->figure->map;
    tess_text_add(&d->html->text, "<path class=\"tick\" d=\"");
    if (is_x) {
        point(d, "M", at, bottom);
        tess_text_printf(&d->html->text, "v%d", has_grid ? -d->height : 4);
    } else {
        point(d, "M", LEFT, at);
        tess_text_printf(&d->html->text, "h%d", has_grid ? d->width - LEFT - RIGHT : -4);
    }
    tess_text_add(&d->html->text, "\"/>");
    // Long numbers stay clear of the axis' name.
    label_within(d, is_x ? place : LEFT - 6, is_x ? bottom + 16 : place + 4,
                 is_x ? "middle" : "end", !is_x && strlen(text) > 6 ? " textLength=\"41\"" : "",
                 text);
}

static void mark(drawing *d, bool is_x, double t, const char *text)
{
    mark_beside(d, is_x, t, is_x ? x_at(d, t) : y_at(d, t), text);
}

static double out_of(const span *s, double t)
{
    return s->is_log ? pow(10, t) : t;
}

// Even in the values, also of an axis of logarithms.
static void mark_evenly(drawing *d, bool is_x, const span *s)
{
    const double low = out_of(s, fmin(s->low, s->high));
    const double high = out_of(s, fmax(s->low, s->high));
    const double wide = is_x ? d->width / 90.0 : d->height / 36.0; // marks there is room for
    const bool is_whole = is_x && d->figure->x_is_whole;
    const double step = fmax(is_whole ? 1 : 0, tess_html_step((high - low) * 5 / fmax(wide, 2)));
    const double decimals = ceil(-log10(step) - 1e-9);
    for (double k = ceil(low / step); k * step <= high * (1 + 1e-12) && k * step <= high + step / 2;
         k++) {
        char text[32];
        const double value = k == 0 ? 0 : k * step; // not -0
        if (decimals < 7 && fmax(fabs(low), fabs(high)) < 1e7) {
            snprintf(text, sizeof text, "%.*f", decimals > 0 ? (int)decimals : 0, value);
        } else {
            snprintf(text, sizeof text, "%.5g", value);
        }
        mark(d, is_x, into(s, value), text);
    }
}

// Powers of ten; between them 2 and 5 where there are few.
static void mark_log(drawing *d, bool is_x, const span *s)
{
    static const double between[3] = {1, 2, 5};
    const double wide = s->high - s->low;
    const int n_between = wide < 1.5 ? 3 : 1;
    const double step = fmax(1, ceil(wide / 7));
    for (double power = floor(s->low); power <= s->high; power += step) {
        for (int k = 0; k < n_between; k++) {
            const double value = between[k] * pow(10, power);
            if (log10(value) >= s->low && log10(value) <= s->high) {
                char text[32];
                snprintf(text, sizeof text, fabs(power) > 4 ? "%.0fe%.0f" : "%.3g",
                         fabs(power) > 4 ? between[k] : value, power);
                mark(d, is_x, log10(value), text);
            }
        }
    }
}

// Names side by side that there is room for: the longest must end before the next begins.
static int64_t names_within(const drawing *d, bool is_x, const char *const *names, int64_t n)
{
    size_t longest = 1;
    for (int64_t i = 0; is_x && i < n; i++) {
        const size_t length = strlen(names[i]);
        longest = length > longest ? length : longest;
    }
    const int64_t room = (d->width - LEFT - RIGHT) / (int64_t)(LETTER * (longest + 1));
    const int64_t most = is_x && room < MAX_NAMES ? room : MAX_NAMES;
    return most > 1 ? most : 1;
}

static void mark_names(drawing *d, bool is_x, const char *const *names, int64_t n)
{
    const span *s = is_x ? &d->x : &d->y;
    const int64_t most = names_within(d, is_x, names, n);
    const int64_t every = (n + most - 1) / most;
    double end = 0; // of the name before
    for (int64_t i = 0; i < n; i += every) {
        const double share = ((double)i + 0.5) / (double)n;
        const double t = fmin(s->low, s->high) + fabs(s->high - s->low) * share;
        if (!is_x) {
            mark(d, is_x, t, names[i]);
            continue;
        }
        const double half = LETTER * (double)strlen(names[i]) / 2;
        const double place = cut(x_at(d, t), half, fmax(half, d->width - half));
        if (place - half >= end) {
            mark_beside(d, is_x, t, place, names[i]);
            end = place + half;
        }
    }
}

static void draw_axis(drawing *d, bool is_x)
{
    const tess_figure_map *map = d->figure->map;
    const span *s = is_x ? &d->x : &d->y;
    const char *const *names = !map ? NULL : is_x ? map->columns : map->rows;
    char text[160];
    if (names && !map->pyramid) {
        mark_names(d, is_x, names, is_x ? map->n_column : map->n_row);
    } else if (s->is_log && fabs(s->high - s->low) >= 1) {
        mark_log(d, is_x, s);
    } else {
        mark_evenly(d, is_x, s);
    }
    axis_name(is_x ? &d->figure->x : &d->figure->y, text);
    if (is_x) {
        label(d, (d->width + LEFT - RIGHT) / 2.0, TOP + d->height + 33, "middle", text);
    } else {
        tess_text_printf(&d->html->text,
                         "<text transform=\"translate(11 %d) rotate(-90)\" text-anchor=\"middle\">",
                         TOP + d->height / 2);
        tess_html_escaped(d->html, text);
        tess_text_add(&d->html->text, "</text>\n");
    }
}

static void draw_row(drawing *d, const tess_figure_series *s)
{
    const tess_pyramid *p = s->pyramid;
    bool is_down = false;
    tess_text_printf(&d->html->text, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" d=\"",
                     tess_figure_colour(d->figure, s));
    for (int64_t i = 0; i < p->n_still; i++) {
        const double low = into(&d->y, p->still_least[s->row * p->n_still + i]);
        const double high = into(&d->y, p->still_greatest[s->row * p->n_still + i]);
        const double column =
            ((double)i + 0.5) * (double)p->setup.n_column / (double)p->n_still - 0.5;
        const double x = x_at(d, p->setup.first + column * p->setup.step);
        if (!isfinite(low) || !isfinite(high)) {
            is_down = false;
            continue;
        }
        point(d, is_down ? "L" : "M", x, y_at(d, low));
        if (high > low) {
            point(d, "L", x, y_at(d, high));
        }
        is_down = true;
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

static void draw_band(drawing *d, const tess_figure_series *s)
{
    bool is_down = false;
    tess_text_printf(&d->html->text, "<path fill=\"%s\" fill-opacity=\".22\" d=\"",
                     tess_figure_colour(d->figure, s));
    for (int64_t i = 0; i < 2 * s->n; i++) {
        const int64_t k = i < s->n ? i : 2 * s->n - 1 - i; // there along the top, back below
        const double x = into(&d->x, tess_figure_x(s, k, d->x_low, d->x_high));
        const double low = into(&d->y, s->low[k]);
        const double value = i < s->n ? into(&d->y, s->high[k]) : isfinite(low) ? low : d->y.low;
        if (isfinite(x) && isfinite(value) && isfinite(into(&d->y, s->high[k]))) {
            point(d, is_down ? "L" : "M", x_at(d, x), y_at(d, value));
            is_down = true;
        }
    }
    tess_text_add(&d->html->text, is_down ? "Z\"/>\n" : "\"/>\n");
}

// Of points: a stroke from the lower to the upper end.
static void draw_errors(drawing *d, const tess_figure_series *s)
{
    tess_text_printf(&d->html->text, "<path fill=\"none\" stroke=\"%s\" d=\"",
                     tess_figure_colour(d->figure, s));
    for (int64_t i = 0; i < s->n; i++) {
        const double x = into(&d->x, tess_figure_x(s, i, d->x_low, d->x_high));
        const double low = into(&d->y, s->low[i]);
        const double high = into(&d->y, s->high[i]);
        if (isfinite(x) && isfinite(high)) {
            point(d, "M", x_at(d, x), y_at(d, isfinite(low) ? low : d->y.low));
            point(d, "L", x_at(d, x), y_at(d, high));
        }
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

static void draw_bars(drawing *d, const tess_figure_series *s)
{
    const double wide = (double)(d->width - LEFT - RIGHT) / (double)(s->n > 0 ? s->n : 1);
    const double base = y_at(d, d->y.is_log ? d->y.low : fmax(0, d->y.low));
    tess_text_printf(&d->html->text, "<path fill=\"%s\" d=\"", tess_figure_colour(d->figure, s));
    for (int64_t i = 0; i < s->n; i++) {
        const double y = y_at(d, into(&d->y, s->y[i]));
        const double x = LEFT + wide * ((double)i + 0.04);
        if (isfinite(y)) {
            point(d, "M", x, base);
            point(d, "L", x, y);
            point(d, "L", x + wide * 0.92, y);
            point(d, "L", x + wide * 0.92, base);
            tess_text_add(&d->html->text, "Z");
        }
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

// Points are strokes of no length with round ends: far shorter than circles.
static void draw_values(drawing *d, const tess_figure_series *s)
{
    const bool is_line = s->style == TESS_FIGURE_LINE;
    bool is_down = false;
    tess_text_printf(&d->html->text, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" d=\"",
                     tess_figure_colour(d->figure, s),
                     is_line          ? "1.6"
                     : d->figure->map ? "9\" stroke-linecap=\"round"
                                      : "5\" stroke-linecap=\"round\" stroke-opacity=\".7");
    for (int64_t i = 0; i < s->n; i++) {
        const double x = into(&d->x, tess_figure_x(s, i, d->x_low, d->x_high));
        const double y = into(&d->y, s->y[i]);
        if (!isfinite(x) || !isfinite(y)) {
            is_down = false;
            continue;
        }
        point(d, is_down && is_line ? "L" : "M", x_at(d, x), y_at(d, y));
        if (!is_line) {
            tess_text_add(&d->html->text, "h0");
        }
        is_down = true;
    }
    tess_text_add(&d->html->text, "\"/>\n");
}

static void draw_series(drawing *d, const tess_figure_series *s)
{
    if (s->pyramid) {
        draw_row(d, s);
        return;
    }
    if (s->style == TESS_FIGURE_BARS) {
        draw_bars(d, s);
        return;
    }
    if (s->low && s->high && s->style == TESS_FIGURE_POINTS) {
        draw_errors(d, s);
    } else if (s->low && s->high) {
        draw_band(d, s);
    }
    draw_values(d, s);
}

// Of a group of cells: in long rows the greatest, so that no event is lost, in others the mean;
// NaN only if all are.
static double group(const tess_figure_map *map, const int64_t x[2], const int64_t y[2])
{
    double best = (double)NAN;
    double sum = 0;
    int64_t n = 0;
    for (int64_t c = x[0]; c < x[1]; c++) {
        for (int64_t r = y[0]; r < y[1]; r++) {
            const double value = map->pyramid
                                     ? map->pyramid->still_greatest[r * map->pyramid->n_still + c]
                                     : map->values[c * map->n_row + r];
            best = fmax(best, value);
            sum += isfinite(value) ? value : 0;
            n += isfinite(value);
        }
    }
    return map->pyramid || map->kinds ? best : n > 0 ? sum / (double)n : (double)NAN;
}

static void draw_cells(drawing *d)
{
    const tess_figure_map *map = d->figure->map;
    const int64_t n_col = map->pyramid ? map->pyramid->n_still : map->n_column;
    const int64_t n_row = map->pyramid ? map->pyramid->setup.n_row : map->n_row;
    const int64_t inside = d->width - LEFT - RIGHT; // no more cells than pixels
    const int64_t width = n_col < inside ? n_col : inside;
    const int64_t height = n_row < d->height ? n_row : d->height;
    tess_heap *heap = &d->html->ctx->heap;
    uint8_t *pixels = tess_heap_alloc(heap, (size_t)(width * height), TESS_TAG_IO, "a picture");
    uint8_t palette[256 * 3];
    uint8_t *file = NULL;
    size_t bytes = 0;
    if (!pixels) {
        d->html->text.no_memory = true;
        return;
    }
    tess_figure_palette(map, palette);
    for (int64_t r = 0; r < height; r++) {
        const int64_t own = d->y.high > d->y.low ? height - 1 - r : r;
        const int64_t rows[2] = {own * n_row / height, (own + 1) * n_row / height};
        for (int64_t c = 0; c < width; c++) {
            const int64_t columns[2] = {c * n_col / width, (c + 1) * n_col / width};
            pixels[r * width + c] = tess_figure_code(map, group(map, columns, rows));
        }
    }
    const tess_png png = {.width = width, .height = height, .pixels = pixels, .palette = palette};
    if (tess_png_encode(heap, &png, &file, &bytes) == TESS_OK) {
        tess_text_printf(&d->html->text,
                         "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                         "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                         "href=\"data:image/png;base64,",
                         LEFT, TOP, d->width - LEFT - RIGHT, d->height);
        tess_html_base64(d->html, file, bytes);
        tess_text_add(&d->html->text, "\"/>\n");
        tess_heap_free(heap, file, bytes, TESS_TAG_IO);
    } else {
        d->html->text.no_memory = true;
    }
    tess_heap_free(heap, pixels, (size_t)(width * height), TESS_TAG_IO);
}

// Numbers in the cells and frames around those that are below the limit.
static void draw_numbers(drawing *d)
{
    const tess_figure_map *map = d->figure->map;
    const double wide = (double)(d->width - LEFT - RIGHT) / (double)map->n_column;
    const double high = (double)d->height / (double)map->n_row;
    uint8_t palette[256 * 3];
    tess_figure_palette(map, palette);
    for (int64_t c = 0; c < map->n_column; c++) {
        for (int64_t r = 0; r < map->n_row; r++) {
            const double value = map->values[c * map->n_row + r];
            const double x = LEFT + wide * (double)c;
            const double y = TOP + high * (double)(d->y.high > d->y.low ? map->n_row - 1 - r : r);
            if (map->lost_below > 0 && value < map->lost_below) {
                tess_text_printf(&d->html->text,
                                 "<rect class=\"lost\" x=\"%lld\" y=\"%lld\" width=\"%lld\" "
                                 "height=\"%lld\"/>",
                                 llround(x + 2), llround(y + 2), llround(wide - 4),
                                 llround(high - 4));
            }
            if (map->has_numbers && wide >= 34 && high >= 14 && isfinite(value)) {
                const uint8_t *rgb = palette + 3 * tess_figure_code(map, value);
                const bool is_light = 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] > 140000;
                tess_text_printf(&d->html->text,
                                 "<text x=\"%lld\" y=\"%lld\" text-anchor=\"middle\" "
                                 "style=\"fill:%s\">%.4g</text>",
                                 llround(x + wide / 2), llround(y + high / 2 + 4),
                                 is_light ? "#000" : "#fff", value);
            }
        }
    }
}

static void draw_scale(drawing *d, int number_of_figure)
{
    const tess_figure_map *map = d->figure->map;
    const int y = TOP + d->height + BOTTOM + 4;
    const double right = d->width - RIGHT;
    uint8_t palette[256 * 3];
    char text[160];
    tess_figure_palette(map, palette);
    tess_text_printf(&d->html->text, "<linearGradient id=\"g%d\">", number_of_figure);
    for (int i = 0; i < STOPS; i++) {
        const uint8_t *rgb = palette + 3 * (i * (TESS_FIGURE_CODES - 1) / (STOPS - 1));
        tess_text_printf(&d->html->text, "<stop offset=\"%d%%\" stop-color=\"#%02x%02x%02x\"/>",
                         i * 100 / (STOPS - 1), rgb[0], rgb[1], rgb[2]);
    }
    tess_text_printf(&d->html->text,
                     "</linearGradient><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"8\" "
                     "fill=\"url(#g%d)\"/>\n",
                     LEFT, y, d->width - LEFT - RIGHT, number_of_figure);
    snprintf(text, sizeof text, "%.3g", map->low);
    label(d, LEFT, y + 21, "start", text);
    snprintf(text, sizeof text, "%.3g", map->high);
    label(d, right, y + 21, "end", text);
    axis_name(&(tess_figure_axis){.label = map->label, .unit = map->unit}, text);
    label(d, (LEFT + right) / 2, y + 21, "middle", text);
}

static void draw_map(drawing *d)
{
    const tess_figure_map *map = d->figure->map;
    draw_cells(d);
    if (!map->pyramid && map->n_column * map->n_row <= MAX_NUMBERS) {
        draw_numbers(d);
    }
    if (!map->kinds) {
        draw_scale(d, d->html->n_blob);
    }
}

static void draw_marks(drawing *d)
{
    for (int64_t i = 0; i < d->figure->n_mark; i++) {
        const double a = x_at(d, into(&d->x, d->figure->marks[i].low));
        const double b = x_at(d, into(&d->x, d->figure->marks[i].high));
        const double left = cut(a, LEFT, d->width - RIGHT);
        tess_text_add(&d->html->text, "<path class=\"mark\" d=\"");
        point(d, "M", left, TOP);
        tess_text_printf(&d->html->text, "v%dH", d->height);
        number(d, fmax(cut(b, LEFT, d->width - RIGHT), left + 1));
        tess_text_printf(&d->html->text, "v-%dZ\"/>", d->height);
    }
}

static void key(drawing *d, const char *colour, const char *name)
{
    tess_text_printf(&d->html->text, "<span class=\"key\"><i style=\"background:%s\"></i>", colour);
    tess_html_escaped(d->html, name);
    tess_text_add(&d->html->text, "</span>\n");
}

static void draw_legend(drawing *d)
{
    const tess_figure *f = d->figure;
    tess_text_add(&d->html->text, "<div class=\"legend\">");
    for (int s = 0; s < f->n_series; s++) {
        if (f->series[s].name) {
            key(d, tess_figure_colour(f, &f->series[s]), f->series[s].name);
        }
    }
    for (int k = 0; f->map && k < f->map->n_kind; k++) {
        key(d, f->map->kinds[k].colour, f->map->kinds[k].name);
    }
    if (f->map && f->map->lost_below > 0 && f->map->lost_name) {
        key(d, "#d9483b", f->map->lost_name);
    }
    tess_text_add(&d->html->text, "</div>");
}

static span span_of(const tess_figure *f, bool is_x, double *low, double *high)
{
    const bool is_log = is_x ? f->x.is_log : f->y.is_log;
    tess_figure_limits(f, is_x, low, high);
    return (span){is_log ? log10(*low) : *low, is_log ? log10(*high) : *high, is_log};
}

void tess_figure_still(tess_html *html, const tess_figure *f)
{
    double y_low = 0;
    double y_high = 0;
    drawing d = {.html = html, .figure = f};
    d.x = span_of(f, true, &d.x_low, &d.x_high);
    d.y = span_of(f, false, &y_low, &y_high);
    d.width = !f->is_narrow ? FULL : f->is_square ? THIRD : HALF;
    d.height = f->is_square    ? d.width - LEFT - RIGHT
               : f->height > 0 ? f->height
                               : TESS_FIGURE_HEIGHT;
    const int under = BOTTOM + (f->map && !f->map->kinds ? SCALE : 4);
    tess_text_printf(&html->text, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">\n",
                     d.width, TOP + d.height + under, d.width);
    if (f->map) {
        draw_map(&d);
    }
    draw_marks(&d);
    for (int s = 0; s < f->n_series; s++) {
        draw_series(&d, &f->series[s]);
    }
    tess_text_printf(&html->text,
                     "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT,
                     TOP, d.width - LEFT - RIGHT, d.height);
    label(&d, LEFT, TOP - 9, "start", f->title ? f->title : "");
    draw_axis(&d, true);
    draw_axis(&d, false);
    tess_text_add(&html->text, "</svg>\n");
    draw_legend(&d);
}
