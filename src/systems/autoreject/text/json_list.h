// Lists in JSON text: what FIF files keep drop logs and tables in.
#ifndef TESS_AUTOREJECT_JSON_LIST_H
#define TESS_AUTOREJECT_JSON_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Steps through the items of an array. Start with *at at its '[' and *item NULL; true with the
// next item's text, false behind the last one (*at behind the ']') or where the text is no list
// (*at NULL).
bool tess_ar_json_next(const char **at, const char **item, size_t *bytes);

// Items of a list; -1 if the text is none.
int64_t tess_ar_json_count(const char *text);

// A string with its quotes, as UTF-8 without; dst has room for bytes. false: no string.
bool tess_ar_json_string(const char *item, size_t bytes, char *dst);

#endif
