// Opening recordings: recognises the layout, then completes what every layout leaves open.
#include "base/status.h"
#include "systems/decode/files/recording_input.h"
#include "systems/decode/files/recording_size.h"
#include "systems/decode/settings/need.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char MEMORY[] = "a recording";

static void interpolate(const tess_decode_position *series, int64_t k, double t, double *out)
{
    const double t0 = series->time[k];
    const double t1 = series->time[k + 1];
    const double f = t1 > t0 ? (t - t0) / (t1 - t0) : 0;
    for (int64_t d = 0; d < series->n_dim; d++) {
        const double a = series->position[k * series->n_dim + d];
        const double b = series->position[(k + 1) * series->n_dim + d];
        out[d] = f == 0 ? a : f == 1 ? b : a + f * (b - a);
    }
}

// The animal at every decoding time, where it was tracked; NaN elsewhere.
static tess_status find_true_position(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    const tess_decode_observation *seen = &info->observation;
    const tess_decode_position *series = &seen->position;
    in->recording->has_truth = info->true_position != NULL;
    if (info->true_position || series->n_sample < 2) {
        return TESS_OK;
    }
    double *out = tess_blocks_alloc(&in->recording->blocks, seen->n_time * series->n_dim,
                                    sizeof *out, MEMORY);
    if (!out) {
        return TESS_E_MEMORY;
    }
    info->true_position = out;
    int64_t sample = 0;
    int64_t n_known = 0;
    for (int64_t k = 0; k < seen->n_time; k++, out += series->n_dim) {
        const double t = seen->time[k];
        while (sample > 0 && series->time[sample] > t) {
            sample--; // times out of order are refused later; here they must do no harm
        }
        while (sample + 2 < series->n_sample && series->time[sample + 1] <= t) {
            sample++;
        }
        if (t >= series->time[0] && t <= series->time[series->n_sample - 1]) {
            interpolate(series, sample, t, out);
            n_known++;
        } else {
            for (int64_t d = 0; d < series->n_dim; d++) {
                out[d] = (double)NAN;
            }
        }
    }
    if (n_known == 0) {
        info->true_position = NULL;
    }
    return TESS_OK;
}

static tess_status read_layout(tess_de_input *in, const char *path)
{
    tess_decode_recording_info *info = &in->recording->info;
    tess_blocks *blocks = &in->recording->blocks;

    TESS_TRY(tess_bundle_open(in->ctx, path, &in->bundle));
    tess_de_recording_size size;
    tess_de_size_recording(&in->bundle, &size);
    TESS_TRY(
        tess_de_need_check(in->ctx, path, "the recording", (tess_de_need){size.bytes, size.bytes}));
    const bool is_nwb = tess_bundle_find(&in->bundle, "units/spike_times") != NULL;
    info->format = is_nwb ? "nwb" : strcmp(in->bundle.format, "npz") == 0 ? "npz" : "hdf5";
    info->path = tess_blocks_copy(blocks, path, (int64_t)strlen(path) + 1, 1, MEMORY);
    if (!info->path) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(is_nwb ? tess_de_read_nwb(in) : tess_de_read_arrays(in));
    TESS_TRY(tess_bundle_check(&in->bundle));
    TESS_TRY(find_true_position(in));
    const char *notes = NULL;
    TESS_TRY(tess_text_finish(&in->notes, &notes));
    info->notes = tess_blocks_copy(blocks, notes, (int64_t)strlen(notes) + 1, 1, MEMORY);
    return info->notes ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_decode_recording_open(tess_context *ctx, const char *path,
                                       tess_decode_recording **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_input in = {.ctx = ctx};
    TESS_TRY(tess_de_recording_new(ctx, &in.recording));
    tess_text_init(&in.notes, &ctx->heap);
    tess_span span = tess_span_begin(&ctx->tracer, "decode.read");
    const tess_status status = read_layout(&in, path);
    tess_span_end(&span, 0, 0);
    tess_bundle_close(&in.bundle);
    tess_text_destroy(&in.notes);
    if (status != TESS_OK) {
        tess_decode_recording_close(in.recording);
        return status;
    }
    *out = in.recording;
    return TESS_OK;
}
