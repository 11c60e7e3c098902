// Views of other people's arrays: the buffer protocol where an object has it, else DLPack.
//
// The buffer protocol goes first because it tells byte order and read-only memory apart, which
// DLPack before 1.0 cannot.

#include "core.h"

#include <string.h>

// NumPy kind character of a struct format of one item; 0 if there is none.
static char kind_of_format(const char *format)
{
    static const struct {
        const char *formats;
        char kind;
    } kinds[] = {{"?", 'b'}, {"bhilqn", 'i'}, {"BHILQN", 'u'}, {"efd", 'f'}};
    const size_t length = strlen(format);
    if (length == 2 && format[0] == 'Z' && (format[1] == 'f' || format[1] == 'd')) {
        return 'c';
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (length == 1 && strchr(kinds[i].formats, format[0])) {
            return kinds[i].kind;
        }
    }
    return 0;
}

static int is_foreign_order(char order)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return order == '>' || order == '!';
#else
    return order == '<';
#endif
}

// Sets dtype and item_bytes of the view from the buffer's format.
static int view_items(const core_state *state, core_array *array, const char *name)
{
    const char *format = array->buffer.format ? array->buffer.format : "B";
    const int has_order = format[0] && strchr("@=<>!", format[0]) != NULL;
    const char *items = format + has_order;
    const char kind = kind_of_format(items);
    if (kind && has_order && array->buffer.itemsize > 1 && is_foreign_order(format[0])) {
        core_fail(state, TESS_E_DTYPE,
                  "%s: items of format '%s' have the other byte order; convert with "
                  "%s.astype(%s.dtype.newbyteorder('='))",
                  name, format, name, name);
        return -1;
    }
    array->view.item_bytes = array->buffer.itemsize;
    array->view.dtype = kind ? core_dtype_of(kind, array->buffer.itemsize) : 0;
    if (!array->view.dtype) {
        core_fail(state, TESS_E_DTYPE,
                  "%s: items of format '%s' are not supported; convert to float32 or float64 with "
                  "%s.astype",
                  name, format, name);
        return -1;
    }
    return 0;
}

static int check_rank(const core_state *state, int rank, const char *name)
{
    if (rank > TESS_MAX_RANK) {
        core_fail(state, TESS_E_SHAPE, "%s: at most %d axes are supported, got %d", name,
                  TESS_MAX_RANK, rank);
        return -1;
    }
    return 0;
}

static int view_buffer(const core_state *state, core_array *array, const char *name)
{
    const Py_buffer *buffer = &array->buffer;
    tess_array *view = &array->view;
    if (check_rank(state, buffer->ndim, name) < 0 || view_items(state, array, name) < 0) {
        return -1;
    }
    view->data = buffer->buf;
    view->space = TESS_SPACE_HOST;
    view->rank = buffer->ndim;
    array->read_only = buffer->readonly;
    for (int i = 0; i < buffer->ndim; i++) {
        if (buffer->strides[i] % buffer->itemsize != 0) {
            core_fail(state, TESS_E_SHAPE,
                      "%s: axis %d has a stride of %lld bytes, not a multiple of the item's %lld; "
                      "copy with numpy.ascontiguousarray(%s)",
                      name, i, (long long)buffer->strides[i], (long long)buffer->itemsize, name);
            return -1;
        }
        view->shape[i] = buffer->shape[i];
        view->stride[i] = buffer->strides[i] / buffer->itemsize;
    }
    return 0;
}

static int check_aligned(const core_state *state, const core_array *array, const char *name)
{
    const tess_array *view = &array->view;
    const uint64_t unit = view->dtype == TESS_C64 || view->dtype == TESS_C128
                              ? (uint64_t)view->item_bytes / 2
                              : (uint64_t)view->item_bytes;
    if (view->space != TESS_SPACE_DEVICE && (uintptr_t)view->data % unit != 0) {
        core_fail(state, TESS_E_ARGUMENT,
                  "%s: memory is not aligned to its items of %lld bytes; copy with "
                  "numpy.require(%s, requirements='A')",
                  name, (long long)view->item_bytes, name);
        return -1;
    }
    return 0;
}

static int view_object(const core_state *state, core_array *array, PyObject *object,
                       const char *name)
{
    const int has_dlpack = PyObject_HasAttrString(object, "__dlpack__") &&
                           PyObject_HasAttrString(object, "__dlpack_device__");
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &array->buffer, PyBUF_STRIDES | PyBUF_FORMAT) == 0) {
            array->has_buffer = 1;
            return view_buffer(state, array, name);
        }
        // Some arrays have the protocol but, being on a device, no buffer.
        PyObject *error[3];
        PyErr_Fetch(&error[0], &error[1], &error[2]);
        if (!has_dlpack || core_is_on_host(object)) {
            PyErr_Restore(error[0], error[1], error[2]);
            return -1;
        }
        Py_XDECREF(error[0]);
        Py_XDECREF(error[1]);
        Py_XDECREF(error[2]);
    }
    if (has_dlpack) {
        return core_array_view_dlpack(state, array, object, name);
    }
    PyObject *type_name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (type_name) {
        PyErr_Format(PyExc_TypeError,
                     "%s: expected an array (buffer protocol or DLPack), got %U; convert with "
                     "numpy.asarray",
                     name, type_name);
        Py_DECREF(type_name);
    }
    return -1;
}

core_array *core_array_from(const core_state *state, PyObject *object, const char *name,
                            int need_writable)
{
    core_array *array = NULL;
    if (Py_IS_TYPE(object, state->array_type)) {
        array = (core_array *)Py_NewRef(object);
    } else {
        array = core_array_alloc(state);
        if (!array) {
            return NULL;
        }
        if (view_object(state, array, object, name) < 0 || check_aligned(state, array, name) < 0) {
            Py_DECREF((PyObject *)array);
            return NULL;
        }
        core_array_finish(array);
    }
    if (need_writable && array->read_only) {
        core_fail(state, TESS_E_ARGUMENT, "%s: memory is read-only; give a writable array", name);
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    return array;
}
