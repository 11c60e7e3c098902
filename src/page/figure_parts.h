// What the two drawings of a figure share.
#ifndef TESS_PAGE_FIGURE_PARTS_H
#define TESS_PAGE_FIGURE_PARTS_H

#include "page/figure.h"
#include "page/html_parts.h"

enum { TESS_FIGURE_HEIGHT = 240, TESS_FIGURE_CODES = 255 };

// Of a line: those over maps have colours that show there.
const char *tess_figure_colour(const tess_figure *figure, const tess_figure_series *series);

// Limits of an axis in the values' units: the caller's, else as wide as the values need.
void tess_figure_limits(const tess_figure *figure, bool is_x, double *low, double *high);
// Takes a value into limits; NaN and infinity, and what has no logarithm, stay out.
void tess_figure_widen(double value, bool is_log, double *low, double *high);
// x of the i-th value of a series.
double tess_figure_x(const tess_figure_series *series, int64_t i, double low, double high);

// Colours of a map: 255 of the scale, then grey for NaN.
void tess_figure_palette(const tess_figure_map *map, uint8_t palette[256 * 3]);
void tess_figure_kind_colour(const tess_figure_kind *kind, uint8_t rgb[3]);
uint8_t tess_figure_code(const tess_figure_map *map, double value);

// figure_still.c: the picture that stands without scripts.
void tess_figure_still(tess_html *html, const tess_figure *figure);

#endif
