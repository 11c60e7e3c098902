// Large results for other libraries' tensors, in memory that is used again.
//
// The C library gives blocks of tens of megabytes back to the system when they are freed, so every
// pass over large arrays would pay for new pages, which takes as long as the pass itself. Blocks
// made here wait for the next result of about their size instead, up to a bound the caller sets.

#include "core.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MAX_IDLE = 64, HUGE_PAGE = 2 << 20 };

typedef struct pool_block {
    void *data;
    size_t bytes;
} pool_block;

// Idle blocks, oldest first. The lock is tried, never waited for: who does not get it, be it in a
// child of fork() whose parent held it, goes to the system instead.
static struct {
    pthread_mutex_t lock;
    pool_block idle[MAX_IDLE];
    int n_idle;
    uint64_t idle_bytes;
    uint64_t idle_limit; // what the latest caller said
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void remove_idle(int i)
{
    pool.idle_bytes -= pool.idle[i].bytes;
    pool.n_idle--;
    for (; i < pool.n_idle; i++) {
        pool.idle[i] = pool.idle[i + 1];
    }
}

static pool_block take_new(size_t bytes)
{
    // One huge page more than needed, so that the data can begin at one.
    char *start = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return (pool_block){NULL, 0};
    }
    const size_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + bytes, HUGE_PAGE - before);
    (void)madvise(start + before, bytes, MADV_HUGEPAGE);
    return (pool_block){start + before, bytes};
}

static pool_block take(size_t bytes, uint64_t idle_limit)
{
    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    pool_block found = {NULL, 0};
    if (pthread_mutex_trylock(&pool.lock) == 0) {
        pool.idle_limit = idle_limit;
        int best = -1;
        for (int i = pool.n_idle - 1; i >= 0; i--) { // the last given back may still be in cache
            const size_t has = pool.idle[i].bytes;
            if (has >= bytes && has - bytes <= bytes / 4 &&
                (best < 0 || has < pool.idle[best].bytes)) {
                best = i;
            }
        }
        if (best >= 0) {
            found = pool.idle[best];
            remove_idle(best);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return found.data ? found : take_new(bytes);
}

static void give_back(pool_block block)
{
    if (pthread_mutex_trylock(&pool.lock) == 0) {
        while (pool.n_idle == MAX_IDLE ||
               (pool.n_idle > 0 && pool.idle_bytes + block.bytes > pool.idle_limit)) {
            (void)munmap(pool.idle[0].data, pool.idle[0].bytes);
            remove_idle(0);
        }
        if (pool.idle_bytes + block.bytes <= pool.idle_limit) {
            pool.idle[pool.n_idle++] = block;
            pool.idle_bytes += block.bytes;
            block.data = NULL;
        }
        pthread_mutex_unlock(&pool.lock);
    }
    if (block.data) {
        (void)munmap(block.data, block.bytes);
    }
}

// --- Tensors on such blocks

typedef struct pooled_tensor {
    dlpack_managed managed;
    pool_block block;
    int64_t shape[TESS_MAX_RANK];
    int64_t stride[TESS_MAX_RANK];
} pooled_tensor;

// Any thread, with or without the GIL.
static void delete_pooled(dlpack_managed *managed)
{
    pooled_tensor *pooled = managed->owner;
    give_back(pooled->block);
    free(pooled);
}

static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        delete_pooled(PyCapsule_GetPointer(capsule, "dltensor"));
    }
}

static int read_shape(PyObject *value, pooled_tensor *pooled, uint64_t *items)
{
    const Py_ssize_t rank = PySequence_Size(value);
    if (rank < 0 || rank > TESS_MAX_RANK) {
        PyErr_SetString(PyExc_ValueError, "shape: expected up to six sizes");
        return -1;
    }
    pooled->managed.tensor.rank = (int32_t)rank;
    *items = 1;
    for (Py_ssize_t i = rank - 1; i >= 0; i--) {
        PyObject *item = PySequence_GetItem(value, i);
        pooled->shape[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            return -1;
        }
        pooled->stride[i] = (int64_t)*items;
        if (pooled->shape[i] < 0 ||
            __builtin_mul_overflow(*items, (uint64_t)pooled->shape[i], items)) {
            PyErr_SetString(PyExc_ValueError, "shape: sizes are negative or too large");
            return -1;
        }
    }
    return 0;
}

static int fill(const core_state *state, pooled_tensor *pooled, PyObject *shape, dlpack_dtype dtype,
                uint64_t idle_limit)
{
    uint64_t items = 0;
    uint64_t bytes = 0;
    if (read_shape(shape, pooled, &items) < 0) {
        return -1;
    }
    if (__builtin_mul_overflow(items, (uint64_t)dtype.bits / 8, &bytes) || bytes == 0 ||
        bytes > PY_SSIZE_T_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "shape: sizes are zero or too large");
        return -1;
    }
    pooled->block = take((size_t)bytes, idle_limit);
    if (!pooled->block.data) {
        core_fail(state, TESS_E_MEMORY, "result: cannot allocate %llu bytes",
                  (unsigned long long)bytes);
        return -1;
    }
    pooled->managed.tensor.data = pooled->block.data;
    pooled->managed.tensor.device = (dlpack_device){DLPACK_CPU, 0};
    pooled->managed.tensor.dtype = dtype;
    pooled->managed.tensor.shape = pooled->shape;
    pooled->managed.tensor.strides = pooled->stride;
    pooled->managed.owner = pooled;
    pooled->managed.deleter = delete_pooled;
    return 0;
}

static PyObject *create(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"shape", "dtype", "idle_limit"};
    static const core_signature signature = {"pooled_tensor", names, 3, 3, 3};
    static const struct {
        const char *name;
        dlpack_dtype dtype;
    } dtypes[] = {{"float32", {DLPACK_FLOAT, 32, 1}},
                  {"float64", {DLPACK_FLOAT, 64, 1}},
                  {"bfloat16", {DLPACK_BFLOAT, 16, 1}},
                  {"float16", {DLPACK_FLOAT, 16, 1}}};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[3];
    int64_t idle_limit = 0;
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_int(state, values[2], names[2], 0, INT64_MAX, &idle_limit) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (!PyUnicode_Check(values[1]) ||
            PyUnicode_CompareWithASCIIString(values[1], dtypes[i].name) != 0) {
            continue;
        }
        pooled_tensor *pooled = calloc(1, sizeof *pooled);
        if (!pooled) {
            return PyErr_NoMemory();
        }
        if (fill(state, pooled, values[0], dtypes[i].dtype, (uint64_t)idle_limit) < 0) {
            free(pooled);
            return NULL;
        }
        PyObject *capsule = PyCapsule_New(&pooled->managed, "dltensor", drop_capsule);
        if (!capsule) {
            delete_pooled(&pooled->managed);
        }
        return capsule;
    }
    PyErr_Format(PyExc_TypeError, "dtype: %R is not supported", values[1]);
    return NULL;
}

PyMethodDef core_array_pool_methods[] = {
    {"pooled_tensor", CORE_METHOD(create), METH_FASTCALL | METH_KEYWORDS,
     "DLPack capsule of a new C-contiguous host tensor in memory that is used again."},
    {NULL, NULL, 0, NULL},
};
