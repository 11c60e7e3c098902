/**
 * Sums over the edges of a graph whose nodes have multivectors.
 *
 * A product of multivectors is linear in each factor, so the sum over a receiver's edges of
 * products of sender and receiver is one product of the sum over its senders and the receiver:
 * tess_clifford_graph_sum(), then tess_clifford_forward(). Nothing that is made has a row per edge.
 * Gradients need the same sum along the reversed edges, and tess_clifford_graph_dot() for those of
 * the edges' own numbers. Arrays of a call are together, in host memory or on the context's device;
 * those in host memory are computed there, whatever the context's device. Sums have an order that
 * depends on the graph alone: the same bits for any number of threads and any repeat.
 */
#ifndef TESSERA_CLIFFORD_GRAPH_H
#define TESSERA_CLIFFORD_GRAPH_H

#include "tessera/array.h"
#include "tessera/clifford/op.h"
#include "tessera/context.h"

TESS_BEGIN_DECLS

/**
 * Edges by receiver (CSR): those of receiver r are [offsets[r], offsets[r + 1]). Receivers may have
 * none, senders may repeat and may be the receiver. Arrays are i64 and C-contiguous, where the
 * other arrays are. Lists in host memory are checked in every call unless is_checked is set. Lists
 * on a device are not read by the host, so that nothing waits: check them with
 * tess_clifford_graph_check() before they are copied there. An index out of range that nobody
 * checked reads and writes nothing outside of the arrays; on a device it makes NaN of its receiver.
 */
typedef struct tess_clifford_graph {
    uint32_t struct_size;
    int32_t is_checked; /* 1: tess_clifford_graph_check() was content with these lists */
    int64_t n_sender;
    const tess_array *offsets; /* (n_receiver + 1), from 0 to the number of edges */
    const tess_array *senders; /* (edge), each in [0, n_sender) */
    const tess_array *edges;   /* (edge): which row of scale, each once; NULL: in their order */
} tess_clifford_graph;

/** Says whether lists in host memory are as they have to be; is_checked does not matter. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_graph_check(tess_context *ctx,
                                                               const tess_clifford_graph *graph);

/** Bytes of workspace of tess_clifford_graph_sum() with x of this shape, type and place: none in
 *  host memory, and on a device none where no receiver can have more than 256 edges. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_graph_workspace(tess_context *ctx,
                                                                   const tess_clifford_graph *graph,
                                                                   const tess_array *x,
                                                                   uint64_t *bytes);

/**
 * z (D, n_receiver, N) = for every receiver the sum over its edges, in their order, of
 * scale[edge, feature] x[component, sender, feature]. scale is (edge, N) or (edge, 1), of x's type
 * or f32 beside 16 bits; NULL: ones. x (D, n_sender, N) is f64, f32, bf16 or f16, z of x's type or
 * f32 beside 16 bits; 16-bit types are added in f32 and rounded once. A receiver without edges
 * has zeros. call may be NULL; a workspace of the caller is tess_clifford_graph_workspace() bytes.
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_graph_sum(
    tess_context *ctx, const tess_clifford_graph *graph, const tess_array *x,
    const tess_array *scale, const tess_array *z, const tess_clifford_call *call);

/**
 * d[edge, feature] = sum over components of x[component, sender, feature] y[component, receiver,
 * feature]; d (edge, 1) is summed over features too. y (D, n_receiver, N) is of x's type, d of x's
 * type or f32 beside 16 bits. Needs no workspace; call may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_clifford_graph_dot(tess_context *ctx, const tess_clifford_graph *graph, const tess_array *x,
                        const tess_array *y, const tess_array *d, const tess_clifford_call *call);

TESS_END_DECLS

#endif
