// autoreject for Python: reject logs.

#include "autoreject.h"

#include <string.h>

static void destroy(void *object)
{
    tess_autoreject_log_destroy(object);
}

const core_handle_class core_log_class = {"autoreject log", destroy};

static PyObject *log_compute(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "model", "epochs", "progress"};
    static const core_signature signature = {"autoreject_log", names, 4, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_autoreject_model *model =
        context ? core_handle_get(state, values[1], &core_model_class) : NULL;
    tess_autoreject_epochs *epochs =
        model ? core_handle_get(state, values[2], &core_epochs_class) : NULL;
    core_handle *handle = epochs ? core_handle_create(state, context, &core_log_class, NULL) : NULL;
    core_call call;
    if (core_handle_begin(&handle, &call, state, values[3]) == 0) {
        tess_autoreject_log *made = NULL;
        const tess_status status =
            tess_autoreject_log_compute(context->handle, model, epochs, &made);
        core_handle_end(&handle, &call, made, status);
    }
    return (PyObject *)handle;
}

static int read_log(const core_state *state, PyObject *const *values, PyObject *keep,
                    const char ***names, tess_autoreject_log_info *info)
{
    const void *labels = NULL;
    const void *bad_epochs = NULL;
    int64_t shape[2];
    int64_t n_bad = 0;
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    info->notes = "";
    if (core_view(state, values[1], "labels", TESS_I8, 2, keep, &labels, shape) < 0 ||
        core_view(state, values[2], "bad_epochs", TESS_U8, 1, keep, &bad_epochs, &n_bad) < 0 ||
        autoreject_texts(values[3], "channel_names", names, &info->n_chan) < 0) {
        return -1;
    }
    if (n_bad != shape[0] || info->n_chan != shape[1]) {
        core_fail(state, TESS_E_SHAPE,
                  "labels: expected %lld epochs and %lld channels, got %lld and %lld",
                  (long long)n_bad, (long long)info->n_chan, (long long)shape[0],
                  (long long)shape[1]);
        return -1;
    }
    info->n_epoch = n_bad;
    info->channel_names = *names;
    info->labels = labels;
    info->bad_epochs = bad_epochs;
    return 0;
}

static PyObject *log_create(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"context", "labels", "bad_epochs", "channel_names"};
    static const core_signature signature = {"autoreject_log_create", names, 4, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    const char **channel_names = NULL;
    tess_autoreject_log_info info;
    core_handle *handle = NULL;
    core_call call;
    if (keep && read_log(state, values, keep, &channel_names, &info) == 0) {
        handle = core_handle_create(state, context, &core_log_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_autoreject_log *made = NULL;
        const tess_status status = tess_autoreject_log_create(context->handle, &info, &made);
        core_handle_end(&handle, &call, made, status);
    }
    PyMem_Free(channel_names);
    Py_XDECREF(keep);
    return (PyObject *)handle;
}

static PyObject *log_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_autoreject_log *log = core_handle_get(state, value, &core_log_class);
    PyObject *dict = log ? PyDict_New() : NULL;
    if (!dict) {
        return NULL;
    }
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    const int64_t shape[2] = {info->n_epoch, info->n_chan};
    if (core_put(dict, "labels", core_array_show(state, value, TESS_I8, 2, shape, info->labels)) <
            0 ||
        core_put(dict, "bad_epochs",
                 core_show_mask(state, value, info->bad_epochs, info->n_epoch)) < 0 ||
        core_put(dict, "channel_names", autoreject_text_list(info->channel_names, info->n_chan)) <
            0 ||
        core_put(dict, "notes", core_text(info->notes)) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

PyMethodDef core_autoreject_log_methods[] = {
    {"autoreject_log", CORE_METHOD(log_compute), METH_FASTCALL | METH_KEYWORDS,
     "The reject log of epochs; returns a Handle."},
    {"autoreject_log_create", CORE_METHOD(log_create), METH_FASTCALL | METH_KEYWORDS,
     "A reject log from a table; returns a Handle."},
    {"autoreject_log_info", log_info, METH_O, "What a reject log holds."},
    {NULL, NULL, 0, NULL},
};
