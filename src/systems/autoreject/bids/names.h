// Names of a BIDS tree: "sub-01_ses-2_task-rest_run-1_eeg.edf", and the files that speak of
// another.
#ifndef TESS_AUTOREJECT_BIDS_NAMES_H
#define TESS_AUTOREJECT_BIDS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { TESS_AR_BIDS_ENTITIES = 16, TESS_AR_BIDS_PATH = 4096 };

// "task" and "rest" of task-rest; both point into the name that was parsed.
typedef struct tess_ar_bids_entity {
    const char *key;
    size_t n_key;
    const char *value;
    size_t n_value;
} tess_ar_bids_entity;

typedef struct tess_ar_bids_name {
    tess_ar_bids_entity entities[TESS_AR_BIDS_ENTITIES];
    int n_entity;
    const char *suffix; // "eeg"
    size_t n_suffix;
    const char *extension; // ".edf", up to the end; "" if there is none
} tess_ar_bids_name;

// The last part of a path taken apart; false where it is no such name. path must outlive *out.
bool tess_ar_bids_parse(const char *path, tess_ar_bids_name *out);

// The value of an entity; NULL: the name has none.
const tess_ar_bids_entity *tess_ar_bids_find(const tess_ar_bids_name *name, const char *key);

// The file of a suffix ("channels") and extension (".tsv") that speaks of the one at path, by the
// inheritance principle: in its folder, else in those above up to the tree's root, a file whose
// entities are all among its own; of several in a folder the one with the most. with_space: it may
// say a space of its own (electrodes, coordinate systems); none is preferred, then CapTrak. False
// if there is none.
bool tess_ar_bids_sidecar(const char *path, const char *suffix, const char *extension,
                          bool with_space, char out[TESS_AR_BIDS_PATH]);

#endif
