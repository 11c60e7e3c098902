// xpcs for Python: draws from the posterior.

#include "xpcs.h"

#include <string.h>

static void destroy(void *object)
{
    tess_xpcs_posterior_destroy(object);
}

static const core_handle_class posterior_class = {"xpcs posterior", destroy};

enum {
    SAMPLE_CONTEXT,
    SAMPLE_DATA,
    SAMPLE_MODEL,
    SAMPLE_FIT,
    SAMPLE_OPTIONS,
    SAMPLE_FIT_OPTIONS,
    SAMPLE_SETTINGS,
    SAMPLE_PRIOR_MEAN,
    SAMPLE_PRIOR_SD,
    SAMPLE_CONTRAST_PRIOR,
    SAMPLE_OFFSET_PRIOR,
    SAMPLE_CHECKPOINT,
    SAMPLE_CHECKPOINT_EVERY,
    SAMPLE_KEEP_CHECKPOINTS,
    SAMPLE_RESUME,
    SAMPLE_PROGRESS,
    SAMPLE_COUNT
};

static const char *const sample_names[] = {"context",
                                           "data",
                                           "model",
                                           "fit",
                                           "options",
                                           "fit_options",
                                           "settings",
                                           "prior_mean",
                                           "prior_sd",
                                           "contrast_prior",
                                           "offset_prior",
                                           "checkpoint",
                                           "checkpoint_every",
                                           "keep_checkpoints",
                                           "resume",
                                           "progress"};

typedef struct sample_request {
    core_context *context;
    tess_xpcs_data *data;
    const tess_xpcs_result *fit;
    PyObject *keep;
    PyObject *path;
    tess_xpcs_model model;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
} sample_request;

// Mean and standard deviation; absent leaves what is there.
static int read_pair(const core_state *state, PyObject *value, const char *name, PyObject *keep,
                     double *out)
{
    const double *pair = NULL;
    if (xpcs_vector(state, value, name, 2, keep, &pair) < 0) {
        return -1;
    }
    if (pair) {
        memcpy(out, pair, 2 * sizeof *out);
    }
    return 0;
}

static int read_priors(const core_state *state, PyObject *const *values, sample_request *r)
{
    tess_xpcs_sample_config *c = &r->config;
    const int64_t n = xpcs_n_param(&r->model);
    return xpcs_vector(state, values[SAMPLE_PRIOR_MEAN], "prior_mean", n, r->keep, &c->prior_mean) <
                       0 ||
                   xpcs_vector(state, values[SAMPLE_PRIOR_SD], "prior_sd", n, r->keep,
                               &c->prior_sd) < 0 ||
                   read_pair(state, values[SAMPLE_CONTRAST_PRIOR], "contrast_prior", r->keep,
                             c->contrast_prior) < 0 ||
                   read_pair(state, values[SAMPLE_OFFSET_PRIOR], "offset_prior", r->keep,
                             c->offset_prior) < 0
               ? -1
               : 0;
}

static int read_checkpoints(const core_state *state, PyObject *const *values, sample_request *r)
{
    tess_xpcs_sample_config *c = &r->config;
    int64_t resume = c->resume;
    if (core_to_path(values[SAMPLE_CHECKPOINT], &r->path, &c->checkpoint_dir) < 0 ||
        core_to_real(values[SAMPLE_CHECKPOINT_EVERY], &c->checkpoint_every_s) < 0 ||
        core_to_int(state, values[SAMPLE_KEEP_CHECKPOINTS], "keep_checkpoints", 1, 1000000,
                    &c->keep_checkpoints) < 0 ||
        core_to_int(state, values[SAMPLE_RESUME], "resume", 0, 2, &resume) < 0) {
        return -1;
    }
    c->resume = (int32_t)resume;
    return 0;
}

