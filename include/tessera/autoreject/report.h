/** autoreject: the HTML report of a fit. */
#ifndef TESSERA_AUTOREJECT_REPORT_H
#define TESSERA_AUTOREJECT_REPORT_H

#include "tessera/autoreject/reject_log.h"

TESS_BEGIN_DECLS

/** How much of the epochs a report shows; described by table "autoreject.report". */
typedef struct tess_autoreject_report_config {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_trace;      /* epochs shown sample by sample, the worst first; 200 */
    uint64_t trace_bytes; /* about what they may take of the page; 8 MiB */
    /* Lines that carry out a log edited in the page and saved as edited-log.json; NULL: a command
       whose INPUT and MODEL.json the reader fills in. */
    const char *use_log;
} tess_autoreject_report_config;

TESS_API void tess_autoreject_report_config_init(tess_autoreject_report_config *config,
                                                 size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_report_params(void);

/**
 * One self-contained file: verdict and warnings, the reject log as a map that can be edited and
 * exported (for tess_autoreject_log_load()), epochs before and after repair, averages, sensors on
 * the head, losses, tables of channels and epochs, validation curves, provenance. Written
 * atomically.
 *
 * epochs      in  for traces, averages and heads; NULL leaves them out.
 * config      in  NULL: the defaults.
 * provenance  in  JSON; may be NULL.
 * overwrite   in  as of models (fit.h).
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_report(
    tess_context *ctx, const tess_autoreject_model *model, const tess_autoreject_log *log,
    tess_autoreject_epochs *epochs, const tess_autoreject_report_config *config,
    const char *provenance, const char *path, int overwrite);

TESS_END_DECLS

#endif
