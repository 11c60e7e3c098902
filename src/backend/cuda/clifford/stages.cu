#include "backend/cuda/clifford/stages.h"

const tess_cuda_stage *const tess_cuda_clifford[] = {&tess_cuda_stage_clifford_fcgp,
                                                     &tess_cuda_stage_clifford_gate,
                                                     &tess_cuda_stage_clifford_graph_dot,
                                                     &tess_cuda_stage_clifford_graph_sum,
                                                     &tess_cuda_stage_clifford_layer,
                                                     &tess_cuda_stage_clifford_linear,
                                                     &tess_cuda_stage_clifford_maps,
                                                     &tess_cuda_stage_clifford_norm,
                                                     &tess_cuda_stage_clifford_sgp,
                                                     &tess_cuda_stage_clifford_sum,
                                                     nullptr};
