// How rows of the table of keys are written; for schema_rows.c alone.
#ifndef TESS_SYSTEMS_XPCS_SETTINGS_SCHEMA_ROW_H
#define TESS_SYSTEMS_XPCS_SETTINGS_SCHEMA_ROW_H

#include "systems/xpcs/settings/schema.h"

#include <stddef.h>

#define AT(field) ((uint32_t)offsetof(tess_xpcs_settings_info, field))

// Rows of the parameter tables.
#define MODEL(key, name, bits)                                                                     \
    {                                                                                              \
        .path = key, .table = tess_xpcs_model_params, .param = name, .offset = AT(model),          \
        .flags = (bits)                                                                            \
    }
#define DATA(key, name, bits)                                                                      \
    {                                                                                              \
        .path = key, .table = tess_xpcs_data_params, .param = name, .offset = AT(data),            \
        .flags = (bits)                                                                            \
    }
#define FIT(key, name, bits)                                                                       \
    {                                                                                              \
        .path = key, .table = tess_xpcs_fit_params, .param = name, .offset = AT(fit),              \
        .flags = (bits)                                                                            \
    }
// The same with a meaning, or an example for templates, of its own.
#define MODEL_AS(key, name, bits, text, shown)                                                     \
    {                                                                                              \
        .path = key, .table = tess_xpcs_model_params, .param = name, .offset = AT(model),          \
        .flags = (bits), .help = text, .example = shown                                            \
    }
#define FIT_AS(key, name, bits, text, shown)                                                       \
    {                                                                                              \
        .path = key, .table = tess_xpcs_fit_params, .param = name, .offset = AT(fit),              \
        .flags = (bits), .help = text, .example = shown                                            \
    }

// Rows of their own.
#define ROW(key, kind, role, bits, where, low, high, words, of, text, shown)                       \
    {                                                                                              \
        key, kind, role, bits, where, NULL, NULL, low, high, words, of, text, shown                \
    }
#define TEXT(key, bits, where, text, shown)                                                        \
    ROW(key, TESS_XP_TEXT, TESS_XP_USED, bits, where, 0, 0, NULL, "", text, shown)
#define FLAG(key, bits, where, text, shown)                                                        \
    ROW(key, TESS_XP_BOOL, TESS_XP_USED, bits, where, 0, 1, NULL, "", text, shown)
#define KEPT(key, kind, low, high, text)                                                           \
    ROW(key, kind, TESS_XP_KEPT, TESS_XP_NULL, TESS_XP_NOWHERE, low, high, NULL, "", text, NULL)
#define SAMPLING(key, kind, bits, low, high, text)                                                 \
    ROW(key, kind, TESS_XP_SAMPLING, (bits) | TESS_XP_NULL, TESS_XP_NOWHERE, low, high, NULL, "",  \
        text, NULL)
// Of the sampler; resolve_sampling.c takes them.
#define DRAWS(key, kind, bits, low, high, words, text, shown)                                      \
    ROW(key, kind, TESS_XP_USED, (bits) | TESS_XP_NULL | TESS_XP_HELD, TESS_XP_NOWHERE, low, high, \
        words, "", text, shown)
#define IGNORED(key, text)                                                                         \
    ROW(key, TESS_XP_ANY, TESS_XP_NO_EFFECT, TESS_XP_NULL, TESS_XP_NOWHERE, 0, 0, NULL, "", text,  \
        NULL)
// Without effect as long as it is what the original has by default; resolve_*.c takes the rest.
#define RESTING(key, kind, low, high, text, rest)                                                  \
    ROW(key, kind, TESS_XP_USED, TESS_XP_NULL | TESS_XP_HELD | TESS_XP_SPELLING | TESS_XP_AT_REST, \
        TESS_XP_NOWHERE, low, high, NULL, "", text, rest)
#define RESTING_FIT(key, name, text, rest)                                                         \
    FIT_AS(key, name, TESS_XP_NULL | TESS_XP_SPELLING | TESS_XP_AT_REST, text, rest)

#define NOWHERE TESS_XP_NOWHERE

#endif
