// What the matrix products of clifford share with their callers: how tiles and panels lie.
#ifndef TESS_KERNELS_CLIFFORD_GEMM_H
#define TESS_KERNELS_CLIFFORD_GEMM_H

#include "kernels/clifford.h"

#include <stddef.h>

enum {
    // Most terms that are summed before they are added to what is there. The same for every ISA: it
    // shows in the last bits, and keeps the error of long sums that of short ones.
    TESS_CL_GEMM_DEPTH = 256,
    // Items from one row of a tile to the next. Not a power of two, so that the items of a column
    // lie in different cache sets.
    TESS_CL_GEMM_ROW = TESS_CL_GEMM_DEPTH + 16
};

typedef struct tess_cl_gemm_shape {
    size_t n_row;                // that are done at once: multiples of it go fastest
    size_t width_f32, width_f64; // columns of a panel
} tess_cl_gemm_shape;

// The terms of one pair (path, output component): a of x times b of y (form OUT).
#define TESS_CL_PAIR(T)                                                                            \
    typedef struct tess_cl_pair_##T {                                                              \
        const tess_cl_entry *entries;                                                              \
        size_t n_entry;                                                                            \
        size_t n_row;                                                                              \
        size_t n;                                                                                  \
        tess_cl_rows_##T x, y;                                                                     \
    } tess_cl_pair_##T;
TESS_CL_PAIR(f32)
TESS_CL_PAIR(f64)
#undef TESS_CL_PAIR

#endif
