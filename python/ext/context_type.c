// tessera.Context: a core context, its callbacks into Python, and the one way to call the core.

#include "core.h"

#include <tessera/sys/comm.h>

#include <string.h>
#include <time.h>

static const int64_t poll_interval_ns = 100000000; // signals are looked at this often

static PyStructSequence_Field progress_fields[] = {
    {"stage", "What runs: 'autoreject.ptp'."},
    {"unit", "What done and total count: 'epochs'."},
    {"done", "Finished so far."},
    {"total", "All there is to do."},
    {"done_bytes", "Input bytes worked on so far."},
    {"elapsed_s", "Seconds since the start of this run."},
    {"remaining_s", "Estimated seconds to go, None while unknown."},
    {"memory_bytes", "Heap held by the context now."},
    {"strategy", "How the data meet the memory budget: 'LARGE'."},
    {NULL, NULL},
};

PyStructSequence_Desc core_progress_desc = {
    .name = "tessera.Progress",
    .doc = "How far a run has come, as given to the progress callback.",
    .fields = progress_fields,
    .n_in_sequence = 9,
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static PyObject *progress_object(const core_state *state, const tess_progress *progress)
{
    PyObject *values[] = {
        core_text(progress->stage),
        core_text(progress->unit),
        PyLong_FromLongLong(progress->done),
        PyLong_FromLongLong(progress->total),
        PyLong_FromUnsignedLongLong(progress->done_bytes),
        PyFloat_FromDouble(progress->elapsed_s),
        progress->remaining_s < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble(progress->remaining_s),
        PyLong_FromUnsignedLongLong(progress->memory_bytes),
        core_text(tess_strategy_name((tess_strategy)progress->strategy)),
    };
    PyObject *object = PyStructSequence_New(state->progress_type);
    for (Py_ssize_t i = 0; i < core_progress_desc.n_in_sequence; i++) {
        if (object && values[i]) {
            PyStructSequence_SetItem(object, i, values[i]);
        } else {
            Py_XDECREF(values[i]);
            Py_CLEAR(object);
        }
    }
    return object;
}

static int report_progress(const core_call *call, const tess_progress *progress)
{
    PyObject *snapshot = progress_object(call->state, progress);
    PyObject *answer =
        snapshot ? PyObject_CallFunctionObjArgs(call->progress, snapshot, NULL) : NULL;
    Py_XDECREF(snapshot);
    // What the callback returns is ignored: bars return all sorts of things. To stop, it raises.
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

// Runs on the calling thread. The first exception stops the run and waits in the call until the
// core has returned.
static int on_progress(void *user, const tess_progress *progress)
{
    core_call *call = ((core_context *)user)->call;
    if (!call) {
        return 0;
    }
    if (call->error_type) {
        return 1;
    }
    const int64_t now = now_ns();
    if (!call->progress && now - call->polled_ns < poll_interval_ns) {
        return 0;
    }
    call->polled_ns = now;
    PyEval_RestoreThread(call->thread);
    const int failed =
        PyErr_CheckSignals() != 0 || (call->progress && report_progress(call, progress) < 0);
    if (failed) {
        PyErr_Fetch(&call->error_type, &call->error_value, &call->error_trace);
    }
    call->thread = PyEval_SaveThread();
    return failed;
}

// Any thread, with or without the GIL. An exception here has nowhere to go but sys.unraisablehook;
// Ctrl-C, which may come while Python writes the line, is heard again when the call looks for it.
static void on_log(void *user, tess_log_level level, const char *line)
{
    core_context *context = user;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = core_text(line);
    PyObject *answer = text ? PyObject_CallFunction(context->log, "iO", (int)level, text) : NULL;
    if (!answer && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt();
    } else if (!answer) {
        PyErr_WriteUnraisable(context->log);
    }
    Py_XDECREF(answer);
    Py_XDECREF(text);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(gil);
}

core_context *core_to_context(const core_state *state, PyObject *value)
{
    if (!Py_IS_TYPE(value, state->context_type)) {
        PyErr_Format(PyExc_TypeError, "context: expected a tessera.Context, got %R", value);
        return NULL;
    }
    return (core_context *)value;
}

int core_is_first(const core_context *context)
{
    tess_context_info info;
    return tess_context_get_info(context->handle, &info, sizeof info) == TESS_OK && info.rank == 0;
}

static int take_lock(core_context *context)
{
    const unsigned long thread = PyThread_get_thread_ident();
    if (context->owner == thread) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this Context is busy with the call that runs this callback; use another "
                        "Context");
        return -1;
    }
    if (PyThread_acquire_lock(context->lock, NOWAIT_LOCK) != PY_LOCK_ACQUIRED) {
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(context->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    if (!context->handle) {
        PyThread_release_lock(context->lock);
        PyErr_SetString(PyExc_RuntimeError, "this Context is closed");
        return -1;
    }
    context->owner = thread;
    return 0;
}

static void release_lock(core_context *context)
{
    context->owner = 0;
    PyThread_release_lock(context->lock);
}

int core_call_begin(core_call *call, const core_state *state, core_context *context,
                    PyObject *progress)
{
    *call = (core_call){.state = state, .context = context, .progress = progress};
    if (take_lock(context) < 0) {
        return -1;
    }
    Py_INCREF((PyObject *)context);
    call->polled_ns = now_ns();
    context->call = call;
    call->thread = PyEval_SaveThread();
    return 0;
}

int core_call_end(core_call *call, tess_status status)
{
    core_context *context = call->context;
    if (status == TESS_CANCELLED) {
        tess_context_cancel_clear(context->handle);
    }
    PyEval_RestoreThread(call->thread);
    context->call = NULL;
    release_lock(context);
    int result = 0;
    if (call->error_type) {
        PyErr_Restore(call->error_type, call->error_value, call->error_trace);
        result = -1;
    } else if (status != TESS_OK) {
        core_raise(call->state, status,
                   status == TESS_CANCELLED ? tess_status_text(status) : tess_last_error());
        result = -1;
    }
    Py_DECREF((PyObject *)context);
    return result;
}

static int open_context(core_context *context, const core_state *state, tess_context_config *config)
{
    config->progress = on_progress;
    config->progress_user = context;
    if (context->log) {
        config->log = on_log;
        config->log_user = context;
    }
    tess_status status = TESS_OK;
    Py_BEGIN_ALLOW_THREADS status = tess_context_create(config, &context->handle);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        core_raise(state, status, tess_last_error());
        return -1;
    }
    return 0;
}

enum { N_KEYWORD = 10 };

static int configure(const core_state *state, PyObject *const values[N_KEYWORD],
                     tess_context_config *config)
{
    int64_t n_thread = 0;
    int64_t log_level = config->log_level;
    if (core_to_int(state, values[0], "threads", 1, 1024, &n_thread) < 0 ||
        core_to_bytes(state, values[1], "memory_limit", &config->memory_limit_bytes) < 0 ||
        core_to_text(values[2], "device", &config->device) < 0 ||
        core_to_text(values[3], "isa", &config->isa) < 0 ||
        core_to_int(state, values[5], "log_level", TESS_LOG_ERROR, TESS_LOG_DEBUG, &log_level) <
            0 ||
        core_to_flag(values[6], &config->profile) < 0 ||
        core_to_bytes(state, values[8], "device_memory_limit", &config->device_memory_limit_bytes) <
            0 ||
        core_to_text(values[9], "comm", &config->comm) < 0) {
        return -1;
    }
    config->n_thread = (int32_t)n_thread;
    config->log_level = (int32_t)log_level;
    return 0;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char names[N_KEYWORD][20] = {
        "threads", "memory_limit",        "device", "isa", "log", "log_level", "profile",
        "trace",   "device_memory_limit", "comm"};
    static char *keywords[] = {names[0], names[1], names[2], names[3], names[4], names[5],
                               names[6], names[7], names[8], names[9], NULL};
    const core_state *state = PyType_GetModuleState(type);
    PyObject *values[N_KEYWORD] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOOOOOOO:Context", keywords, &values[0],
                                     &values[1], &values[2], &values[3], &values[4], &values[5],
                                     &values[6], &values[7], &values[8], &values[9])) {
        return NULL;
    }
    for (int i = 0; i < N_KEYWORD; i++) {
        values[i] = values[i] == Py_None ? NULL : values[i];
    }
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    PyObject *trace = NULL;
    core_context *context = NULL;
    if (configure(state, values, &config) < 0 ||
        core_to_path(values[7], &trace, &config.trace_path) < 0) {
        goto done;
    }
    context = (core_context *)PyType_GenericAlloc(type, 0);
    if (!context) {
        goto done;
    }
    context->log = Py_XNewRef(values[4]);
    context->lock = PyThread_allocate_lock();
    if (!context->lock) {
        PyErr_NoMemory();
        Py_CLEAR(context);
    } else if (open_context(context, state, &config) < 0) {
        Py_CLEAR(context);
    }
