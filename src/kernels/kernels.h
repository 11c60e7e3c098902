// The kernel table: pure functions on pointers, one set per ISA.
//
// A kernel knows nothing of threads, errors or files. The set "ref" is plain C and defines the
// right answer; the others are built from one source per family over the vocabulary in simd/. What
// each kernel does stands in the table of its system, <system>.def; types they take in <system>.h.
#ifndef TESS_KERNELS_H
#define TESS_KERNELS_H

#include "base/tile_sum.h"
#include "kernels/autoreject.h"
#include "kernels/clifford.h"
#include "kernels/clifford_gemm.h"
#include "kernels/decode_events.h"
#include "kernels/xpcs.h"
#include "kernels/xpcs_two.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tess_kernels {
    const char *isa;              // "ref", "avx2", "avx512", "neon", "sve"
    size_t (*vector_bytes)(void); // run-time: SVE's length is the machine's
#define KERNEL(name, arguments) void(*name) arguments;
#include "kernels/kernels.def"
#undef KERNEL
} tess_kernels;

// Every set compiled into this library, "ref" first, best last.
const tess_kernels *const *tess_kernels_built(size_t *n_set);

// 1 if this CPU and operating system can run the set.
int tess_kernels_usable(const tess_kernels *set);

// The set of that name (NULL: the best usable). NULL if it is not built or not usable.
const tess_kernels *tess_kernels_select(const char *isa);

#endif
