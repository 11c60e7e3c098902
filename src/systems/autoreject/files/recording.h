// Recordings as files hold them, before they become epochs.
#ifndef TESS_AUTOREJECT_RECORDING_H
#define TESS_AUTOREJECT_RECORDING_H

#include "base/text.h"
#include "runtime/spool.h"
#include "systems/autoreject/epochs/epochs.h"

typedef struct tess_ar_annotation {
    double onset_s; // the first sample of the recording is at first_s
    double duration_s;
    const char *text;
} tess_ar_annotation;

typedef struct tess_ar_event {
    int64_t sample; // from the first sample of the recording (first_sample not included)
    int32_t previous;
    int32_t code;
} tess_ar_event;

// A continuous recording: what EDF, BrainVision and raw FIF fill in, and epoching.c reads.
typedef struct tess_ar_continuous {
    tess_autoreject_sensors sensors;
    double sampling_hz;
    int64_t n_sample;
    int64_t first_sample; // what event samples are counted from in FIF files
    double first_s;       // its time, as MNE has it: which sample is nearest hangs on last digits
    bool has_date;        // times are those of a clock, in whole microseconds
    int64_t n_outside;    // annotations that lie outside of the recording and were left out
    const tess_ar_annotation *annotations;
    int64_t n_annotation;
    bool has_told_events; // annotations are a table of events, which goes before trigger channels
    bool has_empty_table; // there is such a table, and nothing in it
    // Samples first..first+count-1 of the channels into dst [n_channel][count], f64, SI units.
    tess_status (*read)(tess_context *ctx, void *impl, int64_t first, int64_t count,
                        const int64_t *channels, int64_t n_channel, double *dst);
    // Takes the unit of a channel ("uV") from elsewhere; false where the file says it itself, or
    // where it is not known. NULL: files of this format always say it.
    bool (*take_unit)(void *impl, int64_t channel, const char *unit);
    void (*close)(tess_context *ctx, void *impl);
    void *impl;
} tess_ar_continuous;

// A file format: tried in turn by files/open.c.
typedef struct tess_ar_file_format {
    const char *name; // "edf"
    // 1 if the first bytes (up to 4096) and the name are of this format.
    int (*probe)(const char *path, const uint8_t *head, size_t head_bytes);
    // Fills epochs->info, sensors and reader; or, for a continuous file, *continuous, whose memory
    // is of tess_ar_epochs_alloc(), and sets *is_continuous.
    tess_status (*open)(tess_context *ctx, const char *path,
                        const tess_autoreject_epochs_config *config, tess_autoreject_epochs *epochs,
                        tess_ar_continuous *continuous, bool *is_continuous);
} tess_ar_file_format;

extern const tess_ar_file_format tess_ar_fif;
extern const tess_ar_file_format tess_ar_edf; // EDF, EDF+ and BDF
extern const tess_ar_file_format tess_ar_brainvision;
extern const tess_ar_file_format tess_ar_eeglab;
extern const tess_ar_file_format tess_ar_numpy; // .npy and .npz, and arrays of HDF5 files

// epoching.c: cuts a continuous recording by events or windows.
TESS_MUST_CHECK tess_status tess_ar_epoching(tess_context *ctx,
                                             const tess_autoreject_epochs_config *config,
                                             tess_ar_continuous *continuous,
                                             tess_autoreject_epochs *epochs);

// open.c: what no recording could be opened with.
TESS_MUST_CHECK tess_status
tess_ar_check_epochs_config(const tess_autoreject_epochs_config *config);
// epoching.c: what no continuous recording could be cut by.
TESS_MUST_CHECK tess_status tess_ar_check_window(const tess_autoreject_epochs_config *config);

// What config.baseline says.
enum { TESS_AR_BASELINE_DEFAULT = 0, TESS_AR_BASELINE_NONE = 1, TESS_AR_BASELINE_INTERVAL = 2 };

// adjust.c: what the caller knows better than the file. "eog=HEOG,VEOG;misc=Aux1", "Fp1,Fp2".
TESS_MUST_CHECK tess_status tess_ar_apply_types(const char *types, tess_autoreject_epochs *epochs);
TESS_MUST_CHECK tess_status tess_ar_apply_bads(const char *bads, tess_autoreject_epochs *epochs);
// Whether the types are known, where it does not take channels to tell.
TESS_MUST_CHECK tess_status tess_ar_check_types(const char *types);

