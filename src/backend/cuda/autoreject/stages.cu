#include "backend/cuda/autoreject/stages.h"

const tess_cuda_stage *const tess_cuda_autoreject[] = {
    &tess_cuda_stage_autoreject_ptp,    &tess_cuda_stage_autoreject_votes,
    &tess_cuda_stage_autoreject_intake, &tess_cuda_stage_autoreject_augment,
    &tess_cuda_stage_autoreject_curve,  &tess_cuda_stage_autoreject_repair,
    &tess_cuda_stage_autoreject_local,  &tess_cuda_stage_autoreject_ransac,
    &tess_cuda_stage_autoreject_global, nullptr};
