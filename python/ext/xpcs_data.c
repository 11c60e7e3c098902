// xpcs for Python: measured correlations, from files and arrays.

#include "xpcs.h"

#include <string.h>

static void destroy(void *object)
{
    tess_xpcs_data_destroy(object);
}

const core_handle_class core_xpcs_data_class = {"xpcs data set", destroy};

enum {
    DATA_CONTEXT,
    DATA_SOURCE, // path or c2
    DATA_OPTIONS,
    DATA_SETTINGS,
    DATA_KEEP_T0,
    DATA_DT,
    DATA_GAP,
    DATA_PHI_RANGES,
    DATA_BAD_FRAMES,
    DATA_PHI,
    DATA_Q, // of arrays, like sigma
    DATA_SIGMA,
    DATA_C2_PATH, // of files, like the rest
    DATA_ANGLES_LAST,
    DATA_CACHE_FOLDER,
    DATA_CACHE_TEMPLATE,
    DATA_NO_CACHE,
    DATA_SIGMA_DATASET,
    DATA_PROGRESS,
    DATA_COUNT
};

static const char *const data_names[] = {"context",
                                         "source",
                                         "options",
                                         "settings",
                                         "keep_t0",
                                         "dt",
                                         "gap",
                                         "phi_ranges",
                                         "bad_frames",
                                         "phi",
                                         "q",
                                         "sigma",
                                         "c2_path",
                                         "angles_last",
                                         "cache_folder",
                                         "cache_template",
                                         "no_cache",
                                         "sigma_dataset",
                                         "progress"};

// What a call keeps alive for its config: arrays and encoded paths.
typedef struct data_request {
    core_context *context;
    PyObject *keep;
    PyObject *source;
    PyObject *cache_folder;
    tess_xpcs_data_config config;
    int64_t n_phi;
} data_request;

static int read_ranges(const core_state *state, PyObject *value, PyObject *keep,
                       tess_xpcs_data_config *config)
{
    const double *ends = NULL;
    int64_t shape[2];
    if (!value) {
        return 0;
    }
    if (core_reals(state, value, "phi_ranges", 2, keep, &ends, shape) < 0) {
        return -1;
    }
    if (shape[1] != 2) {
        core_fail(state, TESS_E_SHAPE, "phi_ranges: expected pairs of minimum and maximum");
        return -1;
    }
    _Static_assert(sizeof(tess_xpcs_angle_range) == 2 * sizeof(double), "a range is two doubles");
    config->phi_ranges = (const tess_xpcs_angle_range *)(const void *)ends;
    config->n_phi_range = shape[0];
    return 0;
}

// False, True or 2 as in tess_xpcs_data_config.
static int read_keep_t0(const core_state *state, PyObject *value, int32_t *keep_t0)
{
    int64_t number = *keep_t0;
    if (core_to_int(state, value, "keep_t0", 0, 2, &number) < 0) {
        return -1;
    }
    *keep_t0 = (int32_t)number;
    return 0;
}

static int read_file_options(PyObject *const *values, data_request *r)
{
    tess_xpcs_data_config *config = &r->config;
    return core_to_text(values[DATA_C2_PATH], "c2_path", &config->c2_path) < 0 ||
                   core_to_flag(values[DATA_ANGLES_LAST], &config->angles_last) < 0 ||
                   core_to_path(values[DATA_CACHE_FOLDER], &r->cache_folder,
                                &config->cache_folder) < 0 ||
                   core_to_text(values[DATA_CACHE_TEMPLATE], "cache_template",
                                &config->cache_template) < 0 ||
                   core_to_flag(values[DATA_NO_CACHE], &config->no_cache) < 0 ||
                   core_to_text(values[DATA_SIGMA_DATASET], "sigma_dataset",
                                &config->sigma_dataset) < 0
               ? -1
               : 0;
}