// view.c: epochs seen through something. The mean of the samples from start_s to end_s (infinite:
// to the end of the epoch) taken off every row but those of triggers; only the epochs of some
// events, by name or code.
TESS_MUST_CHECK tess_status tess_ar_apply_baseline(tess_autoreject_epochs *epochs, double start_s,
                                                   double end_s);
TESS_MUST_CHECK tess_status tess_ar_select_epochs(const char *events,
                                                  tess_autoreject_epochs *epochs);
// project.c: all projectors are applied, also those that were before.
TESS_MUST_CHECK tess_status tess_ar_apply_projectors(tess_autoreject_epochs *epochs);
// metadata.c: only the rows kept[n] (ascending) of a table, as text or of the epochs themselves.
TESS_MUST_CHECK tess_status tess_ar_metadata_rows(tess_text *out, const char *table,
                                                  const int64_t *kept, int64_t n);
TESS_MUST_CHECK tess_status tess_ar_keep_rows(tess_autoreject_epochs *epochs, const int64_t *kept,
                                              int64_t n);
// 1 if a list of names and codes joined by ',' holds this event; "a" holds "a/b" as well.
bool tess_ar_is_selected(const char *list, const char *name, int32_t code);

// Events of a recording before they are cut.
typedef struct tess_ar_event_list {
    tess_heap *heap;
    tess_ar_event *items;
    int64_t n;
    int64_t capacity;
    char **names; // [n_name], of the codes, in memory of the epochs
    int32_t *codes;
    int64_t n_name;
} tess_ar_event_list;

TESS_MUST_CHECK tess_status tess_ar_events_add(tess_ar_event_list *list, int64_t sample,
                                               int32_t previous, int32_t code);
void tess_ar_events_free(tess_ar_event_list *list);
// events.c: from the trigger channel, from annotations, by the names of their codes.
TESS_MUST_CHECK tess_status tess_ar_events_of_stim(tess_context *ctx, const char *stim,
                                                   const tess_ar_continuous *continuous,
                                                   tess_autoreject_epochs *epochs,
                                                   tess_ar_event_list *list);
TESS_MUST_CHECK tess_status tess_ar_events_of_annotations(const tess_ar_continuous *continuous,
                                                          tess_autoreject_epochs *epochs,
                                                          tess_ar_event_list *list);
// events_file.c: -eve.fif, text, BIDS .tsv, .npy.
TESS_MUST_CHECK tess_status tess_ar_events_of_file(tess_context *ctx, const char *path,
                                                   const tess_ar_continuous *continuous,
                                                   tess_autoreject_epochs *epochs,
                                                   tess_ar_event_list *list);
// Names of the codes that occur, as numbers, where there are none yet.
TESS_MUST_CHECK tess_status tess_ar_events_name_codes(tess_autoreject_epochs *epochs,
                                                      tess_ar_event_list *list);

// write_arrays.c: samples of the kept epochs, which lie in a spool, as .npz, with what is known of
// them.
TESS_MUST_CHECK tess_status tess_ar_write_npz(tess_context *ctx,
                                              const tess_autoreject_epochs *epochs,
                                              const char *path,
                                              const tess_autoreject_write_config *config,
                                              const tess_array *samples, const tess_spool *spool);

enum { TESS_AR_STORED_WORDS = 800 };

// fif_events.c: the names of the events as FIF can hold them, [n_event_name] in memory: what is not
// of latin-1, and ';', which parts the names there, is replaced. Others are those of info.
TESS_MUST_CHECK tess_status tess_ar_fif_event_names(const tess_autoreject_epochs_info *info,
                                                    tess_blocks *memory, const char ***names);
// What is said of those that are replaced, once of them all; false: there are none.
bool tess_ar_fif_stored_words(const tess_autoreject_epochs_info *info, const char *const *names,
                              char words[TESS_AR_STORED_WORDS]);
// fif_write.c: the writer behind tess_autoreject_epochs_write() for .fif and .fif.gz.
TESS_MUST_CHECK tess_status tess_ar_fif_write(tess_context *ctx, tess_autoreject_epochs *epochs,
                                              const char *path,
                                              const tess_autoreject_write_config *config);

#endif
