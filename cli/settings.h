// Settings: the values of one parameter table, merged from every place that may set them.
#ifndef TESSERA_CLI_SETTINGS_H
#define TESSERA_CLI_SETTINGS_H

#include <tessera/config.h>
#include <tessera/param.h>

#include <limits.h>

enum { SETTINGS_CAPACITY = 64 };

// Weakest first: a later one wins.
typedef enum setting_origin {
    SETTING_DEFAULT,
    SETTING_USER_FILE,
    SETTING_FILE,
    SETTING_ENVIRONMENT,
    SETTING_FLAG
} setting_origin;

// One table, what the command line said about it, and where each value came from.
typedef struct settings {
    const tess_param_table *table;
    const char *flag_text[SETTINGS_CAPACITY]; // NULL: not on the command line
    setting_origin origin[SETTINGS_CAPACITY];
} settings;

// The configuration files in force.
typedef struct settings_files {
    tess_context *ctx; // owns the memory of both; made only if there is a file to read
    tess_config *user;
    tess_config *file;
    char user_path[PATH_MAX];
    const char *file_path; // NULL: none
    int everything;        // the environment counts too
} settings_files;

void settings_init(settings *values, const tess_param_table *table);

// Reads path. With everything set, also the user's file if there is one, TESSERA_CONFIG when path
// is NULL, and later the environment; without it the file is looked at alone. Exit code.
int settings_files_load(settings_files *files, const char *path, int everything);
// The user's own file; "" if there is none.
void settings_user_file(char *path, size_t capacity);
void settings_files_close(settings_files *files);

// Whether each value of the command line is one, before anything else is looked at. Exit code.
int settings_check_flags(settings *values);

// Lays files, environment and flags over what the table's struct holds; files NULL: flags alone.
// Exit code.
int settings_apply(settings *values, const settings_files *files, void *target);

// Fills the table's struct: default, user file, file, environment, flag. Exit code.
int settings_resolve(settings *values, const settings_files *files, void *target);

// "default", "--threads", "TESSERA_NUM_THREADS", "run.yaml:3".
void settings_origin_text(const settings *values, const settings_files *files, int64_t index,
                          char *text, size_t capacity);

// The default of one parameter as text.
void settings_default_text(const tess_param_table *table, int64_t index, char *text,
                           size_t capacity);

// The value that a file gives a parameter, as text; 0: it says nothing of it (or is NULL).
int settings_file_text(const tess_param_table *table, int64_t index, const tess_config *config,
                       char *text, size_t capacity);

// Zeroed memory large enough for the struct a table describes; NULL if there is none.
void *settings_storage_create(const tess_param_table *table);

// The environment variable of a parameter, or NULL.
const char *settings_variable(const tess_param_table *table, const tess_param *param);

// Options that every run takes and that a configuration file may set in section "run".
typedef struct run_settings {
    int64_t threads;
    uint64_t memory_limit;
    uint64_t device_memory_limit;
    double checkpoint_every;
    int64_t keep_checkpoints;
    double time_limit;
} run_settings;

// The first parameters of the table concern the machine, the rest checkpoints.
enum { RUN_SETTINGS_ENGINE = 3 };

const tess_param_table *run_settings_table(void);

// The library's tables followed by the command's own; all of them may appear in a file.
int64_t settings_tables(const tess_param_table **tables, int64_t capacity);

#endif
