// Epochs from inside: who reads them, and what every reader fills in.
#ifndef TESS_AUTOREJECT_EPOCHS_H
#define TESS_AUTOREJECT_EPOCHS_H

#include "base/blocks.h"
#include "base/infile.h"
#include "base/log.h"
#include "runtime/context.h"
#include "tessera/autoreject/epochs.h"

#include <stdbool.h>

// Where samples come from. Reads may come from any thread, one at a time
// unless it says otherwise.
typedef struct tess_ar_reader {
    void *impl;
    // Epochs first..first+count-1 of the named channels into dst [count][n_channel][n_time], f64,
    // calibrated, baseline applied.
    tess_status (*read)(tess_context *ctx, void *impl, int64_t first, int64_t count,
                        const int64_t *channels, int64_t n_channel, double *dst);
    void (*close)(tess_context *ctx, void *impl);
    bool is_concurrent; // threads may read at the same time
} tess_ar_reader;

// What is known of a channel from channels.tsv, or better from the caller.
enum {
    TESS_AR_KNOWN_ROW = 1,
    TESS_AR_KNOWN_TYPE = 2,
    TESS_AR_KNOWN_STATUS = 4,
    TESS_AR_KNOWN_ODD_TYPE = 8, // a word that means nothing
    TESS_AR_KNOWN_ODD_STATUS = 16,
};

struct tess_autoreject_epochs {
    tess_context *ctx;
    tess_autoreject_epochs_info info;
    tess_autoreject_sensors sensors; // what info.sensors points to
    tess_ar_reader reader;
    tess_array array;             // of from_array(); data NULL for files
    const double *calibration;    // [n_chan] of the array; NULL: 1
    tess_blocks blocks;           // memory that info and sensors point into
    struct tess_ar_input *inputs; // files that samples come from
    void *fif; // what the FIF writer needs of a FIF source (files/fif.h); NULL: another source
    const char *const *left_out; // [n_left_out] channels of the file that could not be taken along
    int64_t n_left_out;
    struct tess_ar_peaks *peaks;     // peaks.c; NULL: none are known
    const char *const *former_names; // [n_chan] of an array that a montage named; NULL: as read
    const char *table;               // channels.tsv of the recording; NULL: none
    uint8_t *known;   // [n_chan] what it and the caller say of each, TESS_AR_KNOWN_; NULL: no table
    const char *told; // lines of info.notes that a study repeats; NULL: none
};

// Zeroed memory that lives with the epochs and is freed by close. NULL with the message recorded.
void *tess_ar_epochs_alloc(tess_autoreject_epochs *epochs, size_t bytes);
// n items of so many bytes, the product checked; zeroed as well.
void *tess_ar_epochs_items(tess_autoreject_epochs *epochs, int64_t n, size_t item_bytes);
char *tess_ar_epochs_text(tess_autoreject_epochs *epochs, const char *text);

// array.c: an array that the device of the context can read. TESS_E_SPACE or TESS_E_SHAPE.
TESS_MUST_CHECK tess_status tess_ar_check_space(const tess_context *ctx, const tess_array *x);

// read.c: epochs first..first+count-1 of some channels to [count][n_channel][n_time], by all
// threads where they may read at the same time.
TESS_MUST_CHECK tess_status tess_ar_epochs_read_block(tess_context *ctx,
                                                      const tess_autoreject_epochs *epochs,
                                                      int64_t first, int64_t count,
                                                      const int64_t *channels, int64_t n_channel,
                                                      double *to);

// inputs.c: opens a file that lives with the epochs; or looks after one that does.
TESS_MUST_CHECK tess_status tess_ar_epochs_open_input(tess_autoreject_epochs *epochs,
                                                      const char *path, const tess_infile **file);
TESS_MUST_CHECK tess_status tess_ar_epochs_watch(tess_autoreject_epochs *epochs,
                                                 const tess_infile *file);
// TESS_E_CHANGED if one of them is not any more what it was when it was opened. Every read looks,
// too: this is for what was computed since.
TESS_MUST_CHECK tess_status tess_ar_epochs_check(const tess_autoreject_epochs *epochs);
void tess_ar_epochs_close_inputs(tess_autoreject_epochs *epochs);

// peaks.c: keeps the peak-to-peaks [n_epoch][n_channel] that were taken of some channels of files,
// so that who asks next need not read all samples again. Of arrays nothing is kept: their owner may
// change them.
TESS_MUST_CHECK tess_status tess_ar_epochs_keep_peaks(tess_autoreject_epochs *epochs,
                                                      const int64_t *channels, int64_t n_channel,
                                                      const double *peaks);
// Whether all these are kept; if so, to [n_epoch][n_channel].
bool tess_ar_epochs_has_peaks(const tess_autoreject_epochs *epochs, const int64_t *channels,
                              int64_t n_channel);
void tess_ar_epochs_copy_peaks(const tess_autoreject_epochs *epochs, const int64_t *channels,
                               int64_t n_channel, double *to);

// Empty epochs for a reader to fill: info, sensors, reader.
TESS_MUST_CHECK tess_status tess_ar_epochs_create(tess_context *ctx, tess_autoreject_epochs **out);
// Deep copy of sensors into memory of the epochs. Names that occur twice are numbered and noted.
TESS_MUST_CHECK tess_status tess_ar_epochs_set_sensors(tess_autoreject_epochs *epochs,
                                                       const tess_autoreject_sensors *sensors);
// Events, selection and drop log of n_epoch epochs that came without any: code 1 each.
TESS_MUST_CHECK tess_status tess_ar_epochs_plain_events(tess_autoreject_epochs *epochs);
// Adds a sentence to info.notes.
void tess_ar_epochs_note(tess_autoreject_epochs *epochs, const char *format, ...) TESS_PRINTF(2, 3);
// The same of what every recording of a study is to be told for, where notes are not read.
void tess_ar_epochs_tell(tess_autoreject_epochs *epochs, const char *format, ...) TESS_PRINTF(2, 3);
// A note with the id of a warning behind it; those of tables and scales are told of studies, too.
void tess_ar_epochs_warn(tess_autoreject_epochs *epochs, tess_warning warning, const char *format,
                         ...) TESS_PRINTF(3, 4);

// The picked channels of one type, in order of first appearance of the types.
typedef struct tess_ar_group {
    int32_t type;
    int64_t n_chan;
    const int64_t *channels; // ascending, into the memory given
} tess_ar_group;

// Checks picks (solvable types, in range), sorts them, each once, and groups them. channels has
// room for n_pick, groups for TESS_AUTOREJECT_N_SOLVABLE. bads stay if they were picked.
TESS_MUST_CHECK tess_status tess_ar_groups(const tess_autoreject_epochs *epochs,
                                           const int64_t *picks, int64_t n_pick, int64_t *channels,
                                           tess_ar_group *groups, int64_t *n_group);

// Channels a caller gives by index: in range, each once, one at least. In any order.
TESS_MUST_CHECK tess_status tess_ar_check_distinct(const tess_autoreject_epochs *epochs,
                                                   const int64_t *channels, int64_t n_channel);

// Positions that interpolation can use: TESS_E_NUMERIC with the names of channels that have none
// and the ways out. "Valid channel positions are needed for autoreject to work" begins it.
TESS_MUST_CHECK tess_status tess_ar_check_positions(const tess_autoreject_sensors *sensors,
                                                    const int64_t *channels, int64_t n_channel);

#endif
