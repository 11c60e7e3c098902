// Room that spectrum_solve needs.
#ifndef TESS_KERNELS_SPECTRUM_H
#define TESS_KERNELS_SPECTRUM_H

#include <stddef.h>

// Rotations and sweeps of the iteration that are kept. It takes about n^2 / 2 and 1.5 n; one that
// takes more than this has not converged.
static inline size_t tess_spectrum_rotations(size_t n)
{
    return 3 * n * n + 64;
}

static inline size_t tess_spectrum_sweeps(size_t n)
{
    return 30 * n + 64;
}

// Items of work: eight rows, rotations (cosine, sine), sweeps (three numbers each), and n rows of
// the longest vector.
static inline size_t tess_spectrum_items(size_t n)
{
    return 8 * n + 2 * tess_spectrum_rotations(n) + 3 * tess_spectrum_sweeps(n) + 32 * n;
}

#endif
