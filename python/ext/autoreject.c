// autoreject for Python.

#include "core.h"

static tess_status plan_ptp(tess_context *ctx, const tess_source *source, const void *config,
                            tess_plan **out)
{
    return tess_autoreject_ptp_plan_create(ctx, source, config, out);
}

static tess_status plan_simulate(tess_context *ctx, const tess_source *source, const void *config,
                                 tess_plan **out)
{
    (void)source;
    return tess_autoreject_simulate_plan_create(ctx, config, out);
}

// Where the result goes: out, or new memory of the shape x calls for. A wrong rank of x is left
// for the core to name.
static core_array *result_for(const core_state *state, const core_array *x, PyObject *out)
{
    if (out) {
        return core_array_from(state, out, "out", 1);
    }
    if (x->view.space == TESS_SPACE_DEVICE) {
        core_fail(state, TESS_E_ARGUMENT,
                  "out: x is on a device; give out, an array of shape (n_epoch, n_chan) there");
        return NULL;
    }
    const int32_t rank = x->view.rank < 2 ? x->view.rank : 2;
    return core_array_create(state, x->view.dtype, x->view.item_bytes, rank, x->view.shape);
}

static PyObject *ptp(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "x", "out", "options", "progress"};
    static const core_signature signature = {"autoreject_ptp", names, 5, 5, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    if (!context || core_to_config(state, values[3], tess_autoreject_ptp_params(), &config) < 0) {
        return NULL;
    }
    core_array *x = core_array_from(state, values[1], "x", 0);
    core_array *out = x ? result_for(state, x, values[2]) : NULL;
    core_call call;
    if (out && core_call_begin(&call, state, context, values[4]) == 0) {
        const tess_status status =
            tess_autoreject_ptp(context->handle, &x->view, &config, &out->view);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF((PyObject *)x);
    return (PyObject *)out;
}

// Arguments of a run over files, shared by all that have one.
static const char *const run_names[] = {
    "context",          "path",           "output",     "options",
    "progress",         "dataset",        "resume",     "overwrite",
    "allow_truncated",  "output_dataset", "checkpoint", "checkpoint_every",
    "keep_checkpoints", "command_line",
};

enum { N_RUN_NAME = sizeof run_names / sizeof *run_names };

// Encoded paths that the job points into.
typedef struct run_paths {
    PyObject *input_bytes;
    PyObject *output_bytes;
    PyObject *checkpoint_bytes;
    const char *input;
} run_paths;

static void drop_paths(run_paths *paths)
{
    Py_XDECREF(paths->input_bytes);
    Py_XDECREF(paths->output_bytes);
    Py_XDECREF(paths->checkpoint_bytes);
}

static int parse_run(const core_state *state, PyObject *const *values, core_job *job,
                     tess_source_config *source_config, run_paths *paths)
{
    tess_sink_config_init(&job->sink_config, sizeof job->sink_config);
    tess_run_config_init(&job->run_config, sizeof job->run_config);
    tess_source_config_init(source_config, sizeof *source_config);
    if (core_to_path(values[1], &paths->input_bytes, &paths->input) < 0 ||
        core_to_path(values[2], &paths->output_bytes, &job->output) < 0 ||
        core_to_text(values[5], "dataset", &source_config->dataset) < 0 ||
        core_to_flag(values[6], &job->run_config.resume) < 0 ||
        core_to_flag(values[7], &job->sink_config.overwrite) < 0 ||
        core_to_flag(values[8], &source_config->allow_truncated) < 0 ||
        core_to_text(values[9], "output_dataset", &job->sink_config.dataset) < 0 ||
        core_to_path(values[10], &paths->checkpoint_bytes, &job->run_config.checkpoint_dir) < 0 ||
        core_to_real(values[11], &job->run_config.checkpoint_every_s) < 0 ||
        core_to_int(state, values[12], "keep_checkpoints", 1, 1000,
                    &job->run_config.keep_checkpoints) < 0 ||
        core_to_text(values[13], "command_line", &job->run_config.command_line) < 0) {
        return -1;
    }
    return 0;
}

static int open_source(const core_state *state, core_context *context, core_job *job,
                       const tess_source_config *config, const char *path)
{
    core_call call;
    if (core_call_begin(&call, state, context, NULL) < 0) {
        return -1;
    }
    const tess_status status = tess_source_open(context->handle, path, config, &job->source);
    return core_call_end(&call, status);
}

// Shape and memory of the result once the source is known. The plan refuses a wrong rank before
// any of it is used.
static int prepare_ptp(const core_state *state, core_job *job)
{
    const tess_source_info *info = tess_source_get_info(job->source);
    job->dtype = info->dtype;
    job->rank = info->rank < 2 ? info->rank : 2;
    for (int32_t i = 0; i < job->rank; i++) {
        job->shape[i] = info->shape[i];
    }
    if (!job->output) {
        job->array = core_array_create(state, info->dtype, info->item_bytes, job->rank, job->shape);
    }
    return job->output || job->array ? 0 : -1;
}

// (Array or None, report)
static PyObject *job_result(core_job *job, PyObject *report)
{
    PyObject *result = NULL;
    if (report) {
        result = PyTuple_Pack(2, job->array ? (PyObject *)job->array : Py_None, report);
    }
    Py_XDECREF(report);
    Py_XDECREF((PyObject *)job->array);
    return result;
}

static PyObject *ptp_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const core_signature signature = {"autoreject_ptp_file", run_names, N_RUN_NAME, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[N_RUN_NAME];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    core_job job = {.make_plan = plan_ptp, .config = &config};
    tess_source_config source_config;
    run_paths paths = {NULL, NULL, NULL, NULL};
    PyObject *report = NULL;
    if (context && core_to_config(state, values[3], tess_autoreject_ptp_params(), &config) == 0 &&
        parse_run(state, values, &job, &source_config, &paths) == 0 &&
        open_source(state, context, &job, &source_config, paths.input) == 0 &&
        prepare_ptp(state, &job) == 0) {
        report = core_job_run(&job, state, context, values[4]);
    }
    Py_BEGIN_ALLOW_THREADS tess_source_close(job.source);
    Py_END_ALLOW_THREADS drop_paths(&paths);
    return job_result(&job, report);
}

static int prepare_simulate(const core_state *state, core_job *job,
                            const tess_autoreject_simulate_config *config)
{
    job->dtype = config->dtype_index == 0 ? TESS_F32 : TESS_F64;
    job->rank = 3;
    job->shape[0] = config->n_epoch;
    job->shape[1] = config->n_chan;
    job->shape[2] = config->n_time;
    if (!job->output) {
        const int64_t item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)job->dtype);
        job->array = core_array_create(state, job->dtype, item_bytes, job->rank, job->shape);
    }
    return job->output || job->array ? 0 : -1;
}

