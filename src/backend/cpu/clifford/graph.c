// Sums over the edges of a graph on the CPU. A block of receivers is one worker's; what belongs to
// a receiver or an edge is one chain in the order of edges or components, so threads do not show.
#include "stage/clifford_graph.h"

#include "backend/cpu/clifford/stages.h"
#include "kernels/clifford.h"

// Features at a time: their sums stay in registers or the first-level cache while edges go by.
enum { CHUNK = TESS_CL_PAD };

// Edges whose rows are copied at a time, where they are of another type or layout.
enum { BATCH = 16 };

// Receivers of a block: few, since some have many edges.
enum { BLOCK_RECEIVERS = 8 };

// n features of one component from `first` on.
typedef struct chunk {
    int64_t component, first, n;
} chunk;

typedef struct graph_job {
    const tess_stage_clifford_graph *args;
    const tess_kernels *kernels;
} graph_job;

static int64_t end_of_block(const tess_stage_clifford_graph *a, int64_t block)
{
    const int64_t end = (block + 1) * BLOCK_RECEIVERS;
    return end < a->n_receiver ? end : a->n_receiver;
}

static int64_t edge_of(const tess_stage_clifford_graph *a, int64_t i)
{
    return a->edges ? a->edges[i] : i;
}

#define SCALAR float
#define DTYPE TESS_F32
#define T_NAME(name) name##_f32
#include "backend/cpu/clifford/graph_body.h"

#undef SCALAR
#undef DTYPE
#undef T_NAME
#define SCALAR double
#define DTYPE TESS_F64
#define T_NAME(name) name##_f64
#include "backend/cpu/clifford/graph_body.h"

static tess_status run(tess_backend_device *device, const tess_stage_clifford_graph *a,
                       tess_block_fn block)
{
    graph_job job = {.args = a, .kernels = device->kernels};
    const int64_t n_block = (a->n_receiver + BLOCK_RECEIVERS - 1) / BLOCK_RECEIVERS;
    return tess_parallel_for(device->ctx->pool, n_block, block, &job);
}

tess_status tess_cpu_clifford_graph_sum(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_graph *a = args;
    return run(device, a, a->is_f64 ? sum_block_f64 : sum_block_f32);
}

tess_status tess_cpu_clifford_graph_dot(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_graph *a = args;
    return run(device, a, a->is_f64 ? dot_block_f64 : dot_block_f32);
}
