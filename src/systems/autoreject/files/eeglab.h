// EEGLAB data sets: a MAT file (.set) with struct EEG, samples inside or in a .fdt beside it.
#ifndef TESS_AUTOREJECT_EEGLAB_H
#define TESS_AUTOREJECT_EEGLAB_H

#include "systems/autoreject/files/eeglab_mat.h"
#include "systems/autoreject/files/recording.h"
#include "systems/autoreject/files/samples.h"

// Fields that are read; X(enumerator, name)
#define TESS_EEGLAB_FIELDS(X)                                                                      \
    X(NBCHAN, "nbchan")                                                                            \
    X(PNTS, "pnts")                                                                                \
    X(TRIALS, "trials")                                                                            \
    X(SRATE, "srate")                                                                              \
    X(XMIN, "xmin")                                                                                \
    X(DATA, "data")                                                                                \
    X(CHANLOCS, "chanlocs")                                                                        \
    X(EVENT, "event")                                                                              \
    X(EPOCH, "epoch")

typedef enum tess_eeglab_field {
#define TESS_EEGLAB_ENUM(enumerator, name) TESS_EEGLAB_##enumerator,
    TESS_EEGLAB_FIELDS(TESS_EEGLAB_ENUM)
#undef TESS_EEGLAB_ENUM
        TESS_EEGLAB_N_FIELD
} tess_eeglab_field;

typedef struct tess_eeglab {
    tess_ar_samples samples; // first: what the readers are given
    tess_autoreject_epochs *epochs;
    tess_mat mat;
    const char *path; // of the .set
    tess_mat_array fields[TESS_EEGLAB_N_FIELD];
    int64_t n_channel, n_time, n_trial;
    double sampling_hz, xmin;
} tess_eeglab;

// eeglab_channels.c: names, types, positions.
TESS_MUST_CHECK tess_status tess_eeglab_channels(tess_eeglab *set,
                                                 tess_autoreject_sensors *sensors);
// eeglab_events.c: events as annotations of a continuous recording; or one event per epoch.
TESS_MUST_CHECK tess_status tess_eeglab_annotations(tess_eeglab *set,
                                                    tess_ar_continuous *continuous);
TESS_MUST_CHECK tess_status tess_eeglab_epoch_events(tess_eeglab *set);

#endif
