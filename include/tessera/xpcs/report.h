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

TESS_END_DECLS

#endif
