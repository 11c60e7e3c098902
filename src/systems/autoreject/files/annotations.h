// What the readers of continuous recordings share: lists of annotations, and types by name.
#ifndef TESS_AUTOREJECT_ANNOTATIONS_H
#define TESS_AUTOREJECT_ANNOTATIONS_H

#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/files/recording.h"

// Grows; destroy frees what finish did not hand over.
typedef struct tess_ar_annotation_list {
    tess_autoreject_epochs *epochs; // whose memory the texts are
    tess_ar_annotation *items;
    int64_t n;
    int64_t capacity;
} tess_ar_annotation_list;

// text need not be UTF-8, see tess_ar_utf8().
TESS_MUST_CHECK tess_status tess_ar_annotations_add(tess_ar_annotation_list *list, double onset_s,
                                                    double duration_s, const char *text,
                                                    size_t text_bytes);
// Times as MNE keeps them: which sample is next to one between two hangs on it.
double tess_ar_whole_microseconds(double seconds);
// Sorted by onset in whole microseconds and by duration, as they came where equal, into memory of
// the epochs. Onsets of the list count from the first sample.
TESS_MUST_CHECK tess_status tess_ar_annotations_finish(tess_ar_annotation_list *list,
                                                       tess_ar_continuous *continuous);
// Leaves out annotations that lie outside of the recording, and cuts those that reach out of it, as
// MNE does: what begins before the first sample and lasts into the recording begins there.
TESS_MUST_CHECK tess_status tess_ar_annotations_within(tess_autoreject_epochs *epochs,
                                                       tess_ar_continuous *continuous);
void tess_ar_annotations_destroy(tess_ar_annotation_list *list);

// The type a name speaks of ("HEOG", "ECG1", "Status"), -1 if it does not. Electrodes of the 10-05
// system never do.
int32_t tess_ar_type_by_name(const char *name);
// EDF's "EOG left": the type of the first word, and *name moves behind it; -1: no such word.
int32_t tess_ar_type_by_prefix(const char **name);
// Types as BIDS and EEGLAB write them ("VEOG", "MEGMAG", "TRIG"), -1: not known.
int32_t tess_ar_type_by_word(const char *word);

#endif
