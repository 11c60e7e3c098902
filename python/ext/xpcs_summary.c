// xpcs for Python: what chains of draws say.

#include "xpcs.h"

static int put_numbers(PyObject *dict, const tess_xpcs_summary *s)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"mean", s->mean},         {"sd", s->sd},
                {"r_hat", s->r_hat},       {"ess_bulk", s->ess_bulk},
                {"ess_tail", s->ess_tail}, {"ess_mean", s->ess_mean},
                {"ess_sd", s->ess_sd},     {"mcse_mean", s->mcse_mean},
                {"mcse_sd", s->mcse_sd}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (core_put(dict, rows[k].key, PyFloat_FromDouble(rows[k].value)) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *summarise(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "draws"};
    static const core_signature signature = {"xpcs_summarise", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    const double *x = NULL;
    int64_t shape[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    PyObject *dict = NULL;
    core_call call;
    if (keep && core_reals(state, values[1], "draws", 2, keep, &x, shape) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        tess_xpcs_summary found;
        const tess_status status =
            tess_xpcs_summarise(context->handle, x, shape[0], shape[1], &found);
        if (core_call_end(&call, status) == 0) {
            dict = PyDict_New();
        }
        if (dict && put_numbers(dict, &found) < 0) {
            Py_CLEAR(dict);
        }
    }
    Py_XDECREF(keep);
    return dict;
}

PyMethodDef core_xpcs_summary_methods[] = {
    {"xpcs_summarise", CORE_METHOD(summarise), METH_FASTCALL | METH_KEYWORDS,
     "Mean, deviation, R-hat and effective sizes of chains."},
    {NULL, NULL, 0, NULL},
};
