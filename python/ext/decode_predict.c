// decode for Python: what a model makes of observations.

#include "decode.h"

#include <stddef.h>
#include <string.h>

enum { BY_BIN, BY_STATE, BY_COLUMN };

typedef struct output_row {
    const char *name;
    size_t offset; // of the tess_array * in tess_decode_outputs
    int columns;
} output_row;

static const output_row output_rows[] = {
    {"acausal_posterior", offsetof(tess_decode_outputs, acausal_posterior), BY_BIN},
    {"acausal_state_probabilities", offsetof(tess_decode_outputs, acausal_state_probabilities),
     BY_STATE},
    {"causal_posterior", offsetof(tess_decode_outputs, causal_posterior), BY_BIN},
    {"causal_state_probabilities", offsetof(tess_decode_outputs, causal_state_probabilities),
     BY_STATE},
    {"predictive_posterior", offsetof(tess_decode_outputs, predictive_posterior), BY_BIN},
    {"predictive_state_probabilities",
     offsetof(tess_decode_outputs, predictive_state_probabilities), BY_STATE},
    {"log_likelihood", offsetof(tess_decode_outputs, log_likelihood), BY_COLUMN},
};

enum { N_OUTPUT = sizeof output_rows / sizeof *output_rows };

static int64_t columns_of(const tess_decode_detector_info *info, int columns)
{
    if (columns == BY_BIN) {
        return info->n_state_bin;
    }
    return columns == BY_STATE ? info->n_state : info->n_ll;
}

// What results are made of; context NULL: in host memory.
typedef struct output_kind {
    core_context *context;
    int32_t dtype;
} output_kind;

// States are sums in f64, and devices convert nothing.
static core_array *make_rows(const core_state *state, const output_kind *kind, int columns,
                             int64_t n_time, int64_t width)
{
    const int64_t shape[2] = {n_time, width};
    return kind->context
               ? core_array_create_there(state, kind->context,
                                         columns == BY_STATE ? TESS_F64 : kind->dtype, 2, shape)
               : decode_result(state, kind->dtype, 2, n_time, width);
}

// Makes the array of one wanted name and hangs it into outputs and dict.
static int add_output(const core_state *state, const char *name, const output_kind *kind,
                      int64_t n_time, const tess_decode_detector_info *info, PyObject *dict,
                      tess_decode_outputs *outputs)
{
    core_array *array = NULL;
    if (strcmp(name, "most_likely_bin") == 0) { // goes up when it is found
        array = decode_result(state, TESS_I64, 1, n_time, 0);
        outputs->most_likely_bin = array ? array->view.data : NULL;
        return core_put(dict, name, (PyObject *)array);
    }
    for (int i = 0; i < N_OUTPUT; i++) {
        if (strcmp(output_rows[i].name, name) == 0) {
            array = make_rows(state, kind, output_rows[i].columns, n_time,
                              columns_of(info, output_rows[i].columns));
            if (array) {
                tess_array *view = &array->view;
                memcpy((char *)outputs + output_rows[i].offset, &view, sizeof view);
            }
            return core_put(dict, name, (PyObject *)array);
        }
    }
    core_fail(state, TESS_E_ARGUMENT, "want: '%s' does not exist", name);
    return -1;
}

