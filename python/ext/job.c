// Plans run over files: the part that is the same for every computation.

#include "core.h"

#include <stdlib.h>
#include <string.h>

static tess_status open_sink(core_job *job, tess_context *ctx)
{
    if (!job->output) {
        return tess_sink_from_array(ctx, &job->array->view, &job->sink);
    }
    return tess_sink_create(ctx, job->output, &job->sink_config, (tess_dtype)job->dtype, job->rank,
                            job->shape, &job->sink);
}

// With resume: the output may be there already as the finished result of this very job.
static tess_status find_finished(core_job *job, tess_context *ctx)
{
    int finished = 0;
    if (!job->output || !job->run_config.resume || job->sink_config.overwrite) {
        return TESS_OK;
    }
    const tess_status status = tess_run_is_finished(ctx, job->plan, job->source, job->output,
                                                    job->run_config.checkpoint_dir, &finished);
    return status == TESS_OK && finished ? tess_file_provenance(ctx, job->output, &job->found)
                                         : status;
}

static tess_status execute(core_job *job, tess_context *ctx)
{
    tess_status status = job->make_plan(ctx, job->source, job->config, &job->plan);
    if (status == TESS_OK) {
        status = find_finished(job, ctx);
    }
    if (status != TESS_OK || job->found) {
        return status;
    }
    status = open_sink(job, ctx);
    if (status == TESS_OK) {
        status =
            tess_run_create(ctx, job->plan, job->source, job->sink, &job->run_config, &job->run);
    }
    return status == TESS_OK ? tess_run_execute(job->run) : status;
}

static PyObject *describe(const core_job *job, const core_state *state)
{
    const tess_plan_info *plan = tess_plan_get_info(job->plan);
    tess_run_report report = {.resumed = 1, .first_item = plan->n_item};
    if (job->run) {
        const tess_status status = tess_run_get_report(job->run, &report, sizeof report);
        if (status != TESS_OK) {
            return core_raise(state, status, tess_last_error());
        }
    }
    return Py_BuildValue(
        "{sssssLsLsLsKsNsLsdsdsLsN}", "strategy", tess_strategy_name((tess_strategy)plan->strategy),
        "reason", plan->reason, "n_item", (long long)plan->n_item, "items_per_tile",
        (long long)plan->items_per_tile, "n_tile", (long long)plan->n_tile, "memory_bytes",
        (unsigned long long)plan->memory_bytes, "resumed", PyBool_FromLong(report.resumed),
        "first_item", (long long)report.first_item, "elapsed_s", report.elapsed_s, "read_wait_s",
        report.read_wait_s, "n_checkpoint", (long long)report.n_checkpoint, "provenance",
        core_text(job->run ? tess_run_provenance(job->run) : job->found));
}

static void close_job(core_job *job)
{
    tess_run_destroy(job->run);
    tess_sink_close(job->sink);
    tess_plan_destroy(job->plan);
    tess_text_free(job->found);
}

PyObject *core_job_run(core_job *job, const core_state *state, core_context *context,
                       PyObject *progress)
{
    core_call call;
    if (core_call_begin(&call, state, context, progress) < 0) {
        return NULL;
    }
    const tess_status status = execute(job, context->handle);
    PyObject *report = core_call_end(&call, status) < 0 ? NULL : describe(job, state);
    Py_BEGIN_ALLOW_THREADS close_job(job);
    Py_END_ALLOW_THREADS return report;
}

// Room for a data set. Texts come as bytes, along an axis of their own.
static core_array *array_for(const core_state *state, const tess_source_info *info)
{
    int64_t shape[TESS_MAX_RANK + 1];
    memcpy(shape, info->shape, (size_t)info->rank * sizeof *shape);
    if (info->dtype != TESS_BYTES && info->dtype != TESS_UCS4) {
        return core_array_create(state, info->dtype, info->item_bytes, info->rank, shape);
    }
    shape[info->rank] = info->item_bytes;
    return core_array_create(state, TESS_U8, 1, info->rank + 1, shape);
}

PyObject *core_read_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "path", "dataset"};
    static const core_signature signature = {"read_file", names, 3, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    if (!context || core_to_path(values[1], &path_bytes, &path) < 0 ||
        core_to_text(values[2], "dataset", &config.dataset) < 0) {
        Py_XDECREF(path_bytes);
        return NULL;
    }
    core_array *array = NULL;
    tess_source *source = NULL;
    core_call call;
    if (core_call_begin(&call, state, context, NULL) < 0) {
        goto done;
    }
    tess_status status = tess_source_open(context->handle, path, &config, &source);
    if (core_call_end(&call, status) < 0) {
        goto done;
    }
    const tess_source_info *info = tess_source_get_info(source);
    array = array_for(state, info);
    if (!array || core_call_begin(&call, state, context, NULL) < 0) {
        Py_CLEAR(array);
        goto done;
    }
    const uint64_t bytes =
        (uint64_t)tess_array_items(&array->view) * (uint64_t)array->view.item_bytes;
    status = tess_source_read(source, 0, info->rank ? info->shape[0] : 1, array->view.data, bytes);
    if (core_call_end(&call, status) < 0) {
        Py_CLEAR(array);
    }
done:
    Py_BEGIN_ALLOW_THREADS tess_source_close(source);
    Py_END_ALLOW_THREADS Py_XDECREF(path_bytes);
    return (PyObject *)array;
}

// Gathers what tess_file_list() visits; runs with the GIL released, so takes it per data set.
static int add_dataset(void *user, const tess_dataset_info *info)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *shape = PyList_New(0);
    for (int32_t i = 0; shape && i < info->rank; i++) {
        PyObject *length = PyLong_FromLongLong(info->shape[i]);
        if (!length || PyList_Append(shape, length) < 0) {
            Py_CLEAR(shape);
        }
        Py_XDECREF(length);
    }
    PyObject *tuple = shape ? PyList_AsTuple(shape) : NULL;
    PyObject *entry = NULL;
    if (tuple) {
        entry = Py_BuildValue("{sNsOsNss}", "name", core_text(info->name), "shape", tuple, "type",
                              core_text(info->type_text), "dtype",
                              info->dtype ? tess_dtype_name((tess_dtype)info->dtype) : "");
    }
    const int failed = !entry || PyList_Append(user, entry) < 0;
    Py_XDECREF(entry);
    Py_XDECREF(tuple);
    Py_XDECREF(shape);
    PyGILState_Release(gil);
    return failed;
}

PyObject *core_list_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "path"};
    static const core_signature signature = {"list_file", names, 2, 2, 2};
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
    PyObject *datasets = PyList_New(0);
    PyObject *result = NULL;
    char *provenance = NULL;
    const char *format = "";
    core_call call;
    if (datasets && core_call_begin(&call, state, context, NULL) == 0) {
        tess_status status = tess_file_list(context->handle, path, &format, add_dataset, datasets);
        if (status == TESS_OK) {
            status = tess_file_provenance(context->handle, path, &provenance);
        }
        if (core_call_end(&call, status) == 0 && !PyErr_Occurred()) {
            result = Py_BuildValue("{sssOsz}", "format", format, "datasets", datasets, "provenance",
                                   provenance);
        }
    }
    tess_text_free(provenance);
    Py_XDECREF(datasets);
    Py_DECREF(path_bytes);
    return result;
}
