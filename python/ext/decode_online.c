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
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_decode_online *made = NULL;
        const tess_status status =
            tess_decode_online_create(context->handle, model, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    return (PyObject *)handle;
}

typedef tess_status (*spike_call)(tess_decode_online *online, double time, int64_t electrode,
                                  const float *mark, int64_t n_feature);
typedef tess_status (*position_call)(tess_decode_online *online, double time,
                                     const double *position, int64_t n_dim);

// spikes(online, electrode, times [n], marks [n][D] float32): each by the call, until one fails.
static PyObject *each_spike(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            spike_call take)
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
            status =
                take(decoder, times[i], electrode, (const float *)marks + i * shape[1], shape[1]);
        }
        if (status != TESS_OK && !PyErr_Occurred()) {
            core_raise(state, status, tess_last_error());
        }
        result = status == TESS_OK ? Py_NewRef(Py_None) : NULL;
    }
    Py_XDECREF(keep);
    return result;
}

static PyObject *push_spikes(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    return each_spike(module, args, n_arg, tess_decode_online_push_spike);
}

static PyObject *learn_spikes(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    return each_spike(module, args, n_arg, tess_decode_online_learn_spike);
}

static PyObject *none_or_raise(const core_state *state, tess_status status)
{
    return status == TESS_OK ? Py_NewRef(Py_None) : core_raise(state, status, tess_last_error());
}

static PyObject *one_position(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                              position_call take)
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
        result = none_or_raise(state, take(decoder, time, position, n_dim));
    }
    Py_XDECREF(keep);
    return result;
}

static PyObject *push_position(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    return one_position(module, args, n_arg, tess_decode_online_push_position);
}

static PyObject *learn_position(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    return one_position(module, args, n_arg, tess_decode_online_learn_position);
}

