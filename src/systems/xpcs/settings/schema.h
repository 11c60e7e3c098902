// Every key of a configuration file: its type and range, and where its value goes.
//
// One row per key. Rows that name a parameter take type, range, choices, unit and default from the
// parameter tables, so that nothing is written twice.
#ifndef TESS_XPCS_SETTINGS_SCHEMA_H
#define TESS_XPCS_SETTINGS_SCHEMA_H

#include "tessera/xpcs/settings.h"

#include <stdbool.h>

typedef enum tess_xp_setting_type {
    TESS_XP_REAL = 1,
    TESS_XP_INT = 2,
    TESS_XP_BOOL = 3,
    TESS_XP_TEXT = 4,
    TESS_XP_CHOICE = 5,
    TESS_XP_REALS = 6,
    TESS_XP_INTS = 7,
    TESS_XP_NAMES = 8,
    TESS_XP_ANY = 9 // whatever is there, typed by its looks
} tess_xp_setting_type;

typedef enum tess_xp_setting_use {
    TESS_XP_USED = 0,
    TESS_XP_KEPT = 1,     // travels with the settings, changes nothing by itself
    TESS_XP_SAMPLING = 2, // of the original's sampler, which works otherwise
    TESS_XP_NO_EFFECT = 3 // of the original; read and reported once
} tess_xp_setting_use;

enum {
    TESS_XP_NULL = 1,      // null stands for "not said"
    TESS_XP_AUTO = 2,      // and so does auto
    TESS_XP_POSITIVE = 4,  // zero is out of range, too
    TESS_XP_HELD = 8,      // checked by its row, but what follows is decided in resolve.c
    TESS_XP_MINIMAL = 16,  // part of the minimal template
    TESS_XP_NEGATED = 32,  // stored as 1 - value
    TESS_XP_SPELLING = 64, // another place for a key; templates leave it out
    TESS_XP_AT_REST = 128  // without effect while it says what its example says
};

#define TESS_XP_NOWHERE UINT32_MAX

// path: keys with dots between; * is any one key, name[] an item of a list, ** all that follows.
typedef struct tess_xp_setting {
    const char *path;
    int32_t type; // tess_xp_setting_type; 0: the parameter's
    int32_t use;
    uint32_t flags;
    uint32_t offset;                        // of the field, or of the parameter's struct, in info
    const tess_param_table *(*table)(void); // of the parameter; NULL: none
    const char *param;
    double minimum;
    double maximum;
    const char *choices;
    const char *unit;
    const char *help;
    const char *example; // such as this; the default itself where null is not allowed
} tess_xp_setting;

// A row with its parameter looked up.
typedef struct tess_xp_rule {
    const tess_xp_setting *row;
    const tess_param *param; // NULL: none
    int32_t type;
    uint32_t offset; // of the field in info; TESS_XP_NOWHERE: none
    double minimum;
    double maximum;
    const char *choices;
    const char *unit;
    const char *help;
} tess_xp_rule;

const tess_xp_setting *tess_xp_settings_rows(int64_t *n);
tess_xp_rule tess_xp_rule_of(const tess_xp_setting *row);

// The rows that have a say about a key; NULL: none. The first of each kind.
typedef struct tess_xp_found {
    const tess_xp_setting *exact;
    const tess_xp_setting *list;  // rows of items follow
    const tess_xp_setting *group; // rows of keys follow
    const tess_xp_setting *below; // a row that ends in ** covers it
} tess_xp_found;

// pattern is a key's path with name[] for items; dots inside a key are written /.
tess_xp_found tess_xp_settings_find(const char *pattern);

// "nlsq|cmc" -> position of a word, any case; -1: none.
int32_t tess_xp_choice_of(const char *choices, const char *word);

// "real", "whole number", ... for messages and documents.
const char *tess_xp_type_name(int32_t type);

// "1 to 100 frames", "above 0 s", "one of a, b" into text; returns text.
enum { TESS_XP_ALLOWED_CHARS = 320 };
const char *tess_xp_allowed(const tess_xp_rule *rule, char text[TESS_XP_ALLOWED_CHARS]);

// The default of a row that has one, as text ("" if none); list rows have none.
enum { TESS_XP_DEFAULT_CHARS = 96 };
const char *tess_xp_default(const tess_xp_rule *rule, char text[TESS_XP_DEFAULT_CHARS]);

// What an empty file stands for; no arrays.
void tess_xp_settings_defaults(tess_xpcs_settings_info *info);

#endif
