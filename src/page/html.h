// One-file HTML reports: no network, one script of our own, every string escaped.
//
// A page is a title, badges and warnings, contents, what the caller writes, and a footer; badges,
// warnings, headings and the footer's texts may be given in any order and stand where they belong.
// figure.h draws plots, html_table.h tables.
#ifndef TESS_PAGE_HTML_H
#define TESS_PAGE_HTML_H

#include "base/text.h"
#include "page/html_table.h"
#include "runtime/origin.h"

enum { TESS_HTML_PYRAMIDS = 256 };

struct tess_html {
    tess_text text; // of the main part: escaped HTML
    tess_context *ctx;
    tess_text head; // up to the title
    tess_text badges;
    tess_text warnings;
    tess_text contents;
    tess_text footer;
    int n_heading;
    int n_blob;
    int n_warning;
    int palettes[2]; // blobs of the colours of maps; 0: not on the page
    int n_pyramid;
    const struct tess_pyramid *pyramids[TESS_HTML_PYRAMIDS]; // that are on the page
};

// origin: what the page reports on, for its provenance.
void tess_html_begin(tess_html *html, tess_context *ctx, const tess_origin *origin,
                     const char *title);
// The same of a page that is written again and again: a browser loads it anew after this many
// seconds; 0: never.
void tess_html_begin_live(tess_html *html, tess_context *ctx, const tess_origin *origin,
                          const char *title, int refresh_s);
void tess_html_destroy(tess_html *html);

typedef enum tess_html_grade {
    TESS_HTML_GOOD,
    TESS_HTML_CHECK,
    TESS_HTML_BAD,
    TESS_HTML_NEUTRAL // a fact, not a verdict
} tess_html_grade;

// Under the title: "fit good". The grade is also said in words for those who do not see colours.
void tess_html_badge(tess_html *html, tess_html_grade grade, const char *text);
// Before everything else.
void tess_html_warning(tess_html *html, const char *text);
// A warning for each line of the text, which may be NULL or empty.
void tess_html_warnings(tess_html *html, const char *lines);
// In the footer: how to cite, and what made the page (folded).
void tess_html_cite(tess_html *html, const char *text);
void tess_html_provenance(tess_html *html, const char *text);

// With a line in the contents.
void tess_html_heading(tess_html *html, const char *heading);
// Below a heading, without one.
void tess_html_subheading(tess_html *html, const char *heading);
void tess_html_paragraph(tess_html *html, const char *text);
void tess_html_code(tess_html *html, const char *code);
// What follows up to the end is folded under its summary. id: for links to it ("angle3"); NULL:
// none.
void tess_html_fold_begin(tess_html *html, const char *id, const char *summary, bool is_open);
void tess_html_fold_end(tess_html *html);
// What stands between is side by side as far as the page is wide.
void tess_html_row_begin(tess_html *html);
void tess_html_row_end(tess_html *html);

// Closes the page and writes it atomically.
TESS_MUST_CHECK tess_status tess_html_write(tess_html *html, const char *path, int overwrite);

#endif
