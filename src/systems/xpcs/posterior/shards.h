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

#endif
