// xpcs for Python: fits, their plans, and the sums of one pass.

#include "xpcs_fit.h"

#include <stddef.h>
#include <string.h>

enum { SUMS_THETA = FIT_COUNT, SUMS_LEVEL, SUMS_COUNT };

static const char *const fit_names[] = {XPCS_FIT_NAMES, "theta", "level"};

// A vector over what the settings say; absent leaves that.
static int override(const core_state *state, PyObject *value, const char *name, int64_t n,
                    PyObject *keep, const double **out)
{
    return value ? xpcs_vector(state, value, name, n, keep, out) : 0;
}

static int read_fixed(const core_state *state, PyObject *value, xpcs_fit_request *r)
{
    const void *found = NULL;
    int64_t n = 0;
    if (!value) {
        return 0;
    }
    if (core_view(state, value, "fixed", TESS_U8, 1, r->keep, &found, &n) < 0) {
        return -1;
    }
    if (n != r->n_param) {
        core_fail(state, TESS_E_SHAPE, "fixed: expected %lld values, got %lld",
                  (long long)r->n_param, (long long)n);
        return -1;
    }
    r->config.is_fixed = found;
    return 0;
}

static int read_scaling_bound(const core_state *state, PyObject *value, const char *name,
                              PyObject *keep, double *bound)
{
    const double *pair = NULL;
    if (xpcs_vector(state, value, name, 2, keep, &pair) < 0) {
        return -1;
    }
    if (pair) {
        memcpy(bound, pair, 2 * sizeof *bound);
    }
    return 0;
}

// 0, 1 or 2 as in tess_xpcs_fit_config.
static int read_resume(const core_state *state, PyObject *value, int32_t *resume)
{
    int64_t number = *resume;
    if (core_to_int(state, value, "resume", 0, 2, &number) < 0) {
        return -1;
    }
    *resume = (int32_t)number;
    return 0;
}

static int read_vectors(const core_state *state, PyObject *const *values, xpcs_fit_request *r)
{
    tess_xpcs_fit_config *c = &r->config;
    PyObject *keep = r->keep;
    if (values[FIT_CONTRAST] && values[FIT_OFFSET]) {
        c->n_scaling = 0; // lengths are checked here
    }
    return override(state, values[FIT_START], "start", r->n_param, keep, &c->start) < 0 ||
                   override(state, values[FIT_LOWER], "lower", r->n_param, keep, &c->lower) < 0 ||
                   override(state, values[FIT_UPPER], "upper", r->n_param, keep, &c->upper) < 0 ||
                   override(state, values[FIT_X_SCALE], "x_scale", r->n_param, keep, &c->x_scale) <
                       0 ||
                   override(state, values[FIT_CONTRAST], "contrast", r->n_angle, keep,
                            &c->contrast) < 0 ||
                   override(state, values[FIT_OFFSET], "offset", r->n_angle, keep, &c->offset) <
                       0 ||
                   read_fixed(state, values[FIT_FIXED], r) < 0 ||
                   read_scaling_bound(state, values[FIT_SCALING_LOWER], "scaling_lower", keep,
                                      c->scaling_lower) < 0 ||
                   read_scaling_bound(state, values[FIT_SCALING_UPPER], "scaling_upper", keep,
                                      c->scaling_upper) < 0
               ? -1
               : 0;
}

// An option of the table that the caller named, whatever its value.
static int is_given(PyObject *options, const char *name)
{
    PyObject *value = options && PyDict_Check(options) ? PyDict_GetItemString(options, name) : NULL;
    return value && value != Py_None;
}

