// What looks wrong with training data that can be fitted all the same.
#ifndef TESS_SYSTEMS_DECODE_PLAUSIBLE_H
#define TESS_SYSTEMS_DECODE_PLAUSIBLE_H

#include "runtime/context.h"
#include "systems/decode/decode.h"

// After the training data are selected: units that bandwidths do not fit, silent electrodes.
void tess_de_warn_training(tess_context *ctx, const tess_decode_encoding *encoding);

#endif
