#include "systems/autoreject/fit/setup.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "stage/autoreject.h"
#include "stage/autoreject_local.h"
#include "stage/autoreject_threshold.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/fit/splits_auto.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/local/local.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fewest channels that the default n_interpolate is for.
enum { LEAST_CHANNELS = 4, N_CONSENSUS = 11, N_DEFAULT_RHO = 4, MOST_DEFAULT_RHO = 32 };

static tess_status take_picks(tess_ar_setup *s)
{
    const int64_t n_chan = s->epochs->sensors.n_chan;
    const int64_t room = s->config.picks && s->config.n_pick > n_chan ? s->config.n_pick : n_chan;
    int64_t *given = tess_blocks_alloc(&s->memory, room, sizeof *given, "picks");
    s->channels = tess_blocks_alloc(&s->memory, room, sizeof *s->channels, "picks");
    s->picks = tess_blocks_alloc(&s->memory, room, sizeof *s->picks, "picks");
    if (!given || !s->channels || !s->picks) {
        return TESS_E_MEMORY;
    }
    const int64_t *picks = s->config.picks;
    int64_t n_pick = s->config.n_pick;
    if (!picks) {
        TESS_TRY(tess_autoreject_picks(s->epochs, NULL, given, &n_pick));
        picks = given;
    }
    TESS_TRY(tess_ar_groups(s->epochs, picks, n_pick, s->channels, s->groups, &s->n_group));
    uint8_t *is_picked = tess_blocks_alloc(&s->memory, n_chan, 1, "picks");
    if (!is_picked) {
        return TESS_E_MEMORY;
    }
    for (int64_t g = 0; g < s->n_group; g++) {
        for (int64_t c = 0; c < s->groups[g].n_chan; c++) {
            is_picked[s->groups[g].channels[c]] = 1;
        }
    }
    for (int64_t c = 0; c < n_chan; c++) {
        if (is_picked[c]) {
            s->picks[s->n_pick++] = c;
        }
    }
    return TESS_OK;
}

static tess_status check_counts(const tess_ar_setup *s)
{
    for (int64_t g = 0; g < s->n_group; g++) {
        const tess_ar_group *group = &s->groups[g];
        const bool is_meg =
            group->type == TESS_AUTOREJECT_MAG || group->type == TESS_AUTOREJECT_GRAD;
        if (group->n_chan == 1 && is_meg && s->config.augment && s->config.compat_types) {
            TESS_FAIL(
                TESS_E_SHAPE,
                "picks: there is a single %s channel, and nothing to interpolate it from (the "
                "original stops here, too); pick more, leave it out, or compute thresholds "
                "without augmentation",
                tess_autoreject_type_name(group->type));
        }
    }
    if (!s->thresholds_only && !s->config.n_interpolate && s->n_pick < LEAST_CHANNELS) {
        TESS_FAIL(TESS_E_SHAPE,
                  "Too few channels. autoreject is unlikely to be effective: %lld are picked, at "
                  "least %d are needed; pick more, or give n_interpolate",
                  (long long)s->n_pick, LEAST_CHANNELS);
    }
    return TESS_OK;
}

static tess_status take_consensus(tess_ar_setup *s)
{
    const bool is_given = s->config.consensus != NULL;
    s->n_consensus = is_given ? s->config.n_consensus : N_CONSENSUS;
    if (s->n_consensus < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "consensus: is empty; give at least one value from 0 to 1");
    }
    s->consensus = tess_blocks_alloc(&s->memory, s->n_consensus, sizeof(double), "consensus");
    if (!s->consensus) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n_consensus; i++) {
        // As the original makes them: 0.30000000000000004 is one of them.
        s->consensus[i] = is_given ? s->config.consensus[i] : (double)i * 0.1;
        if (!(s->consensus[i] >= 0 && s->consensus[i] <= 1)) {
            TESS_FAIL(TESS_E_RANGE, "consensus[%lld]: %g; expected 0 to 1, a share of the channels",
                      (long long)i, s->consensus[i]);
        }
    }
    return TESS_OK;
}

// True if some type has too few channels to repair even one: those are good or bad, no more.
static bool has_no_repairs(const tess_ar_setup *s)
{
    for (int64_t g = 0; g < s->n_group; g++) {
        const tess_ar_group *group = &s->groups[g];
        const int64_t n_source = tess_ar_type_is_predictable(group->type)
                                     ? tess_ar_least_sources(s->config.rho_mode)
                                     : 1;
        if (group->n_chan - 1 < n_source) {
            return true;
        }
    }
    return false;
}