static int read_request(const core_state *state, PyObject *const *values, data_request *r)
{
    memset(r, 0, sizeof *r);
    tess_xpcs_data_config *config = &r->config;
    tess_xpcs_data_config_init(config, sizeof *config);
    r->context = core_to_context(state, values[DATA_CONTEXT]);
    r->keep = r->context ? PyList_New(0) : NULL;
    if (!r->keep) {
        return -1;
    }
    const tess_xpcs_settings_info *settings = xpcs_settings_info(state, values[DATA_SETTINGS]);
    if (settings) {
        *config = settings->data;
    } else if (PyErr_Occurred()) {
        return -1;
    }
    const double *phi = NULL;
    if (core_to_config(state, values[DATA_OPTIONS], tess_xpcs_data_params(), config) < 0 ||
        read_keep_t0(state, values[DATA_KEEP_T0], &config->keep_t0) < 0 ||
        core_to_real(values[DATA_DT], &config->dt_s) < 0 ||
        core_to_real(values[DATA_GAP], &config->gap_angstrom) < 0 ||
        read_ranges(state, values[DATA_PHI_RANGES], r->keep, config) < 0 ||
        core_reals(state, values[DATA_PHI], "phi", 1, r->keep, &phi, &r->n_phi) < 0 ||
        read_file_options(values, r) < 0) {
        return -1;
    }
    if (phi) {
        config->phi = phi;
        config->n_phi = r->n_phi;
    }
    if (!values[DATA_BAD_FRAMES]) {
        return 0;
    }
    return xpcs_indices(state, values[DATA_BAD_FRAMES], "bad_frames", r->keep, &config->bad_frames,
                        &config->n_bad_frame);
}

static void free_request(data_request *r)
{
    Py_XDECREF(r->keep);
    Py_XDECREF(r->source);
    Py_XDECREF(r->cache_folder);
}

