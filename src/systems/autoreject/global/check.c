// What the global threshold and its validation curve are given.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "stage/autoreject_global.h"
#include "stage/autoreject_local.h"
#include "systems/autoreject/global/global.h"

#include <math.h>

tess_status tess_ar_global_device(tess_context *ctx, const char *what, tess_device **device)
{
    static const int32_t stages[] = {TESS_STAGE_AUTOREJECT_INTAKE, TESS_STAGE_AUTOREJECT_GLOBAL};
    TESS_TRY(tess_group_refuse(ctx, what));
    return tess_stage_choose(ctx, stages, sizeof stages / sizeof *stages, what, device);
}

tess_status tess_ar_global_check(const tess_autoreject_epochs *epochs, const int64_t *channels,
                                 int64_t n_channel, const tess_autoreject_global_config *given,
                                 tess_autoreject_global_config *config)
{
    tess_autoreject_global_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    TESS_TRY(tess_params_check(tess_autoreject_global_params(), config));
    TESS_TRY(tess_ar_check_distinct(epochs, channels, n_channel));
    const tess_autoreject_channel *all = epochs->info.sensors->channels;
    for (int64_t i = 1; i < n_channel; i++) {
        const tess_autoreject_channel *a = &all[channels[0]];
        const tess_autoreject_channel *b = &all[channels[i]];
        if (a->type != b->type) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "channels: '%s' is of type %s and '%s' of type %s; a threshold is for one "
                      "type, ask for each by itself",
                      a->name, tess_autoreject_type_name(a->type), b->name,
                      tess_autoreject_type_name(b->type));
        }
    }
    return TESS_OK;
}

tess_status tess_ar_global_check_folds(const uint8_t *folds, int64_t n_fold, int64_t n_epoch)
{
    for (int64_t f = 0; f < n_fold; f++) {
        int64_t n_test = 0;
        for (int64_t e = 0; e < n_epoch; e++) {
            const uint8_t part = folds[f * n_epoch + e];
            if (part > 2) {
                TESS_FAIL(TESS_E_RANGE,
                          "folds[%lld][%lld]: %d; expected 1 (train), 2 (test) or 0 (neither)",
                          (long long)f, (long long)e, part);
            }
            n_test += part == 2;
        }
        if (n_test == 0) {
            TESS_FAIL(TESS_E_ARGUMENT, "folds: fold %lld tests no epoch; mark some with 2",
                      (long long)f);
        }
    }
    return TESS_OK;
}

tess_status tess_ar_global_check_thresholds(const double *thresholds, int64_t n_threshold)
{
    if (!thresholds || n_threshold < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "thresholds: none are given");
    }
    for (int64_t i = 0; i < n_threshold; i++) {
        if (isnan(thresholds[i])) {
            TESS_FAIL(TESS_E_RANGE, "thresholds[%lld]: NaN; expected a peak-to-peak amplitude",
                      (long long)i);
        }
    }
    return TESS_OK;
}
