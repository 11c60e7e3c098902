// Whether fits may go to a GPU: their stages are written for CUDA, but have not run on one yet.
#ifndef TESS_AUTOREJECT_UNTESTED_H
#define TESS_AUTOREJECT_UNTESTED_H

#include <stdbool.h>

// TESSERA_AUTOREJECT_CUDA_UNTESTED is set, and not to 0.
bool tess_ar_cuda_is_allowed(void);

#endif
