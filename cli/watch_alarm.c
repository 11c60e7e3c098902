// Reads the bounds of --alarm, and says which of them a fit breaks.

#include "watch_alarm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OF_CHI2 = -1, OF_QUALITY = -2, OF_NOTHING = -3 };

static int is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static void find_what(const watch_table *table, const char *name, size_t length, watch_alarm *alarm)
{
    static const char error[] = "_sd";
    const size_t n_error = sizeof error - 1;

    alarm->what = is_word(name, length, "reduced_chi2") ? OF_CHI2
                  : is_word(name, length, "quality")    ? OF_QUALITY
                                                        : OF_NOTHING;
    for (int64_t k = 0; k < table->n_param; k++) {
        const char *known = table->params[k].name;
        const size_t n = strlen(known);
        if (strncmp(name, known, n) == 0 &&
            (length == n || (length == n + n_error && strncmp(name + n, error, n_error) == 0))) {
            alarm->what = k;
            alarm->is_error = length > n;
        }
    }
}

static int unknown_name(const cli *c, const watch_table *table, const char *name, size_t length)
{
    char all[512] = "";

    for (int64_t k = 0; k < table->n_param; k++) {
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s, ", table->params[k].name);
    }
    return cli_usage_error(c,
                           "--alarm: '%.*s' is nothing a fit has; there are %sreduced_chi2 and "
                           "quality, and NAME_sd of the errors",
                           (int)length, name, all);
}

// A number, or a word of quality; NaN: neither.
static double parse_limit(const watch_alarm *alarm, const char *text)
{
    char *end = NULL;

    for (int q = TESS_XPCS_GOOD; alarm->what == OF_QUALITY && q <= TESS_XPCS_POOR; q++) {
        if (strcmp(text, tess_xpcs_quality_name((tess_xpcs_quality)q)) == 0) {
            return q;
        }
    }
    const double limit = strtod(text, &end);
    return alarm->what == OF_QUALITY || end == text || *end ? (double)NAN : limit;
}

static int parse_one(const cli *c, const watch_table *table, const char *text, size_t length,
                     watch_alarm *alarm)
{
    snprintf(alarm->text, sizeof alarm->text, "%.*s", (int)length, text);
    const size_t n_name = strcspn(alarm->text, "<>=");
    const char *relation = alarm->text + n_name;
    const size_t n_relation = strspn(relation, "<>=");

    if (n_name == 0 || n_relation == 0 || n_relation > 2 || length >= sizeof alarm->text ||
        (n_relation == 2 && (relation[0] == '=' || relation[1] != '='))) {
        return cli_usage_error(c,
                               "--alarm: '%.*s' is no bound; write NAME>NUMBER with >, >=, <, <= "
                               "or =, such as D0>2e4 or quality=poor",
                               (int)length, text);
    }
    memcpy(alarm->relation, relation, n_relation);
    find_what(table, alarm->text, n_name, alarm);
    if (alarm->what == OF_NOTHING) {
        return unknown_name(c, table, alarm->text, n_name);
    }
    alarm->limit = parse_limit(alarm, relation + n_relation);
    return isnan(alarm->limit)
               ? cli_usage_error(c, "--alarm: '%s' has no %s behind the %s", alarm->text,
                                 alarm->what == OF_QUALITY ? "good, marginal or poor" : "number",
                                 alarm->relation)
               : 0;
}

int watch_alarms_parse(const cli *c, const watch_table *table, const char *text,
                       watch_alarms *alarms)
{
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        if (alarms->n == WATCH_MAX_ALARM) {
            return cli_usage_error(c, "--alarm: there are more than %d bounds", WATCH_MAX_ALARM);
        }
        CLI_TRY(parse_one(c, table, text, length, &alarms->alarms[alarms->n++]));
        text += length + (text[length] == ',');
    }
    return 0;
}

static double value_of(const watch_alarm *alarm, const watch_row *row)
{
    return alarm->what == OF_CHI2      ? row->reduced_chi2
           : alarm->what == OF_QUALITY ? row->quality
           : alarm->is_error           ? row->sd[alarm->what]
                                       : row->theta[alarm->what];
}

static int is_set_off(const watch_alarm *alarm, double x)
{
    const int has_equal = alarm->relation[0] == '=' || alarm->relation[1] == '=';

    return (has_equal && x == alarm->limit) || (alarm->relation[0] == '<' && x < alarm->limit) ||
           (alarm->relation[0] == '>' && x > alarm->limit);
}

char *watch_alarms_of(const watch_alarms *alarms, const watch_table *table, const watch_row *row)
{
    char *text = NULL;
    size_t bytes = 0;
    int count = 0;
    FILE *file = open_memstream(&text, &bytes);

    for (int i = 0; file && row->status == WATCH_FITTED && i < alarms->n; i++) {
        const watch_alarm *alarm = &alarms->alarms[i];
        const double x = value_of(alarm, row);
        if (!is_set_off(alarm, x)) {
            continue;
        }
        fputs(count++ ? "; " : "", file);
        if (alarm->what == OF_QUALITY) {
            fprintf(file, "quality is %s", tess_xpcs_quality_name((tess_xpcs_quality)row->quality));
        } else {
            const char *name =
                alarm->what == OF_CHI2 ? "reduced_chi2" : table->params[alarm->what].name;
            fprintf(file, "%s%s = %.5g %s %.5g", name, alarm->is_error ? "_sd" : "", x,
                    alarm->relation[0] == '=' ? "as" : alarm->relation, alarm->limit);
        }
    }
    if (!file || fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
