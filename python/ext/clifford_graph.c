// Sums over the edges of graphs.

#include "clifford.h"

enum { OFFSETS, SENDERS, EDGES, FIRST, SECOND, THIRD, N_ARRAY };

typedef tess_status (*graph_fn)(tess_context *ctx, const tess_clifford_graph *graph,
                                const tess_array *first, const tess_array *second,
                                const tess_array *third, const tess_clifford_call *how);

// Device memory of a library with a notion of the current stream: the call joins that stream.
static int join_stream(const clifford_input *x, tess_clifford_call *how)
{
    if (!x->api || x->view.space != TESS_SPACE_DEVICE) {
        return 0;
    }
    how->has_stream = 1;
    return x->api->current_stream(DLPACK_CUDA, x->view.device, &how->stream);
}

// Memory for the sums of long rows, by a function that is called with a number of bytes; *taken is
// what it returned.
static int take_workspace(core_state *state, const core_context *context,
                          const tess_clifford_graph *graph, const tess_array *x, PyObject *take,
                          PyObject **taken, clifford_input *input, tess_clifford_call *how)
{
    uint64_t bytes = 0;
    if (!take) {
        return 0;
    }
    const tess_status status = tess_clifford_graph_workspace(context->handle, graph, x, &bytes);
    if (status != TESS_OK) {
        core_raise(state, status, tess_last_error());
        return -1;
    }
    if (bytes == 0) {
        return 0;
    }
    *taken = PyObject_CallFunction(take, "K", (unsigned long long)bytes);
    const tess_array *view = *taken ? clifford_read(state, *taken, "workspace", 1, input) : NULL;
    if (!view) {
        return -1;
    }
    how->workspace = view->data;
    how->workspace_bytes = (uint64_t)tess_array_items(view) * (uint64_t)view->item_bytes;
    return 0;
}

// names: the signature's, which are those of the arrays from 1 on, n_sender behind. The lists are
// those of a Graph, which has checked them. take: a source of workspace, or NULL.
static PyObject *run(PyObject *module, PyObject *const *values, const char *const *names,
                     graph_fn fn, PyObject *take)
{
    core_state *state = PyModule_GetState(module);
    core_context *context = core_to_context(state, values[0]);
    tess_clifford_graph graph = {.struct_size = sizeof graph, .is_checked = 1};
    tess_clifford_call how;
    tess_clifford_call_init(&how, sizeof how);
    if (!context || core_to_int(state, values[1 + N_ARRAY], names[1 + N_ARRAY], 0, INT64_MAX,
                                &graph.n_sender) < 0) {
        return NULL;
    }
    clifford_input inputs[N_ARRAY + 1] = {{.keep = NULL}};
    PyObject *workspace = NULL;
    const tess_array *views[N_ARRAY] = {NULL};
    core_call call;
    int result = 0;
    for (int i = 0; i < N_ARRAY && result == 0; i++) {
        if (values[1 + i]) {
            views[i] = clifford_read(state, values[1 + i], names[1 + i], i == THIRD, &inputs[i]);
            result = views[i] ? 0 : -1;
        }
    }
    graph.offsets = views[OFFSETS];
    graph.senders = views[SENDERS];
    graph.edges = views[EDGES];
    if (result == 0) {
        result = join_stream(&inputs[FIRST], &how);
    }
    if (result == 0) {
        result = take_workspace(state, context, &graph, views[FIRST], take, &workspace,
                                &inputs[N_ARRAY], &how);
    }
    if (result == 0) {
        result = core_call_begin(&call, state, context, NULL);
    }
    if (result == 0) {
        result = core_call_end(
            &call, fn(context->handle, &graph, views[FIRST], views[SECOND], views[THIRD], &how));
    }
    clifford_release(inputs, N_ARRAY + 1);
    Py_XDECREF(workspace);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *sum(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "offsets", "senders",  "edges",         "x",
                                        "scale",   "z",       "n_sender", "take_workspace"};
    static const core_signature signature = {"clifford_graph_sum", names, 9, 9, 3};
    PyObject *values[9];
    return core_parse(&signature, args, n_arg, keywords, values) < 0
               ? NULL
               : run(module, values, names, tess_clifford_graph_sum, values[8]);
}

static PyObject *dot(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "offsets", "senders", "edges",
                                        "x",       "y",       "d",       "n_sender"};
    static const core_signature signature = {"clifford_graph_dot", names, 8, 8, 3};
    PyObject *values[8];
    return core_parse(&signature, args, n_arg, keywords, values) < 0
               ? NULL
               : run(module, values, names, tess_clifford_graph_dot, NULL);
}

PyMethodDef core_clifford_graph_methods[] = {
    {"clifford_graph_dot", CORE_METHOD(dot), METH_FASTCALL | METH_KEYWORDS,
     "Products of sender and receiver along every edge."},
    {"clifford_graph_sum", CORE_METHOD(sum), METH_FASTCALL | METH_KEYWORDS,
     "For every receiver the sum over its edges."},
    {NULL, NULL, 0, NULL},
};