done:
    Py_XDECREF(trace);
    return (PyObject *)context;
}

// Workers may be in the log callback, which needs the GIL to finish.
static void destroy_handle(core_context *context)
{
    tess_context *handle = context->handle;
    context->handle = NULL;
    if (handle) {
        Py_BEGIN_ALLOW_THREADS tess_context_destroy(handle);
        Py_END_ALLOW_THREADS
    }
}

// Handles live in the memory of a context: it goes with the last of them.
static void retire_handle(core_context *context)
{
    if (context->n_handle == 0) {
        destroy_handle(context);
    } else if (context->handle) {
        context->retired = context->handle;
        context->handle = NULL;
    }
}

void core_context_release(core_context *context)
{
    context->n_handle--;
    if (context->n_handle == 0 && context->retired) {
        context->handle = context->retired;
        context->retired = NULL;
        destroy_handle(context);
    }
    Py_DECREF((PyObject *)context);
}

static int context_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((core_context *)self)->log);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int context_clear(PyObject *self)
{
    retire_handle((core_context *)self);
    Py_CLEAR(((core_context *)self)->log);
    return 0;
}

static void context_dealloc(PyObject *self)
{
    core_context *context = (core_context *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    context_clear(self);
    if (context->lock) {
        PyThread_free_lock(context->lock);
    }
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *context_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    core_context *context = (core_context *)self;
    if (!context->handle) {
        Py_RETURN_NONE;
    }
    if (take_lock(context) < 0) {
        return NULL;
    }
    retire_handle(context);
    release_lock(context);
    Py_RETURN_NONE;
}

static PyObject *context_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *context_exit(PyObject *self, PyObject *args)
{
    (void)args;
    return context_close(self, NULL);
}

static PyObject *context_cancel(PyObject *self, PyObject *unused)
{
    (void)unused;
    // No lock: the point is to reach a context that is busy.
    if (((core_context *)self)->handle) {
        tess_context_cancel(((core_context *)self)->handle);
    }
    Py_RETURN_NONE;
}

static PyObject *context_memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    const core_context *context = (core_context *)self;
    uint64_t now = 0;
    uint64_t peak = 0;
    if (context->handle) {
        tess_context_memory(context->handle, &now, &peak);
    }
    return Py_BuildValue("(KK)", (unsigned long long)now, (unsigned long long)peak);
}

