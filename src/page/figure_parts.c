// Colours, limits and steps of figures, the same with and without the page's script.
#include "page/figure_parts.h"

#include "page/colour.h"

#include <math.h>
#include <string.h>

const char *tess_figure_colour(const tess_figure *figure, const tess_figure_series *series)
{
    static const char *const colours[8] = {"#2f7fd0", "#d9483b", "#3a9d5d", "#a35bb8",
                                           "#c98a1b", "#6b7a88", "#00a3a3", "#d4588f"};
    static const char *const over_map[2] = {"#ff4d4d", "#ffffff"};
    return figure->map ? over_map[series->colour & 1] : colours[series->colour & 7];
}

static int hex_pair(const char *at)
{
    int value = 0;
    for (int i = 0; i < 2; i++) {
        const char c = at[i];
        value = 16 * value + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value & 255;
}

void tess_figure_kind_colour(const tess_figure_kind *kind, uint8_t rgb[3])
{
    for (int k = 0; k < 3; k++) {
        rgb[k] = (uint8_t)(strlen(kind->colour) == 7 ? hex_pair(kind->colour + 1 + 2 * k) : 160);
    }
}

void tess_figure_palette(const tess_figure_map *map, uint8_t palette[256 * 3])
{
    memset(palette, 160, 256 * 3);
    for (int i = 0; i < TESS_FIGURE_CODES; i++) {
        const double share = (double)i / (TESS_FIGURE_CODES - 1);
        if (!map->kinds && map->colours == TESS_FIGURE_DIVERGING) {
            tess_colour_diverging(2 * share - 1, palette + 3 * i);
        } else if (!map->kinds) {
            tess_colour_rising(share, palette + 3 * i);
        } else if (i < map->n_kind) {
            tess_figure_kind_colour(&map->kinds[i], palette + 3 * i);
        }
    }
}

uint8_t tess_figure_code(const tess_figure_map *map, double value)
{
    if (!isfinite(value)) {
        return TESS_FIGURE_CODES;
    }
    if (map->kinds) {
        return (uint8_t)(value >= 0 && value < TESS_FIGURE_CODES ? value : TESS_FIGURE_CODES);
    }
    double share = map->is_log ? log(value / map->low) / log(map->high / map->low)
                               : (value - map->low) / (map->high - map->low);
    share = share >= 0 ? (share > 1 ? 1 : share) : 0;
    return (uint8_t)lround(share * (TESS_FIGURE_CODES - 1));
}

double tess_figure_x(const tess_figure_series *s, int64_t i, double low, double high)
{
    return s->x ? s->x[i] : low + (high - low) * ((double)i + 0.5) / (double)s->n;
}

double tess_html_step(double range)
{
    const double raw = range / 5;
    const double power = pow(10, floor(log10(raw)));
    const double unit = raw / power;
    return (unit < 1.5 ? 1 : unit < 3.5 ? 2 : unit < 7.5 ? 5 : 10) * power;
}

void tess_figure_widen(double value, bool is_log, double *low, double *high)
{
    if (isfinite(value) && (!is_log || value > 0)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

// 4 % more on both sides; of logarithms on a logarithmic axis.
static void add_room(bool is_log, double *low, double *high)
{
    if (!(*low <= *high)) {
        *low = is_log ? 1 : 0;
        *high = is_log ? 10 : 1;
    } else if (is_log) {
        const double room = *high > *low ? pow(*high / *low, 0.04) : 1.5;
        *low /= room;
        *high *= room;
    } else {
        const double own = fabs(*high) > 0 ? 0.1 * fabs(*high) : 1;
        const double room = *high > *low ? 0.04 * (*high - *low) : own;
        *low -= room;
        *high += room;
    }
}

static void widen_by_series(const tess_figure_series *s, bool is_x, bool is_log, double *low,
                            double *high)
{
    const tess_pyramid *p = s->pyramid;
    if (p && is_x) {
        tess_figure_widen(p->setup.first - p->setup.step / 2, is_log, low, high);
        tess_figure_widen(p->setup.first + ((double)p->setup.n_column - 0.5) * p->setup.step,
                          is_log, low, high);
    } else if (p) {
        for (int64_t i = 0; i < p->n_still; i++) {
            tess_figure_widen(p->still_least[s->row * p->n_still + i], is_log, low, high);
            tess_figure_widen(p->still_greatest[s->row * p->n_still + i], is_log, low, high);
        }
    } else {
        const double *const values[4] = {is_x ? s->x : s->y, is_x ? NULL : s->low,
                                         is_x ? NULL : s->high, NULL};
        for (int k = 0; k < 3; k++) {
            for (int64_t i = 0; values[k] && i < s->n; i++) {
                tess_figure_widen(values[k][i], is_log, low, high);
            }
        }
    }
}

void tess_figure_limits(const tess_figure *f, bool is_x, double *low, double *high)
{
    const tess_figure_axis *axis = is_x ? &f->x : &f->y;
    *low = axis->low;
    *high = axis->high;
    if (axis->low != axis->high) {
        return;
    }
    *low = (double)INFINITY;
    *high = -(double)INFINITY;
    bool has_bars = false;
    bool has_pyramid = false;
    for (int s = 0; s < f->n_series; s++) {
        widen_by_series(&f->series[s], is_x, axis->is_log, low, high);
        has_bars |= f->series[s].style == TESS_FIGURE_BARS;
        has_pyramid |= f->series[s].pyramid != NULL;
    }
    if (has_bars && !is_x && !axis->is_log) {
        *low = fmin(*low, 0);
        *high += 0.04 * (*high - *low);
    } else if (!(is_x && has_pyramid)) {
        add_room(axis->is_log, low, high);
    }
}
