// The probes in plain C: a floor for what the machine can do, and the sum the others must find.

#include "kernels/isa.h"

void TESS_KFN(probe_read)(const void *restrict x, size_t bytes, uint64_t *restrict out)
{
    const uint64_t *word = x;
    uint64_t all = 0;
    for (size_t i = 0; i < bytes / sizeof(*word); i++) {
        all ^= word[i];
    }
    *out = all;
}

#define T_BITS 32
#include "kernels/ref/probe_ref_body.h"

#define T_BITS 64
#include "kernels/ref/probe_ref_body.h"
