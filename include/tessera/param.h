/**
 * Parameter tables: one description of every option of a computation, from which the command's
 * options and help, the configuration schema, Python keywords and docstrings, range checks and
 * the checkpoint's settings are all derived. No default is written anywhere else.
 */
#ifndef TESSERA_PARAM_H
#define TESSERA_PARAM_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

typedef enum tess_param_type {
    TESS_PARAM_INT = 1,    /* field is int64_t */
    TESS_PARAM_REAL = 2,   /* field is double */
    TESS_PARAM_FLAG = 3,   /* field is int32_t, 0 or 1 */
    TESS_PARAM_CHOICE = 4, /* field is int32_t, index into choices */
    TESS_PARAM_BYTES = 5   /* field is uint64_t; text such as 256M, 8G, 1073741824 */
} tess_param_type;

typedef struct tess_param {
    const char *name; /* snake_case; the command spells it with dashes */
    int32_t type;     /* tess_param_type */
    uint32_t offset;  /* of the field in the config struct */
    double default_value;
    double minimum;
    double maximum;      /* inclusive */
    const char *choices; /* "a|b|c:" for TESS_PARAM_CHOICE, else NULL. A choice that ends in a colon
                            may be given a number ("c:1e-6"), which is stored in the next row of the
                            table, of type TESS_PARAM_REAL */
    const char *unit;    /* "s", "epochs", "bytes", "" */
    const char *help;    /* one sentence, no full stop */
} tess_param;

/** A named table: "autoreject.ptp" is both the configuration section and the checkpoint's name. */
typedef struct tess_param_table {
    const char *name;
    const tess_param *params;
    int64_t n_param;
} tess_param_table;

/** Writes every default into the config struct the table describes (struct_size untouched). */
TESS_API void tess_params_defaults(const tess_param_table *table, void *config);

/** Checks every field's range. The message names the parameter, its value and what is allowed. */
TESS_API TESS_MUST_CHECK tess_status tess_params_check(const tess_param_table *table,
                                                       const void *config);

/**
 * Parses text into one field by the parameter's type and checks its range. Numbers take any sane
 * spelling ("1e-3", "10", "0x10" for integers); flags take true/false/yes/no/on/off/1/0.
 * The field is unspecified after a failure.
 */
TESS_API TESS_MUST_CHECK tess_status tess_param_set_text(const tess_param *param, void *config,
                                                         const char *text);

/** Writes the field's value as text that tess_param_set_text() reads back. The number of a choice
 * is left to its own row. */
TESS_API void tess_param_get_text(const tess_param *param, const void *config, char *text,
                                  size_t capacity);

/** Parses "256M", "1.5G", "4096", "2GiB" (powers of 1024) into bytes. */
TESS_API TESS_MUST_CHECK tess_status tess_parse_bytes(const char *text, uint64_t *bytes);

/** Every table of the library, in a fixed order; tables[i] for i < *n_table. */
TESS_API const tess_param_table *const *tess_param_tables(int64_t *n_table);

TESS_END_DECLS

#endif
