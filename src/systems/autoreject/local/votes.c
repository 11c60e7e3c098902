// Votes, repairs and folds: the rules of the reject log.
#include "base/status.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "stage/autoreject.h"
#include "systems/autoreject/local/local.h"

typedef struct vote_arrays {
    tess_resident delta;
    tess_resident thresholds;
    tess_resident votes;
    tess_resident counts;
} vote_arrays;

static tess_status vote(tess_device *device, vote_arrays *at, const double *delta,
                        const double *thresholds, int64_t n_epoch, int64_t n_chan, int8_t *labels,
                        int64_t *counts)
{
    const size_t n = (size_t)(n_epoch * n_chan);
    TESS_TRY(tess_resident_from(device, delta, n * sizeof *delta, &at->delta));
    TESS_TRY(tess_resident_from(device, thresholds, (size_t)n_chan * sizeof *thresholds,
                                &at->thresholds));
    TESS_TRY(tess_resident_create(device, n, &at->votes));
    TESS_TRY(tess_resident_create(device, (size_t)n_epoch * sizeof *counts, &at->counts));
    const tess_stage_autoreject_votes args = {.delta = at->delta.data,
                                              .thresholds = at->thresholds.data,
                                              .votes = at->votes.data,
                                              .counts = at->counts.data,
                                              .n_epoch = n_epoch,
                                              .n_chan = n_chan,
                                              .stride_epoch = n_chan};
    TESS_TRY(tess_stage_start(device, TESS_STAGE_AUTOREJECT_VOTES, &args, sizeof args));
    TESS_TRY(tess_resident_fetch(&at->votes, labels, n));
    return tess_resident_fetch(&at->counts, counts, (size_t)n_epoch * sizeof *counts);
}

tess_status tess_ar_votes(tess_device *device, const double *delta, const double *thresholds,
                          int64_t n_epoch, int64_t n_chan, int8_t *labels, int64_t *counts)
{
    vote_arrays at = {0};
    const tess_status status =
        vote(device, &at, delta, thresholds, n_epoch, n_chan, labels, counts);
    tess_resident_free(&at.delta);
    tess_resident_free(&at.thresholds);
    tess_resident_free(&at.votes);
    tess_resident_free(&at.counts);
    return status;
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
                  "n_samples=%lld. Lower --n-fold (cv in Python), or give at least %lld epochs",
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
