// tessera config: write, check, show and compare configuration files.

#include "cli.h"
#include "job.h"
#include "text.h"

#include <tessera/io.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 64 };

// Values of one table from one set of files; target is the struct the table describes.
typedef int (*table_fn)(void *user, const settings *values, const void *target);

// files NULL: defaults alone. flags: what the command line said about table "run", or NULL.
static int for_each_table(const settings_files *files, const settings *flags, table_fn visit,
                          void *user)
{
    const tess_param_table *tables[MAX_TABLE];
    const int64_t n_table = settings_tables(tables, MAX_TABLE);
    int code = 0;

    for (int64_t i = 0; i < n_table && code == 0; i++) {
        settings values;
        void *target = settings_storage_create(tables[i]);
        settings_init(&values, tables[i]);
        if (flags && flags->table == tables[i]) {
            values = *flags;
        }
        if (!target) {
            return console_fail(71, "out of memory");
        }
        if (files) {
            code = settings_resolve(&values, files, target);
        } else {
            tess_params_defaults(tables[i], target);
        }
        code = code ? code : visit(user, &values, target);
        free(target);
    }
    return code;
}

typedef struct yaml_out {
    FILE *file;
    const settings_files *origins; // NULL: do not say where a value came from
    int with_help;
    char section[64]; // the one being written
} yaml_out;

// "autoreject.ptp" is a mapping inside a mapping; tables of one system stand together.
static void print_section(yaml_out *out, const char *name)
{
    const size_t length = strcspn(name, ".");

    if (strncmp(out->section, name, length) != 0 || out->section[length] != '\0') {
        fprintf(out->file, "%s%.*s:\n", out->section[0] ? "\n" : "", (int)length, name);
        snprintf(out->section, sizeof out->section, "%.*s", (int)length, name);
    }
    if (name[length] == '.') {
        fprintf(out->file, "  %s:\n", name + length + 1);
    }
}

static int print_yaml(void *user, const settings *values, const void *target)
{
    yaml_out *out = user;
    const tess_param_table *table = values->table;
    const char *indent = strchr(table->name, '.') ? "    " : "  ";

    print_section(out, table->name);
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_param *param = &table->params[i];
        char text[64];
        char origin[PATH_MAX + 32];
        tess_param_get_text(param, target, text, sizeof text);
        text_yaml_number(text, sizeof text);
        if (out->with_help) {
            fprintf(out->file, "%s# %s%s%s%s\n", indent, param->help, param->choices ? " (" : "",
                    param->choices ? param->choices : "", param->choices ? ")" : "");
        }
        fprintf(out->file, "%s%s: %s", indent, param->name, text);
        if (out->origins) {
            settings_origin_text(values, out->origins, i, origin, sizeof origin);
            fprintf(out->file, "  # %s", origin);
        }
        fputc('\n', out->file);
    }
    return 0;
}

static int print_defaults(FILE *file)
{
    yaml_out out = {.file = file, .with_help = 1};
    fprintf(file, "# Settings of Tessera %s, each with its default.\n", tess_version());
    return for_each_table(NULL, NULL, print_yaml, &out);
}

int cmd_config_init(cli *c)
{
    char *text = NULL;
    size_t bytes = 0;

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    FILE *file = open_memstream(&text, &bytes);
    if (!file) {
        return console_fail(71, "out of memory");
    }
    int code = print_defaults(file);
    if (fclose(file) != 0 && code == 0) {
        code = console_fail(71, "out of memory");
    }
    code = code ? code : cli_write_text(c, "tessera.config.init/1", "config", text);
    free(text);
    return code;
}

static int sets_nothing(const settings_files *files)
{
    const tess_param_table *tables[MAX_TABLE];
    const int64_t n = settings_tables(tables, MAX_TABLE);

    for (int64_t i = 0; files->file && i < n; i++) {
        for (int64_t k = 0; k < tables[i]->n_param; k++) {
            if (tess_config_line(files->file, tables[i], tables[i]->params[k].name) > 0) {
                return 0;
            }
        }
    }
    return 1;
}

