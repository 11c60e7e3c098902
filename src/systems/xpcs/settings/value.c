// What a configuration says under a key.
#include "systems/xpcs/settings/settings.h"

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
