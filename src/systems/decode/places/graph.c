// Dijkstra's algorithm from every node, sources shared out over the threads.
#include "systems/decode/places/graph.h"

#include "base/status.h"

#include <math.h>

enum { SOURCES_PER_BLOCK = 8 };

typedef struct heap_item {
    double distance;
    int32_t node;
} heap_item;

// A binary heap; a node may be in it several times, the first to leave counts.
typedef struct heap {
    heap_item *items;
    int64_t n;
} heap;

typedef struct paths_job {
    tess_context *ctx;
    const tess_de_graph *graph;
    double *out;
    heap_item *items; // [n_worker][capacity]
    int64_t capacity;
} paths_job;

static void heap_push(heap *queue, double distance, int32_t node)
{
    int64_t at = queue->n++;
    while (at > 0) {
        const int64_t parent = (at - 1) / 2;
        if (queue->items[parent].distance <= distance) {
            break;
        }
        queue->items[at] = queue->items[parent];
        at = parent;
    }
    queue->items[at] = (heap_item){distance, node};
}

static heap_item heap_pop(heap *queue)
{
    const heap_item top = queue->items[0];
    const heap_item moved = queue->items[--queue->n];
    int64_t at = 0;
    for (int64_t child = 1; child < queue->n; child = 2 * at + 1) {
        if (child + 1 < queue->n &&
            queue->items[child + 1].distance < queue->items[child].distance) {
            child++;
        }
        if (queue->items[child].distance >= moved.distance) {
            break;
        }
        queue->items[at] = queue->items[child];
        at = child;
    }
    queue->items[at] = moved;
    return top;
}

static void paths_from(const tess_de_graph *graph, int64_t source, heap *queue, double *row)
{
    for (int64_t v = 0; v < graph->n_node; v++) {
        row[v] = (double)INFINITY;
    }
    row[source] = 0;
    queue->n = 0;
    heap_push(queue, 0, (int32_t)source);
    while (queue->n > 0) {
        const heap_item item = heap_pop(queue);
        if (item.distance > row[item.node]) {
            continue;
        }
        for (int64_t i = graph->first[item.node]; i < graph->first[item.node + 1]; i++) {
            const double reached = item.distance + graph->distance[i];
            if (reached < row[graph->to[i]]) {
                row[graph->to[i]] = reached;
                heap_push(queue, reached, graph->to[i]);
            }
        }
    }
}

static tess_status paths_block(void *arg, int64_t block, int32_t worker)
{
    const paths_job *job = arg;
    const int64_t n = job->graph->n_node;
    heap queue = {.items = job->items + worker * job->capacity};
    TESS_TRY(tess_context_check_cancel(job->ctx));
    for (int64_t k = 0; k < SOURCES_PER_BLOCK; k++) {
        const int64_t source = block * SOURCES_PER_BLOCK + k;
        if (source < n) {
            paths_from(job->graph, source, &queue, job->out + source * n);
        }
    }
    return TESS_OK;
}

// The path from a to b is the one from b to a; its sum may differ in the last bit.
static void make_symmetric(int64_t n, double *out)
{
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = a + 1; b < n; b++) {
            out[b * n + a] = out[a * n + b];
        }
    }
}

tess_status tess_de_graph_distances(tess_context *ctx, const tess_de_graph *graph, double *out)
{
    const int64_t capacity = graph->first[graph->n_node] + 1;
    const size_t bytes = (size_t)(ctx->n_thread * capacity) * sizeof(heap_item);
    heap_item *items = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "shortest paths");
    if (!items) {
        return TESS_E_MEMORY;
    }
    paths_job job = {.ctx = ctx, .graph = graph, .out = out, .items = items, .capacity = capacity};
    const int64_t n_block = (graph->n_node + SOURCES_PER_BLOCK - 1) / SOURCES_PER_BLOCK;
    const tess_status status = tess_parallel_for(ctx->pool, n_block, paths_block, &job);
    tess_heap_free(&ctx->heap, items, bytes, TESS_TAG_SCRATCH);
    if (status == TESS_OK) {
        make_symmetric(graph->n_node, out);
    }
    return status;
}
