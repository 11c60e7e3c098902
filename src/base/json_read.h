// A JSON reader: text to a tree. Strict (RFC 8259), for files from anywhere.
#ifndef TESS_BASE_JSON_READ_H
#define TESS_BASE_JSON_READ_H

#include "base/blocks.h"

typedef enum tess_json_kind {
    TESS_JSON_NULL = 0,
    TESS_JSON_BOOL = 1,
    TESS_JSON_NUMBER = 2,
    TESS_JSON_TEXT = 3,
    TESS_JSON_ARRAY = 4,
    TESS_JSON_OBJECT = 5
} tess_json_kind;

typedef struct tess_json_value {
    int32_t kind;
    int32_t line;                        // where it begins, for messages
    const char *key;                     // of a member of an object, else NULL
    const char *text;                    // of a text: UTF-8 without zeros inside; of a number:
                                         // as it is written
    double number;                       // of a number; 0 or 1 of a bool
    int64_t n;                           // items of an array, members of an object
    const struct tess_json_value *first; // of them
    const struct tess_json_value *next;  // in the same array or object
} tess_json_value;

// The value of a whole text; the tree lives in memory. TESS_E_FORMAT naming file (path), line and
// what is wrong.
TESS_MUST_CHECK tess_status tess_json_parse(tess_blocks *memory, const char *path, const char *text,
                                            size_t bytes, const tess_json_value **out);

// The member of an object; NULL if there is none of this name, or value is no object.
const tess_json_value *tess_json_find(const tess_json_value *value, const char *key);

#endif
