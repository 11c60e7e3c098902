// tessera.Handle: an object of the library that lives longer than one call, and what it borrows.

#include "core.h"

core_handle *core_handle_create(const core_state *state, core_context *context,
                                const core_handle_class *class, PyObject *borrowed)
{
    core_handle *handle = (core_handle *)PyType_GenericAlloc(state->handle_type, 0);
    if (handle) {
        handle->class = class;
        handle->context = (core_context *)Py_NewRef((PyObject *)context);
        handle->borrowed = Py_XNewRef(borrowed);
        context->n_handle++;
    }
    return handle;
}

void *core_handle_get(const core_state *state, PyObject *value, const core_handle_class *class)
{
    if (!Py_IS_TYPE(value, state->handle_type) || ((core_handle *)value)->class != class) {
        PyErr_Format(PyExc_TypeError, "expected a handle of a %s, got %R", class->name, value);
        return NULL;
    }
    return ((core_handle *)value)->object;
}

static void handle_dealloc(PyObject *self)
{
    core_handle *handle = (core_handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (handle->object) {
        Py_BEGIN_ALLOW_THREADS handle->class->destroy(handle->object);
        Py_END_ALLOW_THREADS
    }
    // First the object, then what it borrows, last the context whose memory all of it is.
    Py_XDECREF(handle->borrowed);
    if (handle->context) {
        core_context_release(handle->context);
    }
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *handle_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<tessera.Handle of a %s>", ((core_handle *)self)->class->name);
}

static char handle_doc[] = "An object of the library; only the package tessera makes them.";

static PyType_Slot handle_slots[] = {
    {Py_tp_doc, handle_doc},
    {Py_tp_dealloc, CORE_SLOT(handle_dealloc)},
    {Py_tp_repr, CORE_SLOT(handle_repr)},
    {0, NULL},
};

PyType_Spec core_handle_spec = {
    .name = "tessera.Handle",
    .basicsize = sizeof(core_handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = handle_slots,
};