static PyObject *context_profile(PyObject *self, PyObject *unused)
{
    (void)unused;
    core_context *context = (core_context *)self;
    core_call call;
    const char *text = "";
    if (core_call_begin(&call, PyType_GetModuleState(Py_TYPE(self)), context, NULL) < 0) {
        return NULL;
    }
    const tess_status status = tess_context_profile_text(context->handle, &text);
    return core_call_end(&call, status) < 0 ? NULL : core_text(text);
}

static PyObject *context_info(PyObject *self, void *closure)
{
    (void)closure;
    const core_context *context = (core_context *)self;
    if (!context->handle) {
        PyErr_SetString(PyExc_RuntimeError, "this Context is closed");
        return NULL;
    }
    tess_context_info info;
    const tess_status status = tess_context_get_info(context->handle, &info, sizeof info);
    if (status != TESS_OK) {
        return core_raise(PyType_GetModuleState(Py_TYPE(self)), status, tess_last_error());
    }
    return Py_BuildValue("{sisssKsssssssssKszsisisz}", "threads", (int)info.n_thread,
                         "threads_origin", info.n_thread_origin, "memory_limit",
                         (unsigned long long)info.memory_limit_bytes, "memory_limit_origin",
                         info.memory_limit_origin, "isa", info.isa, "device", info.device,
                         "device_reason", info.device_reason, "device_memory_limit",
                         (unsigned long long)info.device_memory_limit_bytes,
                         "device_memory_limit_origin", info.device_memory_limit_origin, "rank",
                         (int)info.rank, "n_rank", (int)info.n_rank, "comm", info.comm);
}

