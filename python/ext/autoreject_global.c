// autoreject for Python: global thresholds, validation curves, RANSAC.

#include "autoreject.h"

#include <string.h>

// What all of them begin with: a context, epochs and some of their channels.
typedef struct channel_call {
    const core_state *state;
    core_context *context;
    tess_autoreject_epochs *epochs;
    const tess_autoreject_epochs_info *info;
    PyObject *keep;
    const int64_t *channels;
    int64_t n_channel;
} channel_call;

static int begin(PyObject *module, PyObject *const *values, channel_call *out)
{
    memset(out, 0, sizeof *out);
    out->state = PyModule_GetState(module);
    out->context = core_to_context(out->state, values[0]);
    if (!out->context) {
        return -1;
    }
    out->epochs = core_handle_get(out->state, values[1], &core_epochs_class);
    out->keep = out->epochs ? PyList_New(0) : NULL;
    if (!out->keep) {
        return -1;
    }
    out->info = tess_autoreject_epochs_get_info(out->epochs);
    return autoreject_indices(out->state, values[2], "channels", out->keep, &out->channels,
                              &out->n_channel);
}

static PyObject *first_reals(const core_state *state, const core_array *array, int64_t n)
{
    core_array *out = core_array_create(state, TESS_F64, 8, 1, &n);
    if (out && n) {
        memcpy(out->view.data, array->view.data, (size_t)n * sizeof(double));
    }
    return (PyObject *)out;
}

static PyObject *global(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "epochs", "channels", "options", "progress"};
    static const core_signature signature = {"autoreject_global", names, 5, 4, 3};
    PyObject *values[5];
    channel_call with;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    tess_autoreject_global_config config;
    tess_autoreject_global_config_init(&config, sizeof config);
    core_array *candidates = NULL;
    core_array *objectives = NULL;
    PyObject *dict = NULL;
    if (begin(module, values, &with) == 0 &&
        core_to_config(with.state, values[3], tess_autoreject_global_params(), &config) == 0) {
        candidates = core_array_create(with.state, TESS_F64, 8, 1, &with.info->n_epoch);
        objectives = core_array_create(with.state, TESS_F64, 8, 1, &with.info->n_epoch);
    }
    core_call call;
    if (candidates && objectives &&
        core_call_begin(&call, with.state, with.context, values[4]) == 0) {
        tess_autoreject_global_result found = {.struct_size = sizeof found,
                                               .candidates = candidates->view.data,
                                               .objectives = objectives->view.data};
        const tess_status status = tess_autoreject_global(
            with.context->handle, with.epochs, with.channels, with.n_channel, &config, &found);
        if (core_call_end(&call, status) == 0) {
            dict = Py_BuildValue(
                "{sdsdsNsN}", "threshold", found.threshold, "objective", found.objective,
                "candidates", first_reals(with.state, candidates, found.n_candidate), "objectives",
                first_reals(with.state, objectives, found.n_candidate));
        }
    }
    Py_XDECREF((PyObject *)candidates);
    Py_XDECREF((PyObject *)objectives);
    Py_XDECREF(with.keep);
    return dict;
}

static PyObject *validation_curve(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                  PyObject *keywords)
{
    static const char *const names[] = {"context",    "epochs", "channels",
                                        "thresholds", "folds",  "progress"};
    static const core_signature signature = {"autoreject_validation_curve", names, 6, 5, 5};
    PyObject *values[6];
    channel_call with;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    const double *thresholds = NULL;
    const uint8_t *folds = NULL;
    int64_t shape[2] = {0, 0};
    core_array *train = NULL;
    core_array *test = NULL;
    PyObject *result = NULL;
    if (begin(module, values, &with) == 0 &&
        core_reals(with.state, values[3], "thresholds", 1, with.keep, &thresholds, &shape[0]) ==
            0 &&
        autoreject_folds(with.state, values[4], with.info->n_epoch, with.keep, &folds, &shape[1]) ==
            0) {
        train = core_array_create(with.state, TESS_F64, 8, 2, shape);
        test = core_array_create(with.state, TESS_F64, 8, 2, shape);
    }
    core_call call;
    if (train && test && core_call_begin(&call, with.state, with.context, values[5]) == 0) {
        const tess_status status = tess_autoreject_validation_curve(
            with.context->handle, with.epochs, with.channels, with.n_channel, thresholds, shape[0],
            folds, shape[1], train->view.data, test->view.data);
        if (core_call_end(&call, status) == 0) {
            result = PyTuple_Pack(2, train, test);
        }
    }
    Py_XDECREF((PyObject *)train);
    Py_XDECREF((PyObject *)test);
    Py_XDECREF(with.keep);
    return result;
}

