// Where on the head the bad sensors are, and how large their thresholds.
#include "base/text.h"
#include "page/colour.h"
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { HEAD = 400, SCALE_STEPS = 24, SCALE_HEIGHT = 300, WIDTH = HEAD + 90 };
// Names of more sensors than these would lie on top of each other.
enum { MOST_NAMES = 80, FEW_NAMES = 40 };

typedef struct head {
    tess_ar_page *page;
    const tess_autoreject_sensors *sensors;
    int32_t type;
    const char *title;
    const char *unit;
    double low;
    double high;
    double (*value)(const tess_ar_page *page, int64_t channel);
} head;

static double bad_percent(const tess_ar_page *page, int64_t channel)
{
    return 100 * tess_ar_label_share(page->log, channel, 1, 2);
}

static double threshold(const tess_ar_page *page, int64_t channel)
{
    return page->threshold_of[channel] * tess_ar_unit_of_channel(page, channel).scale;
}

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

static bool is_placed(const head *h, int64_t c, double *x, double *y)
{
    return h->page->type_of[c] == h->type && project(h->sensors->channels[c].loc, x, y);
}

static void colour(double share, char text[8])
{
    uint8_t rgb[3];
    tess_colour_rising(share, rgb);
    snprintf(text, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

// The colours and their numbers, right of the head.
static void write_scale(const head *h)
{
    tess_text *out = &h->page->html.text;
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
        tess_text_printf(out, "<text x=\"%d\" y=\"%.5g\">%.3g</text>", x + 18,
                         top + SCALE_HEIGHT * (1 - k / 2.0) + 4,
                         h->low + (h->high - h->low) * k / 2);
    }
    tess_text_printf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, top - 10, h->unit);
}

static void write_sensor(const head *h, int64_t c, double x, double y, int64_t n)
{
    tess_html *html = &h->page->html;
    const double value = h->value(h->page, c);
    const double span = h->high - h->low;
    char fill[8];
    const char *name = h->page->names[c];
    colour(span > 0 ? (value - h->low) / span : 0, fill);
    tess_text_printf(&html->text,
                     "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"8\" fill=\"%s\" stroke=\"#888\" "
                     "stroke-opacity=\".5\"><title>",
                     x, y, fill);
    tess_html_escaped(html, name);
    tess_text_printf(&html->text, ": %.4g %s</title></circle>", value, h->unit);
    if (n <= MOST_NAMES) {
        tess_text_printf(&html->text,
                         "<text x=\"%.5g\" y=\"%.5g\" style=\"font-size:%dpx\" "
                         "text-anchor=\"middle\">",
                         x, y + 18, n <= FEW_NAMES ? 12 : 10);
        tess_html_escaped(html, name);
        tess_text_add(&html->text, "</text>");
    }
    tess_text_add(&html->text, "\n");
}

static void write_head(head *h)
{
    tess_html *html = &h->page->html;
    const int64_t n_chan = h->page->log->n_chan;
    int64_t n = 0;
    double x = 0;
    double y = 0;
    double furthest = 0;
    h->low = (double)INFINITY;
    h->high = -(double)INFINITY;
    for (int64_t c = 0; c < n_chan; c++) {
        if (is_placed(h, c, &x, &y)) {
            furthest = fmax(furthest, hypot(x, y));
            h->low = fmin(h->low, h->value(h->page, c));
            h->high = fmax(h->high, h->value(h->page, c));
            n++;
        }
    }
    if (h->value == bad_percent) {
        h->low = 0; // 0 is what one hopes for
        h->high = fmax(h->high, 1);
    }
    tess_text_add(&html->text, "<figure class=\"half\"><figcaption>");
    tess_html_escaped(html, h->title);
    const double r = radius_of(furthest);
    const double middle = HEAD / 2.0;
    tess_text_printf(
        &html->text,
        "</figcaption><div class=\"still\"><svg viewBox=\"-10 0 %d %d\" width=\"%d\" role=\"img\">"
        "<circle cx=\"%g\" cy=\"%g\" r=\"%.4g\" fill=\"none\" stroke=\"#888\"/>"
        "<path d=\"M%g %.4gl12 -14l12 14\" fill=\"none\" stroke=\"#888\"/>\n",
        WIDTH, HEAD, WIDTH, middle, middle, r, middle - 12, middle - r);
    for (int64_t c = 0; c < n_chan; c++) {
        if (is_placed(h, c, &x, &y)) {
            write_sensor(h, c, middle + x * r, middle - y * r, n);
        }
    }
    write_scale(h);
    tess_text_add(&html->text, "</svg></div></figure>\n");
}

static int64_t count_placed(const head *h)
{
    int64_t n = 0;
    double x = 0;
    double y = 0;
    for (int64_t c = 0; c < h->page->log->n_chan; c++) {
        n += is_placed(h, c, &x, &y);
    }
    return n;
}

void tess_ar_page_heads(tess_ar_page *page)
{
    tess_html_heading(&page->html, "Sensors on the head");
    tess_html_paragraph(&page->html,
                        "Seen from above, nose up: the share of epochs in which a sensor is bad, "
                        "repaired or not, and its threshold. Under the pointer stand name and "
                        "value.");
    for (int32_t t = 0; t < (int32_t)page->model->n_type; t++) {
        const int32_t type = page->model->types[t].type;
        const char *name = tess_autoreject_type_name(type);
        char title[96];
        head h = {.page = page, .sensors = page->epochs_info->sensors, .type = t, .title = title};
        if (count_placed(&h) == 0) {
            snprintf(title, sizeof title, "The %s channels have no positions.", name);
            tess_html_paragraph(&page->html, title);
            continue;
        }
        tess_html_row_begin(&page->html);
        snprintf(title, sizeof title, "%s: bad epochs", name);
        h.unit = "%";
        h.value = bad_percent;
        write_head(&h);
        snprintf(title, sizeof title, "%s: threshold", name);
        h.unit = tess_ar_unit_of(type).name;
        h.value = threshold;
        write_head(&h);
        tess_html_row_end(&page->html);
    }
}
