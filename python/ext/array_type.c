// tessera.Array: memory with a type and a shape, shown to Python by the buffer protocol, the array
// interface and DLPack.

#include "core.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32 };

// "float32", "S5": NumPy's names.
static PyObject *dtype_name(const tess_array *view)
{
    const int bits = (int)view->item_bytes * 8;
    switch (core_dtype_kind(view->dtype)) {
    case 'b':
        return PyUnicode_FromString("bool");
    case 'i':
        return PyUnicode_FromFormat("int%d", bits);
    case 'u':
        return PyUnicode_FromFormat("uint%d", bits);
    case 'f':
        return PyUnicode_FromFormat("float%d", bits);
    case 'c':
        return PyUnicode_FromFormat("complex%d", bits);
    case 'S':
        return PyUnicode_FromFormat("S%d", bits / 8);
    case 'U':
        return PyUnicode_FromFormat("U%d", bits / 32);
    default:
        return PyUnicode_FromString("bfloat16");
    }
}

// Format string of the struct module, NULL where it has none.
static char *buffer_format(int32_t dtype)
{
    static char formats[][3] = {"?", "b", "h", "i", "q", "B",  "H",
                                "I", "Q", "e", "f", "d", "Zf", "Zd"};
    switch ((tess_dtype)dtype) {
    case TESS_BOOL:
        return formats[0];
    case TESS_I8:
        return formats[1];
    case TESS_I16:
        return formats[2];
    case TESS_I32:
        return formats[3];
    case TESS_I64:
        return formats[4];
    case TESS_U8:
        return formats[5];
    case TESS_U16:
        return formats[6];
    case TESS_U32:
        return formats[7];
    case TESS_U64:
        return formats[8];
    case TESS_F16:
        return formats[9];
    case TESS_F32:
        return formats[10];
    case TESS_F64:
        return formats[11];
    case TESS_C64:
        return formats[12];
    case TESS_C128:
        return formats[13];
    case TESS_BF16:
    case TESS_BYTES:
    case TESS_UCS4:
        break;
    }
    return NULL;
}

static void array_dealloc(PyObject *self)
{
    core_array *array = (core_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (array->has_buffer) {
        PyBuffer_Release(&array->buffer);
    }
    core_array_return_dlpack(array);
    PyMem_Free(array->block);
    Py_XDECREF(array->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (kwargs && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Array() takes no keyword arguments");
        return NULL;
    }
    PyObject *object = NULL;
    if (!PyArg_ParseTuple(args, "O:Array", &object)) {
        return NULL;
    }
    return (PyObject *)core_array_from(PyType_GetModuleState(type), object, "object", 0);
}

static int array_getbuffer(PyObject *self, Py_buffer *out, int flags)
{
    core_array *array = (core_array *)self;
    const tess_array *view = &array->view;
    out->obj = NULL;
    char *format = buffer_format(view->dtype);
    if (view->space == TESS_SPACE_DEVICE || !format) {
        PyErr_Format(PyExc_BufferError, "%R has no host buffer; exchange it with DLPack", self);
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) && array->read_only) {
        PyErr_SetString(PyExc_BufferError, "this Array views read-only memory");
        return -1;
    }
    memset(out, 0, sizeof *out);
    out->buf = view->data;
    out->len = (Py_ssize_t)(tess_array_items(view) * view->item_bytes);
    out->itemsize = (Py_ssize_t)view->item_bytes;
    out->readonly = array->read_only;
    out->ndim = view->rank;
    out->format = format;
    out->shape = array->shape;
    out->strides = array->byte_stride;
    const int want_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    const int want_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    const int want_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                       (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
    if ((want_c && !PyBuffer_IsContiguous(out, 'C')) ||
        (want_f && !PyBuffer_IsContiguous(out, 'F')) ||
        (want_any && !PyBuffer_IsContiguous(out, 'A'))) {
        PyErr_SetString(PyExc_BufferError, "this Array is not contiguous as asked for");
        return -1;
    }
    // Only what the consumer can understand may be filled in.
    out->format = flags & PyBUF_FORMAT ? out->format : NULL;
    out->shape = flags & PyBUF_ND ? out->shape : NULL;
    out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? out->strides : NULL;
    out->obj = Py_NewRef(self);
    return 0;
}

static PyObject *tuple_of(const Py_ssize_t *values, int32_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *value = PyLong_FromSsize_t(values[i]);
        if (!value || PyTuple_SetItem(tuple, i, value) < 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return tuple_of(((core_array *)self)->shape, ((core_array *)self)->view.rank);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    (void)closure;
    return tuple_of(((core_array *)self)->byte_stride, ((core_array *)self)->view.rank);
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return dtype_name(&((core_array *)self)->view);
}

static PyObject *get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((core_array *)self)->view.rank);
}

static PyObject *get_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    const tess_array *view = &((core_array *)self)->view;
    return PyLong_FromLongLong(tess_array_items(view) * view->item_bytes);
}

