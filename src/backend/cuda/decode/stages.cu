// decode has no stage on NVIDIA GPUs yet: a run that asks for one is told so.

#include "backend/cuda/cuda_backend.h"

const tess_cuda_stage *const tess_cuda_decode[] = {nullptr};