// advance(online, now[, design [n_row][n_coefficient]])
static PyObject *advance(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    const double *design = NULL;
    int64_t shape[2] = {0, 0};
    double now = 0;
    if (n_arg != 2 && n_arg != 3) {
        PyErr_SetString(PyExc_TypeError, "expected online, now and, of covariates, design");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    PyObject *keep = decoder ? PyList_New(0) : NULL;
    core_call call;
    if (!keep || core_to_real(args[1], &now) < 0 ||
        (n_arg == 3 && core_reals(state, args[2], "design", 2, keep, &design, shape) < 0) ||
        core_call_begin(&call, state, ((core_handle *)args[0])->context, NULL) < 0) {
        Py_XDECREF(keep);
        return NULL;
    }
    int64_t n_bin = 0;
    const tess_status status =
        n_arg == 3
            ? tess_decode_online_advance_with(decoder, now, design, shape[0], shape[1], &n_bin)
            : tess_decode_online_advance(decoder, now, &n_bin);
    const int is_bad = core_call_end(&call, status) < 0 || PyErr_Occurred();
    Py_DECREF(keep);
    if (is_bad) {
        return NULL; // of the decoder, or of a trigger's function
    }
    return PyLong_FromLongLong(n_bin);
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

static PyObject *copy_counts(const int64_t *data, int64_t n)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *count = PyLong_FromLongLong(data[i]);
        if (!count || PyList_SetItem(list, i, count) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
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
    PyObject *latency = copy_counts(found.latency, TESS_DECODE_LATENCY_BINS);
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
    return none_or_raise(state, tess_decode_online_reset(decoder, start_s));
}

static PyObject *refresh(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    tess_decode_online *decoder = core_handle_get(state, value, &core_online_class);
    return decoder ? none_or_raise(state, tess_decode_online_refresh(decoder)) : NULL;
}

static PyObject *set_frozen(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected online and is_frozen");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    const int is_frozen = decoder ? PyObject_IsTrue(args[1]) : -1;
    return is_frozen < 0 ? NULL
                         : none_or_raise(state, tess_decode_online_set_frozen(decoder, is_frozen));
}

static PyObject *learned(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_decode_online *decoder = core_handle_get(state, value, &core_online_class);
    tess_decode_online_learned found;
    if (!decoder) {
        return NULL;
    }
    const tess_status status = tess_decode_online_get_learned(decoder, &found, sizeof found);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    const tess_decode_online_learn_stats *c = &found.stats;
    return Py_BuildValue(
        "{sisLsLsNsNsNsNsLsLsLsLsLsLsLsLsd}", "is_frozen", (int)found.is_frozen, "n_sample",
        (long long)found.n_sample, "n_sample_seen", (long long)found.n_sample_seen, "occupancy",
        copy_reals(state, found.occupancy, found.n_bin), "summed_ground_intensity",
        copy_reals(state, found.summed_ground_intensity, found.n_bin), "mean_rates",
        copy_reals(state, found.mean_rates, found.n_electrode), "n_kept",
        copy_counts(found.n_spike, found.n_electrode), "n_spike", (long long)c->n_spike, "n_full",
        (long long)c->n_full, "n_slow", (long long)c->n_slow, "n_slow_sample",
        (long long)c->n_slow_sample, "n_unplaced", (long long)c->n_unplaced, "n_dropped",
        (long long)c->n_dropped, "n_ignored", (long long)c->n_ignored, "n_refresh",
        (long long)c->n_refresh, "refresh_max_s", c->refresh_max_s);
}

// A trigger's function, called by advance() without the GIL. After one that failed no more are.
static void tell(void *payload, const tess_decode_online_event *event)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    if (!PyErr_Occurred()) {
        PyObject *done =
            PyObject_CallFunction(payload, "iLdddd", (int)event->trigger, (long long)event->bin,
                                  event->start_s, event->mass, event->latency_s, event->lag_s);
        Py_XDECREF(done);
    }
    PyGILState_Release(gil);
}

// set_trigger(online, number, function or None, state, bins [n], threshold, n_average, lockout,
// min_electrodes). The caller keeps the function alive.
static PyObject *set_trigger(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    int64_t number = 0;
    if (n_arg != 9) {
        PyErr_SetString(PyExc_TypeError, "expected online, number, function and six settings");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    if (!decoder || core_to_int(state, args[1], "trigger", 0, INT32_MAX, &number) < 0) {
        return NULL;
    }
    if (Py_IsNone(args[2])) {
        return none_or_raise(state, tess_decode_online_set_trigger(decoder, (int32_t)number, NULL));
    }
    tess_decode_online_trigger t;
    tess_decode_online_trigger_init(&t, sizeof t);
    int64_t of_state = 0;
    int64_t min_electrodes = 0;
    const void *bins = NULL;
    PyObject *keep = PyList_New(0);
    PyObject *result = NULL;
    if (keep && core_to_int(state, args[3], "state", -1, INT32_MAX, &of_state) == 0 &&
        core_view(state, args[4], "bins", TESS_I64, 1, keep, &bins, &t.n_bin) == 0 &&
        core_to_real(args[5], &t.threshold) == 0 &&
        core_to_int(state, args[6], "n_average", INT64_MIN, INT64_MAX, &t.n_average) == 0 &&
        core_to_real(args[7], &t.lockout_s) == 0 &&
        core_to_int(state, args[8], "min_electrodes", INT32_MIN, INT32_MAX, &min_electrodes) == 0) {
        t.bins = bins;
        t.state = (int32_t)of_state;
        t.min_electrodes = (int32_t)min_electrodes;
        t.call = tell;
        t.payload = args[2];
        result = none_or_raise(state, tess_decode_online_set_trigger(decoder, (int32_t)number, &t));
    }
    Py_XDECREF(keep);
    return result;
}

static PyObject *trigger_stats(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    int64_t number = 0;
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected online and number");
        return NULL;
    }
    const tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    tess_decode_online_trigger_stats found;
    if (!decoder || core_to_int(state, args[1], "trigger", 0, INT32_MAX, &number) < 0) {
        return NULL;
    }
    const tess_status status =
        tess_decode_online_get_trigger_stats(decoder, (int32_t)number, &found, sizeof found);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    return Py_BuildValue("{sLsLsdsN}", "n_fired", (long long)found.n_fired, "n_locked",
                         (long long)found.n_locked, "latency_max_s", found.latency_max_s, "latency",
                         copy_counts(found.latency, TESS_DECODE_LATENCY_BINS));
}

// snapshot(online, path, overwrite) and restore(online, path).
static PyObject *snapshot(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    if (n_arg != 2 && n_arg != 3) {
        PyErr_SetString(PyExc_TypeError, "expected online, path and, to write, overwrite");
        return NULL;
    }
    tess_decode_online *decoder = core_handle_get(state, args[0], &core_online_class);
    const int overwrite = n_arg == 3 ? PyObject_IsTrue(args[2]) : 0;
    PyObject *bytes = NULL;
    const char *path = NULL;
    if (!decoder || overwrite < 0 || core_to_path(args[1], &bytes, &path) < 0) {
        return NULL;
    }
    const tess_status status = n_arg == 3 ? tess_decode_online_snapshot(decoder, path, overwrite)
                                          : tess_decode_online_restore(decoder, path);
    PyObject *result = none_or_raise(state, status);
    Py_DECREF(bytes);
    return result;
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
    {"decode_online_learn_spikes", CORE_METHOD(learn_spikes), METH_FASTCALL,
     "Spikes of one electrode to learn."},
    {"decode_online_learn_position", CORE_METHOD(learn_position), METH_FASTCALL,
     "A position sample to learn."},
    {"decode_online_refresh", refresh, METH_O, "Decode with all that was learned."},
    {"decode_online_set_frozen", CORE_METHOD(set_frozen), METH_FASTCALL,
     "Learn no more, or again."},
    {"decode_online_learned", learned, METH_O, "What was learned."},
    {"decode_online_set_trigger", CORE_METHOD(set_trigger), METH_FASTCALL,
     "A function to call after bins of some kind."},
    {"decode_online_trigger_stats", CORE_METHOD(trigger_stats), METH_FASTCALL,
     "How often and how fast a trigger fired."},
    {"decode_online_snapshot", CORE_METHOD(snapshot), METH_FASTCALL, "The state into a file."},
    {"decode_online_restore", CORE_METHOD(snapshot), METH_FASTCALL, "The state from a file."},
    {"decode_online_reset", CORE_METHOD(reset), METH_FASTCALL, "Start again."},
    {NULL, NULL, 0, NULL},
};
