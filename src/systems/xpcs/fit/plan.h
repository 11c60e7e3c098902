// How a fit goes over its data: strategy, chunks, memory. None of it changes a bit of the result.
#ifndef TESS_XPCS_FIT_PLAN_H
#define TESS_XPCS_FIT_PLAN_H

#include "systems/xpcs/pass/pass.h"
#include "tessera/xpcs/fit.h"

typedef struct tess_xp_plan {
    int32_t strategy; // tess_strategy
    bool is_streamed; // files are read in every pass, through buffers; else they are held in memory
    int64_t leaves_per_chunk;
    int64_t max_set;       // points of the parameters that share a pass
    uint64_t memory_bytes; // data in memory, buffers, sums
    uint64_t limit_bytes;
    char reason[192];
} tess_xp_plan;

// TESS_E_LIMIT names what is needed.
TESS_MUST_CHECK tess_status tess_xp_plan_make(tess_context *ctx, const tess_xpcs_data *data,
                                              int64_t n_param, const tess_xpcs_fit_config *config,
                                              tess_xp_plan *plan);
// The plan of rank 0 for all of them, who may have other numbers of threads: it says how many
// points share a pass.
TESS_MUST_CHECK tess_status tess_xp_plan_make_for_all(tess_context *ctx, const tess_xpcs_data *data,
                                                      int64_t n_param,
                                                      const tess_xpcs_fit_config *config,
                                                      tess_xp_plan *plan);

#endif
