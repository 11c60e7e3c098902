// The stages of autoreject on NVIDIA GPUs.
#ifndef TESS_CUDA_AUTOREJECT_STAGES_H
#define TESS_CUDA_AUTOREJECT_STAGES_H

#include "backend/cuda/cuda_backend.h"

extern const tess_cuda_stage tess_cuda_stage_autoreject_augment;
extern const tess_cuda_stage tess_cuda_stage_autoreject_curve;
extern const tess_cuda_stage tess_cuda_stage_autoreject_global;
extern const tess_cuda_stage tess_cuda_stage_autoreject_intake;
extern const tess_cuda_stage tess_cuda_stage_autoreject_local;
extern const tess_cuda_stage tess_cuda_stage_autoreject_ptp;
extern const tess_cuda_stage tess_cuda_stage_autoreject_ransac;
extern const tess_cuda_stage tess_cuda_stage_autoreject_repair;
extern const tess_cuda_stage tess_cuda_stage_autoreject_votes;

#endif
