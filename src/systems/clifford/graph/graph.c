// Sums over edges and products along them: checks, then one stage where the arrays are.
#include "systems/clifford/graph/graph.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "systems/clifford/op/operands.h"

static bool is_real(int32_t dtype)
{
    return dtype == TESS_F64 || dtype == TESS_F32 || dtype == TESS_BF16 || dtype == TESS_F16;
}

static tess_status check_array(const char *name, const char *which, const tess_array *a, int rank)
{
    if (!a) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s must not be NULL", name, which);
    }
    if (!is_real(a->dtype)) {
        TESS_FAIL(TESS_E_DTYPE, "%s: %s: is %s; expected f64, f32, bf16 or f16", name, which,
                  tess_dtype_name((tess_dtype)a->dtype));
    }
    if (a->rank != rank) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: expected %s, got %d axes", name, which,
                  rank == 3 ? "(component, node, feature)" : "(edge, feature)", a->rank);
    }
    if (tess_array_items(a) > 0 && !a->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: data is NULL", name, which);
    }
    return TESS_OK;
}

// Of x's type, or f32 beside 16 bits.
static tess_status check_dtype(const char *name, const char *which, const tess_array *a,
                               const tess_array *x)
{
    if (a->dtype != x->dtype && (a->dtype != TESS_F32 || x->dtype == TESS_F64)) {
        TESS_FAIL(TESS_E_DTYPE, "%s: %s: is %s beside x of %s; expected %s%s", name, which,
                  tess_dtype_name((tess_dtype)a->dtype), tess_dtype_name((tess_dtype)x->dtype),
                  tess_dtype_name((tess_dtype)x->dtype),
                  tess_dtype_bytes((tess_dtype)x->dtype) == 2 ? " or f32" : "");
    }
    return TESS_OK;
}

// (component, node, feature) of x's components and features.
static tess_status check_nodes(const char *name, const char *which, const tess_array *a,
                               const tess_array *x, int64_t n_node)
{
    TESS_TRY(check_array(name, which, a, 3));
    if (a->shape[0] != x->shape[0] || a->shape[1] != n_node || a->shape[2] != x->shape[2]) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: (%lld,%lld,%lld), expected (%lld,%lld,%lld)", name, which,
                  (long long)a->shape[0], (long long)a->shape[1], (long long)a->shape[2],
                  (long long)x->shape[0], (long long)n_node, (long long)x->shape[2]);
    }
    return TESS_OK;
}

static tess_status check_scale(const char *name, const char *which, const tess_array *a,
                               const tess_array *x, int64_t n_edge)
{
    TESS_TRY(check_array(name, which, a, 2));
    if (a->shape[0] != n_edge || (a->shape[1] != x->shape[2] && a->shape[1] != 1)) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: (%lld,%lld), expected (%lld,%lld) or (%lld,1)", name,
                  which, (long long)a->shape[0], (long long)a->shape[1], (long long)n_edge,
                  (long long)x->shape[2], (long long)n_edge);
    }
    return check_dtype(name, which, a, x);
}

static tess_status check_result(const char *name, const char *which, const tess_array *out,
                                const tess_array *const others[2])
{
    bool overlaps = tess_array_items(out) > 0 && tess_cl_overlaps_itself(out);
    for (int i = 0; i < 2 && tess_array_items(out) > 0; i++) {
        overlaps |=
            others[i] && tess_array_items(others[i]) > 0 && tess_cl_overlaps(out, others[i]);
    }
    if (overlaps) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s overlaps an input or itself in memory", name, which);
    }
    return TESS_OK;
}

