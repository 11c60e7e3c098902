// Arrays of the library's element types, made for results and views.

#include "core.h"

#include <sys/mman.h>

// Blocks that fill huge pages ask for them: by small ones the first touch of a large result takes
// longer than what is written to it.
enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

typedef struct dtype_row {
    int32_t dtype;
    int32_t bytes;
    char kind;
} dtype_row;

static const dtype_row dtypes[] = {
#define DTYPE_ROW(name, value, text, bytes, kind) {name, bytes, kind},
    TESS_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

enum { N_DTYPE = sizeof dtypes / sizeof *dtypes };

char core_dtype_kind(int32_t dtype)
{
    for (int i = 0; i < N_DTYPE; i++) {
        if (dtypes[i].dtype == dtype) {
            return dtypes[i].kind;
        }
    }
    return '?';
}

int32_t core_dtype_of(char kind, int64_t item_bytes)
{
    for (int i = 0; i < N_DTYPE; i++) {
        // Text has any width.
        if (dtypes[i].kind == kind && (dtypes[i].bytes == item_bytes || dtypes[i].bytes == 0)) {
            return dtypes[i].dtype;
        }
    }
    return 0;
}

core_array *core_array_alloc(const core_state *state)
{
    return (core_array *)PyType_GenericAlloc(state->array_type, 0);
}

void core_array_finish(core_array *array)
{
    for (int32_t i = 0; i < array->view.rank; i++) {
        array->shape[i] = (Py_ssize_t)array->view.shape[i];
        array->byte_stride[i] = (Py_ssize_t)(array->view.stride[i] * array->view.item_bytes);
    }
}

static void ask_for_huge_pages(void *data, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= 2 * (size_t)HUGE_PAGE) { // refused: small pages
        (void)madvise(data, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#else
    (void)data;
    (void)bytes;
#endif
}

core_array *core_array_create(const core_state *state, int32_t dtype, int64_t item_bytes,
                              int32_t rank, const int64_t *shape)
{
    core_array *array = core_array_alloc(state);
    if (!array) {
        return NULL;
    }
    const tess_status status = tess_array_init(&array->view, NULL, (tess_dtype)dtype, rank, shape);
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    array->view.item_bytes = item_bytes;
    const size_t bytes = (size_t)tess_array_items(&array->view) * (size_t)item_bytes;
    const size_t alignment = bytes >= 2 * (size_t)HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    array->block = bytes <= PY_SSIZE_T_MAX - alignment ? PyMem_Malloc(bytes + alignment) : NULL;
    if (!array->block) {
        core_fail(state, TESS_E_MEMORY, "result: cannot allocate %zu bytes", bytes);
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    const uintptr_t start = (uintptr_t)array->block + alignment - 1;
    array->view.data = (void *)(start & ~(uintptr_t)(alignment - 1));
    ask_for_huge_pages(array->view.data, bytes);
    core_array_finish(array);
    return array;
}

PyObject *core_array_show(const core_state *state, PyObject *owner, int32_t dtype, int32_t rank,
                          const int64_t *shape, const void *data)
{
    if (!data) {
        return Py_NewRef(Py_None);
    }
    core_array *array = core_array_alloc(state);
    if (!array) {
        return NULL;
    }
    // The views of the library have no const; read_only stands in for it.
    const tess_status status =
        tess_array_init(&array->view, (void *)(uintptr_t)data, (tess_dtype)dtype, rank, shape);
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
        Py_DECREF((PyObject *)array);
        return NULL;
    }
    array->read_only = 1;
    array->owner = Py_NewRef(owner);
    core_array_finish(array);
    return (PyObject *)array;
}
