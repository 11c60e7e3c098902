// Operations as foreign functions of XLA (jax.ffi): one handler for the CPU and one for CUDA, which
// read the operation from attributes, so that a compiled program means the same in any process.
//
// Attributes: kind, spec (as tessera.clifford spells an operation), pass (1 forward, 2 backward, 3
// double backward), present (bit i: array i of x, y, weight, linear_weight, bias is there).
// Arguments: the arrays that are there; from pass 2 on gz; in pass 3 cotangents of the arrays.
// Results: z; gradients of the arrays; gradients of gz and of the arrays.

#include "clifford.h"
#include "xla_ffi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ARRAY = 5, MAX_IDLE = 8, MAX_ARRAY = 3 * N_ARRAY + 2, MAX_SPEC = 512, MAX_MESSAGE = 160 };

// Contexts at rest: handlers of one program run on several threads at once.
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    tess_context *context;
    int ordinal; // -1: the CPU
} idle[MAX_IDLE];
static int n_idle;

static tess_status take_context(int ordinal, tess_context **context)
{
    char device[24] = "cpu";
    *context = NULL;
    pthread_mutex_lock(&idle_lock);
    for (int i = 0; i < n_idle; i++) {
        if (idle[i].ordinal == ordinal) {
            *context = idle[i].context;
            idle[i] = idle[--n_idle];
            break;
        }
    }
    pthread_mutex_unlock(&idle_lock);
    if (*context) {
        return TESS_OK;
    }
    if (ordinal >= 0) {
        (void)snprintf(device, sizeof device, "cuda:%d", ordinal);
    }
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.device = device;
    return tess_context_create(&config, context);
}

static void give_context(int ordinal, tess_context *context)
{
    pthread_mutex_lock(&idle_lock);
    if (n_idle < MAX_IDLE) {
        idle[n_idle].ordinal = ordinal;
        idle[n_idle++].context = context;
        context = NULL;
    }
    pthread_mutex_unlock(&idle_lock);
    tess_context_destroy(context);
}

static void *attribute(const xla_call *call, const char *name, int type)
{
    const xla_attributes *all = &call->attributes;
    for (int64_t i = 0; i < all->n; i++) {
        if (all->names[i]->length == strlen(name) &&
            memcmp(all->names[i]->text, name, all->names[i]->length) == 0) {
            return all->types[i] == type ? all->values[i] : NULL;
        }
    }
    return NULL;
}

static int64_t number(const xla_call *call, const char *name)
{
    const xla_scalar *value = attribute(call, name, XLA_ATTRIBUTE_SCALAR);
    return value && value->dtype == XLA_S64 ? *(const int64_t *)value->value : 0;
}

static void text(const xla_call *call, const char *name, char *to, size_t capacity)
{
    const xla_span *value = attribute(call, name, XLA_ATTRIBUTE_STRING);
    (void)snprintf(to, capacity, "%.*s", value ? (int)value->length : 0, value ? value->text : "");
}

static tess_status set_option(tess_clifford_config *config, uint64_t *path_mask, const char *name,
                              const char *value)
{
    const tess_param_table *table = tess_clifford_params();
    if (strcmp(name, "path_mask") == 0) {
        *path_mask = strtoull(value, NULL, 10);
        return TESS_OK;
    }
    for (int64_t i = 0; i < table->n_param; i++) {
        if (strcmp(name, table->params[i].name) == 0) {
            // Python's truth values are the table's in small letters.
            value = strcmp(value, "True") == 0    ? "true"
                    : strcmp(value, "False") == 0 ? "false"
                                                  : value;
            return tess_param_set_text(&table->params[i], config, value);
        }
    }
    return TESS_E_ARGUMENT;
}

