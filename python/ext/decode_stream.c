// decode for Python: predictions into files, and their report.

#include "decode.h"

enum {
    ST_CONTEXT,
    ST_DETECTOR,
    ST_OBSERVATION,
    ST_PATH,
    ST_WANT,
    ST_DTYPE,
    ST_OVERWRITE,
    ST_RESUME,
    ST_CHECKPOINT,
    ST_EVERY,
    ST_N_CHUNK,
    ST_COMMAND_LINE,
    ST_DESIGN,
    ST_RECORDING,
    ST_INTERVALS,
    ST_PROGRESS,
    ST_COUNT
};

static const char *const stream_names[] = {
    "context",   "detector",   "observation",      "path",    "want",         "dtype",  "overwrite",
    "resume",    "checkpoint", "checkpoint_every", "n_chunk", "command_line", "design", "recording",
    "intervals", "progress"};

typedef struct stream_input {
    decode_data data;
    PyObject *path_bytes;
    PyObject *checkpoint_bytes;
    tess_decode_stream_config config;
    tess_decode_intervals intervals;
} stream_input;

static int read_recording(const core_state *state, PyObject *value,
                          const tess_decode_recording_info **info)
{
    if (!value) {
        return 0;
    }
    const tess_decode_recording *recording = core_handle_get(state, value, &core_recording_class);
    *info = recording ? tess_decode_recording_get_info(recording) : NULL;
    return recording ? 0 : -1;
}

// Starts, then ends: [2][n].
static int read_intervals(const core_state *state, PyObject *value, stream_input *input)
{
    tess_decode_intervals *intervals = &input->intervals;
    int64_t shape[2] = {2, 0};
    tess_decode_intervals_init(intervals, sizeof *intervals);
    if (!value) {
        return 0;
    }
    if (core_reals(state, value, "intervals", 2, input->data.keep, &intervals->start, shape) < 0) {
        return -1;
    }
    if (shape[0] != 2) {
        core_fail(state, TESS_E_SHAPE, "intervals: expected a row of starts and one of ends");
        return -1;
    }
    intervals->n = shape[1];
    intervals->end = intervals->start + shape[1];
    input->config.intervals = intervals;
    return 0;
}

static int read_stream(const core_state *state, PyObject *const *values,
                       const tess_decode_detector *model, stream_input *input)
{
    tess_decode_stream_config *config = &input->config;
    tess_decode_stream_config_init(config, sizeof *config);
    int64_t want = config->want;
    if (core_to_path(values[ST_PATH], &input->path_bytes, &config->path) < 0 ||
        core_to_int(state, values[ST_WANT], "want", 0, 31, &want) < 0 ||
        (values[ST_DTYPE] && decode_dtype(state, values[ST_DTYPE], &config->dtype) < 0) ||
        core_to_flag(values[ST_OVERWRITE], &config->overwrite) < 0 ||
        core_to_flag(values[ST_RESUME], &config->resume) < 0 ||
        core_to_path(values[ST_CHECKPOINT], &input->checkpoint_bytes, &config->checkpoint_dir) <
            0 ||
        core_to_real(values[ST_EVERY], &config->checkpoint_every_s) < 0 ||
        core_to_int(state, values[ST_N_CHUNK], "n_chunks", 0, INT64_MAX, &config->n_chunk) < 0 ||
        core_to_text(values[ST_COMMAND_LINE], "command_line", &config->command_line) < 0 ||
        read_recording(state, values[ST_RECORDING], &config->recording) < 0 ||
        decode_data_init(state, values[ST_OBSERVATION], &input->data) < 0 ||
        decode_design(state, values[ST_DESIGN], input->data.n_time,
                      tess_decode_detector_get_info(model)->n_coefficient, input->data.keep,
                      &config->design) < 0 ||
        read_intervals(state, values[ST_INTERVALS], input) < 0) {
        return -1;
    }
    config->want = (int32_t)want;
    return 0;
}

