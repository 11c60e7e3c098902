// The stages of decode on NVIDIA GPUs.
#ifndef TESS_CUDA_DECODE_STAGES_H
#define TESS_CUDA_DECODE_STAGES_H

#include "backend/cuda/cuda_backend.h"

extern const tess_cuda_stage tess_cuda_stage_decode_kde;
extern const tess_cuda_stage tess_cuda_stage_decode_kde_nodes;
extern const tess_cuda_stage tess_cuda_stage_decode_rows;
extern const tess_cuda_stage tess_cuda_stage_decode_columns;
extern const tess_cuda_stage tess_cuda_stage_decode_joint;
extern const tess_cuda_stage tess_cuda_stage_decode_gmm;
extern const tess_cuda_stage tess_cuda_stage_decode_hmm_filter;
extern const tess_cuda_stage tess_cuda_stage_decode_hmm_smooth;
extern const tess_cuda_stage tess_cuda_stage_decode_hmm_paths;
extern const tess_cuda_stage tess_cuda_stage_decode_events_mix;
extern const tess_cuda_stage tess_cuda_stage_decode_events_judge;

#endif