int cmd_config_validate(cli *c)
{
    CLI_TRY(settings_files_load(&c->files, c->operands[0], 0));
    const int is_empty = sets_nothing(&c->files);
    if (c->values.json) {
        printf("{\"schema\": \"tessera.config.validate/1\", \"valid\": true, \"empty\": %s}\n",
               is_empty ? "true" : "false");
    } else {
        printf("%s: %s\n", c->operands[0],
               is_empty ? "empty: it sets nothing, every setting keeps its default" : "valid");
    }
    return 0;
}

typedef struct json_out {
    tess_json *json;
    const settings_files *origins;
} json_out;

static int write_json(void *user, const settings *values, const void *target)
{
    json_out *out = user;

    for (int64_t i = 0; i < values->table->n_param; i++) {
        const tess_param *param = &values->table->params[i];
        char text[64];
        char origin[PATH_MAX + 32];
        tess_param_get_text(param, target, text, sizeof text);
        settings_origin_text(values, out->origins, i, origin, sizeof origin);
        tess_json_object_begin(out->json, NULL);
        tess_json_text(out->json, "table", values->table->name);
        tess_json_text(out->json, "name", param->name);
        tess_json_text(out->json, "value", text);
        tess_json_text(out->json, "origin", origin);
        tess_json_object_end(out->json);
    }
    return 0;
}

static int show_json(cli *c)
{
    json_out out = {.origins = &c->files};

    CLI_CALL(tess_json_create(c->ctx, 2, &out.json));
    tess_json_object_begin(out.json, NULL);
    tess_json_text(out.json, "schema", "tessera.config.show/1");
    tess_json_array_begin(out.json, "settings");
    int code = for_each_table(&c->files, &c->run, write_json, &out);
    tess_json_array_end(out.json);
    tess_json_object_end(out.json);
    code = code ? code : job_print_json(out.json);
    tess_json_destroy(out.json);
    return code;
}

int cmd_config_show(cli *c)
{
    CLI_TRY(session_open(c, NULL));
    if (c->values.json) {
        return show_json(c);
    }
    yaml_out out = {.file = stdout, .origins = c->values.origin ? &c->files : NULL};
    return for_each_table(&c->files, &c->run, print_yaml, &out);
}

typedef struct difference {
    const settings_files *other;
    int json;
    int n_found;
} difference;

static void print_difference(difference *d, const settings *values, int64_t index, const char *left,
                             const char *right)
{
    const char *name = values->table->params[index].name;

    if (d->json) {
        printf("%s\n  {\"table\": \"%s\", \"name\": \"%s\", \"a\": \"%s\", \"b\": \"%s\"}",
               d->n_found ? "," : "", values->table->name, name, left, right);
    } else {
        printf("%s.%s: %s -> %s\n", values->table->name, name, left, right);
    }
    d->n_found++;
}

static int compare_table(void *user, const settings *values, const void *target)
{
    difference *d = user;
    settings others;
    void *other = settings_storage_create(values->table);
    int code = 0;

    if (!other) {
        return console_fail(71, "out of memory");
    }
    settings_init(&others, values->table);
    code = settings_resolve(&others, d->other, other);
    for (int64_t i = 0; i < values->table->n_param && code == 0; i++) {
        char left[64];
        char right[64];
        tess_param_get_text(&values->table->params[i], target, left, sizeof left);
        tess_param_get_text(&values->table->params[i], other, right, sizeof right);
        if (strcmp(left, right) != 0) {
            print_difference(d, values, i, left, right);
        }
    }
    free(other);
    return code;
}

int cmd_config_diff(cli *c)
{
    settings_files second = {0};
    difference d = {.other = &second, .json = c->values.json};

    // With one file the defaults stand on the left, so that the arrow reads "default -> set".
    const int two = c->n_operand == 2;
    int code = two ? settings_files_load(&c->files, c->operands[0], 0) : 0;
    code = code ? code : settings_files_load(&second, c->operands[two ? 1 : 0], 0);
    if (code == 0) {
        printf("%s", d.json ? "{\"schema\": \"tessera.config.diff/1\", \"differences\": [" : "");
        code = for_each_table(&c->files, NULL, compare_table, &d);
        printf("%s", d.json ? (d.n_found ? "\n]}\n" : "]}\n") : "");
    }
    settings_files_close(&second);
    return code ? code : (d.n_found > 0 ? 1 : 0);
}
