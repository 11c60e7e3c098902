// Handles: objects of the library that live longer than one call.
#ifndef CORE_HANDLE_H
#define CORE_HANDLE_H

#include "core.h"

typedef struct core_handle_class {
    const char *name;
    void (*destroy)(void *object);
} core_handle_class;

typedef struct core_handle {
    PyObject_HEAD const core_handle_class *class;
    void *object;
    core_context *context; // whose memory the object is
    PyObject *borrowed;    // handles the object points into; NULL: none
} core_handle;

extern PyType_Spec core_handle_spec;

// object is still NULL.
core_handle *core_handle_create(const core_state *state, core_context *context,
                                const core_handle_class *class, PyObject *borrowed);
// The call that makes the object of *handle: after a begin that returned 0 the GIL is released
// until the end. Where either fails (NULL: something before did) *handle becomes NULL, an exception
// is set.
int core_handle_begin(core_handle **handle, core_call *call, const core_state *state,
                      PyObject *progress);
void core_handle_end(core_handle **handle, core_call *call, void *made, tess_status status);
// The object; NULL with TypeError for anything that is no handle of this class.
void *core_handle_get(const core_state *state, PyObject *value, const core_handle_class *class);

// A method (context, handle, path, overwrite) that writes the object of a handle.
typedef struct core_saver {
    core_signature signature;
    const core_handle_class *class;
    tess_status (*save)(tess_context *ctx, const void *object, const char *path, int overwrite);
} core_saver;

PyObject *core_handle_save(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                           PyObject *keywords, const core_saver *saver);

#endif
