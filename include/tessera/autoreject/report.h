/** autoreject: the HTML report of a fit. */
#ifndef TESSERA_AUTOREJECT_REPORT_H
#define TESSERA_AUTOREJECT_REPORT_H

#include "tessera/autoreject/reject_log.h"

TESS_BEGIN_DECLS

/**
 * One self-contained file: summary, reject log matrix, per-channel thresholds with their validation
 * curves, loss table, averages before and after repair, topography of bad sensors, dropped epochs,
 * warnings, provenance. Written atomically.
 *
 * epochs      in  for averages and topography; NULL leaves them out.
 * provenance  in  JSON; may be NULL.
 * overwrite   in  as of models (fit.h).
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_report(
    tess_context *ctx, const tess_autoreject_model *model, const tess_autoreject_log *log,
    tess_autoreject_epochs *epochs, const char *provenance, const char *path, int overwrite);

TESS_END_DECLS

#endif
