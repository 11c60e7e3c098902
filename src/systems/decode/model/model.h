// The inside of a fitted model: the data it is made of, and what is made of them.
#ifndef TESS_SYSTEMS_DECODE_MODEL_H
#define TESS_SYSTEMS_DECODE_MODEL_H

#include "base/blocks.h"
#include "systems/decode/states/detector.h"
#include "tessera/decode/recording.h"

struct tess_decode_model {
    tess_heap *heap;
    tess_blocks memory;              // of all copies below
    const char *input;               // the recording's path; NULL: not known
    tess_decode_model_config config; // its pointers are copies
    tess_decode_training training;   // likewise
    const int64_t *electrode_id;     // [n_electrode]; NULL: known by their order alone
    tess_decode_track track;         // the environment's, if it has one
    const double *grid_position;     // [n_grid_position][n_dim]; NULL: the training positions
    int64_t n_grid_position;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
    tess_decode_detector *detector;
};

TESS_MUST_CHECK tess_status tess_de_model_new(tess_context *ctx, tess_decode_model **out);

// *copy becomes n items of the model's own; NULL stays NULL.
TESS_MUST_CHECK tess_status tess_de_model_copy(tess_decode_model *model, const void *items,
                                               int64_t n, size_t item_bytes, const void **copy);
// Room for spikes; marks of electrode e have n_feature[e] values each.
TESS_MUST_CHECK tess_status tess_de_model_spikes(tess_decode_model *model,
                                                 const tess_decode_spikes *spikes);
// Environment, encoding and detector of what the model holds.
TESS_MUST_CHECK tess_status tess_de_model_build(tess_context *ctx, tess_decode_model *model);

#endif
