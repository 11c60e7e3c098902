// Tables of reports. A reader sorts them by a click on a head: numbers by size, whatever unit or
// error follows them, NaN last.
#ifndef TESS_PAGE_HTML_TABLE_H
#define TESS_PAGE_HTML_TABLE_H

typedef struct tess_html tess_html;

// Two columns: name and value.
void tess_html_fact_begin(tess_html *html);
void tess_html_fact(tess_html *html, const char *name, const char *value);
void tess_html_fact_end(tess_html *html);

// A table under its heads; cells row by row.
void tess_html_table_begin(tess_html *html, const char *const *heads, int n_head);
void tess_html_table_row(tess_html *html, const char *const *cells, int n_cell);
// The first cell leads to a place of the page: the id of a fold, say.
void tess_html_table_row_to(tess_html *html, const char *const *cells, int n_cell, const char *id);
// The first cell leads to a file beside the page, a path below its folder.
void tess_html_table_row_link(tess_html *html, const char *const *cells, int n_cell,
                              const char *path);
// The first cell zooms the figures of a group to low..high of their x axis, with as much again on
// both sides.
void tess_html_table_row_at(tess_html *html, const char *const *cells, int n_cell,
                            const char *group, double low, double high);
void tess_html_table_end(tess_html *html);

#endif
