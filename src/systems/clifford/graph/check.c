#include "systems/clifford/graph/graph.h"

#include "base/status.h"
#include "base/struct_read.h"

static tess_status check_list(const char *name, const char *which, const tess_array *a)
{
    if (!a || a->rank != 1 || a->dtype != TESS_I64 || !tess_array_is_contiguous(a) ||
        (a->shape[0] > 0 && !a->data)) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: expected a contiguous array of i64 with one axis", name,
                  which);
    }
    return TESS_OK;
}

static tess_status check_offsets(const char *name, const tess_array *offsets, int64_t n_edge)
{
    const int64_t *o = offsets->data;
    const int64_t n = offsets->shape[0] - 1;
    if (n < 0 || o[0] != 0 || o[n] != n_edge) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: offsets: expected one number more than receivers, from 0 to the number of "
                  "senders, which is %lld",
                  name, (long long)n_edge);
    }
    for (int64_t i = 0; i < n; i++) {
        if (o[i + 1] < o[i]) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "%s: offsets: fall from %lld to %lld behind receiver %lld; edges have to be "
                      "sorted by receiver",
                      name, (long long)o[i], (long long)o[i + 1], (long long)i);
        }
    }
    return TESS_OK;
}

static tess_status check_range(const char *name, const char *which, const tess_array *a,
                               int64_t end, const char *what)
{
    const int64_t *values = a->data;
    for (int64_t i = 0; i < a->shape[0]; i++) {
        if (values[i] < 0 || values[i] >= end) {
            TESS_FAIL(TESS_E_RANGE,
                      "%s: %s: %lld at %lld is out of range; there are %lld %s, "
                      "counted from 0",
                      name, which, (long long)values[i], (long long)i, (long long)end, what);
        }
    }
    return TESS_OK;
}

// A number that came twice would leave another's result unwritten.
static tess_status check_once(tess_context *ctx, const char *name, const tess_array *edges)
{
    const size_t n = (size_t)edges->shape[0];
    const int64_t *values = edges->data;
    if (n == 0) {
        return TESS_OK;
    }
    unsigned char *seen = tess_heap_alloc_zero(&ctx->heap, n, TESS_TAG_SCRATCH, "marks of edges");
    if (!seen) {
        return TESS_E_MEMORY;
    }
    tess_status status = TESS_OK;
    for (size_t i = 0; i < n && status == TESS_OK; i++) {
        if (seen[values[i]]++ > 0) {
            status = tess_error_set(TESS_E_ARGUMENT,
                                    "%s: edges: %lld comes twice; expected every "
                                    "number once",
                                    name, (long long)values[i]);
        }
    }
    tess_heap_free(&ctx->heap, seen, n, TESS_TAG_SCRATCH);
    return status;
}

// What can be said without reading the lists.
static tess_status check_lists(const char *name, const tess_clifford_graph *graph)
{
    TESS_TRY(check_list(name, "offsets", graph->offsets));
    TESS_TRY(check_list(name, "senders", graph->senders));
    if (graph->offsets->shape[0] < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: offsets: is empty; expected one number more than receivers",
                  name);
    }
    if (graph->edges) {
        TESS_TRY(check_list(name, "edges", graph->edges));
        if (graph->edges->shape[0] != graph->senders->shape[0]) {
            TESS_FAIL(TESS_E_SHAPE, "%s: edges: has %lld numbers, senders %lld; expected as many",
                      name, (long long)graph->edges->shape[0], (long long)graph->senders->shape[0]);
        }
    }
    return TESS_OK;
}

// What the lists say.
static tess_status check_numbers(tess_context *ctx, const char *name,
                                 const tess_clifford_graph *graph)
{
    const int64_t n_edge = graph->senders->shape[0];
    TESS_TRY(check_offsets(name, graph->offsets, n_edge));
    TESS_TRY(check_range(name, "senders", graph->senders, graph->n_sender, "senders"));
    if (graph->edges) {
        TESS_TRY(check_range(name, "edges", graph->edges, n_edge, "edges"));
        TESS_TRY(check_once(ctx, name, graph->edges));
    }
    return TESS_OK;
}

static bool is_on_host(const tess_clifford_graph *graph)
{
    return graph->offsets->space != TESS_SPACE_DEVICE &&
           graph->senders->space != TESS_SPACE_DEVICE &&
           (!graph->edges || graph->edges->space != TESS_SPACE_DEVICE);
}

tess_status tess_cl_graph_read(tess_context *ctx, const char *name,
                               const tess_clifford_graph *graph, tess_clifford_graph *out)
{
    if (!ctx || !graph) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: ctx and graph must not be NULL", name);
    }
    *out = (tess_clifford_graph){.struct_size = sizeof *out};
    TESS_TRY(tess_struct_read(graph, out, sizeof *out, "graph"));
    if (out->n_sender < 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: n_sender is %lld; expected a number of nodes", name,
                  (long long)out->n_sender);
    }
    TESS_TRY(check_lists(name, out));
    return out->is_checked || !is_on_host(out) ? TESS_OK : check_numbers(ctx, name, out);
}

tess_status tess_clifford_graph_check(tess_context *ctx, const tess_clifford_graph *graph)
{
    static const char name[] = "clifford.graph_check";
    tess_error_clear();
    tess_clifford_graph read;
    TESS_TRY(tess_cl_graph_read(ctx, name, graph, &read));
    if (!is_on_host(&read)) {
        TESS_FAIL(TESS_E_SPACE,
                  "%s: lists are on a device; check them before they are copied there", name);
    }
    return read.is_checked ? check_numbers(ctx, name, &read) : TESS_OK;
}
