// Exceptions: one class per group of status codes, each also the builtin a user would catch.

#include "core.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_STATUS = 5, NO_PARENT = -1, MESSAGE_BYTES = 1024 };

typedef struct error_class {
    const char *name;
    PyObject **builtin;               // NULL: none beside parent
    int parent;                       // index into the table
    tess_status statuses[MAX_STATUS]; // ends with TESS_OK
    const char *doc;
} error_class;

// InternalError is last: whatever no other class names is a bug.
static const error_class classes[] = {
    {"tessera.Error", &PyExc_Exception, NO_PARENT, {TESS_OK}, "Base of all errors of Tessera."},
    {"tessera.Cancelled", NULL, 0, {TESS_CANCELLED}, "The call was stopped by Context.cancel()."},
    {"tessera.ArgumentError",
     &PyExc_ValueError,
     0,
     {TESS_E_ARGUMENT, TESS_E_SPACE, TESS_E_RANGE, TESS_E_VERSION},
     "An argument has a value that is not allowed."},
    {"tessera.ShapeError", &PyExc_ValueError, 0, {TESS_E_SHAPE}, "An array has the wrong shape."},
    {"tessera.DTypeError",
     &PyExc_TypeError,
     0,
     {TESS_E_DTYPE},
     "An array has an element type that is not supported."},
    {"tessera.ConfigError", &PyExc_ValueError, 0, {TESS_E_CONFIG}, "A configuration is invalid."},
    {"tessera.MemoryLimitError",
     &PyExc_MemoryError,
     0,
     {TESS_E_MEMORY, TESS_E_LIMIT},
     "There is not enough memory, or the memory limit is too small."},
    {"tessera.DeviceError",
     &PyExc_RuntimeError,
     0,
     {TESS_E_DEVICE, TESS_E_UNSUPPORTED, TESS_E_THREAD},
     "A device or a resource of the system is not available."},
    {"tessera.NotFoundError",
     &PyExc_FileNotFoundError,
     0,
     {TESS_E_NOT_FOUND},
     "An input is missing or cannot be read."},
    {"tessera.FormatError", &PyExc_ValueError, 0, {TESS_E_FORMAT}, "An input file is invalid."},
    {"tessera.TruncatedError", NULL, 9, {TESS_E_TRUNCATED}, "An input file is truncated."},
    {"tessera.FileError",
     &PyExc_OSError,
     0,
     {TESS_E_IO, TESS_E_CREATE, TESS_E_LOCKED, TESS_E_CHANGED},
     "Reading or writing failed, or the file is in use."},
    {"tessera.OutputExistsError",
     &PyExc_FileExistsError,
     0,
     {TESS_E_EXISTS},
     "The output exists and overwrite is not set."},
    {"tessera.CheckpointError",
     &PyExc_ValueError,
     0,
     {TESS_E_MISMATCH},
     "The checkpoint belongs to other data or settings."},
    {"tessera.NumericError",
     &PyExc_ValueError,
     0,
     {TESS_E_NUMERIC},
     "The data contain values the computation cannot take."},
    {"tessera.InternalError",
     &PyExc_RuntimeError,
     0,
     {TESS_E_INTERNAL},
     "A bug in Tessera: please report it with the output of tessera.show_versions()."},
};

enum { N_CLASS = sizeof classes / sizeof *classes };
_Static_assert(sizeof classes / sizeof *classes <= (size_t)CORE_MAX_ERROR,
               "core_state has room for every class");

static PyObject *bases_of(const core_state *state, const error_class *row)
{
    PyObject *parent = row->parent == NO_PARENT ? NULL : state->errors[row->parent];
    if (!parent) {
        return PyTuple_Pack(1, *row->builtin);
    }
    return row->builtin ? PyTuple_Pack(2, parent, *row->builtin) : PyTuple_Pack(1, parent);
}

// Class attributes: which status names the class stands for, and defaults of what core_raise()
// sets on an instance.
static PyObject *attributes_of(const error_class *row)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names && row->statuses[i] != TESS_OK; i++) {
        PyObject *name = PyUnicode_FromString(tess_status_name(row->statuses[i]));
        if (!name || PyList_Append(names, name) < 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(name);
    }
    if (!names) {
        return NULL;
    }
    PyObject *tuple = PyList_AsTuple(names);
    Py_DECREF(names);
    const tess_status first = row->statuses[0] == TESS_OK ? TESS_E_INTERNAL : row->statuses[0];
    return tuple ? Py_BuildValue("{sNsssi}", "statuses", tuple, "status", tess_status_name(first),
                                 "exit_code", tess_status_exit_code(first))
                 : NULL;
}

int core_errors_create(core_state *state, PyObject *module)
{
    for (int i = 0; i < N_CLASS; i++) {
        PyObject *bases = bases_of(state, &classes[i]);
        PyObject *attributes = bases ? attributes_of(&classes[i]) : NULL;
        if (attributes) {
            state->errors[i] =
                PyErr_NewExceptionWithDoc(classes[i].name, classes[i].doc, bases, attributes);
        }
        Py_XDECREF(bases);
        Py_XDECREF(attributes);
        const char *short_name = classes[i].name + sizeof "tessera." - 1;
        if (!state->errors[i] || PyModule_AddObjectRef(module, short_name, state->errors[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

void core_errors_clear(core_state *state)
{
    for (int i = 0; i < N_CLASS; i++) {
        Py_CLEAR(state->errors[i]);
    }
}

int core_errors_visit(core_state *state, visitproc visit, void *arg)
{
    for (int i = 0; i < N_CLASS; i++) {
        Py_VISIT(state->errors[i]);
    }
    return 0;
}

static PyObject *class_of(const core_state *state, tess_status status)
{
    for (int i = 0; i < N_CLASS; i++) {
        for (int k = 0; classes[i].statuses[k] != TESS_OK; k++) {
            if (classes[i].statuses[k] == status) {
                return state->errors[i];
            }
        }
    }
    return state->errors[N_CLASS - 1];
}

static int set_attribute(PyObject *error, const char *name, PyObject *value)
{
    const int failed = !value || PyObject_SetAttrString(error, name, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *core_raise(const core_state *state, tess_status status, const char *message)
{
    PyObject *text = core_text(message[0] ? message : tess_status_text(status));
    if (!text) {
        return NULL;
    }
    PyObject *error = PyObject_CallFunctionObjArgs(class_of(state, status), text, NULL);
    Py_DECREF(text);
    if (error &&
        set_attribute(error, "status", PyUnicode_FromString(tess_status_name(status))) == 0 &&
        set_attribute(error, "exit_code", PyLong_FromLong(tess_status_exit_code(status))) == 0) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    Py_XDECREF(error);
    return NULL;
}

PyObject *core_fail(const core_state *state, tess_status status, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return core_raise(state, status, message);
}