// r->keep and r->path are to be given up in any case.
static int read_request(const core_state *state, PyObject *const *values, sample_request *r)
{
    memset(r, 0, sizeof *r);
    tess_xpcs_fit_config_init(&r->fit_config, sizeof r->fit_config);
    tess_xpcs_sample_config_init(&r->config, sizeof r->config);
    r->context = core_to_context(state, values[SAMPLE_CONTEXT]);
    r->data =
        r->context ? core_handle_get(state, values[SAMPLE_DATA], &core_xpcs_data_class) : NULL;
    r->fit = r->data ? core_handle_get(state, values[SAMPLE_FIT], &core_xpcs_result_class) : NULL;
    r->keep = r->fit ? PyList_New(0) : NULL;
    if (!r->keep || xpcs_read_model(state, values[SAMPLE_MODEL], &r->model) < 0) {
        return -1;
    }
    const tess_xpcs_settings_info *settings = xpcs_settings_info(state, values[SAMPLE_SETTINGS]);
    if (settings) {
        r->fit_config = settings->fit;
    } else if (PyErr_Occurred()) {
        return -1;
    }
    return core_to_config(state, values[SAMPLE_FIT_OPTIONS], tess_xpcs_fit_params(),
                          &r->fit_config) < 0 ||
                   core_to_config(state, values[SAMPLE_OPTIONS], tess_xpcs_sample_params(),
                                  &r->config) < 0 ||
                   read_checkpoints(state, values, r) < 0
               ? -1
               : read_priors(state, values, r);
}

