// The global threshold and its validation curve: check, go through the epochs, choose.
#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/global/global.h"
#include "systems/autoreject/local/local.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <math.h>
#include <string.h>

// The original starts with so many of the ordered epochs, and the last.
enum { N_INITIAL = 5 };

// Contiguous folds in memory of their own.
static tess_status make_folds(tess_context *ctx, int64_t n_epoch, int64_t n_fold, uint8_t **folds,
                              size_t *bytes)
{
    uint64_t all = 0;
    *folds = NULL;
    if (n_fold < 2) {
        TESS_FAIL(TESS_E_RANGE, "n_fold: %lld; expected 2 folds at least", (long long)n_fold);
    }
    if (n_fold > n_epoch) { // before memory is asked for; in the words users know
        return tess_ar_contiguous_folds(n_epoch, n_fold, NULL);
    }
    if (!tess_mul_u64((uint64_t)n_fold, (uint64_t)n_epoch, &all) ||
        all > ctx->memory_limit_bytes / 4) {
        TESS_FAIL(TESS_E_LIMIT,
                  "n_fold: %lld folds of %lld epochs do not fit in a quarter of the memory limit "
                  "(%llu bytes); raise it, or take fewer folds",
                  (long long)n_fold, (long long)n_epoch,
                  (unsigned long long)ctx->memory_limit_bytes);
    }
    *bytes = all;
    *folds = tess_heap_alloc(&ctx->heap, all, TESS_TAG_GENERAL, "folds");
    if (!*folds) {
        return TESS_E_MEMORY;
    }
    return tess_ar_contiguous_folds(n_epoch, n_fold, *folds);
}

// The objective with every epoch's peak-to-peak as the threshold. Ties have the same one: all of
// them are kept.
static void objectives_of(const global_curves *c, double *objectives)
{
    memset(objectives, 0, (size_t)c->n_epoch * sizeof *objectives);
    for (int64_t f = 0; f < c->n_fold; f++) {
        const uint8_t *fold = c->folds + f * c->n_epoch;
        int64_t n_kept = 0;
        for (int64_t i = 0; i < c->n_epoch;) {
            int64_t end = i;
            for (; end < c->n_epoch && c->peaks[end] == c->peaks[i]; end++) {
                n_kept += fold[end] == 1;
            }
            const double loss = tess_ar_global_loss(c, c->test, f, n_kept);
            for (; i < end; i++) {
                objectives[i] += loss;
            }
        }
    }
    for (int64_t i = 0; i < c->n_epoch; i++) {
        objectives[i] /= (double)c->n_fold;
    }
}

static tess_status choose(const global_curves *c, int32_t search, const double *objectives,
                          tess_autoreject_global_result *result)
{
    int64_t best = 0;
    if (search == 0) {
        for (int64_t i = 1; i < c->n_epoch; i++) {
            best = objectives[i] < objectives[best] ? i : best;
        }
    } else {
        TESS_TRY(tess_ar_compat_choice(c->ctx, c->peaks, objectives, c->n_epoch, N_INITIAL, &best));
    }
    result->threshold = c->peaks[best];
    result->objective = objectives[best];
    result->n_candidate = 0;
    for (int64_t i = 0; i < c->n_epoch; i++) {
        if (i > 0 && c->peaks[i] == c->peaks[i - 1]) {
            continue;
        }
        if (result->candidates) {
            result->candidates[result->n_candidate] = c->peaks[i];
        }
        if (result->objectives) {
            result->objectives[result->n_candidate] = objectives[i];
        }
        result->n_candidate++;
    }
    return TESS_OK;
}

static tess_status search_curves(const global_curves *curves, int32_t search,
                                 tess_autoreject_global_result *result)
{
    const size_t bytes = (size_t)curves->n_epoch * sizeof(double);
    tess_heap *heap = &curves->ctx->heap;
    double *objectives = tess_heap_alloc(heap, bytes, TESS_TAG_GENERAL, "objectives");
    if (!objectives) {
        return TESS_E_MEMORY;
    }
    objectives_of(curves, objectives);
    const tess_status status = choose(curves, search, objectives, result);
    tess_heap_free(heap, objectives, bytes, TESS_TAG_GENERAL);
    return status;
}

