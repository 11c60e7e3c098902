// autoreject for Python: models from parts, and in files.

#include "autoreject.h"

#include <string.h>

static int64_t sum_of(const int64_t *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += counts[i];
    }
    return sum;
}

// One type of a model: type, channels, thresholds, consensus, n_interpolate and, where there,
// standard_errors, objectives, n_candidate, candidates, candidate_objectives, loss.
static int read_type(const core_state *state, PyObject *dict, PyObject *keep,
                     const tess_autoreject_model_info *info, tess_autoreject_type_fit *fit)
{
    const char *type = NULL;
    int64_t n[6] = {0};
    int64_t loss_shape[3];
    const void *loss = NULL;
    fit->struct_size = sizeof *fit;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "types: expected dicts");
        return -1;
    }
    if (core_to_text(autoreject_entry(dict, "type"), "type", &type) < 0 ||
        core_to_real(autoreject_entry(dict, "consensus"), &fit->consensus) < 0 ||
        core_to_int(state, autoreject_entry(dict, "consensus_index"), "consensus_index", -1,
                    INT64_MAX, &fit->consensus_index) < 0 ||
        core_to_int(state, autoreject_entry(dict, "n_interpolate_index"), "n_interpolate_index", -1,
                    INT64_MAX, &fit->n_interpolate_index) < 0 ||
        core_to_int(state, autoreject_entry(dict, "n_interpolate"), "n_interpolate", 0, INT64_MAX,
                    &fit->n_interpolate) < 0 ||
        autoreject_indices(state, autoreject_entry(dict, "channels"), "channels", keep,
                           &fit->channels, &fit->n_chan) < 0 ||
        core_reals(state, autoreject_entry(dict, "thresholds"), "thresholds", 1, keep,
                   &fit->thresholds, &n[0]) < 0 ||
        core_reals(state, autoreject_entry(dict, "standard_errors"), "standard_errors", 1, keep,
                   &fit->standard_errors, &n[1]) < 0 ||
        core_reals(state, autoreject_entry(dict, "objectives"), "objectives", 1, keep,
                   &fit->objectives, &n[2]) < 0 ||
        autoreject_indices(state, autoreject_entry(dict, "n_candidate"), "n_candidate", keep,
                           &fit->n_candidate, &n[3]) < 0 ||
        core_reals(state, autoreject_entry(dict, "candidates"), "candidates", 1, keep,
                   &fit->candidates, &n[4]) < 0 ||
        core_reals(state, autoreject_entry(dict, "candidate_objectives"), "candidate_objectives", 1,
                   keep, &fit->candidate_objectives, &n[5]) < 0 ||
        core_view(state, autoreject_entry(dict, "loss"), "loss", TESS_F64, 3, keep, &loss,
                  loss_shape) < 0) {
        return -1;
    }
    fit->loss = loss;
    fit->type = type ? tess_autoreject_type_find(type) : -1;
    if (fit->type < 0 || n[0] != fit->n_chan || (fit->standard_errors && n[1] != fit->n_chan) ||
        (fit->objectives && n[2] != fit->n_chan) || (fit->n_candidate && n[3] != fit->n_chan) ||
        n[4] != n[5] || sum_of(fit->n_candidate, n[3]) != n[4] ||
        (loss && (loss_shape[0] != info->n_consensus || loss_shape[1] != info->n_n_interpolate ||
                  loss_shape[2] != info->n_fold))) {
        core_fail(state, TESS_E_SHAPE, "types: an unknown type, or arrays of different lengths");
        return -1;
    }
    return 0;
}

