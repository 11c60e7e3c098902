// What is known of a recording that is done: the side-car of its epochs, "..._epo.json".
#ifndef TESS_AUTOREJECT_STUDY_RECORD_H
#define TESS_AUTOREJECT_STUDY_RECORD_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/autoreject/reject_log.h"

typedef struct tess_ar_record_channel {
    const char *name;
    int32_t type;
    double threshold;
    double standard_error; // NaN: not known
    double bad;            // share of epochs, repaired or not
    double repaired;
    double position[3]; // NaN: not known
} tess_ar_record_channel;

typedef struct tess_ar_record {
    char settings[33];
    char inputs[33];
    int64_t n_epoch;
    int64_t n_kept;
    int64_t n_bad_epoch;
    int64_t n_time;
    double sampling_hz;
    double tmin;
    int64_t n_considered; // labels: channels in single epochs
    int64_t n_bad;
    int64_t n_repaired;
    const char *notes;
    int64_t n_type;
    struct {
        int32_t type;
        double consensus;
        int64_t n_interpolate;
    } types[TESS_AUTOREJECT_N_SOLVABLE];
    int64_t n_channel;
    const tess_ar_record_channel *channels;
} tess_ar_record;

// Fills the record from results; channels and texts point into memory.
TESS_MUST_CHECK tess_status tess_ar_record_make(tess_blocks *memory,
                                                const tess_autoreject_model *model,
                                                const tess_autoreject_log *log,
                                                const tess_autoreject_epochs *epochs,
                                                tess_ar_record *record);

// source: the recording's path below the tree's root.
TESS_MUST_CHECK tess_status tess_ar_record_write(tess_context *ctx, const tess_ar_record *record,
                                                 const char *source, const char *path);
// record_read.c. TESS_E_NOT_FOUND where there is none; TESS_E_FORMAT where it is none of ours.
TESS_MUST_CHECK tess_status tess_ar_record_read(tess_blocks *memory, const char *path,
                                                tess_ar_record *record);

// log_table.c: a row per epoch, a column per channel: 0 good, 1 bad, 2 repaired, n/a.
TESS_MUST_CHECK tess_status tess_ar_log_table_write(tess_context *ctx,
                                                    const tess_autoreject_log *log,
                                                    const tess_autoreject_epochs *epochs,
                                                    const char *path);

#define TESS_AR_RECORD_SCHEMA "tessera.autoreject.recording/1"

#endif