// A dict of new arrays that outputs points into.
static PyObject *make_outputs(const core_state *state, core_context *there, PyObject *want,
                              PyObject *dtype_value, const tess_decode_detector *model,
                              int64_t n_time, tess_decode_outputs *outputs)
{
    output_kind kind = {.context = there};
    tess_decode_outputs_init(outputs, sizeof *outputs);
    if (!PyList_Check(want)) {
        PyErr_Format(PyExc_TypeError, "want: expected a list of names, got %R", want);
        return NULL;
    }
    PyObject *dict = decode_dtype(state, dtype_value, &kind.dtype) < 0 ? NULL : PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyList_Size(want); i++) {
        const char *name = NULL;
        if (core_to_text(PyList_GetItem(want, i), "want", &name) < 0 ||
            add_output(state, name, &kind, n_time, tess_decode_detector_get_info(model), dict,
                       outputs) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *finish_outputs(PyObject *dict, const tess_decode_outputs *outputs)
{
    if (core_put(dict, "log_evidence", PyFloat_FromDouble(outputs->log_evidence)) < 0 ||
        core_put(dict, "n_impossible", PyLong_FromLongLong(outputs->n_impossible)) < 0 ||
        core_put(dict, "first_impossible", PyLong_FromLongLong(outputs->first_impossible)) < 0 ||
        core_put(dict, "likelihood", decode_report_dict(&outputs->likelihood)) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

int decode_design(const core_state *state, PyObject *value, int64_t n_time, int64_t n_coefficient,
                  PyObject *keep, const double **design)
{
    int64_t shape[2];
    if (core_reals(state, value, "design", 2, keep, design, shape) < 0) {
        return -1;
    }
    if (*design && (shape[0] != n_time || shape[1] != n_coefficient)) {
        core_fail(state, TESS_E_SHAPE,
                  "discrete_transition_covariate_data: expected %lld rows (one per time) of %lld "
                  "columns, got %lld of %lld",
                  (long long)n_time, (long long)n_coefficient, (long long)shape[0],
                  (long long)shape[1]);
        return -1;
    }
    return 0;
}

enum {
    PRE_CONTEXT,
    PRE_DETECTOR,
    PRE_OBSERVATION,
    PRE_WANT,
    PRE_DTYPE,
    PRE_OPTIONS,
    PRE_DESIGN,
    PRE_LIKELIHOOD,
    PRE_PROGRESS,
    PRE_KEEP,
    PRE_COUNT
};

static int read_predict(const core_state *state, PyObject *const *values,
                        const tess_decode_detector *model, decode_data *data,
                        tess_decode_predict_config *config)
{
    tess_decode_predict_config_init(config, sizeof *config);
    if (core_to_config(state, values[PRE_OPTIONS], tess_decode_predict_params(), config) < 0 ||
        decode_data_init(state, values[PRE_OBSERVATION], data) < 0 ||
        decode_design(state, values[PRE_DESIGN], data->n_time,
                      tess_decode_detector_get_info(model)->n_coefficient, data->keep,
                      &config->design) < 0) {
        return -1;
    }
    if (values[PRE_LIKELIHOOD]) {
        core_array *array = core_array_from(state, values[PRE_LIKELIHOOD], "log_likelihoods", 0);
        const int failed = !array || PyList_Append(data->keep, (PyObject *)array) < 0;
        config->log_likelihood = array ? &array->view : NULL;
        Py_XDECREF((PyObject *)array);
        return failed ? -1 : 0;
    }
    return 0;
}

// The path in dict, which the CPU found, to the device.
static int send_path(const core_state *state, core_context *context, int64_t n_time,
                     const int64_t *path, PyObject *dict)
{
    core_array *array = core_array_create_there(state, context, TESS_I64, 1, &n_time);
    if (array && core_array_write_there(state, array, path) < 0) {
        Py_CLEAR(array);
    }
    return core_put(dict, "most_likely_bin", (PyObject *)array);
}

static PyObject *predict(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {
        "context", "detector", "observation",    "want",     "dtype",
        "options", "design",   "log_likelihood", "progress", "keep_on_device"};
    static const core_signature signature = {"decode_predict", names, PRE_COUNT, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[PRE_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[PRE_CONTEXT]);
    const tess_decode_detector *model =
        context ? core_handle_get(state, values[PRE_DETECTOR], &core_detector_class) : NULL;
    if (!model) {
        return NULL;
    }
    decode_data data = {.keep = NULL};
    tess_decode_predict_config config;
    tess_decode_outputs outputs;
    PyObject *dict = NULL;
    core_call call;
    int32_t stays = 0;
    if (core_to_flag(values[PRE_KEEP], &stays) == 0 &&
        read_predict(state, values, model, &data, &config) == 0) {
        dict = make_outputs(state, stays ? context : NULL, values[PRE_WANT], values[PRE_DTYPE],
                            model, data.n_time, &outputs);
    }
    if (dict && core_call_begin(&call, state, context, values[PRE_PROGRESS]) == 0) {
        tess_decode_observation observation;
        decode_observation_of(&data, &observation);
        const tess_status status =
            tess_decode_predict(context->handle, model, &observation, &config, &outputs);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(dict);
        }
    } else {
        Py_CLEAR(dict);
    }
    if (dict && stays && outputs.most_likely_bin &&
        send_path(state, context, data.n_time, outputs.most_likely_bin, dict) < 0) {
        Py_CLEAR(dict);
    }
    decode_data_free(&data);
    return dict ? finish_outputs(dict, &outputs) : NULL;
}

enum {
    EM_CONTEXT,
    EM_DETECTOR,
    EM_OBSERVATION,
    EM_WANT,
    EM_DTYPE,
    EM_OPTIONS,
    EM_DESIGN,
    EM_CONCENTRATION,
    EM_STICKINESS,
    EM_PRIOR_WEIGHT,
    EM_FROZEN_ROWS,
    EM_ITERATION,
    EM_CHECKPOINT,
    EM_CHECKPOINT_EVERY,
    EM_RESUME,
    EM_PROGRESS,
    EM_COUNT
};

typedef struct em_watch {
    core_call *call;
    PyObject *callback;
} em_watch;

// On the calling thread, like progress: the first exception waits in the call.
static int on_iteration(void *user, int64_t iteration, double log_evidence, double change)
{
    em_watch *watch = user;
    core_call *call = watch->call;
    if (call->error_type) {
        return 1;
    }
    PyEval_RestoreThread(call->thread);
    PyObject *answer =
        PyObject_CallFunction(watch->callback, "Ldd", (long long)iteration, log_evidence, change);
    const int failed = !answer || PyErr_CheckSignals() != 0;
    if (failed) {
        PyErr_Fetch(&call->error_type, &call->error_value, &call->error_trace);
    }
    Py_XDECREF(answer);
    call->thread = PyEval_SaveThread();
    return failed;
}

static int per_state(const core_state *state, const char *name, int64_t n, int64_t n_state)
{
    if (n != 0 && n != n_state) {
        core_fail(state, TESS_E_SHAPE, "%s has %lld values, the model has %lld states", name,
                  (long long)n, (long long)n_state);
        return -1;
    }
    return 0;
}

static int read_em(const core_state *state, PyObject *const *values,
                   const tess_decode_detector_info *info, decode_data *data, PyObject **path,
                   tess_decode_em_config *config)
{
    int64_t n_concentration = 0;
    int64_t n_stickiness = 0;
    int64_t n_weight = 0;
    tess_decode_em_config_init(config, sizeof *config);
    if (core_to_config(state, values[EM_OPTIONS], tess_decode_em_params(), config) < 0 ||
        decode_data_init(state, values[EM_OBSERVATION], data) < 0 ||
        decode_design(state, values[EM_DESIGN], data->n_time, info->n_coefficient, data->keep,
                      &config->design) < 0 ||
        core_reals(state, values[EM_CONCENTRATION], "discrete_transition_concentration", 1,
                   data->keep, &config->concentration, &n_concentration) < 0 ||
        core_reals(state, values[EM_STICKINESS], "discrete_transition_stickiness", 1, data->keep,
                   &config->stickiness, &n_stickiness) < 0 ||
        core_reals(state, values[EM_PRIOR_WEIGHT], "discrete_transition_prior_weight", 1,
                   data->keep, &config->prior_weight, &n_weight) < 0 ||
        decode_mask(state, values[EM_FROZEN_ROWS], "frozen_discrete_transition_rows", "states",
                    info->n_state, data->keep, &config->frozen_rows) < 0 ||
        per_state(state, "discrete_transition_stickiness", n_stickiness, info->n_state) < 0 ||
        per_state(state, "discrete_transition_prior_weight", n_weight, info->n_state) < 0 ||
        core_to_path(values[EM_CHECKPOINT], path, &config->checkpoint_dir) < 0 ||
        core_to_real(values[EM_CHECKPOINT_EVERY], &config->checkpoint_every_s) < 0 ||
        core_to_flag(values[EM_RESUME], &config->resume) < 0) {
        return -1;
    }
    return 0;
}

static tess_status run_em(core_call *call, tess_decode_detector *model, PyObject *callback,
                          const decode_data *data, tess_decode_em_config *config,
                          tess_decode_outputs *outputs, double *evidence, int64_t *n_iteration)
{
    em_watch watch = {call, callback};
    tess_decode_observation observation;
    decode_observation_of(data, &observation);
    if (callback) {
        config->iteration = on_iteration;
        config->user = &watch;
    }
    return tess_decode_em(call->context->handle, model, &observation, config, outputs, evidence,
                          n_iteration);
}

static PyObject *em(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {
        "context",    "detector",         "observation", "want",         "dtype",       "options",
        "design",     "concentration",    "stickiness",  "prior_weight", "frozen_rows", "iteration",
        "checkpoint", "checkpoint_every", "resume",      "progress"};
    static const core_signature signature = {"decode_em", names, EM_COUNT, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[EM_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[EM_CONTEXT]);
    tess_decode_detector *model =
        context ? core_handle_get(state, values[EM_DETECTOR], &core_detector_class) : NULL;
    if (!model) {
        return NULL;
    }
    decode_data data = {.keep = NULL};
    tess_decode_em_config config;
    tess_decode_outputs outputs;
    core_array *evidence = NULL;
    PyObject *dict = NULL;
    PyObject *path_bytes = NULL;
    int64_t n_iteration = 0;
    core_call call;
    if (read_em(state, values, tess_decode_detector_get_info(model), &data, &path_bytes, &config) ==
        0) {
        evidence = decode_result(state, TESS_F64, 1, config.max_iterations, 0);
        dict = evidence ? make_outputs(state, NULL, values[EM_WANT], values[EM_DTYPE], model,
                                       data.n_time, &outputs)
                        : NULL;
    }
    if (dict && core_call_begin(&call, state, context, values[EM_PROGRESS]) == 0) {
        const tess_status status = run_em(&call, model, values[EM_ITERATION], &data, &config,
                                          &outputs, evidence->view.data, &n_iteration);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(dict);
        }
    } else {
        Py_CLEAR(dict);
    }
    decode_data_free(&data);
    Py_XDECREF(path_bytes);
    if (!dict || core_put(dict, "n_iteration", PyLong_FromLongLong(n_iteration)) < 0 ||
        core_put(dict, "marginal_log_likelihoods", Py_NewRef((PyObject *)evidence)) < 0) {
        Py_CLEAR(dict);
    }
    Py_XDECREF((PyObject *)evidence);
    return dict ? finish_outputs(dict, &outputs) : NULL;
}

// Rows of interior bins into an array of all bins that the caller made.
static PyObject *all_bins(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context", "detector", "rows", "out"};
    static const core_signature signature = {"decode_all_bins", names, 4, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_detector *model =
        context ? core_handle_get(state, values[1], &core_detector_class) : NULL;
    core_array *rows = model ? core_array_from(state, values[2], "rows", 0) : NULL;
    core_array *out = rows ? core_array_from(state, values[3], "out", 1) : NULL;
    core_call call;
    int failed = 1;
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_decode_all_bins(context->handle, model, &rows->view, &out->view);
        failed = core_call_end(&call, status) < 0;
    }
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)out);
    return failed ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_decode_predict_methods[] = {
    {"decode_predict", CORE_METHOD(predict), METH_FASTCALL | METH_KEYWORDS,
     "Likelihood, filter, smoother and most likely path: the outputs asked for, in a dict."},
    {"decode_all_bins", CORE_METHOD(all_bins), METH_FASTCALL | METH_KEYWORDS,
     "Rows over interior bins into out, which has all bins; NaN elsewhere."},
    {"decode_em", CORE_METHOD(em), METH_FASTCALL | METH_KEYWORDS,
     "Expectation maximisation; the model is changed."},
    {NULL, NULL, 0, NULL},
};