static int read_types(const core_state *state, PyObject *list, PyObject *keep,
                      tess_autoreject_model_info *info)
{
    const Py_ssize_t n = list && PyList_Check(list) ? PyList_Size(list) : 0;
    tess_autoreject_type_fit *types = PyMem_Calloc((size_t)n + 1, sizeof *types);
    info->types = types;
    info->n_type = n;
    if (!types) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (read_type(state, PyList_GetItem(list, i), keep, info, &types[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_ints(const core_state *state, PyObject *dict, tess_autoreject_model_info *info)
{
    const struct {
        const char *name;
        int32_t *small;
        int64_t *large;
    } rows[] = {
        {"search", &info->search, NULL},
        {"rho_mode", &info->rho_mode, NULL},
        {"augment", &info->augment, NULL},
        {"meg_dots", &info->meg_dots, NULL},
        {"compat_types", &info->compat_types, NULL},
        {"seed", NULL, &info->seed},
        {"n_split", NULL, &info->n_split},
        {"n_fold", NULL, &info->n_fold},
        {"n_epoch", NULL, &info->n_epoch},
        {"n_time", NULL, &info->n_time},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        if (core_to_int(state, autoreject_entry(dict, rows[i].name), rows[i].name, 0,
                        rows[i].small ? INT32_MAX : INT64_MAX, &value) < 0) {
            return -1;
        }
        if (rows[i].small) {
            *rows[i].small = (int32_t)value;
        } else {
            *rows[i].large = value;
        }
    }
    return 0;
}

static int read_seconds(PyObject *list, double *seconds)
{
    for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_Size(list) && i < 4; i++) {
        if (core_to_real(PyList_GetItem(list, i), &seconds[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_parts(const core_state *state, PyObject *dict, PyObject *keep,
                      const char ***channel_names, tess_autoreject_model_info *info)
{
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    info->notes = "";
    info->tessera_version = TESS_VERSION;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "parts: expected a dict");
        return -1;
    }
    if (autoreject_texts(autoreject_entry(dict, "channel_names"), "channel_names", channel_names,
                         &info->n_chan) < 0 ||
        read_ints(state, dict, info) < 0 ||
        core_to_real(autoreject_entry(dict, "sampling_hz"), &info->sampling_hz) < 0 ||
        autoreject_indices(state, autoreject_entry(dict, "picks"), "picks", keep, &info->picks,
                           &info->n_pick) < 0 ||
        core_reals(state, autoreject_entry(dict, "consensus"), "consensus", 1, keep,
                   &info->consensus, &info->n_consensus) < 0 ||
        autoreject_indices(state, autoreject_entry(dict, "n_interpolate"), "n_interpolate", keep,
                           &info->n_interpolate, &info->n_n_interpolate) < 0 ||
        autoreject_origin(state, autoreject_entry(dict, "origin"), keep, &info->eeg_origin) < 0 ||
        read_seconds(autoreject_entry(dict, "seconds"), info->seconds) < 0) {
        return -1;
    }
    info->channel_names = *channel_names;
    return read_types(state, autoreject_entry(dict, "types"), keep, info);
}

static PyObject *model(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    static const char *const names[] = {"context", "parts"};
    static const core_signature signature = {"autoreject_model", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    tess_autoreject_model_info info = {0};
    const char **channel_names = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (keep && read_parts(state, values[1], keep, &channel_names, &info) == 0) {
        handle = core_handle_create(state, context, &core_model_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_autoreject_model *made = NULL;
        const tess_status status = tess_autoreject_model_create(context->handle, &info, &made);
        core_handle_end(&handle, &call, made, status);
    }
    PyMem_Free((void *)(uintptr_t)info.types);
    PyMem_Free(channel_names);
    Py_XDECREF(keep);
    return (PyObject *)handle;
}

static tess_status save_model(tess_context *ctx, const void *object, const char *path,
                              int overwrite)
{
    return tess_autoreject_model_save(ctx, object, path, overwrite);
}

static PyObject *model_save(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"context", "model", "path", "overwrite"};
    static const core_saver saver = {
        {"autoreject_model_save", names, 4, 3, 3}, &core_model_class, save_model};
    return core_handle_save(module, args, n_arg, keywords, &saver);
}

static PyObject *model_load(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"context", "path"};
    static const core_signature signature = {"autoreject_model_load", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (context && core_to_path(values[1], &path_bytes, &path) == 0) {
        handle = core_handle_create(state, context, &core_model_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_autoreject_model *made = NULL;
        const tess_status status = tess_autoreject_model_load(context->handle, path, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(path_bytes);
    return (PyObject *)handle;
}

PyMethodDef core_autoreject_model_methods[] = {
    {"autoreject_model", CORE_METHOD(model), METH_FASTCALL | METH_KEYWORDS,
     "A model from parts; returns a Handle."},
    {"autoreject_model_save", CORE_METHOD(model_save), METH_FASTCALL | METH_KEYWORDS,
     "Write a model to a JSON file."},
    {"autoreject_model_load", CORE_METHOD(model_load), METH_FASTCALL | METH_KEYWORDS,
     "Read a model from a JSON file; returns a Handle."},
    {NULL, NULL, 0, NULL},
};
