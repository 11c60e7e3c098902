// Parameters on the command line: where they start, how far they may go, and which stay.

#include "xpcs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The parameter of a name or alias; -1 if there is none.
static int64_t find_param(const tess_xpcs_param_info *params, int64_t n, const char *name,
                          size_t length)
{
    for (int64_t k = 0; k < n; k++) {
        if (strlen(params[k].name) == length && strncmp(params[k].name, name, length) == 0) {
            return k;
        }
        for (const char *alias = params[k].aliases; *alias;) {
            const size_t n_alias = strcspn(alias, "|");
            if (n_alias == length && strncmp(alias, name, length) == 0) {
                return k;
            }
            alias += n_alias + (alias[n_alias] == '|');
        }
    }
    return -1;
}

static int parse_number(const cli *c, const char *option, const char *text, size_t length,
                        double *value)
{
    char copy[64];
    char *end = NULL;

    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    *value = strtod(copy, &end);
    if (length == 0 || length >= sizeof copy || *end || !isfinite(*value)) {
        return cli_usage_error(c, "--%s: '%.*s' is not a number", option, (int)length, text);
    }
    return 0;
}

static const char *const start_options[CLI_XPCS_STARTS] = {
    "initial-d0",           "initial-alpha", "initial-d-offset",
    "initial-gamma-dot-t0", "initial-beta",  "initial-gamma-dot-offset",
    "initial-phi0"};

static int no_parameter(const cli *c, const char *option, const xpcs_job *j,
                        const tess_xpcs_param_info *params, int64_t n, const char *name,
                        size_t length)
{
    const char *names[TESS_XPCS_MAX_PARAM];
    char wanted[64];
    char all[256] = "";

    snprintf(wanted, sizeof wanted, "%.*s", (int)length, name);
    for (int64_t k = 0; k < n; k++) {
        const size_t used = strlen(all);
        names[k] = params[k].name;
        snprintf(all + used, sizeof all - used, "%s%s", k ? ", " : "", names[k]);
    }
    const char *nearest = suggest_nearest(wanted, names, n);
    return cli_usage_error(c, "--%s: '%s' is no parameter of mode %s;%s%s%s there are %s", option,
                           wanted, tess_xpcs_mode_name((tess_xpcs_mode)j->model.mode),
                           nearest ? " did you mean '" : "", nearest ? nearest : "",
                           nearest ? "'?" : "", all);
}

int xpcs_find_param(const cli *c, const xpcs_job *j, const char *option, const char *name,
                    size_t length, int64_t *param)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);
    *param = find_param(params, n, name, length);
    return *param < 0 ? no_parameter(c, option, j, params, n, name, length) : 0;
}

// "beta=0,phi0": a parameter without a value stays at its start.
static int take_fixed(const cli *c, xpcs_job *j, const tess_xpcs_param_info *params, int64_t n)
{
    for (const char *at = c->values.xpcs.fixed; at && *at;) {
        const size_t length = strcspn(at, ",");
        const size_t n_name = strcspn(at, "=,");
        const int64_t k = find_param(params, n, at, n_name);
        if (k < 0) {
            return no_parameter(c, "fix", j, params, n, at, n_name);
        }
        if (n_name < length && k < CLI_XPCS_STARTS && c->values.xpcs.starts[k]) {
            return cli_usage_error(c, "--fix %.*s and --%s exclude each other: give one value",
                                   (int)length, at, start_options[k]);
        }
        if (n_name < length) {
            CLI_TRY(parse_number(c, "fix", at + n_name + 1, length - n_name - 1, &j->start[k]));
        }
        j->is_fixed[k] = 1;
        at += length + (at[length] == ',');
    }
    return 0;
}

// "LOW:HIGH", of which one side may be empty: it stays.
static int parse_bounds(const cli *c, const char *name, const char *text, size_t length,
                        double *lower, double *upper)
{
    const size_t n_low = strcspn(text, ":,");

    if (n_low >= length || length == 1) {
        return cli_usage_error(c,
                               "--bounds %.*s: '%.*s' is no range; write NAME=LOW:HIGH, such as "
                               "phi0=-45:45",
                               (int)(text - name) - 1, name, (int)length, text);
    }
    if (n_low > 0) {
        CLI_TRY(parse_number(c, "bounds", text, n_low, lower));
    }
    if (n_low + 1 < length) {
        CLI_TRY(parse_number(c, "bounds", text + n_low + 1, length - n_low - 1, upper));
    }
    if (*lower > *upper) {
        return cli_usage_error(c, "--bounds %.*s: the lower bound, %g, is above the upper, %g",
                               (int)(text - name) - 1, name, *lower, *upper);
    }
    return 0;
}

// "contrast" 0, "offset" 1; -1: neither.
static int find_scaling(const char *name, size_t length)
{
    for (int which = 0; which < 2; which++) {
        const char *known = tess_xpcs_scaling_param(which)->name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return which;
        }
    }
    return -1;
}

