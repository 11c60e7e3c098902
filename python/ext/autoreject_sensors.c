// autoreject for Python: sensors and the smaller inputs.

#include "autoreject.h"

#include <string.h>

PyObject *autoreject_entry(PyObject *dict, const char *name)
{
    PyObject *value = PyDict_GetItemString(dict, name);
    return value == Py_None ? NULL : value;
}

int autoreject_texts(PyObject *list, const char *name, const char ***out, int64_t *n)
{
    *out = NULL;
    *n = 0;
    if (!list || !PyList_Check(list)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a list of text", name);
        return -1;
    }
    const Py_ssize_t length = PyList_Size(list);
    const char **texts = PyMem_Calloc((size_t)length + 1, sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (!texts[i]) {
            PyMem_Free(texts);
            return -1;
        }
    }
    *out = texts;
    *n = length;
    return 0;
}

PyObject *autoreject_text_list(const char *const *texts, int64_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *text = core_text(texts[i] ? texts[i] : "");
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static int wrong_shape(const core_state *state, const char *name, int64_t got, int64_t wanted)
{
    if (got != wanted) {
        core_fail(state, TESS_E_SHAPE, "%s: expected %lld entries, got %lld", name,
                  (long long)wanted, (long long)got);
        return 1;
    }
    return 0;
}

static int read_types(const core_state *state, PyObject *list, autoreject_sensors *out)
{
    const char **types = NULL;
    int64_t n = 0;
    if (autoreject_texts(list, "types", &types, &n) < 0) {
        return -1;
    }
    int result = wrong_shape(state, "types", n, out->sensors.n_chan) ? -1 : 0;
    for (int64_t i = 0; result == 0 && i < n; i++) {
        // MNE knows more types than can be solved; all of them are other.
        const int32_t type = tess_autoreject_type_find(types[i]);
        out->channels[i].type = type < 0 ? TESS_AUTOREJECT_OTHER : type;
    }
    PyMem_Free(types);
    return result;
}

static int read_channels(const core_state *state, PyObject *dict, autoreject_sensors *out)
{
    const char **names = NULL;
    int64_t n = 0;
    if (autoreject_texts(autoreject_entry(dict, "names"), "names", &names, &n) < 0) {
        return -1;
    }
    const void *coils = NULL;
    const void *bads = NULL;
    const double *loc = NULL;
    int64_t n_coil = 0;
    int64_t n_bad = 0;
    int64_t loc_shape[2];
    int result = -1;
    out->sensors.n_chan = n;
    out->channels = PyMem_Calloc((size_t)n + 1, sizeof *out->channels);
    if (!out->channels) {
        PyErr_NoMemory();
    } else if (core_view(state, autoreject_entry(dict, "coil_types"), "coil_types", TESS_I32, 1,
                         out->keep, &coils, &n_coil) == 0 &&
               core_view(state, autoreject_entry(dict, "bads"), "bads", TESS_U8, 1, out->keep,
                         &bads, &n_bad) == 0 &&
               core_reals(state, autoreject_entry(dict, "loc"), "loc", 2, out->keep, &loc,
                          loc_shape) == 0 &&
               !wrong_shape(state, "coil_types", n_coil, n) &&
               !wrong_shape(state, "bads", n_bad, n) &&
               !wrong_shape(state, "loc", loc_shape[0], n) &&
               !wrong_shape(state, "loc[0]", loc_shape[1], 12)) {
        result = read_types(state, autoreject_entry(dict, "types"), out);
    }
    for (int64_t i = 0; result == 0 && i < n; i++) {
        out->channels[i].name = names[i];
        out->channels[i].coil_type = ((const int32_t *)coils)[i];
        out->channels[i].is_bad = ((const uint8_t *)bads)[i];
        memcpy(out->channels[i].loc, loc + 12 * i, sizeof out->channels[i].loc);
    }
    out->sensors.channels = out->channels;
    PyMem_Free(names);
    return result;
}

static int read_points(const core_state *state, PyObject *dict, autoreject_sensors *out)
{
    const void *kinds = NULL;
    const double *places = NULL;
    int64_t n = 0;
    int64_t shape[2];
    if (core_view(state, autoreject_entry(dict, "point_kinds"), "point_kinds", TESS_I32, 1,
                  out->keep, &kinds, &n) < 0 ||
        core_reals(state, autoreject_entry(dict, "points"), "points", 2, out->keep, &places,
                   shape) < 0) {
        return -1;
    }
    if (n == 0) {
        return 0;
    }
    if (wrong_shape(state, "points", shape[0], n) || wrong_shape(state, "points[0]", shape[1], 3)) {
        return -1;
    }
    out->points = PyMem_Calloc((size_t)n, sizeof *out->points);
    if (!out->points) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        out->points[i].kind = ((const int32_t *)kinds)[i];
        memcpy(out->points[i].position, places + 3 * i, sizeof out->points[i].position);
    }
    out->sensors.n_point = n;
    out->sensors.points = out->points;
    return 0;
}

