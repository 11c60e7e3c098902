// Sensors seen from above, nose up, coloured by a value.
#ifndef TESS_AUTOREJECT_REPORT_HEAD_PICTURE_H
#define TESS_AUTOREJECT_REPORT_HEAD_PICTURE_H

#include "page/html.h"

typedef struct tess_ar_head {
    const char *title;
    const char *unit;
    int64_t n;
    const char *const *names; // [n] as they are shown
    const double *positions;  // [n][3]; those that have none are left out
    const double *values;     // [n] in the unit
    bool begins_at_zero;      // the colours do, and reach to 1 at least
} tess_ar_head;

// Sensors that have a place on the picture.
int64_t tess_ar_head_count(const tess_ar_head *head);
// A figure; nothing where no sensor has a place.
void tess_ar_head_draw(tess_html *html, const tess_ar_head *head);

#endif
