// A configuration as it was read: one value per key, and what follows from all of them.
#ifndef TESS_XPCS_SETTINGS_SETTINGS_H
#define TESS_XPCS_SETTINGS_SETTINGS_H

#include "base/blocks.h"
#include "base/text.h"
#include "runtime/context.h"
#include "systems/xpcs/settings/schema.h"
#include "tessera/sys/document.h"

enum { TESS_XP_PATH_CHARS = 256, TESS_XP_PLACE_CHARS = 400 };

// A key with its value. Which of number, text and items counts is decided by the row's type.
typedef struct tess_xp_value {
    const char *path;
    const tess_xp_setting *row;
    const tess_document_node *node;
    bool is_null;     // null, or auto where that means the same
    int32_t n_shadow; // later values of the same key or of one above it: 0 counts
    bool is_set;      // by tess_xpcs_settings_set()
    double number;    // also 0 or 1, and the position of a choice
    int64_t whole;    // an integer in full
    int64_t n_item;
    const double *numbers; // of a list of numbers
} tess_xp_value;

struct tess_xpcs_settings {
    tess_context *ctx;
    char path[1024]; // "": none
    bool is_json;
    bool is_lenient;
    tess_blocks memory; // values and their texts
    tess_document **documents;
    int64_t n_document;
    int64_t document_capacity;
    tess_xp_value **values;
    int64_t n_value;
    int64_t value_capacity;
    tess_text read_notices; // from reading: kept while values are set
    int64_t n_read_notice;
    tess_blocks resolved; // arrays of info
    tess_text notices;
    tess_xpcs_settings_info info;
};

// Takes every value of a file, or of one key (with its dots) that is set.
TESS_MUST_CHECK tess_status tess_xp_read_root(tess_xpcs_settings *settings,
                                              const tess_document_node *root);
TESS_MUST_CHECK tess_status tess_xp_read_key(tess_xpcs_settings *settings, const char *key,
                                             const tess_document_node *node);

// Types a value by its row. Its path, row and node are there already.
TESS_MUST_CHECK tess_status tess_xp_read_value(tess_xpcs_settings *settings, tess_xp_value *value);
// null, nothing and ~.
bool tess_xp_is_null(const tess_document_node *node);

// The value in force; NULL if nobody said anything. Nulls are values.
const tess_xp_value *tess_xp_value_of(const tess_xpcs_settings *settings, const char *path);
// The same, NULL for nulls, too.
const tess_xp_value *tess_xp_said(const tess_xpcs_settings *settings, const char *path);

// What a value in force does: its row's use, or nothing where it says what stands anyway.
int32_t tess_xp_use_of(const tess_xp_value *value);

// Makes text of a file harmless to a terminal: ? for control characters. Returns text.
char *tess_xp_tame(char *text);

// A line for read_notices; a file with very many gets the first hundred.
void tess_xp_note(tess_xpcs_settings *settings, const char *format, ...) TESS_PRINTF(2, 3);

// TESS_E_CONFIG: "file:3:7: key: ..." for a value of the file, "key: ..." for one that was set.
tess_status tess_xp_complain(const tess_xpcs_settings *settings, const tess_xp_value *value,
                             const char *format, ...) TESS_PRINTF(3, 4);
// "file:3:7: " into text, "" for what was set; returns text.
const char *tess_xp_place(const tess_xpcs_settings *settings, bool is_set,
                          tess_document_place place, char text[TESS_XP_PLACE_CHARS]);

// What is made from the values; becomes that of the settings if all goes well.
typedef struct tess_xp_resolution {
    const tess_xpcs_settings *settings;
    tess_xpcs_settings_info info;
    tess_blocks memory; // arrays of info
    tess_text notices;
    tess_xpcs_sample_config *sample; // info's, being filled
    double *priors;                  // its means and standard deviations
} tess_xp_resolution;

// Fills settings->info and notices anew from the values; leaves them as they are on failure.
TESS_MUST_CHECK tess_status tess_xp_resolve(tess_xpcs_settings *settings);
// Its parts: parameters (start, bounds, fixed, scales), and data (paths, ranges, frames, cache).
TESS_MUST_CHECK tess_status tess_xp_resolve_params(tess_xp_resolution *r);
TESS_MUST_CHECK tess_status tess_xp_resolve_data(tess_xp_resolution *r);
// What angles have in common, and what each weighs.
TESS_MUST_CHECK tess_status tess_xp_resolve_angles(tess_xp_resolution *r);
// Sampling but the priors, which come with the parameters and find their room here.
TESS_MUST_CHECK tess_status tess_xp_resolve_sampling(tess_xp_resolution *r);

// Values of one key of the items of a list: out[i] for list[i].key, NULL where there is none. Both
// arrays of a list have the same *n.
TESS_MUST_CHECK tess_status tess_xp_items(tess_xp_resolution *r, const char *list, const char *key,
                                          const tess_xp_value ***out, int64_t *n);

#endif
