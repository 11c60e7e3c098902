// All validation of RANSAC.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "stage/autoreject_ransac.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/ransac/ransac.h"

#include <math.h>

int64_t tess_autoreject_ransac_subset_size(const tess_autoreject_ransac_config *config,
                                           int64_t n_channel)
{
    return (int64_t)nearbyint(config->min_channels * (double)n_channel);
}

static bool is_meg(int32_t type)
{
    return type == TESS_AUTOREJECT_MAG || type == TESS_AUTOREJECT_GRAD;
}

static tess_status check_types(const ransac *r)
{
    const tess_autoreject_channel *all = r->epochs->info.sensors->channels;
    const tess_autoreject_channel *first = &all[r->channels[0]];
    for (int64_t i = 0; i < r->n_chan; i++) {
        const tess_autoreject_channel *c = &all[r->channels[i]];
        if (!is_meg(c->type) && c->type != TESS_AUTOREJECT_EEG) {
            TESS_FAIL(
                TESS_E_ARGUMENT,
                "channels: '%s' is of type %s; RANSAC predicts EEG or MEG channels only, pick "
                "those",
                c->name, tess_autoreject_type_name(c->type));
        }
        if (is_meg(c->type) != is_meg(first->type)) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "channels: '%s' is of type %s and '%s' of type %s; RANSAC takes EEG or MEG, "
                      "not both: run it once for each",
                      first->name, tess_autoreject_type_name(first->type), c->name,
                      tess_autoreject_type_name(c->type));
        }
    }
    return TESS_OK;
}

static tess_status check_subsets(const ransac *r)
{
    const tess_autoreject_channel *all = r->epochs->info.sensors->channels;
    int64_t n_good = 0;
    for (int64_t i = 0; i < r->n_chan; i++) {
        n_good += !all[r->channels[i]].is_bad;
    }
    if (r->n_from < 1) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "min_channels: %g of %lld channels is no channel; a subset needs one at least, "
                  "%g would do",
                  r->config.min_channels, (long long)r->n_chan, 1.0 / (double)r->n_chan);
    }
    if (r->n_from > n_good) {
        TESS_FAIL(
            TESS_E_ARGUMENT,
            "min_channels: a subset of %g has %lld channels, but only %lld of the %lld picked "
            "are not marked bad; lower min_channels, or pick more channels",
            r->config.min_channels, (long long)r->n_from, (long long)n_good, (long long)r->n_chan);
    }
    return TESS_OK;
}

tess_status tess_ar_ransac_check(tess_context *ctx, tess_autoreject_epochs *epochs,
                                 const int64_t *channels, int64_t n_chan,
                                 const tess_autoreject_ransac_config *given, ransac *r)
{
    *r = (ransac){.ctx = ctx, .epochs = epochs, .channels = channels, .n_chan = n_chan};
    tess_autoreject_ransac_config_init(&r->config, sizeof r->config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &r->config, sizeof r->config, "config"));
    }
    static const int32_t stages[] = {TESS_STAGE_AUTOREJECT_RANSAC};
    TESS_TRY(tess_group_refuse(ctx, "RANSAC"));
    TESS_TRY(tess_stage_choose(ctx, stages, 1, "RANSAC", &r->device));
    TESS_TRY(tess_params_check(tess_autoreject_ransac_params(), &r->config));
    TESS_TRY(tess_ar_check_distinct(epochs, channels, n_chan));
    TESS_TRY(check_types(r));
    r->n_from = tess_autoreject_ransac_subset_size(&r->config, n_chan);
    TESS_TRY(check_subsets(r));
    return tess_ar_check_positions(epochs->info.sensors, channels, n_chan);
}
