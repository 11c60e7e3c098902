// Votes, repairs and folds: the rules of the reject log.
#include "base/status.h"
#include "systems/autoreject/local/local.h"

void tess_ar_votes(const double *delta, const double *thresholds, int64_t n_epoch, int64_t n_chan,
                   int8_t *labels, int64_t *counts)
{
    for (int64_t e = 0; e < n_epoch; e++) {
        counts[e] = 0;
        for (int64_t c = 0; c < n_chan; c++) {
            const int8_t vote = delta[e * n_chan + c] > thresholds[c];
            labels[e * n_chan + c] = vote;
            counts[e] += vote;
        }
    }
}

// The channel labelled 1 that comes first: largest delta, then largest index. -1: none.
static int64_t worst(const int8_t *labels, const double *delta, int64_t n_chan)
{
    int64_t found = -1;
    for (int64_t c = 0; c < n_chan; c++) {
        if (labels[c] == 1 && (found < 0 || delta[c] >= delta[found])) {
            found = c;
        }
    }
    return found;
}

void tess_ar_select_repairs(int8_t *labels, const double *delta, int64_t n_epoch, int64_t n_chan,
                            int64_t n_interpolate)
{
    for (int64_t e = 0; e < n_epoch; e++) {
        int8_t *row = labels + e * n_chan;
        for (int64_t i = 0; i < n_interpolate; i++) {
            const int64_t c = worst(row, delta + e * n_chan, n_chan);
            if (c < 0) {
                break;
            }
            row[c] = 2;
        }
    }
}

bool tess_ar_epoch_is_bad(int64_t count, double consensus, int64_t n_chan)
{
    return (double)count >= consensus * (double)n_chan;
}

int64_t tess_ar_least_sources(int32_t rho_mode)
{
    return rho_mode == TESS_AUTOREJECT_RHO_CUMULATIVE ? 1 : TESS_AR_LEAST_SOURCES;
}

tess_status tess_ar_contiguous_folds(int64_t n_epoch, int64_t n_fold, uint8_t *folds)
{
    if (n_fold > n_epoch) {
        TESS_FAIL(TESS_E_SHAPE,
                  "Cannot have number of splits n_splits=%lld greater than the number of samples: "
                  "n_samples=%lld. Lower n_fold, or give at least %lld epochs",
                  (long long)n_fold, (long long)n_epoch, (long long)n_fold);
    }
    int64_t first = 0;
    for (int64_t f = 0; f < n_fold; f++) {
        const int64_t end = first + n_epoch / n_fold + (f < n_epoch % n_fold);
        for (int64_t e = 0; e < n_epoch; e++) {
            folds[f * n_epoch + e] = e >= first && e < end ? 2 : 1;
        }
        first = end;
    }
    return TESS_OK;
}
