// Everything in force as JSON: values by key, what has no effect, and what follows for a run.
#include "base/json.h"
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCHEMA "tessera.xpcs.settings/1"

enum { NUMBER_CHARS = 64 };

static const char *const origins[] = {"default", "file", "set"};

// A scalar typed by its looks, as PyYAML does. With typed set it becomes "type" and "value".
static void put_scalar(tess_json *json, const tess_document_node *node, bool typed)
{
    const char *key = typed ? "value" : NULL;
    const tess_document_type type = tess_document_scalar_type(node);
    char text[NUMBER_CHARS];
    size_t n = 0;
    for (const char *at = node->text; *at != '\0' && n + 1 < sizeof text; at++) {
        text[n] = *at;
        n += *at != '_';
    }
    text[n] = '\0';
    const char *name = "string";
    if (type == TESS_DOCUMENT_NULL) {
        name = "null";
        tess_json_text(json, key, NULL);
    } else if (type == TESS_DOCUMENT_BOOL) {
        name = "bool";
        tess_json_bool(json, key, strchr("yYtT", text[0]) != NULL || strcasecmp(text, "on") == 0);
    } else if (type == TESS_DOCUMENT_INT || type == TESS_DOCUMENT_OCTAL) {
        name = "int";
        tess_json_int(json, key, strtoll(text, NULL, strpbrk(text, "xX") != NULL ? 16 : 10));
    } else if (type == TESS_DOCUMENT_FLOAT) {
        const tess_param param = {.name = "",
                                  .type = TESS_PARAM_REAL,
                                  .minimum = -HUGE_VAL,
                                  .maximum = HUGE_VAL,
                                  .unit = ""};
        double number = (double)NAN;
        name = "float";
        tess_json_real(json, key,
                       tess_param_set_text(&param, &number, text) == TESS_OK ? number
                                                                             : (double)NAN);
    } else {
        tess_json_text(json, key, node->text);
    }
    if (typed) {
        tess_json_text(json, "type", name);
    }
}

static void put_list(tess_json *json, const tess_xp_value *value, int32_t type)
{
    int64_t i = 0;
    tess_json_text(json, "type", "list");
    tess_json_array_begin(json, "value");
    for (const tess_document_entry *e = value->node->first; e != NULL; e = e->next, i++) {
        if (type == TESS_XP_REALS) {
            tess_json_real(json, NULL, value->numbers[i]);
        } else if (type == TESS_XP_INTS) {
            tess_json_int(json, NULL, (int64_t)value->numbers[i]);
        } else if (type == TESS_XP_NAMES) {
            tess_json_text(json, NULL, e->value->text);
        } else {
            put_scalar(json, e->value, false);
        }
    }
    tess_json_array_end(json);
}

static void put_value(tess_json *json, const tess_xp_value *value)
{
    const int32_t type = tess_xp_rule_of(value->row).type;
    if (value->node->kind == TESS_DOCUMENT_LIST) {
        put_list(json, value, type);
    } else if (value->is_null || type == TESS_XP_ANY) {
        put_scalar(json, value->node, true);
    } else if (type == TESS_XP_REAL) {
        tess_json_text(json, "type", "float");
        tess_json_real(json, "value", value->number);
    } else if (type == TESS_XP_INT) {
        tess_json_text(json, "type", "int");
        tess_json_int(json, "value", value->whole);
    } else if (type == TESS_XP_BOOL) {
        tess_json_text(json, "type", "bool");
        tess_json_bool(json, "value", (int)value->number);
    } else {
        tess_json_text(json, "type", "string");
        tess_json_text(json, "value", value->node->text);
    }
}

// A default as its row would read it; rows without one are null.
static void put_default(tess_json *json, const tess_xp_rule *rule)
{
    char text[TESS_XP_DEFAULT_CHARS];
    tess_xp_default(rule, text);
    if (text[0] == '\0') {
        tess_json_text(json, "type", "null");
        tess_json_text(json, "value", NULL);
        return;
    }
    static const char *const names[] = {"", "float", "int", "bool", "string", "string"};
    tess_json_text(json, "type", names[rule->type]);
    if (rule->type == TESS_XP_BOOL) {
        tess_json_bool(json, "value", strcmp(text, "true") == 0);
    } else if (rule->type == TESS_XP_TEXT || rule->type == TESS_XP_CHOICE) {
        tess_json_text(json, "value", text);
    } else {
        tess_json_raw(json, "value", text);
    }
}

static void put_values(tess_json *json, const tess_xpcs_settings *settings)
{
    int64_t n_row = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n_row);
    tess_json_object_begin(json, "values");
    for (int64_t i = 0; i < settings->n_value; i++) {
        const tess_xp_value *value = settings->values[i];
        if (value->n_shadow == 0) {
            tess_json_object_begin(json, value->path);
            put_value(json, value);
            tess_json_text(json, "origin", origins[value->is_set ? 2 : 1]);
            if (!value->is_set && value->node->place.line > 0) {
                tess_json_int(json, "line", value->node->place.line);
            }
            tess_json_object_end(json);
        }
    }
    for (int64_t i = 0; i < n_row; i++) {
        const tess_xp_rule rule = tess_xp_rule_of(&rows[i]);
        if (rows[i].use == TESS_XP_USED && (rows[i].flags & TESS_XP_SPELLING) == 0 &&
            strpbrk(rows[i].path, "*[") == NULL &&
            tess_xp_value_of(settings, rows[i].path) == NULL) {
            tess_json_object_begin(json, rows[i].path);
            put_default(json, &rule);
            tess_json_text(json, "origin", origins[0]);
            tess_json_object_end(json);
        }
    }
    tess_json_object_end(json);
}

