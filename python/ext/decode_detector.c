// decode for Python: state-space models, prediction and expectation maximisation.

#include "decode.h"

#include <string.h>

static void destroy(void *object)
{
    tess_decode_detector_destroy(object);
}

const core_handle_class core_detector_class = {"decode detector", destroy};

enum {
    DET_CONTEXT,
    DET_STATES,
    DET_ENVIRONMENTS,
    DET_ENCODINGS,
    DET_MOVEMENTS,
    DET_INITIAL_STATE,
    DET_TRANSITION,
    DET_COEFFICIENTS,
    DET_INITIAL,
    DET_OPTIONS,
    DET_COUNT
};

// Everything tess_decode_detector_create() wants, until it has copied it.
typedef struct detector_input {
    PyObject *keep;
    tess_decode_state *states;
    tess_decode_movement *movements;
    void **environments;
    void **encodings;
    int64_t n_environment;
    int64_t n_encoding;
    tess_decode_detector_config config;
} detector_input;

static void free_input(detector_input *input)
{
    Py_CLEAR(input->keep);
    PyMem_Free(input->states);
    PyMem_Free(input->movements);
    PyMem_Free(input->environments);
    PyMem_Free(input->encodings);
}

static int read_states(const core_state *state, PyObject *list, PyObject *movements,
                       detector_input *input)
{
    const Py_ssize_t n = PyList_Size(list);
    input->states = PyMem_Calloc((size_t)n + 1, sizeof *input->states);
    input->movements = PyMem_Calloc((size_t)(n * n) + 1, sizeof *input->movements);
    if (!input->states || !input->movements) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        tess_decode_state *row = &input->states[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "siipp:state", &row->name, &row->environment,
                              &row->encoding, &row->is_local, &row->is_no_spike)) {
            return -1;
        }
    }
    if (PyList_Size(movements) != n * n) {
        core_fail(state, TESS_E_SHAPE,
                  "continuous_transition_types: expected %lld rows of as many entries, got %lld "
                  "entries",
                  (long long)n, (long long)PyList_Size(movements));
        return -1;
    }
    for (Py_ssize_t i = 0; i < n * n; i++) {
        if (decode_movement_of(state, PyList_GetItem(movements, i), input->keep,
                               &input->movements[i]) < 0) {
            return -1;
        }
    }
    input->config.n_state = (int32_t)n;
    input->config.states = input->states;
    input->config.movements = input->movements;
    return 0;
}

static void **read_handles(const core_state *state, PyObject *list, const core_handle_class *class,
                           int64_t *n)
{
    *n = PyList_Size(list);
    void **objects = PyMem_Calloc((size_t)*n + 1, sizeof *objects);
    if (!objects) {
        PyErr_NoMemory();
        return NULL;
    }
    for (int64_t i = 0; i < *n; i++) {
        objects[i] = core_handle_get(state, PyList_GetItem(list, (Py_ssize_t)i), class);
        if (!objects[i]) {
            PyMem_Free(objects);
            return NULL;
        }
    }
    return objects;
}

static int has_shape(const core_state *state, const char *name, int32_t rank, const int64_t *got,
                     const int64_t *wanted)
{
    for (int32_t i = 0; i < rank; i++) {
        if (got[i] != wanted[i]) {
            core_fail(state, TESS_E_SHAPE, "%s: axis %d has %lld values, expected %lld", name,
                      (int)i, (long long)got[i], (long long)wanted[i]);
            return -1;
        }
    }
    return 0;
}

static int read_parameters(const core_state *state, PyObject *const *values, detector_input *input)
{
    tess_decode_detector_config *config = &input->config;
    const int64_t n = config->n_state;
    int64_t n_initial = 0;
    int64_t shape[3];
    if (core_reals(state, values[DET_INITIAL_STATE], "discrete_initial_conditions", 1, input->keep,
                   &config->discrete_initial, shape) < 0 ||
        has_shape(state, "discrete_initial_conditions", 1, shape, &n) < 0) {
        return -1;
    }
    const int64_t square[2] = {n, n};
    if (core_reals(state, values[DET_TRANSITION], "discrete_transition", 2, input->keep,
                   &config->discrete_transition, shape) < 0 ||
        has_shape(state, "discrete_transition", 2, shape, square) < 0) {
        return -1;
    }
    if (core_reals(state, values[DET_COEFFICIENTS], "coefficients", 3, input->keep,
                   &config->coefficients, shape) < 0) {
        return -1;
    }
    const int64_t wanted[3] = {shape[0], n, n - 1};
    config->n_coefficient = shape[0];
    if (config->coefficients && has_shape(state, "coefficients", 3, shape, wanted) < 0) {
        return -1;
    }
    return core_reals(state, values[DET_INITIAL], "initial_conditions", 1, input->keep,
                      &config->initial, &n_initial);
}

