// Sums over edges and products along them: checks, then a stage on the host.
#include "systems/clifford/graph/graph.h"

#include "base/status.h"
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
    if (a->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE,
                  "%s: %s: is on a device; graphs are computed on the host, copy it "
                  "there",
                  name, which);
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

static tess_cl_graph_view view_of(const tess_array *a)
{
    tess_cl_graph_view view = {.data = a->data, .dtype = a->dtype};
    for (int32_t i = 0; i < a->rank; i++) {
        view.stride[3 - a->rank + i] = a->shape[i] == 1 ? 1 : a->stride[i];
    }
    return view;
}

// What both have: the graph, x and its sizes.
static tess_status begin(tess_context *ctx, const char *name, const tess_clifford_graph *graph,
                         const tess_array *x, tess_stage_clifford_graph *stage)
{
    TESS_TRY(tess_cl_graph_check(ctx, name, graph, stage));
    TESS_TRY(check_array(name, "x", x, 3));
    if (x->shape[0] < 1 || x->shape[2] < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: x: expected at least one component and one feature", name);
    }
    TESS_TRY(check_nodes(name, "x", x, x, graph->n_sender));
    stage->n_component = x->shape[0];
    stage->n_feature = x->shape[2];
    stage->is_f64 = x->dtype == TESS_F64;
    stage->x = view_of(x);
    return TESS_OK;
}

tess_status tess_clifford_graph_sum(tess_context *ctx, const tess_clifford_graph *graph,
                                    const tess_array *x, const tess_array *scale,
                                    const tess_array *z)
{
    static const char name[] = "clifford.graph_sum";
    tess_error_clear();
    tess_stage_clifford_graph stage = {.n_scale = 1};
    TESS_TRY(begin(ctx, name, graph, x, &stage));
    if (scale) {
        TESS_TRY(check_scale(name, "scale", scale, x, graph->senders->shape[0]));
        stage.scale = view_of(scale);
        stage.n_scale = scale->shape[1];
    }
    TESS_TRY(check_nodes(name, "z", z, x, stage.n_receiver));
    TESS_TRY(check_dtype(name, "z", z, x));
    TESS_TRY(check_result(name, "z", z, (const tess_array *const[]){x, scale}));
    stage.z = view_of(z);
    return tess_stage_run_on_host(ctx, TESS_STAGE_CLIFFORD_GRAPH_SUM, &stage, sizeof stage);
}

tess_status tess_clifford_graph_dot(tess_context *ctx, const tess_clifford_graph *graph,
                                    const tess_array *x, const tess_array *y, const tess_array *d)
{
    static const char name[] = "clifford.graph_dot";
    tess_error_clear();
    tess_stage_clifford_graph stage = {.n_scale = 1};
    TESS_TRY(begin(ctx, name, graph, x, &stage));
    TESS_TRY(check_nodes(name, "y", y, x, stage.n_receiver));
    if (y->dtype != x->dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: y: is %s beside x of %s; expected the same", name,
                  tess_dtype_name((tess_dtype)y->dtype), tess_dtype_name((tess_dtype)x->dtype));
    }
    if (!d) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: d must not be NULL", name);
    }
    TESS_TRY(check_scale(name, "d", d, x, graph->senders->shape[0]));
    TESS_TRY(check_result(name, "d", d, (const tess_array *const[]){x, y}));
    stage.z = view_of(y);
    stage.scale = view_of(d);
    stage.n_scale = d->shape[1];
    return tess_stage_run_on_host(ctx, TESS_STAGE_CLIFFORD_GRAPH_DOT, &stage, sizeof stage);
}
