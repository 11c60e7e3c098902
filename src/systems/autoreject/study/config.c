#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/files/recording.h"
#include "systems/autoreject/study/study.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FIELD(field) offsetof(tess_autoreject_study_config, field)
static const tess_param study_params[] = {
    {"with_reports", TESS_PARAM_FLAG, FIELD(with_reports), 1, 0, 1, NULL, "",
     "write a page for each recording"},
    {"at_a_time", TESS_PARAM_INT, FIELD(n_at_a_time), 0, 0, 4096, NULL, "recordings",
     "recordings worked on at a time; 0 for as many as threads and memory allow"},
    {"outlier_z", TESS_PARAM_REAL, FIELD(outlier_z), 3.5, 0.5, 1000, NULL, "",
     "robust z beyond which a recording or a sensor is named as an outlier"},
};

static const tess_param_table study_table = {"autoreject.study", study_params,
                                             sizeof study_params / sizeof *study_params};

const tess_param_table *tess_autoreject_study_params(void)
{
    return &study_table;
}

void tess_autoreject_study_config_init(tess_autoreject_study_config *config, size_t struct_size)
{
    tess_autoreject_study_config defaults = {0};
    tess_params_defaults(&study_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status copy_texts(tess_autoreject_study *s)
{
    const char **const texts[] = {
        &s->config.subjects, &s->config.sessions,     &s->config.tasks,       &s->config.runs,
        &s->config.picks,    &s->config.acquisitions, &s->config.datatypes,   &s->epochs.events,
        &s->epochs.event,    &s->epochs.stim,         &s->epochs.montage,     &s->epochs.types,
        &s->epochs.bads,     &s->epochs.dataset,      &s->fit.checkpoint_dir, &s->report.use_log};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *given = *texts[i];
        *texts[i] = tess_ar_study_text(s, given);
        if (given && !*texts[i]) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

static tess_status copy_grids(tess_autoreject_study *s)
{
    tess_autoreject_fit_config *f = &s->fit;
    const double *origin = f->eeg_origin;
    if (f->consensus) {
        f->consensus = tess_blocks_copy(&s->memory, f->consensus, f->n_consensus,
                                        sizeof *f->consensus, "consensus");
    }
    if (f->n_interpolate) {
        f->n_interpolate = tess_blocks_copy(&s->memory, f->n_interpolate, f->n_n_interpolate,
                                            sizeof *f->n_interpolate, "n_interpolate");
    }
    if (origin) {
        f->eeg_origin = tess_blocks_copy(&s->memory, origin, 3, sizeof *origin, "eeg_origin");
    }
    const bool is_lost = (f->n_consensus > 0 && !f->consensus) ||
                         (f->n_n_interpolate > 0 && !f->n_interpolate) ||
                         (origin && !f->eeg_origin);
    return is_lost ? TESS_E_MEMORY : TESS_OK;
}

// What fails with every recording fails once, before anything is written.
static tess_status check_fit(const tess_autoreject_fit_config *f)
{
    for (int64_t i = 0; f->consensus && i < f->n_consensus; i++) {
        if (!(f->consensus[i] >= 0 && f->consensus[i] <= 1)) {
            TESS_FAIL(TESS_E_RANGE, "--consensus: %g; expected 0 to 1, a share of the channels",
                      f->consensus[i]);
        }
    }
    for (int64_t i = 0; f->n_interpolate && i < f->n_n_interpolate; i++) {
        if (f->n_interpolate[i] < 0) {
            TESS_FAIL(TESS_E_RANGE, "--n-interpolate: %lld; expected 0 or more channels",
                      (long long)f->n_interpolate[i]);
        }
    }
    return TESS_OK;
}

// Of the recordings, whether some may hold epochs already, which no option of times is for.
static bool may_hold_epochs(const tess_autoreject_study *s)
{
    bool may = false;
    for (int64_t i = 0; i < s->n; i++) {
        const char *dot = strrchr(s->recordings[i].path, '.');
        may = may || (dot && (strcasecmp(dot, ".fif") == 0 || strcasecmp(dot, ".set") == 0));
    }
    return may;
}

tess_status tess_ar_study_check_baseline(const tess_autoreject_study *s)
{
    // Their rates are not known yet: a sample more than the end, which may be half a sample off,
    // at 10 Hz.
    const double slack = 0.15;
    const tess_autoreject_epochs_config *e = &s->epochs;
    if (e->baseline != TESS_AR_BASELINE_INTERVAL || may_hold_epochs(s)) {
        return TESS_OK;
    }
    const double first = e->window > 0 ? 0 : e->tmin;
    const double last = e->window > 0 ? e->window : e->tmax;
    const double start = isfinite(e->baseline_start) ? e->baseline_start : first;
    const double end = isfinite(e->baseline_end) ? e->baseline_end : last;
    if (start < first - slack || start > last + slack || end < first - slack ||
        end > last + slack) {
        TESS_FAIL(TESS_E_RANGE,
                  "--baseline: %g to %g s reaches out of epochs that last from %g to %g s (%s); "
                  "give times within them, leave an end open (--baseline ,0) or take none "
                  "(--baseline none)",
                  e->baseline_start, e->baseline_end, first, last,
                  e->window > 0 ? "--window" : "--tmin, --tmax");
    }
    return TESS_OK;
}

static tess_status check(const tess_autoreject_study *s)
{
    TESS_TRY(tess_ar_check_epochs_config(&s->epochs));
    TESS_TRY(tess_ar_check_window(&s->epochs));
    TESS_TRY(check_fit(&s->fit));
    if (s->fit.picks || s->fit.folds) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "fit.picks, fit.folds: recordings differ in channels and epochs; "
                  "give picks as text, and the number of folds");
    }
    if (s->epochs.events) {
        TESS_FAIL(TESS_E_ARGUMENT, "epochs.events: one file of events cannot serve all recordings; "
                                   "events come from the events.tsv of each");
    }
    if (s->transform.keep_bad && s->transform.drop_partial) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "keep_bad keeps every epoch and drop_partial drops some that are "
                  "good: give one of them");
    }
    return TESS_OK;
}

