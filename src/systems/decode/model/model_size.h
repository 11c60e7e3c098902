// What memory a model takes, from the headers of a file alone.
#ifndef TESS_SYSTEMS_DECODE_MODEL_SIZE_H
#define TESS_SYSTEMS_DECODE_MODEL_SIZE_H

#include "systems/decode/files/recording_size.h"
#include "systems/decode/settings/need.h"
#include "tessera/decode/recording.h"

// A model made of so much training data, of which it has a copy, while it is made and, if it is to
// be, saved.
tess_de_need tess_de_size_fit(const tess_de_recording_size *training, int32_t algorithm,
                              int32_t mode, bool is_saved);

// A model file: what is loaded and made of it.
TESS_MUST_CHECK tess_status tess_de_size_model(tess_context *ctx, const char *path,
                                               tess_de_need *out);

#endif
