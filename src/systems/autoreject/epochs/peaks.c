// Peak-to-peaks that a fit took, for the reject log that follows it.
#include "base/status.h"
#include "systems/autoreject/epochs/epochs.h"

struct tess_ar_peaks {
    bool *is_known; // [n_chan]
    double *values; // [n_chan][n_epoch]
};

static struct tess_ar_peaks *make(tess_autoreject_epochs *epochs)
{
    const int64_t n_chan = epochs->sensors.n_chan;
    struct tess_ar_peaks *peaks = tess_ar_epochs_alloc(epochs, sizeof *peaks);
    if (!peaks) {
        return NULL;
    }
    peaks->is_known = tess_ar_epochs_items(epochs, n_chan, sizeof *peaks->is_known);
    peaks->values =
        tess_ar_epochs_items(epochs, n_chan * epochs->info.n_epoch, sizeof *peaks->values);
    return peaks->is_known && peaks->values ? peaks : NULL;
}

tess_status tess_ar_epochs_keep_peaks(tess_autoreject_epochs *epochs, const int64_t *channels,
                                      int64_t n_channel, const double *peaks)
{
    const int64_t n_epoch = epochs->info.n_epoch;
    if (epochs->array.data) {
        return TESS_OK;
    }
    if (!epochs->peaks) {
        epochs->peaks = make(epochs);
    }
    if (!epochs->peaks) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n_channel; c++) {
        double *to = epochs->peaks->values + channels[c] * n_epoch;
        for (int64_t e = 0; e < n_epoch; e++) {
            to[e] = peaks[e * n_channel + c];
        }
        epochs->peaks->is_known[channels[c]] = true;
    }
    return TESS_OK;
}

bool tess_ar_epochs_has_peaks(const tess_autoreject_epochs *epochs, const int64_t *channels,
                              int64_t n_channel)
{
    for (int64_t c = 0; c < n_channel; c++) {
        if (!epochs->peaks || !epochs->peaks->is_known[channels[c]]) {
            return false;
        }
    }
    return true;
}

void tess_ar_epochs_copy_peaks(const tess_autoreject_epochs *epochs, const int64_t *channels,
                               int64_t n_channel, double *to)
{
    const int64_t n_epoch = epochs->info.n_epoch;
    for (int64_t c = 0; c < n_channel; c++) {
        const double *from = epochs->peaks->values + channels[c] * n_epoch;
        for (int64_t e = 0; e < n_epoch; e++) {
            to[e * n_channel + c] = from[e];
        }
    }
}
