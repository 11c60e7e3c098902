// The stages of clifford on NVIDIA GPUs.
#ifndef TESS_CUDA_CLIFFORD_STAGES_H
#define TESS_CUDA_CLIFFORD_STAGES_H

#include "backend/cuda/cuda_backend.h"

extern const tess_cuda_stage tess_cuda_stage_clifford_fcgp;
extern const tess_cuda_stage tess_cuda_stage_clifford_gate;
extern const tess_cuda_stage tess_cuda_stage_clifford_graph_dot;
extern const tess_cuda_stage tess_cuda_stage_clifford_graph_sum;
extern const tess_cuda_stage tess_cuda_stage_clifford_layer;
extern const tess_cuda_stage tess_cuda_stage_clifford_linear;
extern const tess_cuda_stage tess_cuda_stage_clifford_maps;
extern const tess_cuda_stage tess_cuda_stage_clifford_norm;
extern const tess_cuda_stage tess_cuda_stage_clifford_sgp;
extern const tess_cuda_stage tess_cuda_stage_clifford_sum;

#endif
