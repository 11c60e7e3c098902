// Small maps whose numbers can be read: coloured cells under heads.
#ifndef TESS_PAGE_HTML_GRID_H
#define TESS_PAGE_HTML_GRID_H

#include "page/html.h"

typedef struct tess_html_grid {
    const char *row_label;
    const char *column_label;
    const int64_t *rows; // [n_row] heads
    const int64_t *columns;
    int64_t n_row;
    int64_t n_column;
    int decimals; // of the numbers in the cells
    double low;   // colours are linear in log(value) from low to high
    double high;
} tess_html_grid;

// values[n_row][n_column], positive; NaN is an empty cell.
void tess_html_grid_draw(tess_html *html, const tess_html_grid *grid, const double *values);

#endif
