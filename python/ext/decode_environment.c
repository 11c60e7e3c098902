// decode for Python: environments and movement.

#include "decode.h"

static void destroy(void *object)
{
    tess_decode_environment_destroy(object);
}

const core_handle_class core_environment_class = {"decode environment", destroy};

// (node_position, edges, edge_length, edge_order, edge_spacing), the last three may be None.
static int read_track(const core_state *state, PyObject *value, PyObject *keep,
                      tess_decode_track *track)
{
    tess_decode_track_init(track, sizeof *track);
    PyObject *parts[5];
    if (!PyArg_ParseTuple(value, "OOOOO:track", &parts[0], &parts[1], &parts[2], &parts[3],
                          &parts[4])) {
        return -1;
    }
    const void *edges = NULL;
    const void *order = NULL;
    int64_t nodes_shape[2];
    int64_t edges_shape[2];
    int64_t order_shape[2];
    int64_t n_length = 0;
    if (core_reals(state, parts[0], "node_position", 2, keep, &track->node_position, nodes_shape) <
            0 ||
        core_view(state, parts[1], "edges", TESS_I64, 2, keep, &edges, edges_shape) < 0 ||
        core_reals(state, parts[2], "edge_length", 1, keep, &track->edge_length, &n_length) < 0 ||
        core_view(state, parts[3], "edge_order", TESS_I64, 2, keep, &order, order_shape) < 0 ||
        core_reals(state, parts[4], "edge_spacing", 1, keep, &track->edge_spacing,
                   &track->n_spacing) < 0) {
        return -1;
    }
    if (nodes_shape[1] != 2 || edges_shape[1] != 2 || (order && order_shape[1] != 2) ||
        (track->edge_length && n_length != edges_shape[0])) {
        core_fail(state, TESS_E_SHAPE,
                  "track: expected node positions (n, 2), edges (m, 2), m lengths and an edge "
                  "order (k, 2)");
        return -1;
    }
    track->n_node = nodes_shape[0];
    track->n_edge = edges_shape[0];
    track->edges = edges;
    track->n_order = order_shape[0];
    track->edge_order = order;
    return 0;
}

static int one_per_dimension(const core_state *state, const char *name, int64_t n, int64_t n_dim)
{
    if (n != n_dim) {
        core_fail(state, TESS_E_SHAPE,
                  "%s: expected one entry per coordinate of position (%lld), got %lld", name,
                  (long long)n_dim, (long long)n);
        return -1;
    }
    return 0;
}

enum {
    ENV_CONTEXT,
    ENV_POSITION,
    ENV_N_DIM,
    ENV_OPTIONS,
    ENV_SIZE,
    ENV_RANGE,
    ENV_MASK,
    ENV_TRACK,
    ENV_NAME,
    ENV_COUNT
};

static int read_environment(const core_state *state, PyObject **values, PyObject *keep,
                            tess_decode_environment_config *config, tess_decode_track *track,
                            const double **position, int64_t *shape)
{
    const void *mask = NULL;
    int64_t n_size = 0;
    int64_t range_shape[2];
    int64_t n_dim = 1;
    tess_decode_environment_config_init(config, sizeof *config);
    if (core_to_config(state, values[ENV_OPTIONS], tess_decode_environment_params(), config) < 0 ||
        core_to_int(state, values[ENV_N_DIM], "n_dim", 1, TESS_DECODE_MAX_DIM, &n_dim) < 0 ||
        core_reals(state, values[ENV_POSITION], "position", 2, keep, position, shape) < 0 ||
        core_reals(state, values[ENV_SIZE], "place_bin_size", 1, keep, &config->bin_size, &n_size) <
            0 ||
        core_reals(state, values[ENV_RANGE], "position_range", 2, keep, &config->position_range,
                   range_shape) < 0 ||
        core_view(state, values[ENV_MASK], "is_track_interior", TESS_U8, 1, keep, &mask,
                  &config->n_is_track_interior) < 0 ||
        core_to_text(values[ENV_NAME], "environment_name", &config->name) < 0) {
        return -1;
    }
    if (*position) {
        n_dim = shape[1];
    }
    shape[1] = n_dim;
    if ((config->bin_size && one_per_dimension(state, "place_bin_size", n_size, n_dim) < 0) ||
        (config->position_range &&
         (one_per_dimension(state, "position_range", range_shape[0], n_dim) < 0 ||
          one_per_dimension(state, "position_range entry", range_shape[1], 2) < 0))) {
        return -1;
    }
    config->is_track_interior = mask;
    if (values[ENV_TRACK]) {
        config->track = track;
        return read_track(state, values[ENV_TRACK], keep, track);
    }
    return 0;
}