static PyObject *stream_dict(const tess_decode_stream_report *report)
{
    return Py_BuildValue(
        "{sNsLsLsKsKsdsdsdsdsdsdsLsdsLsLsLsLsLsN}", "resumed", PyBool_FromLong(report->resumed),
        "n_chunk", (long long)report->n_chunk, "rows_per_chunk", (long long)report->rows_per_chunk,
        "memory_bytes", (unsigned long long)report->memory_bytes, "limit_bytes",
        (unsigned long long)report->limit_bytes, "log_evidence", report->log_evidence, "elapsed_s",
        report->elapsed_s, "likelihood_s", report->likelihood_s, "filter_s", report->filter_s,
        "smoother_s", report->smoother_s, "write_s", report->write_s, "n_checkpoint",
        (long long)report->n_checkpoint, "checkpoint_s", report->checkpoint_s, "n_impossible",
        (long long)report->n_impossible, "first_impossible", (long long)report->first_impossible,
        "n_row", (long long)report->n_row, "n_interval", (long long)report->n_interval, "n_empty",
        (long long)report->n_empty, "likelihood", decode_report_dict(&report->likelihood));
}

typedef tess_status (*stream_fn)(tess_context *ctx, const tess_decode_detector *detector,
                                 const tess_decode_observation *observation,
                                 const tess_decode_stream_config *config,
                                 tess_decode_stream_report *report);

static PyObject *run_stream(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords, stream_fn function)
{
    static const core_signature signature = {"decode_stream", stream_names, ST_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[ST_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[ST_CONTEXT]);
    const tess_decode_detector *model =
        context ? core_handle_get(state, values[ST_DETECTOR], &core_detector_class) : NULL;
    if (!model) {
        return NULL;
    }
    stream_input input = {.path_bytes = NULL};
    tess_decode_stream_report report = {.struct_size = sizeof report};
    PyObject *result = NULL;
    core_call call;
    if (read_stream(state, values, model, &input) == 0 &&
        core_call_begin(&call, state, context, values[ST_PROGRESS]) == 0) {
        tess_decode_observation observation;
        decode_observation_of(&input.data, &observation);
        const tess_status status =
            function(context->handle, model, &observation, &input.config, &report);
        result = core_call_end(&call, status) < 0 ? NULL : stream_dict(&report);
    }
    decode_data_free(&input.data);
    Py_XDECREF(input.path_bytes);
    Py_XDECREF(input.checkpoint_bytes);
    return result;
}

static PyObject *stream(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    return run_stream(module, args, n_arg, keywords, tess_decode_stream);
}

static PyObject *stream_plan(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    return run_stream(module, args, n_arg, keywords, tess_decode_stream_plan);
}

static PyObject *report(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "result", "path", "recording", "overwrite"};
    static const core_signature signature = {"decode_report", names, 5, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_recording *recording = NULL;
    PyObject *result_bytes = NULL;
    PyObject *path_bytes = NULL;
    const char *result_path = NULL;
    const char *path = NULL;
    int32_t overwrite = 0;
    int done = -1;
    core_call call;
    if (context && values[3]) {
        recording = core_handle_get(state, values[3], &core_recording_class);
    }
    if (context && !PyErr_Occurred() && core_to_path(values[1], &result_bytes, &result_path) == 0 &&
        core_to_path(values[2], &path_bytes, &path) == 0 &&
        core_to_flag(values[4], &overwrite) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_decode_report(context->handle, result_path, recording, NULL, path, overwrite);
        done = core_call_end(&call, status);
    }
    Py_XDECREF(result_bytes);
    Py_XDECREF(path_bytes);
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_decode_stream_methods[] = {
    {"decode_stream", CORE_METHOD(stream), METH_FASTCALL | METH_KEYWORDS,
     "Predict into a file within the memory limit; returns what happened."},
    {"decode_stream_plan", CORE_METHOD(stream_plan), METH_FASTCALL | METH_KEYWORDS,
     "What a prediction would need."},
    {"decode_report", CORE_METHOD(report), METH_FASTCALL | METH_KEYWORDS,
     "Write the HTML report of a result."},
    {NULL, NULL, 0, NULL},
};