// (name, is active, channel names, vectors)
static int read_projector(const core_state *state, PyObject *value, PyObject *keep,
                          tess_autoreject_projector *out)
{
    PyObject *name = NULL;
    PyObject *names = NULL;
    PyObject *vectors = NULL;
    int is_active = 0;
    const char **texts = NULL;
    int64_t shape[2];
    if (!PyArg_ParseTuple(value, "OpOO:projector", &name, &is_active, &names, &vectors) ||
        core_to_text(name, "projector", &out->name) < 0 ||
        autoreject_texts(names, "projector", &texts, &out->n_chan) < 0) {
        return -1;
    }
    out->channel_names = texts;
    out->is_active = is_active;
    if (core_reals(state, vectors, "projector", 2, keep, &out->vectors, shape) < 0 ||
        wrong_shape(state, "projector", shape[1], out->n_chan)) {
        return -1;
    }
    out->n_vector = shape[0];
    return 0;
}

static int read_projectors(const core_state *state, PyObject *list, autoreject_sensors *out)
{
    const Py_ssize_t n = list && PyList_Check(list) ? PyList_Size(list) : 0;
    out->projectors = PyMem_Calloc((size_t)n + 1, sizeof *out->projectors);
    if (!out->projectors) {
        PyErr_NoMemory();
        return -1;
    }
    out->n_projector = n;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (read_projector(state, PyList_GetItem(list, i), out->keep, &out->projectors[i]) < 0) {
            return -1;
        }
    }
    out->sensors.n_projector = n;
    out->sensors.projectors = out->projectors;
    return 0;
}

static int read_transform(const core_state *state, PyObject *value, autoreject_sensors *out)
{
    const double *matrix = NULL;
    int64_t shape[2];
    if (core_reals(state, value, "device_to_head", 2, out->keep, &matrix, shape) < 0) {
        return -1;
    }
    if (!matrix) {
        return 0;
    }
    if (wrong_shape(state, "device_to_head", shape[0], 4) ||
        wrong_shape(state, "device_to_head[0]", shape[1], 4)) {
        return -1;
    }
    out->sensors.has_device_to_head = 1;
    memcpy(out->sensors.device_to_head, matrix, sizeof out->sensors.device_to_head);
    return 0;
}

int autoreject_sensors_init(const core_state *state, PyObject *dict, autoreject_sensors *out)
{
    memset(out, 0, sizeof *out);
    tess_autoreject_sensors_init(&out->sensors, sizeof out->sensors);
    out->keep = PyList_New(0);
    if (!out->keep) {
        return -1;
    }
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "sensors: expected a dict, got %R", dict);
        return -1;
    }
    if (read_channels(state, dict, out) < 0 ||
        read_transform(state, autoreject_entry(dict, "device_to_head"), out) < 0 ||
        read_points(state, dict, out) < 0 ||
        read_projectors(state, autoreject_entry(dict, "projectors"), out) < 0) {
        return -1;
    }
    return 0;
}

void autoreject_sensors_free(autoreject_sensors *sensors)
{
    for (int64_t i = 0; i < sensors->n_projector; i++) {
        PyMem_Free((void *)(uintptr_t)sensors->projectors[i].channel_names);
    }
    PyMem_Free(sensors->channels);
    PyMem_Free(sensors->points);
    PyMem_Free(sensors->projectors);
    Py_CLEAR(sensors->keep);
}

