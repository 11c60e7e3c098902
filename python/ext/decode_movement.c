// decode for Python: movement between bins.

#include "decode.h"

#include <string.h>

static int kind_of(const core_state *state, const char *name, int32_t *kind)
{
    static const char *const kinds[] = {"discrete",
                                        "uniform",
                                        "random_walk",
                                        "identity",
                                        "random_walk_direction1",
                                        "random_walk_direction2",
                                        "empirical",
                                        "matrix"};
    for (int32_t i = 0; i < (int32_t)(sizeof kinds / sizeof *kinds); i++) {
        if (strcmp(kinds[i], name) == 0) {
            *kind = i;
            return 0;
        }
    }
    core_fail(state, TESS_E_ARGUMENT, "movement: '%s' does not exist", name);
    return -1;
}

int decode_movement_of(const core_state *state, PyObject *value, PyObject *keep,
                       tess_decode_movement *movement)
{
    const char *kind = NULL;
    int use_manifold = 0;
    int direction = 0;
    PyObject *variance = NULL;
    PyObject *mean = NULL;
    PyObject *matrix = NULL;
    const double *means = NULL;
    int64_t n_mean = 0;
    int64_t shape[2];
    tess_decode_movement_init(movement, sizeof *movement);
    if (!PyArg_ParseTuple(value, "spiOOO:movement", &kind, &use_manifold, &direction, &variance,
                          &mean, &matrix) ||
        kind_of(state, kind, &movement->kind) < 0 ||
        core_to_real(variance == Py_None ? NULL : variance, &movement->variance) < 0 ||
        core_reals(state, mean, "movement_mean", 1, keep, &means, &n_mean) < 0 ||
        core_reals(state, matrix, "matrix", 2, keep, &movement->matrix, shape) < 0) {
        return -1;
    }
    if (n_mean > TESS_DECODE_MAX_DIM) {
        core_fail(state, TESS_E_SHAPE, "movement_mean: expected at most %d values, got %lld",
                  TESS_DECODE_MAX_DIM, (long long)n_mean);
        return -1;
    }
    movement->use_manifold = use_manifold;
    movement->direction = direction;
    if (means) {
        memcpy(movement->mean, means, (size_t)n_mean * sizeof *means);
    }
    return 0;
}

static PyObject *movement_matrix(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                                 PyObject *keywords)
{
    static const char *const names[] = {"context", "movement", "origin", "destination"};
    static const core_signature signature = {"decode_movement_matrix", names, 4, 4, 4};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_decode_environment *from =
        context ? core_handle_get(state, values[2], &core_environment_class) : NULL;
    tess_decode_environment *to =
        from ? core_handle_get(state, values[3], &core_environment_class) : NULL;
    PyObject *keep = to ? PyList_New(0) : NULL;
    tess_decode_movement movement;
    core_array *out = NULL;
    core_call call;
    if (keep && decode_movement_of(state, values[1], keep, &movement) == 0) {
        out = decode_result(state, TESS_F64, 2, tess_decode_environment_get_info(from)->n_bin,
                            tess_decode_environment_get_info(to)->n_bin);
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status =
            tess_decode_movement_matrix(context->handle, &movement, from, to, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF(keep);
    return (PyObject *)out;
}

typedef struct empirical_input {
    const double *position;
    int64_t shape[2];
    const uint8_t *is_training;
    int64_t speedup;
    int32_t reversed;
} empirical_input;

static int read_empirical(const core_state *state, PyObject *const *values, PyObject *keep,
                          const tess_decode_environment *env, empirical_input *input)
{
    input->speedup = 1;
    input->reversed = 0;
    if (core_reals(state, values[0], "position", 2, keep, &input->position, input->shape) < 0 ||
        decode_mask(state, values[1], "is_training", "position", input->shape[0], keep,
                    &input->is_training) < 0 ||
        core_to_int(state, values[2], "speedup", 1, INT32_MAX, &input->speedup) < 0 ||
        core_to_flag(values[3], &input->reversed) < 0) {
        return -1;
    }
    const int64_t n_dim = tess_decode_environment_get_info(env)->n_dim;
    if (input->shape[1] != n_dim) {
        core_fail(state, TESS_E_SHAPE, "position has %lld coordinates, this environment has %lld",
                  (long long)input->shape[1], (long long)n_dim);
        return -1;
    }
    return 0;
}

static PyObject *empirical(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context",     "environment", "position",
                                        "is_training", "speedup",     "time_reversed"};
    static const core_signature signature = {"decode_empirical_movement", names, 6, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[6];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const tess_decode_environment *env =
        context ? core_handle_get(state, values[1], &core_environment_class) : NULL;
    PyObject *keep = env ? PyList_New(0) : NULL;
    empirical_input input;
    core_array *out = NULL;
    core_call call;
    if (keep && read_empirical(state, values + 2, keep, env, &input) == 0) {
        const int64_t n_bin = tess_decode_environment_get_info(env)->n_bin;
        out = decode_result(state, TESS_F64, 2, n_bin, n_bin);
    }
    if (out && core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_decode_empirical_movement(
            context->handle, env, input.position, input.shape[0], input.is_training, input.speedup,
            input.reversed, out->view.data);
        if (core_call_end(&call, status) < 0) {
            Py_CLEAR(out);
        }
    } else {
        Py_CLEAR(out);
    }
    Py_XDECREF(keep);
    return (PyObject *)out;
}

static PyObject *movement_variance(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    tess_decode_movement movement;
    tess_decode_movement_init(&movement, sizeof movement);
    return PyFloat_FromDouble(movement.variance);
}

PyMethodDef core_decode_movement_methods[] = {
    {"decode_movement_variance", movement_variance, METH_NOARGS,
     "Default variance of a step, cm^2 per time bin."},
    {"decode_movement_matrix", CORE_METHOD(movement_matrix), METH_FASTCALL | METH_KEYWORDS,
     "Matrix of a movement over all bins of two environments."},
    {"decode_empirical_movement", CORE_METHOD(empirical), METH_FASTCALL | METH_KEYWORDS,
     "Matrix of the steps of a position series."},
    {NULL, NULL, 0, NULL},
};
