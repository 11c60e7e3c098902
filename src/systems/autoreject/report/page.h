// The parts of the report of a fit.
#ifndef TESS_AUTOREJECT_REPORT_PAGE_H
#define TESS_AUTOREJECT_REPORT_PAGE_H

#include "base/blocks.h"
#include "page/figure.h"
#include "page/html_parts.h"
#include "runtime/context.h"
#include "systems/autoreject/text/shown_name.h"
#include "tessera/autoreject/interpolation.h"
#include "tessera/autoreject/report.h"

// Good, bad and interpolated as the original's figures colour them.
#define TESS_AR_GOOD "#c7e9c0"
#define TESS_AR_BAD "#d7301f"
#define TESS_AR_REPAIRED "#2b8cbe"

// A unit that people read, and how many of it make one of SI.
typedef struct tess_ar_unit {
    const char *name;
    double scale;
} tess_ar_unit;

// Channels are those of the log, which are those of the epochs; a model may have been fitted on
// epochs that have them in another order.
typedef struct tess_ar_page {
    tess_context *ctx;
    tess_html html;
    tess_blocks memory;
    tess_autoreject_report_config config;
    const tess_autoreject_model_info *model;
    const tess_autoreject_log *whole_log;
    const tess_autoreject_log_info *log;
    tess_autoreject_epochs *epochs;                 // may be NULL
    const tess_autoreject_epochs_info *epochs_info; // NULL without epochs
    const char **names;   // [n_chan] as they are shown: short, without control characters
    int32_t *type_of;     // [n_chan] number of the model's type; -1: of none
    double *threshold_of; // [n_chan] NaN: none
    double *error_of;     // [n_chan] standard error of the threshold; NaN: not known
    int64_t *n_bad_of;    // [n_epoch] channels labelled bad or repaired
    int64_t n_missing;    // channels of the model that are not here
    char *missing;        // their names
} tess_ar_page;

// What one pass over the epochs leaves.
typedef struct tess_ar_sums {
    double *before; // [n_chan][n_time] sums over all epochs
    double *after;  // and over those that are kept, repaired
    int64_t n_before;
    int64_t n_after;
    double *ptp; // [n_epoch][n_chan] peak-to-peaks as recorded
} tess_ar_sums;

// Some epochs sample by sample.
typedef struct tess_ar_traces tess_ar_traces;

// page.c
// What amplitudes of a type are shown in: uV, fT, fT/cm, uM.
tess_ar_unit tess_ar_unit_of(int32_t type);

// A value as people read it, with three digits: thousands (fields of magnetometers in fT) without
// a power of ten.
typedef struct tess_ar_number {
    char text[24];
} tess_ar_number;

tess_ar_number tess_ar_number_of(double value);
tess_ar_unit tess_ar_unit_of_channel(const tess_ar_page *page, int64_t channel);
// Share of the epochs in which a channel has one of two labels.
double tess_ar_label_share(const tess_autoreject_log_info *log, int64_t channel, int8_t a,
                           int8_t b);
// Finds the model's channels among those of the log.
TESS_MUST_CHECK tess_status tess_ar_page_match(tess_ar_page *page);

// pass.c: reads the epochs once.
TESS_MUST_CHECK tess_status tess_ar_page_pass(tess_ar_page *page, tess_ar_traces *traces,
                                              tess_ar_sums *sums);

// traces.c
TESS_MUST_CHECK tess_status tess_ar_traces_create(tess_ar_page *page, tess_ar_traces **out);
void tess_ar_traces_destroy(tess_ar_traces *traces);
// An epoch [n_chan][n_time] as it was recorded, and after repair. ptp: [n_chan] of it.
TESS_MUST_CHECK tess_status tess_ar_traces_before(tess_ar_traces *traces, int64_t epoch,
                                                  const double *samples, const double *ptp);
TESS_MUST_CHECK tess_status tess_ar_traces_after(tess_ar_traces *traces, int64_t epoch,
                                                 const double *samples);
bool tess_ar_traces_has(const tess_ar_traces *traces, int64_t epoch);
void tess_ar_traces_draw(tess_ar_traces *traces);

// verdict.c
void tess_ar_page_verdict(tess_ar_page *page);
// matrix.c; sums may be NULL.
TESS_MUST_CHECK tess_status tess_ar_page_matrix(tess_ar_page *page, const tess_ar_sums *sums);
// loss.c
void tess_ar_page_loss(tess_ar_page *page);
// averages.c
TESS_MUST_CHECK tess_status tess_ar_page_averages(tess_ar_page *page, const tess_ar_sums *sums);
// heads.c
TESS_MUST_CHECK tess_status tess_ar_page_heads(tess_ar_page *page);
// channels.c
void tess_ar_page_channels(tess_ar_page *page);
void tess_ar_page_curves(tess_ar_page *page);
// epochs.c; traces and sums may be NULL.
void tess_ar_page_epochs(tess_ar_page *page, const tess_ar_traces *traces,
                         const tess_ar_sums *sums);

#endif
