#include "systems/autoreject/settings/untested.h"

#include <stdlib.h>
#include <string.h>

bool tess_ar_cuda_is_allowed(void)
{
    const char *value = getenv("TESSERA_AUTOREJECT_CUDA_UNTESTED");
    return value && value[0] && strcmp(value, "0") != 0;
}
