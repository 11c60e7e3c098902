// Part of the data, for consensus Monte Carlo.
#ifndef TESS_XPCS_POSTERIOR_SHARDS_H
#define TESS_XPCS_POSTERIOR_SHARDS_H

#include "systems/xpcs/store/store.h"
#include "tessera/xpcs/posterior.h"

// The data with only the points of shard config->shard of config->n_shard; the others count as not
// measured. In memory, with the means of the whole.
TESS_MUST_CHECK tess_status tess_xp_shard_make(tess_context *ctx, tess_xpcs_data *data,
                                               const tess_xpcs_sample_config *config,
                                               tess_xpcs_data **out);

// --- shard_ranks.c ---

// Whether each rank samples some of n shards alone, rather than all ranks one after the other.
bool tess_xp_shards_are_dealt(const tess_context *ctx, int64_t n);
// Whether this rank keeps what there is of shard k, from 0.
bool tess_xp_shard_is_own(const tess_context *ctx, int64_t k, int64_t n);
// The draws of other ranks' shards. status: how this rank has fared with its own.
TESS_MUST_CHECK tess_status tess_xp_shards_share(tess_context *ctx, tess_xpcs_posterior **parts,
                                                 int64_t n, tess_status status);

#endif