// How a call went, as other ranks are told: whatever is no error of Tessera stopped it.
static tess_status status_of(PyObject *error)
{
#define STATUS_VALUE(name, value, exit_code, text) name,
    static const tess_status all[] = {TESS_STATUS_LIST(STATUS_VALUE)};
#undef STATUS_VALUE
    if (error == Py_None) {
        return TESS_OK;
    }
    PyObject *name = PyObject_GetAttrString(error, "status");
    tess_status found = TESS_CANCELLED;
    for (size_t i = 0; name && PyUnicode_Check(name) && i < sizeof all / sizeof *all; i++) {
        if (PyUnicode_CompareWithASCIIString(name, tess_status_name(all[i])) == 0) {
            found = all[i];
        }
    }
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

static PyObject *context_leave(PyObject *self, PyObject *error)
{
    core_context *context = (core_context *)self;
    const core_state *state = PyType_GetModuleState(Py_TYPE(self));
    const tess_status own = status_of(error);
    if (take_lock(context) < 0) {
        return NULL;
    }
    PyObject *text = error == Py_None ? NULL : PyObject_Str(error);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Clear(); // an error without words has none for others
    tess_status status = own;
    Py_BEGIN_ALLOW_THREADS status =
        tess_context_leave_with(context->handle, own, message ? message : "");
    Py_END_ALLOW_THREADS release_lock(context);
    Py_XDECREF(text);
    if (own == TESS_OK && status != TESS_OK) {
        return core_raise(state, status,
                          status == TESS_CANCELLED ? tess_status_text(status) : tess_last_error());
    }
    Py_RETURN_NONE;
}

static PyMethodDef context_methods[] = {
    {"cancel", context_cancel, METH_NOARGS,
     "cancel($self)\n--\n\nStop the call that runs now; any thread may ask."},
    {"close", context_close, METH_NOARGS,
     "close($self)\n--\n\nStop the threads, write the trace, free everything."},
    {"leave", context_leave, METH_O,
     "leave($self, error, /)\n--\n\nEnd what the ranks of a job do together: waits for the others, "
     "who hear of an error; raises theirs\nif this rank has none (None)."},
    {"memory", context_memory, METH_NOARGS,
     "memory($self)\n--\n\nHeap bytes held now and at most so far."},
    {"profile", context_profile, METH_NOARGS,
     "profile($self)\n--\n\nTable of spans as text; empty unless created with profile=True."},
    {"__enter__", context_enter, METH_NOARGS, NULL},
    {"__exit__", context_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef context_getset[] = {
    {"info", context_info, NULL, "What was decided at creation, and why.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char context_doc[] =
    "Context(*, threads=None, memory_limit=None, device=None, isa=None, log=None, log_level=None, "
    "profile=False, trace=None, device_memory_limit=None, comm=None)\n--\n\n"
    "Threads, memory limit, device and log of the calls made with it; one call at a time.\n\n"
    "Parameters\n----------\n"
    "threads : int, optional\n    Default: TESSERA_NUM_THREADS, OMP_NUM_THREADS, "
    "SLURM_CPUS_PER_TASK, else all allowed cores.\n"
    "memory_limit : int or str, optional\n    Bytes, or text such as '8G'. Default: "
    "TESSERA_MEMORY_LIMIT, else 80 % of memory.\n"
    "device : str, optional\n    'cpu', 'cuda', 'cuda:1' or 'auto'. Default: TESSERA_DEVICE, else "
    "'cpu'.\n"
    "isa : str, optional\n    Limits the CPU kernels, for example 'avx2'. Default: TESSERA_ISA.\n"
    "log : callable, optional\n    Called as log(level, line) from any thread.\n"
    "log_level : int, optional\n    0 error, 1 warning, 2 info, 3 debug.\n"
    "profile : bool\n    Keep the totals that profile() shows.\n"
    "trace : path, optional\n    Chrome trace, written by close().\n"
    "device_memory_limit : int or str, optional\n    Bytes of a GPU's own memory, or text. "
    "Default: "
    "TESSERA_DEVICE_MEMORY_LIMIT, else\n    what is free there, less a reserve.\n"
    "comm : str, optional\n    'mpi:HANDLE' of a communicator, as tessera.distributed.use() gives "
    "it. Default: this\n    process alone.";

static PyType_Slot context_slots[] = {
    {Py_tp_doc, context_doc},
    {Py_tp_new, CORE_SLOT(context_new)},
    {Py_tp_dealloc, CORE_SLOT(context_dealloc)},
    {Py_tp_traverse, CORE_SLOT(context_traverse)},
    {Py_tp_clear, CORE_SLOT(context_clear)},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {0, NULL},
};

PyType_Spec core_context_spec = {
    .name = "tessera.Context",
    .basicsize = sizeof(core_context),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = context_slots,
};
