// Colour maps of pictures: equal steps of a value look like equal steps.
#ifndef TESS_PAGE_COLOUR_H
#define TESS_PAGE_COLOUR_H

#include <stdint.h>

// Violet over blue and green to yellow, lightness rising evenly; fraction is cut to 0..1. NaN:
// grey.
void tess_colour_rising(double fraction, uint8_t rgb[3]);

// Blue below, white at 0, red above, equally dark at equal distance; signed fraction -1..1.
void tess_colour_diverging(double fraction, uint8_t rgb[3]);

#endif
