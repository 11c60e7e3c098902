#include "tessera/param.h"

#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_CHARS = 64 };

static void *field_of(const tess_param *param, void *config)
{
    return (char *)config + param->offset;
}

static double get_number(const tess_param *param, const void *config)
{
    const void *field = (const char *)config + param->offset;
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
        return (double)*(const int64_t *)field;
    case TESS_PARAM_REAL:
        return *(const double *)field;
    case TESS_PARAM_FLAG:
    case TESS_PARAM_CHOICE:
        return *(const int32_t *)field;
    case TESS_PARAM_BYTES:
        return (double)*(const uint64_t *)field;
    }
    return 0;
}

static void set_number(const tess_param *param, void *config, double value)
{
    void *field = field_of(param, config);
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
        *(int64_t *)field = (int64_t)value;
        break;
    case TESS_PARAM_REAL:
        *(double *)field = value;
        break;
    case TESS_PARAM_FLAG:
    case TESS_PARAM_CHOICE:
        *(int32_t *)field = (int32_t)value;
        break;
    case TESS_PARAM_BYTES:
        *(uint64_t *)field = (uint64_t)value;
        break;
    }
}

// Name of choice i into text; false if there are not so many.
static bool choice_name(const char *choices, int i, char *text, size_t capacity)
{
    const char *start = choices;
    for (; i > 0 && start; i--) {
        start = strchr(start, '|');
        start = start ? start + 1 : NULL;
    }
    if (!start) {
        return false;
    }
    snprintf(text, capacity, "%.*s", (int)strcspn(start, "|:"), start);
    return true;
}

// Whether choice i is spelled with a colon: it may come with a number, which belongs to the next
// row of the table.
static bool choice_takes_number(const char *choices, int i)
{
    const char *start = choices;
    for (; i > 0; i--) {
        start = strchr(start, '|') + 1;
    }
    return start[strcspn(start, "|:")] == ':';
}

void tess_params_defaults(const tess_param_table *table, void *config)
{
    for (int64_t i = 0; i < table->n_param; i++) {
        set_number(&table->params[i], config, table->params[i].default_value);
    }
}

// "1M" of 1048576, as sizes are given.
static const char *bytes_text(double bytes, char *text, size_t capacity)
{
    static const char units[] = " KMGT";
    int unit = 0;
    while (units[unit + 1] && bytes >= 1024 && fmod(bytes, 1024) == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, capacity, unit ? "%.0f%c" : "%.0f", bytes, units[unit]);
    return text;
}

static tess_status check_one(const tess_param *param, const void *config)
{
    const double value = get_number(param, config);
    if (value >= param->minimum && value <= param->maximum) {
        return TESS_OK;
    }
    if (param->type == TESS_PARAM_CHOICE) {
        TESS_FAIL(TESS_E_RANGE, "%s: choice %g does not exist; choose one of %s", param->name,
                  value, param->choices);
    }
    if (param->type == TESS_PARAM_BYTES) {
        char given[32];
        char least[32];
        char most[32];
        TESS_FAIL(TESS_E_RANGE, "%s: %s is out of range; allowed is %s to %s bytes", param->name,
                  bytes_text(value, given, sizeof given),
                  bytes_text(param->minimum, least, sizeof least),
                  bytes_text(param->maximum, most, sizeof most));
    }
    TESS_FAIL(TESS_E_RANGE, "%s: %.17g is out of range; allowed is %g to %g%s%s", param->name,
              value, param->minimum, param->maximum, param->unit[0] ? " " : "", param->unit);
}

tess_status tess_params_check(const tess_param_table *table, const void *config)
{
    tess_error_clear();
    for (int64_t i = 0; i < table->n_param; i++) {
        TESS_TRY(check_one(&table->params[i], config));
    }
    return TESS_OK;
}

// strtod() obeys the locale; a scientist's decimal point must not. Locales whose decimal mark is
// a comma get the point replaced before the call.
static bool parse_real(const char *text, double *value, const char **end)
{
    char copy[NUMBER_CHARS];
    const size_t n = strlen(text);
    if (n == 0 || n >= sizeof copy || isspace((unsigned char)text[0]) || strchr(text, ',')) {
        return false;
    }
    memcpy(copy, text, n + 1);
    char probe[8];
    snprintf(probe, sizeof probe, "%.1f", 0.5);
    char *point = strchr(copy, '.');
    if (point && probe[1] != '.') {
        *point = probe[1];
    }
    char *stop = NULL;
    *value = strtod(copy, &stop);
    *end = text + (stop - copy);
    return stop != copy;
}

