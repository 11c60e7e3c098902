// xpcs for Python: joint fits.

#include "xpcs_fit.h"

#include <string.h>

enum {
    JOINT_MEMBERS = FIT_COUNT,
    JOINT_TIES,
    JOINT_Q_REF,
    JOINT_EXPONENT_LOWER,
    JOINT_EXPONENT_UPPER,
    JOINT_COUNT
};

static const char *const joint_names[] = {XPCS_FIT_NAMES, "members",        "ties",
                                          "q_ref",        "exponent_lower", "exponent_upper"};

static void destroy(void *object)
{
    tess_xpcs_joint_destroy(object);
}

static const core_handle_class joint_class = {"xpcs joint fit", destroy};

typedef struct joint_request {
    xpcs_fit_request fit;
    tess_xpcs_joint_config config;
    int32_t ties[TESS_XPCS_MAX_PARAM];
    tess_xpcs_data **members; // for PyMem_Free()
    int64_t n_member;
} joint_request;

// A list of handles, which the caller's arguments keep.
static int read_members(const core_state *state, PyObject *value, joint_request *r)
{
    const Py_ssize_t n = value ? PyList_Size(value) : 0;
    if (n < 0) {
        return -1;
    }
    r->members = PyMem_Calloc((size_t)n + 1, sizeof(tess_xpcs_data *));
    if (!r->members) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        r->members[i] = core_handle_get(state, PyList_GetItem(value, i), &core_xpcs_data_class);
        if (!r->members[i]) {
            return -1;
        }
    }
    r->n_member = n;
    return 0;
}

static int read_ties(const core_state *state, PyObject *value, joint_request *r)
{
    const int64_t *ties = NULL;
    int64_t n = 0;
    if (!value) {
        return 0;
    }
    if (xpcs_indices(state, value, "ties", r->fit.keep, &ties, &n) < 0) {
        return -1;
    }
    if (n != r->fit.n_param) {
        core_fail(state, TESS_E_SHAPE, "ties: expected %lld values, got %lld",
                  (long long)r->fit.n_param, (long long)n);
        return -1;
    }
    for (int64_t k = 0; k < n; k++) {
        r->ties[k] = (int32_t)ties[k];
    }
    r->config.ties = r->ties;
    return 0;
}

static int read_joint(const core_state *state, PyObject *const *values, joint_request *r)
{
    tess_xpcs_joint_config_init(&r->config, sizeof r->config);
    return xpcs_read_request(state, values, &r->fit) < 0 ||
                   read_members(state, values[JOINT_MEMBERS], r) < 0 ||
                   read_ties(state, values[JOINT_TIES], r) < 0 ||
                   core_to_real(values[JOINT_Q_REF], &r->config.q_ref) < 0 ||
                   core_to_real(values[JOINT_EXPONENT_LOWER], &r->config.exponent_lower) < 0 ||
                   core_to_real(values[JOINT_EXPONENT_UPPER], &r->config.exponent_upper) < 0
               ? -1
               : 0;
}

