// The parameter tables: the only place where a default is written.
#include "base/struct_read.h"
#include "tessera/autoreject.h"

#include <math.h>
#include <stddef.h>

#define FIELD(field) offsetof(CONFIG, field)

#define CONFIG tess_autoreject_epochs_config
static const tess_param epochs_params[] = {
    {"tmin", TESS_PARAM_REAL, FIELD(tmin), -0.2, -1e6, 1e6, NULL, "s",
     "start of an epoch relative to its event"},
    {"tmax", TESS_PARAM_REAL, FIELD(tmax), 0.5, -1e6, 1e6, NULL, "s",
     "end of an epoch relative to its event"},
    {"window", TESS_PARAM_REAL, FIELD(window), 0, 0, 1e6, NULL, "s",
     "length of windows cut one after another instead of events; 0 for events"},
    {"overlap", TESS_PARAM_REAL, FIELD(overlap), 0, 0, 1e6, NULL, "s",
     "overlap of neighbouring windows"},
    {"sampling_hz", TESS_PARAM_REAL, FIELD(sampling_hz), 0, 0, 1e9, NULL, "Hz",
     "sampling rate of files that do not say it"},
    {"keep_annotated", TESS_PARAM_FLAG, FIELD(keep_annotated), 0, 0, 1, NULL, "",
     "keep epochs that touch an annotation starting with bad"},
    {"proj", TESS_PARAM_FLAG, FIELD(proj), 1, 0, 1, NULL, "",
     "apply the projectors of the file, as MNE does when it reads one"},
};
#undef CONFIG

static const tess_param_table epochs_table = {"autoreject.epochs", epochs_params,
                                              sizeof epochs_params / sizeof *epochs_params};

const tess_param_table *tess_autoreject_epochs_params(void)
{
    return &epochs_table;
}