// "phi0=-45:45,D0=1:1e6", contrast and offset included.
static int take_bounds(const cli *c, xpcs_job *j, const tess_xpcs_param_info *params, int64_t n)
{
    tess_xpcs_fit_config *config = &j->fit_config;

    for (int64_t k = 0; k < n && k < TESS_XPCS_MAX_PARAM; k++) {
        j->lower[k] = config->lower ? config->lower[k] : params[k].lower;
        j->upper[k] = config->upper ? config->upper[k] : params[k].upper;
    }
    for (const char *at = c->values.xpcs.bounds; at && *at;) {
        const size_t length = strcspn(at, ",");
        const size_t n_name = strcspn(at, "=,");
        const int which = find_scaling(at, n_name);
        const int64_t k = which < 0 ? find_param(params, n, at, n_name) : which;
        if (k < 0) {
            return no_parameter(c, "bounds", j, params, n, at, n_name);
        }
        CLI_TRY(parse_bounds(c, at, at + n_name + (n_name < length),
                             n_name < length ? length - n_name - 1 : 0,
                             which < 0 ? &j->lower[k] : &config->scaling_lower[k],
                             which < 0 ? &j->upper[k] : &config->scaling_upper[k]));
        if (which < 0 && j->lower[k] == j->upper[k]) { // as in a configuration
            j->start[k] = j->lower[k];
            j->is_fixed[k] = 1;
        }
        at += length + (at[length] == ',');
    }
    config->lower = j->lower;
    config->upper = j->upper;
    return 0;
}

// "D0=1e4": what one step of a parameter is measured by.
static int take_scales(const cli *c, xpcs_job *j, const tess_xpcs_param_info *params, int64_t n)
{
    tess_xpcs_fit_config *config = &j->fit_config;

    for (int64_t k = 0; k < n && k < TESS_XPCS_MAX_PARAM; k++) {
        j->x_scale[k] = config->x_scale ? config->x_scale[k] : (double)NAN;
    }
    for (const char *at = c->values.xpcs.x_scale; at && *at;) {
        const size_t length = strcspn(at, ",");
        const size_t n_name = strcspn(at, "=,");
        const int64_t k = find_param(params, n, at, n_name);
        if (k < 0) {
            return no_parameter(c, "x-scale", j, params, n, at, n_name);
        }
        CLI_TRY(parse_number(c, "x-scale", at + n_name + (n_name < length),
                             n_name < length ? length - n_name - 1 : 0, &j->x_scale[k]));
        if (!(j->x_scale[k] > 0)) {
            return cli_usage_error(c, "--x-scale %s: %g must be positive", params[k].name,
                                   j->x_scale[k]);
        }
        at += length + (at[length] == ',');
    }
    config->x_scale = c->values.xpcs.x_scale || config->x_scale ? j->x_scale : NULL;
    return 0;
}

// Contrasts and offsets by angle: where they start, or stay with constant scaling.
static int take_scaling(const cli *c, xpcs_job *j)
{
    tess_xpcs_fit_config *config = &j->fit_config;
    const xpcs_lists *lists = &j->lists;

    if (lists->n_contrast > 0 && lists->n_offset > 0 && lists->n_contrast != lists->n_offset) {
        return cli_usage_error(c, "--contrasts has %lld values and --offsets %lld: one an angle",
                               (long long)lists->n_contrast, (long long)lists->n_offset);
    }
    if (lists->n_contrast > 0 || lists->n_offset > 0) {
        config->contrast = lists->n_contrast > 0 ? lists->contrasts : config->contrast;
        config->offset = lists->n_offset > 0 ? lists->offsets : config->offset;
        config->n_scaling = lists->n_contrast > 0 ? lists->n_contrast : lists->n_offset;
    }
    return 0;
}

int xpcs_take_starts(const cli *c, xpcs_job *j)
{
    tess_xpcs_fit_config *config = &j->fit_config;
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);
    const int32_t said = tess_xpcs_settings_get_info(j->settings)->model.mode;

    if ((said == TESS_XPCS_TWO_COMPONENT) != (j->model.mode == TESS_XPCS_TWO_COMPONENT)) {
        // The mode is from elsewhere: what the settings have are other parameters.
        config->start = config->lower = config->upper = config->x_scale = NULL;
        config->is_fixed = NULL;
    }
    for (int64_t k = 0; k < n && k < TESS_XPCS_MAX_PARAM; k++) {
        j->start[k] = config->start ? config->start[k] : (double)NAN;
        j->is_fixed[k] = config->is_fixed ? config->is_fixed[k] : 0;
    }
    for (int64_t k = 0; k < CLI_XPCS_STARTS; k++) {
        const char *text = c->values.xpcs.starts[k];
        // Two components have names of their own.
        if (text && (k >= n || j->model.mode == TESS_XPCS_TWO_COMPONENT)) {
            return cli_usage_error(c,
                                   "--%s: mode %s has no such parameter; initial_parameters of a "
                                   "configuration start any by its name",
                                   start_options[k],
                                   tess_xpcs_mode_name((tess_xpcs_mode)j->model.mode));
        }
        if (text) {
            CLI_TRY(parse_number(c, start_options[k], text, strlen(text), &j->start[k]));
        }
    }
    if (c->values.xpcs.starts[0] && !(j->start[0] > 0)) {
        return cli_usage_error(c, "--initial-d0: %g must be positive, in Å²/s", j->start[0]);
    }
    CLI_TRY(take_fixed(c, j, params, n));
    CLI_TRY(take_bounds(c, j, params, n));
    CLI_TRY(take_scales(c, j, params, n));
    config->start = j->start;
    config->is_fixed = j->is_fixed;
    return take_scaling(c, j);
}
