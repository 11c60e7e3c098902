// Lists on the command line: angles, ranges, frames, parameters.

#include "xpcs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse_frames(const cli *c, const char *text, int64_t **out, int64_t *n)
{
    double *reals = NULL;
    CLI_TRY(cli_parse_reals(c, "bad-frames", text, &reals, n));
    *out = malloc((size_t)*n * sizeof **out);
    for (int64_t i = 0; *out && i < *n; i++) {
        if (!(reals[i] >= 1 && reals[i] < 1e9) || reals[i] != floor(reals[i])) {
            const double value = reals[i];
            free(reals);
            return cli_usage_error(c, "--bad-frames: %g is not a frame; they are counted from 1",
                                   value);
        }
        (*out)[i] = (int64_t)reals[i];
    }
    free(reals);
    return *out ? 0 : console_fail(71, "no memory for the values of --bad-frames");
}

// "-10:10,85:95"
static int parse_ranges(const cli *c, const char *text, xpcs_lists *lists)
{
    int64_t count = 1;
    for (const char *at = text; *at; at++) {
        count += *at == ',';
    }
    lists->phi_ranges = calloc((size_t)count, sizeof *lists->phi_ranges);
    if (!lists->phi_ranges) {
        return console_fail(71, "no memory for the values of --phi-ranges");
    }
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        char *end = NULL;
        tess_xpcs_angle_range *range = &lists->phi_ranges[i];
        range->minimum = strtod(at, &end);
        const int has_minimum = end != at && *end == ':';
        const char *second = has_minimum ? end + 1 : end;
        range->maximum = has_minimum ? strtod(second, &end) : 0;
        if (!has_minimum || end == second || (*end != ',' && *end != '\0') ||
            !isfinite(range->minimum) || !isfinite(range->maximum)) {
            return cli_usage_error(
                c, "--phi-ranges: '%s' is not a list of ranges in degrees such as -10:10,85:95",
                text);
        }
        at = end + 1;
    }
    lists->n_phi_range = count;
    return 0;
}

int xpcs_parse_lists(const cli *c, xpcs_lists *lists)
{
    const cli_xpcs_values *v = &c->values.xpcs;

    if (v->phi_ranges) {
        CLI_TRY(parse_ranges(c, v->phi_ranges, lists));
    }
    if (v->bad_frames) {
        CLI_TRY(parse_frames(c, v->bad_frames, &lists->bad_frames, &lists->n_bad_frame));
    }
    if (v->phi) {
        CLI_TRY(cli_parse_reals(c, "phi", v->phi, &lists->phi, &lists->n_phi));
    }
    if (v->theta) {
        CLI_TRY(cli_parse_reals(c, "theta", v->theta, &lists->theta, &lists->n_theta));
    }
    if (v->contrasts) {
        CLI_TRY(
            cli_parse_reals(c, "contrasts", v->contrasts, &lists->contrasts, &lists->n_contrast));
    }
    if (v->offsets) {
        CLI_TRY(cli_parse_reals(c, "offsets", v->offsets, &lists->offsets, &lists->n_offset));
    }
    return 0;
}
