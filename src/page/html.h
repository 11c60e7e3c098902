// One-file HTML reports: no network, no scripts from elsewhere, every string escaped.
#ifndef TESS_PAGE_HTML_H
#define TESS_PAGE_HTML_H

#include "base/text.h"
#include "runtime/origin.h"

typedef struct tess_html {
    tess_text text;
} tess_html;

// origin: what the page reports on, for its provenance.
void tess_html_begin(tess_html *html, tess_context *ctx, const tess_origin *origin,
                     const char *title);
void tess_html_destroy(tess_html *html);

void tess_html_heading(tess_html *html, const char *heading);
void tess_html_paragraph(tess_html *html, const char *text);
// Two columns: name and value.
void tess_html_fact_begin(tess_html *html);
void tess_html_fact(tess_html *html, const char *name, const char *value);
void tess_html_fact_end(tess_html *html);
// A table under its heads; cells row by row.
void tess_html_table_begin(tess_html *html, const char *const *heads, int n_head);
void tess_html_table_row(tess_html *html, const char *const *cells, int n_cell);
void tess_html_table_end(tess_html *html);
void tess_html_code(tess_html *html, const char *code);

// Picture of values[n_row][n_col] as coloured cells, colours linear between low and high; NaN is
// grey. More than 300 rows or columns are thinned by taking the maximum of each group.
void tess_html_heat_map(tess_html *html, const double *values, int64_t n_row, int64_t n_col,
                        double low, double high, const char *row_label, const char *col_label,
                        const char *unit);
// Bars of counts[n] over low..high.
void tess_html_histogram(tess_html *html, const int64_t *counts, int64_t n, double low, double high,
                         const char *label);

// Closes the page and writes it atomically.
TESS_MUST_CHECK tess_status tess_html_write(tess_html *html, const char *path, int overwrite);

#endif
