// Samples that are not finite: found by their peak-to-peaks, refused by name.
#include "base/status.h"
#include "systems/autoreject/store/store_pass.h"

#include <math.h>

// A sample that is not finite makes the peak-to-peak of its row so.
static int64_t first_bad_channel(const tess_ar_store *store, int64_t epoch)
{
    for (int64_t c = 0; c < store->n_chan; c++) {
        if (!isfinite(store->delta[epoch * store->n_chan + c])) {
            return c;
        }
    }
    return -1;
}

static int64_t first_bad_sample(const double *x, int64_t n)
{
    for (int64_t t = 0; t < n; t++) {
        if (!isfinite(x[t])) {
            return t;
        }
    }
    return -1; // all are finite, their difference is not
}

static tess_status refuse(const tess_ar_store_request *request, int64_t epoch, int64_t channel,
                          int64_t n_epoch, const double *x)
{
    const tess_autoreject_epochs_info *info = &request->epochs->info;
    const char *name = info->sensors->channels[request->channels[channel]].name;
    const int64_t sample = first_bad_sample(x, info->n_time);
    if (sample < 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "epochs: the samples of epoch %lld, channel '%s' are so large that their "
                  "difference overflows (%lld epochs affected); scale them to volts or tesla",
                  (long long)epoch, name, (long long)n_epoch);
    }
    TESS_FAIL(TESS_E_NUMERIC,
              "epochs: epoch %lld, channel '%s', sample %lld is %s; %lld of %lld epochs hold such "
              "values; drop these epochs, or pick other channels",
              (long long)epoch, name, (long long)sample,
              isnan(x[sample]) ? "NaN" : (x[sample] > 0 ? "infinite" : "-infinite"),
              (long long)n_epoch, (long long)info->n_epoch);
}

tess_status tess_ar_store_check_finite(const tess_ar_store *store,
                                       const tess_ar_store_request *request)
{
    int64_t n_epoch = 0, epoch = -1;
    for (int64_t e = store->n_epoch - 1; e >= 0; e--) {
        if (first_bad_channel(store, e) >= 0) {
            epoch = e;
            n_epoch++;
        }
    }
    if (n_epoch == 0) {
        return TESS_OK;
    }
    tess_heap *heap = &store->ctx->heap;
    const size_t bytes = (size_t)store->n_time * sizeof(double);
    const int64_t channel = first_bad_channel(store, epoch);
    double *x = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "samples of a channel");
    tess_status status = x ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        const tess_ar_reader *reader = &request->epochs->reader;
        status =
            reader->read(store->ctx, reader->impl, epoch, 1, request->channels + channel, 1, x);
    }
    if (status == TESS_OK) {
        status = refuse(request, epoch, channel, n_epoch, x);
    }
    tess_heap_free(heap, x, bytes, TESS_TAG_SCRATCH);
    return status;
}
