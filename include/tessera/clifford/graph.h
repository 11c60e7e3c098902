/**
 * Sums over the edges of a graph whose nodes have multivectors, on the host.
 *
 * A product of multivectors is linear in each factor, so the sum over a receiver's edges of
 * products of sender and receiver is one product of the sum over its senders and the receiver:
 * tess_clifford_graph_sum(), then tess_clifford_forward(). Nothing that is made has a row per edge.
 * Gradients need the same sum along the reversed edges, and tess_clifford_graph_dot() for those of
 * the edges' own numbers.
 */
#ifndef TESSERA_CLIFFORD_GRAPH_H
#define TESSERA_CLIFFORD_GRAPH_H

#include "tessera/array.h"
#include "tessera/context.h"

TESS_BEGIN_DECLS

/** Edges by receiver (CSR): those of receiver r are [offsets[r], offsets[r + 1]). Receivers may
 *  have none, senders may repeat and may be the receiver. Arrays are i64, C-contiguous, on the
 *  host. */
typedef struct tess_clifford_graph {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n_sender;
    const tess_array *offsets; /* (n_receiver + 1), from 0 to the number of edges */
    const tess_array *senders; /* (edge), each in [0, n_sender) */
    const tess_array *edges;   /* (edge): which row of scale, each once; NULL: 0, 1, 2 .. */
} tess_clifford_graph;

/**
 * z (D, n_receiver, N) = for every receiver the sum over its edges, in their order, of
 * scale[edge, feature] x[component, sender, feature]. scale is (edge, N) or (edge, 1), of x's type
 * or f32 beside 16 bits; NULL: ones. x (D, n_sender, N) is f64, f32, bf16 or f16, z of x's type or
 * f32 beside 16 bits; 16-bit types are added in f32 and rounded once. A receiver without edges
 * has zeros.
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_graph_sum(tess_context *ctx,
                                                             const tess_clifford_graph *graph,
                                                             const tess_array *x,
                                                             const tess_array *scale,
                                                             const tess_array *z);

/**
 * d[edge, feature] = sum over components of x[component, sender, feature] y[component, receiver,
 * feature]; d (edge, 1) is summed over features too. y (D, n_receiver, N) is of x's type, d of x's
 * type or f32 beside 16 bits.
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_graph_dot(tess_context *ctx,
                                                             const tess_clifford_graph *graph,
                                                             const tess_array *x,
                                                             const tess_array *y,
                                                             const tess_array *d);

TESS_END_DECLS

#endif
