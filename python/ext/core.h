// What the files of the extension tessera._core share.
//
// The extension sees public headers only, is built for the stable ABI of Python 3.11 and keeps
// everything in its module state.
#ifndef CORE_H
#define CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "dlpack_abi.h"
#include "tessera/tessera.h"

// Slot tables hold functions as void *, which ISO C has no conversion for and POSIX promises.
#define CORE_SLOT(function) (__extension__(void *)(function))

// Method tables hold one function type whatever the flags beside it say.
#define CORE_METHOD(function) ((PyCFunction)(void (*)(void))(function))

enum { CORE_MAX_ERROR = 20, CORE_MAX_EXCHANGE = 8 };

// A type of tensors and its table for C; api NULL: it has none.
typedef struct core_exchange {
    PyTypeObject *type;
    const dlpack_exchange *api;
} core_exchange;

typedef struct core_state {
    PyTypeObject *array_type;
    PyTypeObject *context_type;
    PyTypeObject *progress_type;
    PyTypeObject *handle_type;
    PyTypeObject *clifford_op_type;
    core_exchange exchanges[CORE_MAX_EXCHANGE]; // tensor types met so far
    PyObject *errors[CORE_MAX_ERROR];           // in the order of the table in errors.c
} core_state;

// --- errors.c

int core_errors_create(core_state *state, PyObject *module);
void core_errors_clear(core_state *state);
int core_errors_visit(core_state *state, visitproc visit, void *arg);

// Raises the exception class of status. Both return NULL.
PyObject *core_raise(const core_state *state, tess_status status, const char *message);
PyObject *core_fail(const core_state *state, tess_status status, const char *format, ...);

// --- arguments.c

// Parameters of a function: the first n_positional may be given by position.
typedef struct core_signature {
    const char *function;
    const char *const *names;
    int n_name;
    int n_positional;
    int n_required;
} core_signature;

// values[i] is borrowed, NULL when absent or None.
int core_parse(const core_signature *signature, PyObject *const *args, Py_ssize_t n_arg,
               PyObject *keywords, PyObject **values);

// Scalars; absent (NULL) leaves *out alone. name is for the message.
int core_to_int(const core_state *state, PyObject *value, const char *name, int64_t minimum,
                int64_t maximum, int64_t *out);
int core_to_real(PyObject *value, double *out);
int core_to_flag(PyObject *value, int32_t *out);
int core_to_text(PyObject *value, const char *name, const char **out);
int core_to_bytes(const core_state *state, PyObject *value, const char *name, uint64_t *out);
// *keep holds the encoded path that *out points into.
int core_to_path(PyObject *value, PyObject **keep, const char **out);

// Writes a dict of options into the config struct that table describes.
int core_to_config(const core_state *state, PyObject *options, const tess_param_table *table,
                   void *config);

// Every parameter table of the library as Python data.
PyObject *core_param_tables(PyObject *module, PyObject *unused);

// --- text.c

// Text of the library, which is UTF-8 except for what came from odd file names.
PyObject *core_text(const char *text);
// Puts a new reference (may be NULL: an error is set) into a dict.
int core_put(PyObject *dict, const char *key, PyObject *value);

struct core_context;

// --- array_type.c, array_device.c, array_make.c, array_input.c, array_dlpack.c

// An array view with what keeps its memory alive: a block of its own, a buffer, or a tensor lent
// by DLPack; or the object whose memory it shows.
typedef struct core_array {
    PyObject_HEAD tess_array view;
    int32_t read_only;
    int32_t has_buffer;
    void *block;
    PyObject *owner;
    Py_buffer buffer;
    dlpack_managed *lent;
    dlpack_versioned *lent_versioned;
    Py_ssize_t shape[TESS_MAX_RANK]; // as the buffer protocol wants them
    Py_ssize_t byte_stride[TESS_MAX_RANK];
} core_array;

extern PyType_Spec core_array_spec;

