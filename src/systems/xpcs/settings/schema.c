// Finding the row of a key, and rows in words.
#include "systems/xpcs/settings/schema.h"

#include <float.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const tess_param *param_of(const tess_xp_setting *row)
{
    const tess_param_table *table = row->table != NULL ? row->table() : NULL;
    for (int64_t i = 0; table != NULL && i < table->n_param; i++) {
        if (strcmp(table->params[i].name, row->param) == 0) {
            return &table->params[i];
        }
    }
    return NULL;
}

static int32_t type_of(const tess_param *param)
{
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
    case TESS_PARAM_BYTES:
        return TESS_XP_INT;
    case TESS_PARAM_REAL:
        return TESS_XP_REAL;
    case TESS_PARAM_FLAG:
        return TESS_XP_BOOL;
    case TESS_PARAM_CHOICE:
        return TESS_XP_CHOICE;
    }
    return TESS_XP_ANY;
}

tess_xp_rule tess_xp_rule_of(const tess_xp_setting *row)
{
    const tess_param *param = param_of(row);
    tess_xp_rule rule = {.row = row,
                         .param = param,
                         .type = row->type,
                         .offset = row->offset,
                         .minimum = row->minimum,
                         .maximum = row->maximum,
                         .choices = row->choices,
                         .unit = row->unit != NULL ? row->unit : "",
                         .help = row->help != NULL ? row->help : ""};
    if (param != NULL) {
        rule.type = type_of(param);
        rule.offset = row->offset + param->offset;
        rule.minimum = param->minimum;
        rule.maximum = param->maximum;
        rule.choices = param->choices;
        rule.unit = param->unit;
        rule.help = row->help != NULL ? row->help : param->help;
    }
    return rule;
}

// One row against a pattern, key by key: where in found it belongs, NULL for nowhere.
static const tess_xp_setting **match_row(const char *row, const char *pattern, tess_xp_found *found)
{
    for (;;) {
        if (strcmp(row, "**") == 0) {
            return &found->below;
        }
        const size_t n_row = strcspn(row, ".");
        const size_t n_key = strcspn(pattern, ".");
        const bool is_last = pattern[n_key] == '\0';
        const bool is_list = n_row > 2 && row[n_row - 1] == ']';
        const bool is_any = n_row == 1 && row[0] == '*';
        if (is_last && is_list && n_key == n_row - 2 && strncmp(row, pattern, n_key) == 0) {
            return &found->list;
        }
        if (!is_any && (n_row != n_key || strncmp(row, pattern, n_key) != 0)) {
            return NULL;
        }
        if (is_last) {
            const char *rest = row + n_row;
            return *rest == '\0'              ? &found->exact
                   : strcmp(rest, ".**") == 0 ? &found->below
                                              : &found->group;
        }
        if (row[n_row] == '\0') {
            return NULL;
        }
        row += n_row + 1;
        pattern += n_key + 1;
    }
}

tess_xp_found tess_xp_settings_find(const char *pattern)
{
    int64_t n = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n);
    tess_xp_found found = {0};
    for (int64_t i = 0; i < n; i++) {
        const tess_xp_setting **place = match_row(rows[i].path, pattern, &found);
        if (place != NULL && *place == NULL) {
            *place = &rows[i];
        }
    }
    return found;
}

int32_t tess_xp_choice_of(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int32_t index = 0;
    for (const char *at = choices; *at != '\0'; index++) {
        const size_t n = strcspn(at, "|");
        if (n == length && strncasecmp(at, word, n) == 0) {
            return index;
        }
        at += n + (at[n] == '|');
    }
    return -1;
}

const char *tess_xp_type_name(int32_t type)
{
    switch ((tess_xp_setting_type)type) {
    case TESS_XP_REAL:
        return "number";
    case TESS_XP_INT:
        return "whole number";
    case TESS_XP_BOOL:
        return "true or false";
    case TESS_XP_TEXT:
        return "text";
    case TESS_XP_CHOICE:
        return "choice";
    case TESS_XP_REALS:
        return "list of numbers";
    case TESS_XP_INTS:
        return "list of whole numbers";
    case TESS_XP_NAMES:
        return "list of names";
    case TESS_XP_ANY:
        break;
    }
    return "anything";
}