int xpcs_read_request(const core_state *state, PyObject *const *values, xpcs_fit_request *r)
{
    memset(r, 0, sizeof *r);
    tess_xpcs_fit_config *config = &r->config;
    tess_xpcs_fit_config_init(config, sizeof *config);
    r->context = core_to_context(state, values[FIT_CONTEXT]);
    r->data = r->context ? core_handle_get(state, values[FIT_DATA], &core_xpcs_data_class) : NULL;
    r->keep = r->data ? PyList_New(0) : NULL;
    if (!r->keep || xpcs_read_model(state, values[FIT_MODEL], &r->model) < 0) {
        return -1;
    }
    const tess_xpcs_settings_info *settings = xpcs_settings_info(state, values[FIT_SETTINGS]);
    if (settings) {
        *config = settings->fit;
        // Two components have other parameters than those the settings were read for.
        if ((settings->model.mode == TESS_XPCS_TWO_COMPONENT) !=
            (r->model.mode == TESS_XPCS_TWO_COMPONENT)) {
            config->start = config->lower = config->upper = config->x_scale = NULL;
            config->is_fixed = NULL;
        }
    } else if (PyErr_Occurred()) {
        return -1;
    }
    r->n_param = xpcs_n_param(&r->model);
    r->n_angle = tess_xpcs_data_get_info(r->data)->n_angle;
    config->has_sigma |= is_given(values[FIT_OPTIONS], "sigma");
    return core_to_config(state, values[FIT_OPTIONS], tess_xpcs_fit_params(), config) < 0 ||
                   read_vectors(state, values, r) < 0 ||
                   core_to_path(values[FIT_CHECKPOINT], &r->path, &config->checkpoint_dir) < 0 ||
                   core_to_real(values[FIT_CHECKPOINT_EVERY], &config->checkpoint_every_s) < 0 ||
                   core_to_int(state, values[FIT_KEEP_CHECKPOINTS], "keep_checkpoints", 1, 1000000,
                               &config->keep_checkpoints) < 0 ||
                   read_resume(state, values[FIT_RESUME], &config->resume) < 0
               ? -1
               : 0;
}

void xpcs_free_request(xpcs_fit_request *r)
{
    Py_XDECREF(r->keep);
    Py_XDECREF(r->path);
}

