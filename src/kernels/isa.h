// What a kernel source sees of the ISA it is being built for: names and declarations.
//
// The build defines TESS_ISA; TESS_KFN(ptp_f32) is then tess_ptp_f32_avx2, and so on.
#ifndef TESS_KERNELS_ISA_H
#define TESS_KERNELS_ISA_H

#include "kernels/kernels.h"

#define TESS_PASTE2_(a, b) a##_##b
#define TESS_PASTE3_(a, b, c) a##_##b##_##c
#define TESS_PASTE2(a, b) TESS_PASTE2_(a, b)
#define TESS_PASTE3(a, b, c) TESS_PASTE3_(a, b, c)
#define TESS_STRING_(text) #text
#define TESS_STRING(text) TESS_STRING_(text)

#define TESS_KFN(name) TESS_PASTE3(tess, name, TESS_ISA)

#define KERNEL(name, arguments) void TESS_KFN(name) arguments;
#include "kernels/kernels.def"
#undef KERNEL

extern const tess_kernels TESS_PASTE2(tess_kernels, TESS_ISA);

#endif