static void put_keys(tess_json *json, const tess_xpcs_settings *settings, const char *key,
                     int32_t use)
{
    tess_json_array_begin(json, key);
    for (int64_t i = 0; i < settings->n_value; i++) {
        const tess_xp_value *value = settings->values[i];
        if (value->n_shadow == 0 && tess_xp_use_of(value) == use) {
            tess_json_text(json, NULL, value->path);
        }
    }
    tess_json_array_end(json);
}

static void put_bounds(tess_json *json, const char *name, double lower, double upper)
{
    tess_json_array_begin(json, name);
    tess_json_real(json, NULL, lower);
    tess_json_real(json, NULL, upper);
    tess_json_array_end(json);
}

// Whether a parameter is fixed, f2 of two components by itself.
static bool stays(const tess_xpcs_settings_info *info, int64_t k)
{
    enum { F2 = 11 };
    const int said = info->fit.is_fixed != NULL ? info->fit.is_fixed[k] : 0;
    return said == 1 || (said == 0 && k == F2 && info->model.mode == TESS_XPCS_TWO_COMPONENT);
}

static void put_params(tess_json *json, const tess_xpcs_settings_info *info)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)info->model.mode, &n);
    const tess_xpcs_fit_config *fit = &info->fit;
    tess_json_array_begin(json, "physical_parameters");
    for (int64_t i = 0; i < n; i++) {
        tess_json_text(json, NULL, params[i].name);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "free");
    for (int64_t i = 0; i < n; i++) {
        if (!stays(info, i)) {
            tess_json_text(json, NULL, params[i].name);
        }
    }
    tess_json_array_end(json);
    tess_json_object_begin(json, "fixed");
    for (int64_t i = 0; i < n; i++) {
        if (stays(info, i)) {
            tess_json_real(json, params[i].name,
                           fit->start != NULL && !isnan(fit->start[i]) ? fit->start[i]
                                                                       : params[i].start);
        }
    }
    tess_json_object_end(json);
    // null: from the data.
    tess_json_array_begin(json, "start");
    for (int64_t i = 0; i < n; i++) {
        tess_json_real(json, NULL, fit->start != NULL ? fit->start[i] : (double)NAN);
    }
    tess_json_array_end(json);
    tess_json_object_begin(json, "bounds");
    for (int32_t k = 0; k < 2; k++) {
        put_bounds(json, tess_xpcs_scaling_param(k)->name, fit->scaling_lower[k],
                   fit->scaling_upper[k]);
    }
    for (int64_t i = 0; i < n; i++) {
        put_bounds(json, params[i].name, fit->lower[i], fit->upper[i]);
    }
    tess_json_object_end(json);
}

// Every parameter of a table by its name.
static void put_table(tess_json *json, const char *key, const tess_param_table *table,
                      const void *config)
{
    tess_json_object_begin(json, key);
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_param *param = &table->params[i];
        char text[NUMBER_CHARS];
        tess_param_get_text(param, config, text, sizeof text);
        if (param->type == TESS_PARAM_CHOICE) {
            tess_json_text(json, param->name, text);
        } else {
            tess_json_raw(json, param->name, text); // numbers, true and false are JSON already
        }
    }
    tess_json_object_end(json);
}

static void put_resolved(tess_json *json, const tess_xpcs_settings_info *info)
{
    tess_json_object_begin(json, "resolved");
    put_params(json, info);
    tess_json_text(json, "data_path", info->data_path);
    tess_json_text(json, "output_folder", info->output_folder);
    tess_json_text(json, "checkpoint_dir", info->fit.checkpoint_dir);
    tess_json_text(json, "method", info->method);
    tess_json_uint(json, "memory_limit_bytes", info->memory_limit_bytes);
    tess_json_int(json, "n_thread", info->n_thread);
    tess_json_text(json, "device", info->device);
    tess_json_array_begin(json, "phi_ranges");
    for (int64_t i = 0; i < info->data.n_phi_range; i++) {
        put_bounds(json, NULL, info->data.phi_ranges[i].minimum, info->data.phi_ranges[i].maximum);
    }
    tess_json_array_end(json);
    put_table(json, "model", tess_xpcs_model_params(), &info->model);
    put_table(json, "data", tess_xpcs_data_params(), &info->data);
    put_table(json, "fit", tess_xpcs_fit_params(), &info->fit);
    put_table(json, "sample", tess_xpcs_sample_params(), info->sample);
    tess_json_object_end(json);
}

static void put_notices(tess_json *json, const char *notices)
{
    tess_json_array_begin(json, "notices");
    while (*notices != '\0') {
        char line[TESS_MESSAGE_BYTES];
        const size_t n = strcspn(notices, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, notices);
        tess_json_text(json, NULL, line);
        notices += n + (notices[n] == '\n');
    }
    tess_json_array_end(json);
}

tess_status tess_xpcs_settings_json(tess_context *ctx, const tess_xpcs_settings *settings,
                                    char **text)
{
    tess_error_clear();
    *text = NULL;
    tess_json *json = NULL;
    TESS_TRY(tess_json_create(ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", SCHEMA);
    tess_json_text(json, "file", settings->path[0] != '\0' ? settings->path : NULL);
    put_values(json, settings);
    put_keys(json, settings, "accepted_without_effect", TESS_XP_NO_EFFECT);
    put_keys(json, settings, "for_sampling", TESS_XP_SAMPLING);
    put_resolved(json, &settings->info);
    put_notices(json, settings->info.notices);
    tess_json_object_end(json);
    return tess_json_hand_out(json, text);
}
