// decode for Python: mixtures and regressions inside an encoding model.

#include "decode.h"

static const core_state *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

static PyObject *mixture_dict(const core_state *state, PyObject *owner,
                              const tess_decode_mixture *m)
{
    const int64_t n = m->n_component;
    PyObject *dict = Py_BuildValue("{sisLsLsd}", "converged", (int)m->converged, "n_dim",
                                   (long long)m->n_dim, "n_iteration", (long long)m->n_iteration,
                                   "mean_log_likelihood", m->mean_log_likelihood);
    if (dict &&
        (core_put(dict, "mean", core_show_reals(state, owner, m->mean, n, m->n_dim)) < 0 ||
         core_put(dict, "factor",
                  core_show_reals(state, owner, m->factor, n * m->n_dim, m->n_dim)) < 0 ||
         core_put(dict, "log_norm", core_show_reals(state, owner, m->log_norm, n, -1)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *mixture(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = state_of(module);
    if (n_arg != 3) {
        PyErr_SetString(PyExc_TypeError, "expected encoding, density and electrode");
        return NULL;
    }
    const tess_decode_encoding *model = core_handle_get(state, args[0], &core_encoding_class);
    int64_t density = 0;
    int64_t electrode = 0;
    if (!model || core_to_int(state, args[1], "density", 0, 2, &density) < 0 ||
        core_to_int(state, args[2], "electrode", 0, INT64_MAX, &electrode) < 0) {
        return NULL;
    }
    tess_decode_mixture found = {.struct_size = sizeof found};
    const tess_status status =
        tess_decode_encoding_get_mixture(model, (int32_t)density, electrode, &found);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    return mixture_dict(state, args[0], &found);
}

static PyObject *regression(PyObject *module, PyObject *value)
{
    const core_state *state = state_of(module);
    const tess_decode_encoding *model = core_handle_get(state, value, &core_encoding_class);
    tess_decode_regression r = {.struct_size = sizeof r};
    if (!model) {
        return NULL;
    }
    const tess_status status = tess_decode_encoding_get_regression(model, &r);
    if (status != TESS_OK) {
        return core_raise(state, status, tess_last_error());
    }
    PyObject *knots = PyList_New((Py_ssize_t)r.n_dim);
    for (int64_t k = 0; knots && k < r.n_dim; k++) {
        PyObject *view = core_show_reals(state, value, r.knots[k], r.n_knot[k], -1);
        if (!view || PyList_SetItem(knots, (Py_ssize_t)k, view) < 0) {
            Py_CLEAR(knots);
        }
    }
    PyObject *dict = knots ? Py_BuildValue("{sN}", "knots", knots) : NULL;
    if (dict &&
        (core_put(dict, "mean", core_show_reals(state, value, r.mean, r.n_coefficient, -1)) < 0 ||
         core_put(dict, "coefficients",
                  core_show_reals(state, value, r.coefficients, r.n_unit, r.n_coefficient)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

PyMethodDef core_decode_fitted_methods[] = {
    {"decode_encoding_mixture", CORE_METHOD(mixture), METH_FASTCALL,
     "A mixture of a clusterless GMM: 0 occupancy, 1 ground, 2 joint."},
    {"decode_encoding_regression", regression, METH_O,
     "Knots and coefficients of a sorted-spikes GLM."},
    {NULL, NULL, 0, NULL},
};
