// clifford for Python: tables of algebras, maps of single multivectors.

#include "clifford.h"

#include <string.h>

int clifford_read_algebra(const core_state *state, PyObject *value, tess_clifford_algebra *algebra)
{
    const char *text = "";
    tess_clifford_metric metric;
    if (core_to_text(value, "metric", &text) < 0) {
        return -1;
    }
    tess_status status = tess_clifford_metric_parse(text, &metric);
    if (status == TESS_OK) {
        status = tess_clifford_algebra_init(algebra, sizeof *algebra, &metric);
    }
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
        return -1;
    }
    return 0;
}

static PyObject *bytes_list(const uint8_t *values, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyList_SetItem(list, i, PyLong_FromLong(values[i]));
    }
    return list;
}

static PyObject *signs_list(const int8_t *values, int n)
{
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyList_SetItem(list, i, PyLong_FromLong(values[i]));
    }
    return list;
}

static PyObject *paths_list(const tess_clifford_algebra *a)
{
    PyObject *list = PyList_New(a->n_path);
    for (int p = 0; list && p < a->n_path; p++) {
        PyList_SetItem(list, p,
                       Py_BuildValue("(iii)", a->path_left[p], a->path_out[p], a->path_right[p]));
    }
    return list;
}

static PyObject *terms_list(const tess_clifford_algebra *a)
{
    PyObject *list = PyList_New(a->n_term);
    for (int t = 0; list && t < a->n_term; t++) {
        const tess_clifford_term *term = &a->terms[t];
        PyList_SetItem(
            list, t,
            Py_BuildValue("(iiiii)", term->k, term->i, term->j, (int)term->sign, term->path));
    }
    return list;
}

static PyObject *product_masks(const tess_clifford_algebra *algebra)
{
    static const char *const names[] = {"geometric",         "outer", "left_contraction",
                                        "right_contraction", "inner", "scalar",
                                        "commutator"};
    PyObject *dict = PyDict_New();
    for (int i = TESS_CLIFFORD_GEOMETRIC; dict && i <= TESS_CLIFFORD_COMMUTATOR; i++) {
        const uint64_t paths = tess_clifford_product_paths(algebra, (tess_clifford_product)i);
        if (core_put(dict, names[i], PyLong_FromUnsignedLongLong(paths)) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static int put_tables(PyObject *dict, const tess_clifford_algebra *a)
{
    const int n = a->n_component;
    return core_put(dict, "metric", signs_list(a->metric.square, a->metric.n_symbol)) < 0 ||
                   core_put(dict, "mask", bytes_list(a->mask, n)) < 0 ||
                   core_put(dict, "grade", bytes_list(a->grade, n)) < 0 ||
                   core_put(dict, "reverse", signs_list(a->reverse, n)) < 0 ||
                   core_put(dict, "involution", signs_list(a->involution, n)) < 0 ||
                   core_put(dict, "conjugate", signs_list(a->conjugate, n)) < 0 ||
                   core_put(dict, "eta", signs_list(a->eta, n)) < 0 ||
                   core_put(dict, "complement", bytes_list(a->complement, n)) < 0 ||
                   core_put(dict, "complement_sign", signs_list(a->complement_sign, n)) < 0 ||
                   core_put(dict, "paths", paths_list(a)) < 0 ||
                   core_put(dict, "terms", terms_list(a)) < 0 ||
                   core_put(dict, "products", product_masks(a)) < 0
               ? -1
               : 0;
}

static PyObject *algebra(PyObject *module, PyObject *metric)
{
    const core_state *state = PyModule_GetState(module);
    tess_clifford_algebra a;
    char text[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    if (clifford_read_algebra(state, metric, &a) < 0) {
        return NULL;
    }
    tess_clifford_metric_text(&a.metric, text, sizeof text);
    PyObject *dict =
        Py_BuildValue("{sssIsisisisisisO}", "text", text, "crc32", (unsigned)a.crc32, "n_component",
                      a.n_component, "n_grade", a.n_grade, "n_path", a.n_path, "n_pair", a.n_pair,
                      "n_term", a.n_term, "is_euclidean", a.is_euclidean ? Py_True : Py_False);
    if (dict && put_tables(dict, &a) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *grade_paths(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                             PyObject *keywords)
{
    static const char *const names[] = {"metric", "left", "right"};
    static const core_signature signature = {"clifford_grade_paths", names, 3, 3, 3};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    int64_t left = 0;
    int64_t right = 0;
    tess_clifford_algebra a;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_int(state, values[1], names[1], 0, UINT32_MAX, &left) < 0 ||
        core_to_int(state, values[2], names[2], 0, UINT32_MAX, &right) < 0 ||
        clifford_read_algebra(state, values[0], &a) < 0) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(
        tess_clifford_grade_paths(&a, (uint32_t)left, (uint32_t)right));
}

// x and z of a map: z is written.
static int read_pair(core_state *state, PyObject *x, PyObject *z, clifford_input inputs[2],
                     const tess_array *views[2])
{
    inputs[0].keep = NULL;
    inputs[1].keep = NULL;
    views[0] = clifford_read(state, x, "x", 0, &inputs[0]);
    views[1] = views[0] ? clifford_read(state, z, "z", 1, &inputs[1]) : NULL;
    return views[1] ? 0 : -1;
}

static PyObject *map(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "metric", "map", "grades", "x", "z"};
    static const core_signature signature = {"clifford_map", names, 6, 6, 6};
    core_state *state = PyModule_GetState(module);
    PyObject *values[6];
    int64_t which = 0;
    int64_t grades = 0;
    tess_clifford_algebra a;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_int(state, values[2], names[2], TESS_CLIFFORD_REVERSE, TESS_CLIFFORD_GRADES,
                    &which) < 0 ||
        core_to_int(state, values[3], names[3], 0, UINT32_MAX, &grades) < 0 ||
        clifford_read_algebra(state, values[1], &a) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    clifford_input inputs[2];
    const tess_array *views[2];
    core_call call;
    if (!context) {
        return NULL;
    }
    int result = -1;
    if (read_pair(state, values[4], values[5], inputs, views) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_clifford_map(
            context->handle, &a, (tess_clifford_unary)which, (uint32_t)grades, views[0], views[1]);
        result = core_call_end(&call, status);
    }
    clifford_release(inputs, 2);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *quadratic(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords)
{
    static const char *const names[] = {"context", "metric", "x", "z"};
    static const core_signature signature = {"clifford_quadratic", names, 4, 4, 4};
    core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    tess_clifford_algebra a;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        clifford_read_algebra(state, values[1], &a) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    clifford_input inputs[2];
    const tess_array *views[2];
    core_call call;
    if (!context) {
        return NULL;
    }
    int result = -1;
    if (read_pair(state, values[2], values[3], inputs, views) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        const tess_status status = tess_clifford_quadratic(context->handle, &a, views[0], views[1]);
        result = core_call_end(&call, status);
    }
    clifford_release(inputs, 2);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef core_clifford_algebra_methods[] = {
    {"clifford_algebra", algebra, METH_O, "Everything about the algebra of a metric."},
    {"clifford_grade_paths", CORE_METHOD(grade_paths), METH_FASTCALL | METH_KEYWORDS,
     "Paths between the given grades of the inputs, as bits."},
    {"clifford_map", CORE_METHOD(map), METH_FASTCALL | METH_KEYWORDS,
     "Reverse, involution, conjugate, complements, grades."},
    {"clifford_quadratic", CORE_METHOD(quadratic), METH_FASTCALL | METH_KEYWORDS,
     "The quadratic form of every grade."},
    {NULL, NULL, 0, NULL},
};