enum { SUBSETS, MAPPINGS, CORRELATIONS, BAD_LOG, BAD, N_RANSAC };

static int make_ransac(const channel_call *with, const tess_autoreject_ransac_config *config,
                       core_array **arrays)
{
    const int64_t n = with->n_channel;
    const int64_t size = tess_autoreject_ransac_subset_size(config, n);
    const int64_t subsets[2] = {config->n_resample, size};
    const int64_t mappings[3] = {config->n_resample, n, size};
    const int64_t log[2] = {with->info->n_epoch, n};
    arrays[SUBSETS] = core_array_create(with->state, TESS_I64, 8, 2, subsets);
    arrays[MAPPINGS] = core_array_create(with->state, TESS_F64, 8, 3, mappings);
    arrays[CORRELATIONS] = core_array_create(with->state, TESS_F64, 8, 2, log);
    arrays[BAD_LOG] = core_array_create(with->state, TESS_U8, 1, 2, log);
    arrays[BAD] = core_array_create(with->state, TESS_U8, 1, 1, &n);
    for (int i = 0; i < N_RANSAC; i++) {
        if (!arrays[i]) {
            return -1;
        }
    }
    return 0;
}

static PyObject *ransac(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "epochs", "channels", "options", "progress"};
    static const core_signature signature = {"autoreject_ransac", names, 5, 4, 3};
    PyObject *values[5];
    channel_call with;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    tess_autoreject_ransac_config config;
    tess_autoreject_ransac_config_init(&config, sizeof config);
    core_array *arrays[N_RANSAC] = {NULL};
    PyObject *dict = NULL;
    core_call call;
    if (begin(module, values, &with) == 0 &&
        core_to_config(with.state, values[3], tess_autoreject_ransac_params(), &config) == 0 &&
        make_ransac(&with, &config, arrays) == 0 &&
        core_call_begin(&call, with.state, with.context, values[4]) == 0) {
        tess_autoreject_ransac_result found = {.struct_size = sizeof found,
                                               .subsets = arrays[SUBSETS]->view.data,
                                               .mappings = arrays[MAPPINGS]->view.data,
                                               .correlations = arrays[CORRELATIONS]->view.data,
                                               .bad_log = arrays[BAD_LOG]->view.data,
                                               .bad = arrays[BAD]->view.data};
        const tess_status status = tess_autoreject_ransac(
            with.context->handle, with.epochs, with.channels, with.n_channel, &config, &found);
        if (core_call_end(&call, status) == 0) {
            dict = Py_BuildValue("{sOsOsOsOsO}", "subsets", arrays[SUBSETS], "mappings",
                                 arrays[MAPPINGS], "correlations", arrays[CORRELATIONS], "bad_log",
                                 arrays[BAD_LOG], "bad", arrays[BAD]);
        }
    }
    for (int i = 0; i < N_RANSAC; i++) {
        Py_XDECREF((PyObject *)arrays[i]);
    }
    Py_XDECREF(with.keep);
    return dict;
}

PyMethodDef core_autoreject_global_methods[] = {
    {"autoreject_global", CORE_METHOD(global), METH_FASTCALL | METH_KEYWORDS,
     "The threshold of one type and its curve."},
    {"autoreject_validation_curve", CORE_METHOD(validation_curve), METH_FASTCALL | METH_KEYWORDS,
     "(train, test) scores of thresholds."},
    {"autoreject_ransac", CORE_METHOD(ransac), METH_FASTCALL | METH_KEYWORDS,
     "Channels that others do not predict."},
    {NULL, NULL, 0, NULL},
};
