// tessera.CliffordOp: an operation on arrays of multivectors, called by position and as lean as
// can be: a pass over small arrays takes microseconds.

#include "clifford.h"

#include <string.h>

typedef struct op_object {
    PyObject_HEAD tess_clifford_op op;
} op_object;

enum { N_ARRAY = 5 }; // of tess_clifford_arrays: x, y, weight, linear_weight, bias

// Names of arrays in the order of the calls' arguments.
static const char *const input_names[N_ARRAY] = {"x", "y", "weight", "linear_weight", "bias"};
static const char *const gradient_names[N_ARRAY] = {"gx", "gy", "gweight", "glinear_weight",
                                                    "gbias"};
static const char *const cotangent_names[N_ARRAY] = {"cx", "cy", "cweight", "clinear_weight",
                                                     "cbias"};
static const char *const result_names[N_ARRAY] = {"dx", "dy", "dweight", "dlinear_weight", "dbias"};

enum { MAX_VIEW = 3 * N_ARRAY + 3 };

// One call: its arrays and how it runs.
typedef struct op_call {
    core_state *state;
    const tess_clifford_op *op;
    core_context *context;
    PyObject *take_workspace; // called with a number of bytes; NULL: the library's own memory
    PyObject *workspace;      // what it returned
    PyObject *const *next;    // next argument
    clifford_input inputs[MAX_VIEW + 1];
    int n_input;
    int failed; // an exception is set
    tess_clifford_call how;
} op_call;

// Every call begins with a context and a source of workspace (None: the library's own).
static int begin(op_call *c, PyObject *self, const char *name, PyObject *const *args,
                 Py_ssize_t n_arg, Py_ssize_t n_wanted)
{
    c->state = PyType_GetModuleState(Py_TYPE(self));
    c->op = &((op_object *)self)->op;
    c->n_input = 0;
    c->failed = 0;
    c->workspace = NULL;
    tess_clifford_call_init(&c->how, sizeof c->how);
    if (n_arg != n_wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, n_wanted, n_arg);
        return -1;
    }
    c->context = core_to_context(c->state, args[0]);
    c->take_workspace = args[1] == Py_None ? NULL : args[1];
    c->next = args + 2;
    return c->context ? 0 : -1;
}

// The next argument as an array, NULL for None. After a failure nothing more is read.
static const tess_array *next_array(op_call *c, const char *name, int need_writable)
{
    PyObject *value = *c->next++;
    if (c->failed || value == Py_None) {
        return NULL;
    }
    const tess_array *view =
        clifford_read(c->state, value, name, need_writable, &c->inputs[c->n_input++]);
    c->failed = !view;
    return view;
}

static void next_arrays(op_call *c, const char *const *names, int need_writable,
                        tess_clifford_arrays *arrays)
{
    const tess_array **slots[N_ARRAY] = {&arrays->x, &arrays->y, &arrays->weight,
                                         &arrays->linear_weight, &arrays->bias};
    *arrays = (tess_clifford_arrays){.struct_size = sizeof *arrays};
    for (int i = 0; i < N_ARRAY; i++) {
        *slots[i] = next_array(c, names[i], need_writable);
    }
    if (arrays->bias) {
        arrays->bias = clifford_squeeze(&c->inputs[c->n_input - 1]);
    }
}

// Device memory of a library with a notion of the current stream: the call joins that stream.
static int join_stream(op_call *c)
{
    const clifford_input *x = &c->inputs[0]; // None for x fails in the library
    if (c->n_input == 0 || !x->api || x->view.space != TESS_SPACE_DEVICE) {
        return 0;
    }
    c->how.has_stream = 1;
    return x->api->current_stream(DLPACK_CUDA, x->view.device, &c->how.stream);
}

static int take_workspace(op_call *c, tess_clifford_pass pass, const tess_clifford_arrays *in)
{
    uint64_t bytes = 0;
    if (!c->take_workspace) {
        return 0;
    }
    const tess_status status = tess_clifford_workspace(c->context->handle, c->op, pass, in, &bytes);
    if (status != TESS_OK) {
        core_raise(c->state, status, tess_last_error());
        return -1;
    }
    if (bytes == 0) {
        return 0;
    }
    c->workspace = PyObject_CallFunction(c->take_workspace, "K", (unsigned long long)bytes);
    const tess_array *view = c->workspace ? clifford_read(c->state, c->workspace, "workspace", 1,
                                                          &c->inputs[c->n_input++])
                                          : NULL;
    if (!view) {
        return -1;
    }
    c->how.workspace = view->data;
    c->how.workspace_bytes = (uint64_t)tess_array_items(view) * (uint64_t)view->item_bytes;
    return 0;
}

