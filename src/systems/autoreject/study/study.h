// The inside of a study: recordings of a BIDS tree, what is known of each, and who works on them.
//
//   scan.c       finds the recordings
//   inputs.c     what tells a recording's files and settings from others
//   opening.c    what a recording is worked on with
//   plan.c       opens each, and says how many are worked on at a time
//   told.c       what opening them told
//   recording.c  one recording from its file to its results
//   record.c     the side-car of its epochs, by which it is known to be done and the group is told
//   run.c        several at a time
//   ranks.c      and by several ranks, who tell each other
//   whole.c      those of the group: of this run and of earlier ones
//   cohort.h     what the recordings are together
#ifndef TESS_AUTOREJECT_STUDY_H
#define TESS_AUTOREJECT_STUDY_H

#include "base/blocks.h"
#include "base/text.h"
#include "runtime/context.h"
#include "systems/autoreject/study/record.h"
#include "tessera/autoreject/study.h"

enum { TESS_AR_STUDY_PATH = 4096 };

typedef struct tess_ar_study_item {
    tess_autoreject_study_recording *info; // among those of the study
    char inputs[33];                       // digest of its files
    const char *told;                      // lines on how it was opened; NULL: none
    const char *warnings;                  // of work that is not heard here, lines; NULL: none
    bool is_record_read;
    tess_ar_record record; // of what is done
} tess_ar_study_item;

struct tess_autoreject_study {
    tess_context *ctx;
    tess_blocks memory;
    tess_text notes;
    const char *root;
    const char *output;
    tess_autoreject_study_config config;
    tess_autoreject_epochs_config epochs;
    tess_autoreject_fit_config fit;
    tess_autoreject_transform_config transform;
    tess_autoreject_report_config report;
    char settings[33]; // digest of what decides the results
    tess_autoreject_study_recording *recordings;
    tess_ar_study_item *items;
    int64_t n;
    int64_t capacity;
    tess_autoreject_study_info info;
};

// texts.c: a copy that lives with the study; NULL with the message recorded. text NULL: NULL.
char *tess_ar_study_text(tess_autoreject_study *study, const char *text);
void tess_ar_study_note(tess_autoreject_study *study, const char *format, ...) TESS_PRINTF(2, 3);

// told.c: what opening the recordings told, as notes: what several told alike is said once.
TESS_MUST_CHECK tess_status tess_ar_study_note_told(tess_autoreject_study *study);

// And what a record says, into the public description.
void tess_ar_study_tell_record(tess_autoreject_study *study, tess_ar_study_item *item);

// config.c: copies what the caller gave, and checks it.
TESS_MUST_CHECK tess_status tess_ar_study_configure(tess_autoreject_study *study,
                                                    const tess_autoreject_study_config *given);

// Whether a baseline lies in the epochs that are cut of recordings, after these were found.
TESS_MUST_CHECK tess_status tess_ar_study_check_baseline(const tess_autoreject_study *study);

// scan.c
TESS_MUST_CHECK tess_status tess_ar_study_scan(tess_autoreject_study *study);

// inputs.c: of the settings, and of an item's files by their sizes and times.
TESS_MUST_CHECK tess_status tess_ar_study_identify(tess_autoreject_study *study);
TESS_MUST_CHECK tess_status tess_ar_study_identify_inputs(const tess_autoreject_study *study,
                                                          tess_ar_study_item *item);
// "OUTPUT/sub-01/eeg/sub-01_task-rest_desc-autoreject_epo.fif" of "epo.fif".
TESS_MUST_CHECK tess_status tess_ar_study_path(const tess_autoreject_study *study,
                                               const tess_ar_study_item *item, const char *what,
                                               char path[TESS_AR_STUDY_PATH]);
// "OUTPUT/name"
TESS_MUST_CHECK tess_status tess_ar_study_root_path(const tess_autoreject_study *study,
                                                    const char *name,
                                                    char path[TESS_AR_STUDY_PATH]);

// output.c: the folder is ours to write into; and what describes it.
TESS_MUST_CHECK tess_status tess_ar_study_check_output(tess_autoreject_study *study);
TESS_MUST_CHECK tess_status tess_ar_study_describe(const tess_autoreject_study *study);

// plan.c
TESS_MUST_CHECK tess_status tess_ar_study_plan(tess_autoreject_study *study);

// opening.c
// A context for one recording when so many are worked on at a time; number: of who works on it,
// whom the devices are given to in turn. is_to_look: nothing large is held, and the whole limit
// counts.
TESS_MUST_CHECK tess_status tess_ar_study_context(tess_autoreject_study *study, int64_t n_at_a_time,
                                                  int64_t number, bool is_to_look, tess_log_fn log,
                                                  void *user, tess_context **out);
// Opens an item's epochs and resolves the picks; *picks is of the context's heap, n_chan of the
// epochs long.
TESS_MUST_CHECK tess_status tess_ar_study_open_epochs(tess_context *ctx,
                                                      const tess_autoreject_study *study,
                                                      const tess_ar_study_item *item,
                                                      tess_autoreject_epochs **epochs,
                                                      int64_t **picks, int64_t *n_pick);

// recording.c
TESS_MUST_CHECK tess_status tess_ar_study_do(tess_context *ctx, tess_autoreject_study *study,
                                             tess_ar_study_item *item);

// run.c: calls fn for every item for which wanted() holds, so many at a time, and watches.
typedef struct tess_ar_study_work {
    const char *stage; // static
    int64_t n_at_a_time;
    bool is_to_look; // see tess_ar_study_context()
    bool (*wanted)(const tess_autoreject_study *study, const tess_ar_study_item *item);
    // In a context of its own. A failure is the item's.
    tess_status (*fn)(tess_context *ctx, tess_autoreject_study *study, tess_ar_study_item *item);
} tess_ar_study_work;
TESS_MUST_CHECK tess_status tess_ar_study_each(tess_autoreject_study *study,
                                               const tess_ar_study_work *work);

// ranks.c: leaves this rank's of n items that are wanted; returns how many.
int64_t tess_ar_study_own(const tess_autoreject_study *study, int64_t n, int64_t *wanted);
// All ranks together, after each has worked on its own: what became of every item is known to all.
TESS_MUST_CHECK tess_status tess_ar_study_tell_ranks(tess_autoreject_study *study,
                                                     const tess_ar_study_work *work,
                                                     const int64_t *own, int64_t n_own,
                                                     tess_status status);

// study.c: counts of states, notes.
void tess_ar_study_tell(tess_autoreject_study *study);

#endif