static PyObject *sample(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const core_signature signature = {"xpcs_sample", sample_names, SAMPLE_COUNT, 5, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[SAMPLE_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    sample_request r;
    core_handle *handle = NULL;
    core_call call;
    if (read_request(state, values, &r) == 0) {
        handle = core_handle_create(state, r.context, &posterior_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[SAMPLE_PROGRESS]) == 0) {
        tess_xpcs_posterior *made = NULL;
        const tess_status status = tess_xpcs_sample(r.context->handle, r.data, &r.model, r.fit,
                                                    &r.fit_config, &r.config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(r.keep);
    Py_XDECREF(r.path);
    return (PyObject *)handle;
}

// [n_chain][n_draw], and [columns] if that is not negative.
static PyObject *show(const core_state *state, PyObject *owner, const tess_xpcs_posterior_info *i,
                      int32_t dtype, const void *data, int64_t columns)
{
    const int64_t shape[3] = {i->n_chain, i->n_draw, columns};
    return core_array_show(state, owner, dtype, columns < 0 ? 2 : 3, shape, data);
}

static int put_draws(const core_state *state, PyObject *owner, PyObject *dict,
                     const tess_xpcs_posterior_info *i)
{
    const struct {
        const char *key;
        const void *data;
        int64_t columns;
        int32_t dtype;
    } draws[] = {
        {"theta", i->theta, i->n_param, TESS_F64},
        {"noise", i->noise, -1, TESS_F64},
        {"contrast", i->contrast, i->n_angle, TESS_F64},
        {"offset", i->offset, i->n_angle, TESS_F64},
        {"log_density", i->log_density, -1, TESS_F64},
        {"energy", i->energy, -1, TESS_F64},
        {"accept", i->accept, -1, TESS_F64},
        {"n_step", i->n_step, -1, TESS_I64},
        {"depth", i->depth, -1, TESS_I64},
        {"diverged", i->diverged, -1, TESS_BOOL},
    };
    for (size_t k = 0; k < sizeof draws / sizeof *draws; k++) {
        if (core_put(dict, draws[k].key,
                     show(state, owner, i, draws[k].dtype, draws[k].data, draws[k].columns)) < 0) {
            return -1;
        }
    }
    return core_put(dict, "step", core_show_reals(state, owner, i->step, i->n_chain, -1));
}

static int put_vectors(const core_state *state, PyObject *owner, PyObject *dict,
                       const tess_xpcs_posterior_info *i)
{
    const core_named_reals vectors[] = {
        {"phi", i->phi, i->n_angle, -1},
        {"q", i->q, i->n_angle, -1},
        {"prior_mean", i->prior_mean, i->n_param, -1},
        {"prior_sd", i->prior_sd, i->n_param, -1},
        {"lower", i->lower, i->n_param, -1},
        {"upper", i->upper, i->n_param, -1},
        {"fit_theta", i->fit_theta, i->n_param, -1},
        {"fit_sd", i->fit_sd, i->n_param, -1},
        {"mode_theta", i->mode_theta, i->n_mode, i->n_param},
        {"mode_weight", i->mode_weight, i->n_mode, -1},
    };
    return core_put_reals(state, owner, dict, vectors, sizeof vectors / sizeof *vectors);
}

static PyObject *posterior_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_posterior *posterior = core_handle_get(state, value, &posterior_class);
    if (!posterior) {
        return NULL;
    }
    const tess_xpcs_posterior_info *i = tess_xpcs_posterior_get_info(posterior);
    static const char *const methods[] = {"nuts", "laplace", "consensus"};
    PyObject *dict = Py_BuildValue(
        "{sssdsdsLsLsdsLsdsdsdsdsOsOsdsLsLsdsd}", "method", methods[i->method], "noise_scale",
        i->noise_scale, "outside", i->outside, "n_evaluation", (long long)i->n_evaluation, "n_pass",
        (long long)i->n_pass, "seconds", i->seconds, "n_attempt", (long long)i->n_attempt,
        "target_accept", i->target_accept, "log_evidence", i->log_evidence, "pareto_k", i->pareto_k,
        "surrogate_accept", i->surrogate_accept, "has_surrogate",
        i->has_surrogate ? Py_True : Py_False, "resumed", i->resumed ? Py_True : Py_False,
        "resumed_from", i->resumed_from, "shard", (long long)i->shard, "n_shard",
        (long long)i->n_shard, "temper", i->temper, "noise_photons", i->noise_photons);
    static const char *const scalings[] = {"fit",      "individual",        "averaged",
                                           "constant", "constant_averaged", "auto"};
    if (dict && (put_draws(state, value, dict, i) < 0 || put_vectors(state, value, dict, i) < 0 ||
                 core_put(dict, "warnings", core_text(i->warnings ? i->warnings : "")) < 0 ||
                 core_put(dict, "device", core_text(i->device ? i->device : "")) < 0 ||
                 core_put(dict, "scaling", core_text(scalings[i->scaling])) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *pack(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_posterior *posterior = core_handle_get(state, value, &posterior_class);
    if (!posterior) {
        return NULL;
    }
    const size_t n = tess_xpcs_posterior_pack(posterior, NULL, 0);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (bytes) {
        tess_xpcs_posterior_pack(posterior, PyBytes_AsString(bytes), n);
    }
    return bytes;
}

// A shard as bytes, which the caller keeps, and what becomes of them.
typedef struct packed_shard {
    char *bytes;
    Py_ssize_t n;
} packed_shard;

static tess_status combine_packed(tess_context *ctx, const packed_shard *packed, int64_t n,
                                  tess_xpcs_posterior **shards,
                                  const tess_xpcs_combine_config *config,
                                  tess_xpcs_posterior **made)
{
    tess_status status = TESS_OK;
    for (int64_t k = 0; k < n && status == TESS_OK; k++) {
        status = tess_xpcs_posterior_unpack(ctx, packed[k].bytes, (size_t)packed[k].n, &shards[k]);
    }
    if (status == TESS_OK) {
        status =
            tess_xpcs_combine(ctx, (const tess_xpcs_posterior *const *)shards, n, config, made);
    }
    for (int64_t k = 0; k < n; k++) {
        tess_xpcs_posterior_destroy(shards[k]);
    }
    return status;
}

static int read_packed(PyObject *list, packed_shard *packed, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, k), &packed[k].bytes, &packed[k].n) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *combine(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords)
{
    static const char *const names[] = {"context", "packed", "robust_upstream"};
    static const core_signature signature = {"xpcs_combine", names, 3, 3, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    tess_xpcs_combine_config config;
    tess_xpcs_combine_config_init(&config, sizeof config);
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[2], &config.is_robust_upstream) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const Py_ssize_t n = context && PyList_Check(values[1]) ? PyList_Size(values[1]) : 0;
    packed_shard *packed = PyMem_Calloc((size_t)n + 1, sizeof *packed);
    tess_xpcs_posterior **shards = PyMem_Calloc((size_t)n + 1, sizeof *shards);
    core_handle *handle = NULL;
    if (context && packed && shards && read_packed(values[1], packed, n) == 0) {
        handle = core_handle_create(state, context, &posterior_class, NULL);
    }
    core_call call;
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_xpcs_posterior *made = NULL;
        const tess_status status =
            combine_packed(context->handle, packed, n, shards, &config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    PyMem_Free(packed);
    PyMem_Free(shards);
    return (PyObject *)handle;
}

PyMethodDef core_xpcs_posterior_methods[] = {
    {"xpcs_sample", CORE_METHOD(sample), METH_FASTCALL | METH_KEYWORDS,
     "Draw from the posterior; returns a Handle."},
    {"xpcs_posterior_info", posterior_info, METH_O, "What was drawn."},
    {"xpcs_posterior_pack", pack, METH_O, "The draws as bytes."},
    {"xpcs_combine", CORE_METHOD(combine), METH_FASTCALL | METH_KEYWORDS,
     "The draws of all shards together."},
    {NULL, NULL, 0, NULL},
};