tess_status tess_ar_study_configure(tess_autoreject_study *s,
                                    const tess_autoreject_study_config *given)
{
    tess_autoreject_study_config *config = &s->config;
    tess_autoreject_study_config_init(config, sizeof *config);
    tess_autoreject_epochs_config_init(&s->epochs, sizeof s->epochs);
    tess_autoreject_fit_config_init(&s->fit, sizeof s->fit);
    tess_autoreject_transform_config_init(&s->transform, sizeof s->transform);
    tess_autoreject_report_config_init(&s->report, sizeof s->report);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    const struct {
        const void *given;
        void *own;
        size_t bytes;
        const tess_param_table *table;
        const char *name;
    } parts[] = {{config->epochs, &s->epochs, sizeof s->epochs, tess_autoreject_epochs_params(),
                  "config.epochs"},
                 {config->fit, &s->fit, sizeof s->fit, tess_autoreject_fit_params(), "config.fit"},
                 {config->transform, &s->transform, sizeof s->transform,
                  tess_autoreject_transform_params(), "config.transform"},
                 {config->report, &s->report, sizeof s->report, tess_autoreject_report_params(),
                  "config.report"}};
    TESS_TRY(tess_params_check(&study_table, config));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].given) {
            TESS_TRY(tess_struct_read(parts[i].given, parts[i].own, parts[i].bytes, parts[i].name));
        }
        TESS_TRY(tess_params_check(parts[i].table, parts[i].own));
    }
    TESS_TRY(check(s));
    config->epochs = &s->epochs;
    config->fit = &s->fit;
    config->transform = &s->transform;
    config->report = &s->report;
    TESS_TRY(copy_texts(s));
    return copy_grids(s);
}
