// Pictures for reports: images of many cells and line charts, drawn without scripts.
#ifndef TESS_PAGE_HTML_PLOT_H
#define TESS_PAGE_HTML_PLOT_H

#include "page/html.h"

// An axis of a picture.
typedef struct tess_html_axis {
    double low;
    double high;
    const char *label;
} tess_html_axis;

// Values over the x axis, evenly spaced; NaN leaves a gap.
typedef struct tess_html_series {
    const char *name; // in the legend; NULL: none
    const double *values;
    int64_t n;
} tess_html_series;

typedef struct tess_html_plot {
    tess_html_axis x;
    tess_html_axis y;
    int height; // of the drawing in units of 1/900 of its width
} tess_html_plot;

// values[n_col][n_row], a column after another, row 0 at the low end of y. Colours are linear from
// low to high. Drawn as an image of at most 900 x 300 cells (groups of cells give their maximum),
// with the lines on top.
void tess_html_image(tess_html *html, const tess_html_plot *plot, const double *values,
                     int64_t n_col, int64_t n_row, double low, double high,
                     const tess_html_series *lines, int n_line);

// Lines in colours of their own, with a legend.
void tess_html_chart(tess_html *html, const tess_html_plot *plot, const tess_html_series *lines,
                     int n_line);

// As a chart, with the room from low to each line filled: low[i] belongs to lines[i].
void tess_html_bands(tess_html *html, const tess_html_plot *plot, const tess_html_series *lines,
                     const double *const *low, int n_line);

// Bars of heights[n] side by side over the whole x axis.
void tess_html_bars(tess_html *html, const tess_html_plot *plot, const double *heights, int64_t n);

// A row of small images side by side, each values[n_col][n_row] with its caption under it.
void tess_html_tiles_begin(tess_html *html);
void tess_html_tile(tess_html *html, const double *values, int64_t n_col, int64_t n_row, double low,
                    double high, const char *caption);
void tess_html_tiles_end(tess_html *html);

#endif
