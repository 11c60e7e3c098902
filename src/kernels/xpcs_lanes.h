// Runs of xpcs as its kernels take them: sums have eight lanes whatever the length of a vector.
// Included by kernel sources, after the vocabulary.
#ifndef TESS_KERNELS_XPCS_LANES_H
#define TESS_KERNELS_XPCS_LANES_H

#include "kernels/simd/vec.h"

enum { LANES = TESS_XP_LANES };

// Lanes of a sum that a vector fills.
static inline size_t lanes(void)
{
    return v_part_f64(LANES);
}

static inline v_f64 load(const double *p)
{
    return v_take_f64(p, LANES);
}

static inline void store(double *p, v_f64 v)
{
    v_put_f64(p, LANES, v);
}

#endif
