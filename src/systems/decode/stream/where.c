// Where the parts of a prediction run, in words for people.
#include "base/status.h"
#include "systems/decode/states/engine.h"
#include "tessera/decode/stream.h"

#include <stdio.h>

tess_status tess_decode_stream_where(tess_context *ctx, const tess_decode_detector *detector,
                                     int64_t n_row, char *text, size_t capacity)
{
    tess_error_clear();
    tess_device *device = NULL;
    TESS_TRY(tess_de_engine_device(ctx, detector, &device));
    const tess_device *states = tess_de_rows_device(ctx, detector->hmm, n_row);
    if (device == states && device->shares_host_memory) {
        snprintf(text, capacity, "likelihood, filter and smoother on %s", device->info.id);
    } else if (device == states) {
        snprintf(text, capacity,
                 "likelihood, filter and smoother on %s, rows in runs side by side, and paths of "
                 "many intervals; a single path on the CPU, where rows that follow rows are faster",
                 device->info.id);
    } else {
        snprintf(
            text, capacity,
            "likelihood on %s, of the next rows while these are filtered; filter, smoother and "
            "path on %s, which has so few rows sooner",
            device->info.id, states->info.id);
    }
    return TESS_OK;
}
