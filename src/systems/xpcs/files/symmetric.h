// Symmetric matrices of which files keep one triangle or both.
#ifndef TESS_XPCS_FILES_SYMMETRIC_H
#define TESS_XPCS_FILES_SYMMETRIC_H

#include "tessera/array.h"

#include <stdbool.h>

// Two values that should be one.
typedef struct tess_xp_asymmetry {
    int64_t row;
    int64_t column;
    double upper; // at [row][column]
    double lower; // at [column][row]
    double relative;
} tess_xp_asymmetry;

// Completes a matrix [n][n] of f32 or f64 in place: where one triangle has nothing but zeros and
// NaN it becomes the other's image; where both have values they are averaged. False, and the worst
// pair, where they differ by more than 1e-3 of the larger.
bool tess_xp_symmetrise(void *matrix, tess_dtype dtype, int64_t n, tess_xp_asymmetry *worst);

// A matrix [n][n] of f32 or f64 with any strides, in items; read only.
typedef struct tess_xp_view {
    const void *items;
    tess_dtype dtype;
    int64_t n;
    int64_t row_stride;
    int64_t column_stride;
} tess_xp_view;

// Whether the half above the diagonal of a matrix is all there is to it: the other is its image, or
// has nothing but zeros and NaN.
bool tess_xp_upper_suffices(const tess_xp_view *view);

// The same for whatever is read, from files and from arrays: TESS_E_NUMERIC "matrix not symmetric"
// that names where (a file, an argument), the matrix, its angle, the worst pair and its values.
TESS_MUST_CHECK tess_status tess_xp_complete(void *matrix, tess_dtype dtype, int64_t n,
                                             const char *where, const char *name, double phi);

#endif
