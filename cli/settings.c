// Merges defaults, files, environment and flags; remembers who won.

#include "settings.h"

#include "console.h"

#include <tessera/run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const tess_param_table *run_settings_table(void)
{
    static tess_param params[] = {
        {"threads", TESS_PARAM_INT, offsetof(run_settings, threads), 0, 0, 4096, NULL, "",
         "threads to use; 0 takes every core this process may use"},
        {"memory_limit", TESS_PARAM_BYTES, offsetof(run_settings, memory_limit), 0, 0, 0x1p60, NULL,
         "bytes", "memory budget such as 256M or 8G; 0 takes 80 % of what there is"},
        {"device_memory_limit", TESS_PARAM_BYTES, offsetof(run_settings, device_memory_limit), 0, 0,
         0x1p60, NULL, "bytes",
         "budget of a GPU's own memory such as 2G; 0 takes what is free there"},
        {"checkpoint_every", TESS_PARAM_REAL, offsetof(run_settings, checkpoint_every), 0, 0, 1e9,
         NULL, "s", "least time between checkpoints; 0 writes one after every tile"},
        {"keep_checkpoints", TESS_PARAM_INT, offsetof(run_settings, keep_checkpoints), 0, 1, 1000,
         NULL, "", "newest checkpoints to keep"},
        {"time_limit", TESS_PARAM_REAL, offsetof(run_settings, time_limit), 0, 0, 1e9, NULL, "s",
         "stop after this time, keep the work in --checkpoint DIR and exit with 75; 0: no limit"},
    };
    static const tess_param_table table = {"run", params, sizeof params / sizeof params[0]};
    tess_run_config config;

    // The library owns these two defaults.
    tess_run_config_init(&config, sizeof config);
    params[RUN_SETTINGS_ENGINE].default_value = config.checkpoint_every_s;
    params[RUN_SETTINGS_ENGINE + 1].default_value = (double)config.keep_checkpoints;
    return &table;
}

int64_t settings_tables(const tess_param_table **tables, int64_t capacity)
{
    int64_t n_table = 0;
    int64_t n_library = 0;
    const tess_param_table *const *library = tess_param_tables(&n_library);

    tables[n_table++] = run_settings_table();
    for (int64_t i = 0; i < n_library && n_table < capacity; i++) {
        tables[n_table++] = library[i];
    }
    return n_table;
}

void settings_init(settings *values, const tess_param_table *table)
{
    memset(values, 0, sizeof *values);
    values->table = table;
}

void *settings_storage_create(const tess_param_table *table)
{
    size_t bytes = 16;
    for (int64_t i = 0; i < table->n_param; i++) {
        const size_t end = (size_t)table->params[i].offset + 16;
        bytes = end > bytes ? end : bytes;
    }
    return calloc(1, bytes);
}

void settings_default_text(const tess_param_table *table, int64_t index, char *text,
                           size_t capacity)
{
    void *storage = settings_storage_create(table);
    snprintf(text, capacity, "?");
    if (storage) {
        tess_params_defaults(table, storage);
        tess_param_get_text(&table->params[index], storage, text, capacity);
        free(storage);
    }
}

int settings_file_text(const tess_param_table *table, int64_t index, const tess_config *config,
                       char *text, size_t capacity)
{
    if (!config || tess_config_line(config, table, table->params[index].name) <= 0) {
        return 0;
    }
    void *storage = settings_storage_create(table);
    const int is_read = storage && tess_config_apply(config, table, storage) == TESS_OK;
    if (is_read) {
        tess_param_get_text(&table->params[index], storage, text, capacity);
    }
    free(storage);
    return is_read;
}

// Only variables the library honours by itself: an environment full of one variable per option
// would be a second command line nobody sees.
const char *settings_variable(const tess_param_table *table, const tess_param *param)
{
    if (strcmp(table->name, "run") != 0) {
        return NULL;
    }
    if (strcmp(param->name, "threads") == 0) {
        return "TESSERA_NUM_THREADS";
    }
    if (strcmp(param->name, "device_memory_limit") == 0) {
        return "TESSERA_DEVICE_MEMORY_LIMIT";
    }
    return strcmp(param->name, "memory_limit") == 0 ? "TESSERA_MEMORY_LIMIT" : NULL;
}

static int load_file(settings_files *files, const char *path, tess_config **out)
{
    const tess_param_table *extra[] = {run_settings_table()};

    if (!files->ctx) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        CLI_CALL(tess_context_create(&config, &files->ctx));
    }
    CLI_CALL(tess_config_load(files->ctx, path, extra, 1, out));
    for (const char *line = tess_config_warnings(*out); *line;) {
        const size_t length = strcspn(line, "\n");
        console_warn(TESS_W_CONFIG_VALUE, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return 0;
}

void settings_user_file(char *path, size_t capacity)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    path[0] = '\0';
    if (xdg && xdg[0] == '/') {
        snprintf(path, capacity, "%s/tessera/config.yaml", xdg);
    } else if (home && home[0] == '/') {
        snprintf(path, capacity, "%s/.config/tessera/config.yaml", home);
    }
    if (path[0] && access(path, F_OK) != 0) {
        path[0] = '\0';
    }
}

