// xpcs for Python: correlations with known parameters, as data or as a file.

#include "xpcs.h"

#include <string.h>

enum {
    SIM_CONTEXT,
    SIM_OPTIONS,
    SIM_MODEL,
    SIM_THETA,
    SIM_PHI,
    SIM_Q,
    SIM_CONTRASTS,
    SIM_OFFSETS,
    SIM_BAD_FRAMES,
    SIM_IN_MEMORY,
    SIM_PROGRESS,
    SIM_PATH, // of files, like the rest
    SIM_LAYOUT,
    SIM_FILTER,
    SIM_OVERWRITE,
    SIM_COUNT
};

static const char *const sim_names[] = {
    "context",    "options",   "model",    "theta", "phi",    "q",      "contrasts", "offsets",
    "bad_frames", "in_memory", "progress", "path",  "layout", "filter", "overwrite"};

static int read_simulation(const core_state *state, PyObject *const *values, PyObject *keep,
                           tess_xpcs_simulation *s)
{
    tess_xpcs_simulation_init(s, sizeof *s);
    return core_to_config(state, values[SIM_OPTIONS], tess_xpcs_simulation_params(), s) < 0 ||
                   core_to_config(state, values[SIM_MODEL], tess_xpcs_model_params(), &s->model) <
                       0 ||
                   xpcs_vector(state, values[SIM_THETA], "params", xpcs_n_param(&s->model), keep,
                               &s->theta) < 0 ||
                   xpcs_vector(state, values[SIM_PHI], "phi", s->n_angle, keep, &s->phi) < 0 ||
                   xpcs_vector(state, values[SIM_Q], "q", s->n_angle, keep, &s->q_list) < 0 ||
                   xpcs_vector(state, values[SIM_CONTRASTS], "contrast", s->n_angle, keep,
                               &s->contrasts) < 0 ||
                   xpcs_vector(state, values[SIM_OFFSETS], "offset", s->n_angle, keep,
                               &s->offsets) < 0 ||
                   xpcs_indices(state, values[SIM_BAD_FRAMES], "bad_frames", keep, &s->bad_frames,
                                &s->n_bad_frame) < 0
               ? -1
               : 0;
}

static PyObject *simulate(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const core_signature signature = {"xpcs_simulate", sim_names, SIM_COUNT, 3, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[SIM_COUNT];
    int32_t in_memory = 1;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_flag(values[SIM_IN_MEMORY], &in_memory) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[SIM_CONTEXT]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    tess_xpcs_simulation simulation;
    core_handle *handle = NULL;
    core_call call;
    if (keep && read_simulation(state, values, keep, &simulation) == 0) {
        handle = core_handle_create(state, context, &core_xpcs_data_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, values[SIM_PROGRESS]) == 0) {
        tess_xpcs_data *made = NULL;
        const tess_status status =
            tess_xpcs_simulate(context->handle, &simulation, in_memory, &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(keep);
    return (PyObject *)handle;
}

// The place of a word among choices; -1 with an exception.
static int to_choice(const core_state *state, PyObject *value, const char *name,
                     const char *const *choices, int n, int *out)
{
    const char *text = choices[0];
    if (core_to_text(value, name, &text) < 0) {
        return -1;
    }
    for (*out = 0; *out < n; ++*out) {
        if (strcmp(text, choices[*out]) == 0) {
            return 0;
        }
    }
    core_fail(state, TESS_E_ARGUMENT, "%s: '%s' does not exist; choose one of %s, %s, %s", name,
              text, choices[0], choices[1], choices[2]);
    return -1;
}

static PyObject *simulate_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                               PyObject *keywords)
{
    static const char *const layouts[] = {"aps-u", "aps-legacy", "txc2"};
    static const char *const filters[] = {"lzf", "deflate", "none"};
    static const core_signature signature = {"xpcs_simulate_file", sim_names, SIM_COUNT, 3, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[SIM_COUNT];
    int layout = 0;
    int filter = 0;
    int32_t overwrite = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        to_choice(state, values[SIM_LAYOUT], "layout", layouts, 3, &layout) < 0 ||
        to_choice(state, values[SIM_FILTER], "filter", filters, 3, &filter) < 0 ||
        core_to_flag(values[SIM_OVERWRITE], &overwrite) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[SIM_CONTEXT]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    tess_xpcs_simulation simulation;
    int result = -1;
    core_call call;
    if (keep && read_simulation(state, values, keep, &simulation) == 0 &&
        core_to_path(values[SIM_PATH], &path_bytes, &path) == 0 &&
        core_call_begin(&call, state, context, values[SIM_PROGRESS]) == 0) {
        const tess_status status =
            tess_xpcs_simulate_file(context->handle, &simulation, (tess_xpcs_file_layout)layout,
                                    (tess_xpcs_filter)filter, path, overwrite);
        result = core_call_end(&call, status);
    }
    Py_XDECREF(path_bytes);
    Py_XDECREF(keep);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_xpcs_simulate_methods[] = {
    {"xpcs_simulate", CORE_METHOD(simulate), METH_FASTCALL | METH_KEYWORDS,
     "Simulated correlations; returns a Handle."},
    {"xpcs_simulate_file", CORE_METHOD(simulate_file), METH_FASTCALL | METH_KEYWORDS,
     "Simulated correlations as a beamline's file."},
    {NULL, NULL, 0, NULL},
};
