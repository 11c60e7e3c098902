// Sizes that autoreject's kernels work in.
#ifndef TESS_KERNELS_AUTOREJECT_H
#define TESS_KERNELS_AUTOREJECT_H

enum { TESS_RANSAC_ROWS = 12, TESS_RANSAC_TILE = 16 };

#endif