// The least a type may repair must be less than the most of its channels that may be bad.
static tess_status check_pairs(const tess_ar_setup *s)
{
    double most = 0;
    int64_t least = s->n_interpolate[0];
    for (int64_t i = 0; i < s->n_consensus; i++) {
        most = s->consensus[i] > most ? s->consensus[i] : most;
    }
    for (int64_t i = 1; i < s->n_n_interpolate; i++) {
        least = s->n_interpolate[i] < least ? s->n_interpolate[i] : least;
    }
    for (int64_t g = 0; g < s->n_group; g++) {
        const int64_t n_chan = s->groups[g].n_chan;
        if (most * (double)n_chan <= (double)least) {
            TESS_FAIL(TESS_E_RANGE,
                      "consensus, n_interpolate: no pair is admissible for the %lld %s channels: "
                      "the largest consensus, %g, times %lld is not more than the smallest "
                      "n_interpolate, %lld; give larger values of consensus, smaller ones of "
                      "n_interpolate, or leave the type out",
                      (long long)n_chan, tess_autoreject_type_name(s->groups[g].type), most,
                      (long long)n_chan, (long long)least);
        }
    }
    return TESS_OK;
}

static tess_status take_n_interpolate(tess_ar_setup *s)
{
    const bool is_given = s->config.n_interpolate != NULL;
    const int64_t last = s->n_pick - 1 < MOST_DEFAULT_RHO ? s->n_pick - 1 : MOST_DEFAULT_RHO;
    const int64_t defaults[N_DEFAULT_RHO] = {0, 1, LEAST_CHANNELS, last};
    const int64_t first = has_no_repairs(s) ? 0 : 1;
    s->n_n_interpolate = is_given ? s->config.n_n_interpolate : N_DEFAULT_RHO - first;
    if (s->n_n_interpolate < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "n_interpolate: is empty; give at least one number of channels");
    }
    s->n_interpolate =
        tess_blocks_copy(&s->memory, is_given ? s->config.n_interpolate : defaults + first,
                         s->n_n_interpolate, sizeof(int64_t), "n_interpolate");
    if (!s->n_interpolate) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n_n_interpolate; i++) {
        if (s->n_interpolate[i] < 0) {
            TESS_FAIL(TESS_E_RANGE, "n_interpolate[%lld]: %lld; expected 0 or more channels",
                      (long long)i, (long long)s->n_interpolate[i]);
        }
    }
    return check_pairs(s);
}

static tess_status check_folds(const tess_ar_setup *s)
{
    const int64_t n_epoch = s->epochs->info.n_epoch;
    for (int64_t f = 0; f < s->n_fold; f++) {
        int64_t n[3] = {0, 0, 0};
        for (int64_t e = 0; e < n_epoch; e++) {
            const uint8_t role = s->folds[f * n_epoch + e];
            if (role > 2) {
                TESS_FAIL(TESS_E_RANGE,
                          "folds: epoch %lld of fold %lld is %d; expected 1 train, 2 test, 0 "
                          "neither",
                          (long long)e, (long long)f, role);
            }
            n[role]++;
        }
        if (n[1] == 0 || n[2] == 0) {
            TESS_FAIL(TESS_E_SHAPE,
                      "folds: fold %lld trains with %lld epochs and tests with %lld; "
                      "both need at least one",
                      (long long)f, (long long)n[1], (long long)n[2]);
        }
    }
    return TESS_OK;
}

static tess_status take_folds(tess_ar_setup *s)
{
    const int64_t n_epoch = s->epochs->info.n_epoch;
    int64_t n = 0;
    s->n_fold = s->config.n_fold;
    if (!tess_mul_i64(s->n_fold, n_epoch, &n)) {
        TESS_FAIL(TESS_E_SHAPE, "n_fold: %lld are too many", (long long)s->n_fold);
    }
    if (!s->config.folds && s->n_fold > n_epoch) {
        return tess_ar_contiguous_folds(n_epoch, s->n_fold, NULL);
    }
    s->folds = tess_blocks_alloc(&s->memory, n, 1, "folds");
    if (!s->folds) {
        return TESS_E_MEMORY;
    }
    if (s->config.folds) {
        memcpy(s->folds, s->config.folds, (size_t)n);
        return check_folds(s);
    }
    return tess_ar_contiguous_folds(n_epoch, s->n_fold, s->folds);
}

