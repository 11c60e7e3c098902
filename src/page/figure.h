// Plots of reports: lines, bands, points, bars and maps over one pair of axes.
//
// Every plot is drawn twice: as a picture that stands without scripts, and as data for the page's
// script, which draws it for the width there is and lets the reader zoom, pan and read values.
#ifndef TESS_PAGE_FIGURE_H
#define TESS_PAGE_FIGURE_H

#include "page/html.h"
#include "page/pyramid.h"

typedef struct tess_figure_axis {
    const char *label; // "time"
    const char *unit;  // "s"; NULL or "": none
    double low;        // low == high: as wide as the values need
    double high;
    bool is_log;
} tess_figure_axis;

typedef enum tess_figure_style {
    TESS_FIGURE_LINE,
    TESS_FIGURE_POINTS,
    TESS_FIGURE_BARS // side by side over the whole x axis, from 0 up; x is not read
} tess_figure_style;

typedef struct tess_figure_series {
    const char *name;  // in the legend and under the cursor; NULL: neither
    const double *x;   // [n]; NULL: the middles of n equal parts of the x axis
    const double *y;   // [n] what is not finite, or not positive on a logarithmic axis, is a gap
    const double *low; // [n] a band around the line, bars of errors through points; NULL: none
    const double *high;
    int64_t n;
    const tess_pyramid *pyramid; // instead of x and y: a row of it
    int64_t row;
    tess_figure_style style;
    int colour; // its number, 0 to 7
} tess_figure_series;

// An event on top: a line where low == high, a shade between them else. The reader goes from one to
// the next.
typedef struct tess_figure_mark {
    double low;
    double high;
    const char *name; // NULL: none
} tess_figure_mark;

typedef enum tess_figure_colours { TESS_FIGURE_RISING, TESS_FIGURE_DIVERGING } tess_figure_colours;

// A kind of cell of a map whose numbers are names: 0, 1, ...
typedef struct tess_figure_kind {
    const char *name;
    const char *colour; // "#c7e9c0"
} tess_figure_kind;

// Coloured cells that fill the axes. Row 0 is where y is least: y.low > y.high puts it on top.
typedef struct tess_figure_map {
    const double *values; // [n_column][n_row], a column after another; NaN: grey
    int64_t n_column;
    int64_t n_row;
    bool is_symmetric;           // values[i][j] == values[j][i]: half of them are written
    const tess_pyramid *pyramid; // instead of values
    const char *label;           // of the values: "c2", "posterior"
    const char *unit;
    double low; // of the colours
    double high;
    bool is_log;
    tess_figure_colours colours;
    const tess_figure_kind *kinds; // instead of a scale; values are their numbers
    int n_kind;
    const char *const *columns; // [n_column] names of the columns; NULL: numbers of the axis
    const char *const *rows;
    bool has_numbers;  // in the cells, where there is room
    double lost_below; // cells below are marked; 0: none. "slower" in lost_name
    const char *lost_name;
    const double *also; // [n_column][n_row] a second number of every cell, read under the cursor;
                        // NULL: none
    const char *also_label;
    const char *const *also_units; // [n_row]
    const char *edit; // name under which cells can be changed by the reader (kinds only, see
                      // tess_figure_export); NULL: none
} tess_figure_map;

typedef struct tess_figure {
    const char *title;
    const char *group; // figures of the same group share their x axis and cursor; NULL: alone
    const char *plane; // instead: they share both axes
    tess_figure_axis x;
    tess_figure_axis y;
    int height;      // of the drawing in pixels; 0: 240
    bool is_narrow;  // one of two or three in a row (tess_html_row_begin)
    bool is_square;  // as high as wide
    bool x_is_whole; // x numbers something: no marks and no readings between
    const tess_figure_map *map;
    const tess_figure_series *series;
    int n_series;
    const tess_figure_mark *marks;
    int64_t n_mark;
    const char *note;  // under the picture; NULL: none
    bool needs_script; // no still picture, which takes more bytes than the numbers: for the many
                       // figures that are folded away
} tess_figure;

// What fails (memory) is told by tess_html_write().
void tess_figure_draw(tess_html *html, const tess_figure *figure);

// A button that hands the reader what was changed in maps: the JSON object of the template with
// each member that bears the name of an editable map replaced by its numbers, [column][row], as a
// file of this name. Where the map has a single row or column the member is a flat list.
void tess_figure_export(tess_html *html, const char *label, const char *template_json,
                        const char *file_name);

#endif
