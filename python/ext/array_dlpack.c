// DLPack, both ways: tensors borrowed from other libraries, and our memory lent to them.

#include "core.h"

#include <stdlib.h>
#include <string.h>

static const char plain_name[] = "dltensor";
static const char versioned_name[] = "dltensor_versioned";

// --- Borrowing

// Versions and devices are pairs of whole numbers.
static int parse_pair(PyObject *value, const char *name, long pair[2])
{
    for (int i = 0; value && i < 2; i++) {
        PyObject *item = PyTuple_Check(value) && PyTuple_Size(value) == 2
                             ? PyNumber_Index(PyTuple_GetItem(value, i))
                             : NULL;
        if (!item) {
            PyErr_Format(PyExc_TypeError, "%s: expected two whole numbers, got %R", name, value);
            return -1;
        }
        pair[i] = PyLong_AsLong(item);
        Py_DECREF(item);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static char kind_of_code(uint8_t code)
{
    switch (code) {
    case DLPACK_INT:
        return 'i';
    case DLPACK_UINT:
        return 'u';
    case DLPACK_FLOAT:
        return 'f';
    case DLPACK_BFLOAT:
        return 'V';
    case DLPACK_COMPLEX:
        return 'c';
    case DLPACK_BOOL:
        return 'b';
    default:
        return 0;
    }
}

static int space_of(const core_state *state, dlpack_device device, const char *name)
{
    switch (device.type) {
    case DLPACK_CPU:
        return TESS_SPACE_HOST;
    case DLPACK_CUDA_HOST:
        return TESS_SPACE_PINNED;
    case DLPACK_CUDA:
    case DLPACK_CUDA_MANAGED:
        return TESS_SPACE_DEVICE;
    default:
        core_fail(state, TESS_E_SPACE,
                  "%s: DLPack device type %d is not supported; move the array to the CPU or a "
                  "CUDA device",
                  name, (int)device.type);
        return -1;
    }
}

int core_view_tensor(const core_state *state, const dlpack_tensor *tensor, const char *name,
                     tess_array *view)
{
    const int space = space_of(state, tensor->device, name);
    if (space < 0) {
        return -1;
    }
    const char kind = kind_of_code(tensor->dtype.code);
    view->item_bytes = tensor->dtype.bits / 8;
    view->dtype = kind && tensor->dtype.bits % 8 == 0 && tensor->dtype.lanes == 1
                      ? core_dtype_of(kind, view->item_bytes)
                      : 0;
    if (!view->dtype) {
        core_fail(state, TESS_E_DTYPE,
                  "%s: DLPack element type (code %d, %d bits, %d lanes) is not supported; convert "
                  "to float32 or float64",
                  name, tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
        return -1;
    }
    if (tensor->rank < 0 || tensor->rank > TESS_MAX_RANK) {
        core_fail(state, TESS_E_SHAPE, "%s: at most %d axes are supported, got %d", name,
                  TESS_MAX_RANK, (int)tensor->rank);
        return -1;
    }
    view->data = (char *)tensor->data + tensor->byte_offset;
    view->space = space;
    view->device = space == TESS_SPACE_DEVICE ? tensor->device.id : 0;
    view->rank = tensor->rank;
    int64_t dense = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        view->shape[i] = tensor->shape[i];
        view->stride[i] = tensor->strides ? tensor->strides[i] : dense;
        dense *= tensor->shape[i];
    }
    return 0;
}

// The legacy default stream, as DLPack and the driver name it: the core's queues are ordered with
// it, so a producer that is ready there is ready for us.
enum { LEGACY_STREAM = 1 };

static int on_cuda(long device_type)
{
    return device_type == DLPACK_CUDA || device_type == DLPACK_CUDA_MANAGED;
}

// Device type and index.
static int ask_device(PyObject *object, long device[2])
{
    PyObject *answer = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    const int result = answer ? parse_pair(answer, "__dlpack_device__", device) : -1;
    Py_XDECREF(answer);
    return result;
}

int core_is_on_host(PyObject *object)
{
    long device[2] = {DLPACK_CPU, 0};
    if (ask_device(object, device) < 0) {
        PyErr_Clear();
    }
    return device[0] == DLPACK_CPU;
}

// Producers older than DLPack 1.0 do not know max_version. A stream is named for device memory
// only: host memory has none.
static PyObject *ask_capsule(PyObject *object, int name_stream)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *keywords = none ? PyDict_New() : NULL;
    if (keywords &&
        ((name_stream && core_put(keywords, "stream", PyLong_FromLong(LEGACY_STREAM)) < 0) ||
         core_put(keywords, "max_version", Py_BuildValue("(ii)", DLPACK_MAJOR, DLPACK_MINOR)) <
             0)) {
        Py_CLEAR(keywords);
    }
    PyObject *capsule = keywords ? PyObject_Call(method, none, keywords) : NULL;
    if (!capsule && keywords && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(keywords, "max_version") == 0) {
            capsule = PyObject_Call(method, none, keywords);
        }
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    return capsule;
}

static int take_versioned(const core_state *state, core_array *array, PyObject *capsule,
                          const char *name)
{
    dlpack_versioned *lent = PyCapsule_GetPointer(capsule, versioned_name);
    if (!lent || PyCapsule_SetName(capsule, "used_dltensor_versioned") < 0) {
        return -1;
    }
    array->lent_versioned = lent;
    if (lent->major != DLPACK_MAJOR) {
        core_fail(state, TESS_E_VERSION, "%s: DLPack version %u.%u, expected %d.x", name,
                  lent->major, lent->minor, DLPACK_MAJOR);
        return -1;
    }
    array->read_only = (lent->flags & DLPACK_READ_ONLY) != 0;
    return core_view_tensor(state, &lent->tensor, name, &array->view);
}

static int take_plain(const core_state *state, core_array *array, PyObject *capsule,
                      const char *name)
{
    dlpack_managed *lent = PyCapsule_GetPointer(capsule, plain_name);
    if (!lent || PyCapsule_SetName(capsule, "used_dltensor") < 0) {
        return -1;
    }
    array->lent = lent;
    return core_view_tensor(state, &lent->tensor, name, &array->view);
}

int core_array_view_dlpack(const core_state *state, core_array *array, PyObject *object,
                           const char *name)
{
    long device[2] = {0, 0};
    PyObject *capsule =
        ask_device(object, device) < 0 ? NULL : ask_capsule(object, on_cuda(device[0]));
    if (!capsule) {
        return -1;
    }
    int result = -1;
    if (PyCapsule_IsValid(capsule, versioned_name)) {
        result = take_versioned(state, array, capsule, name);
    } else if (PyCapsule_IsValid(capsule, plain_name)) {
        result = take_plain(state, array, capsule, name);
    } else {
        PyErr_Format(PyExc_TypeError, "%s: __dlpack__() gave no unused DLPack capsule but %R", name,
                     capsule);
    }
    Py_DECREF(capsule);
    return result;
}

void core_array_return_dlpack(core_array *array)
{
    if (array->lent && array->lent->deleter) {
        array->lent->deleter(array->lent);
    }
    if (array->lent_versioned && array->lent_versioned->deleter) {
        array->lent_versioned->deleter(array->lent_versioned);
    }
}

// --- Lending

// Shape and strides travel with the tensor, whose consumer may outlive every other pointer.
typedef struct lent_plain {
    dlpack_managed managed;
    int64_t shape[TESS_MAX_RANK];
    int64_t stride[TESS_MAX_RANK];
} lent_plain;

typedef struct lent_versioned {
    dlpack_versioned managed;
    int64_t shape[TESS_MAX_RANK];
    int64_t stride[TESS_MAX_RANK];
} lent_versioned;

// Consumers call deleters from any thread, with or without the GIL, even after Python's end.
static void release_owner(void *owner)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF((PyObject *)owner);
        PyGILState_Release(gil);
    }
}

