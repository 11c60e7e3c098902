// EEGLAB data sets: a MAT file (.set) with struct EEG, samples inside or in a .fdt or .dat beside
// it; several of them in one file; and studies, which list files.
#ifndef TESS_AUTOREJECT_EEGLAB_H
#define TESS_AUTOREJECT_EEGLAB_H

#include "runtime/source.h"
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
    X(EPOCH, "epoch")                                                                              \
    X(SETNAME, "setname")

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
    const char *path;    // of the .set
    const char *wanted;  // number (from 1) or name of the set among several; ""
    tess_source *source; // samples that stay in an HDF5 file; NULL: elsewhere
    int64_t source_rank; // 2 [sample][channel] or 3 [epoch][sample][channel]
    tess_mat_array fields[TESS_EEGLAB_N_FIELD];
    int64_t n_channel, n_time, n_trial;
    double sampling_hz, xmin;
} tess_eeglab;

const char *tess_eeglab_field_name(tess_eeglab_field field);
// eeglab_sets.c: opens the file, or the one that a study names, and finds the fields of the set
// that is wanted.
TESS_MUST_CHECK tess_status tess_eeglab_find_fields(tess_context *ctx, tess_eeglab *set);
// eeglab_hdf5.c: MAT files of version 7.3. Their content as an image; their samples.
bool tess_eeglab_is_hdf5(const tess_infile *file);
TESS_MUST_CHECK tess_status tess_eeglab_open_hdf5(tess_context *ctx, const tess_infile *file,
                                                  tess_mat *mat);
TESS_MUST_CHECK tess_status tess_eeglab_open_hdf5_samples(tess_eeglab *set);
TESS_MUST_CHECK tess_status tess_eeglab_read_hdf5(tess_context *ctx, void *impl, int64_t first,
                                                  int64_t count, const int64_t *channels,
                                                  int64_t n_channel, double *dst);
TESS_MUST_CHECK tess_status tess_eeglab_read_hdf5_epochs(tess_context *ctx, void *impl,
                                                         int64_t first, int64_t count,
                                                         const int64_t *channels, int64_t n_channel,
                                                         double *dst);
// eeglab_channels.c: names, types, positions.
TESS_MUST_CHECK tess_status tess_eeglab_channels(tess_eeglab *set,
                                                 tess_autoreject_sensors *sensors);
// eeglab_events.c: events as annotations of a continuous recording; or one event per epoch.
TESS_MUST_CHECK tess_status tess_eeglab_annotations(tess_eeglab *set,
                                                    tess_ar_continuous *continuous);
TESS_MUST_CHECK tess_status tess_eeglab_epoch_events(tess_eeglab *set);

#endif
