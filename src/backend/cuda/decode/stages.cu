#include "backend/cuda/decode/stages.h"

const tess_cuda_stage *const tess_cuda_decode[] = {
    &tess_cuda_stage_decode_kde,          &tess_cuda_stage_decode_kde_nodes,
    &tess_cuda_stage_decode_rows,         &tess_cuda_stage_decode_columns,
    &tess_cuda_stage_decode_joint,        &tess_cuda_stage_decode_hmm_filter,
    &tess_cuda_stage_decode_hmm_smooth,   &tess_cuda_stage_decode_hmm_paths,
    &tess_cuda_stage_decode_gmm,          &tess_cuda_stage_decode_events_mix,
    &tess_cuda_stage_decode_events_judge, nullptr};
