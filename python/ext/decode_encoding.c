// decode for Python: encoding models and likelihoods.

#include "decode.h"

static void destroy(void *object)
{
    tess_decode_encoding_destroy(object);
}

const core_handle_class core_encoding_class = {"decode encoding", destroy};

static const core_state *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

static int encoding_config(const core_state *state, PyObject *const *values, PyObject *keep,
                           tess_decode_encoding_config *config)
{
    tess_decode_encoding_config_init(config, sizeof *config);
    if (core_to_config(state, values[0], tess_decode_encoding_params(), config) < 0 ||
        core_reals(state, values[1], "position_std", 1, keep, &config->position_std_values,
                   &config->n_position_std) < 0 ||
        core_reals(state, values[2], "waveform_std", 1, keep, &config->waveform_std_values,
                   &config->n_waveform_std) < 0) {
        return -1;
    }
    return 0;
}

static PyObject *encoding(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context",      "environment",  "training", "options",
                                        "position_std", "waveform_std", "progress"};
    static const core_signature signature = {"decode_encoding", names, 7, 3, 3};
    const core_state *state = state_of(module);
    PyObject *values[7];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_decode_environment *env =
        context ? core_handle_get(state, values[1], &core_environment_class) : NULL;
    if (!env) {
        return NULL;
    }
    decode_data data;
    tess_decode_encoding_config config;
    core_handle *handle = NULL;
    core_call call;
    if (decode_data_init(state, values[2], &data) == 0 &&
        encoding_config(state, values + 3, data.keep, &config) == 0) {
        handle = core_handle_create(state, context, &core_encoding_class, values[1]);
    }
    if (core_handle_begin(&handle, &call, state, values[6]) == 0) {
        tess_decode_training training;
        tess_decode_encoding *made = NULL;
        decode_training_of(&data, &training);
        const tess_status status =
            tess_decode_encoding_create(context->handle, env, &training, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    decode_data_free(&data);
    return (PyObject *)handle;
}

// A list with one view per electrode; None where the algorithm has no such thing.
static PyObject *per_electrode(const core_state *state, PyObject *owner,
                               const tess_decode_encoding_info *info, const double *const *pointers,
                               int is_mark)
{
    if (!pointers) {
        return Py_NewRef(Py_None);
    }
    PyObject *list = PyList_New((Py_ssize_t)info->n_electrode);
    for (int64_t e = 0; list && e < info->n_electrode; e++) {
        static const double none[1];
        const int64_t columns = is_mark ? info->n_feature[e] : info->n_place_dim;
        const double *data = info->n_spike[e] && pointers[e] ? pointers[e] : none;
        PyObject *view = core_show_reals(state, owner, data, info->n_spike[e], columns);
        if (!view || PyList_SetItem(list, (Py_ssize_t)e, view) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static int put_arrays(const core_state *state, PyObject *owner, PyObject *dict,
                      const tess_decode_encoding_info *info)
{
    const int64_t n = info->n_electrode;
    const int64_t n_bin = info->n_interior;
    if (core_put(dict, "occupancy", core_show_reals(state, owner, info->occupancy, n_bin, -1)) <
            0 ||
        core_put(dict, "mean_rates", core_show_reals(state, owner, info->mean_rates, n, -1)) < 0 ||
        core_put(dict, "summed_ground_intensity",
                 core_show_reals(state, owner, info->summed_ground_intensity, n_bin, -1)) < 0 ||
        core_put(dict, "place_fields",
                 core_show_reals(state, owner, info->place_fields, n, n_bin)) < 0 ||
        core_put(dict, "n_spike", core_show_ints(state, owner, info->n_spike, n, -1)) < 0 ||
        core_put(dict, "n_feature", core_show_ints(state, owner, info->n_feature, n, -1)) < 0 ||
        core_put(dict, "n_before", core_show_ints(state, owner, info->n_before, n, -1)) < 0 ||
        core_put(dict, "n_after", core_show_ints(state, owner, info->n_after, n, -1)) < 0 ||
        core_put(dict, "encoding_positions",
                 per_electrode(state, owner, info, info->encoding_positions, 0)) < 0 ||
        core_put(dict, "encoding_marks",
                 per_electrode(state, owner, info, info->encoding_marks, 1)) < 0) {
        return -1;
    }
    return 0;
}

static PyObject *encoding_info(PyObject *module, PyObject *value)
{
    static const char *const algorithms[] = {"clusterless_kde", "clusterless_gmm",
                                             "sorted_spikes_kde", "sorted_spikes_glm"};
    static const char *const floors[] = {"auto", "absolute", "relative", "none"};
    const core_state *state = state_of(module);
    const tess_decode_encoding *model = core_handle_get(state, value, &core_encoding_class);
    if (!model) {
        return NULL;
    }
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(model);
    PyObject *dict =
        Py_BuildValue("{sssssLsdsd}", "algorithm", algorithms[info->algorithm], "floor",
                      floors[info->floor], "n_training_sample", (long long)info->n_training_sample,
                      "bound", info->bound, "bin_width_s", info->bin_width_s);
    if (dict && put_arrays(state, value, dict, info) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

typedef tess_status (*likelihood_fn)(tess_context *ctx, const tess_decode_encoding *encoding,
                                     const tess_decode_observation *observation, int64_t first,
                                     int64_t n_row, tess_array *out,
                                     tess_decode_likelihood_report *report);

// Rows first..first+n_row-1; absent: all.
static int read_rows(const core_state *state, PyObject *first_value, PyObject *n_value,
                     int64_t n_time, int64_t *first, int64_t *n_row)
{
    *first = 0;
    if (core_to_int(state, first_value, "first", 0, n_time, first) < 0) {
        return -1;
    }
    *n_row = n_time - *first;
    return core_to_int(state, n_value, "n_row", 0, n_time - *first, n_row);
}

static PyObject *likelihood(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords, likelihood_fn function, int is_local)
{
    static const char *const names[] = {"context", "encoding", "observation", "dtype",
                                        "first",   "n_row",    "progress"};
    static const core_signature signature = {"decode_log_likelihood", names, 7, 3, 3};
    const core_state *state = state_of(module);
    PyObject *values[7];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_encoding *model =
        context ? core_handle_get(state, values[1], &core_encoding_class) : NULL;
    decode_data data;
    int32_t dtype = 0;
    int64_t first = 0;
    int64_t n_row = 0;
    core_array *out = NULL;
    core_call call;
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    if (!model) {
        return NULL;
    }
    if (decode_data_init(state, values[2], &data) == 0 &&
        decode_dtype(state, values[3], &dtype) == 0 &&
        read_rows(state, values[4], values[5], data.n_time, &first, &n_row) == 0) {
        const int64_t n_bin = tess_decode_encoding_get_info(model)->n_interior;
        out = decode_result(state, dtype, is_local ? 1 : 2, n_row, n_bin);
    }
    if (out && core_call_begin(&call, state, context, values[6]) == 0) {
        tess_decode_observation observation;
        decode_observation_of(&data, &observation);
        const tess_status status =
            function(context->handle, model, &observation, first, n_row, &out->view, &report);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    decode_data_free(&data);
    return out ? Py_BuildValue("(NN)", out, decode_report_dict(&report)) : NULL;
}

static PyObject *log_likelihood(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                PyObject *keywords)
{
    return likelihood(module, args, n_arg, keywords, tess_decode_log_likelihood, 0);
}

static PyObject *local_log_likelihood(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                      PyObject *keywords)
{
    return likelihood(module, args, n_arg, keywords, tess_decode_local_log_likelihood, 1);
}

static PyObject *no_spike(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context", "observation", "rate", "dtype"};
    static const core_signature signature = {"decode_no_spike_log_likelihood", names, 4, 4, 3};
    const core_state *state = state_of(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    decode_data data;
    double rate = 0;
    int32_t dtype = 0;
    core_array *out = NULL;
    core_call call;
    if (!context) {
        return NULL;
    }
    if (decode_data_init(state, values[1], &data) == 0 && core_to_real(values[2], &rate) == 0 &&
        decode_dtype(state, values[3], &dtype) == 0) {
        out = decode_result(state, dtype, 1, data.n_time, 0);
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        tess_decode_observation observation;
        decode_observation_of(&data, &observation);
        const tess_status status = tess_decode_no_spike_log_likelihood(
            context->handle, &observation, rate, 0, data.n_time, &out->view);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    decode_data_free(&data);
    return (PyObject *)out;
}

static PyObject *log_joint(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "encoding", "electrode", "marks", "dtype"};
    static const core_signature signature = {"decode_log_joint", names, 5, 4, 4};
    const core_state *state = state_of(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_encoding *model =
        context ? core_handle_get(state, values[1], &core_encoding_class) : NULL;
    if (!model) {
        return NULL;
    }
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(model);
    int64_t electrode = 0;
    int32_t dtype = 0;
    core_array *out = NULL;
    core_array *marks = NULL;
    core_call call;
    if (core_to_int(state, values[2], "electrode", 0, info->n_electrode - 1, &electrode) == 0 &&
        decode_dtype(state, values[4], &dtype) == 0) {
        marks = core_array_from(state, values[3], "marks", 0);
        out = marks ? decode_result(state, dtype, 2, marks->view.shape[0], info->n_interior) : NULL;
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_decode_log_joint(context->handle, model, electrode, &marks->view, &out->view);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF((PyObject *)marks);
    return (PyObject *)out;
}

static PyObject *time_bin(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = state_of(module);
    const double *time = NULL;
    const double *spikes = NULL;
    int64_t n_time = 0;
    int64_t n_spike = 0;
    core_array *out = NULL;
    PyObject *keep = PyList_New(0);
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected time and spike times");
    } else if (keep && core_reals(state, args[0], "time", 1, keep, &time, &n_time) == 0 &&
               core_reals(state, args[1], "spike_times", 1, keep, &spikes, &n_spike) == 0) {
        out = decode_result(state, TESS_I64, 1, n_spike, 0);
    }
    if (out) {
        tess_decode_time_bin(time, n_time, spikes, n_spike, out->view.data);
    }
    Py_XDECREF(keep);
    return (PyObject *)out;
}

PyMethodDef core_decode_encoding_methods[] = {
    {"decode_encoding", CORE_METHOD(encoding), METH_FASTCALL | METH_KEYWORDS,
     "Fit an encoding model; returns a Handle."},
    {"decode_encoding_info", encoding_info, METH_O, "Everything known of an encoding model."},
    {"decode_log_likelihood", CORE_METHOD(log_likelihood), METH_FASTCALL | METH_KEYWORDS,
     "Log likelihood at every interior bin, and a report."},
    {"decode_local_log_likelihood", CORE_METHOD(local_log_likelihood),
     METH_FASTCALL | METH_KEYWORDS, "Log likelihood at the animal's position, and a report."},
    {"decode_no_spike_log_likelihood", CORE_METHOD(no_spike), METH_FASTCALL | METH_KEYWORDS,
     "Log likelihood of a constant small rate."},
    {"decode_log_joint", CORE_METHOD(log_joint), METH_FASTCALL | METH_KEYWORDS,
     "Log joint intensity of marks at every interior bin."},
    {"decode_time_bin", CORE_METHOD(time_bin), METH_FASTCALL, "Row of each spike time."},
    {NULL, NULL, 0, NULL},
};
