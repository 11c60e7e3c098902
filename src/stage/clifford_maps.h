// Stage of clifford for linear maps of whole rows: channels of 16 components, then scalars. The
// components fall into eight pairs that no map leaves, so a map is eight matrices between pairs
// instead of one between all components; scalars go along with the first pair.
#ifndef TESS_STAGE_CLIFFORD_MAPS_H
#define TESS_STAGE_CLIFFORD_MAPS_H

#include <stdint.h>

enum {
    TESS_STAGE_CLIFFORD_MAPS = 0x010a,
};

enum { TESS_CL_MAPS_COMPONENTS = 16, TESS_CL_MAPS_PAIRS = 8 };

typedef enum tess_cl_maps_pass {
    TESS_CL_MAPS_FORWARD = 1,
    TESS_CL_MAPS_ROWS = 2,  // gradient of x from that of z
    TESS_CL_MAPS_ITEMS = 3, // gradient of items from x and that of z
} tess_cl_maps_pass;

// Rows of n_group equal groups; a group is its channels, then its scalars.
typedef struct tess_cl_maps_side {
    void *data;
    int64_t stride; // of rows, in items
    int64_t n_channel;
    int64_t n_scalar;
    int64_t n_group;
} tess_cl_maps_side;

typedef struct tess_stage_clifford_maps {
    tess_cl_maps_side x, z;
    void *items; // tess_cl_maps_parts says in which order
    void *scratch;
    int64_t n_row;
    int32_t pass;
    int32_t dtype;    // f32 or f64
    int32_t pairs;    // tess_clifford_pairs
    int32_t has_bias; // otherwise items of the bias are not read, and their gradient is 0
    int32_t adds;     // TESS_CL_MAPS_ITEMS: to what items hold
    int32_t reserved;
} tess_stage_clifford_maps;

// Where the parts of the items begin. c, s: channels and scalars of x, C, S: of z; b and B are
// 0 or 1 and say which component of a pair.
typedef struct tess_cl_maps_parts {
    int64_t between;    // [8 pairs][c][C][b][B]
    int64_t to_pair;    // [s + 1][B][C]: scalars to the first pair, then the bias
    int64_t to_scalars; // [c][b][S]: the first pair to scalars
    int64_t scalars;    // [s + 1][S]: scalars to scalars, then the bias
    int64_t n;
} tess_cl_maps_parts;

static inline tess_cl_maps_parts tess_cl_maps_parts_of(int64_t c, int64_t s, int64_t C, int64_t S)
{
    tess_cl_maps_parts parts;
    parts.between = 0;
    parts.to_pair = TESS_CL_MAPS_PAIRS * 4 * c * C;
    parts.to_scalars = parts.to_pair + (s + 1) * 2 * C;
    parts.scalars = parts.to_scalars + c * 2 * S;
    parts.n = parts.scalars + (s + 1) * S;
    return parts;
}

#endif
