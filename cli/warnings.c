#include "warnings.h"

#include <stdio.h>
#include <string.h>

static const char *errors; // of --werror: a list, "" for all; NULL: none
static const char *hidden; // of --no-warn
static const tess_warning_info *met[8];
static int n_met;
static int n_error;

// "xpcs.bound", or "xpcs" for all that begin so.
static int is_named(const char *id, const char *word, size_t length)
{
    return strncmp(id, word, length) == 0 && (id[length] == '\0' || id[length] == '.');
}

static int is_listed(const char *list, const char *id)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (length > 0 && is_named(id, at, length)) {
            return 1;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

int warnings_is_id(const char *word, size_t length)
{
    int64_t n = 0;
    const tess_warning_info *all = tess_warnings(&n);
    int is_known = 0;

    for (int64_t i = 0; i < n; i++) {
        is_known |= length > 0 && is_named(all[i].id, word, length);
    }
    return is_known;
}

void warnings_set(const char *as_errors, const char *unwanted)
{
    errors = as_errors;
    hidden = unwanted;
    n_error = 0;
    n_met = 0;
}

int warnings_take(const tess_warning_info *warning)
{
    int is_new = 1;

    if (hidden && is_listed(hidden, warning->id)) {
        return 0;
    }
    if (errors && (errors[0] == '\0' || is_listed(errors, warning->id))) {
        for (int i = 0; i < n_met; i++) {
            is_new &= met[i] != warning;
        }
        if (is_new && n_met < (int)(sizeof met / sizeof met[0])) {
            met[n_met++] = warning;
        }
        n_error++;
    }
    return 1;
}

int warnings_errors(char *ids, size_t capacity)
{
    size_t used = 0;

    ids[0] = '\0';
    for (int i = 0; i < n_met && used < capacity; i++) {
        used +=
            (size_t)snprintf(ids + used, capacity - used, "%s%s", i > 0 ? ", " : "", met[i]->id);
    }
    return n_error;
}
