// Whether values gather at two places.
#ifndef TESS_NUMERICS_TWO_MODES_H
#define TESS_NUMERICS_TWO_MODES_H

#include <stdint.h>

// Two normals that together make the density.
typedef struct tess_two_modes {
    double weight[2]; // by rising mean
    double mean[2];
    double sd[2];
    double separation; // of the means, in their pooled sd
    int32_t is_bimodal;
    int32_t reserved;
} tess_two_modes;

// Of sorted x[n] without NaN. Bimodal: both weights at least 0.2, separation at least 0.5, and a
// density that is lower somewhere between the means than at both, which one skewed heap's is not.
void tess_two_modes_of(const double *x, int64_t n, tess_two_modes *out);

#endif
