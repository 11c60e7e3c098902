// Passes for the node of torch that tessera.clifford.native compiles: plain pointers in, no object
// of Python on the way.

#include "../tessera/clifford/native/calls.h"
#include "clifford.h"

#include <pthread.h>
#include <string.h>

enum { MAX_IDLE = 8, FAILED_IN_PYTHON = -1, KEY_RANK = 3, N_WANTED = 32 };

_Static_assert((int)CLIFFORD_F16 == TESS_F16 && (int)CLIFFORD_BF16 == TESS_BF16 &&
                   (int)CLIFFORD_F32 == TESS_F32 && (int)CLIFFORD_F64 == TESS_F64,
               "calls.h numbers types as the library does");

// Contexts at rest, made by a function of Python: passes backward run on threads of torch.
typedef struct place {
    core_context *context;
    int32_t device;
    int32_t threads;
} place;

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static place idle[MAX_IDLE];
static int n_idle;
static core_state *the_state;
static PyObject *make_context; // called with device and threads

static void lock_idle(void)
{
    pthread_mutex_lock(&idle_lock);
}

static void unlock_idle(void)
{
    pthread_mutex_unlock(&idle_lock);
}

static void drop(core_context *context)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF((PyObject *)context);
    PyGILState_Release(gil);
}

// NULL: an exception is set in this thread.
static core_context *new_context(int32_t device, int32_t threads)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *made = PyObject_CallFunction(make_context, "ii", (int)device, (int)threads);
    core_context *context = made ? core_to_context(the_state, made) : NULL;
    if (!context) {
        Py_XDECREF(made);
    }
    PyGILState_Release(gil);
    return context;
}

static core_context *take_context(int32_t device, int32_t threads)
{
    core_context *found = NULL;
    core_context *stale = NULL; // of another number of threads, which it would keep
    lock_idle();
    for (int i = 0; i < n_idle && !found && !stale; i++) {
        if (idle[i].device == device) {
            core_context **to = idle[i].threads == threads ? &found : &stale;
            *to = idle[i].context;
            idle[i] = idle[--n_idle];
        }
    }
    unlock_idle();
    if (stale) {
        drop(stale);
    }
    return found ? found : new_context(device, threads);
}

static void give_context(core_context *context, int32_t device, int32_t threads)
{
    lock_idle();
    if (n_idle < MAX_IDLE) {
        idle[n_idle++] = (place){context, device, threads};
        context = NULL;
    }
    unlock_idle();
    if (context) {
        drop(context);
    }
}

enum { MAX_VIEW = 2 * CLIFFORD_N_MEMBER + 4 };

typedef struct views {
    tess_array views[MAX_VIEW];
    int n;
    int32_t device;
} views;

// A bias may be (1, 1, N), as flash-clifford keeps it.
static const tess_array *view_of(views *all, const clifford_native_array *a, int is_bias)
{
    if (a->rank < 0) {
        return NULL;
    }
    tess_array *view = &all->views[all->n++];
    memset(view, 0, sizeof *view);
    const int32_t cut = is_bias && a->rank > 1 ? a->rank - 1 : 0;
    int32_t first = 0;
    while (first < cut && a->shape[first] == 1) {
        first++;
    }
    view->data = a->data;
    view->dtype = a->dtype;
    view->item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)a->dtype);
    view->rank = a->rank - first;
    view->space = all->device < 0 ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
    view->device = all->device < 0 ? 0 : all->device;
    for (int32_t i = 0; i < view->rank && i < TESS_MAX_RANK; i++) {
        view->shape[i] = a->shape[first + i];
        view->stride[i] = a->stride[first + i];
    }
    return view;
}

static tess_clifford_arrays arrays_of(views *all, const clifford_native_array *members)
{
    return (tess_clifford_arrays){
        .struct_size = sizeof(tess_clifford_arrays),
        .x = view_of(all, &members[0], 0),
        .y = view_of(all, &members[1], 0),
        .weight = view_of(all, &members[2], 0),
        .linear_weight = view_of(all, &members[3], 0),
        .bias = view_of(all, &members[4], 1),
    };
}

