// What tells epochs from others, for checkpoints and results made from them.
#ifndef TESS_AUTOREJECT_EPOCHS_IDENTITY_H
#define TESS_AUTOREJECT_EPOCHS_IDENTITY_H

#include "runtime/identity.h"
#include "systems/autoreject/epochs/epochs.h"

// Adds their size, the channels of picks, and samples of these: of some epochs, evenly spaced.
TESS_MUST_CHECK tess_status tess_ar_identity_add_epochs(tess_identity *id, tess_context *ctx,
                                                        const tess_autoreject_epochs *epochs,
                                                        const int64_t *picks, int64_t n_pick);

// Adds size and date of the file they are in, for epochs whose samples nobody looked at.
void tess_ar_identity_add_file(tess_identity *id, const tess_autoreject_epochs *epochs);

#endif