// "+++|activation=gelu|normalize=False".
static tess_status read_operation(const xla_call *call, tess_clifford_op *op)
{
    static const char *const kinds[] = {"",     "gate",   "norm",  "sgp",
                                        "fcgp", "linear", "layer", "fc_layer"};
    char kind[16];
    char spec[MAX_SPEC];
    tess_clifford_config config;
    tess_clifford_metric metric;
    uint64_t path_mask = UINT64_MAX;
    tess_clifford_config_init(&config, sizeof config);
    text(call, "kind", kind, sizeof kind);
    text(call, "spec", spec, sizeof spec);
    char *rest = NULL;
    const char *first = strtok_r(spec, "|", &rest);
    tess_status status = tess_clifford_metric_parse(first ? first : "", &metric);
    for (char *option; status == TESS_OK && (option = strtok_r(NULL, "|", &rest));) {
        char *value = strchr(option, '=');
        if (value) {
            *value = '\0';
        }
        status = set_option(&config, &path_mask, option, value ? value + 1 : "");
    }
    for (int i = TESS_CLIFFORD_GATE; status == TESS_OK && i <= TESS_CLIFFORD_FC_LAYER; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            return tess_clifford_op_init(op, sizeof *op, (tess_clifford_kind)i, &metric, &config,
                                         path_mask);
        }
    }
    return status == TESS_OK ? TESS_E_ARGUMENT : status;
}

// The arrays of one call, in the order in which they come.
typedef struct ffi_arrays {
    tess_array views[MAX_ARRAY];
    int n;
    int ordinal;
    tess_status status;        // of the first that cannot be viewed
    char message[MAX_MESSAGE]; // why, where the library does not know
} ffi_arrays;

static int to_dtype(int xla, tess_dtype *dtype)
{
    switch (xla) {
    case XLA_F64:
        *dtype = TESS_F64;
        return 0;
    case XLA_F32:
        *dtype = TESS_F32;
        return 0;
    case XLA_BF16:
        *dtype = TESS_BF16;
        return 0;
    case XLA_F16:
        *dtype = TESS_F16;
        return 0;
    default:
        return -1;
    }
}

// Programs are compiled for any type: a guess here would read and write past the end of arrays.
static const tess_array *view_of(ffi_arrays *all, const void *value, const char *of,
                                 const char *name)
{
    const xla_buffer *buffer = value;
    tess_array *view = &all->views[all->n++];
    tess_dtype dtype = TESS_F32;
    if (all->status != TESS_OK) {
        return view;
    }
    if (to_dtype(buffer->dtype, &dtype) < 0) {
        (void)snprintf(all->message, sizeof all->message,
                       "clifford: %s%s: is of XLA's element type %d; supported are f64, f32, bf16 "
                       "and f16",
                       of, name, buffer->dtype);
        all->status = TESS_E_DTYPE;
        return view;
    }
    all->status = tess_array_init(view, buffer->data, dtype, (int32_t)buffer->rank, buffer->dims);
    if (all->ordinal >= 0) {
        view->space = TESS_SPACE_DEVICE;
        view->device = all->ordinal;
    }
    return view;
}

// Arrays that are there, from the next value on.
static tess_clifford_arrays next_arrays(ffi_arrays *all, void **values, int64_t *next,
                                        int64_t present, const char *of)
{
    static const char *const names[] = {"x", "y", "weight", "linear_weight", "bias"};
    tess_clifford_arrays arrays = {.struct_size = sizeof arrays};
    const tess_array **slots[N_ARRAY] = {&arrays.x, &arrays.y, &arrays.weight,
                                         &arrays.linear_weight, &arrays.bias};
    for (int i = 0; i < N_ARRAY; i++) {
        if (present >> i & 1) {
            *slots[i] = view_of(all, values[(*next)++], of, names[i]);
        }
    }
    return arrays;
}

static int count(int64_t present)
{
    int n = 0;
    for (int i = 0; i < N_ARRAY; i++) {
        n += (int)(present >> i & 1);
    }
    return n;
}

