// The parts of the report of a fit.
#ifndef TESS_XPCS_REPORT_PAGE_H
#define TESS_XPCS_REPORT_PAGE_H

#include "page/figure.h"
#include "page/html_parts.h"
#include "systems/xpcs/report/lags.h"
#include "systems/xpcs/report/maps.h"
#include "tessera/xpcs/report.h"

typedef struct tess_xp_page {
    tess_context *ctx;
    tess_html html;
    const tess_xpcs_result_info *info;
    tess_xpcs_data *data;
    const tess_xpcs_model *model;
    tess_xp_sweep sweep;         // of the angles that are being written
    tess_xp_residuals residuals; // of all angles up to these
    tess_blocks memory;
    tess_xp_sum *lags; // [n_frame] of all angles that are written
} tess_xp_page;

// Makes the sweep one that has this angle; angles come in order.
TESS_MUST_CHECK tess_status tess_xp_page_sweep(tess_xp_page *page, int64_t angle);

void tess_xp_page_parameters(tess_xp_page *page);
void tess_xp_page_correlations(tess_xp_page *page);
void tess_xp_page_basins(tess_xp_page *page);
// A line per angle, and how contrast, offset and chi2 follow phi.
void tess_xp_page_angle_table(tess_xp_page *page);
// Maps, g2 and ageing of every angle.
TESS_MUST_CHECK tess_status tess_xp_page_angles(tess_xp_page *page);
// Diffusion and shear rates over time.
// Of two components instead.
void tess_xp_page_two(tess_xp_page *page);
TESS_MUST_CHECK tess_status tess_xp_page_rates(tess_xp_page *page);
void tess_xp_page_residuals(tess_xp_page *page);
void tess_xp_page_residual_lags(tess_xp_page *page, const tess_xp_lag_curve *curve);
TESS_MUST_CHECK tess_status tess_xp_page_convergence(tess_xp_page *page);

// "16918 +- 12" with two digits of the error; text holds UTF-8.
void tess_xp_with_error(double value, double sd, char *text, size_t capacity);
void tess_xp_printf(tess_html *html, const char *format, ...) TESS_PRINTF(2, 3);

// tess_xpcs_report() of an info.
TESS_MUST_CHECK tess_status tess_xp_report_of(tess_context *ctx, const tess_xpcs_result_info *info,
                                              tess_xpcs_data *data, const tess_xpcs_model *model,
                                              const char *path, int overwrite);

#endif
