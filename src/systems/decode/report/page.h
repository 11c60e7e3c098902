// What the files that write the report share.
#ifndef TESS_SYSTEMS_DECODE_PAGE_H
#define TESS_SYSTEMS_DECODE_PAGE_H

#include "page/figure.h"
#include "systems/decode/report/score.h"
#include "tessera/sys/document.h"

typedef struct tess_de_page {
    tess_html html;
    const tess_de_view *view;
    const tess_de_facts *facts;
    const tess_decode_report_config *config;
    tess_decode_score score;
    const tess_document *origin_of; // provenance of the result; NULL: none
    double origin;                  // s, of the time axis: clock times have too many digits for one
    char time_label[64];            // of the time axis
} tess_de_page;

// Room on either side of values that lie on the ends of their axis, as a share of its length: lines
// on the very frame are not seen.
#define TESS_DE_PAGE_MARGIN 0.03

// Figures over time share their axis, cursor and zoom under this name.
#define TESS_DE_PAGE_GROUP "time"

// --- say.c ---

// A paragraph of at most 700 characters.
void tess_de_page_say(tess_de_page *page, const char *format, ...) TESS_PRINTF(2, 3);
// "x (cm)" by its axis: "position" where there is but one.
const char *tess_de_page_axis_name(const tess_de_page *page, int32_t axis);

// --- settings.c: what the result was made from and with ---

// Provenance as a tree, to be destroyed; *origin NULL if there is none.
TESS_MUST_CHECK tess_status tess_de_page_origin(const tess_de_view *view, tess_document **origin);
void tess_de_page_title(const tess_de_page *page, char *title, size_t capacity);
// As facts of an open list.
void tess_de_page_settings(tess_de_page *page);

// --- verdict.c: grades, reasons, warnings; first on the page ---

TESS_MUST_CHECK tess_status tess_de_page_verdict(tess_de_page *page);

// --- timeline.c: everything over time ---

TESS_MUST_CHECK tess_status tess_de_page_timeline(tess_de_page *page);

// --- event_table.c ---

TESS_MUST_CHECK tess_status tess_de_page_events(tess_de_page *page);

// --- agreement_pictures.c: error and calibration ---

void tess_de_page_agreement(tess_de_page *page);

// --- places.c: error by place, the plane at single moments ---

TESS_MUST_CHECK tess_status tess_de_page_places(tess_de_page *page);
TESS_MUST_CHECK tess_status tess_de_page_moments(tess_de_page *page);

#endif