static void delete_plain(dlpack_managed *managed)
{
    release_owner(managed->owner);
    free(managed);
}

static void delete_versioned(dlpack_versioned *managed)
{
    release_owner(managed->owner);
    free(managed);
}

static void drop_plain(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, plain_name)) {
        delete_plain(PyCapsule_GetPointer(capsule, plain_name));
    }
}

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, versioned_name)) {
        delete_versioned(PyCapsule_GetPointer(capsule, versioned_name));
    }
}

static dlpack_device device_of(const tess_array *view)
{
    switch ((tess_space)view->space) {
    case TESS_SPACE_DEVICE:
        return (dlpack_device){DLPACK_CUDA, view->device};
    case TESS_SPACE_PINNED:
        return (dlpack_device){DLPACK_CUDA_HOST, 0};
    case TESS_SPACE_HOST:
        break;
    }
    return (dlpack_device){DLPACK_CPU, 0};
}

static int code_of_kind(char kind)
{
    switch (kind) {
    case 'b':
        return DLPACK_BOOL;
    case 'i':
        return DLPACK_INT;
    case 'u':
        return DLPACK_UINT;
    case 'f':
        return DLPACK_FLOAT;
    case 'V':
        return DLPACK_BFLOAT;
    case 'c':
        return DLPACK_COMPLEX;
    default:
        return -1;
    }
}