static PyObject *finish(op_call *c, int result)
{
    clifford_release(c->inputs, c->n_input);
    Py_XDECREF(c->workspace);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *op_forward(PyObject *self, PyObject *const *args, Py_ssize_t n_arg)
{
    op_call c;
    tess_clifford_arrays in;
    core_call call;
    if (begin(&c, self, "forward", args, n_arg, 2 + N_ARRAY + 3) < 0) {
        return NULL;
    }
    next_arrays(&c, input_names, 0, &in);
    const tess_array *z = next_array(&c, "z", 1);
    const tess_array *statistics = next_array(&c, "statistics", 1);
    const tess_array *linear_out = next_array(&c, "linear_out", 1);
    if (c.failed || join_stream(&c) < 0 || take_workspace(&c, TESS_CLIFFORD_FORWARD, &in) < 0 ||
        core_call_begin(&call, c.state, c.context, NULL) < 0) {
        return finish(&c, -1);
    }
    const tess_status status =
        tess_clifford_forward(c.context->handle, c.op, &in, z, statistics, linear_out, &c.how);
    return finish(&c, core_call_end(&call, status));
}

static PyObject *op_backward(PyObject *self, PyObject *const *args, Py_ssize_t n_arg)
{
    op_call c;
    tess_clifford_arrays in;
    tess_clifford_arrays gradients;
    core_call call;
    if (begin(&c, self, "backward", args, n_arg, 2 + 2 * N_ARRAY + 3) < 0) {
        return NULL;
    }
    next_arrays(&c, input_names, 0, &in);
    const tess_array *gz = next_array(&c, "gz", 0);
    const tess_array *statistics = next_array(&c, "statistics", 0);
    const tess_array *z = next_array(&c, "z", 0);
    in.z = statistics ? z : NULL; // of use together only; the workspace counts on both
    next_arrays(&c, gradient_names, 1, &gradients);
    if (c.failed || join_stream(&c) < 0 || take_workspace(&c, TESS_CLIFFORD_BACKWARD, &in) < 0 ||
        core_call_begin(&call, c.state, c.context, NULL) < 0) {
        return finish(&c, -1);
    }
    const tess_status status =
        tess_clifford_backward(c.context->handle, c.op, &in, gz, statistics, &gradients, &c.how);
    return finish(&c, core_call_end(&call, status));
}

static PyObject *op_double_backward(PyObject *self, PyObject *const *args, Py_ssize_t n_arg)
{
    op_call c;
    tess_clifford_arrays in;
    tess_clifford_arrays cotangents;
    tess_clifford_arrays results;
    core_call call;
    if (begin(&c, self, "double_backward", args, n_arg, 2 + 3 * N_ARRAY + 2) < 0) {
        return NULL;
    }
    next_arrays(&c, input_names, 0, &in);
    const tess_array *gz = next_array(&c, "gz", 0);
    next_arrays(&c, cotangent_names, 0, &cotangents);
    const tess_array *dgz = next_array(&c, "dgz", 1);
    next_arrays(&c, result_names, 1, &results);
    if (c.failed || join_stream(&c) < 0 ||
        take_workspace(&c, TESS_CLIFFORD_DOUBLE_BACKWARD, &in) < 0 ||
        core_call_begin(&call, c.state, c.context, NULL) < 0) {
        return finish(&c, -1);
    }
    const tess_status status = tess_clifford_double_backward(c.context->handle, c.op, &in, gz,
                                                             &cotangents, dgz, &results, &c.how);
    return finish(&c, core_call_end(&call, status));
}

static PyObject *op_workspace(PyObject *self, PyObject *const *args, Py_ssize_t n_arg)
{
    op_call c;
    tess_clifford_arrays in;
    int64_t pass = 0;
    uint64_t bytes = 0;
    if (begin(&c, self, "workspace", args, n_arg, 2 + N_ARRAY) < 0 ||
        core_to_int(c.state, args[1], "pass", TESS_CLIFFORD_FORWARD, TESS_CLIFFORD_DOUBLE_BACKWARD,
                    &pass) < 0) {
        return NULL;
    }
    next_arrays(&c, input_names, 0, &in);
    if (c.failed) {
        return finish(&c, -1);
    }
    const tess_status status =
        tess_clifford_workspace(c.context->handle, c.op, (tess_clifford_pass)pass, &in, &bytes);
    PyObject *answer = status == TESS_OK ? PyLong_FromUnsignedLongLong(bytes)
                                         : core_raise(c.state, status, tess_last_error());
    Py_XDECREF(finish(&c, 0));
    return answer;
}

static PyObject *op_address(PyObject *self, PyObject *none)
{
    (void)none;
    return PyLong_FromVoidPtr(&((op_object *)self)->op);
}

static void op_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef op_methods[] = {
    {"forward", CORE_METHOD(op_forward), METH_FASTCALL,
     "forward($self, context, take_workspace, x, y, weight, linear_weight, bias, z, statistics, "
     "linear_out, /)\n--\n\nWrite z, and where given statistics and linear_out."},
    {"backward", CORE_METHOD(op_backward), METH_FASTCALL,
     "backward($self, context, take_workspace, x, y, weight, linear_weight, bias, gz, statistics, "
     "z, gx, gy, gweight, glinear_weight, gbias, /)\n--\n\nWrite the gradients that are given."},
    {"double_backward", CORE_METHOD(op_double_backward), METH_FASTCALL,
     "double_backward($self, context, take_workspace, x, y, weight, linear_weight, bias, gz, cx, "
     "cy, cweight, clinear_weight, cbias, dgz, dx, dy, dweight, dlinear_weight, dbias, /)\n--\n\n"
     "Write the gradients, of those that are given, of the cotangents' product with backward()."},
    {"workspace", CORE_METHOD(op_workspace), METH_FASTCALL,
     "workspace($self, context, pass, x, y, weight, linear_weight, bias, /)\n--\n\n"
     "Bytes of workspace of a pass (1 forward, 2 backward, 3 double backward)."},
    {"address", op_address, METH_NOARGS,
     "Where the operation is in memory, for as long as this object lives."},
    {NULL, NULL, 0, NULL},
};

static char op_doc[] = "An operation on arrays of multivectors; the package tessera makes them.";

static PyType_Slot op_slots[] = {
    {Py_tp_doc, op_doc},
    {Py_tp_dealloc, CORE_SLOT(op_dealloc)},
    {Py_tp_methods, op_methods},
    {0, NULL},
};

PyType_Spec core_clifford_op_spec = {
    .name = "tessera.CliffordOp",
    .basicsize = sizeof(op_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = op_slots,
};

static int kind_of(const core_state *state, const char *text, tess_clifford_kind *kind)
{
    static const char *const names[] = {"",     "gate",   "norm",  "sgp",
                                        "fcgp", "linear", "layer", "fc_layer"};
    for (int i = TESS_CLIFFORD_GATE; i <= TESS_CLIFFORD_FC_LAYER; i++) {
        if (strcmp(text, names[i]) == 0) {
            *kind = (tess_clifford_kind)i;
            return 0;
        }
    }
    core_fail(state, TESS_E_ARGUMENT,
              "kind: '%s' does not exist; there are gate, norm, sgp, fcgp, linear, layer, fc_layer",
              text);
    return -1;
}

static PyObject *create(PyObject *module, PyObject *const *args, Py_ssize_t n_arg,
                        PyObject *keywords)
{
    static const char *const names[] = {"kind", "metric", "options", "path_mask"};
    static const core_signature signature = {"clifford_op", names, 4, 4, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[4];
    const char *kind_text = "";
    const char *metric_text = "";
    tess_clifford_kind kind = TESS_CLIFFORD_GATE;
    tess_clifford_metric metric;
    tess_clifford_config config;
    tess_clifford_config_init(&config, sizeof config);
    if (core_parse(&signature, args, n_arg, keywords, values) < 0 ||
        core_to_text(values[0], names[0], &kind_text) < 0 ||
        core_to_text(values[1], names[1], &metric_text) < 0 ||
        kind_of(state, kind_text, &kind) < 0 ||
        core_to_config(state, values[2], tess_clifford_params(), &config) < 0) {
        return NULL;
    }
    uint64_t path_mask = UINT64_MAX;
    if (values[3]) {
        path_mask = PyLong_AsUnsignedLongLong(values[3]);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    op_object *object = (op_object *)PyType_GenericAlloc(state->clifford_op_type, 0);
    if (!object) {
        return NULL;
    }
    tess_status status = tess_clifford_metric_parse(metric_text, &metric);
    if (status == TESS_OK) {
        status = tess_clifford_op_init(&object->op, sizeof object->op, kind, &metric, &config,
                                       path_mask);
    }
    if (status != TESS_OK) {
        Py_DECREF((PyObject *)object);
        return core_raise(state, status, tess_last_error());
    }
    return (PyObject *)object;
}

PyMethodDef core_clifford_op_methods[] = {
    {"clifford_op", CORE_METHOD(create), METH_FASTCALL | METH_KEYWORDS,
     "An operation, checked and ready."},
    {NULL, NULL, 0, NULL},
};
