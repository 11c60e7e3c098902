// Arrays as recordings: .npy, and named arrays in .npz and HDF5 files (docs/formats.md).
#ifndef TESS_AUTOREJECT_NUMPY_FILE_H
#define TESS_AUTOREJECT_NUMPY_FILE_H

#include "runtime/bundle.h"
#include "runtime/source.h"
#include "systems/autoreject/files/recording.h"

typedef struct tess_ar_numpy_file {
    tess_autoreject_epochs *epochs;
    tess_source *source;
    tess_bundle bundle; // ctx NULL: a .npy file, which has nothing but the array
    int32_t dtype;
    int64_t item_bytes;
    int64_t n_epoch, n_chan, n_time; // n_epoch 1 for [channels][samples]
    bool is_continuous;
    uint8_t *loaded; // the whole array; NULL: read through buffer
    size_t loaded_bytes;
    uint8_t *buffer;           // an epoch, or a piece of a row, as it is stored
    const double *calibration; // [n_chan]
    double sampling_hz, tmin;
} tess_ar_numpy_file;

// numpy_info.c: what the other arrays of the file say of channels, events, annotations.
TESS_MUST_CHECK tess_status tess_ar_numpy_sensors(tess_ar_numpy_file *file,
                                                  tess_autoreject_sensors *sensors);
TESS_MUST_CHECK tess_status tess_ar_numpy_times(tess_ar_numpy_file *file,
                                                const tess_autoreject_epochs_config *config);
TESS_MUST_CHECK tess_status tess_ar_numpy_events(tess_ar_numpy_file *file);
TESS_MUST_CHECK tess_status tess_ar_numpy_annotations(tess_ar_numpy_file *file,
                                                      tess_ar_continuous *continuous);

#endif
