// autoreject for Python: fits, and what they found.

#include "autoreject.h"

static void destroy(void *object)
{
    tess_autoreject_model_destroy(object);
}

const core_handle_class core_model_class = {"autoreject model", destroy};

enum {
    FIT_CONTEXT,
    FIT_EPOCHS,
    FIT_OPTIONS,
    FIT_PICKS,
    FIT_CONSENSUS,
    FIT_N_INTERPOLATE,
    FIT_FOLDS,
    FIT_ORIGIN,
    FIT_CHECKPOINT,
    FIT_CHECKPOINT_EVERY,
    FIT_THRESHOLDS_ONLY,
    FIT_PROGRESS,
    FIT_COUNT
};

static int read_fit(const core_state *state, PyObject *const *values, int64_t n_epoch,
                    PyObject *keep, PyObject **path, tess_autoreject_fit_config *config)
{
    tess_autoreject_fit_config_init(config, sizeof *config);
    int64_t n_fold = config->n_fold;
    if (core_to_config(state, values[FIT_OPTIONS], tess_autoreject_fit_params(), config) < 0 ||
        autoreject_indices(state, values[FIT_PICKS], "picks", keep, &config->picks,
                           &config->n_pick) < 0 ||
        core_reals(state, values[FIT_CONSENSUS], "consensus", 1, keep, &config->consensus,
                   &config->n_consensus) < 0 ||
        autoreject_indices(state, values[FIT_N_INTERPOLATE], "n_interpolate", keep,
                           &config->n_interpolate, &config->n_n_interpolate) < 0 ||
        autoreject_folds(state, values[FIT_FOLDS], n_epoch, keep, &config->folds, &n_fold) < 0 ||
        autoreject_origin(state, values[FIT_ORIGIN], keep, &config->eeg_origin) < 0 ||
        core_to_path(values[FIT_CHECKPOINT], path, &config->checkpoint_dir) < 0 ||
        core_to_real(values[FIT_CHECKPOINT_EVERY], &config->checkpoint_every_s) < 0) {
        return -1;
    }
    if (config->folds) {
        config->n_fold = n_fold;
    }
    config->resume = config->checkpoint_dir != NULL;
    return 0;
}

static PyObject *fit(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {
        "context",    "epochs",           "options",         "picks",
        "consensus",  "n_interpolate",    "folds",           "origin",
        "checkpoint", "checkpoint_every", "thresholds_only", "progress"};
    static const core_signature signature = {"autoreject_fit", names, FIT_COUNT, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[FIT_COUNT];
    int32_t thresholds_only = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[FIT_THRESHOLDS_ONLY], &thresholds_only) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[FIT_CONTEXT]);
    tess_autoreject_epochs *epochs =
        context ? core_handle_get(state, values[FIT_EPOCHS], &core_epochs_class) : NULL;
    PyObject *keep = epochs ? PyList_New(0) : NULL;
    PyObject *path = NULL;
    tess_autoreject_fit_config config;
    core_handle *handle = NULL;
    core_call call;
    if (keep && read_fit(state, values, tess_autoreject_epochs_get_info(epochs)->n_epoch, keep,
                         &path, &config) == 0) {
        handle = core_handle_create(state, context, &core_model_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[FIT_PROGRESS]) == 0) {
        tess_autoreject_model *made = NULL;
        const tess_status status =
            thresholds_only ? tess_autoreject_thresholds(context->handle, epochs, &config, &made)
                            : tess_autoreject_fit(context->handle, epochs, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(keep);
    Py_XDECREF(path);
    return (PyObject *)handle;
}

static int64_t sum_of(const int64_t *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts && i < n; i++) {
        sum += counts[i];
    }
    return sum;
}

static PyObject *type_dict(const core_state *state, PyObject *owner,
                           const tess_autoreject_model_info *info,
                           const tess_autoreject_type_fit *fit)
{
    const int64_t n = fit->n_chan;
    const int64_t n_all = sum_of(fit->n_candidate, n);
    const int64_t loss_shape[3] = {info->n_consensus, info->n_n_interpolate, info->n_fold};
    PyObject *dict = Py_BuildValue(
        "{sssLsLsdsL}", "type", tess_autoreject_type_name(fit->type), "consensus_index",
        (long long)fit->consensus_index, "n_interpolate_index", (long long)fit->n_interpolate_index,
        "consensus", fit->consensus, "n_interpolate", (long long)fit->n_interpolate);
    if (dict &&
        (core_put(dict, "channels", core_show_ints(state, owner, fit->channels, n, -1)) < 0 ||
         core_put(dict, "thresholds", core_show_reals(state, owner, fit->thresholds, n, -1)) < 0 ||
         core_put(dict, "standard_errors",
                  core_show_reals(state, owner, fit->standard_errors, n, -1)) < 0 ||
         core_put(dict, "objectives", core_show_reals(state, owner, fit->objectives, n, -1)) < 0 ||
         core_put(dict, "n_candidate", core_show_ints(state, owner, fit->n_candidate, n, -1)) < 0 ||
         core_put(dict, "candidates", core_show_reals(state, owner, fit->candidates, n_all, -1)) <
             0 ||
         core_put(dict, "candidate_objectives",
                  core_show_reals(state, owner, fit->candidate_objectives, n_all, -1)) < 0 ||
         core_put(dict, "loss", core_array_show(state, owner, TESS_F64, 3, loss_shape, fit->loss)) <
             0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *type_list(const core_state *state, PyObject *owner,
                           const tess_autoreject_model_info *info)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < info->n_type; i++) {
        PyObject *entry = type_dict(state, owner, info, &info->types[i]);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *model_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_autoreject_model *model = core_handle_get(state, value, &core_model_class);
    if (!model) {
        return NULL;
    }
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(model);
    PyObject *dict =
        Py_BuildValue("{sisisisisisLsLsLsLsLsdsNss}", "search", (int)info->search, "rho_mode",
                      (int)info->rho_mode, "augment", (int)info->augment, "meg_dots",
                      (int)info->meg_dots, "compat_types", (int)info->compat_types, "seed",
                      (long long)info->seed, "n_split", (long long)info->n_split, "n_fold",
                      (long long)info->n_fold, "n_epoch", (long long)info->n_epoch, "n_time",
                      (long long)info->n_time, "sampling_hz", info->sampling_hz, "notes",
                      core_text(info->notes), "tessera_version", info->tessera_version);
    if (dict &&
        (core_put(dict, "origin", core_show_reals(state, value, info->eeg_origin, 3, -1)) < 0 ||
         core_put(dict, "seconds",
                  Py_BuildValue("[dddd]", info->seconds[0], info->seconds[1], info->seconds[2],
                                info->seconds[3])) < 0 ||
         core_put(dict, "channel_names", autoreject_text_list(info->channel_names, info->n_chan)) <
             0 ||
         core_put(dict, "picks", core_show_ints(state, value, info->picks, info->n_pick, -1)) < 0 ||
         core_put(dict, "consensus",
                  core_show_reals(state, value, info->consensus, info->n_consensus, -1)) < 0 ||
         core_put(dict, "n_interpolate",
                  core_show_ints(state, value, info->n_interpolate, info->n_n_interpolate, -1)) <
             0 ||
         core_put(dict, "types", type_list(state, value, info)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

PyMethodDef core_autoreject_fit_methods[] = {
    {"autoreject_fit", CORE_METHOD(fit), METH_FASTCALL | METH_KEYWORDS,
     "Fit epochs, or find thresholds alone; returns a Handle."},
    {"autoreject_model_info", model_info, METH_O, "What a fit found."},
    {NULL, NULL, 0, NULL},
};