core_array *core_array_alloc(const core_state *state);
// A new C-contiguous host array.
core_array *core_array_create(const core_state *state, int32_t dtype, int64_t item_bytes,
                              int32_t rank, const int64_t *shape);
// The same in the memory of the context's device, which is the host's if that is the CPU.
core_array *core_array_create_there(const core_state *state, struct core_context *context,
                                    int32_t dtype, int32_t rank, const int64_t *shape);
// Fills one of those from the host.
int core_array_write_there(const core_state *state, core_array *array, const void *host);
PyObject *core_array_to_host(PyObject *self, PyObject *unused);
// Read-only memory of owner, C order; None for NULL data.
PyObject *core_array_show(const core_state *state, PyObject *owner, int32_t dtype, int32_t rank,
                          const int64_t *shape, const void *data);
// A view of object; an Array is returned as it is. Copies nothing.
core_array *core_array_from(const core_state *state, PyObject *object, const char *name,
                            int need_writable);
// Fills shape and byte_stride from view.
void core_array_finish(core_array *array);
int core_array_view_dlpack(const core_state *state, core_array *array, PyObject *object,
                           const char *name);
// Views a tensor without keeping it.
int core_view_tensor(const core_state *state, const dlpack_tensor *tensor, const char *name,
                     tess_array *view);
// 1 also if object cannot say.
int core_is_on_host(PyObject *object);
void core_array_return_dlpack(core_array *array);
PyObject *core_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n_arg,
                            PyObject *keywords);
PyObject *core_array_dlpack_device(PyObject *self, PyObject *unused);

// The element type of a NumPy kind character and size; 0 if Tessera has none.
int32_t core_dtype_of(char kind, int64_t item_bytes);
char core_dtype_kind(int32_t dtype);

// --- views.c

// C-contiguous memory of one type, kept alive by the list keep; value NULL gives NULL and zeros.
// shape has rank entries.
int core_view(const core_state *state, PyObject *value, const char *name, int32_t dtype,
              int32_t rank, PyObject *keep, const void **data, int64_t *shape);
// The same for float64.
int core_reals(const core_state *state, PyObject *value, const char *name, int32_t rank,
               PyObject *keep, const double **data, int64_t *shape);
// Read-only views of memory that lives with owner; one axis if columns is negative.
PyObject *core_show_reals(const core_state *state, PyObject *owner, const double *data,
                          int64_t rows, int64_t columns);
typedef struct core_named_reals {
    const char *key;
    const double *data;
    int64_t rows;
    int64_t columns;
} core_named_reals;

// The same, n of them, put into a dict.
int core_put_reals(const core_state *state, PyObject *owner, PyObject *dict,
                   const core_named_reals *arrays, size_t n);
PyObject *core_show_ints(const core_state *state, PyObject *owner, const int64_t *data,
                         int64_t rows, int64_t columns);
PyObject *core_show_mask(const core_state *state, PyObject *owner, const uint8_t *data, int64_t n);

// --- context_type.c

struct core_call;

typedef struct core_context {
    PyObject_HEAD tess_context *handle; // NULL once closed
    PyObject *log;
    PyThread_type_lock lock; // one call at a time
    unsigned long owner;     // thread that holds lock, 0 if none
    struct core_call *call;
    tess_context *retired; // closed, but handles still live in its memory
    Py_ssize_t n_handle;
} core_context;

// One call into the core: its lock, its released GIL and what its callbacks left behind.
typedef struct core_call {
    const core_state *state;
    core_context *context;
    PyThreadState *thread;
    PyObject *progress; // borrowed; NULL: none
    PyObject *error_type;
    PyObject *error_value;
    PyObject *error_trace;
    int64_t polled_ns;
} core_call;

extern PyType_Spec core_context_spec;
extern PyStructSequence_Desc core_progress_desc;

