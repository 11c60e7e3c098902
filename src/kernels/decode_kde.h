// Constants that the decode kernels share with their reference.
#ifndef TESS_KERNELS_DECODE_KDE_H
#define TESS_KERNELS_DECODE_KDE_H

// 2^r = 1 + r (...) for |r| <= 1/2, relative error below 1.1e-7; highest power first.
static const float tess_exp2_tail[] = {0x1.5bba02p-10f, 0x1.3cea78p-7f, 0x1.c6b74p-5f,
                                       0x1.ebf9bep-3f, 0x1.62e42ap-1f};

// No weight is below 2^this. Far from the denormal numbers, because products with those cost a
// processor a hundred cycles each, and far below what counts beside a spike's other weights.
#define TESS_DE_LEAST_POWER (-100.0f)

// Most moments that decode_single_f32 has.
#define TESS_DE_SINGLE_ORDER 12

#endif
