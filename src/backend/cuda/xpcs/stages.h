// The stages of xpcs on NVIDIA GPUs.
#ifndef TESS_CUDA_XPCS_STAGES_H
#define TESS_CUDA_XPCS_STAGES_H

#include "backend/cuda/cuda_backend.h"

extern const tess_cuda_stage tess_cuda_stage_xpcs_pass;
extern const tess_cuda_stage tess_cuda_stage_xpcs_reduce;
extern const tess_cuda_stage tess_cuda_stage_xpcs_grids;
extern const tess_cuda_stage tess_cuda_stage_xpcs_model;
extern const tess_cuda_stage tess_cuda_stage_xpcs_two;
extern const tess_cuda_stage tess_cuda_stage_xpcs_simulate;
extern const tess_cuda_stage tess_cuda_stage_xpcs_sweep;

#endif