bool tess_ar_setup_predicts(const tess_ar_group *group)
{
    return tess_ar_type_is_predictable(group->type) && group->n_chan > 1;
}

bool tess_ar_setup_is_augmented(const tess_ar_setup *s, const tess_ar_group *group)
{
    return s->config.augment && (tess_ar_setup_predicts(group) || s->config.compat_types);
}

static tess_status check_groups(const tess_ar_setup *s)
{
    for (int64_t g = 0; g < s->n_group; g++) {
        const tess_ar_group *group = &s->groups[g];
        TESS_TRY(
            tess_ar_check_splits(s->epochs->info.n_epoch, tess_ar_setup_is_augmented(s, group)));
        if (tess_ar_type_is_predictable(group->type) &&
            (!s->thresholds_only || s->config.augment)) {
            TESS_TRY(tess_ar_check_positions(&s->epochs->sensors, group->channels, group->n_chan));
        }
    }
    return TESS_OK;
}

static tess_status check_config(const tess_autoreject_fit_config *config)
{
    TESS_TRY(tess_params_check(tess_autoreject_fit_params(), config));
    if (!(config->checkpoint_every_s >= 0)) {
        TESS_FAIL(TESS_E_RANGE, "checkpoint_every_s: must be 0 or more seconds");
    }
    if (config->resume && !config->checkpoint_dir) {
        TESS_FAIL(TESS_E_ARGUMENT, "resume: needs the checkpoint folder of the earlier run");
    }
    for (int i = 0; config->eeg_origin && i < 3; i++) {
        if (!isfinite(config->eeg_origin[i])) {
            TESS_FAIL(TESS_E_RANGE, "eeg_origin[%d]: %g; expected metres", i,
                      config->eeg_origin[i]);
        }
    }
    return TESS_OK;
}

static bool same_direction(const double *a, const double *b)
{
    const double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                             a[0] * b[1] - a[1] * b[0]};
    const double sine = sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]);
    const double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return cosine > 0 && sine < 1e-6 * cosine;
}