tess_status tess_autoreject_global(tess_context *ctx, tess_autoreject_epochs *epochs,
                                   const int64_t *channels, int64_t n_channel,
                                   const tess_autoreject_global_config *given,
                                   tess_autoreject_global_result *result)
{
    tess_error_clear();
    tess_autoreject_global_config config;
    tess_device *device = NULL;
    TESS_TRY(tess_ar_global_device(ctx, "search for a global threshold", &device));
    TESS_TRY(tess_ar_global_check(epochs, channels, n_channel, given, &config));
    uint8_t *folds = NULL;
    size_t bytes = 0;
    tess_status status = make_folds(ctx, epochs->info.n_epoch, config.n_fold, &folds, &bytes);
    if (status == TESS_OK) {
        const global_request request = {.device = device,
                                        .epochs = epochs,
                                        .channels = channels,
                                        .n_chan = n_channel,
                                        .decim = config.decim,
                                        .folds = folds,
                                        .n_fold = config.n_fold};
        global_curves curves;
        status = tess_ar_global_curves(ctx, &request, &curves);
        if (status == TESS_OK) {
            status = search_curves(&curves, config.search, result);
            tess_ar_global_release(&curves);
        }
    }
    tess_heap_free(&ctx->heap, folds, bytes, TESS_TAG_GENERAL);
    return status;
}

static void scores_of(const global_curves *c, const double *thresholds, int64_t n_threshold,
                      double *train, double *test)
{
    for (int64_t k = 0; k < n_threshold; k++) {
        for (int64_t f = 0; f < c->n_fold; f++) {
            const uint8_t *fold = c->folds + f * c->n_epoch;
            int64_t n_kept = 0;
            for (int64_t i = 0; i < c->n_epoch && c->peaks[i] <= thresholds[k]; i++) {
                n_kept += fold[i] == 1;
            }
            if (train) {
                train[k * c->n_fold + f] = -tess_ar_global_loss(c, c->train, f, n_kept);
            }
            if (test) {
                test[k * c->n_fold + f] = -tess_ar_global_loss(c, c->test, f, n_kept);
            }
        }
    }
}

tess_status tess_autoreject_validation_curve(tess_context *ctx, tess_autoreject_epochs *epochs,
                                             const int64_t *channels, int64_t n_channel,
                                             const double *thresholds, int64_t n_threshold,
                                             const uint8_t *folds, int64_t n_fold, double *train,
                                             double *test)
{
    tess_error_clear();
    tess_device *device = NULL;
    TESS_TRY(tess_ar_global_device(ctx, "validation curve", &device));
    TESS_TRY(tess_ar_check_distinct(epochs, channels, n_channel));
    TESS_TRY(tess_ar_global_check_thresholds(thresholds, n_threshold));
    uint8_t *made = NULL;
    size_t bytes = 0;
    tess_status status = folds ? tess_ar_global_check_folds(folds, n_fold, epochs->info.n_epoch)
                               : make_folds(ctx, epochs->info.n_epoch, n_fold, &made, &bytes);
    if (status == TESS_OK) {
        const global_request request = {.device = device,
                                        .epochs = epochs,
                                        .channels = channels,
                                        .n_chan = n_channel,
                                        .decim = 1,
                                        .folds = folds ? folds : made,
                                        .n_fold = n_fold,
                                        .want_train = train != NULL};
        global_curves curves;
        status = tess_ar_global_curves(ctx, &request, &curves);
        if (status == TESS_OK) {
            scores_of(&curves, thresholds, n_threshold, train, test);
            tess_ar_global_release(&curves);
        }
    }
    tess_heap_free(&ctx->heap, made, bytes, TESS_TAG_GENERAL);
    return status;
}
