// Spikes and positions from Python: arrays are read where they lie.

#include "decode.h"

#include <string.h>

static int same_length(const core_state *state, const char *name, int64_t n, const char *against,
                       int64_t wanted)
{
    if (n != wanted) {
        core_fail(state, TESS_E_SHAPE, "%s has %lld values, %s has %lld", name, (long long)n,
                  against, (long long)wanted);
        return -1;
    }
    return 0;
}

int decode_mask(const core_state *state, PyObject *value, const char *name, const char *against,
                int64_t n, PyObject *keep, const uint8_t **data)
{
    const void *found = NULL;
    int64_t shape[1];
    *data = NULL;
    if (!value || value == Py_None) {
        return 0;
    }
    if (core_view(state, value, name, TESS_U8, 1, keep, &found, shape) < 0 ||
        same_length(state, name, shape[0], against, n) < 0) {
        return -1;
    }
    *data = found;
    return 0;
}

static int read_times(const core_state *state, PyObject *list, decode_data *data)
{
    for (int64_t e = 0; e < data->spikes.n_electrode; e++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)e);
        const void *times = NULL;
        if (!item || core_view(state, item, "spike_times", TESS_F64, 1, data->keep, &times,
                               &data->counts[e]) < 0) {
            return -1;
        }
        data->pointers[e] = times;
    }
    return 0;
}

static int read_marks(const core_state *state, PyObject *list, decode_data *data)
{
    const int64_t n = data->spikes.n_electrode;
    if (PyList_Size(list) != n) {
        core_fail(state, TESS_E_SHAPE,
                  "spike_waveform_features has %lld electrodes, spike_times has %lld",
                  (long long)PyList_Size(list), (long long)n);
        return -1;
    }
    for (int64_t e = 0; e < n; e++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)e);
        const void *marks = NULL;
        int64_t shape[2];
        if (!item || core_view(state, item, "spike_waveform_features", data->spikes.mark_dtype, 2,
                               data->keep, &marks, shape) < 0) {
            return -1;
        }
        if (shape[0] != data->counts[e]) {
            core_fail(state, TESS_E_SHAPE, "electrode %lld: %lld spike times but %lld feature rows",
                      (long long)e, (long long)data->counts[e], (long long)shape[0]);
            return -1;
        }
        data->pointers[n + e] = marks;
        data->counts[n + e] = shape[1];
    }
    return 0;
}

static int is_float32(PyObject *list)
{
    if (!list || PyList_Size(list) < 1) {
        return 0;
    }
    PyObject *name = PyObject_GetAttrString(PyList_GetItem(list, 0), "dtype");
    PyObject *text = name ? PyObject_Str(name) : NULL;
    const int found = text && PyUnicode_CompareWithASCIIString(text, "float32") == 0;
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(name);
    return found;
}

static int read_spikes(const core_state *state, PyObject *times, PyObject *marks, decode_data *data)
{
    tess_decode_spikes_init(&data->spikes, sizeof data->spikes);
    if (!times) {
        return 0;
    }
    if (!PyList_Check(times) || (marks && !PyList_Check(marks))) {
        PyErr_SetString(PyExc_TypeError, "spike_times: expected a list of arrays");
        return -1;
    }
    const int64_t n = PyList_Size(times);
    data->spikes.n_electrode = n;
    data->spikes.mark_dtype = is_float32(marks) ? TESS_F32 : TESS_F64;
    data->counts = PyMem_Calloc((size_t)(2 * n) + 1, sizeof *data->counts);
    data->pointers = PyMem_Calloc((size_t)(2 * n) + 1, sizeof *data->pointers);
    if (!data->counts || !data->pointers) {
        PyErr_NoMemory();
        return -1;
    }
    if (read_times(state, times, data) < 0 || (marks && read_marks(state, marks, data) < 0)) {
        return -1;
    }
    data->spikes.n_spike = data->counts;
    data->spikes.n_feature = data->counts + n;
    data->spikes.times = (const double *const *)data->pointers;
    data->spikes.marks = marks ? (const void *const *)data->pointers + n : NULL;
    return 0;
}

static int read_position(const core_state *state, PyObject *time, PyObject *position,
                         decode_data *data)
{
    tess_decode_position *out = &data->position;
    int64_t n_time = 0;
    int64_t shape[2];
    tess_decode_position_init(out, sizeof *out);
    if (core_reals(state, time, "position_time", 1, data->keep, &out->time, &n_time) < 0 ||
        core_reals(state, position, "position", 2, data->keep, &out->position, shape) < 0) {
        return -1;
    }
    if (!out->time != !out->position) {
        core_fail(state, TESS_E_ARGUMENT, "%s is missing: give position and position_time together",
                  out->time ? "position" : "position_time");
        return -1;
    }
    if (out->time && same_length(state, "position_time", n_time, "position", shape[0]) < 0) {
        return -1;
    }
    out->n_sample = n_time;
    out->n_dim = shape[1];
    return 0;
}

// Borrowed; NULL for absent and None.
static PyObject *entry(PyObject *dict, const char *name)
{
    PyObject *value = PyDict_GetItemString(dict, name);
    return value == Py_None ? NULL : value;
}

int decode_data_init(const core_state *state, PyObject *dict, decode_data *data)
{
    memset(data, 0, sizeof *data);
    data->keep = PyList_New(0);
    int64_t n_weight = 0;
    if (!data->keep) {
        return -1;
    }
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "expected a dict of arrays, got %R", dict);
        return -1;
    }
    if (read_spikes(state, entry(dict, "spike_times"), entry(dict, "marks"), data) < 0 ||
        read_position(state, entry(dict, "position_time"), entry(dict, "position"), data) < 0 ||
        core_reals(state, entry(dict, "time"), "time", 1, data->keep, &data->time, &data->n_time) <
            0 ||
        core_reals(state, entry(dict, "weights"), "weights", 1, data->keep, &data->weights,
                   &n_weight) < 0 ||
        decode_mask(state, entry(dict, "is_training"), "is_training", "position_time",
                    data->position.n_sample, data->keep, &data->is_training) < 0 ||
        decode_mask(state, entry(dict, "is_missing"), "is_missing", "time", data->n_time,
                    data->keep, &data->is_missing) < 0) {
        return -1;
    }
    return data->weights
               ? same_length(state, "weights", n_weight, "position_time", data->position.n_sample)
               : 0;
}

void decode_data_free(decode_data *data)
{
    Py_CLEAR(data->keep);
    PyMem_Free(data->counts);
    PyMem_Free(data->pointers);
    data->counts = NULL;
    data->pointers = NULL;
}

void decode_training_of(const decode_data *data, tess_decode_training *training)
{
    tess_decode_training_init(training, sizeof *training);
    training->spikes = data->spikes;
    training->position = data->position;
    training->is_training = data->is_training;
    training->weights = data->weights;
}

void decode_observation_of(const decode_data *data, tess_decode_observation *observation)
{
    tess_decode_observation_init(observation, sizeof *observation);
    observation->n_time = data->n_time;
    observation->time = data->time;
    observation->spikes = data->spikes;
    observation->position = data->position;
    observation->is_missing = data->is_missing;
}
