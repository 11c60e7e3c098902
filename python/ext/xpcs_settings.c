// xpcs for Python: the original's configuration files.

#include "xpcs.h"

static void destroy(void *object)
{
    tess_xpcs_settings_destroy(object);
}

const core_handle_class core_xpcs_settings_class = {"xpcs configuration", destroy};

const tess_xpcs_settings_info *xpcs_settings_info(const core_state *state, PyObject *value)
{
    if (!value || value == Py_None) {
        return NULL;
    }
    const tess_xpcs_settings *settings = core_handle_get(state, value, &core_xpcs_settings_class);
    return settings ? tess_xpcs_settings_get_info(settings) : NULL;
}

static PyObject *load(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "path", "lenient"};
    static const core_signature signature = {"xpcs_settings", names, 3, 3, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    int32_t lenient = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[2], &lenient) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    core_handle *handle = NULL;
    core_call call;
    if (context && core_to_path(values[1], &path_bytes, &path) == 0) {
        handle = core_handle_create(state, context, &core_xpcs_settings_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_xpcs_settings *made = NULL;
        const tess_status status = tess_xpcs_settings_load(context->handle, path, lenient, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(path_bytes);
    return (PyObject *)handle;
}

static PyObject *set(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"settings", "key", "text"};
    static const core_signature signature = {"xpcs_settings_set", names, 3, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    const char *key = NULL;
    const char *text = NULL;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_text(values[1], "key", &key) < 0 || core_to_text(values[2], "text", &text) < 0) {
        return NULL;
    }
    tess_xpcs_settings *settings = core_handle_get(state, values[0], &core_xpcs_settings_class);
    if (!settings) {
        return NULL;
    }
    const tess_status status = tess_xpcs_settings_set(settings, key, text);
    return status == TESS_OK ? Py_NewRef(Py_None) : core_raise(state, status, tess_last_error());
}

// Vectors over the physical parameters; None where the configuration says nothing.
static int put_vectors(const core_state *state, PyObject *owner, PyObject *dict,
                       const tess_xpcs_settings_info *i)
{
    const int64_t n = xpcs_n_param(&i->model);
    const tess_xpcs_fit_config *fit = &i->fit;
    return core_put(dict, "start", core_show_reals(state, owner, fit->start, n, -1)) < 0 ||
                   core_put(dict, "lower", core_show_reals(state, owner, fit->lower, n, -1)) < 0 ||
                   core_put(dict, "upper", core_show_reals(state, owner, fit->upper, n, -1)) < 0 ||
                   core_put(dict, "x_scale", core_show_reals(state, owner, fit->x_scale, n, -1)) <
                       0 ||
                   core_put(dict, "fixed", core_show_mask(state, owner, fit->is_fixed, n)) < 0
               ? -1
               : 0;
}

// A value of a parameter table as Python has it.
static PyObject *param_value(const tess_param *param, const void *structure)
{
    const char *field = (const char *)structure + param->offset;
    char text[64];
    switch (param->type) {
    case TESS_PARAM_INT:
        return PyLong_FromLongLong(*(const int64_t *)(const void *)field);
    case TESS_PARAM_REAL:
        return PyFloat_FromDouble(*(const double *)(const void *)field);
    case TESS_PARAM_FLAG:
        return PyBool_FromLong(*(const int32_t *)(const void *)field);
    default:
        tess_param_get_text(param, structure, text, sizeof text);
        return core_text(text);
    }
}

// Table xpcs.sample as the configuration has it, and its priors.
static PyObject *sample_dict(const core_state *state, PyObject *owner,
                             const tess_xpcs_sample_config *config)
{
    const tess_param_table *table = tess_xpcs_sample_params();
    const int64_t n = TESS_XPCS_MAX_PARAM;
    PyObject *dict = PyDict_New();
    int status = dict ? 0 : -1;
    for (int64_t k = 0; k < table->n_param && status == 0; k++) {
        status = core_put(dict, table->params[k].name, param_value(&table->params[k], config));
    }
    if (status == 0 &&
        (core_put(dict, "prior_mean", core_show_reals(state, owner, config->prior_mean, n, -1)) <
             0 ||
         core_put(dict, "prior_sd", core_show_reals(state, owner, config->prior_sd, n, -1)) < 0 ||
         core_put(dict, "contrast_prior",
                  core_show_reals(state, owner, config->contrast_prior, 2, -1)) < 0 ||
         core_put(dict, "offset_prior",
                  core_show_reals(state, owner, config->offset_prior, 2, -1)) < 0)) {
        status = -1;
    }
    if (status < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_settings_info *i = xpcs_settings_info(state, value);
    if (!i) {
        return NULL;
    }
    PyObject *dict = Py_BuildValue(
        "{sNsNsNsNsisisLsLsKsNsNsN}", "data_path", core_text(i->data_path), "output_folder",
        core_text(i->output_folder), "model", xpcs_model_dict(&i->model), "has_sigma",
        PyBool_FromLong(i->has_sigma), "save_plots", (int)i->save_plots, "log_level",
        (int)i->log_level, "exclude_lags", (long long)i->data.exclude_lags, "n_thread",
        (long long)i->n_thread, "memory_limit", (unsigned long long)i->memory_limit_bytes, "device",
        core_text(i->device), "method", core_text(i->method), "notices", core_text(i->notices));
    if (dict && (put_vectors(state, value, dict, i) < 0 ||
                 core_put(dict, "sample", sample_dict(state, value, i->sample)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *json(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "settings"};
    static const core_signature signature = {"xpcs_settings_json", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_xpcs_settings *settings =
        context ? core_handle_get(state, values[1], &core_xpcs_settings_class) : NULL;
    core_call call;
    if (!settings || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    char *text = NULL;
    const tess_status status = tess_xpcs_settings_json(context->handle, settings, &text);
    PyObject *result = core_call_end(&call, status) < 0 ? NULL : core_text(text);
    tess_text_free(text);
    return result;
}

static PyObject *template_text(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                               PyObject *keywords)
{
    static const char *const names[] = {"context", "model", "minimal"};
    static const core_signature signature = {"xpcs_template", names, 3, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    tess_xpcs_model model;
    int32_t minimal = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        xpcs_read_model(state, values[1], &model) < 0 || core_to_flag(values[2], &minimal) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    core_call call;
    if (!context || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    char *text = NULL;
    const tess_status status =
        tess_xpcs_settings_template(context->handle, (tess_xpcs_mode)model.mode, minimal, &text);
    PyObject *result = core_call_end(&call, status) < 0 ? NULL : core_text(text);
    tess_text_free(text);
    return result;
}

PyMethodDef core_xpcs_settings_methods[] = {
    {"xpcs_settings", CORE_METHOD(load), METH_FASTCALL | METH_KEYWORDS,
     "A configuration file, or all defaults; returns a Handle."},
    {"xpcs_settings_set", CORE_METHOD(set), METH_FASTCALL | METH_KEYWORDS,
     "Set one value as if the file had said so."},
    {"xpcs_settings_info", info, METH_O, "What a configuration says."},
    {"xpcs_settings_json", CORE_METHOD(json), METH_FASTCALL | METH_KEYWORDS,
     "Everything in force as JSON."},
    {"xpcs_template", CORE_METHOD(template_text), METH_FASTCALL | METH_KEYWORDS,
     "A commented configuration file."},
    {NULL, NULL, 0, NULL},
};
