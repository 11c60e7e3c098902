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

#endif
