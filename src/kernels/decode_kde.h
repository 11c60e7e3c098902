// Constants that the decode kernels share with their reference.
#ifndef TESS_KERNELS_DECODE_KDE_H
#define TESS_KERNELS_DECODE_KDE_H

// 2^r = 1 + r (...) on [0, 1], relative error below 1e-7; highest power first.
static const float tess_exp2_tail[] = {0x1.e974fap-10f, 0x1.277856p-7f, 0x1.c91ce6p-5f,
                                       0x1.ebdb56p-3f, 0x1.62e4bap-1f};

// No weight is below 2^this. Far from the denormal numbers, because products with those cost a
// processor a hundred cycles each, and far below what counts beside a spike's other weights.
#define TESS_DECODE_LEAST_POWER (-100.0f)

#endif