// Whether this process speaks and writes for the ranks it works with.
int core_is_first(const core_context *context);
core_context *core_to_context(const core_state *state, PyObject *value);
// One handle less; gives up the reference the handle held.
void core_context_release(core_context *context);
// After a begin that returned 0 the GIL is released until core_call_end(), which returns 0, or
// -1 with the exception of a callback or of status set.
int core_call_begin(core_call *call, const core_state *state, core_context *context,
                    PyObject *progress);
int core_call_end(core_call *call, tess_status status);

// --- job.c

typedef tess_status (*core_plan_fn)(tess_context *ctx, const tess_source *source,
                                    const void *config, tess_plan **out);

// A plan run from a source (NULL: none) into a file (output) or an array.
typedef struct core_job {
    core_plan_fn make_plan;
    const void *config;
    tess_source *source;
    int32_t dtype; // of the result
    int32_t rank;
    int64_t shape[TESS_MAX_RANK];
    const char *output;
    core_array *array;
    tess_sink_config sink_config;
    tess_run_config run_config;
    tess_plan *plan;
    tess_sink *sink;
    tess_run *run; // NULL when the result was there already
    char *found;   // provenance of a result that was there already
} core_job;

// Returns a dict on the run, or NULL. Frees what it created.
PyObject *core_job_run(core_job *job, const core_state *state, core_context *context,
                       PyObject *progress);

PyObject *core_read_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords);
PyObject *core_list_file(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                         PyObject *keywords);

// --- clifford_op.c

extern PyType_Spec core_clifford_op_spec;

// --- array_pool.c, autoreject*.c, clifford_*.c, decode_*.c, xpcs_*.c, system.c

extern PyMethodDef core_array_pool_methods[];
extern PyMethodDef core_autoreject_methods[];
extern PyMethodDef core_autoreject_epochs_methods[];
extern PyMethodDef core_autoreject_file_methods[];
extern PyMethodDef core_autoreject_fit_methods[];
extern PyMethodDef core_autoreject_interpolation_methods[];
extern PyMethodDef core_autoreject_log_methods[];
extern PyMethodDef core_autoreject_model_methods[];
extern PyMethodDef core_autoreject_global_methods[];
extern PyMethodDef core_autoreject_report_methods[];
extern PyMethodDef core_autoreject_study_methods[];
extern PyMethodDef core_clifford_algebra_methods[];
extern PyMethodDef core_clifford_check_methods[];
extern PyMethodDef core_clifford_ffi_methods[];
extern PyMethodDef core_clifford_graph_methods[];
extern PyMethodDef core_clifford_input_methods[];
extern PyMethodDef core_clifford_native_methods[];
extern PyMethodDef core_clifford_op_methods[];
extern PyMethodDef core_decode_environment_methods[];
extern PyMethodDef core_decode_encoding_methods[];
extern PyMethodDef core_decode_fitted_methods[];
extern PyMethodDef core_decode_movement_methods[];
extern PyMethodDef core_decode_detector_methods[];
extern PyMethodDef core_decode_predict_methods[];
extern PyMethodDef core_decode_recording_methods[];
extern PyMethodDef core_decode_stream_methods[];
extern PyMethodDef core_decode_events_methods[];
extern PyMethodDef core_decode_tune_methods[];
extern PyMethodDef core_decode_online_methods[];
extern PyMethodDef core_xpcs_model_methods[];
extern PyMethodDef core_xpcs_data_methods[];
extern PyMethodDef core_xpcs_simulate_methods[];
extern PyMethodDef core_xpcs_compare_methods[];
extern PyMethodDef core_document_methods[];
extern PyMethodDef core_xpcs_settings_methods[];
extern PyMethodDef core_xpcs_fit_methods[];
extern PyMethodDef core_xpcs_joint_methods[], core_xpcs_rates_methods[];
extern PyMethodDef core_xpcs_result_methods[];
extern PyMethodDef core_xpcs_posterior_methods[];
extern PyMethodDef core_xpcs_summary_methods[];
extern PyMethodDef core_system_methods[];

#endif
