// autoreject for Python: prediction of channels from others.

#include "autoreject.h"

static int read_options(const core_state *state, PyObject *options, PyObject *origin,
                        PyObject *keep, tess_autoreject_interpolation_config *config)
{
    tess_autoreject_interpolation_config_init(config, sizeof *config);
    if (core_to_config(state, options, tess_autoreject_interpolation_params(), config) < 0) {
        return -1;
    }
    return autoreject_origin(state, origin, keep, &config->eeg_origin);
}

static PyObject *weights(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "sensors", "source",
                                        "target",  "options", "origin"};
    static const core_signature signature = {"autoreject_weights", names, 6, 5, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[6];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    autoreject_sensors sensors = {0};
    tess_autoreject_interpolation_config config;
    const int64_t *from = NULL;
    const int64_t *to = NULL;
    int64_t shape[2] = {0, 0};
    core_array *out = NULL;
    core_call call;
    if (keep && autoreject_sensors_init(state, values[1], &sensors) == 0 &&
        autoreject_indices(state, values[2], "source", keep, &from, &shape[1]) == 0 &&
        autoreject_indices(state, values[3], "target", keep, &to, &shape[0]) == 0 &&
        read_options(state, values[4], values[5], keep, &config) == 0) {
        out = core_array_create(state, TESS_F64, 8, 2, shape);
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_autoreject_weights(context->handle, &sensors.sensors, from, shape[1], to, shape[0],
                                    &config, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    autoreject_sensors_free(&sensors);
    Py_XDECREF(keep);
    return (PyObject *)out;
}

static PyObject *meg_dots(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context", "sensors", "channels", "options"};
    static const core_signature signature = {"autoreject_meg_dots", names, 4, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    autoreject_sensors sensors = {0};
    tess_autoreject_interpolation_config config;
    const int64_t *channels = NULL;
    int64_t n = 0;
    core_array *out = NULL;
    core_call call;
    if (keep && autoreject_sensors_init(state, values[1], &sensors) == 0 &&
        autoreject_indices(state, values[2], "channels", keep, &channels, &n) == 0 &&
        read_options(state, values[3], NULL, keep, &config) == 0) {
        const int64_t shape[2] = {n, n};
        out = core_array_create(state, TESS_F64, 8, 2, shape);
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_autoreject_meg_dots(context->handle, &sensors.sensors,
                                                            channels, n, &config, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    autoreject_sensors_free(&sensors);
    Py_XDECREF(keep);
    return (PyObject *)out;
}

static PyObject *fit_sphere(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    autoreject_sensors sensors = {0};
    double origin[3] = {0};
    double radius = 0;
    PyObject *result = NULL;
    if (autoreject_sensors_init(state, value, &sensors) == 0) {
        const tess_status status = tess_autoreject_fit_sphere(&sensors.sensors, origin, &radius);
        result = status == TESS_OK
                     ? Py_BuildValue("((ddd)d)", origin[0], origin[1], origin[2], radius)
                     : core_raise(state, status, tess_last_error());
    }
    autoreject_sensors_free(&sensors);
    return result;
}

static int read_mask(const core_state *state, PyObject *value, const core_array *x, PyObject *keep,
                     const uint8_t **bad)
{
    const void *found = NULL;
    int64_t shape[2];
    if (core_view(state, value, "bad", TESS_U8, 2, keep, &found, shape) < 0) {
        return -1;
    }
    if (x->view.rank != 3 || shape[0] != x->view.shape[0] || shape[1] != x->view.shape[1]) {
        core_fail(state, TESS_E_SHAPE, "bad: expected a row per epoch and a column per channel");
        return -1;
    }
    *bad = found;
    return 0;
}

static PyObject *interpolate(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "sensors", "picks",  "bad",
                                        "x",       "options", "origin", "progress"};
    static const core_signature signature = {"autoreject_interpolate", names, 8, 6, 5};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[8];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    core_array *x = keep ? core_array_from(state, values[4], "x", 1) : NULL;
    autoreject_sensors sensors = {0};
    tess_autoreject_interpolation_config config;
    const int64_t *picks = NULL;
    const uint8_t *bad = NULL;
    int64_t n_pick = 0;
    int result = -1;
    core_call call;
    if (x && autoreject_sensors_init(state, values[1], &sensors) == 0 &&
        autoreject_indices(state, values[2], "picks", keep, &picks, &n_pick) == 0 &&
        read_mask(state, values[3], x, keep, &bad) == 0 &&
        read_options(state, values[5], values[6], keep, &config) == 0 &&
        core_call_begin(&call, state, context, values[7]) == 0) {
        const tess_status status = tess_autoreject_interpolate(
            context->handle, &sensors.sensors, picks, n_pick, bad, &config, &x->view);
        result = core_call_end(&call, status);
    }
    autoreject_sensors_free(&sensors);
    Py_XDECREF((PyObject *)x);
    Py_XDECREF(keep);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_autoreject_interpolation_methods[] = {
    {"autoreject_weights", CORE_METHOD(weights), METH_FASTCALL | METH_KEYWORDS,
     "Weights that predict channels from others."},
    {"autoreject_meg_dots", CORE_METHOD(meg_dots), METH_FASTCALL | METH_KEYWORDS,
     "Dot products of the lead fields of MEG channels."},
    {"autoreject_fit_sphere", fit_sphere, METH_O,
     "((x, y, z), radius) of the sphere through the head-shape points."},
    {"autoreject_interpolate", CORE_METHOD(interpolate), METH_FASTCALL | METH_KEYWORDS,
     "Repair marked channels of an array in place."},
    {NULL, NULL, 0, NULL},
};
