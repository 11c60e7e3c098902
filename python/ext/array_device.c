// Arrays in the memory of a context's device: results that stay there, and their way to the host.

#include "handle.h"

#include <stdlib.h>

typedef struct device_block {
    tess_context *ctx;
    tess_array array;
} device_block;

static void destroy_block(void *object)
{
    device_block *block = object;
    tess_device_array_destroy(block->ctx, &block->array);
    free(block);
}

static const core_handle_class block_class = {"device array", destroy_block};

core_array *core_array_create_there(const core_state *state, core_context *context, int32_t dtype,
                                    int32_t rank, const int64_t *shape)
{
    core_array *array = core_array_alloc(state);
    core_handle *owner = array ? core_handle_create(state, context, &block_class, NULL) : NULL;
    device_block *block = owner ? calloc(1, sizeof *block) : NULL;
    if (!block) {
        Py_XDECREF((PyObject *)owner);
        Py_XDECREF((PyObject *)array);
        return PyErr_Occurred() ? NULL : (core_array *)PyErr_NoMemory();
    }
    array->owner = (PyObject *)owner;
    owner->object = block;
    block->ctx = context->handle;
    const tess_status status =
        tess_device_array_create(block->ctx, (tess_dtype)dtype, rank, shape, &block->array);
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    array->view = block->array;
    core_array_finish(array);
    return array;
}

static device_block *block_of(const core_state *state, const core_array *array)
{
    return array->owner && Py_IS_TYPE(array->owner, state->handle_type) &&
                   ((core_handle *)array->owner)->class == &block_class
               ? ((core_handle *)array->owner)->object
               : NULL;
}

int core_array_write_there(const core_state *state, core_array *array, const void *host)
{
    device_block *block = block_of(state, array);
    tess_status status = TESS_OK;
    Py_BEGIN_ALLOW_THREADS status = tess_device_array_write(block->ctx, host, &block->array);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        core_raise(state, status, tess_last_error());
        return -1;
    }
    return 0;
}

PyObject *core_array_to_host(PyObject *self, PyObject *unused)
{
    (void)unused;
    const core_state *state = PyType_GetModuleState(Py_TYPE(self));
    core_array *array = (core_array *)self;
    device_block *block = block_of(state, array);
    if (array->view.space != TESS_SPACE_DEVICE) {
        return Py_NewRef(self);
    }
    if (!block) {
        PyErr_SetString(PyExc_BufferError,
                        "this Array shows another library's memory: that library copies it");
        return NULL;
    }
    core_array *host = core_array_create(state, array->view.dtype, array->view.item_bytes,
                                         array->view.rank, array->view.shape);
    if (!host) {
        return NULL;
    }
    tess_status status = TESS_OK;
    Py_BEGIN_ALLOW_THREADS status =
        tess_device_array_read(block->ctx, &block->array, host->view.data);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        core_raise(state, status, tess_last_error());
        Py_CLEAR(host);
    }
    return (PyObject *)host;
}
