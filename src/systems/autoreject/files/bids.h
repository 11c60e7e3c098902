// Side-cars of a BIDS tree that lie beside a recording ("sub-01_task-rest_eeg.edf").
#ifndef TESS_AUTOREJECT_BIDS_H
#define TESS_AUTOREJECT_BIDS_H

#include "systems/autoreject/files/recording.h"

// channels.tsv: types and bad channels; events.tsv: annotations of a continuous recording instead
// of its own, but for those starting with "bad". What was taken is noted; without such files
// nothing happens. continuous NULL: the file holds epochs. Where config names events, events.tsv is
// not read.
TESS_MUST_CHECK tess_status tess_ar_bids_sidecars(tess_context *ctx, const char *path,
                                                  const tess_autoreject_epochs_config *config,
                                                  tess_autoreject_epochs *epochs,
                                                  tess_ar_continuous *continuous);
// What channels.tsv leaves open of channels that are picked where nobody picks. Call when types and
// marks of the caller are in their place, which answer it.
void tess_ar_bids_warn(tess_autoreject_epochs *epochs);

// electrodes.tsv, if an EEG channel has no position or the name is of an EEG recording of a tree.
// Call where no montage was asked for.
TESS_MUST_CHECK tess_status tess_ar_bids_electrodes(tess_context *ctx, const char *path,
                                                    tess_autoreject_epochs *epochs);

#endif
