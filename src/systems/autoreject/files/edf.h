// EDF, EDF+ and BDF: ASCII header, then records of little-endian samples, signal after signal.
#ifndef TESS_AUTOREJECT_EDF_H
#define TESS_AUTOREJECT_EDF_H

#include "systems/autoreject/files/recording.h"

enum {
    TESS_EDF_FIXED_BYTES = 256,     // header without signals
    TESS_EDF_SIGNAL_BYTES = 256,    // header of a signal
    TESS_EDF_STATUS_MASK = 0x1ffff, // trigger and the mark of a new epoch
};

// A signal of a record.
typedef struct tess_edf_signal {
    char label[17]; // as in the file, trimmed
    char unit[9];
    double physical_min, physical_max, digital_min, digital_max;
    int64_t n_sample; // of a record
    uint64_t offset;  // in a record, bytes
    bool is_annotations;
} tess_edf_signal;

// How the samples of a channel become values: stored * factor + shift, of a trigger its bits alone.
// BDF's triggers are what is stored, those of EDF have a scale as other signals have.
typedef struct tess_edf_scale {
    int64_t signal;
    double factor, shift; // to physical units
    double unit;          // to SI units
    bool is_status;
} tess_edf_scale;

typedef struct tess_edf {
    tess_autoreject_epochs *epochs;
    const tess_infile *file; // lives with the epochs
    const char *path;
    bool is_bdf;
    bool is_discontinuous; // EDF+D, BDF+D
    int64_t header_bytes;
    int64_t n_record;
    double record_s;
    uint64_t record_bytes;
    int64_t sample_bytes; // 2, 3
    int64_t n_signal;
    tess_edf_signal *signals; // [n_signal]
    int64_t n_channel;
    tess_edf_scale *channels; // [n_channel]
    int64_t n_time;           // samples of a channel in a record
    uint8_t *buffer;
    size_t buffer_bytes;
} tess_edf;

// edf_header.c: everything down to signals.
TESS_MUST_CHECK tess_status tess_edf_read_header(tess_context *ctx, tess_edf *edf);
// edf_annotations.c: annotations, and where records do not follow each other in time.
TESS_MUST_CHECK tess_status tess_edf_read_annotations(tess_context *ctx, tess_edf *edf,
                                                      tess_ar_continuous *continuous);

#endif