// All arrays in host memory, or all on the context's device.
static tess_status check_places(tess_context *ctx, const char *name,
                                const tess_array *const *arrays, const char *const *names, int n)
{
    const tess_array *x = arrays[0];
    const bool on_device = x->space == TESS_SPACE_DEVICE;
    TESS_TRY(tess_group_refuse(ctx, "Clifford operation"));
    if (on_device && (ctx->device->shares_host_memory || ctx->device->info.index != x->device)) {
        TESS_FAIL(TESS_E_SPACE,
                  "%s: x: is on GPU %d, but the context works on '%s': create a context with "
                  "device 'cuda:%d'",
                  name, x->device, ctx->device->info.id, x->device);
    }
    for (int i = 1; i < n; i++) {
        const tess_array *a = arrays[i];
        if (a && ((a->space == TESS_SPACE_DEVICE) != on_device ||
                  (on_device && a->device != x->device))) {
            TESS_FAIL(TESS_E_SPACE,
                      "%s: %s: is not where x is: all arrays of a call must be "
                      "together",
                      name, names[i]);
        }
    }
    return TESS_OK;
}

static tess_cl_graph_view view_of(const tess_array *a)
{
    tess_cl_graph_view view = {.data = a->data, .dtype = a->dtype};
    for (int32_t i = 0; i < a->rank; i++) {
        view.stride[3 - a->rank + i] = a->shape[i] == 1 ? 1 : a->stride[i];
    }
    return view;
}

// What both have: the graph, x and its sizes.
static tess_status begin(const char *name, const tess_clifford_graph *graph, const tess_array *x,
                         tess_stage_clifford_graph *stage)
{
    TESS_TRY(check_array(name, "x", x, 3));
    if (x->shape[0] < 1 || x->shape[2] < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: x: expected at least one component and one feature", name);
    }
    TESS_TRY(check_nodes(name, "x", x, x, graph->n_sender));
    *stage = (tess_stage_clifford_graph){.n_component = x->shape[0],
                                         .n_sender = graph->n_sender,
                                         .n_receiver = graph->offsets->shape[0] - 1,
                                         .n_edge = graph->senders->shape[0],
                                         .n_feature = x->shape[2],
                                         .n_scale = 1,
                                         .offsets = graph->offsets->data,
                                         .senders = graph->senders->data,
                                         .edges = graph->edges ? graph->edges->data : NULL,
                                         .x = view_of(x),
                                         .is_f64 = x->dtype == TESS_F64};
    return TESS_OK;
}

static tess_status check_workspace(const char *name, const tess_clifford_call *call, uint64_t bytes)
{
    enum { ALIGN = 256 };
    if (call->workspace_bytes < bytes || (uintptr_t)call->workspace % ALIGN != 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: workspace of %llu bytes, expected at least %llu, aligned to %d; ask "
                  "tess_clifford_graph_workspace()",
                  name, (unsigned long long)call->workspace_bytes, (unsigned long long)bytes,
                  ALIGN);
    }
    return TESS_OK;
}

static tess_status run_on_device(tess_device *device, int32_t id,
                                 const tess_stage_clifford_graph *stage,
                                 const tess_clifford_call *call, bool waits)
{
    tess_backend_queue *queue = device->queue;
    if (call->has_stream) {
        TESS_TRY(tess_device_adopt(device, call->stream, &queue));
    }
    const tess_status status = device->backend->enqueue(queue, id, stage, sizeof *stage);
    const tess_status waited = waits ? device->backend->finish(queue) : TESS_OK;
    return status != TESS_OK ? status : waited;
}

static tess_status run(tess_context *ctx, const char *name, int32_t id,
                       tess_stage_clifford_graph *stage, const tess_array *x,
                       const tess_clifford_call *given)
{
    tess_clifford_call call = {.struct_size = sizeof call};
    if (given) {
        TESS_TRY(tess_struct_read(given, &call, sizeof call, "call"));
    }
    const bool on_host = x->space != TESS_SPACE_DEVICE;
    if (call.has_stream && on_host) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: a stream was given, but the arrays are in host memory",
                  name);
    }
    if (on_host) {
        return tess_stage_run_on_host(ctx, id, stage, sizeof *stage);
    }
    tess_device *device = ctx->device;
    TESS_TRY(device->backend->supports(device->handle, id, stage));
    const uint64_t bytes =
        id == TESS_STAGE_CLIFFORD_GRAPH_SUM ? tess_cl_graph_workspace_bytes(stage) : 0;
    stage->workspace = call.workspace;
    if (bytes == 0 || call.workspace) {
        TESS_TRY(check_workspace(name, &call, bytes));
        return run_on_device(device, id, stage, &call, !call.has_stream);
    }
    TESS_TRY(tess_device_alloc(device, TESS_SPACE_DEVICE, (size_t)bytes, &stage->workspace));
    // It must outlive the work, on the caller's stream too.
    const tess_status status = run_on_device(device, id, stage, &call, true);
    tess_device_free(device, TESS_SPACE_DEVICE, stage->workspace, (size_t)bytes);
    return status;
}