const char *tess_xp_allowed(const tess_xp_rule *rule, char text[TESS_XP_ALLOWED_CHARS])
{
    const bool is_positive = (rule->row->flags & TESS_XP_POSITIVE) != 0;
    const char *unit = rule->unit;
    text[0] = '\0';
    if (rule->choices != NULL) {
        size_t used = (size_t)snprintf(text, TESS_XP_ALLOWED_CHARS, "one of ");
        for (const char *at = rule->choices; *at != '\0' && used < TESS_XP_ALLOWED_CHARS; at++) {
            used += (size_t)snprintf(text + used, TESS_XP_ALLOWED_CHARS - used,
                                     *at == '|' ? ", " : "%c", *at);
        }
    } else if (is_positive && rule->maximum >= 1e9) {
        snprintf(text, TESS_XP_ALLOWED_CHARS, "above 0%s%s", unit[0] ? " " : "", unit);
    } else if (is_positive) {
        snprintf(text, TESS_XP_ALLOWED_CHARS, "above 0, up to %g%s%s", rule->maximum,
                 unit[0] ? " " : "", unit);
    } else if (rule->minimum > -DBL_MAX && rule->maximum < 1e9) {
        snprintf(text, TESS_XP_ALLOWED_CHARS, "%g to %g%s%s", rule->minimum, rule->maximum,
                 unit[0] ? " " : "", unit);
    } else if (rule->minimum > -DBL_MAX) {
        snprintf(text, TESS_XP_ALLOWED_CHARS, "%g or more%s%s", rule->minimum, unit[0] ? " " : "",
                 unit);
    } else {
        snprintf(text, TESS_XP_ALLOWED_CHARS, "any finite number%s%s", unit[0] ? ", " : "", unit);
    }
    return text;
}

void tess_xp_settings_defaults(tess_xpcs_settings_info *info)
{
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    tess_xpcs_model_init(&info->model, sizeof info->model);
    tess_xpcs_data_config_init(&info->data, sizeof info->data);
    tess_xpcs_fit_config_init(&info->fit, sizeof info->fit);
    info->data_path = "";
    info->output_folder = "";
    info->device = "";
    info->method = "nlsq";
    info->notices = "";
    info->save_plots = -1;
    info->log_level = -1;
}

const char *tess_xp_default(const tess_xp_rule *rule, char text[TESS_XP_DEFAULT_CHARS])
{
    tess_xpcs_settings_info info;
    tess_xp_settings_defaults(&info);
    text[0] = '\0';
    const char *field = (const char *)&info + rule->offset;
    const uint32_t flags = rule->row->flags;
    if (rule->row->example != NULL && (flags & TESS_XP_NULL) == 0) {
        snprintf(text, TESS_XP_DEFAULT_CHARS, "%s", rule->row->example);
    } else if (rule->param != NULL && (flags & TESS_XP_NEGATED) != 0) {
        snprintf(text, TESS_XP_DEFAULT_CHARS, "%s",
                 *(const int32_t *)field == 0 ? "true" : "false");
    } else if (rule->param != NULL) {
        tess_param_get_text(rule->param, field - rule->param->offset, text, TESS_XP_DEFAULT_CHARS);
    } else if (rule->offset == TESS_XP_NOWHERE) {
        return text;
    } else if (rule->type == TESS_XP_INT && *(const int64_t *)field != 0) {
        snprintf(text, TESS_XP_DEFAULT_CHARS, "%lld", (long long)*(const int64_t *)field);
    } else if (rule->type == TESS_XP_BOOL && *(const int32_t *)field >= 0) {
        snprintf(text, TESS_XP_DEFAULT_CHARS, "%s",
                 *(const int32_t *)field != 0 ? "true" : "false");
    }
    // A default that the row itself would refuse means "not said".
    const bool is_unsaid = (flags & TESS_XP_POSITIVE) != 0 && strcmp(text, "0") == 0;
    text[0] = is_unsaid ? '\0' : text[0];
    return text;
}
