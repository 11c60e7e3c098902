// Lists of numbers on the command line.

#include "cli.h"

#include <math.h>
#include <stdlib.h>

int cli_parse_reals(const cli *c, const char *option, const char *text, double **out, int64_t *n)
{
    int64_t count = 1;
    for (const char *at = text; *at; at++) {
        count += *at == ',';
    }
    double *values = malloc((size_t)count * sizeof *values);
    if (!values) {
        return console_fail(71, "no memory for the values of --%s", option);
    }
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        char *end = NULL;
        values[i] = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0') || !isfinite(values[i])) {
            free(values);
            return cli_usage_error(c, "--%s: '%s' is not a list of numbers such as 0.1,0.3", option,
                                   text);
        }
        at = end + 1;
    }
    *out = values;
    *n = count;
    return 0;
}