tess_status tess_clifford_graph_workspace(tess_context *ctx, const tess_clifford_graph *given,
                                          const tess_array *x, uint64_t *bytes)
{
    static const char name[] = "clifford.graph_workspace";
    tess_error_clear();
    if (!bytes) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: bytes must not be NULL", name);
    }
    *bytes = 0;
    tess_clifford_graph graph;
    tess_stage_clifford_graph stage;
    TESS_TRY(tess_cl_graph_read(ctx, name, given, &graph));
    TESS_TRY(begin(name, &graph, x, &stage));
    if (x->space == TESS_SPACE_DEVICE) {
        *bytes = tess_cl_graph_workspace_bytes(&stage);
    }
    return TESS_OK;
}

tess_status tess_clifford_graph_sum(tess_context *ctx, const tess_clifford_graph *given,
                                    const tess_array *x, const tess_array *scale,
                                    const tess_array *z, const tess_clifford_call *call)
{
    static const char name[] = "clifford.graph_sum";
    tess_error_clear();
    tess_clifford_graph graph;
    tess_stage_clifford_graph stage;
    TESS_TRY(tess_cl_graph_read(ctx, name, given, &graph));
    TESS_TRY(begin(name, &graph, x, &stage));
    if (scale) {
        TESS_TRY(check_scale(name, "scale", scale, x, stage.n_edge));
        stage.scale = view_of(scale);
        stage.n_scale = scale->shape[1];
    }
    TESS_TRY(check_nodes(name, "z", z, x, stage.n_receiver));
    TESS_TRY(check_dtype(name, "z", z, x));
    TESS_TRY(check_places(
        ctx, name,
        (const tess_array *const[]){x, scale, z, graph.offsets, graph.senders, graph.edges},
        (const char *const[]){"x", "scale", "z", "offsets", "senders", "edges"}, 6));
    TESS_TRY(check_result(name, "z", z, (const tess_array *const[]){x, scale}));
    stage.z = view_of(z);
    return run(ctx, name, TESS_STAGE_CLIFFORD_GRAPH_SUM, &stage, x, call);
}

tess_status tess_clifford_graph_dot(tess_context *ctx, const tess_clifford_graph *given,
                                    const tess_array *x, const tess_array *y, const tess_array *d,
                                    const tess_clifford_call *call)
{
    static const char name[] = "clifford.graph_dot";
    tess_error_clear();
    tess_clifford_graph graph;
    tess_stage_clifford_graph stage;
    TESS_TRY(tess_cl_graph_read(ctx, name, given, &graph));
    TESS_TRY(begin(name, &graph, x, &stage));
    TESS_TRY(check_nodes(name, "y", y, x, stage.n_receiver));
    if (y->dtype != x->dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: y: is %s beside x of %s; expected the same", name,
                  tess_dtype_name((tess_dtype)y->dtype), tess_dtype_name((tess_dtype)x->dtype));
    }
    TESS_TRY(check_scale(name, "d", d, x, stage.n_edge));
    TESS_TRY(check_places(
        ctx, name, (const tess_array *const[]){x, y, d, graph.offsets, graph.senders, graph.edges},
        (const char *const[]){"x", "y", "d", "offsets", "senders", "edges"}, 6));
    TESS_TRY(check_result(name, "d", d, (const tess_array *const[]){x, y}));
    stage.z = view_of(y);
    stage.scale = view_of(d);
    stage.n_scale = d->shape[1];
    return run(ctx, name, TESS_STAGE_CLIFFORD_GRAPH_DOT, &stage, x, call);
}
