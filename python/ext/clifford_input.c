// Array arguments of clifford. Calls on small tensors take microseconds, so tensors of libraries
// that have DLPack's table for C are viewed through it; all others as everywhere.

#include "clifford.h"

#include <string.h>

static const dlpack_exchange *find_api(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const dlpack_exchange *api = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api")
                                     ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
                                     : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule); // the table itself lives as long as the process
    while (api && api->major != DLPACK_MAJOR) {
        api = api->previous;
    }
    return api && api->view ? api : NULL;
}

// Types are few and long-lived: a linear search through those met so far.
static const dlpack_exchange *exchange_of(core_state *state, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    for (int i = 0; i < CORE_MAX_EXCHANGE; i++) {
        core_exchange *known = &state->exchanges[i];
        if (known->type == type) {
            return known->api;
        }
        if (!known->type) {
            known->api = find_api(type);
            known->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
            return known->api;
        }
    }
    return find_api(type);
}

const tess_array *clifford_read(core_state *state, PyObject *value, const char *name,
                                int need_writable, clifford_input *input)
{
    input->keep = NULL;
    input->api = NULL;
    if (value == Py_None) {
        return NULL;
    }
    input->api = exchange_of(state, value);
    if (input->api) {
        dlpack_tensor tensor;
        return input->api->view(value, &tensor) == 0 &&
                       core_view_tensor(state, &tensor, name, &input->view) == 0
                   ? &input->view
                   : NULL;
    }
    input->keep = core_array_from(state, value, name, need_writable);
    return input->keep ? &input->keep->view : NULL;
}

const tess_array *clifford_squeeze(clifford_input *input)
{
    if (input->keep) {
        input->view = input->keep->view;
    }
    tess_array *view = &input->view;
    while (view->rank > 1 && view->shape[0] == 1) {
        view->rank--;
        for (int32_t i = 0; i < view->rank; i++) {
            view->shape[i] = view->shape[i + 1];
            view->stride[i] = view->stride[i + 1];
        }
    }
    return view;
}

void clifford_release(clifford_input *inputs, int n)
{
    for (int i = 0; i < n; i++) {
        Py_XDECREF((PyObject *)inputs[i].keep);
    }
}

// NumPy cannot lend arrays of bfloat16, but their bits.
static PyObject *bfloat16(PyObject *module, PyObject *bits)
{
    const core_state *state = PyModule_GetState(module);
    core_array *array = core_array_from(state, bits, "x", 0);
    if (array && (array->view.dtype != TESS_U16 || Py_IS_TYPE(bits, state->array_type))) {
        core_fail(state, TESS_E_DTYPE, "x: expected an array of uint16");
        Py_CLEAR(array);
    }
    if (array) {
        array->view.dtype = TESS_BF16;
    }
    return (PyObject *)array;
}

PyMethodDef core_clifford_input_methods[] = {
    {"clifford_bfloat16", bfloat16, METH_O, "View an array of uint16 as bfloat16."},
    {NULL, NULL, 0, NULL},
};
