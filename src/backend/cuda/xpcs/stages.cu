#include "backend/cuda/xpcs/stages.h"

const tess_cuda_stage *const tess_cuda_xpcs[] = {
    &tess_cuda_stage_xpcs_pass,     &tess_cuda_stage_xpcs_reduce,
    &tess_cuda_stage_xpcs_model,    &tess_cuda_stage_xpcs_two,
    &tess_cuda_stage_xpcs_simulate, &tess_cuda_stage_xpcs_grids,
    &tess_cuda_stage_xpcs_sweep,    nullptr};
