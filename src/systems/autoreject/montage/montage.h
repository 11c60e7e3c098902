// Positions by name: tables of several formats, and the extended 10-05 system by rule.
#ifndef TESS_AUTOREJECT_MONTAGE_H
#define TESS_AUTOREJECT_MONTAGE_H

#include "systems/autoreject/epochs/epochs.h"
#include "systems/autoreject/text/text_input.h"

enum { TESS_AR_KEY_BYTES = 64 };

typedef struct tess_ar_place {
    const char *name; // in the montage's text
    char key[TESS_AR_KEY_BYTES];
    double position[3]; // x to the right ear, y to the nose, z up
    int64_t order;      // in the file
} tess_ar_place;

typedef struct tess_ar_montage {
    tess_context *ctx;
    const char *path;
    tess_ar_text text; // names point into it
    tess_ar_place *places;
    int64_t n;
    int64_t capacity;
    double unit;        // factor to metres; 0: not known
    char doubt[640];    // which file tells no unit that can be, and which was taken; "": none
    bool nose_is_x;     // x to the nose, y to the left ear
    bool is_directions; // only directions are told
    bool is_sorted;
} tess_ar_montage;

// montage.c: an array without names takes names and places of a montage in its order, where the
// montage has as many and knows none of the channels. Before anything goes by names.
TESS_MUST_CHECK tess_status tess_ar_name_by_montage(tess_context *ctx, const char *montage,
                                                    tess_autoreject_epochs *epochs,
                                                    tess_autoreject_sensors *sensors);
// Positions by name, from a file or the rule "1005"; notes what did not match.
TESS_MUST_CHECK tess_status tess_ar_apply_montage(tess_context *ctx, const char *montage,
                                                  tess_autoreject_epochs *epochs);

// Reads a file by the format its name tells. Positions become metres in our axes.
TESS_MUST_CHECK tess_status tess_ar_montage_open(tess_context *ctx, const char *path,
                                                 tess_ar_montage *out);
// places.c
void tess_ar_montage_close(tess_ar_montage *montage);
TESS_MUST_CHECK tess_status tess_ar_montage_add(tess_ar_montage *montage, const char *name,
                                                const double position[3]);
// By key; NULL if there is none. The first of equal ones.
const tess_ar_place *tess_ar_montage_find(tess_ar_montage *montage, const char *key);

// montage_read.c: the formats; each reads montage->text to its end.
TESS_MUST_CHECK tess_status tess_ar_read_locs(tess_ar_montage *montage);
TESS_MUST_CHECK tess_status tess_ar_read_sfp(tess_ar_montage *montage);
TESS_MUST_CHECK tess_status tess_ar_read_elc(tess_ar_montage *montage);
TESS_MUST_CHECK tess_status tess_ar_read_table(tess_ar_montage *montage);
// montage_bids.c: units and axes of an electrodes.tsv from the coordsystem.json beside it. In doubt
// stands what that says of the unit, for to_metres() to go on.
TESS_MUST_CHECK tess_status tess_ar_read_coordsystem(tess_ar_montage *montage);

// What names are compared by: lower case, without blanks and dots around, a leading "EEG " and a
// trailing reference ("-REF", "-LE", "-AVG").
void tess_ar_name_key(const char *name, char key[TESS_AR_KEY_BYTES]);
// The other name of an electrode in the older nomenclature ("t3" for "t7"); NULL: none.
const char *tess_ar_name_alias(const char *key);

// rule_1005.c: direction of an electrode of the extended 10-20 system by its key, on a sphere of
// radius 1. Returns false if the name is none of it.
bool tess_ar_rule_1005(const char *key, double position[3]);

#endif