static PyObject *get_ptr(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromVoidPtr(((core_array *)self)->view.data);
}

static PyObject *get_readonly(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((core_array *)self)->read_only);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    (void)closure;
    const tess_array *view = &((core_array *)self)->view;
    if (view->space != TESS_SPACE_DEVICE) {
        return PyUnicode_FromString("cpu");
    }
    return PyUnicode_FromFormat("cuda:%d", (int)view->device);
}

static PyObject *interface_of(core_array *array, int version)
{
    const tess_array *view = &array->view;
    char typestr[NAME_BYTES];
    const char order = view->item_bytes == 1 || view->dtype == TESS_BYTES ? '|' : '<';
    const int64_t width = view->dtype == TESS_UCS4 ? view->item_bytes / 4 : view->item_bytes;
    snprintf(typestr, sizeof typestr, "%c%c%lld", order, core_dtype_kind(view->dtype),
             (long long)width);
    return Py_BuildValue("{sNsNsss(NN)si}", "shape", get_shape((PyObject *)array, NULL), "strides",
                         get_strides((PyObject *)array, NULL), "typestr", typestr, "data",
                         PyLong_FromVoidPtr(view->data), PyBool_FromLong(array->read_only),
                         "version", version);
}

// Each interface exists only where its memory does, so that hasattr() tells consumers the truth.
static PyObject *get_array_interface(PyObject *self, void *closure)
{
    (void)closure;
    if (((core_array *)self)->view.space == TESS_SPACE_DEVICE) {
        PyErr_SetString(PyExc_AttributeError, "device memory has no __array_interface__");
        return NULL;
    }
    return interface_of((core_array *)self, 3);
}

static PyObject *get_cuda_interface(PyObject *self, void *closure)
{
    (void)closure;
    if (((core_array *)self)->view.space != TESS_SPACE_DEVICE) {
        PyErr_SetString(PyExc_AttributeError, "host memory has no __cuda_array_interface__");
        return NULL;
    }
    return interface_of((core_array *)self, 3);
}

static PyObject *array_repr(PyObject *self)
{
    PyObject *shape = get_shape(self, NULL);
    PyObject *dtype = shape ? get_dtype(self, NULL) : NULL;
    PyObject *device = dtype ? get_device(self, NULL) : NULL;
    PyObject *text = NULL;
    if (device) {
        text = PyUnicode_FromFormat("tessera.Array(shape=%R, dtype=%R, device=%R)", shape, dtype,
                                    device);
    }
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(device);
    return text;
}

static Py_ssize_t array_length(PyObject *self)
{
    const core_array *array = (core_array *)self;
    if (array->view.rank == 0) {
        PyErr_SetString(PyExc_TypeError, "an Array without axes has no length");
        return -1;
    }
    return array->shape[0];
}

static PyMethodDef array_methods[] = {
    {"__dlpack__", CORE_METHOD(core_array_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Lend the memory as a DLPack capsule."},
    {"to_host", core_array_to_host, METH_NOARGS,
     "to_host($self)\n--\n\nCopy of a result that stayed on a GPU; itself if it is in host "
     "memory."},
    {"__dlpack_device__", core_array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nDLPack device type and index."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef array_getset[] = {
    {"shape", get_shape, NULL, "Length of each axis.", NULL},
    {"strides", get_strides, NULL, "Bytes from one item to the next along each axis.", NULL},
    {"dtype", get_dtype, NULL, "NumPy's name of the element type.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all items.", NULL},
    {"ptr", get_ptr, NULL, "Address of the first item.", NULL},
    {"readonly", get_readonly, NULL, "True if the memory must not be written.", NULL},
    {"device", get_device, NULL, "Where the memory is: 'cpu' or 'cuda:0'.", NULL},
    {"__array_interface__", get_array_interface, NULL, "NumPy's array interface.", NULL},
    {"__cuda_array_interface__", get_cuda_interface, NULL, "The CUDA array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char array_doc[] =
    "Array(object, /)\n--\n\n"
    "A view of the memory of object (anything with the buffer protocol or DLPack), without a copy.";

static PyType_Slot array_slots[] = {
    {Py_tp_doc, array_doc},
    {Py_tp_new, CORE_SLOT(array_new)},
    {Py_tp_dealloc, CORE_SLOT(array_dealloc)},
    {Py_tp_repr, CORE_SLOT(array_repr)},
    {Py_tp_methods, array_methods},
    {Py_tp_getset, array_getset},
    {Py_sq_length, CORE_SLOT(array_length)},
    {Py_bf_getbuffer, CORE_SLOT(array_getbuffer)},
    {0, NULL},
};

PyType_Spec core_array_spec = {
    .name = "tessera.Array",
    .basicsize = sizeof(core_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_slots,
};
