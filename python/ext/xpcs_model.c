// xpcs for Python: parameters, the model and its derivatives.

#include "xpcs.h"

#include <string.h>

int xpcs_vector(const core_state *state, PyObject *value, const char *name, int64_t n,
                PyObject *keep, const double **out)
{
    int64_t found = 0;
    *out = NULL;
    if (core_reals(state, value, name, 1, keep, out, &found) < 0) {
        return -1;
    }
    if (*out && found != n) {
        core_fail(state, TESS_E_SHAPE, "%s: expected %lld values, got %lld", name, (long long)n,
                  (long long)found);
        return -1;
    }
    return 0;
}

int xpcs_indices(const core_state *state, PyObject *value, const char *name, PyObject *keep,
                 const int64_t **out, int64_t *n)
{
    const void *found = NULL;
    if (core_view(state, value, name, TESS_I64, 1, keep, &found, n) < 0) {
        return -1;
    }
    *out = found;
    return 0;
}

core_array *xpcs_reals(const core_state *state, int64_t rows, int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    return core_array_create(state, TESS_F64, 8, columns < 0 ? 1 : 2, shape);
}

PyObject *xpcs_show_int32(const core_state *state, PyObject *owner, const int32_t *data, int64_t n)
{
    return core_array_show(state, owner, TESS_I32, 1, &n, data);
}

int xpcs_read_model(const core_state *state, PyObject *options, tess_xpcs_model *model)
{
    tess_xpcs_model_init(model, sizeof *model);
    return core_to_config(state, options, tess_xpcs_model_params(), model);
}

PyObject *xpcs_model_dict(const tess_xpcs_model *model)
{
    return Py_BuildValue("{sssssNsNsdsd}", "mode", tess_xpcs_mode_name((tess_xpcs_mode)model->mode),
                         "kernel", tess_xpcs_kernel_name((tess_xpcs_kernel)model->kernel),
                         "keep_t0", PyBool_FromLong(model->keep_t0), "compat_eps",
                         PyBool_FromLong(model->compat_eps), "dt", model->dt_s, "gap",
                         model->gap_angstrom);
}

int64_t xpcs_n_param(const tess_xpcs_model *model)
{
    int64_t n = 0;
    (void)tess_xpcs_params((tess_xpcs_mode)model->mode, &n);
    return n;
}