void tess_autoreject_epochs_config_init(tess_autoreject_epochs_config *config, size_t struct_size)
{
    tess_autoreject_epochs_config defaults = {0};
    tess_params_defaults(&epochs_table, &defaults);
    defaults.baseline_start = -(double)INFINITY;
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_fit_config
static const tess_param fit_params[] = {
    {"search", TESS_PARAM_CHOICE, FIELD(search), 0, 0, 3, "exact|compat|grid|random", "",
     "how thresholds are searched for: exactly over all candidates, as the original does by "
     "default (compat), over its 41 quantiles, or its random search"},
    {"rho_mode", TESS_PARAM_CHOICE, FIELD(rho_mode), 0, 0, 1, "independent|cumulative", "",
     "repairs of each n_interpolate by itself as published, or carried from one value to the next "
     "as the original does"},
    {"augment", TESS_PARAM_FLAG, FIELD(augment), 1, 0, 1, NULL, "",
     "let the threshold search also see every channel predicted from the others"},
    {"meg_dots", TESS_PARAM_CHOICE, FIELD(meg_dots), 0, 0, 1, "direct|table", "",
     "MEG field mapping by direct evaluation, or by the rounded table of MNE up to 1.12"},
    {"compat_types", TESS_PARAM_FLAG, FIELD(compat_types), 0, 0, 1, NULL, "",
     "treat hbo, hbr, ecog and seeg as the original does: augmented by a copy, labelled as "
     "interpolated without repair"},
    {"n_split", TESS_PARAM_INT, FIELD(n_split), 10, 0, 100000, NULL, "splits",
     "shuffle splits of the threshold search; 100 make thresholds nearly independent of the seed, "
     "0 doubles 10 until consensus and n_interpolate stay the same"},
    {"n_fold", TESS_PARAM_INT, FIELD(n_fold), 10, 2, 1000000, NULL, "folds",
     "folds of the search for consensus and n_interpolate"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 0, 0, 4294967295, NULL, "", "seed of the splits"},
};
#undef CONFIG

static const tess_param_table fit_table = {"autoreject.fit", fit_params,
                                           sizeof fit_params / sizeof *fit_params};

const tess_param_table *tess_autoreject_fit_params(void)
{
    return &fit_table;
}

void tess_autoreject_fit_config_init(tess_autoreject_fit_config *config, size_t struct_size)
{
    tess_autoreject_fit_config defaults = {0};
    tess_params_defaults(&fit_table, &defaults);
    defaults.checkpoint_every_s = 60;
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_interpolation_config
static const tess_param interpolation_params[] = {
    {"meg_dots", TESS_PARAM_CHOICE, FIELD(meg_dots), 0, 0, 1, "direct|table", "",
     "MEG field mapping by direct evaluation, or by the rounded table of MNE up to 1.12"},
    {"meg_accurate", TESS_PARAM_FLAG, FIELD(meg_accurate), 0, 0, 1, NULL, "",
     "99 terms of the MEG series instead of 49"},
    {"fitted_origin", TESS_PARAM_FLAG, FIELD(fitted_origin), 0, 0, 1, NULL, "",
     "take positions from the centre of a sphere fitted to the digitised points"},
};
#undef CONFIG

static const tess_param_table interpolation_table = {
    "autoreject.interpolation", interpolation_params,
    sizeof interpolation_params / sizeof *interpolation_params};

const tess_param_table *tess_autoreject_interpolation_params(void)
{
    return &interpolation_table;
}

void tess_autoreject_interpolation_config_init(tess_autoreject_interpolation_config *config,
                                               size_t struct_size)
{
    tess_autoreject_interpolation_config defaults = {0};
    tess_params_defaults(&interpolation_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_global_config
static const tess_param global_params[] = {
    {"search", TESS_PARAM_CHOICE, FIELD(search), 0, 0, 1, "exact|compat", "",
     "search all candidates, or the few the original looks at"},
    {"n_fold", TESS_PARAM_INT, FIELD(n_fold), 5, 2, 1000000, NULL, "folds", "contiguous folds"},
    {"decim", TESS_PARAM_INT, FIELD(decim), 1, 1, 1000000, NULL, "samples",
     "use every so many samples only"},
};
#undef CONFIG

static const tess_param_table global_table = {"autoreject.global", global_params,
                                              sizeof global_params / sizeof *global_params};

const tess_param_table *tess_autoreject_global_params(void)
{
    return &global_table;
}

void tess_autoreject_global_config_init(tess_autoreject_global_config *config, size_t struct_size)
{
    tess_autoreject_global_config defaults = {0};
    tess_params_defaults(&global_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_ransac_config
static const tess_param ransac_params[] = {
    {"meg_dots", TESS_PARAM_CHOICE, FIELD(meg_dots), 0, 0, 1, "direct|table", "",
     "MEG field mapping by direct evaluation, or by the rounded table of MNE up to 1.12"},
    {"n_resample", TESS_PARAM_INT, FIELD(n_resample), 50, 1, 100000, NULL, "subsets",
     "random subsets each channel is predicted from"},
    {"min_channels", TESS_PARAM_REAL, FIELD(min_channels), 0.25, 0, 1, NULL, "",
     "share of the channels in a subset"},
    {"min_corr", TESS_PARAM_REAL, FIELD(min_corr), 0.75, -1, 1, NULL, "",
     "smallest correlation with the prediction of a good channel"},
    {"unbroken_time", TESS_PARAM_REAL, FIELD(unbroken_time), 0.4, 0, 1, NULL, "",
     "share of the epochs a good channel may be bad in"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 435656, 0, 4294967295, NULL, "", "seed of the subsets"},
};
#undef CONFIG

static const tess_param_table ransac_table = {"autoreject.ransac", ransac_params,
                                              sizeof ransac_params / sizeof *ransac_params};

const tess_param_table *tess_autoreject_ransac_params(void)
{
    return &ransac_table;
}

void tess_autoreject_ransac_config_init(tess_autoreject_ransac_config *config, size_t struct_size)
{
    tess_autoreject_ransac_config defaults = {0};
    tess_params_defaults(&ransac_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_transform_config
static const tess_param transform_params[] = {
    {"keep_bad", TESS_PARAM_FLAG, FIELD(keep_bad), 0, 0, 1, NULL, "", "keep bad epochs"},
    {"drop_partial", TESS_PARAM_FLAG, FIELD(drop_partial), 0, 0, 1, NULL, "",
     "drop epochs that keep bad channels after repair, too"},
    {"double_precision", TESS_PARAM_FLAG, FIELD(double_precision), 0, 0, 1, NULL, "",
     "store samples of a FIF file in double precision"},
};
#undef CONFIG

static const tess_param_table transform_table = {
    "autoreject.transform", transform_params, sizeof transform_params / sizeof *transform_params};

const tess_param_table *tess_autoreject_transform_params(void)
{
    return &transform_table;
}

void tess_autoreject_transform_config_init(tess_autoreject_transform_config *config,
                                           size_t struct_size)
{
    tess_autoreject_transform_config defaults = {0};
    tess_params_defaults(&transform_table, &defaults);
    defaults.checkpoint_every_s = 60;
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_autoreject_report_config
static const tess_param report_params[] = {
    {"report_epochs", TESS_PARAM_INT, FIELD(n_trace), 200, 0, 1e9, NULL, "epochs",
     "epochs that a report shows sample by sample, the worst first"},
    {"report_size", TESS_PARAM_BYTES, FIELD(trace_bytes), 8 << 20, 0, 1e9, NULL, "bytes",
     "about how much of a report these may take"},
};
#undef CONFIG

static const tess_param_table report_table = {"autoreject.report", report_params,
                                              sizeof report_params / sizeof *report_params};

const tess_param_table *tess_autoreject_report_params(void)
{
    return &report_table;
}

void tess_autoreject_report_config_init(tess_autoreject_report_config *config, size_t struct_size)
{
    tess_autoreject_report_config defaults = {0};
    tess_params_defaults(&report_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
