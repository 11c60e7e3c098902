// What the files that write reports share.
#ifndef TESS_PAGE_HTML_PARTS_H
#define TESS_PAGE_HTML_PARTS_H

#include "page/html.h"

// Text that may come from data.
void tess_html_escaped(tess_html *html, const char *text);

// Bytes in base64, for addresses that hold their data.
void tess_html_base64(tess_html *html, const uint8_t *bytes, size_t n);

// Distance of the numbers along an axis of this length: 1, 2 or 5 times a power of ten.
double tess_html_step(double range);

// Dark blue over green to yellow: rises in lightness, so it also prints in grey.
void tess_html_colour(double fraction, int rgb[3]);

#endif