// What a pass over such arrays wanted of device memory before. Counting it takes as long as all
// other work of the host but the launches, and networks make the same calls again and again.
typedef struct wanted_key {
    const void *op; // lives as long as the process
    int32_t pass;
    int32_t device;
    int32_t rank[CLIFFORD_N_MEMBER + 1];
    int32_t dtype[CLIFFORD_N_MEMBER + 1];
    int64_t shape[CLIFFORD_N_MEMBER + 1][KEY_RANK];
    int64_t stride[CLIFFORD_N_MEMBER + 1][KEY_RANK];
} wanted_key;

typedef struct wanted_place {
    wanted_key key;
    uint64_t bytes;
} wanted_place;

static _Thread_local wanted_place wanted[N_WANTED];

// Whether the key says all that the amount may depend on.
static int make_key(const clifford_native_pass *p, const tess_clifford_arrays *in, wanted_key *key)
{
    const tess_array *const arrays[] = {in->x,    in->y, in->weight, in->linear_weight,
                                        in->bias, in->z};
    memset(key, 0, sizeof *key);
    key->op = p->op;
    key->pass = p->pass;
    key->device = p->device;
    for (int i = 0; i <= CLIFFORD_N_MEMBER; i++) {
        const tess_array *a = arrays[i];
        key->rank[i] = a ? a->rank : -1;
        if (!a) {
            continue;
        }
        if (a->rank > KEY_RANK) {
            return 0;
        }
        key->dtype[i] = a->dtype;
        for (int32_t k = 0; k < a->rank; k++) {
            key->shape[i][k] = a->shape[k];
            key->stride[i][k] = a->stride[k];
        }
    }
    return 1;
}

static tess_status wanted_bytes(tess_context *context, const clifford_native_pass *p,
                                const tess_clifford_arrays *in, uint64_t *bytes)
{
    wanted_key key;
    if (!make_key(p, in, &key)) {
        return tess_clifford_workspace(context, p->op, (tess_clifford_pass)p->pass, in, bytes);
    }
    const uint64_t mixed = (uint64_t)(uintptr_t)p->op / 64 + (uint64_t)key.shape[0][1] * 5 +
                           (uint64_t)key.shape[0][2] * 3 + (uint64_t)p->pass;
    wanted_place *known = &wanted[mixed % N_WANTED];
    if (memcmp(&known->key, &key, sizeof key) == 0) {
        *bytes = known->bytes;
        return TESS_OK;
    }
    const tess_status status =
        tess_clifford_workspace(context, p->op, (tess_clifford_pass)p->pass, in, bytes);
    if (status == TESS_OK) {
        *known = (wanted_place){key, *bytes};
    }
    return status;
}

static tess_status run_with(tess_context *context, const clifford_native_pass *p)
{
    views all = {.n = 0, .device = p->device};
    tess_clifford_call how;
    tess_clifford_call_init(&how, sizeof how);
    tess_clifford_arrays in = arrays_of(&all, p->in);
    const tess_array *z = view_of(&all, &p->z, 0);
    const tess_array *statistics = view_of(&all, &p->statistics, 0);
    const int is_forward = p->pass == TESS_CLIFFORD_FORWARD;
    if (!is_forward) {
        in.z = statistics ? z : NULL; // of use together only; the workspace counts on both
    }
    if (p->device >= 0) {
        uint64_t bytes = 0;
        how.has_stream = 1;
        how.stream = p->stream;
        const tess_status status = wanted_bytes(context, p, &in, &bytes);
        if (status != TESS_OK) {
            return status;
        }
        how.workspace = bytes > 0 ? p->take_workspace(p->user, bytes) : NULL;
        how.workspace_bytes = bytes;
    }
    if (is_forward) {
        return tess_clifford_forward(context, p->op, &in, z, statistics,
                                     view_of(&all, &p->linear_out, 0), &how);
    }
    const tess_clifford_arrays gradients = arrays_of(&all, p->gradients);
    return tess_clifford_backward(context, p->op, &in, view_of(&all, &p->gz, 0), statistics,
                                  &gradients, &how);
}

static int32_t run(const clifford_native_pass *p)
{
    core_context *context = take_context(p->device, p->threads);
    if (!context) {
        return FAILED_IN_PYTHON;
    }
    const tess_status status = run_with(context->handle, p);
    give_context(context, p->device, p->threads);
    return (int32_t)status;
}