static int read_input(const core_state *state, PyObject *const *values, detector_input *input)
{
    for (int i = DET_STATES; i <= DET_MOVEMENTS; i++) {
        if (!PyList_Check(values[i])) {
            PyErr_Format(PyExc_TypeError, "expected a list, got %R", values[i]);
            return -1;
        }
    }
    input->keep = PyList_New(0);
    tess_decode_detector_config_init(&input->config, sizeof input->config);
    if (!input->keep ||
        core_to_config(state, values[DET_OPTIONS], tess_decode_detector_params(), &input->config) <
            0 ||
        read_states(state, values[DET_STATES], values[DET_MOVEMENTS], input) < 0 ||
        read_parameters(state, values, input) < 0) {
        return -1;
    }
    input->environments = read_handles(state, values[DET_ENVIRONMENTS], &core_environment_class,
                                       &input->n_environment);
    input->encodings = input->environments ? read_handles(state, values[DET_ENCODINGS],
                                                          &core_encoding_class, &input->n_encoding)
                                           : NULL;
    return input->encodings ? 0 : -1;
}

static PyObject *detector(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                          PyObject *keywords)
{
    static const char *const names[] = {
        "context",   "states",           "environments",        "encodings",
        "movements", "discrete_initial", "discrete_transition", "coefficients",
        "initial",   "options"};
    static const core_signature signature = {"decode_detector", names, DET_COUNT, 7, 7};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[DET_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[DET_CONTEXT]);
    detector_input input = {.keep = NULL};
    core_handle *handle = NULL;
    core_call call;
    if (context && read_input(state, values, &input) == 0) {
        PyObject *borrowed = PySequence_Concat(values[DET_ENVIRONMENTS], values[DET_ENCODINGS]);
        handle =
            borrowed ? core_handle_create(state, context, &core_detector_class, borrowed) : NULL;
        Py_XDECREF(borrowed);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_decode_detector *made = NULL;
        const tess_status status = tess_decode_detector_create(
            context->handle, &input.config, (tess_decode_environment *const *)input.environments,
            input.n_environment, (const tess_decode_encoding *const *)input.encodings,
            input.n_encoding, &made);
        core_handle_end(&handle, &call, made, status);
    }
    free_input(&input);
    return (PyObject *)handle;
}

static PyObject *show_coefficients(const core_state *state, PyObject *owner,
                                   const tess_decode_detector_info *info)
{
    const int64_t shape[3] = {info->n_coefficient, info->n_state, info->n_state - 1};
    return core_array_show(state, owner, TESS_F64, 3, shape,
                           info->n_coefficient ? info->coefficients : NULL);
}

static PyObject *detector_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_decode_detector *model = core_handle_get(state, value, &core_detector_class);
    PyObject *dict = model ? PyDict_New() : NULL;
    if (!dict) {
        return NULL;
    }
    const tess_decode_detector_info *info = tess_decode_detector_get_info(model);
    const int64_t n = info->n_state;
    const int64_t n_bin = info->n_state_bin;
    if (core_put(dict, "n_state_bin", PyLong_FromLongLong(n_bin)) < 0 ||
        core_put(dict, "n_all_bin", PyLong_FromLongLong(info->n_all_bin)) < 0 ||
        core_put(dict, "n_ll", PyLong_FromLongLong(info->n_ll)) < 0 ||
        core_put(dict, "state_first", core_show_ints(state, value, info->state_first, n + 1, -1)) <
            0 ||
        core_put(dict, "all_index", core_show_ints(state, value, info->all_index, n_bin, -1)) < 0 ||
        core_put(dict, "ll_first", core_show_ints(state, value, info->ll_first, n, -1)) < 0 ||
        core_put(dict, "discrete_initial",
                 core_show_reals(state, value, info->discrete_initial, n, -1)) < 0 ||
        core_put(dict, "discrete_transition",
                 core_show_reals(state, value, info->discrete_transition, n, n)) < 0 ||
        core_put(dict, "coefficients", show_coefficients(state, value, info)) < 0 ||
        core_put(dict, "initial", core_show_reals(state, value, info->initial, n_bin, -1)) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

PyMethodDef core_decode_detector_methods[] = {
    {"decode_detector", CORE_METHOD(detector), METH_FASTCALL | METH_KEYWORDS,
     "Make a state-space model; returns a Handle."},
    {"decode_detector_info", detector_info, METH_O,
     "Layout and parameters of a model; the arrays change with expectation maximisation."},
    {NULL, NULL, 0, NULL},
};
