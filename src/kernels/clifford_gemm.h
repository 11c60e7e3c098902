// What the matrix products of clifford share with their callers: how tiles and panels lie.
#ifndef TESS_KERNELS_CLIFFORD_GEMM_H
#define TESS_KERNELS_CLIFFORD_GEMM_H

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

#endif
