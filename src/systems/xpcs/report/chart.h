// Charts of the report: points and lines over linear or logarithmic axes, drawn without scripts.
#ifndef TESS_XPCS_REPORT_CHART_H
#define TESS_XPCS_REPORT_CHART_H

#include "page/html.h"

#include <stdbool.h>

typedef struct tess_xp_series {
    const char *name; // in the legend; NULL: none
    const double *x;
    const double *y; // what is not finite, or not positive on a logarithmic axis, is left out
    int64_t n;
    bool is_line; // else points
    int colour;   // its number
} tess_xp_series;

typedef struct tess_xp_chart {
    const char *title;
    const char *x_label;
    const char *y_label;
    bool is_log_x;
    bool is_log_y;
    int width; // of the drawing
    int height;
} tess_xp_chart;

// Axes are as wide as the values need.
void tess_xp_chart_draw(tess_html *html, const tess_xp_chart *chart, const tess_xp_series *series,
                        int n_series);

// Figures side by side as far as the page is wide.
void tess_xp_row_begin(tess_html *html);
void tess_xp_row_end(tess_html *html);

#endif