static tess_status run(const xla_call *call, void *stream, ffi_arrays *all)
{
    tess_clifford_op op;
    const int64_t pass = number(call, "pass");
    const int64_t present = number(call, "present");
    const int n = count(present);
    int64_t argument = 0;
    int64_t result = 0;
    tess_context *context = NULL;
    tess_clifford_arrays cotangents = {0};
    tess_clifford_arrays out = {0};
    tess_clifford_call how;
    if (pass < TESS_CLIFFORD_FORWARD || pass > TESS_CLIFFORD_DOUBLE_BACKWARD ||
        call->arguments.n != n + (pass > 1) + (pass > 2) * n ||
        call->results.n != (pass == 1 ? 1 : n + (pass > 2))) {
        (void)snprintf(all->message, sizeof all->message,
                       "clifford: arrays do not fit pass %lld and present %lld", (long long)pass,
                       (long long)present);
        return TESS_E_ARGUMENT;
    }
    void **in_values = call->arguments.values;
    void **out_values = call->results.values;
    const tess_clifford_arrays in = next_arrays(all, in_values, &argument, present, "");
    const tess_array *gz = pass > 1 ? view_of(all, in_values[argument++], "", "gz") : NULL;
    if (pass == TESS_CLIFFORD_DOUBLE_BACKWARD) {
        cotangents = next_arrays(all, in_values, &argument, present, "cotangent of ");
    }
    const tess_array *first = pass != TESS_CLIFFORD_BACKWARD
                                  ? view_of(all, out_values[result++], "", pass == 1 ? "z" : "dgz")
                                  : NULL;
    if (pass != TESS_CLIFFORD_FORWARD) {
        out = next_arrays(all, out_values, &result, present, "gradient of ");
    }
    tess_status status = all->status == TESS_OK ? read_operation(call, &op) : all->status;
    if (status == TESS_OK) {
        status = take_context(all->ordinal, &context);
    }
    if (status != TESS_OK) {
        return status;
    }
    tess_clifford_call_init(&how, sizeof how);
    how.has_stream = all->ordinal >= 0;
    how.stream = stream;
    if (pass == TESS_CLIFFORD_FORWARD) {
        status = tess_clifford_forward(context, &op, &in, first, NULL, NULL, &how);
    } else if (pass == TESS_CLIFFORD_BACKWARD) {
        status = tess_clifford_backward(context, &op, &in, gz, NULL, &out, &how);
    } else {
        status =
            tess_clifford_double_backward(context, &op, &in, gz, &cotangents, first, &out, &how);
    }
    give_context(all->ordinal, context);
    return status;
}

// XLA asks for the version it was written for before it calls for work.
static int answers_metadata(const xla_call *call)
{
    const xla_extension *extension = call->extensions;
    if (!extension || extension->type != XLA_EXTENSION_METADATA) {
        return 0;
    }
    xla_metadata *metadata = ((const xla_metadata_extension *)(const void *)extension)->metadata;
    metadata->version.major = XLA_VERSION_MAJOR;
    metadata->version.minor = XLA_VERSION_MINOR;
    metadata->traits = 0;
    return 1;
}

static xla_error *execute(const xla_call *call, int ordinal, void *stream)
{
    ffi_arrays all = {.ordinal = ordinal};
    if (run(call, stream, &all) == TESS_OK) {
        return NULL;
    }
    const char *message = *all.message ? all.message : tess_last_error();
    xla_error_args args = {sizeof args, NULL, *message ? message : "clifford: not an operation",
                           XLA_ERROR_INVALID_ARGUMENT};
    return call->api->create_error(&args);
}

static xla_error *handle_cpu(xla_call *call)
{
    if (answers_metadata(call) || call->stage != XLA_STAGE_EXECUTE) {
        return NULL;
    }
    return execute(call, -1, NULL);
}

static xla_error *handle_cuda(xla_call *call)
{
    if (answers_metadata(call) || call->stage != XLA_STAGE_EXECUTE) {
        return NULL;
    }
    xla_stream_args stream = {sizeof stream, NULL, call->execution, NULL};
    xla_ordinal_args ordinal = {sizeof ordinal, NULL, call->execution, 0};
    xla_error *error = call->api->get_stream(&stream);
    if (!error && call->api->struct_size >= sizeof *call->api) {
        error = call->api->get_ordinal(&ordinal);
    }
    return error ? error : execute(call, ordinal.ordinal, stream.stream);
}

// A pointer to a function as that to an object, which POSIX has fit.
static PyObject *capsule_of(xla_error *(*handler)(xla_call *))
{
    void *pointer = NULL;
    memcpy(&pointer, &handler, sizeof pointer);
    return PyCapsule_New(pointer, "xla._CUSTOM_CALL_TARGET", NULL);
}

static PyObject *handlers(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return Py_BuildValue("{s:N,s:N}", "cpu", capsule_of(handle_cpu), "CUDA",
                         capsule_of(handle_cuda));
}

PyMethodDef core_clifford_ffi_methods[] = {
    {"clifford_ffi", handlers, METH_NOARGS, "Handlers for jax.ffi, by platform."},
    {NULL, NULL, 0, NULL},
};
