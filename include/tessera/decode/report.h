/** decode: the HTML report of a result. */
#ifndef TESSERA_DECODE_REPORT_H
#define TESSERA_DECODE_REPORT_H

#include "tessera/decode/stream.h"

TESS_BEGIN_DECLS

/** Options of tess_decode_report_write(); scalars after report are described by table
 *  "decode.report". */
typedef struct tess_decode_report_config {
    uint32_t struct_size;
    int32_t overwrite;
    const char *path;                        /* of the page */
    const tess_decode_recording *recording;  /* for spikes and true position; may be NULL */
    const tess_decode_stream_report *report; /* of the run, for its times; may be NULL */
    double from;                             /* s: time bins that begin earlier are left out */
    double to;                               /* s: and those that begin then or later */
    double event_threshold;    /* non-local probability from which on a time bin is of an event */
    double event_min_duration; /* s: shorter events are left out */
    double event_distance; /* cm from the animal that count as non-local, without a Local state */
    uint64_t max_size;     /* bytes of the page, about: pictures are coarser beyond */
} tess_decode_report_config;

TESS_API void tess_decode_report_config_init(tess_decode_report_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_report_params(void);

/** One-file HTML report of a result written by tess_decode_stream(): verdict, every warning of the
 *  run (as kept beside the result), posterior, states, spikes and speed on one time axis that can
 *  be zoomed to single bins, table of non-local events, error, calibration, timings. A recording
 *  that the result was not decoded from is TESS_E_MISMATCH. Memory does not grow with the number
 *  of time bins, but for that of a page. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_report_write(
    tess_context *ctx, const char *result_path, const tess_decode_report_config *config);

/** TESS_E_MISMATCH if a result was decoded from other times or spikes than the recording's; spikes
 *  are compared where the result's provenance knows them. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_result_check(
    tess_context *ctx, const char *result_path, const tess_decode_recording *recording);

TESS_END_DECLS

#endif
