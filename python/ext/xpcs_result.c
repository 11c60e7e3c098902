// xpcs for Python: what a fit found, and its files.

#include "xpcs.h"

static void destroy(void *object)
{
    tess_xpcs_result_destroy(object);
}

const core_handle_class core_xpcs_result_class = {"xpcs fit", destroy};

static PyObject *name_list(const char *const *names, int64_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *text = core_text(names[i]);
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *trace_array(const core_state *state, const tess_xpcs_result_info *info)
{
    core_array *array = xpcs_reals(state, info->n_trace, 6);
    double *out = array ? array->view.data : NULL;
    for (int64_t i = 0; array && i < info->n_trace; i++) {
        const tess_xpcs_trace *t = &info->trace[i];
        const double row[6] = {(double)t->iteration, t->cost,   t->gradient_norm,
                               t->step_norm,         t->radius, (double)t->is_accepted};
        for (int k = 0; k < 6; k++) {
            out[6 * i + k] = row[k];
        }
    }
    return (PyObject *)array;
}

static PyObject *basin_list(const core_state *state, PyObject *owner,
                            const tess_xpcs_result_info *info)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < info->n_basin; i++) {
        const tess_xpcs_basin *basin = &info->basins[i];
        PyObject *theta = core_show_reals(state, owner, basin->theta, info->n_param, -1);
        PyObject *entry =
            theta ? Py_BuildValue("{sLsdsdsN}", "n_start", (long long)basin->n_start, "cost",
                                  basin->cost, "chi2", 2 * basin->cost, "theta", theta)
                  : NULL;
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

// Numbers that say how the fit went.
static PyObject *scalars(const tess_xpcs_result_info *i)
{
    PyObject *dict = Py_BuildValue(
        "{sdsdsdsdsdsdsdsdsdsdsKsLsLsLsLsLsLsLsLsLsLsLsi}", "dt", i->dt_s, "gap", i->gap_angstrom,
        "cost", i->cost, "chi2", i->chi2, "reduced_chi2", i->reduced_chi2, "aic", i->aic, "bic",
        i->bic, "gradient_norm", i->gradient_norm, "condition", i->condition, "points_per_s",
        i->points_per_s, "peak_bytes", (unsigned long long)i->peak_bytes, "dof", (long long)i->dof,
        "n_used", (long long)i->n_used, "n_masked", (long long)i->n_masked, "n_point",
        (long long)i->n_point, "n_frame", (long long)i->n_frame, "n_free", (long long)i->n_free,
        "n_iteration", (long long)i->n_iteration, "nfev", (long long)i->nfev, "n_pass",
        (long long)i->n_pass, "seed", (long long)i->seed, "n_checkpoint",
        (long long)i->n_checkpoint, "termination", (int)i->termination);
    if (dict && core_put(dict, "seconds",
                         Py_BuildValue("{sdsdsdsdsd}", "read", i->seconds[0], "model",
                                       i->seconds[1], "solve", i->seconds[2], "checkpoint",
                                       i->seconds[3], "total", i->seconds[4])) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static int put_words(PyObject *dict, const tess_xpcs_result_info *i)
{
    const struct {
        const char *key;
        const char *text;
    } words[] = {
        {"mode", tess_xpcs_mode_name((tess_xpcs_mode)i->mode)},
        {"kernel", tess_xpcs_kernel_name((tess_xpcs_kernel)i->kernel)},
        {"strategy", tess_strategy_name((tess_strategy)i->strategy)},
        {"convergence", tess_xpcs_convergence_name((tess_xpcs_convergence)i->convergence)},
        {"quality", tess_xpcs_quality_name((tess_xpcs_quality)i->quality)},
        {"message", i->message},
        {"warnings", i->warnings},
        {"recovery", i->recovery},
        {"device", i->device},
        {"data_path", i->data_path},
        {"data_fingerprint", i->data_fingerprint},
        {"config_hash", i->config_hash},
        {"tessera_version", i->tessera_version},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (core_put(dict, words[k].key, core_text(words[k].text ? words[k].text : "")) < 0) {
            return -1;
        }
    }
    const int32_t flags[] = {i->scaling,   i->loss,    i->sigma_mode,      i->counting,
                             i->precision, i->resumed, i->sigma_is_default};
    static const char *const keys[] = {"scaling",   "loss",    "sigma_mode",      "counting",
                                       "precision", "resumed", "sigma_is_default"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (core_put(dict, keys[k], PyLong_FromLong(flags[k])) < 0) {
            return -1;
        }
    }
    return 0;
}

static int put_vectors(const core_state *state, PyObject *owner, PyObject *dict,
                       const tess_xpcs_result_info *i)
{
    const core_named_reals vectors[] = {
        {"theta", i->theta, i->n_param, -1},
        {"sd", i->sd, i->n_param, -1},
        {"contrast", i->contrast, i->n_angle, -1},
        {"contrast_sd", i->contrast_sd, i->n_angle, -1},
        {"offset", i->offset, i->n_angle, -1},
        {"offset_sd", i->offset_sd, i->n_angle, -1},
        {"covariance", i->covariance, i->n_covariance, i->n_covariance},
        {"correlation", i->correlation, i->n_covariance, i->n_covariance},
        {"start", i->start, i->n_param, -1},
        {"lower", i->lower, i->n_param, -1},
        {"upper", i->upper, i->n_param, -1},
        {"phi", i->phi, i->n_angle, -1},
        {"q", i->q, i->n_angle, -1},
        {"sigma", i->sigma, i->n_angle, -1},
        {"reduced_chi2_angle", i->reduced_chi2_angle, i->n_angle, -1},
        {"bootstrap_sd", i->bootstrap_sd, i->n_param, -1},
        {"interval_lower", i->interval_lower, i->n_param, -1},
        {"interval_upper", i->interval_upper, i->n_param, -1},
        {"bootstrap", i->bootstrap, i->n_bootstrap, i->n_param},
        {"f_product", &i->f_product, 2, -1},
    };
    if (core_put_reals(state, owner, dict, vectors, sizeof vectors / sizeof *vectors) < 0) {
        return -1;
    }
    return core_put(dict, "status", xpcs_show_int32(state, owner, i->status, i->n_param)) < 0 ||
                   core_put(dict, "contrast_status",
                            xpcs_show_int32(state, owner, i->contrast_status, i->n_angle)) < 0 ||
                   core_put(dict, "offset_status",
                            xpcs_show_int32(state, owner, i->offset_status, i->n_angle)) < 0 ||
                   core_put(dict, "interval_kind",
                            xpcs_show_int32(state, owner, i->interval_kind, i->n_param)) < 0 ||
                   core_put(dict, "n_used_angle",
                            core_show_ints(state, owner, i->n_used_angle, i->n_angle, -1)) < 0
               ? -1
               : 0;
}

static PyObject *status_names(void)
{
    PyObject *list = PyList_New(0);
    for (int i = TESS_XPCS_FREE; list && i <= TESS_XPCS_UNIDENTIFIED; i++) {
        PyObject *text = core_text(tess_xpcs_param_status_name((tess_xpcs_param_status)i));
        if (!text || PyList_Append(list, text) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *result_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_result *result = core_handle_get(state, value, &core_xpcs_result_class);
    if (!result) {
        return NULL;
    }
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    PyObject *dict = scalars(info);
    if (dict && (put_words(dict, info) < 0 || put_vectors(state, value, dict, info) < 0 ||
                 core_put(dict, "names", name_list(info->names, info->n_param)) < 0 ||
                 core_put(dict, "trace", trace_array(state, info)) < 0 ||
                 core_put(dict, "basins", basin_list(state, value, info)) < 0 ||
                 core_put(dict, "status_names", status_names()) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

enum {
    OUT_CONTEXT,
    OUT_RESULT,
    OUT_DATA,
    OUT_MODEL,
    OUT_PATH,
    OUT_OVERWRITE,
    OUT_PROGRESS,
    OUT_SURFACES, // of folders, like the rest
    OUT_FIGURES,
    OUT_HDF5,
    OUT_REPORT,
    OUT_COMMAND,
    OUT_COUNT,
    REPORT_COUNT = OUT_SURFACES
};

static const char *const out_names[] = {"context", "result",    "data",     "model",
                                        "path",    "overwrite", "progress", "surfaces",
                                        "figures", "hdf5",      "report",   "command"};

typedef struct out_request {
    core_context *context;
    const tess_xpcs_result *result; // NULL: figures of the data alone
    tess_xpcs_data *data;
    tess_xpcs_model model;
    PyObject *path_bytes;
    const char *path;
    int32_t overwrite;
} out_request;

static int read_request(const core_state *state, PyObject *const *values, out_request *r)
{
    *r = (out_request){.context = core_to_context(state, values[OUT_CONTEXT])};
    r->data = r->context ? core_handle_get(state, values[OUT_DATA], &core_xpcs_data_class) : NULL;
    if (!r->data || xpcs_read_model(state, values[OUT_MODEL], &r->model) < 0 ||
        core_to_flag(values[OUT_OVERWRITE], &r->overwrite) < 0) {
        return -1;
    }
    if (values[OUT_RESULT]) {
        r->result = core_handle_get(state, values[OUT_RESULT], &core_xpcs_result_class);
        if (!r->result) {
            return -1;
        }
    }
    return core_to_path(values[OUT_PATH], &r->path_bytes, &r->path);
}

static PyObject *write_folder(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                              PyObject *keywords)
{
    static const core_signature signature = {"xpcs_result_write", out_names, OUT_COUNT, 5, 5};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[OUT_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    out_request r;
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    int result = -1;
    core_call call;
    if (read_request(state, values, &r) == 0 &&
        core_to_flag(values[OUT_SURFACES], &config.surfaces) == 0 &&
        core_to_flag(values[OUT_FIGURES], &config.figures) == 0 &&
        core_to_flag(values[OUT_HDF5], &config.hdf5) == 0 &&
        core_to_flag(values[OUT_REPORT], &config.report) == 0 &&
        core_to_text(values[OUT_COMMAND], "command", &config.command_line) == 0 &&
        core_call_begin(&call, state, r.context, values[OUT_PROGRESS]) == 0) {
        config.overwrite = r.overwrite;
        result = core_call_end(&call, tess_xpcs_result_write(r.context->handle, r.result, r.data,
                                                             &r.model, r.path, &config));
    }
    Py_XDECREF(r.path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *draw(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords,
                      int is_report)
{
    const core_signature signature = {is_report ? "xpcs_report" : "xpcs_figures", out_names,
                                      REPORT_COUNT, 6, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[REPORT_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    out_request r;
    int result = -1;
    core_call call;
    if (read_request(state, values, &r) == 0 &&
        core_call_begin(&call, state, r.context, values[OUT_PROGRESS]) == 0) {
        tess_context *ctx = r.context->handle;
        const tess_status status =
            is_report ? tess_xpcs_report(ctx, r.result, r.data, &r.model, r.path, r.overwrite)
                      : tess_xpcs_figures(ctx, r.result, r.data, &r.model, r.path, r.overwrite);
        result = core_call_end(&call, status);
    }
    Py_XDECREF(r.path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *report(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    return draw(module, args, n_arg, keywords, 1);
}

static PyObject *figures(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    return draw(module, args, n_arg, keywords, 0);
}

static PyObject *json(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const core_signature signature = {"xpcs_result_json", out_names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_xpcs_result *result =
        context ? core_handle_get(state, values[1], &core_xpcs_result_class) : NULL;
    core_call call;
    if (!result || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    char *text = NULL;
    const tess_status status = tess_xpcs_result_json(context->handle, result, &text);
    PyObject *answer = core_call_end(&call, status) < 0 ? NULL : core_text(text);
    tess_text_free(text);
    return answer;
}

static PyObject *pack(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_result *result = core_handle_get(state, value, &core_xpcs_result_class);
    if (!result) {
        return NULL;
    }
    const size_t n = tess_xpcs_result_pack(result, NULL, 0);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (bytes) {
        tess_xpcs_result_pack(result, PyBytes_AsString(bytes), n);
    }
    return bytes;
}

static PyObject *unpack(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "packed"};
    static const core_signature signature = {"xpcs_result_unpack", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    char *bytes = NULL;
    Py_ssize_t n = 0;
    core_handle *handle = NULL;
    core_call call;
    if (context && PyBytes_AsStringAndSize(values[1], &bytes, &n) == 0) {
        handle = core_handle_create(state, context, &core_xpcs_result_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_xpcs_result *made = NULL;
        const tess_status status =
            tess_xpcs_result_unpack(context->handle, bytes, (size_t)n, &made);
        core_handle_end(&handle, &call, made, status);
    }
    return (PyObject *)handle;
}

PyMethodDef core_xpcs_result_methods[] = {
    {"xpcs_result_info", result_info, METH_O, "What a fit found."},
    {"xpcs_result_write", CORE_METHOD(write_folder), METH_FASTCALL | METH_KEYWORDS,
     "Write the files of a result."},
    {"xpcs_report", CORE_METHOD(report), METH_FASTCALL | METH_KEYWORDS, "Write an HTML page."},
    {"xpcs_figures", CORE_METHOD(figures), METH_FASTCALL | METH_KEYWORDS,
     "Write maps of every angle."},
    {"xpcs_result_json", CORE_METHOD(json), METH_FASTCALL | METH_KEYWORDS,
     "The whole result as JSON."},
    {"xpcs_result_pack", pack, METH_O, "The result as bytes."},
    {"xpcs_result_unpack", CORE_METHOD(unpack), METH_FASTCALL | METH_KEYWORDS,
     "The result of such bytes."},
    {NULL, NULL, 0, NULL},
};
