// Stages of clifford over the edges of a graph. Lists in host memory were checked; those on a
// device may hold anything.
#ifndef TESS_STAGE_CLIFFORD_GRAPH_H
#define TESS_STAGE_CLIFFORD_GRAPH_H

#include <stdint.h>

enum {
    TESS_STAGE_CLIFFORD_GRAPH_SUM = 0x0108,
    TESS_STAGE_CLIFFORD_GRAPH_DOT = 0x0109,
};

// On a GPU rows of more edges than this are added in parts of as many.
enum { TESS_CL_GRAPH_PART = 256 };

// Strides in items; of numbers of edges: (edge, feature) in stride[1] and [2].
typedef struct tess_cl_graph_view {
    void *data;
    int64_t stride[3];
    int32_t dtype;
    int32_t reserved;
} tess_cl_graph_view;

// sum: x, scale (data NULL: ones) -> z. dot: x, z (in place of y) -> scale.
typedef struct tess_stage_clifford_graph {
    int64_t n_component;
    int64_t n_sender;
    int64_t n_receiver;
    int64_t n_edge;
    int64_t n_feature;
    int64_t n_scale;        // features of scale: n_feature or 1
    const int64_t *offsets; // [n_receiver + 1]
    const int64_t *senders;
    const int64_t *edges; // NULL: 0, 1, 2 ..
    tess_cl_graph_view x, scale, z;
    int32_t is_f64;
    int32_t reserved;
    void *workspace; // of sums on a GPU: the parts of long rows
} tess_stage_clifford_graph;

// Room for the sums of parts: two for every TESS_CL_GRAPH_PART edges, of all features of a node.
static inline uint64_t tess_cl_graph_workspace_bytes(const tess_stage_clifford_graph *args)
{
    const uint64_t n_part = (uint64_t)(args->n_edge + TESS_CL_GRAPH_PART - 1) / TESS_CL_GRAPH_PART;
    const uint64_t node_bytes = (uint64_t)(args->n_component * args->n_feature) *
                                (args->is_f64 ? sizeof(double) : sizeof(float));
    return args->n_edge > TESS_CL_GRAPH_PART ? 2 * n_part * node_bytes : 0;
}

#endif
