// The parts of the report of a fit.
#ifndef TESS_AUTOREJECT_REPORT_PAGE_H
#define TESS_AUTOREJECT_REPORT_PAGE_H

#include "page/html_parts.h"
#include "runtime/context.h"
#include "tessera/autoreject/interpolation.h"
#include "tessera/autoreject/report.h"

typedef struct tess_ar_page {
    tess_context *ctx;
    tess_html html;
    const tess_autoreject_model_info *model;
    const tess_autoreject_log_info *log;
    tess_autoreject_epochs *epochs; // may be NULL
} tess_ar_page;

// Good, bad and interpolated as the original's figures colour them.
#define TESS_AR_GOOD "#c7e9c0"
#define TESS_AR_BAD "#d7301f"
#define TESS_AR_REPAIRED "#2b8cbe"
#define TESS_AR_IGNORED "#d9d9d9"

// A unit that people read, and how many of it make one of SI.
typedef struct tess_ar_unit {
    const char *name;
    double scale;
} tess_ar_unit;

// page.c
// What amplitudes of a type are shown in: uV, fT, fT/cm, uM.
tess_ar_unit tess_ar_unit_of(int32_t type);
// Share of the epochs in which a channel is labelled bad or interpolated.
double tess_ar_bad_share(const tess_autoreject_log_info *log, int64_t channel);
// A channel's name for the page: short enough for a table, without control characters.
void tess_ar_page_name(tess_ar_page *page, const char *name);

void tess_ar_page_matrix(tess_ar_page *page);
void tess_ar_page_loss(tess_ar_page *page);
void tess_ar_page_thresholds(tess_ar_page *page);
void tess_ar_page_topography(tess_ar_page *page);
void tess_ar_page_dropped(tess_ar_page *page);
// Reads the epochs once.
TESS_MUST_CHECK tess_status tess_ar_page_averages(tess_ar_page *page);

#endif