int settings_files_load(settings_files *files, const char *path, int everything)
{
    memset(files, 0, sizeof *files);
    files->everything = everything;
    files->file_path = path;
    if (everything) {
        settings_user_file(files->user_path, sizeof files->user_path);
        files->file_path = path ? path : getenv("TESSERA_CONFIG");
    }
    if (files->file_path && !files->file_path[0]) {
        files->file_path = NULL;
    }
    if (files->user_path[0]) {
        CLI_TRY(load_file(files, files->user_path, &files->user));
    }
    if (files->file_path) {
        CLI_TRY(load_file(files, files->file_path, &files->file));
    }
    return 0;
}

void settings_files_close(settings_files *files)
{
    tess_config_destroy(files->file);
    tess_config_destroy(files->user);
    tess_context_destroy(files->ctx);
    memset(files, 0, sizeof *files);
}

static int apply_file(settings *values, const tess_config *config, setting_origin origin,
                      void *target)
{
    if (!config) {
        return 0;
    }
    CLI_CALL(tess_config_apply(config, values->table, target));
    for (int64_t i = 0; i < values->table->n_param; i++) {
        if (tess_config_line(config, values->table, values->table->params[i].name) > 0) {
            values->origin[i] = origin;
        }
    }
    return 0;
}

// "60s" means 60 where the unit is s.
static void copy_without_unit(char *copy, size_t capacity, const char *text, const char *unit)
{
    const size_t length = strlen(text);
    const size_t unit_length = strlen(unit);

    snprintf(copy, capacity, "%s", text);
    if (unit_length > 0 && length > unit_length && length < capacity &&
        strcmp(text + length - unit_length, unit) == 0) {
        copy[length - unit_length] = '\0';
    }
}

static int apply_text(settings *values, int64_t index, const char *text, setting_origin origin,
                      void *target)
{
    const tess_param *param = &values->table->params[index];
    char copy[256];

    // A flag parameter given without a value means yes.
    copy_without_unit(copy, sizeof copy, text[0] ? text : "yes", param->unit);
    const tess_status status = tess_param_set_text(param, target, copy);
    if (status != TESS_OK) {
        // The library names the parameter; the user knows it by its option or variable.
        const char *message = tess_last_error();
        const size_t length = strlen(param->name);
        char place[64];
        if (strncmp(message, param->name, length) == 0 && message[length] == ':') {
            message += length + 1 + strspn(message + length + 1, " ");
        }
        values->origin[index] = origin;
        settings_origin_text(values, NULL, index, place, sizeof place);
        return console_fail(tess_status_exit_code(status), "%s: %s", place, message);
    }
    values->origin[index] = origin;
    if (param->type == TESS_PARAM_CHOICE && strchr(text, ':')) {
        values->origin[index + 1] = origin; // "bounded:1e-6" sets the row of the number too
    }
    return 0;
}

int settings_check_flags(settings *values)
{
    void *storage = values->table ? settings_storage_create(values->table) : NULL;
    int code = values->table && !storage ? console_fail(71, "out of memory") : 0;

    for (int64_t i = 0; values->table && i < values->table->n_param && code == 0; i++) {
        if (values->flag_text[i]) {
            code = apply_text(values, i, values->flag_text[i], SETTING_FLAG, storage);
        }
    }
    memset(values->origin, 0, sizeof values->origin);
    free(storage);
    return code;
}

int settings_apply(settings *values, const settings_files *files, void *target)
{
    CLI_TRY(apply_file(values, files ? files->user : NULL, SETTING_USER_FILE, target));
    CLI_TRY(apply_file(values, files ? files->file : NULL, SETTING_FILE, target));
    for (int64_t i = 0; i < values->table->n_param; i++) {
        const char *name = settings_variable(values->table, &values->table->params[i]);
        const char *text = name ? getenv(name) : NULL;
        if (files && files->everything && text && text[0]) {
            CLI_TRY(apply_text(values, i, text, SETTING_ENVIRONMENT, target));
        }
        if (values->flag_text[i]) {
            CLI_TRY(apply_text(values, i, values->flag_text[i], SETTING_FLAG, target));
        }
    }
    CLI_CALL(tess_params_check(values->table, target));
    return 0;
}

int settings_resolve(settings *values, const settings_files *files, void *target)
{
    tess_params_defaults(values->table, target);
    return settings_apply(values, files, target);
}

void settings_origin_text(const settings *values, const settings_files *files, int64_t index,
                          char *text, size_t capacity)
{
    const tess_param *param = &values->table->params[index];

    switch (values->origin[index]) {
    case SETTING_FLAG:
        snprintf(text, capacity, "--%s", param->name);
        for (char *c = text; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        break;
    case SETTING_ENVIRONMENT:
        snprintf(text, capacity, "%s", settings_variable(values->table, param));
        break;
    case SETTING_FILE:
        snprintf(text, capacity, "%s:%lld", files->file_path,
                 (long long)tess_config_line(files->file, values->table, param->name));
        break;
    case SETTING_USER_FILE:
        snprintf(text, capacity, "%s:%lld", files->user_path,
                 (long long)tess_config_line(files->user, values->table, param->name));
        break;
    default:
        snprintf(text, capacity, "default");
    }
}
