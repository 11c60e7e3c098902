// The table of one ISA, built with that ISA's flags because SVE's length is asked for here.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

static size_t vector_bytes(void)
{
    return v_len_f32() * sizeof(float);
}

const tess_kernels TESS_PASTE2(tess_kernels, TESS_ISA) = {
    .isa = TESS_STRING(TESS_ISA),
    .vector_bytes = vector_bytes,
#define KERNEL(name, arguments) .name = TESS_KFN(name),
#include "kernels/kernels.def"
#undef KERNEL
};
