/** xpcs: pictures and pages of a fit. */
#ifndef TESSERA_XPCS_REPORT_H
#define TESSERA_XPCS_REPORT_H

#include "tessera/xpcs/result.h"

TESS_BEGIN_DECLS

/** One self-contained HTML page: maps per angle, g2 cuts, convergence, parameters with errors and
 *  correlations, quality, warnings. overwrite as in tess_xpcs_write_config. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_report(tess_context *ctx,
                                                      const tess_xpcs_result *result,
                                                      tess_xpcs_data *data,
                                                      const tess_xpcs_model *model,
                                                      const char *path, int overwrite);

/** folder/c2_heatmaps_phi_4.9deg.png and so on: measured, fitted and residual, t1 to the right and
 *  t2 upwards; result NULL: the measured map alone. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_figures(tess_context *ctx,
                                                       const tess_xpcs_result *result,
                                                       tess_xpcs_data *data,
                                                       const tess_xpcs_model *model,
                                                       const char *folder, int overwrite);

/** One of many fits: of a file of a watched folder, or of an angle. */
typedef struct tess_xpcs_watch_row {
    uint32_t struct_size;
    int32_t quality;     /* tess_xpcs_quality; -1: it was not fitted */
    const char *name;    /* of the file */
    const char *page;    /* its own report, below the folder of the page; NULL: none */
    const char *alarms;  /* what it set off; "" if nothing */
    const char *message; /* why it was not fitted; "" if it was */
    double at;           /* time of the file, seconds since 1970; with by_angle phi, degrees */
    double reduced_chi2;
    const double *theta; /* [n_param] of the mode; not read where it was not fitted */
    const double *sd;
} tess_xpcs_watch_row;

/** What is known of a watched folder, or of a file whose angles were fitted one by one. */
typedef struct tess_xpcs_watch_info {
    uint32_t struct_size;
    int32_t mode;                    /* tess_xpcs_mode */
    const char *folder;              /* that is watched; or the file */
    const tess_xpcs_watch_row *rows; /* [n_row] the latest, oldest first */
    int64_t n_row;
    int64_t n_fitted; /* of all files so far */
    int64_t n_failed;
    int64_t n_alarm;
    int32_t refresh_s; /* the page loads itself anew after so long; 0: it does not */
    int32_t by_angle;  /* 1: rows are angles */
} tess_xpcs_watch_info;

/** One self-contained HTML page: parameters with errors against time or angle, verdicts, alarms,
 * and a line for each of the latest. Replaces the file at path at once. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_watch_page(tess_context *ctx,
                                                          const tess_xpcs_watch_info *info,
                                                          const char *path);

TESS_END_DECLS

#endif