static PyObject *simulate(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const core_signature signature = {"autoreject_simulate", run_names, N_RUN_NAME, 3, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[N_RUN_NAME];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_autoreject_simulate_config config;
    tess_autoreject_simulate_config_init(&config, sizeof config);
    core_job job = {.make_plan = plan_simulate, .config = &config};
    tess_source_config no_source;
    run_paths paths = {NULL, NULL, NULL, NULL};
    PyObject *report = NULL;
    if (context &&
        core_to_config(state, values[3], tess_autoreject_simulate_params(), &config) == 0 &&
        parse_run(state, values, &job, &no_source, &paths) == 0 &&
        prepare_simulate(state, &job, &config) == 0) {
        report = core_job_run(&job, state, context, values[4]);
    }
    drop_paths(&paths);
    return job_result(&job, report);
}

static PyObject *ptp_report(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"context", "ptp", "path", "provenance", "overwrite"};
    static const core_signature signature = {"autoreject_ptp_report", names, 5, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    const char *provenance = NULL;
    int32_t overwrite = 0;
    int result = -1;
    if (context && core_to_path(values[2], &path_bytes, &path) == 0 &&
        core_to_text(values[3], "provenance", &provenance) == 0 &&
        core_to_flag(values[4], &overwrite) == 0) {
        core_array *array = core_array_from(state, values[1], "ptp", 0);
        core_call call;
        if (array && core_call_begin(&call, state, context, NULL) == 0) {
            const tess_status status = tess_autoreject_ptp_report(context->handle, &array->view,
                                                                  provenance, path, overwrite);
            result = core_call_end(&call, status);
        }
        Py_XDECREF((PyObject *)array);
    }
    Py_XDECREF(path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_autoreject_methods[] = {
    {"autoreject_ptp", CORE_METHOD(ptp), METH_FASTCALL | METH_KEYWORDS,
     "Peak-to-peak of an array into out or a new Array, which is returned."},
    {"autoreject_ptp_file", CORE_METHOD(ptp_file), METH_FASTCALL | METH_KEYWORDS,
     "Peak-to-peak of a file; returns (Array or None, report)."},
    {"autoreject_simulate", CORE_METHOD(simulate), METH_FASTCALL | METH_KEYWORDS,
     "Simulated epochs into memory or a file; returns (Array or None, report)."},
    {"autoreject_ptp_report", CORE_METHOD(ptp_report), METH_FASTCALL | METH_KEYWORDS,
     "Write the HTML report of a peak-to-peak result."},
    {NULL, NULL, 0, NULL},
};