static int fill_channels(const core_state *state, const tess_autoreject_sensors *sensors,
                         PyObject *dict)
{
    const int64_t n = sensors->n_chan;
    const int64_t shape[2] = {n, 12};
    core_array *loc = core_array_create(state, TESS_F64, 8, 2, shape);
    core_array *coils = core_array_create(state, TESS_I32, 4, 1, &n);
    PyObject *names = PyList_New((Py_ssize_t)n);
    PyObject *types = PyList_New((Py_ssize_t)n);
    PyObject *bads = PyList_New((Py_ssize_t)n);
    int result = loc && coils && names && types && bads ? 0 : -1;
    for (int64_t i = 0; result == 0 && i < n; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[i];
        PyObject *name = core_text(channel->name);
        PyObject *type = core_text(tess_autoreject_type_name(channel->type));
        memcpy((double *)loc->view.data + 12 * i, channel->loc, sizeof channel->loc);
        ((int32_t *)coils->view.data)[i] = channel->coil_type;
        if (!name || !type || PyList_SetItem(names, (Py_ssize_t)i, name) < 0 ||
            PyList_SetItem(types, (Py_ssize_t)i, type) < 0 ||
            PyList_SetItem(bads, (Py_ssize_t)i, PyBool_FromLong(channel->is_bad)) < 0) {
            result = -1;
        }
    }
    if (core_put(dict, "loc", (PyObject *)loc) < 0 ||
        core_put(dict, "coil_types", (PyObject *)coils) < 0 || core_put(dict, "names", names) < 0 ||
        core_put(dict, "types", types) < 0 || core_put(dict, "bads", bads) < 0) {
        result = -1;
    }
    return result;
}

static int fill_points(const core_state *state, const tess_autoreject_sensors *sensors,
                       PyObject *dict)
{
    const int64_t n = sensors->n_point;
    const int64_t shape[2] = {n, 3};
    core_array *kinds = core_array_create(state, TESS_I32, 4, 1, &n);
    core_array *places = core_array_create(state, TESS_F64, 8, 2, shape);
    for (int64_t i = 0; kinds && places && i < n; i++) {
        const tess_autoreject_point *point = &sensors->points[i];
        ((int32_t *)kinds->view.data)[i] = point->kind;
        memcpy((double *)places->view.data + 3 * i, point->position, sizeof point->position);
    }
    const int failed = core_put(dict, "point_kinds", (PyObject *)kinds) < 0;
    return core_put(dict, "points", (PyObject *)places) < 0 || failed ? -1 : 0;
}

PyObject *autoreject_sensors_dict(const core_state *state, const tess_autoreject_sensors *sensors)
{
    PyObject *dict = PyDict_New();
    core_array *matrix = NULL;
    if (dict && sensors->has_device_to_head) {
        const int64_t shape[2] = {4, 4};
        matrix = core_array_create(state, TESS_F64, 8, 2, shape);
        if (matrix) {
            memcpy(matrix->view.data, sensors->device_to_head, sizeof sensors->device_to_head);
        }
    }
    PyObject *transform = matrix ? (PyObject *)matrix : Py_NewRef(Py_None);
    if (dict && (PyErr_Occurred() || fill_channels(state, sensors, dict) < 0 ||
                 fill_points(state, sensors, dict) < 0 ||
                 PyDict_SetItemString(dict, "device_to_head", transform) < 0)) {
        Py_CLEAR(dict);
    }
    Py_DECREF(transform);
    return dict;
}

int autoreject_origin(const core_state *state, PyObject *value, PyObject *keep,
                      const double **origin)
{
    int64_t n = 0;
    if (core_reals(state, value, "origin", 1, keep, origin, &n) < 0) {
        return -1;
    }
    return *origin && wrong_shape(state, "origin", n, 3) ? -1 : 0;
}

int autoreject_indices(const core_state *state, PyObject *value, const char *name, PyObject *keep,
                       const int64_t **out, int64_t *n)
{
    const void *found = NULL;
    if (core_view(state, value, name, TESS_I64, 1, keep, &found, n) < 0) {
        return -1;
    }
    *out = found;
    return 0;
}

int autoreject_folds(const core_state *state, PyObject *value, int64_t n_epoch, PyObject *keep,
                     const uint8_t **out, int64_t *n_fold)
{
    const void *found = NULL;
    int64_t shape[2];
    if (core_view(state, value, "folds", TESS_U8, 2, keep, &found, shape) < 0) {
        return -1;
    }
    *out = found;
    if (found) {
        *n_fold = shape[0];
        return wrong_shape(state, "folds[0]", shape[1], n_epoch) ? -1 : 0;
    }
    return 0;
}
