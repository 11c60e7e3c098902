// Where the parts of a prediction run, and which of its times have a position, in words for people.
#include "base/status.h"
#include "runtime/group.h"
#include "systems/decode/states/engine.h"
#include "systems/decode/stream/stream.h"
#include "tessera/decode/stream.h"

#include <math.h>
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
    } else if (device == states && tess_group_size(ctx, device) > 1) {
        snprintf(text, capacity,
                 "likelihood on %s, rows of each chunk divided; filter and smoother on %s, rows in "
                 "runs side by side",
                 tess_group_id(ctx, device), device->info.id);
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
            tess_group_id(ctx, device), states->info.id);
    }
    return TESS_OK;
}

void tess_de_stream_warn_outside(const tess_de_stream_run *run)
{
    const tess_decode_recording_info *recording = run->config.recording;
    const tess_decode_position *position =
        recording ? &recording->observation.position : &run->observation.position;
    const double *truth = run->config.intervals ? run->intervals.table.true_position
                          : recording           ? recording->true_position
                                                : NULL;
    const int64_t n_sample = position->n_sample;
    int64_t n_outside = 0;
    if (n_sample < 2 || run->detector->info.needs_position) {
        return;
    }
    // A step beyond is where the last bin of a recording ends.
    const double step = (position->time[n_sample - 1] - position->time[0]) / (double)(n_sample - 1);
    for (int64_t t = 0; t < run->decoded.n_time; t++) {
        const double time = run->decoded.time[t];
        n_outside +=
            (time < position->time[0] - step || time > position->time[n_sample - 1] + step) &&
            !(truth && isfinite(truth[t * position->n_dim]));
    }
    if (n_outside > 0) {
        tess_log_warn(&run->ctx->log, TESS_W_DECODE_OUTSIDE,
                      "%lld of %lld decoded times lie outside of position_time, %.9g to %.9g s: "
                      "error and events cannot be told there",
                      (long long)n_outside, (long long)run->decoded.n_time, position->time[0],
                      position->time[n_sample - 1]);
    }
}