static PyObject *fit(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const core_signature signature = {"xpcs_fit", fit_names, FIT_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[FIT_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    xpcs_fit_request r;
    core_handle *handle = NULL;
    core_call call;
    if (xpcs_read_request(state, values, &r) == 0) {
        handle = core_handle_create(state, r.context, &core_xpcs_result_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[FIT_PROGRESS]) == 0) {
        tess_xpcs_result *made = NULL;
        const tess_status status =
            tess_xpcs_fit(r.context->handle, r.data, &r.model, &r.config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    xpcs_free_request(&r);
    return (PyObject *)handle;
}

static PyObject *plan(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const core_signature signature = {"xpcs_plan", fit_names, FIT_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[FIT_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    xpcs_fit_request r;
    tess_xpcs_fit_plan p = {.struct_size = sizeof p};
    int result = -1;
    core_call call;
    if (xpcs_read_request(state, values, &r) == 0 &&
        core_call_begin(&call, state, r.context, values[FIT_PROGRESS]) == 0) {
        result = core_call_end(&call, tess_xpcs_fit_get_plan(r.context->handle, r.data, &r.model,
                                                             &r.config, &p, sizeof p));
    }
    xpcs_free_request(&r);
    if (result < 0) {
        return NULL;
    }
    return Py_BuildValue(
        "{sssKsKsKsLsLsdss}", "strategy", tess_strategy_name((tess_strategy)p.strategy),
        "memory_bytes", (unsigned long long)p.memory_bytes, "limit_bytes",
        (unsigned long long)p.limit_bytes, "original_bytes", (unsigned long long)p.original_bytes,
        "n_tile", (long long)p.n_tile, "tiles_per_chunk", (long long)p.tiles_per_chunk, "pass_s",
        p.pass_s, "reason", p.reason);
}

// What a pass can give: where it goes in tess_xpcs_sums, its shape and from which level on it is
// asked for.
static const struct sum_field {
    const char *name;
    size_t offset;
    int32_t has_angle; // first axis
    int32_t rank;      // axes over parameters
    int32_t level;
} sum_fields[] = {
    {"cost", offsetof(tess_xpcs_sums, cost), 0, 0, 0},
    {"gradient", offsetof(tess_xpcs_sums, gradient), 0, 1, 1},
    {"hessian", offsetof(tess_xpcs_sums, hessian), 0, 2, 2},
    {"contrast", offsetof(tess_xpcs_sums, contrast), 1, 0, 2},
    {"offset", offsetof(tess_xpcs_sums, offset), 1, 0, 2},
    {"s1", offsetof(tess_xpcs_sums, s1), 1, 0, 3},
    {"sf", offsetof(tess_xpcs_sums, sf), 1, 0, 3},
    {"sff", offsetof(tess_xpcs_sums, sff), 1, 0, 3},
    {"sy", offsetof(tess_xpcs_sums, sy), 1, 0, 3},
    {"syy", offsetof(tess_xpcs_sums, syy), 1, 0, 3},
    {"sfy", offsetof(tess_xpcs_sums, sfy), 1, 0, 3},
    {"p", offsetof(tess_xpcs_sums, p), 1, 1, 3},
    {"q", offsetof(tess_xpcs_sums, q), 1, 1, 3},
    {"r", offsetof(tess_xpcs_sums, r), 1, 1, 3},
};

static int make_sums(const core_state *state, const xpcs_fit_request *r, int64_t level,
                     PyObject *dict, tess_xpcs_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    sums->struct_size = sizeof *sums;
    for (size_t i = 0; i < sizeof sum_fields / sizeof *sum_fields; i++) {
        const struct sum_field *field = &sum_fields[i];
        if (field->level > level) {
            continue;
        }
        int64_t shape[3] = {r->n_angle, r->n_param, r->n_param};
        const int64_t *axes = field->has_angle ? shape : shape + 1;
        int32_t rank = field->has_angle + field->rank;
        if (rank == 0) {
            shape[1] = 1;
            rank = 1;
        }
        core_array *array = core_array_create(state, TESS_F64, 8, rank, axes);
        double *data = array ? array->view.data : NULL;
        if (core_put(dict, field->name, (PyObject *)array) < 0) {
            return -1;
        }
        memcpy((char *)sums + field->offset, &data, sizeof data);
    }
    return 0;
}

static PyObject *accumulate(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const core_signature signature = {"xpcs_accumulate", fit_names, SUMS_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[SUMS_COUNT];
    int64_t level = 3;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_int(state, values[SUMS_LEVEL], "level", 0, 3, &level) < 0) {
        return NULL;
    }
    xpcs_fit_request r;
    tess_xpcs_sums sums;
    const double *theta = NULL;
    PyObject *dict = NULL;
    core_call call;
    if (xpcs_read_request(state, values, &r) == 0 &&
        xpcs_vector(state, values[SUMS_THETA], "theta", r.n_param, r.keep, &theta) == 0) {
        dict = PyDict_New();
    }
    if (dict && make_sums(state, &r, level, dict, &sums) == 0 &&
        core_call_begin(&call, state, r.context, values[FIT_PROGRESS]) == 0) {
        const tess_status status =
            tess_xpcs_accumulate(r.context->handle, r.data, &r.model, &r.config, theta, &sums);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(dict);
        }
    } else {
        Py_CLEAR(dict);
    }
    xpcs_free_request(&r);
    return dict;
}

PyMethodDef core_xpcs_fit_methods[] = {
    {"xpcs_fit", CORE_METHOD(fit), METH_FASTCALL | METH_KEYWORDS, "Fit; returns a Handle."},
    {"xpcs_plan", CORE_METHOD(plan), METH_FASTCALL | METH_KEYWORDS, "What a fit would need."},
    {"xpcs_accumulate", CORE_METHOD(accumulate), METH_FASTCALL | METH_KEYWORDS,
     "Cost, gradient, Hessian and sums of one pass."},
    {NULL, NULL, 0, NULL},
};