static PyObject *environment(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"context",           "position", "n_dim",
                                        "options",           "bin_size", "position_range",
                                        "is_track_interior", "track",    "name"};
    static const core_signature signature = {"decode_environment", names, ENV_COUNT, 2, 1};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[ENV_COUNT];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[ENV_CONTEXT]);
    PyObject *keep = context ? PyList_New(0) : NULL;
    tess_decode_environment_config config;
    tess_decode_track track;
    const double *position = NULL;
    int64_t shape[2];
    core_handle *handle = NULL;
    core_call call;
    if (keep && read_environment(state, values, keep, &config, &track, &position, shape) == 0) {
        handle = core_handle_create(state, context, &core_environment_class, NULL);
    }
    if (core_handle_begin(&handle, &call, state, NULL) == 0) {
        tess_decode_environment *made = NULL;
        const tess_status status = tess_decode_environment_create(
            context->handle, &config, position, shape[0], shape[1], &made);
        core_handle_end(&handle, &call, made, status);
    }
    Py_XDECREF(keep);
    return (PyObject *)handle;
}

static PyObject *grid_shape_of(const tess_decode_environment_info *info)
{
    PyObject *shape = PyTuple_New((Py_ssize_t)info->n_place_dim);
    for (int64_t i = 0; shape && i < info->n_place_dim; i++) {
        PyObject *n = PyLong_FromLongLong(info->grid_shape[i]);
        if (!n || PyTuple_SetItem(shape, (Py_ssize_t)i, n) < 0) {
            Py_CLEAR(shape);
        }
    }
    return shape;
}

static PyObject *edges_of(const core_state *state, PyObject *owner,
                          const tess_decode_environment_info *info)
{
    PyObject *edges = PyTuple_New((Py_ssize_t)info->n_place_dim);
    for (int64_t i = 0; edges && i < info->n_place_dim; i++) {
        PyObject *axis =
            core_show_reals(state, owner, info->bin_edges[i], info->grid_shape[i] + 1, -1);
        if (!axis || PyTuple_SetItem(edges, (Py_ssize_t)i, axis) < 0) {
            Py_CLEAR(edges);
        }
    }
    return edges;
}

