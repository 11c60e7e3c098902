// decode for Python: the online decoder.

#include "decode.h"

static void destroy(void *object)
{
    tess_decode_online_destroy(object);
}

const core_handle_class core_online_class = {"decode online decoder", destroy};

static PyObject *online(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "detector", "options"};
    static const core_signature signature = {"decode_online", names, 3, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_detector *model =
        context ? core_handle_get(state, values[1], &core_detector_class) : NULL;
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    if (!model || core_to_config(state, values[2], tess_decode_online_params(), &config) < 0) {
        return NULL;
    }
    core_handle *handle = core_handle_create(state, context, &core_online_class, values[1]);
    core_call call;
    if (handle && core_call_begin(&call, state, context, NULL) == 0) {
        tess_decode_online *made = NULL;
        const tess_status status =
            tess_decode_online_create(context->handle, model, &config, &made);
        handle->object = made;
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(handle);
        }
    } else {
        Py_CLEAR(handle);
    }
    return (PyObject *)handle;
}

// push_spikes(online, electrode, times [n], marks [n][D] float32)
static PyObject *push_spikes(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    if (n_arg != 4) {
        PyErr_SetString(PyExc_TypeError, "expected online, electrode, times and marks");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    PyObject *keep = decoder ? PyList_New(0) : NULL;
    const double *times = NULL;
    const void *marks = NULL;
    int64_t electrode = 0;
    int64_t n = 0;
    int64_t shape[2];
    PyObject *result = NULL;
    if (keep && core_to_int(state, args[1], "electrode", 0, INT64_MAX, &electrode) == 0 &&
        core_reals(state, args[2], "times", 1, keep, &times, &n) == 0 &&
        core_view(state, args[3], "marks", TESS_F32, 2, keep, &marks, shape) == 0) {
        if (n != shape[0]) {
            core_fail(state, TESS_E_SHAPE, "electrode %lld: %lld spike times but %lld feature rows",
                      (long long)electrode, (long long)n, (long long)shape[0]);
            n = -1;
        }
        tess_status status = n < 0 ? TESS_E_SHAPE : TESS_OK;
        for (int64_t i = 0; i < n && status == TESS_OK; i++) {
            status = tess_decode_online_push_spike(decoder, times[i], electrode,
                                                   (const float *)marks + i * shape[1], shape[1]);
        }
        if (status != TESS_OK && !PyErr_Occurred()) {
            core_raise(state, status, tess_last_error());
        }
        result = status == TESS_OK ? Py_NewRef(Py_None) : NULL;
    }
    Py_XDECREF(keep);
    return result;
}

static PyObject *push_position(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    if (n_arg != 3) {
        PyErr_SetString(PyExc_TypeError, "expected online, time and position");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    PyObject *keep = decoder ? PyList_New(0) : NULL;
    const double *position = NULL;
    int64_t n_dim = 0;
    double time = 0;
    PyObject *result = NULL;
    if (keep && core_to_real(args[1], &time) == 0 &&
        core_reals(state, args[2], "position", 1, keep, &position, &n_dim) == 0) {
        const tess_status status = tess_decode_online_push_position(decoder, time, position, n_dim);
        result =
            status == TESS_OK ? Py_NewRef(Py_None) : core_raise(state, status, tess_last_error());
    }
    Py_XDECREF(keep);
    return result;
}

static PyObject *advance(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    double now = 0;
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected online and now");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    core_call call;
    if (!decoder || core_to_real(args[1], &now) < 0 ||
        core_call_begin(&call, state, ((core_handle *)args[0])->context, NULL) < 0) {
        return NULL;
    }
    int64_t n_bin = 0;
    const tess_status status = tess_decode_online_advance(decoder, now, &n_bin);
    return core_call_end(&call, status) < 0 ? NULL : PyLong_FromLongLong(n_bin);
}

// Copies: the decoder goes on.
static PyObject *copy_reals(const core_state *state, const double *data, int64_t n)
{
    core_array *array = decode_result(state, TESS_F64, 1, n, 0);
    if (array) {
        double *out = array->view.data;
        for (int64_t i = 0; i < n; i++) {
            out[i] = data[i];
        }
    }
    return (PyObject *)array;
}

static PyObject *copy_floats(const core_state *state, const float *data, int64_t n)
{
    core_array *array = decode_result(state, TESS_F32, 1, n, 0);
    if (array) {
        float *out = array->view.data;
        for (int64_t i = 0; i < n; i++) {
            out[i] = data[i];
        }
    }
    return (PyObject *)array;
}

static PyObject *get(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    int64_t bin = 0;
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected online and bin");
        return NULL;
    }
    core_handle *handle = (core_handle *)args[0];
    const tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    if (!decoder || core_to_int(state, args[1], "bin", 0, INT64_MAX, &bin) < 0) {
        return NULL;
    }
    tess_decode_online_bin found;
    const tess_status status = tess_decode_online_get(decoder, bin, &found, sizeof found);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    const tess_decode_detector_info *info =
        tess_decode_detector_get_info(((core_handle *)handle->borrowed)->object);
    return Py_BuildValue(
        "{sLsdsLsisLsLsdsdsdsNsNsN}", "bin", (long long)found.bin, "start_s", found.start_s,
        "n_spike", (long long)found.n_spike, "n_electrode_active", (int)found.n_electrode_active,
        "best_bin", (long long)found.best_bin, "credible_size", (long long)found.credible_size,
        "log_norm", found.log_norm, "likelihood_s", found.likelihood_s, "filter_s", found.filter_s,
        "posterior", copy_reals(state, found.posterior, info->n_state_bin), "state_probabilities",
        copy_reals(state, found.state_probabilities, info->n_state), "log_likelihood",
        copy_floats(state, found.log_likelihood, info->n_ll));
}

static PyObject *stats(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_decode_online *decoder = core_handle_get(state, value, &core_online_class);
    tess_decode_online_stats found;
    if (!decoder) {
        return NULL;
    }
    const tess_status status = tess_decode_online_get_stats(decoder, &found, sizeof found);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    PyObject *latency = PyList_New(TESS_DECODE_LATENCY_BINS);
    for (Py_ssize_t i = 0; latency && i < TESS_DECODE_LATENCY_BINS; i++) {
        PyObject *count = PyLong_FromLongLong(found.latency[i]);
        if (!count || PyList_SetItem(latency, i, count) < 0) {
            Py_CLEAR(latency);
        }
    }
    return Py_BuildValue("{sLsLsLsLsLsLsdsN}", "n_bin", (long long)found.n_bin, "n_spike",
                         (long long)found.n_spike, "n_late", (long long)found.n_late, "n_duplicate",
                         (long long)found.n_duplicate, "n_dropped", (long long)found.n_dropped,
                         "n_deadline_miss", (long long)found.n_deadline_miss, "latency_max_s",
                         found.latency_max_s, "latency", latency);
}

static PyObject *reset(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    double start_s = 0;
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected online and start");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    if (!decoder || core_to_real(args[1], &start_s) < 0) {
        return NULL;
    }
    const tess_status status = tess_decode_online_reset(decoder, start_s);
    return status == TESS_OK ? Py_NewRef(Py_None) : core_raise(state, status, tess_last_error());
}

PyMethodDef core_decode_online_methods[] = {
    {"decode_online", CORE_METHOD(online), METH_FASTCALL | METH_KEYWORDS,
     "Make an online decoder; returns a Handle."},
    {"decode_online_push_spikes", CORE_METHOD(push_spikes), METH_FASTCALL,
     "Spikes of one electrode."},
    {"decode_online_push_position", CORE_METHOD(push_position), METH_FASTCALL,
     "A position sample."},
    {"decode_online_advance", CORE_METHOD(advance), METH_FASTCALL,
     "Close what is due; how many bins that were."},
    {"decode_online_get", CORE_METHOD(get), METH_FASTCALL, "A finished bin."},
    {"decode_online_stats", stats, METH_O, "Counters and latencies."},
    {"decode_online_reset", CORE_METHOD(reset), METH_FASTCALL, "Start again."},
    {NULL, NULL, 0, NULL},
};
