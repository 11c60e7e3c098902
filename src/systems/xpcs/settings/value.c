// What a configuration says under a key.
#include "systems/xpcs/settings/settings.h"

#include <stdlib.h>
#include <string.h>

const tess_xp_value *tess_xp_value_of(const tess_xpcs_settings *settings, const char *path)
{
    for (int64_t i = settings->n_value - 1; i >= 0; i--) {
        if (settings->values[i]->n_shadow == 0 && strcmp(settings->values[i]->path, path) == 0) {
            return settings->values[i];
        }
    }
    return NULL;
}

const tess_xp_value *tess_xp_said(const tess_xpcs_settings *settings, const char *path)
{
    const tess_xp_value *value = tess_xp_value_of(settings, path);
    return value != NULL && !value->is_null ? value : NULL;
}

static bool is_at_rest(const tess_xp_value *value)
{
    const char *rest = value->row->example;
    if (rest == NULL) {
        return false;
    }
    switch ((tess_xp_setting_type)tess_xp_rule_of(value->row).type) {
    case TESS_XP_BOOL:
        return value->number == (strcmp(rest, "true") == 0 ? 1.0 : 0.0);
    case TESS_XP_REAL:
    case TESS_XP_INT:
        return value->number == strtod(rest, NULL);
    default:
        return strcmp(value->node->text, rest) == 0;
    }
}

int32_t tess_xp_use_of(const tess_xp_value *value)
{
    const bool can_rest = (value->row->flags & TESS_XP_AT_REST) != 0;
    return can_rest && (value->is_null || is_at_rest(value)) ? TESS_XP_NO_EFFECT : value->row->use;
}
