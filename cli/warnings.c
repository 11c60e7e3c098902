#include "warnings.h"

#include <stdlib.h>
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

// Every word of a list must be or begin an id.
static int check_list(const cli *c, const char *option, const char *list)
{
    int64_t n = 0;
    const tess_warning_info *all = tess_warnings(&n);

    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        int is_known = 0;
        for (int64_t i = 0; i < n; i++) {
            is_known |= length > 0 && is_named(all[i].id, at, length);
        }
        if (!is_known) {
            return cli_usage_error(c,
                                   "%s: no warning has the id '%.*s'; 'tessera help warnings' "
                                   "lists them",
                                   option, (int)length, at);
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

int warnings_init(const cli *c)
{
    CLI_TRY(check_list(c, "--werror", c->values.werror ? c->values.werror : ""));
    CLI_TRY(check_list(c, "--no-warn", c->values.no_warn ? c->values.no_warn : ""));
    errors = c->values.werror;
    hidden = c->values.no_warn;
    n_error = 0;
    n_met = 0;
    return 0;
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

int warnings_finish(int code)
{
    char ids[320] = "";

    if (n_error == 0 || code != 0) {
        return code;
    }
    for (int i = 0; i < n_met; i++) {
        const size_t used = strlen(ids);
        snprintf(ids + used, sizeof ids - used, "%s%s", i > 0 ? ", " : "", met[i]->id);
    }
    return console_fail(1,
                        "%d warning%s count%s as failure by --werror: %s; what was asked for is "
                        "written",
                        n_error, n_error == 1 ? "" : "s", n_error == 1 ? "s" : "", ids);
}
