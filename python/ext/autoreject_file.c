// autoreject for Python: epochs of files, and repaired epochs into files.

#include "autoreject.h"

#include <math.h>

enum {
    OPEN_CONTEXT,
    OPEN_PATH,
    OPEN_OPTIONS,
    OPEN_BASELINE,
    OPEN_EVENTS,
    OPEN_EVENT,
    OPEN_STIM,
    OPEN_MONTAGE,
    OPEN_TYPES,
    OPEN_BADS,
    OPEN_DATASET,
    OPEN_COUNT
};

enum { BASELINE_NONE = 1, BASELINE_INTERVAL = 2 };

int autoreject_baseline(PyObject *value, tess_autoreject_epochs_config *config)
{
    PyObject *start = Py_None;
    PyObject *end = Py_None;
    if (!value) {
        return 0;
    }
    if (!PyArg_ParseTuple(value, "|OO:baseline", &start, &end)) {
        return -1;
    }
    config->baseline = PyTuple_Size(value) == 0 ? BASELINE_NONE : BASELINE_INTERVAL;
    config->baseline_start = -(double)INFINITY;
    config->baseline_end = (double)INFINITY;
    return core_to_real(start == Py_None ? NULL : start, &config->baseline_start) < 0 ||
                   core_to_real(end == Py_None ? NULL : end, &config->baseline_end) < 0
               ? -1
               : 0;
}

static int read_open(const core_state *state, PyObject *const *values, PyObject **events_bytes,
                     tess_autoreject_epochs_config *config)
{
    tess_autoreject_epochs_config_init(config, sizeof *config);
    if (core_to_config(state, values[OPEN_OPTIONS], tess_autoreject_epochs_params(), config) < 0 ||
        autoreject_baseline(values[OPEN_BASELINE], config) < 0 ||
        core_to_path(values[OPEN_EVENTS], events_bytes, &config->events) < 0 ||
        core_to_text(values[OPEN_EVENT], "event", &config->event) < 0 ||
        core_to_text(values[OPEN_STIM], "stim", &config->stim) < 0 ||
        core_to_text(values[OPEN_MONTAGE], "montage", &config->montage) < 0 ||
        core_to_text(values[OPEN_TYPES], "types", &config->types) < 0 ||
        core_to_text(values[OPEN_BADS], "bads", &config->bads) < 0 ||
        core_to_text(values[OPEN_DATASET], "dataset", &config->dataset) < 0) {
        return -1;
    }
    return 0;
}

static PyObject *epochs_open(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "path",  "options", "baseline",
                                        "events",  "event", "stim",    "montage",
                                        "types",   "bads",  "dataset"};
    static const core_signature signature = {"autoreject_epochs_open", names, OPEN_COUNT, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[OPEN_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[OPEN_CONTEXT]);
    PyObject *path_bytes = NULL;
    PyObject *events_bytes = NULL;
    const char *path = NULL;
    tess_autoreject_epochs_config config;
    core_handle *handle = NULL;
    core_call call;
    if (context && core_to_path(values[OPEN_PATH], &path_bytes, &path) == 0 &&
        read_open(state, values, &events_bytes, &config) == 0) {
        handle = core_handle_create(state, context, &core_epochs_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_autoreject_epochs *made = NULL;
        const tess_status status =
            tess_autoreject_epochs_open(context->handle, path, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(path_bytes);
    Py_XDECREF(events_bytes);
    return (PyObject *)handle;
}

static PyObject *transform(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "model",   "epochs",    "log",
                                        "path",    "options", "overwrite", "progress"};
    static const core_signature signature = {"autoreject_transform", names, 8, 6, 5};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[8];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_autoreject_model *model =
        context ? core_handle_get(state, values[1], &core_model_class) : NULL;
    tess_autoreject_epochs *epochs =
        model ? core_handle_get(state, values[2], &core_epochs_class) : NULL;
    const tess_autoreject_log *log =
        epochs ? core_handle_get(state, values[3], &core_log_class) : NULL;
    tess_autoreject_transform_config config;
    tess_autoreject_transform_config_init(&config, sizeof config);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    int64_t n_kept = 0;
    int result = -1;
    core_call call;
    if (log && core_to_config(state, values[5], tess_autoreject_transform_params(), &config) == 0 &&
        core_to_path(values[4], &path_bytes, &path) == 0 &&
        core_to_flag(values[6], &config.overwrite) == 0 &&
        core_call_begin(&call, state, context, values[7]) == 0) {
        const tess_status status = tess_autoreject_transform(context->handle, model, epochs, log,
                                                             &config, NULL, path, &n_kept);
        result = core_call_end(&call, status);
    }
    Py_XDECREF(path_bytes);
    return result < 0 ? NULL : PyLong_FromLongLong(n_kept);
}

PyMethodDef core_autoreject_file_methods[] = {
    {"autoreject_epochs_open", CORE_METHOD(epochs_open), METH_FASTCALL | METH_KEYWORDS,
     "Open epochs of a file; returns a Handle."},
    {"autoreject_transform", CORE_METHOD(transform), METH_FASTCALL | METH_KEYWORDS,
     "Write repaired epochs to a file; returns how many were kept."},
    {NULL, NULL, 0, NULL},
};
