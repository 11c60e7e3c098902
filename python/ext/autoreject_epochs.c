// autoreject for Python: epochs over arrays and files.

#include "autoreject.h"

#include <string.h>

static void destroy(void *object)
{
    tess_autoreject_epochs_close(object);
}

const core_handle_class core_epochs_class = {"autoreject epochs", destroy};

static PyObject *epochs(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "x", "sensors", "sampling_hz", "tmin"};
    static const core_signature signature = {"autoreject_epochs", names, 5, 5, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    double sampling_hz = 0;
    double tmin = 0;
    if (!context || core_to_real(values[3], &sampling_hz) < 0 || core_to_real(values[4], &tmin)) {
        return NULL;
    }
    core_array *x = core_array_from(state, values[1], "x", 0);
    autoreject_sensors sensors = {0};
    core_handle *handle = NULL;
    core_call call;
    if (x && autoreject_sensors_init(state, values[2], &sensors) == 0) {
        handle = core_handle_create(state, context, &core_epochs_class, (PyObject *)x);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_autoreject_epochs *made = NULL;
        const tess_status status = tess_autoreject_epochs_from_array(
            context->handle, &x->view, &sensors.sensors, NULL, sampling_hz, tmin, &made);
        core_handle_end(&handle, &call, made, status);
    }
    autoreject_sensors_free(&sensors);
    Py_XDECREF((PyObject *)x);
    return (PyObject *)handle;
}

static PyObject *events_array(const core_state *state, PyObject *owner,
                              const tess_autoreject_epochs_info *info)
{
    const int64_t shape[2] = {info->n_epoch, 3};
    return core_array_show(state, owner, TESS_I32, 2, shape, info->events);
}

static PyObject *epochs_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_autoreject_epochs *object = core_handle_get(state, value, &core_epochs_class);
    if (!object) {
        return NULL;
    }
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(object);
    PyObject *dict = Py_BuildValue(
        "{sLsLsdsdsNsNsN}", "n_epoch", (long long)info->n_epoch, "n_time", (long long)info->n_time,
        "sampling_hz", info->sampling_hz, "tmin", info->tmin, "path", core_text(info->path),
        "format", core_text(info->format), "notes", core_text(info->notes));
    if (dict && (core_put(dict, "sensors", autoreject_sensors_dict(state, info->sensors)) < 0 ||
                 core_put(dict, "events", events_array(state, value, info)) < 0 ||
                 core_put(dict, "selection",
                          core_show_ints(state, value, info->selection, info->n_epoch, -1)) < 0 ||
                 core_put(dict, "drop_log",
                          autoreject_text_list(info->drop_log,
                                               info->drop_log ? info->n_original : 0)) < 0 ||
                 core_put(dict, "event_names",
                          autoreject_text_list(info->event_names, info->n_event_name)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *epochs_read(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "epochs", "first", "count", "channels"};
    static const core_signature signature = {"autoreject_epochs_read", names, 5, 5, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_autoreject_epochs *object =
        context ? core_handle_get(state, values[1], &core_epochs_class) : NULL;
    PyObject *keep = object ? PyList_New(0) : NULL;
    const int64_t *channels = NULL;
    int64_t n_channel = 0;
    int64_t first = 0;
    int64_t count = 0;
    core_array *out = NULL;
    if (keep && core_to_int(state, values[2], "first", 0, INT64_MAX, &first) == 0 &&
        core_to_int(state, values[3], "count", 0, INT64_MAX, &count) == 0 &&
        autoreject_indices(state, values[4], "channels", keep, &channels, &n_channel) == 0) {
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(object);
        const int64_t shape[3] = {count, channels ? n_channel : info->sensors->n_chan,
                                  info->n_time};
        out = core_array_create(state, TESS_F64, 8, 3, shape);
    }
    core_call call;
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_autoreject_epochs_read(
            context->handle, object, first, count, channels, n_channel, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF(keep);
    return (PyObject *)out;
}

static PyObject *picks(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    static const char *const names[] = {"epochs", "text"};
    static const core_signature signature = {"autoreject_picks", names, 2, 2, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    const char *text = NULL;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_text(values[1], "picks", &text) < 0) {
        return NULL;
    }
    const tess_autoreject_epochs *object = core_handle_get(state, values[0], &core_epochs_class);
    if (!object) {
        return NULL;
    }
    int64_t n = tess_autoreject_epochs_get_info(object)->sensors->n_chan;
    int64_t *found = PyMem_Calloc((size_t)n + 1, sizeof *found);
    if (!found) {
        return PyErr_NoMemory();
    }
    core_array *out = NULL;
    const tess_status status = tess_autoreject_picks(object, text, found, &n);
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
    } else {
        out = core_array_create(state, TESS_I64, 8, 1, &n);
    }
    if (out && n) {
        memcpy(out->view.data, found, (size_t)n * sizeof *found);
    }
    PyMem_Free(found);
    return (PyObject *)out;
}

PyMethodDef core_autoreject_epochs_methods[] = {
    {"autoreject_epochs", CORE_METHOD(epochs), METH_FASTCALL | METH_KEYWORDS,
     "Epochs over an array; returns a Handle."},
    {"autoreject_epochs_info", epochs_info, METH_O, "What epochs are."},
    {"autoreject_epochs_read", CORE_METHOD(epochs_read), METH_FASTCALL | METH_KEYWORDS,
     "Samples of some epochs and channels."},
    {"autoreject_picks", CORE_METHOD(picks), METH_FASTCALL | METH_KEYWORDS,
     "Channel indices of a text of names and types."},
    {NULL, NULL, 0, NULL},
};
