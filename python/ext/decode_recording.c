// decode for Python: recordings, simulations and the defaults of ready-made models.

#include "decode.h"

static void destroy(void *object)
{
    tess_decode_recording_close(object);
}

const core_handle_class core_recording_class = {"decode recording", destroy};

static PyObject *simulate(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context", "options", "progress"};
    static const core_signature signature = {"decode_simulate", names, 3, 3, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_decode_simulate_config config;
    tess_decode_simulate_config_init(&config, sizeof config);
    if (!context || core_to_config(state, values[1], tess_decode_simulate_params(), &config) < 0) {
        return NULL;
    }
    core_handle *handle = core_handle_create(state, context, &core_recording_class, NULL);
    core_call call;
    if (core_handle_begin(&handle, &call, state, values[2]) == 0) {
        tess_decode_recording *made = NULL;
        const tess_status status = tess_decode_simulate(context->handle, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    return (PyObject *)handle;
}

static PyObject *recording_open(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                PyObject *keywords)
{
    static const char *const names[] = {"context", "path"};
    static const core_signature signature = {"decode_recording_open", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    if (!context || core_to_path(values[1], &path_bytes, &path) < 0) {
        return NULL;
    }
    core_handle *handle = core_handle_create(state, context, &core_recording_class, NULL);
    core_call call;
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_decode_recording *made = NULL;
        const tess_status status = tess_decode_recording_open(context->handle, path, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_DECREF(path_bytes);
    return (PyObject *)handle;
}

static tess_status save_recording(tess_context *ctx, const void *object, const char *path,
                                  int overwrite)
{
    return tess_decode_recording_save(ctx, object, path, overwrite);
}

static PyObject *recording_save(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                PyObject *keywords)
{
    static const char *const names[] = {"context", "recording", "path", "overwrite"};
    static const core_saver saver = {
        {"decode_recording_save", names, 4, 4, 3}, &core_recording_class, save_recording};
    return core_handle_save(module, args, n_arg, keywords, &saver);
}

// A list with the spike times or, with is_mark, the marks of every electrode.
static PyObject *list_spikes(const core_state *state, PyObject *owner,
                             const tess_decode_spikes *spikes, int is_mark)
{
    static const double none[1];
    if (is_mark && !spikes->marks) {
        return Py_NewRef(Py_None);
    }
    PyObject *list = PyList_New((Py_ssize_t)spikes->n_electrode);
    for (int64_t e = 0; list && e < spikes->n_electrode; e++) {
        const int64_t shape[2] = {spikes->n_spike[e], is_mark ? spikes->n_feature[e] : 0};
        const void *data = is_mark ? spikes->marks[e] : (const void *)spikes->times[e];
        PyObject *view = core_array_show(state, owner, is_mark ? spikes->mark_dtype : TESS_F64,
                                         is_mark ? 2 : 1, shape, data ? data : none);
        if (!view || PyList_SetItem(list, (Py_ssize_t)e, view) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *list_units(const core_state *state, PyObject *owner,
                            const tess_decode_recording_info *info)
{
    static const int32_t none[1];
    const tess_decode_spikes *spikes = &info->observation.spikes;
    if (!info->unit) {
        return Py_NewRef(Py_None);
    }
    PyObject *list = PyList_New((Py_ssize_t)spikes->n_electrode);
    for (int64_t e = 0; list && e < spikes->n_electrode; e++) {
        PyObject *view = core_array_show(state, owner, TESS_I32, 1, &spikes->n_spike[e],
                                         info->unit[e] ? info->unit[e] : none);
        if (!view || PyList_SetItem(list, (Py_ssize_t)e, view) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *position_dict(const core_state *state, PyObject *owner,
                               const tess_decode_position *position)
{
    return Py_BuildValue(
        "{sNsN}", "time", core_show_reals(state, owner, position->time, position->n_sample, -1),
        "position",
        core_show_reals(state, owner, position->position, position->n_sample, position->n_dim));
}

// (node_position, edges, edge_length, edge_order, edge_spacing) as decode_environment() takes it.
static PyObject *track_tuple(const core_state *state, PyObject *owner,
                             const tess_decode_recording_info *info)
{
    const tess_decode_track *track = &info->track;
    if (!info->has_track) {
        return Py_NewRef(Py_None);
    }
    return Py_BuildValue("(NNNNN)",
                         core_show_reals(state, owner, track->node_position, track->n_node, 2),
                         core_show_ints(state, owner, track->edges, track->n_edge, 2),
                         core_show_reals(state, owner, track->edge_length, track->n_edge, -1),
                         core_show_ints(state, owner, track->edge_order, track->n_order, 2),
                         core_show_reals(state, owner, track->edge_spacing, track->n_spacing, -1));
}

static int put_truth(const core_state *state, PyObject *owner, PyObject *dict,
                     const tess_decode_recording_info *info)
{
    const int64_t n_time = info->observation.n_time;
    const int64_t n_dim = info->training.position.n_dim;
    if (core_put(dict, "true_position",
                 core_show_reals(state, owner, info->true_position, n_time, n_dim)) < 0 ||
        core_put(dict, "represented_position",
                 core_show_reals(state, owner, info->represented_position, n_time, n_dim)) < 0 ||
        core_put(dict, "is_replay", core_show_mask(state, owner, info->is_replay, n_time)) < 0 ||
        core_put(dict, "interior_position",
                 core_show_reals(state, owner, info->interior_position, info->n_interior_position,
                                 n_dim)) < 0 ||
        core_put(dict, "unit", list_units(state, owner, info)) < 0) {
        return -1;
    }
    return 0;
}

static PyObject *recording_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_decode_recording *recording = core_handle_get(state, value, &core_recording_class);
    if (!recording) {
        return NULL;
    }
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    const tess_decode_training *training = &info->training;
    const tess_decode_observation *observation = &info->observation;
    PyObject *dict =
        Py_BuildValue("{sNsNsdsdsd}", "path", core_text(info->path), "format",
                      core_text(info->format), "place_bin_size", info->place_bin_size,
                      "position_std", info->position_std, "waveform_std", info->waveform_std);
    if (!dict) {
        return NULL;
    }
    if (core_put(dict, "track", track_tuple(state, value, info)) < 0 ||
        core_put(dict, "encoding_spike_times", list_spikes(state, value, &training->spikes, 0)) <
            0 ||
        core_put(dict, "encoding_marks", list_spikes(state, value, &training->spikes, 1)) < 0 ||
        core_put(dict, "encoding_position", position_dict(state, value, &training->position)) < 0 ||
        core_put(dict, "is_training",
                 core_show_mask(state, value, training->is_training, training->position.n_sample)) <
            0 ||
        core_put(dict, "time",
                 core_show_reals(state, value, observation->time, observation->n_time, -1)) < 0 ||
        core_put(dict, "spike_times", list_spikes(state, value, &observation->spikes, 0)) < 0 ||
        core_put(dict, "marks", list_spikes(state, value, &observation->spikes, 1)) < 0 ||
        core_put(dict, "position", position_dict(state, value, &observation->position)) < 0 ||
        put_truth(state, value, dict, info) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *reals_list(const double *values, int64_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *number = PyFloat_FromDouble(values[i]);
        if (!number || PyList_SetItem(list, (Py_ssize_t)i, number) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *states_list(const tess_decode_model_defaults *defaults)
{
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < defaults->n_state; i++) {
        const tess_decode_state *row = &defaults->states[i];
        PyObject *entry =
            Py_BuildValue("(siiNN)", row->name, (int)row->environment, (int)row->encoding,
                          PyBool_FromLong(row->is_local), PyBool_FromLong(row->is_no_spike));
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *ints_list(const tess_decode_model_defaults *defaults, int is_movement)
{
    const int32_t n = defaults->n_state;
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < (is_movement ? n * n : n); i++) {
        PyObject *entry = is_movement ? PyLong_FromLong(defaults->movement_kinds[i])
                                      : PyBool_FromLong(defaults->frozen_rows[i]);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *model_defaults(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                PyObject *keywords)
{
    static const char *const names[] = {"kind", "sorted_spikes"};
    static const core_signature signature = {"decode_model_defaults", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    int64_t kind = 0;
    int32_t sorted_spikes = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_int(state, values[0], "kind", 0, TESS_DECODE_MODEL_MULTI_ENVIRONMENT, &kind) < 0 ||
        core_to_flag(values[1], &sorted_spikes) < 0) {
        return NULL;
    }
    tess_decode_model_defaults defaults;
    const tess_status status = tess_decode_model_get_defaults(
        (tess_decode_model_kind)kind, sorted_spikes, &defaults, sizeof defaults);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    const int64_t n = defaults.n_state;
    return Py_BuildValue("{sssNsNsNsNsNsNsd}", "name", defaults.name, "states",
                         states_list(&defaults), "movement_kinds", ints_list(&defaults, 1),
                         "discrete_initial", reals_list(defaults.discrete_initial, n),
                         "discrete_transition", reals_list(defaults.discrete_transition, n * n),
                         "stickiness", reals_list(defaults.stickiness, n), "frozen_rows",
                         ints_list(&defaults, 0), "concentration", defaults.concentration);
}

PyMethodDef core_decode_recording_methods[] = {
    {"decode_simulate", CORE_METHOD(simulate), METH_FASTCALL | METH_KEYWORDS,
     "Simulate a recording; returns a Handle."},
    {"decode_recording_open", CORE_METHOD(recording_open), METH_FASTCALL | METH_KEYWORDS,
     "Read a recording; returns a Handle."},
    {"decode_recording_save", CORE_METHOD(recording_save), METH_FASTCALL | METH_KEYWORDS,
     "Write a recording to a file."},
    {"decode_recording_info", recording_info, METH_O, "What a recording holds."},
    {"decode_model_defaults", CORE_METHOD(model_defaults), METH_FASTCALL | METH_KEYWORDS,
     "States and defaults of a ready-made model."},
    {NULL, NULL, 0, NULL},
};