static tess_array flat_array(const clifford_native_maps *m, void *data, int64_t rows, int64_t n)
{
    tess_array a;
    memset(&a, 0, sizeof a);
    a.data = data;
    a.dtype = TESS_F32;
    a.item_bytes = sizeof(float);
    a.space = m->device < 0 ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
    a.device = m->device < 0 ? 0 : m->device;
    a.rank = rows < 0 ? 1 : 2;
    a.shape[0] = rows < 0 ? n : rows;
    a.stride[0] = rows < 0 ? 1 : n;
    a.shape[1] = n;
    a.stride[1] = 1;
    return a;
}

static int64_t width_of(const int64_t row[3])
{
    return 16 * row[0] + row[1];
}

static tess_status map_with(tess_context *context, const clifford_native_maps *m)
{
    const tess_clifford_maps maps = {
        .struct_size = sizeof maps,
        .pairs = m->pairs,
        .x = {m->x[0], m->x[1], m->x[2]},
        .z = {m->z[0], m->z[1], m->z[2]},
        .has_bias = m->has_bias,
        .adds = m->adds,
    };
    int64_t n_item = 0;
    tess_status status = tess_clifford_maps_items(&maps, &n_item);
    if (status != TESS_OK) {
        return status;
    }
    const tess_array x = flat_array(m, m->x_data, m->n_row, width_of(m->x));
    const tess_array z = flat_array(m, m->z_data, m->n_row, width_of(m->z));
    const tess_array items = flat_array(m, m->items, -1, n_item);
    const tess_array x_grad = flat_array(m, m->x_grad, m->n_row, width_of(m->x));
    const tess_array items_grad = flat_array(m, m->items_grad, -1, n_item);
    tess_clifford_call how;
    tess_clifford_call_init(&how, sizeof how);
    if (m->device >= 0) {
        uint64_t bytes = 0;
        how.has_stream = 1;
        how.stream = m->stream;
        if (m->items_grad) {
            status = tess_clifford_maps_workspace(context, &maps, &x, &bytes);
        }
        how.workspace = bytes > 0 ? m->take_workspace(m->user, bytes) : NULL;
        how.workspace_bytes = bytes;
    }
    if (status != TESS_OK) {
        return status;
    }
    return m->is_forward ? tess_clifford_maps_forward(context, &maps, &x, &items, &z, &how)
                         : tess_clifford_maps_backward(context, &maps, &x, &items, &z,
                                                       m->x_grad ? &x_grad : NULL,
                                                       m->items_grad ? &items_grad : NULL, &how);
}

static int32_t map(const clifford_native_maps *m)
{
    core_context *context = take_context(m->device, m->threads);
    if (!context) {
        return FAILED_IN_PYTHON;
    }
    const tess_status status = map_with(context->handle, m);
    give_context(context, m->device, m->threads);
    return (int32_t)status;
}

static void raise_status(int32_t status)
{
    if (status != FAILED_IN_PYTHON) {
        core_raise(the_state, (tess_status)status, tess_last_error());
    } else if (!PyErr_Occurred()) { // it was set on a thread that Python has forgotten
        core_fail(the_state, TESS_E_DEVICE, "clifford: no context for a pass backward");
    }
}

static const clifford_native_calls calls = {CLIFFORD_CALLS_VERSION, run, raise_status, map};

static PyObject *native_calls(PyObject *module, PyObject *make)
{
    static int is_ready;
    if (!is_ready) {
        pthread_atfork(lock_idle, unlock_idle, unlock_idle);
        is_ready = 1;
    }
    the_state = PyModule_GetState(module);
    PyObject *before = make_context;
    make_context = Py_NewRef(make);
    Py_XDECREF(before);
    // The table is only read; capsules know no const.
    return PyCapsule_New((void *)(uintptr_t)&calls, "tessera.clifford_native_calls", NULL);
}

static PyObject *forget(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    for (;;) {
        core_context *context = NULL;
        lock_idle();
        if (n_idle > 0) {
            context = idle[--n_idle].context;
        }
        unlock_idle();
        if (!context) {
            return Py_NewRef(Py_None);
        }
        drop(context);
    }
}

PyMethodDef core_clifford_native_methods[] = {
    {"clifford_native_calls", native_calls, METH_O,
     "Passes for tessera.clifford.native; given is what makes a context of device and threads."},
    {"clifford_native_forget", forget, METH_NOARGS, "Let go of the contexts at rest."},
    {NULL, NULL, 0, NULL},
};
