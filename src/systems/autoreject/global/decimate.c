// Epochs of which every so many samples are looked at.
#include "base/status.h"
#include "systems/autoreject/global/global.h"

#include <math.h>

typedef struct decimated {
    const tess_autoreject_epochs *all;
    int64_t decim;
    int64_t start; // first sample that is looked at
    int64_t n_time;
} decimated;

// As MNE decimates: the sample at time 0 is one of those that stay.
static int64_t start_of(const tess_autoreject_epochs_info *info, int64_t decim)
{
    const int64_t before = llround(-info->tmin * info->sampling_hz) % decim;
    return before < 0 ? before + decim : before;
}

static tess_status read_decimated(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                  const int64_t *channels, int64_t n_channel, double *dst)
{
    const decimated *d = impl;
    const tess_ar_reader *reader = &d->all->reader;
    const int64_t n_time = d->all->info.n_time;
    const size_t bytes = (size_t)(n_channel * n_time) * sizeof *dst;
    double *epoch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "an epoch to be decimated");
    tess_status status = epoch ? TESS_OK : TESS_E_MEMORY;
    for (int64_t e = 0; status == TESS_OK && e < count; e++) {
        status = reader->read(ctx, reader->impl, first + e, 1, channels, n_channel, epoch);
        for (int64_t c = 0; status == TESS_OK && c < n_channel; c++) {
            for (int64_t t = 0; t < d->n_time; t++) {
                *dst++ = epoch[c * n_time + d->start + t * d->decim];
            }
        }
    }
    tess_heap_free(&ctx->heap, epoch, bytes, TESS_TAG_IO);
    return status;
}

tess_status tess_ar_decimate(tess_context *ctx, tess_autoreject_epochs *epochs, int64_t decim,
                             tess_autoreject_epochs **out)
{
    const int64_t start = start_of(&epochs->info, decim);
    *out = NULL;
    // Of one sample the peak-to-peak amplitude is 0.
    if (start + decim >= epochs->info.n_time) {
        TESS_FAIL(TESS_E_RANGE,
                  "decim: of %lld samples every %lld-th, with the one at time 0 among them, leaves "
                  "fewer than two; give a smaller one",
                  (long long)epochs->info.n_time, (long long)decim);
    }
    TESS_TRY(tess_ar_epochs_create(ctx, out));
    decimated *d = tess_ar_epochs_alloc(*out, sizeof *d);
    if (!d) {
        tess_autoreject_epochs_close(*out);
        *out = NULL;
        return TESS_E_MEMORY;
    }
    *d = (decimated){.all = epochs,
                     .decim = decim,
                     .start = start,
                     .n_time = (epochs->info.n_time - start + decim - 1) / decim};
    (*out)->info = epochs->info;
    (*out)->info.n_time = d->n_time;
    (*out)->info.sampling_hz = epochs->info.sampling_hz / (double)decim;
    (*out)->reader = (tess_ar_reader){.impl = d, .read = read_decimated};
    return TESS_OK;
}