static tess_status set_int(const tess_param *param, void *config, const char *text)
{
    char *end = NULL;
    errno = 0;
    // Base 10 unless it says 0x: nobody means octal by a leading zero.
    const long long value = strtoll(text, &end, strpbrk(text, "xX") ? 16 : 10);
    if (end != text && *end == '\0' && errno == 0 && !isspace((unsigned char)text[0])) {
        *(int64_t *)field_of(param, config) = value;
        return TESS_OK;
    }
    // "1e6" and "10.0" are whole numbers too.
    double real = 0;
    const char *stop = text;
    if (parse_real(text, &real, &stop) && *stop == '\0' && real == floor(real) &&
        fabs(real) < 9e15) {
        *(int64_t *)field_of(param, config) = (int64_t)real;
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_RANGE, "%s: '%s' is not a whole number", param->name, text);
}

static tess_status set_flag(const tess_param *param, void *config, const char *text)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *(int32_t *)field_of(param, config) = strcasecmp(text, yes[i]) == 0;
            return TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_RANGE, "%s: '%s' is neither true nor false", param->name, text);
}

static tess_status set_real(const tess_param *param, void *config, const char *text)
{
    const char *end = text;
    if (!parse_real(text, (double *)field_of(param, config), &end) || *end) {
        TESS_FAIL(TESS_E_RANGE, "%s: '%s' is not a number", param->name, text);
    }
    return TESS_OK;
}

// number: what follows the colon of "bounded:1e-6"; it belongs to the next row.
static tess_status set_choice_number(const tess_param *param, int choice, void *config,
                                     const char *number)
{
    char name[NUMBER_CHARS];
    choice_name(param->choices, choice, name, sizeof name);
    if (!choice_takes_number(param->choices, choice)) {
        TESS_FAIL(TESS_E_RANGE, "%s: '%s' takes no number, got '%s:%s'", param->name, name, name,
                  number);
    }
    const tess_status status = set_real(param + 1, config, number);
    return status == TESS_OK ? check_one(param + 1, config) : status;
}

static tess_status set_choice(const tess_param *param, void *config, const char *text)
{
    char name[NUMBER_CHARS];
    const size_t length = strcspn(text, ":");
    for (int i = 0; choice_name(param->choices, i, name, sizeof name); i++) {
        if (strlen(name) == length && strncmp(text, name, length) == 0) {
            *(int32_t *)field_of(param, config) = i;
            return text[length] == ':' ? set_choice_number(param, i, config, text + length + 1)
                                       : TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_RANGE, "%s: '%s' does not exist; choose one of %s", param->name, text,
              param->choices);
}

tess_status tess_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGTP";
    tess_error_clear();
    double value = 0;
    const char *end = text;
    const bool has_number = parse_real(text, &value, &end);
    double factor = 1;
    if (has_number && *end) {
        const char *unit = strchr(units, toupper((unsigned char)*end));
        if (unit) {
            factor = ldexp(1, 10 * (int)(unit - units + 1));
            end++;
        }
        if (strcasecmp(end, "B") == 0 || (unit && strcasecmp(end, "iB") == 0)) {
            end += strlen(end);
        }
    }
    if (!has_number || *end || !(value >= 0) || value * factor > 9e18) {
        TESS_FAIL(TESS_E_RANGE, "'%s' is not a size; write 256M, 8G or a number of bytes", text);
    }
    *bytes = (uint64_t)(value * factor);
    return TESS_OK;
}

static tess_status set_bytes(const tess_param *param, void *config, const char *text)
{
    const tess_status status = tess_parse_bytes(text, field_of(param, config));
    return status == TESS_OK ? TESS_OK
                             : tess_error_set(status, "%s: %s", param->name, tess_last_error());
}

tess_status tess_param_set_text(const tess_param *param, void *config, const char *text)
{
    tess_error_clear();
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
        TESS_TRY(set_int(param, config, text));
        break;
    case TESS_PARAM_REAL:
        TESS_TRY(set_real(param, config, text));
        break;
    case TESS_PARAM_FLAG:
        TESS_TRY(set_flag(param, config, text));
        break;
    case TESS_PARAM_CHOICE:
        TESS_TRY(set_choice(param, config, text));
        break;
    case TESS_PARAM_BYTES:
        TESS_TRY(set_bytes(param, config, text));
        break;
    }
    return check_one(param, config);
}

void tess_param_get_text(const tess_param *param, const void *config, char *text, size_t capacity)
{
    const double value = get_number(param, config);
    const void *field = (const char *)config + param->offset;
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
        snprintf(text, capacity, "%" PRId64, *(const int64_t *)field);
        break;
    case TESS_PARAM_BYTES:
        snprintf(text, capacity, "%" PRIu64, *(const uint64_t *)field);
        break;
    case TESS_PARAM_REAL:
        // Written once: what is left behind the end of a text goes into files of fixed texts.
        tess_real_text(value, 6, text, capacity);
        break;
    case TESS_PARAM_FLAG:
        snprintf(text, capacity, "%s", value != 0 ? "true" : "false");
        break;
    case TESS_PARAM_CHOICE:
        if (!choice_name(param->choices, (int)value, text, capacity)) {
            snprintf(text, capacity, "%g", value);
        }
        break;
    }
}