static PyObject *open_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const core_signature signature = {"xpcs_open", data_names, DATA_COUNT, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[DATA_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    data_request r;
    const char *path = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (read_request(state, values, &r) == 0 &&
        core_to_path(values[DATA_SOURCE], &r.source, &path) == 0) {
        handle = core_handle_create(state, r.context, &core_xpcs_data_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[DATA_PROGRESS]) == 0) {
        tess_xpcs_data *made = NULL;
        const tess_status status = tess_xpcs_data_open(r.context->handle, path, &r.config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    free_request(&r);
    return (PyObject *)handle;
}

// c2 with as many matrices as there are angles.
static core_array *read_matrices(const core_state *state, PyObject *value, const data_request *r)
{
    core_array *c2 = core_array_from(state, value, "c2", 0);
    if (!c2) {
        return NULL;
    }
    const int64_t n = c2->view.rank == 3 ? c2->view.shape[0] : 1;
    if (n == r->n_phi && (c2->view.rank == 2 || c2->view.rank == 3)) {
        return c2;
    }
    if (c2->view.rank != 2 && c2->view.rank != 3) {
        core_fail(state, TESS_E_SHAPE,
                  "c2: expected (n_angle, n_frame, n_frame) or one matrix, "
                  "got %d axes",
                  (int)c2->view.rank);
    } else {
        core_fail(state, TESS_E_SHAPE, "c2: expected a matrix for each of %lld angles, got %lld",
                  (long long)r->n_phi, (long long)n);
    }
    Py_DECREF((PyObject *)c2);
    return NULL;
}

static PyObject *from_array(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const core_signature signature = {"xpcs_from_array", data_names, DATA_COUNT, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[DATA_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    data_request r;
    const double *q = NULL;
    core_array *c2 = NULL;
    core_array *sigma = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (read_request(state, values, &r) == 0 &&
        xpcs_vector(state, values[DATA_Q], "q", r.n_phi, r.keep, &q) == 0) {
        c2 = read_matrices(state, values[DATA_SOURCE], &r);
        sigma = c2 && values[DATA_SIGMA] ? core_array_from(state, values[DATA_SIGMA], "sigma", 0)
                                         : NULL;
    }
    if (c2 && (sigma || !values[DATA_SIGMA])) {
        handle = core_handle_create(state, r.context, &core_xpcs_data_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[DATA_PROGRESS]) == 0) {
        tess_xpcs_data *made = NULL;
        const tess_status status =
            tess_xpcs_data_from_array(r.context->handle, &c2->view, r.config.phi, q,
                                      sigma ? &sigma->view : NULL, &r.config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF((PyObject *)c2);
    Py_XDECREF((PyObject *)sigma);
    free_request(&r);
    return (PyObject *)handle;
}

static PyObject *data_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_data *data = core_handle_get(state, value, &core_xpcs_data_class);
    if (!data) {
        return NULL;
    }
    const tess_xpcs_data_info *i = tess_xpcs_data_get_info(data);
    PyObject *dict = Py_BuildValue(
        "{sisssNsLsLsLsLsdsdsLsLsKsNsssNsN}", "residency", (int)i->residency, "dtype",
        i->dtype == TESS_F32 ? "float32" : "float64", "has_sigma", PyBool_FromLong(i->has_sigma),
        "n_angle", (long long)i->n_angle, "n_frame", (long long)i->n_frame, "n_point",
        (long long)i->n_point, "n_used", (long long)i->n_used, "dt", i->dt_s, "gap",
        i->gap_angstrom, "start_frame", (long long)i->start_frame, "end_frame",
        (long long)i->end_frame, "bytes", (unsigned long long)i->bytes, "path", core_text(i->path),
        "layout", i->layout, "notes", core_text(i->notes), "keep_t0", PyBool_FromLong(i->keep_t0));
    if (dict &&
        (core_put(dict, "phi", core_show_reals(state, value, i->phi, i->n_angle, -1)) < 0 ||
         core_put(dict, "q", core_show_reals(state, value, i->q, i->n_angle, -1)) < 0 ||
         core_put(dict, "mean", core_show_reals(state, value, i->mean, i->n_angle, -1)) < 0 ||
         core_put(dict, "n_finite", core_show_ints(state, value, i->n_finite, i->n_angle, -1)) <
             0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *data_rows(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "data", "angle", "first", "count"};
    static const core_signature signature = {"xpcs_data_rows", names, 5, 5, 5};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    int64_t angle = 0;
    int64_t first = 0;
    int64_t count = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_xpcs_data *data =
        context ? core_handle_get(state, values[1], &core_xpcs_data_class) : NULL;
    if (!data || core_to_int(state, values[2], "angle", 0, INT64_MAX, &angle) < 0 ||
        core_to_int(state, values[3], "first", 0, INT64_MAX, &first) < 0 ||
        core_to_int(state, values[4], "count", 0, INT32_MAX, &count) < 0) {
        return NULL;
    }
    core_array *out = xpcs_reals(state, count, tess_xpcs_data_get_info(data)->n_frame);
    core_call call;
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_xpcs_data_rows(context->handle, data, angle, first, count, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

static PyObject *data_angle(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"context", "data", "angle"};
    static const core_signature signature = {"xpcs_data_angle", names, 3, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    int64_t angle = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_xpcs_data *data =
        context ? core_handle_get(state, values[1], &core_xpcs_data_class) : NULL;
    if (!data || core_to_int(state, values[2], "angle", 0, INT64_MAX, &angle) < 0) {
        return NULL;
    }
    core_handle *handle = core_handle_create(state, context, &core_xpcs_data_class, NULL);
    core_call call;
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_xpcs_data *made = NULL;
        const tess_status status = tess_xpcs_data_angle(context->handle, data, angle, &made);
        core_handle_end(&handle, &call, made, status);
    }
    return (PyObject *)handle;
}

// Copies of the curves: tau, age, and a row for every angle and window of g2, error and n_pair.
static PyObject *show_g2(const core_state *state, const tess_xpcs_g2_info *i)
{
    const int64_t n_curve = i->n_angle * i->n_window;
    core_array *arrays[5] = {
        xpcs_reals(state, i->n_lag, -1), xpcs_reals(state, i->n_window + 1, -1),
        xpcs_reals(state, n_curve, i->n_lag), xpcs_reals(state, n_curve, i->n_lag),
        xpcs_reals(state, n_curve, i->n_lag)};
    PyObject *answer = NULL;
    if (arrays[0] && arrays[1] && arrays[2] && arrays[3] && arrays[4]) {
        const size_t bytes = (size_t)(n_curve * i->n_lag) * sizeof(double);
        double *pairs = arrays[4]->view.data;
        memcpy(arrays[0]->view.data, i->tau, (size_t)i->n_lag * sizeof(double));
        memcpy(arrays[1]->view.data, i->age, (size_t)(i->n_window + 1) * sizeof(double));
        memcpy(arrays[2]->view.data, i->g2, bytes);
        memcpy(arrays[3]->view.data, i->error, bytes);
        for (int64_t k = 0; k < n_curve * i->n_lag; k++) {
            pairs[k] = (double)i->n_pair[k]; // below 2^53
        }
        answer = PyTuple_Pack(5, (PyObject *)arrays[0], (PyObject *)arrays[1],
                              (PyObject *)arrays[2], (PyObject *)arrays[3], (PyObject *)arrays[4]);
    }
    for (int k = 0; k < 5; k++) {
        Py_XDECREF((PyObject *)arrays[k]);
    }
    return answer;
}

static PyObject *one_time(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {"context", "data", "n_window", "per_level", "progress"};
    static const core_signature signature = {"xpcs_g2", names, 5, 5, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    tess_xpcs_g2_config config;
    tess_xpcs_g2_config_init(&config, sizeof config);
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_xpcs_data *data =
        context ? core_handle_get(state, values[1], &core_xpcs_data_class) : NULL;
    if (!data || core_to_int(state, values[2], "n_window", 1, INT32_MAX, &config.n_window) < 0 ||
        core_to_int(state, values[3], "per_level", 0, INT32_MAX, &config.per_level) < 0) {
        return NULL;
    }
    PyObject *answer = NULL;
    core_call call;
    if (core_call_begin(&call, state, context, values[4]) == 0) {
        tess_xpcs_g2 *g2 = NULL;
        const tess_status status = tess_xpcs_g2_compute(context->handle, data, &config, &g2);
        if (core_call_end(&call, status) == 0) {
            answer = show_g2(state, tess_xpcs_g2_get_info(g2));
        }
        tess_xpcs_g2_destroy(g2);
    }
    return answer;
}

// Contrast and offset, or sigma: one or two vectors with a value for every angle.
static PyObject *per_angle(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords, int is_sigma)
{
    static const char *const names[] = {"context", "data", "progress"};
    const core_signature signature = {is_sigma ? "xpcs_sigma" : "xpcs_scaling", names, 3, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_xpcs_data *data =
        context ? core_handle_get(state, values[1], &core_xpcs_data_class) : NULL;
    const int64_t n = data ? tess_xpcs_data_get_info(data)->n_angle : 0;
    core_array *a = data ? xpcs_reals(state, n, -1) : NULL;
    core_array *b = a ? xpcs_reals(state, n, -1) : NULL;
    PyObject *answer = NULL;
    core_call call;
    if (b && core_call_begin(&call, state, context, values[2]) == 0) {
        const tess_status status =
            is_sigma ? tess_xpcs_data_estimate_sigma(context->handle, data, a->view.data)
                     : tess_xpcs_data_quantile_scaling(context->handle, data, a->view.data,
                                                       b->view.data);
        if (core_call_end(&call, status) == 0) {
            answer =
                is_sigma ? Py_NewRef((PyObject *)a) : PyTuple_Pack(2, (PyObject *)a, (PyObject *)b);
        }
    }
    Py_XDECREF((PyObject *)a);
    Py_XDECREF((PyObject *)b);
    return answer;
}

static PyObject *scaling(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    return per_angle(module, args, n_arg, keywords, 0);
}

static PyObject *sigma(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    return per_angle(module, args, n_arg, keywords, 1);
}

static PyObject *save(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "data", "path", "overwrite", "progress"};
    static const core_signature signature = {"xpcs_save", names, 5, 5, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[5];
    int32_t overwrite = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[3], &overwrite) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_xpcs_data *data =
        context ? core_handle_get(state, values[1], &core_xpcs_data_class) : NULL;
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    int result = -1;
    core_call call;
    if (data && core_to_path(values[2], &path_bytes, &path) == 0 &&
        core_call_begin(&call, state, context, values[4]) == 0) {
        result = core_call_end(&call, tess_xpcs_data_save(context->handle, data, path, overwrite));
    }
    Py_XDECREF(path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *restore(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "file", "path", "layout"};
    static const core_signature signature = {"xpcs_restore", names, 4, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *file_bytes = NULL;
    PyObject *path_bytes = NULL;
    const char *file = NULL;
    const char *path = NULL;
    const char *layout = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (context && core_to_path(values[1], &file_bytes, &file) == 0 &&
        core_to_path(values[2], &path_bytes, &path) == 0 &&
        core_to_text(values[3], "layout", &layout) == 0) {
        handle = core_handle_create(state, context, &core_xpcs_data_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_xpcs_data *made = NULL;
        const tess_status status =
            tess_xpcs_data_restore(context->handle, file, path, layout, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(file_bytes);
    Py_XDECREF(path_bytes);
    return (PyObject *)handle;
}

static PyObject *bin_list(const tess_xpcs_file_info *info)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < info->n_bin; i++) {
        const tess_xpcs_bin *bin = &info->bins[i];
        PyObject *entry =
            Py_BuildValue("{sLsLsdsdsNsN}", "number", (long long)bin->number, "n_frame",
                          (long long)bin->n_frame, "q", bin->q, "phi", bin->phi, "dataset",
                          core_text(bin->dataset), "is_valid", PyBool_FromLong(bin->is_valid));
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *inspect(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "path"};
    static const core_signature signature = {"xpcs_inspect", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    PyObject *dict = NULL;
    tess_xpcs_file *file = NULL;
    core_call call;
    if (context && core_to_path(values[1], &path_bytes, &path) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0 &&
        core_call_end(&call, tess_xpcs_file_inspect(context->handle, path, &file)) == 0) {
        const tess_xpcs_file_info *i = tess_xpcs_file_get_info(file);
        dict = Py_BuildValue("{sssssdsdsLsLsssNsN}", "layout", i->layout, "dtype",
                             i->dtype == TESS_F32 ? "float32" : "float64", "dt", i->dt_s,
                             "frame_time", i->frame_time_s, "stride", (long long)i->stride,
                             "averaging", (long long)i->averaging, "filter", i->filter, "notes",
                             core_text(i->notes), "bins", bin_list(i));
    }
    tess_xpcs_file_close(file);
    Py_XDECREF(path_bytes);
    return dict;
}

PyMethodDef core_xpcs_data_methods[] = {
    {"xpcs_open", CORE_METHOD(open_file), METH_FASTCALL | METH_KEYWORDS,
     "Correlations of a file; returns a Handle."},
    {"xpcs_from_array", CORE_METHOD(from_array), METH_FASTCALL | METH_KEYWORDS,
     "Correlations of an array; returns a Handle."},
    {"xpcs_data_info", data_info, METH_O, "What a data set is."},
    {"xpcs_data_rows", CORE_METHOD(data_rows), METH_FASTCALL | METH_KEYWORDS,
     "Rows of an angle's matrix."},
    {"xpcs_data_angle", CORE_METHOD(data_angle), METH_FASTCALL | METH_KEYWORDS,
     "One angle as a data set of its own; returns a Handle."},
    {"xpcs_g2", CORE_METHOD(one_time), METH_FASTCALL | METH_KEYWORDS,
     "One-time correlations: tau, age, g2, errors, numbers of pairs."},
    {"xpcs_scaling", CORE_METHOD(scaling), METH_FASTCALL | METH_KEYWORDS,
     "Contrast and offset by quantiles."},
    {"xpcs_sigma", CORE_METHOD(sigma), METH_FASTCALL | METH_KEYWORDS,
     "Noise of every angle from differences of neighbours."},
    {"xpcs_restore", CORE_METHOD(restore), METH_FASTCALL | METH_KEYWORDS,
     "Data as they were before they were saved."},
    {"xpcs_save", CORE_METHOD(save), METH_FASTCALL | METH_KEYWORDS, "Write a .txc2 file."},
    {"xpcs_inspect", CORE_METHOD(inspect), METH_FASTCALL | METH_KEYWORDS,
     "Layout and bins of a file."},
    {NULL, NULL, 0, NULL},
};