// Values of n_interpolate that can never be chosen for a type, where somebody gave them.
static void note_repairs(const tess_ar_setup *s, const tess_ar_group *group,
                         tess_autoreject_model *model)
{
    char list[128] = "";
    size_t used = 0;
    for (int64_t i = 0; s->config.n_interpolate && i < s->n_n_interpolate; i++) {
        if (s->n_interpolate[i] >= group->n_chan && used < sizeof list - 24) {
            const int n = snprintf(list + used, sizeof list - used, "%s%lld", used ? ", " : "",
                                   (long long)s->n_interpolate[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    if (used > 0) {
        tess_ar_model_warn(model, TESS_W_AUTOREJECT_SKIPPED,
                           "n_interpolate: %s is skipped for type %s, which has %lld channel%s: "
                           "only fewer than that can be repaired.",
                           list, tess_autoreject_type_name(group->type), (long long)group->n_chan,
                           group->n_chan == 1 ? "" : "s");
    }
}

static void note_alone(const tess_ar_setup *s, const tess_ar_group *group,
                       tess_autoreject_model *model)
{
    if (group->n_chan == 1 && tess_ar_type_is_predictable(group->type)) {
        tess_ar_model_note(model,
                           "There is a single %s channel, and nothing to predict it from: its "
                           "threshold is found %s, and it cannot be repaired.",
                           tess_autoreject_type_name(group->type),
                           s->config.augment && s->config.compat_types
                               ? "with predictions of zero, as in the original"
                               : "without augmentation");
    }
}

// Two electrodes in one place: allowed, but seldom meant.
static void note_same_places(const tess_ar_setup *s, const tess_ar_group *group,
                             tess_autoreject_model *model)
{
    const tess_autoreject_channel *channels = s->epochs->sensors.channels;
    int64_t n_pair = 0;
    int64_t first[2] = {0, 0};
    for (int64_t i = 0; group->type == TESS_AUTOREJECT_EEG && i < group->n_chan; i++) {
        for (int64_t k = i + 1; k < group->n_chan; k++) {
            if (same_direction(channels[group->channels[i]].loc,
                               channels[group->channels[k]].loc) &&
                n_pair++ == 0) {
                first[0] = group->channels[i];
                first[1] = group->channels[k];
            }
        }
    }
    if (n_pair > 0) {
        tess_ar_model_warn(model, TESS_W_AUTOREJECT_SAME_PLACE,
                           "Channels '%s' and '%s' are in the same place%s.",
                           channels[first[0]].name, channels[first[1]].name,
                           n_pair > 1 ? ", and so are others" : "");
    }
}

static void note_setup(const tess_ar_setup *s, tess_autoreject_model *model)
{
    int64_t n_bad = 0;
    for (int64_t c = 0; c < s->epochs->sensors.n_chan; c++) {
        n_bad += s->epochs->sensors.channels[c].is_bad != 0;
    }
    for (int64_t i = 0; i < s->n_pick; i++) {
        n_bad -= s->epochs->sensors.channels[s->picks[i]].is_bad != 0;
    }
    if (n_bad > 0) {
        tess_ar_model_note(model,
                           "%lld channels are marked as bad. These will be ignored. If you want "
                           "them to be considered, unmark them or pick them by name.",
                           (long long)n_bad);
    }
    for (int64_t g = 0; g < s->n_group; g++) {
        const tess_ar_group *group = &s->groups[g];
        note_same_places(s, group, model);
        note_repairs(s, group, model);
        note_alone(s, group, model);
        if (!tess_ar_type_is_predictable(group->type)) {
            tess_ar_model_note(
                model, "Channels of type %s cannot be predicted from each other: %s.",
                tess_autoreject_type_name(group->type),
                s->config.compat_types
                    ? "as in the original, those labelled as interpolated are left as they are"
                    : "their thresholds are found without augmentation, and bad ones stay bad");
        }
    }
}

static tess_status choose_device(tess_ar_setup *s)
{
    // Those of the repairer are not among them: weights are small matrices, made on the CPU.
    static const int32_t stages[] = {TESS_STAGE_AUTOREJECT_VOTES,   TESS_STAGE_AUTOREJECT_REPAIR,
                                     TESS_STAGE_AUTOREJECT_LOCAL,   TESS_STAGE_AUTOREJECT_INTAKE,
                                     TESS_STAGE_AUTOREJECT_AUGMENT, TESS_STAGE_AUTOREJECT_CURVE};
    enum { N_STAGE = sizeof stages / sizeof *stages, N_LOCAL = 3 };
    const int64_t first = s->thresholds_only ? N_LOCAL : 0;
    const char *what = s->thresholds_only ? "search for thresholds" : "fit";
    TESS_TRY(tess_group_refuse(s->ctx, what));
    return tess_stage_choose(s->ctx, stages + first, N_STAGE - first, what, &s->device);
}

static tess_status make(tess_ar_setup *s, const tess_autoreject_fit_config *config)
{
    TESS_TRY(choose_device(s));
    tess_autoreject_fit_config_init(&s->config, sizeof s->config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &s->config, sizeof s->config, "config"));
    }
    TESS_TRY(check_config(&s->config));
    if (s->config.n_split == 0 && s->thresholds_only) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "n_split: 0 looks for a number by consensus and n_interpolate, which thresholds "
                  "alone do not have; give a number, such as 100");
    }
    if (s->config.n_split == 0) { // of a plan: the most there may be
        s->config.n_split = TESS_AR_MOST_SPLITS;
    }
    TESS_TRY(take_picks(s));
    TESS_TRY(check_counts(s));
    if (!s->thresholds_only) {
        TESS_TRY(take_consensus(s));
        TESS_TRY(take_n_interpolate(s));
        TESS_TRY(take_folds(s));
    }
    return check_groups(s);
}

tess_status tess_ar_setup_make(tess_context *ctx, tess_autoreject_epochs *epochs,
                               const tess_autoreject_fit_config *config, bool thresholds_only,
                               tess_autoreject_model *model, tess_ar_setup *setup)
{
    *setup = (tess_ar_setup){.ctx = ctx, .epochs = epochs, .thresholds_only = thresholds_only};
    tess_blocks_init(&setup->memory, &ctx->heap);
    TESS_TRY(make(setup, config));
    if (model) {
        note_setup(setup, model);
    }
    return TESS_OK;
}

void tess_ar_setup_free(tess_ar_setup *setup)
{
    tess_blocks_free(&setup->memory);
}
