// xpcs for Python: models of the same data, weighed.

#include "xpcs.h"

#include <string.h>

enum {
    COMPARE_CONTEXT,
    COMPARE_DATA,
    COMPARE_MODELS,
    COMPARE_MODEL,
    COMPARE_OPTIONS,
    COMPARE_PROGRESS,
    COMPARE_PATH,
    COMPARE_OVERWRITE,
    COMPARE_COUNT
};

enum { MOST_MODELS = 16 };

static const char *const compare_names[] = {"context", "data",     "models", "model",
                                            "options", "progress", "path",   "overwrite"};

typedef struct compare_request {
    core_context *context;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_sample_config config;
    int32_t modes[MOST_MODELS];
    int64_t n_mode;
    const char *path; // of the table; NULL: none
    PyObject *path_bytes;
    int32_t overwrite;
} compare_request;

// "static_isotropic,laminar_flow"
static int read_models(const core_state *state, PyObject *value, compare_request *r)
{
    const char *text = "";
    if (core_to_text(value, "models", &text) < 0) {
        return -1;
    }
    while (*text) {
        const size_t length = strcspn(text, ",");
        int32_t mode = 0;
        const char *name = tess_xpcs_mode_name((tess_xpcs_mode)mode);
        while (mode < MOST_MODELS &&
               !(name && strlen(name) == length && strncmp(name, text, length) == 0)) {
            name = tess_xpcs_mode_name((tess_xpcs_mode)++mode);
        }
        if (mode == MOST_MODELS || r->n_mode == MOST_MODELS) {
            core_fail(state, TESS_E_ARGUMENT,
                      "models: '%.*s' is not one; choose of static_isotropic, static_anisotropic, "
                      "laminar_flow",
                      (int)length, text);
            return -1;
        }
        r->modes[r->n_mode++] = mode;
        text += length + (text[length] == ',');
    }
    return 0;
}

static int read_request(const core_state *state, PyObject *const *values, compare_request *r)
{
    memset(r, 0, sizeof *r);
    tess_xpcs_sample_config_init(&r->config, sizeof r->config);
    r->context = core_to_context(state, values[COMPARE_CONTEXT]);
    r->data =
        r->context ? core_handle_get(state, values[COMPARE_DATA], &core_xpcs_data_class) : NULL;
    return !r->data || read_models(state, values[COMPARE_MODELS], r) < 0 ||
                   xpcs_read_model(state, values[COMPARE_MODEL], &r->model) < 0 ||
                   core_to_config(state, values[COMPARE_OPTIONS], tess_xpcs_sample_params(),
                                  &r->config) < 0 ||
                   core_to_flag(values[COMPARE_OVERWRITE], &r->overwrite) < 0 ||
                   core_to_path(values[COMPARE_PATH], &r->path_bytes, &r->path) < 0
               ? -1
               : 0;
}

static PyObject *row_dict(const tess_xpcs_evidence *e)
{
    const struct {
        const char *key;
        double value;
    } reals[] = {{"log_evidence", e->log_evidence},
                 {"log_evidence_error", e->error},
                 {"probability", e->probability},
                 {"log_bayes_factor", e->log_bayes_factor},
                 {"log_bayes_factor_error", e->log_bayes_factor_error},
                 {"bridge", e->bridge},
                 {"bridge_error", e->bridge_error},
                 {"importance", e->importance},
                 {"importance_error", e->importance_error},
                 {"pareto_k", e->pareto_k},
                 {"laplace", e->laplace},
                 {"r_hat", e->r_hat},
                 {"chi2", e->chi2},
                 {"aic", e->aic},
                 {"bic", e->bic}};
    const char *verdict = tess_xpcs_bayes_words(e->log_bayes_factor, e->log_bayes_factor_error);
    PyObject *dict = PyDict_New();
    int result =
        dict ? core_put(dict, "model", core_text(tess_xpcs_mode_name((tess_xpcs_mode)e->mode)))
             : -1;
    for (size_t k = 0; k < sizeof reals / sizeof *reals && result == 0; k++) {
        result = core_put(dict, reals[k].key, PyFloat_FromDouble(reals[k].value));
    }
    if (result < 0 || core_put(dict, "n_free", PyLong_FromLongLong(e->n_free)) < 0 ||
        core_put(dict, "verdict", core_text(verdict)) < 0 ||
        core_put(dict, "is_converged", PyBool_FromLong(e->is_converged)) < 0 ||
        core_put(dict, "is_doubtful", PyBool_FromLong(e->is_doubtful)) < 0 ||
        core_put(dict, "notes", core_text(e->notes)) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *list_of(const tess_xpcs_evidence *rows, int64_t n)
{
    PyObject *list = PyList_New(0);
    for (int64_t k = 0; k < n && list; k++) {
        PyObject *row = row_dict(&rows[k]);
        if (!row || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *compare(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const core_signature signature = {"xpcs_compare", compare_names, COMPARE_COUNT, 6, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[COMPARE_COUNT];
    tess_xpcs_evidence rows[MOST_MODELS];
    compare_request r;
    core_call call;
    PyObject *list = NULL;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    if (read_request(state, values, &r) == 0 &&
        core_call_begin(&call, state, r.context, values[COMPARE_PROGRESS]) == 0) {
        tess_status status = tess_xpcs_compare(r.context->handle, r.data, &r.model, r.modes,
                                               r.n_mode, NULL, &r.config, rows, sizeof *rows);
        if (status == TESS_OK && r.path) {
            status =
                tess_xpcs_compare_write(r.context->handle, rows, r.n_mode, r.path, r.overwrite);
        }
        list = core_call_end(&call, status) < 0 ? NULL : list_of(rows, r.n_mode);
    }
    Py_XDECREF(r.path_bytes);
    return list;
}

PyMethodDef core_xpcs_compare_methods[] = {
    {"xpcs_compare", CORE_METHOD(compare), METH_FASTCALL | METH_KEYWORDS,
     "Weighs models of the same data by marginal likelihood."},
    {NULL, NULL, 0, NULL}};