static PyObject *fit_joint(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const core_signature signature = {"xpcs_fit_joint", joint_names, JOINT_COUNT, 4, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[JOINT_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    joint_request r = {0};
    core_handle *handle = NULL;
    core_call call;
    if (read_joint(state, values, &r) == 0) {
        handle = core_handle_create(state, r.fit.context, &joint_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[FIT_PROGRESS]) == 0) {
        tess_xpcs_joint *made = NULL;
        const tess_status status =
            tess_xpcs_fit_joint(r.fit.context->handle, r.members, r.n_member, &r.fit.model,
                                &r.fit.config, &r.config, &made);
        core_handle_end(&handle, &call, made, status);
    }
    PyMem_Free(r.members);
    xpcs_free_request(&r.fit);
    return (PyObject *)handle;
}

static PyObject *unknown_list(const tess_xpcs_joint_info *info)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < info->n_unknown; i++) {
        const tess_xpcs_unknown *u = &info->unknowns[i];
        PyObject *entry =
            Py_BuildValue("{sssLsOsssdsd}", "name", info->names[u->param], "member",
                          (long long)u->member, "is_exponent", u->is_exponent ? Py_True : Py_False,
                          "status", tess_xpcs_param_status_name((tess_xpcs_param_status)u->status),
                          "value", u->value, "sd", u->sd);
        if (!entry || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

// By parameter: how it goes over q, and what that costs.
static PyObject *tie_dict(const tess_xpcs_joint_info *info)
{
    PyObject *dict = PyDict_New();
    for (int64_t k = 0; dict && k < info->n_param; k++) {
        const tess_xpcs_tie_test *test = &info->tests[k];
        PyObject *entry =
            Py_BuildValue("{sssdsLsd}", "tie", tess_xpcs_tie_name((tess_xpcs_tie)info->ties[k]),
                          "gain", test->gain, "dof", (long long)test->dof, "p", test->p);
        if (core_put(dict, info->names[k], entry) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static int put_arrays(const core_state *state, PyObject *owner, PyObject *dict,
                      const tess_xpcs_joint_info *i)
{
    const core_named_reals arrays[] = {
        {"q", i->q, i->n_member, -1},
        {"theta", i->theta, i->n_member, i->n_param},
        {"sd", i->sd, i->n_member, i->n_param},
        {"chi2", i->chi2, i->n_member, -1},
        {"reduced_chi2", i->reduced_chi2, i->n_member, -1},
        {"noise", i->noise, i->n_member, -1},
        {"phi", i->phi, i->n_angle, -1},
        {"contrast", i->contrast, i->n_angle, -1},
        {"contrast_sd", i->contrast_sd, i->n_angle, -1},
        {"offset", i->offset, i->n_angle, -1},
        {"offset_sd", i->offset_sd, i->n_angle, -1},
        {"covariance", i->covariance, i->n_unknown, i->n_unknown},
    };
    if (core_put_reals(state, owner, dict, arrays, sizeof arrays / sizeof *arrays) < 0) {
        return -1;
    }
    return core_put(dict, "first_angle",
                    core_show_ints(state, owner, i->first_angle, i->n_member + 1, -1));
}

// The members' own fits, as arrays.
static int put_singles(const core_state *state, PyObject *dict, const tess_xpcs_joint_info *i)
{
    core_array *theta = xpcs_reals(state, i->n_member, i->n_param);
    core_array *sd = xpcs_reals(state, i->n_member, i->n_param);
    core_array *chi2 = xpcs_reals(state, i->n_member, -1);
    for (int64_t m = 0; theta && sd && chi2 && m < i->n_member; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(i->single[m]);
        const size_t bytes = (size_t)i->n_param * sizeof(double);
        memcpy((double *)theta->view.data + m * i->n_param, single->theta, bytes);
        memcpy((double *)sd->view.data + m * i->n_param, single->sd, bytes);
        ((double *)chi2->view.data)[m] = single->chi2;
    }
    const int puts[] = {core_put(dict, "theta_alone", (PyObject *)theta),
                        core_put(dict, "sd_alone", (PyObject *)sd),
                        core_put(dict, "chi2_alone", (PyObject *)chi2)};
    return puts[0] < 0 || puts[1] < 0 || puts[2] < 0 ? -1 : 0;
}

static PyObject *joint_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_xpcs_joint *joint = core_handle_get(state, value, &joint_class);
    if (!joint) {
        return NULL;
    }
    const tess_xpcs_joint_info *i = tess_xpcs_joint_get_info(joint);
    PyObject *dict = Py_BuildValue(
        "{sssssssssssdsdsLsdsdsLsLsLsOsd}", "mode", tess_xpcs_mode_name((tess_xpcs_mode)i->mode),
        "convergence", tess_xpcs_convergence_name((tess_xpcs_convergence)i->convergence), "quality",
        tess_xpcs_quality_name((tess_xpcs_quality)i->quality), "message", i->message, "warnings",
        i->warnings, "q_ref", i->q_ref, "excess", i->excess, "excess_dof", (long long)i->excess_dof,
        "excess_p", i->excess_p, "condition", i->condition, "n_evaluation",
        (long long)i->n_evaluation, "n_start", (long long)i->n_start, "n_checkpoint",
        (long long)i->n_checkpoint, "resumed", i->resumed ? Py_True : Py_False, "seconds",
        i->seconds);
    if (dict && (put_arrays(state, value, dict, i) < 0 || put_singles(state, dict, i) < 0 ||
                 core_put(dict, "unknowns", unknown_list(i)) < 0 ||
                 core_put(dict, "ties", tie_dict(i)) < 0)) {
        Py_CLEAR(dict);
    }
    return dict;
}

static tess_status save_joint(tess_context *ctx, const void *object, const char *path,
                              int overwrite)
{
    return tess_xpcs_joint_write(ctx, object, path, overwrite);
}

static PyObject *joint_write(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context", "joint", "folder", "overwrite"};
    static const core_saver saver = {
        {"xpcs_joint_write", names, 4, 4, 3}, &joint_class, save_joint};
    return core_handle_save(module, args, n_arg, keywords, &saver);
}

PyMethodDef core_xpcs_joint_methods[] = {
    {"xpcs_fit_joint", CORE_METHOD(fit_joint), METH_FASTCALL | METH_KEYWORDS,
     "Fit several data sets at once; returns a Handle."},
    {"xpcs_joint_info", CORE_METHOD(joint_info), METH_O, "What a joint fit found."},
    {"xpcs_joint_write", CORE_METHOD(joint_write), METH_FASTCALL | METH_KEYWORDS,
     "Write the files of a joint fit."},
    {NULL, NULL, 0, NULL},
};