static void fill_tensor(const tess_array *view, dlpack_tensor *tensor, int64_t *shape,
                        int64_t *stride)
{
    memcpy(shape, view->shape, sizeof view->shape);
    memcpy(stride, view->stride, sizeof view->stride);
    *tensor = (dlpack_tensor){
        .data = view->data,
        .device = device_of(view),
        .rank = view->rank,
        .dtype = {(uint8_t)code_of_kind(core_dtype_kind(view->dtype)),
                  (uint8_t)(view->item_bytes * 8), 1},
        .shape = shape,
        .strides = stride,
    };
}

static PyObject *lend_plain(core_array *array)
{
    if (array->read_only) {
        PyErr_SetString(PyExc_BufferError,
                        "read-only memory needs DLPack 1.0: pass max_version=(1, 0)");
        return NULL;
    }
    lent_plain *lent = calloc(1, sizeof *lent);
    if (!lent) {
        return PyErr_NoMemory();
    }
    fill_tensor(&array->view, &lent->managed.tensor, lent->shape, lent->stride);
    lent->managed.owner = array;
    lent->managed.deleter = delete_plain;
    PyObject *capsule = PyCapsule_New(&lent->managed, plain_name, drop_plain);
    if (!capsule) {
        free(lent);
        return NULL;
    }
    Py_INCREF((PyObject *)array);
    return capsule;
}

static PyObject *lend_versioned(core_array *array, int is_copy)
{
    lent_versioned *lent = calloc(1, sizeof *lent);
    if (!lent) {
        return PyErr_NoMemory();
    }
    fill_tensor(&array->view, &lent->managed.tensor, lent->shape, lent->stride);
    lent->managed.major = DLPACK_MAJOR;
    lent->managed.minor = DLPACK_MINOR;
    lent->managed.flags = (array->read_only ? (uint64_t)DLPACK_READ_ONLY : 0) |
                          (is_copy ? (uint64_t)DLPACK_IS_COPIED : 0);
    lent->managed.owner = array;
    lent->managed.deleter = delete_versioned;
    PyObject *capsule = PyCapsule_New(&lent->managed, versioned_name, drop_versioned);
    if (!capsule) {
        free(lent);
        return NULL;
    }
    Py_INCREF((PyObject *)array);
    return capsule;
}

static char *copy_axis(const tess_array *view, int32_t axis, const char *from, char *to)
{
    const size_t item_bytes = (size_t)view->item_bytes;
    if (axis == view->rank) {
        memcpy(to, from, item_bytes);
        return to + item_bytes;
    }
    for (int64_t i = 0; i < view->shape[axis]; i++) {
        to = copy_axis(view, axis + 1, from + i * view->stride[axis] * view->item_bytes, to);
    }
    return to;
}

static core_array *copy_array(const core_state *state, const core_array *array)
{
    const tess_array *view = &array->view;
    if (view->space == TESS_SPACE_DEVICE) {
        PyErr_SetString(PyExc_BufferError, "copies of device memory are not supported");
        return NULL;
    }
    core_array *copy =
        core_array_create(state, view->dtype, view->item_bytes, view->rank, view->shape);
    if (copy) {
        copy_axis(view, 0, view->data, copy->view.data);
    }
    return copy;
}

PyObject *core_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy"};
    static const core_signature signature = {"__dlpack__", names, 4, 0, 0};
    core_array *array = (core_array *)self;
    const dlpack_device device = device_of(&array->view);
    PyObject *values[4];
    long version[2] = {0, 0};
    long wanted[2] = {device.type, device.id};
    int32_t copy = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        parse_pair(values[1], names[1], version) < 0 ||
        parse_pair(values[2], names[2], wanted) < 0 || core_to_flag(values[3], &copy) < 0) {
        return NULL;
    }
    // Results are complete before they reach Python, so any stream of the consumer may use them;
    // a CPU tensor has no stream to order.
    if (values[0] && device.type == DLPACK_CPU) {
        PyErr_SetString(PyExc_BufferError, "stream must be None for memory of the CPU");
        return NULL;
    }
    if (wanted[0] != device.type || wanted[1] != device.id ||
        code_of_kind(core_dtype_kind(array->view.dtype)) < 0) {
        PyErr_Format(PyExc_BufferError, "%R cannot be lent to that device or as that type", self);
        return NULL;
    }
    core_array *lender = copy ? copy_array(PyType_GetModuleState(Py_TYPE(self)), array)
                              : (core_array *)Py_NewRef(self);
    if (!lender) {
        return NULL;
    }
    PyObject *capsule =
        version[0] >= DLPACK_MAJOR ? lend_versioned(lender, copy) : lend_plain(lender);
    Py_DECREF((PyObject *)lender);
    return capsule;
}

PyObject *core_array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    const dlpack_device device = device_of(&((core_array *)self)->view);
    return Py_BuildValue("(ii)", (int)device.type, (int)device.id);
}
