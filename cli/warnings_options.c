// --werror and --no-warn: which warnings there are, and what they cost.

#include "warnings.h"

#include <string.h>

// Every word of a list must be or begin an id.
static int check_list(const cli *c, const char *option, const char *list)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (!warnings_is_id(at, length)) {
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
    warnings_set(c->values.werror, c->values.no_warn);
    return 0;
}

int warnings_finish(int code)
{
    char ids[320];
    const int n_error = warnings_errors(ids, sizeof ids);

    if (n_error == 0 || code != 0) {
        return code;
    }
    return console_fail(1,
                        "%d warning%s count%s as failure by --werror: %s; what was asked for is "
                        "written",
                        n_error, n_error == 1 ? "" : "s", n_error == 1 ? "s" : "", ids);
}