static PyObject *environment_info(PyObject *module, PyObject *value)
{
    const core_state *state = PyModule_GetState(module);
    const tess_decode_environment *env = core_handle_get(state, value, &core_environment_class);
    PyObject *dict = env ? PyDict_New() : NULL;
    if (!dict) {
        return NULL;
    }
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    const int64_t n_bin = info->n_bin;
    if (core_put(dict, "is_track", PyBool_FromLong(info->is_track)) < 0 ||
        core_put(dict, "name", core_text(info->name)) < 0 ||
        core_put(dict, "n_dim", PyLong_FromLongLong(info->n_dim)) < 0 ||
        core_put(dict, "grid_shape", grid_shape_of(info)) < 0 ||
        core_put(dict, "bin_edges", edges_of(state, value, info)) < 0 ||
        core_put(dict, "bin_centers",
                 core_show_reals(state, value, info->bin_centers, n_bin, info->n_place_dim)) < 0 ||
        core_put(dict, "is_interior", core_show_mask(state, value, info->is_interior, n_bin)) < 0 ||
        core_put(dict, "is_boundary", core_show_mask(state, value, info->is_boundary, n_bin)) < 0 ||
        core_put(dict, "interior_bin",
                 core_show_ints(state, value, info->interior_bin, info->n_interior, -1)) < 0 ||
        core_put(dict, "track_edges",
                 core_show_ints(state, value, info->track_edges, info->n_track_edge, 2)) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

// Points [n][columns] given to a function of an environment.
typedef struct point_call {
    const tess_decode_environment *env;
    const double *points;
    int64_t n;
    PyObject *keep;
} point_call;

static int read_points(const core_state *state, PyObject *const *args, Py_ssize_t n_arg,
                       int64_t is_place, point_call *call)
{
    int64_t shape[2];
    call->keep = NULL;
    if (n_arg != 2) {
        PyErr_SetString(PyExc_TypeError, "expected an environment and points");
        return -1;
    }
    call->env = core_handle_get(state, args[0], &core_environment_class);
    call->keep = call->env ? PyList_New(0) : NULL;
    if (!call->keep ||
        core_reals(state, args[1], "position", 2, call->keep, &call->points, shape) < 0) {
        return -1;
    }
    const tess_decode_environment_info *info = tess_decode_environment_get_info(call->env);
    const int64_t wanted = is_place ? info->n_place_dim : info->n_dim;
    if (shape[1] != wanted) {
        core_fail(state, TESS_E_SHAPE, "position has %lld coordinates, this environment has %lld",
                  (long long)shape[1], (long long)wanted);
        return -1;
    }
    call->n = shape[0];
    return 0;
}

static PyObject *linearize(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    point_call call;
    PyObject *result = NULL;
    if (read_points(state, args, n_arg, 0, &call) == 0) {
        core_array *linear = decode_result(state, TESS_F64, 1, call.n, 0);
        core_array *segment = decode_result(state, TESS_I64, 1, call.n, 0);
        core_array *projected = decode_result(state, TESS_F64, 2, call.n, 2);
        if (linear && segment && projected) {
            const tess_status status =
                tess_decode_linearize(call.env, call.points, call.n, linear->view.data,
                                      segment->view.data, projected->view.data);
            result = status == TESS_OK ? PyTuple_Pack(3, linear, segment, projected)
                                       : core_raise(state, status, tess_last_error());
        }
        Py_XDECREF((PyObject *)linear);
        Py_XDECREF((PyObject *)segment);
        Py_XDECREF((PyObject *)projected);
    }
    Py_XDECREF(call.keep);
    return result;
}

static PyObject *place(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    point_call call;
    core_array *out = NULL;
    if (read_points(state, args, n_arg, 0, &call) == 0) {
        const int64_t n_dim = tess_decode_environment_get_info(call.env)->n_place_dim;
        out = decode_result(state, TESS_F64, 2, call.n, n_dim);
        const tess_status status =
            out ? tess_decode_place(call.env, call.points, call.n, out->view.data) : TESS_OK;
        if (status != TESS_OK) {
            core_raise(state, status, tess_last_error());
            Py_CLEAR(out);
        }
    }
    Py_XDECREF(call.keep);
    return (PyObject *)out;
}

static PyObject *bin_index(PyObject *module, PyObject *const *args, Py_ssize_t n_arg)
{
    const core_state *state = PyModule_GetState(module);
    point_call call;
    core_array *out = NULL;
    if (read_points(state, args, n_arg, 1, &call) == 0) {
        out = decode_result(state, TESS_I64, 1, call.n, 0);
        const tess_status status =
            out ? tess_decode_bin_index(call.env, call.points, call.n, out->view.data) : TESS_OK;
        if (status != TESS_OK) {
            core_raise(state, status, tess_last_error());
            Py_CLEAR(out);
        }
    }
    Py_XDECREF(call.keep);
    return (PyObject *)out;
}

static PyObject *distances(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "environment"};
    static const core_signature signature = {"decode_distances", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    tess_decode_environment *env =
        context ? core_handle_get(state, values[1], &core_environment_class) : NULL;
    core_call call;
    if (!env || core_call_begin(&call, state, context, NULL) < 0) {
        return NULL;
    }
    const double *found = NULL;
    const tess_status status = tess_decode_distances(context->handle, env, &found);
    if (core_call_end(&call, status) < 0) {
        return NULL;
    }
    const int64_t n = tess_decode_environment_get_info(env)->n_interior;
    return core_show_reals(state, values[1], found, n, n);
}

static PyObject *position_at(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"position_time", "position", "time"};
    static const core_signature signature = {"decode_position_at", names, 3, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    PyObject *keep = PyList_New(0);
    const double *time = NULL;
    const double *position = NULL;
    const double *query = NULL;
    int64_t n_time = 0;
    int64_t shape[2];
    int64_t n = 0;
    core_array *out = NULL;
    if (keep && core_reals(state, values[0], names[0], 1, keep, &time, &n_time) == 0 &&
        core_reals(state, values[1], names[1], 2, keep, &position, shape) == 0 &&
        core_reals(state, values[2], names[2], 1, keep, &query, &n) == 0) {
        if (n_time != shape[0]) {
            core_fail(state, TESS_E_SHAPE, "position_time has %lld values, position has %lld",
                      (long long)n_time, (long long)shape[0]);
        } else {
            out = decode_result(state, TESS_F64, 2, n, shape[1]);
        }
    }
    if (out) {
        const tess_status status =
            tess_decode_position_at(time, position, n_time, shape[1], query, n, out->view.data);
        if (status != TESS_OK) {
            core_raise(state, status, tess_last_error());
            Py_CLEAR(out);
        }
    }
    Py_XDECREF(keep);
    return (PyObject *)out;
}

PyMethodDef core_decode_environment_methods[] = {
    {"decode_environment", CORE_METHOD(environment), METH_FASTCALL | METH_KEYWORDS,
     "Make the bins of an environment; returns a Handle."},
    {"decode_environment_info", environment_info, METH_O, "Everything known of an environment."},
    {"decode_linearize", CORE_METHOD(linearize), METH_FASTCALL,
     "(linear position, edge, projected point) of points in the plane."},
    {"decode_place", CORE_METHOD(place), METH_FASTCALL, "Bin coordinates of raw positions."},
    {"decode_bin_index", CORE_METHOD(bin_index), METH_FASTCALL, "Bin of bin coordinates."},
    {"decode_distances", CORE_METHOD(distances), METH_FASTCALL | METH_KEYWORDS,
     "Shortest paths between interior bins."},
    {"decode_position_at", CORE_METHOD(position_at), METH_FASTCALL | METH_KEYWORDS,
     "Position at other times, interpolated."},
    {NULL, NULL, 0, NULL},
};
