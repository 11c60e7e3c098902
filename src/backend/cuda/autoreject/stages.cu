#include "backend/cuda/autoreject/stages.h"

const tess_cuda_stage *const tess_cuda_autoreject[] = {&tess_cuda_stage_autoreject_ptp,
                                                       &tess_cuda_stage_autoreject_votes, nullptr};
