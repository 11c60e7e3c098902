#include "page/html_parts.h"

#include <stdio.h>
#include <string.h>

void tess_html_fact_begin(tess_html *html)
{
    tess_text_add(&html->text, "<div class=\"table\"><table class=\"facts\">\n");
}

void tess_html_fact(tess_html *html, const char *name, const char *value)
{
    tess_text_add(&html->text, "<tr>");
    tess_html_element(&html->text, "th", name);
    tess_html_element(&html->text, "td", value);
    tess_text_add(&html->text, "</tr>\n");
}

void tess_html_fact_end(tess_html *html)
{
    tess_text_add(&html->text, "</table></div>\n");
}

// Numbers and words stand on the right, in one line; what is longer is a sentence, and is wrapped.
static const char *kind_of(int column, const char *cell)
{
    enum { LONGEST_WORD = 48 };
    return column > 0 && strlen(cell) <= LONGEST_WORD ? "td class=\"n\"" : "td";
}

static void cells_from(tess_html *html, const char *const *cells, int first, int n)
{
    for (int i = first; i < n; i++) {
        tess_html_element(&html->text, kind_of(i, cells[i]), cells[i]);
    }
    tess_text_add(&html->text, "</tr>\n");
}

void tess_html_table_begin(tess_html *html, const char *const *heads, int n_head)
{
    tess_text_add(&html->text, "<div class=\"table\"><table class=\"sort\">\n<thead><tr>");
    for (int i = 0; i < n_head; i++) {
        tess_html_element(&html->text, i == 0 ? "th" : "th class=\"n\"", heads[i]);
    }
    tess_text_add(&html->text, "</tr></thead><tbody>\n");
}

void tess_html_table_row(tess_html *html, const char *const *cells, int n_cell)
{
    tess_text_add(&html->text, "<tr>");
    cells_from(html, cells, 0, n_cell);
}

void tess_html_table_row_to(tess_html *html, const char *const *cells, int n_cell, const char *id)
{
    tess_text_add(&html->text, "<tr><td><a href=\"#");
    tess_html_escaped(html, id);
    tess_text_add(&html->text, "\">");
    tess_html_escaped(html, n_cell > 0 ? cells[0] : "");
    tess_text_add(&html->text, "</a></td>");
    cells_from(html, cells, 1, n_cell);
}

void tess_html_table_row_link(tess_html *html, const char *const *cells, int n_cell,
                              const char *path)
{
    tess_text_add(&html->text, "<tr><td><a href=\"");
    tess_html_escaped(html, path);
    tess_text_add(&html->text, "\">");
    tess_html_escaped(html, n_cell > 0 ? cells[0] : "");
    tess_text_add(&html->text, "</a></td>");
    cells_from(html, cells, 1, n_cell);
}

// With a point whatever the locale's decimal mark.
static void attribute(tess_html *html, const char *before, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    text[strcspn(text, ",")] = text[strcspn(text, ",")] ? '.' : '\0';
    tess_text_add(&html->text, before);
    tess_text_add(&html->text, text);
}

void tess_html_table_row_at(tess_html *html, const char *const *cells, int n_cell,
                            const char *group, double low, double high)
{
    tess_text_add(&html->text, "<tr><td><a href=\"#\" data-group=\"");
    tess_html_escaped(html, group);
    attribute(html, "\" data-low=\"", low);
    attribute(html, "\" data-high=\"", high);
    tess_text_add(&html->text, "\">");
    tess_html_escaped(html, n_cell > 0 ? cells[0] : "");
    tess_text_add(&html->text, "</a></td>");
    cells_from(html, cells, 1, n_cell);
}

void tess_html_table_end(tess_html *html)
{
    tess_text_add(&html->text, "</tbody></table></div>\n");
}
