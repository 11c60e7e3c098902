// tessera xpcs config: configurations in the schema of homodyne: write, check, show.

#include "cli.h"
#include "job.h"
#include "xpcs.h"

#include <tessera/device.h>
#include <tessera/io.h>
#include <tessera/xpcs/settings.h>

#include <string.h>

// "static" is what the original calls it.
static int read_mode(const cli *c, tess_xpcs_mode *mode)
{
    const char *name = c->values.xpcs.mode ? c->values.xpcs.mode : "laminar_flow";

    *mode = TESS_XPCS_STATIC_ANISOTROPIC;
    if (strcmp(name, "static") == 0) {
        return 0;
    }
    if (strcmp(name, "heterodyne") == 0) {
        *mode = TESS_XPCS_TWO_COMPONENT;
        return 0;
    }
    for (int i = 0; tess_xpcs_mode_name((tess_xpcs_mode)i); i++) {
        if (strcmp(name, tess_xpcs_mode_name((tess_xpcs_mode)i)) == 0) {
            *mode = (tess_xpcs_mode)i;
            return 0;
        }
    }
    return cli_usage_error(c, "--mode %s does not exist", name);
}

static int print_template(cli *c, const char *text)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.config.generate/1");
    tess_json_text(json, "text", text);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int write_text(cli *c, const char *text)
{
    const char *path = c->values.output;

    if (!path && c->values.json) {
        return print_template(c, text);
    }
    if (!path) {
        fputs(text, stdout);
        return 0;
    }
    CLI_CALL(tess_text_save(c->ctx, path, "xpcs.config", text, c->values.overwrite));
    console_note("wrote %s; fill in what is null, then 'tessera xpcs config validate %s'", path,
                 path);
    return 0;
}

static int run_generate(cli *c)
{
    tess_xpcs_mode mode;
    char *text = NULL;

    if (c->n_operand > 1) {
        return cli_usage_error(c, "unexpected argument '%s'; where to write is -o FILE",
                               c->operands[1]);
    }
    CLI_TRY(read_mode(c, &mode));
    CLI_TRY(session_open(c, NULL));
    CLI_CALL(tess_xpcs_settings_template(c->ctx, mode, c->values.xpcs.minimal, &text));
    const int code = write_text(c, text);
    tess_text_free(text);
    return code;
}

static void write_notices(tess_json *json, const char *notices)
{
    tess_json_array_begin(json, "notices");
    while (*notices) {
        char line[1024];
        const size_t length = strcspn(notices, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, notices);
        tess_json_text(json, NULL, line);
        notices += length + (notices[length] == '\n');
    }
    tess_json_array_end(json);
}

// What only the user knows and a fit cannot do without: the key, the option, what it is.
static const char *missing_key(const tess_xpcs_settings_info *info, int index)
{
    static const char gap[] =
        "analyzer_parameters.geometry.stator_rotor_gap (or --gap of the fit): "
        "the gap in Å, 200 µm are 2000000";
    static const char file[] = "experimental_data.file_path (or a name on the fit's command line): "
                               "the data";
    const int needs_gap =
        info->model.mode == TESS_XPCS_LAMINAR_FLOW && info->model.gap_angstrom == 0;
    const int needs_file = !info->data_path[0];

    if (index == 0 && needs_gap) {
        return gap;
    }
    return index == needs_gap && needs_file ? file : NULL;
}

static int print_valid(cli *c, const tess_xpcs_settings *loaded)
{
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(loaded);
    tess_json *json = NULL;

    if (!c->values.json) {
        console_notes(info->notices);
        printf("%s: valid, %s\n", c->operands[1],
               tess_xpcs_mode_name((tess_xpcs_mode)info->model.mode));
        for (int i = 0; missing_key(info, i); i++) {
            printf("still to be filled in: %s\n", missing_key(info, i));
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.config.validate/1");
    tess_json_bool(json, "valid", 1);
    tess_json_text(json, "mode", tess_xpcs_mode_name((tess_xpcs_mode)info->model.mode));
    tess_json_text(json, "data_path", info->data_path);
    write_notices(json, info->notices);
    tess_json_array_begin(json, "missing");
    for (int i = 0; missing_key(info, i); i++) {
        tess_json_text(json, NULL, missing_key(info, i));
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int print_all(const cli *c, const tess_xpcs_settings *loaded)
{
    char *text = NULL;

    CLI_CALL(tess_xpcs_settings_json(c->ctx, loaded, &text));
    puts(text);
    tess_text_free(text);
    if (!c->values.json) {
        console_notes(tess_xpcs_settings_get_info(loaded)->notices);
    }
    return 0;
}

static int run_loaded(cli *c, int validate)
{
    const char *path = c->n_operand > 1 ? c->operands[1] : NULL;
    tess_xpcs_settings *loaded = NULL;

    if (validate && !path) {
        return cli_usage_error(c, "which file? Give it after validate");
    }
    CLI_TRY(session_open(c, NULL));
    CLI_CALL(tess_xpcs_settings_load(c->ctx, path, c->values.xpcs.lenient, &loaded));
    const int code = validate ? print_valid(c, loaded) : print_all(c, loaded);
    tess_xpcs_settings_destroy(loaded);
    return code;
}

int cmd_xpcs_config(cli *c)
{
    static const char *const verbs[] = {"generate", "validate", "show", "init"};
    const char *verb = c->operands[0];

    if (strcmp(verb, verbs[0]) == 0 || strcmp(verb, verbs[3]) == 0) {
        return run_generate(c);
    }
    if (strcmp(verb, verbs[1]) == 0 || strcmp(verb, verbs[2]) == 0) {
        return run_loaded(c, strcmp(verb, verbs[1]) == 0);
    }
    const char *nearest = suggest_nearest(verb, verbs, 4);
    return cli_usage_error(c, "unknown verb '%s'%s%s%s", verb,
                           nearest ? "; did you mean '" : "; there are generate, validate, show",
                           nearest ? nearest : "", nearest ? "'?" : "");
}
