// xpcs for Python: rates of any shape.

#include "xpcs_fit.h"

enum { RATES_KNOTS = FIT_COUNT, RATES_SHAPE, RATES_SPACING, RATES_SMOOTHNESS, RATES_COUNT };

static const char *const rates_names[] = {XPCS_FIT_NAMES, "knots", "shape", "spacing",
                                          "smoothness"};

static void destroy(void *object)
{
    tess_xpcs_rates_destroy(object);
}

static const core_handle_class rates_class = {"xpcs rates", destroy};

static int read_choice(const core_state *state, PyObject *value, const char *name, int32_t *out)
{
    int64_t number = *out;
    if (core_to_int(state, value, name, 0, 2, &number) < 0) {
        return -1;
    }
    *out = (int32_t)number;
    return 0;
}

static int read_rates(const core_state *state, PyObject *const *values, xpcs_fit_request *r,
                      tess_xpcs_rates_config *config)
{
    tess_xpcs_rates_config_init(config, sizeof *config);
    return xpcs_read_request(state, values, r) < 0 ||
                   core_to_int(state, values[RATES_KNOTS], "knots", 4, 100, &config->n_knot) < 0 ||
                   read_choice(state, values[RATES_SHAPE], "shape", &config->shape) < 0 ||
                   read_choice(state, values[RATES_SPACING], "spacing", &config->spacing) < 0 ||
                   core_to_real(values[RATES_SMOOTHNESS], &config->smoothness) < 0
               ? -1
               : 0;
}

static PyObject *fit_rates(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const core_signature signature = {"xpcs_fit_rates", rates_names, RATES_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[RATES_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    xpcs_fit_request r = {0};
    tess_xpcs_rates_config config;
    core_handle *handle = NULL;
    core_call call;
    if (read_rates(state, values, &r, &config) == 0) {
        r.config.checkpoint_dir = NULL; // what a configuration may say of fits
        handle = core_handle_create(state, r.context, &rates_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[FIT_PROGRESS]) == 0) {
        tess_xpcs_rates *made = NULL;
        const tess_status status =
            tess_xpcs_fit_rates(r.context->handle, r.data, &r.model, &r.config, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    xpcs_free_request(&r);
    return (PyObject *)handle;
}

static PyObject *curve_dict(const core_state *state, PyObject *owner, const tess_xpcs_rates_info *i,
                            const tess_xpcs_rate_curve *c)
{
    const core_named_reals arrays[] = {
        {"value", c->value, i->n_frame, -1},
        {"sd", c->sd, i->n_frame, -1},
        {"low", c->low, i->n_frame, -1},
        {"high", c->high, i->n_frame, -1},
        {"power", c->power, i->n_frame, -1},
        {"power_sd", c->power_sd, i->n_frame, -1},
        {"knot_value", c->knot_value, i->n_knot, -1},
        {"knot_sd", c->knot_sd, i->n_knot, -1},
    };
    PyObject *dict =
        Py_BuildValue("{sdsd}", "smoothness", c->smoothness, "n_effective", c->n_effective);
    if (dict && core_put_reals(state, owner, dict, arrays, sizeof arrays / sizeof *arrays) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static int put_arrays(const core_state *state, PyObject *owner, PyObject *dict,
                      const tess_xpcs_rates_info *i)
{
    const core_named_reals arrays[] = {{"t", i->t, i->n_frame, -1},
                                       {"knots", i->knots, i->n_knot, -1},
                                       {"phi", i->phi, i->n_angle, -1},
                                       {"contrast", i->contrast, i->n_angle, -1},
                                       {"offset", i->offset, i->n_angle, -1}};
    return core_put_reals(state, owner, dict, arrays, sizeof arrays / sizeof *arrays);
}

static PyObject *rates_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_rates *rates = core_handle_get(state, value, &rates_class);
    if (!rates) {
        return NULL;
    }
    const tess_xpcs_rates_info *i = tess_xpcs_rates_get_info(rates);
    PyObject *dict = Py_BuildValue(
        "{sssisisOsdsdsdsdsdsdsdsdsdsdsdsdsLsdssss}", "mode",
        tess_xpcs_mode_name((tess_xpcs_mode)i->mode), "shape", (int)i->shape, "spacing",
        (int)i->spacing, "is_converged", i->is_converged ? Py_True : Py_False, "phi0", i->phi0,
        "phi0_sd", i->phi0_sd, "noise", i->noise, "noise_power", i->noise_power, "log_evidence",
        i->log_evidence, "log_evidence_log", i->log_evidence_log, "log_evidence_linear",
        i->log_evidence_linear, "log_evidence_power", i->log_evidence_power,
        "log_evidence_power_error", i->log_evidence_power_error, "log_evidence_offset",
        i->log_evidence_offset, "log_evidence_plain", i->log_evidence_plain, "log_bayes_factor",
        i->log_bayes_factor, "n_pass", (long long)i->n_pass, "seconds", i->seconds, "verdict",
        i->verdict, "notes", i->notes);
    if (dict &&
        (put_arrays(state, value, dict, i) < 0 ||
         core_put(dict, "transport", curve_dict(state, value, i, &i->transport)) < 0 ||
         (i->has_shear && core_put(dict, "shear", curve_dict(state, value, i, &i->shear)) < 0))) {
        Py_CLEAR(dict);
    }
    return dict;
}

static tess_status save_rates(tess_context *ctx, const void *object, const char *path,
                              int overwrite)
{
    return tess_xpcs_rates_write(ctx, object, path, overwrite);
}

static PyObject *rates_write(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "rates", "folder", "overwrite"};
    static const core_saver saver = {
        {"xpcs_rates_write", names, 4, 4, 3}, &rates_class, save_rates};
    return core_handle_save(module, args, n_arg, keywords, &saver);
}

PyMethodDef core_xpcs_rates_methods[] = {
    {"xpcs_fit_rates", CORE_METHOD(fit_rates), METH_FASTCALL | METH_KEYWORDS,
     "Fit rates of any shape; returns a Handle."},
    {"xpcs_rates_info", CORE_METHOD(rates_info), METH_O, "What a fit of rates found."},
    {"xpcs_rates_write", CORE_METHOD(rates_write), METH_FASTCALL | METH_KEYWORDS,
     "Write the files of rates."},
    {NULL, NULL, 0, NULL},
};
