/**
 * Linear maps of whole rows, as layers of GATr and L-GATr have them: a row holds channels of
 * multivectors of 16 components, side by side, and scalars behind them.
 *
 * What commutes with the group leaves eight pairs of components each to itself, so a map is eight
 * small matrices; written as one matrix between all items of a row, seven of eight were zero.
 * Scalars mix with the first pair. Arrays of a call are together, in host memory or on the
 * context's device; those in host memory are computed there, whatever the context's device. On a
 * device products are of TF32, f32 alone is taken, and channels and scalars of a group come in
 * multiples of four; it needs 129 KiB of shared memory per block. What a device does not take is
 * TESS_E_UNSUPPORTED, of no rows as well. The same bits for any number of threads and any repeat.
 */
#ifndef TESSERA_CLIFFORD_MAPS_H
#define TESSERA_CLIFFORD_MAPS_H

#include "tessera/array.h"
#include "tessera/clifford/op.h"
#include "tessera/context.h"

TESS_BEGIN_DECLS

/** Which components make a pair, counted by grade: 1, e0, e1, e2, e3, e01 ... */
typedef enum tess_clifford_pairs {
    TESS_CLIFFORD_PAIRS_DUAL = 0, /* k and 15 - k, which the pseudoscalar brings together */
    TESS_CLIFFORD_PAIRS_NULL =
        1, /* those that a product with e0 brings together: 0 and 1, 2 and
              5, 3 and 6, 4 and 7, 8 and 11, 9 and 12, 10 and 13, 14 and 15 */
} tess_clifford_pairs;

/** What a row holds: n_group equal parts (of heads, say), each its channels, then its scalars. */
typedef struct tess_clifford_row {
    int64_t n_channel; /* of all groups */
    int64_t n_scalar;
    int64_t n_group;
} tess_clifford_row;

/**
 * A map of rows x to rows z. Its items are one array, in four parts, with c, s channels and scalars
 * of x, C, S of z, and b, B which component of a pair (0 or 1) of x and of z:
 *   [8 pairs][c][C][b][B]  channels to channels
 *   [s + 1][B][C]          scalars to the first pair; the last line is the bias
 *   [c][b][S]              the first pair to scalars
 *   [s + 1][S]             scalars to scalars; the last line is the bias
 */
typedef struct tess_clifford_maps {
    uint32_t struct_size;
    int32_t pairs; /* tess_clifford_pairs */
    tess_clifford_row x, z;
    int32_t has_bias; /* 0: the lines of the bias are not read, and their gradients are 0 */
    int32_t adds;     /* 1: gradients of items are added to what is there */
} tess_clifford_maps;

/** How many items a map has. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_maps_items(const tess_clifford_maps *maps,
                                                              int64_t *n);

/** Bytes of workspace of tess_clifford_maps_backward() with rows x where they are: none in host
 *  memory, and none for gradients of x alone. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_maps_workspace(tess_context *ctx,
                                                                  const tess_clifford_maps *maps,
                                                                  const tess_array *x,
                                                                  uint64_t *bytes);

/** z (row, feature) from x (row, feature) and items (n); f32 or f64, features side by side. call
 *  may be NULL. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_maps_forward(
    tess_context *ctx, const tess_clifford_maps *maps, const tess_array *x, const tess_array *items,
    const tess_array *z, const tess_clifford_call *call);

/** Gradients of x and of items from that of z; either may be NULL. call may be NULL; a workspace of
 *  the caller is tess_clifford_maps_workspace() bytes. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_maps_backward(
    tess_context *ctx, const tess_clifford_maps *maps, const tess_array *x, const tess_array *items,
    const tess_array *grad_z, const tess_array *grad_x, const tess_array *grad_items,
    const tess_clifford_call *call);

TESS_END_DECLS

#endif
