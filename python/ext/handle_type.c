// tessera.Handle: an object of the library that lives longer than one call, and what it borrows.

#include "handle.h"

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

int core_handle_begin(core_handle **handle, core_call *call, const core_state *state,
                      PyObject *progress)
{
    if (*handle && core_call_begin(call, state, (*handle)->context, progress) < 0) {
        Py_CLEAR(*handle);
    }
    return *handle ? 0 : -1;
}

void core_handle_end(core_handle **handle, core_call *call, void *made, tess_status status)
{
    (*handle)->object = made;
    if (core_call_end(call, status) < 0) {
        Py_CLEAR(*handle);
    }
}

PyObject *core_handle_save(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords, const core_saver *saver)
{
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    if (core_parse(&saver->signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    const void *object = context ? core_handle_get(state, values[1], saver->class) : NULL;
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    int32_t overwrite = 0;
    int result = -1;
    core_call call;
    if (object && core_to_path(values[2], &path_bytes, &path) == 0 &&
        core_to_flag(values[3], &overwrite) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        result = core_call_end(&call, saver->save(context->handle, object, path, overwrite));
    }
    Py_XDECREF(path_bytes);
    return result < 0 ? NULL : Py_NewRef(Py_None);
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
