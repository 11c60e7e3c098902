// What the files that write the report share.
#ifndef TESS_SYSTEMS_DECODE_PAGE_H
#define TESS_SYSTEMS_DECODE_PAGE_H

#include "page/html_plot.h"
#include "systems/decode/report/score.h"

typedef struct tess_de_page {
    tess_html html;
    const tess_de_view *view;
    const tess_de_facts *facts;
    tess_decode_score score;
    const tess_decode_recording *recording;  // may be NULL
    const tess_decode_stream_report *report; // may be NULL
    char time_label[64];
} tess_de_page;

enum { TESS_DE_PAGE_HEIGHT = 260 };

// --- say.c: a paragraph of at most 700 characters ---

void tess_de_page_say(tess_de_page *page, const char *format, ...) TESS_PRINTF(2, 3);

// --- verdict.c: grades, reasons, warnings; first on the page ---

TESS_MUST_CHECK tess_status tess_de_page_verdict(tess_de_page *page);

// --- agreement_pictures.c: error and calibration ---

void tess_de_page_agreement(tess_de_page *page);

// --- pictures.c: everything over time ---

void tess_de_page_posterior(tess_de_page *page);
TESS_MUST_CHECK tess_status tess_de_page_snapshots(tess_de_page *page);
void tess_de_page_states(tess_de_page *page);
TESS_MUST_CHECK tess_status tess_de_page_raster(tess_de_page *page);

#endif
