#include "systems/autoreject/report/head_picture.h"

#include "base/text.h"
#include "page/colour.h"
#include "page/html_parts.h"
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { HEAD = 400, SCALE_STEPS = 24, SCALE_HEIGHT = 300, WIDTH = HEAD + 110 };
// Names of more sensors than these would lie on top of each other.
enum { MOST_NAMES = 80, FEW_NAMES = 40 };

// What a picture is drawn with.
typedef struct picture {
    tess_html *html;
    const tess_ar_head *head;
    double low; // of the colours
    double high;
} picture;

// Seen from above, nose up: the angle from the vertex becomes the distance from the centre, 1 at
// the equator.
static bool project(const double *loc, double *x, double *y)
{
    const double r = sqrt(loc[0] * loc[0] + loc[1] * loc[1] + loc[2] * loc[2]);
    if (!(r > 0) || !isfinite(r)) {
        return false;
    }
    const double polar = acos(loc[2] / r);
    const double flat = hypot(loc[0], loc[1]);
    const double scale = flat > 0 ? polar / (3.14159265358979323846 / 2) / flat : 0;
    *x = loc[0] * scale;
    *y = loc[1] * scale;
    return true;
}

// Pixels of a distance of 1: electrodes below the equator must not leave the picture.
static double radius_of(double furthest)
{
    const double room = HEAD / 2.0 - 18;
    return fmin(HEAD * 0.4, room / fmax(furthest, 1e-9));
}

static void colour(double share, char text[8])
{
    uint8_t rgb[3];
    tess_colour_rising(share, rgb);
    snprintf(text, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

// The colours and their numbers, right of the head.
static void write_scale(const picture *p)
{
    tess_text *out = &p->html->text;
    const int x = HEAD + 22;
    const int top = (HEAD - SCALE_HEIGHT) / 2;
    const double step = (double)SCALE_HEIGHT / SCALE_STEPS;
    for (int k = 0; k < SCALE_STEPS; k++) {
        char fill[8];
        colour((k + 0.5) / SCALE_STEPS, fill);
        tess_text_printf(out,
                         "<rect x=\"%d\" y=\"%.5g\" width=\"14\" height=\"%.5g\" fill=\"%s\"/>", x,
                         top + (SCALE_STEPS - 1 - k) * step, step + 0.5, fill);
    }
    for (int k = 0; k <= 2; k++) {
        tess_text_printf(out, "<text x=\"%d\" y=\"%.5g\">%s</text>", x + 18,
                         top + SCALE_HEIGHT * (1 - k / 2.0) + 4,
                         tess_ar_number_of(p->low + (p->high - p->low) * k / 2).text);
    }
    tess_text_printf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, top - 10, p->head->unit);
}

static void write_sensor(const picture *p, int64_t c, double x, double y, int64_t n)
{
    tess_html *html = p->html;
    const double value = p->head->values[c];
    const double span = p->high - p->low;
    char fill[8];
    colour(span > 0 ? (value - p->low) / span : 0, fill);
    tess_text_printf(&html->text,
                     "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"8\" fill=\"%s\" stroke=\"#888\" "
                     "stroke-opacity=\".5\"><title>",
                     x, y, fill);
    tess_html_escaped(html, p->head->names[c]);
    tess_text_printf(&html->text, ": %.4g %s</title></circle>", value, p->head->unit);
    if (n <= MOST_NAMES) {
        tess_text_printf(&html->text,
                         "<text x=\"%.5g\" y=\"%.5g\" style=\"font-size:%dpx\" "
                         "text-anchor=\"middle\">",
                         x, y + 18, n <= FEW_NAMES ? 12 : 10);
        tess_html_escaped(html, p->head->names[c]);
        tess_text_add(&html->text, "</text>");
    }
    tess_text_add(&html->text, "\n");
}

int64_t tess_ar_head_count(const tess_ar_head *head)
{
    int64_t n = 0;
    double x = 0;
    double y = 0;
    for (int64_t c = 0; c < head->n; c++) {
        n += project(head->positions + 3 * c, &x, &y);
    }
    return n;
}

// How far out the sensors are, and how large and small their values.
static double measure(picture *p)
{
    const tess_ar_head *head = p->head;
    double furthest = 0;
    double x = 0;
    double y = 0;
    p->low = (double)INFINITY;
    p->high = -(double)INFINITY;
    for (int64_t c = 0; c < head->n; c++) {
        if (project(head->positions + 3 * c, &x, &y)) {
            furthest = fmax(furthest, hypot(x, y));
            p->low = fmin(p->low, head->values[c]);
            p->high = fmax(p->high, head->values[c]);
        }
    }
    if (head->begins_at_zero) {
        p->low = 0; // 0 is what one hopes for
        p->high = fmax(p->high, 1);
    }
    return furthest;
}

void tess_ar_head_draw(tess_html *html, const tess_ar_head *head)
{
    const int64_t n = tess_ar_head_count(head);
    picture p = {.html = html, .head = head};
    double x = 0;
    double y = 0;
    if (n == 0) {
        return;
    }
    const double r = radius_of(measure(&p));
    const double middle = HEAD / 2.0;
    tess_text_add(&html->text, "<figure class=\"half\"><figcaption>");
    tess_html_escaped(html, head->title);
    tess_text_printf(
        &html->text,
        "</figcaption><div class=\"still\"><svg viewBox=\"-10 0 %d %d\" width=\"%d\" role=\"img\">"
        "<circle cx=\"%g\" cy=\"%g\" r=\"%.4g\" fill=\"none\" stroke=\"#888\"/>"
        "<path d=\"M%g %.4gl12 -14l12 14\" fill=\"none\" stroke=\"#888\"/>\n",
        WIDTH, HEAD, WIDTH, middle, middle, r, middle - 12, middle - r);
    for (int64_t c = 0; c < head->n; c++) {
        if (project(head->positions + 3 * c, &x, &y)) {
            write_sensor(&p, c, middle + x * r, middle - y * r, n);
        }
    }
    write_scale(&p);
    tess_text_add(&html->text, "</svg></div></figure>\n");
}
