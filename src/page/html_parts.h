// What the files that write reports share.
#ifndef TESS_PAGE_HTML_PARTS_H
#define TESS_PAGE_HTML_PARTS_H

#include "page/html.h"

// Text that may come from data.
void tess_html_escaped(tess_html *html, const char *text);
void tess_html_escape(tess_text *out, const char *text);
// <tag>content</tag>; the tag may have attributes.
void tess_html_element(tess_text *out, const char *tag, const char *content);

// Bytes in base64, for addresses that hold their data.
void tess_html_base64(tess_html *html, const uint8_t *bytes, size_t n);
void tess_base64(tess_text *out, const uint8_t *bytes, size_t n);

// Bytes that the script reads, packed where that is shorter; returns the number by which it finds
// them.
int tess_html_blob(tess_html *html, const void *bytes, size_t n);
// A JSON text as an element of its own. attributes: id, class.
void tess_html_json(tess_html *html, const char *attributes, const char *json);

// Distance of the numbers along an axis of this length: 1, 2 or 5 times a power of ten.
double tess_html_step(double range);

// page.css and page.js, as they are when the library is built, without comments and indentation.
extern const char tess_page_style[];
extern const char tess_page_script[];

#endif
