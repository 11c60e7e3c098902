// Which sets exist, which of them run here, which is best.

#include "kernels/kernels.h"

#include "kernels/cpu_isa.h"

#include <string.h>

extern const tess_kernels tess_kernels_ref;
#define ISA(name) extern const tess_kernels tess_kernels_##name;
TESS_BUILT_ISAS
#undef ISA

static const tess_kernels *const built[] = {&tess_kernels_ref,
#define ISA(name) &tess_kernels_##name,
                                            TESS_BUILT_ISAS
#undef ISA
};

enum { N_BUILT = sizeof(built) / sizeof(built[0]) };

const tess_kernels *const *tess_kernels_built(size_t *n_set)
{
    *n_set = N_BUILT;
    return built;
}

int tess_kernels_usable(const tess_kernels *set)
{
    return strcmp(set->isa, "ref") == 0 || tess_cpu_runs(set->isa);
}

const tess_kernels *tess_kernels_select(const char *isa)
{
    for (size_t k = N_BUILT; k-- > 0;) {
        if ((isa == NULL || strcmp(isa, built[k]->isa) == 0) && tess_kernels_usable(built[k])) {
            return built[k];
        }
    }
    return NULL;
}
