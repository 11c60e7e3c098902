// Arrays of one type: read where they lie in Python's memory, shown where they lie in ours.

#include "core.h"

#include <string.h>

static const char *type_name(int32_t dtype)
{
    switch (dtype) {
    case TESS_F64:
        return "float64";
    case TESS_F32:
        return "float32";
    case TESS_I64:
        return "int64";
    case TESS_I32:
        return "int32";
    case TESS_I8:
        return "int8";
    default:
        return "uint8";
    }
}

// bool and uint8 are the same bytes.
static int is_type(int32_t got, int32_t wanted)
{
    return got == wanted || (wanted == TESS_U8 && got == TESS_BOOL);
}

int core_view(const core_state *state, PyObject *value, const char *name, int32_t dtype,
              int32_t rank, PyObject *keep, const void **data, int64_t *shape)
{
    *data = NULL;
    memset(shape, 0, (size_t)rank * sizeof *shape);
    if (!value || value == Py_None) {
        return 0;
    }
    core_array *array = core_array_from(state, value, name, 0);
    if (!array) {
        return -1;
    }
    const tess_array *view = &array->view;
    int result = -1;
    if (!is_type(view->dtype, dtype)) {
        core_fail(state, TESS_E_DTYPE, "%s: expected %s, got %s", name, type_name(dtype),
                  tess_dtype_name((tess_dtype)view->dtype));
    } else if (view->rank != rank || !tess_array_is_contiguous(view)) {
        core_fail(state, TESS_E_SHAPE, "%s: expected %d axes in C order, got %d", name, (int)rank,
                  (int)view->rank);
    } else if (PyList_Append(keep, (PyObject *)array) == 0) {
        *data = view->data;
        memcpy(shape, view->shape, (size_t)rank * sizeof *shape);
        result = 0;
    }
    Py_DECREF((PyObject *)array);
    return result;
}

int core_reals(const core_state *state, PyObject *value, const char *name, int32_t rank,
               PyObject *keep, const double **data, int64_t *shape)
{
    const void *found = NULL;
    if (core_view(state, value, name, TESS_F64, rank, keep, &found, shape) < 0) {
        return -1;
    }
    *data = found;
    return 0;
}

PyObject *core_show_reals(const core_state *state, PyObject *owner, const double *data,
                          int64_t rows, int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    return core_array_show(state, owner, TESS_F64, columns < 0 ? 1 : 2, shape, data);
}

int core_put_reals(const core_state *state, PyObject *owner, PyObject *dict,
                   const core_named_reals *arrays, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const core_named_reals *a = &arrays[k];
        if (core_put(dict, a->key, core_show_reals(state, owner, a->data, a->rows, a->columns)) <
            0) {
            return -1;
        }
    }
    return 0;
}

PyObject *core_show_ints(const core_state *state, PyObject *owner, const int64_t *data,
                         int64_t rows, int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    return core_array_show(state, owner, TESS_I64, columns < 0 ? 1 : 2, shape, data);
}

PyObject *core_show_mask(const core_state *state, PyObject *owner, const uint8_t *data, int64_t n)
{
    return core_array_show(state, owner, TESS_BOOL, 1, &n, data);
}
