// Epochs as EEGLAB data sets.
#ifndef TESS_AUTOREJECT_EEGLAB_WRITE_H
#define TESS_AUTOREJECT_EEGLAB_WRITE_H

#include "systems/autoreject/files/recording.h"

// The writer behind tess_autoreject_epochs_write() for .set.
TESS_MUST_CHECK tess_status tess_ar_eeglab_write(tess_context *ctx, tess_autoreject_epochs *epochs,
                                                 const char *path,
                                                 const tess_autoreject_write_config *config,
                                                 int64_t n_kept);
// The same with the bytes of samples above which they go into a .fdt.
TESS_MUST_CHECK tess_status tess_ar_eeglab_write_beyond(tess_context *ctx,
                                                        tess_autoreject_epochs *epochs,
                                                        const char *path,
                                                        const tess_autoreject_write_config *config,
                                                        int64_t n_kept, uint64_t most_inside);

#endif
