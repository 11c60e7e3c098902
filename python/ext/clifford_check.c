// clifford for Python: whether the operations hold their promises on this machine.

#include "clifford.h"

#include <tessera/sys/clifford_check.h>

static PyObject *findings_list(const tess_clifford_finding *findings, int64_t n)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < n; i++) {
        const tess_clifford_finding *f = &findings[i];
        PyObject *entry =
            Py_BuildValue("{sssssdsdsOsO}", "name", f->name, "dtype", f->dtype, "error", f->error,
                          "allowed", f->allowed, "is_control", f->is_control ? Py_True : Py_False,
                          "passed", f->passed ? Py_True : Py_False);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *check(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    enum { CAPACITY = 256 };
    static const char *const names[] = {"context", "metric", "options", "progress"};
    static const core_signature signature = {"clifford_check", names, 4, 4, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    tess_clifford_algebra a;
    tess_clifford_check_config config;
    tess_clifford_check_config_init(&config, sizeof config);
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        clifford_read_algebra(state, values[1], &a) < 0 ||
        core_to_config(state, values[2], tess_clifford_check_params(), &config) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_clifford_finding *findings = context ? PyMem_Calloc(CAPACITY, sizeof *findings) : NULL;
    if (!findings) {
        return context ? PyErr_NoMemory() : NULL;
    }
    int64_t n = 0;
    core_call call;
    PyObject *list = NULL;
    if (core_call_begin(&call, state, context, values[3]) == 0) {
        const tess_status status =
            tess_clifford_check(context->handle, &a.metric, &config, findings, CAPACITY, &n);
        if (core_call_end(&call, status) == 0) {
            list = findings_list(findings, n < CAPACITY ? n : CAPACITY);
        }
    }
    PyMem_Free(findings);
    return list;
}

PyMethodDef core_clifford_check_methods[] = {
    {"clifford_check", CORE_METHOD(check), METH_FASTCALL | METH_KEYWORDS,
     "Equivariance and gradients on this machine."},
    {NULL, NULL, 0, NULL},
};