static PyObject *param_list(const tess_xpcs_param_info *infos, int64_t n)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < n; i++) {
        const tess_xpcs_param_info *info = &infos[i];
        PyObject *entry =
            Py_BuildValue("{sssssssdsdsdsdsd}", "name", info->name, "aliases", info->aliases,
                          "unit", info->unit, "lower", info->lower, "upper", info->upper, "start",
                          info->start, "prior_mean", info->prior_mean, "prior_sd", info->prior_sd);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *parameters(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *dict = PyDict_New();
    for (int mode = 0; dict && tess_xpcs_mode_name((tess_xpcs_mode)mode); mode++) {
        int64_t n = 0;
        const tess_xpcs_param_info *infos = tess_xpcs_params((tess_xpcs_mode)mode, &n);
        if (core_put(dict, tess_xpcs_mode_name((tess_xpcs_mode)mode), param_list(infos, n)) < 0) {
            Py_CLEAR(dict);
        }
    }
    if (dict && (core_put(dict, "contrast", param_list(tess_xpcs_scaling_param(0), 1)) < 0 ||
                 core_put(dict, "offset", param_list(tess_xpcs_scaling_param(1), 1)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

enum {
    MODEL_CONTEXT,
    MODEL_OPTIONS,
    MODEL_THETA,
    MODEL_N_FRAME,
    MODEL_PHI,
    MODEL_Q,
    MODEL_CONTRAST,
    MODEL_OFFSET,
    MODEL_FIRST,
    MODEL_SECOND,
    MODEL_WITH_JACOBIAN,
    MODEL_COUNT,
    SURFACE_COUNT = MODEL_FIRST,
    GRIDS_COUNT = MODEL_PHI
};

static const char *const model_names[] = {"context", "options", "theta",        "n_frame",
                                          "phi",     "q",       "contrast",     "offset",
                                          "first",   "second",  "with_jacobian"};

// What every function of the model takes.
typedef struct model_request {
    core_context *context;
    PyObject *keep;
    tess_xpcs_model model;
    const double *theta;
    int64_t n_frame;
    tess_xpcs_angles angles;
} model_request;

static int read_request(const core_state *state, PyObject *const *values, int has_angles,
                        model_request *r)
{
    memset(r, 0, sizeof *r);
    r->angles.struct_size = sizeof r->angles;
    r->context = core_to_context(state, values[MODEL_CONTEXT]);
    r->keep = r->context ? PyList_New(0) : NULL;
    if (!r->keep || xpcs_read_model(state, values[MODEL_OPTIONS], &r->model) < 0 ||
        xpcs_vector(state, values[MODEL_THETA], "params", xpcs_n_param(&r->model), r->keep,
                    &r->theta) < 0 ||
        core_to_int(state, values[MODEL_N_FRAME], "n_frame", 1, INT64_MAX, &r->n_frame) < 0) {
        return -1;
    }
    if (!has_angles) {
        return 0;
    }
    tess_xpcs_angles *a = &r->angles;
    return core_reals(state, values[MODEL_PHI], "phi", 1, r->keep, &a->phi, &a->n_angle) < 0 ||
                   xpcs_vector(state, values[MODEL_Q], "q", a->n_angle, r->keep, &a->q) < 0 ||
                   xpcs_vector(state, values[MODEL_CONTRAST], "contrast", a->n_angle, r->keep,
                               &a->contrast) < 0 ||
                   xpcs_vector(state, values[MODEL_OFFSET], "offset", a->n_angle, r->keep,
                               &a->offset) < 0
               ? -1
               : 0;
}

static PyObject *surface(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const core_signature signature = {"xpcs_model", model_names, SURFACE_COUNT,
                                             SURFACE_COUNT, MODEL_CONTRAST};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[SURFACE_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    model_request r;
    core_array *out = NULL;
    core_call call;
    if (read_request(state, values, 1, &r) == 0) {
        const int64_t shape[3] = {r.angles.n_angle, r.n_frame, r.n_frame};
        out = core_array_create(state, TESS_F64, 8, 3, shape);
    }
    if (out && core_call_begin(&call, state, r.context, NULL) == 0) {
        const tess_status status = tess_xpcs_model_surface(r.context->handle, &r.model, &r.angles,
                                                           r.theta, r.n_frame, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF(r.keep);
    return (PyObject *)out;
}

static PyObject *pairs(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    static const core_signature signature = {"xpcs_model_pairs", model_names, MODEL_COUNT,
                                             MODEL_COUNT, MODEL_CONTRAST};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[MODEL_COUNT];
    int32_t with_jacobian = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[MODEL_WITH_JACOBIAN], &with_jacobian) < 0) {
        return NULL;
    }
    model_request r;
    const int64_t *first = NULL;
    const int64_t *second = NULL;
    int64_t n_pair = 0;
    int64_t n_second = 0;
    core_array *out = NULL;
    core_array *jacobian = NULL;
    core_call call;
    int result = -1;
    if (read_request(state, values, 1, &r) == 0 &&
        xpcs_indices(state, values[MODEL_FIRST], "first", r.keep, &first, &n_pair) == 0 &&
        xpcs_indices(state, values[MODEL_SECOND], "second", r.keep, &second, &n_second) == 0) {
        const int64_t shape[3] = {r.angles.n_angle, n_pair, xpcs_n_param(&r.model)};
        if (n_pair != n_second) {
            core_fail(state, TESS_E_SHAPE, "second: expected %lld values as in first, got %lld",
                      (long long)n_pair, (long long)n_second);
        } else {
            out = core_array_create(state, TESS_F64, 8, 2, shape);
            jacobian = with_jacobian ? core_array_create(state, TESS_F64, 8, 3, shape) : NULL;
        }
    }
    if (out && (jacobian || !with_jacobian) &&
        core_call_begin(&call, state, r.context, NULL) == 0) {
        const tess_status status = tess_xpcs_model_pairs(
            r.context->handle, &r.model, &r.angles, r.theta, r.n_frame, first, second, n_pair,
            out->view.data, jacobian ? jacobian->view.data : NULL);
        result = core_call_end(&call, status);
    }
    PyObject *answer =
        result < 0 ? NULL
                   : PyTuple_Pack(2, (PyObject *)out, jacobian ? (PyObject *)jacobian : Py_None);
    Py_XDECREF((PyObject *)out);
    Py_XDECREF((PyObject *)jacobian);
    Py_XDECREF(r.keep);
    return answer;
}

// A new array of the dict; NULL with an exception.
static double *put_grid(const core_state *state, PyObject *dict, const char *name, int64_t rows,
                        int64_t columns)
{
    core_array *array = xpcs_reals(state, rows, columns);
    double *data = array ? array->view.data : NULL;
    return core_put(dict, name, (PyObject *)array) < 0 ? NULL : data;
}

// Everything that the model has; 0 with an exception.
static int put_grids(const core_state *state, PyObject *dict, const tess_xpcs_model *model,
                     int64_t n, tess_xpcs_grids *g)
{
    const int is_two = model->mode == TESS_XPCS_TWO_COMPONENT;
    const int has_shear = model->mode == TESS_XPCS_LAMINAR_FLOW;
    const struct {
        const char *name;
        double **to;
        int is_wanted;
        int is_derivative;
    } arrays[] = {
        {"t", &g->t, 1, 0},
        {"diffusion", &g->diffusion, !is_two, 0},
        {"diffusion_sum", &g->diffusion_sum, !is_two, 0},
        {"diffusion_derivatives", &g->diffusion_derivatives, !is_two, 1},
        {"shear", &g->shear, has_shear, 0},
        {"shear_sum", &g->shear_sum, has_shear, 0},
        {"shear_derivatives", &g->shear_derivatives, has_shear, 1},
        {"reference", &g->reference, is_two, 0},
        {"sample", &g->sample, is_two, 0},
        {"velocity", &g->velocity, is_two, 0},
        {"fraction", &g->fraction, is_two, 0},
        {"reference_sum", &g->reference_sum, is_two, 0},
        {"sample_sum", &g->sample_sum, is_two, 0},
        {"velocity_sum", &g->velocity_sum, is_two, 0},
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        if (arrays[k].is_wanted) {
            const int is_wide = arrays[k].is_derivative;
            *arrays[k].to =
                put_grid(state, dict, arrays[k].name, is_wide ? 3 : n, is_wide ? n : -1);
            if (!*arrays[k].to) {
                return 0;
            }
        }
    }
    return 1;
}

static PyObject *grids(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                       PyObject *keywords)
{
    static const core_signature signature = {"xpcs_model_grids", model_names, GRIDS_COUNT,
                                             GRIDS_COUNT, GRIDS_COUNT};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[GRIDS_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    model_request r;
    tess_xpcs_grids g = {.struct_size = sizeof g};
    PyObject *dict = read_request(state, values, 0, &r) == 0 ? PyDict_New() : NULL;
    const int64_t n = r.n_frame;
    const int is_ready = dict && put_grids(state, dict, &r.model, n, &g);
    core_call call;
    if (is_ready && core_call_begin(&call, state, r.context, NULL) == 0) {
        const tess_status status =
            tess_xpcs_model_grids(r.context->handle, &r.model, r.theta, n, &g);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(dict);
        }
    } else {
        Py_CLEAR(dict);
    }
    Py_XDECREF(r.keep);
    return dict;
}

PyMethodDef core_xpcs_model_methods[] = {
    {"xpcs_parameters", parameters, METH_NOARGS, "Parameters of every mode, contrast and offset."},
    {"xpcs_model", CORE_METHOD(surface), METH_FASTCALL | METH_KEYWORDS,
     "c2 of every angle and pair of frames."},
    {"xpcs_model_pairs", CORE_METHOD(pairs), METH_FASTCALL | METH_KEYWORDS,
     "c2 at some pairs of frames and its derivatives."},
    {"xpcs_model_grids", CORE_METHOD(grids), METH_FASTCALL | METH_KEYWORDS,
     "Rates and integrals on the grid of frames."},
    {NULL, NULL, 0, NULL},
};
