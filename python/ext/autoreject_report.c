// autoreject for Python: the HTML report of a fit.

#include "autoreject.h"

static PyObject *report(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"context", "model",      "log",       "epochs", "path",
                                        "options", "provenance", "overwrite", "use_log"};
    static const core_signature signature = {"autoreject_report", names, 9, 6, 5};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[9];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_autoreject_model *model =
        context ? core_handle_get(state, values[1], &core_model_class) : NULL;
    const tess_autoreject_log *log =
        model ? core_handle_get(state, values[2], &core_log_class) : NULL;
    tess_autoreject_epochs *epochs =
        log ? core_handle_get(state, values[3], &core_epochs_class) : NULL;
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    const char *provenance = NULL;
    int32_t overwrite = 0;
    int result = -1;
    core_call call;
    tess_autoreject_report_config config;
    tess_autoreject_report_config_init(&config, sizeof config);
    if (epochs && core_to_path(values[4], &path_bytes, &path) == 0 &&
        core_to_config(state, values[5], tess_autoreject_report_params(), &config) == 0 &&
        core_to_text(values[6], "provenance", &provenance) == 0 &&
        core_to_flag(values[7], &overwrite) == 0 &&
        core_to_text(values[8], "use_log", &config.use_log) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_autoreject_report(context->handle, model, log, epochs,
                                                          &config, provenance, path, overwrite);
        result = core_call_end(&call, status);
    }
    Py_XDECREF(path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_autoreject_report_methods[] = {
    {"autoreject_report", CORE_METHOD(report), METH_FASTCALL | METH_KEYWORDS,
     "Write the HTML report of a fit."},
    {NULL, NULL, 0, NULL},
};
