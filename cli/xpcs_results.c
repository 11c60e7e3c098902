// What computations leave: whose a folder is, the files of a fit, the page beside, JSON on stdout.

#include "xpcs.h"

#include "job.h"
#include "signals.h"

#include <tessera/device.h>
#include <tessera/io.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int xpcs_check_absent(const cli *c, const char *folder, const char *first, int may_be)
{
    struct stat there;
    char *path = malloc(strlen(folder) + strlen(first) + 2);
    if (!path) {
        return console_fail(71, "no memory for the name %s", folder);
    }
    sprintf(path, "%s/%s", folder, first);
    const int is_there = stat(path, &there) == 0;
    free(path);
    return is_there && !may_be && !c->values.overwrite
               ? console_fail(73, "%s holds results; give --overwrite to replace them", folder)
               : 0;
}

int xpcs_check_output(const cli *c, const char *first, int may_be)
{
    return c->values.output ? xpcs_check_absent(c, c->values.output, first, may_be)
                            : cli_usage_error(c, "no folder for the results: give -o DIR");
}

int xpcs_print_json(cli *c, const char *schema, char *result)
{
    tess_json *json = NULL;
    int code = 0;
    const tess_status status = tess_json_create(c->ctx, 2, &json);
    if (status == TESS_OK) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "schema", schema);
        tess_json_text(json, "folder", c->values.output);
        tess_json_raw(json, "result", result);
        tess_json_object_end(json);
        code = job_print_json(json);
        tess_json_destroy(json);
    }
    tess_text_free(result);
    return code ? code : job_status(c, status);
}

// The summary beside the original's files; JSON is YAML, too.
static int write_summary(cli *c, const xpcs_job *j, const char *folder)
{
    const char *format = c->values.xpcs.output_format;
    char *text = NULL;

    if (!format || strcmp(format, "npz") == 0) {
        return 0; // npz: written with the other arrays
    }
    char *path = malloc(strlen(folder) + 40);
    if (!path) {
        return console_fail(71, "no memory for the name %s", folder);
    }
    sprintf(path, "%s/homodyne_results.%s", folder, format);
    tess_status status = tess_xpcs_result_json(c->ctx, j->result, &text);
    if (status == TESS_OK) {
        status = tess_text_save(c->ctx, path, NULL, text,
                                c->values.overwrite || c->values.resume); // the folder is ours
    }
    tess_text_free(text);
    free(path);
    CLI_CALL(status);
    return 0;
}

// Parameters are written first, so that something was kept.
static int explain_cut(const cli *c, const char *folder)
{
    if (signals_pipe_closed() || !signals_caught() || c->values.checkpoint) {
        return job_status(c, TESS_CANCELLED);
    }
    console_erase_bar();
    return console_fail(signals_exit_code(),
                        "stopped on request while results were written: parameters are in "
                        "%s/nlsq, other files may be missing",
                        folder);
}

static int write_report(cli *c, xpcs_job *j)
{
    const int overwrite = c->values.overwrite ? 1 : 2 * c->values.resume;

    if (!c->values.report || j->method != XPCS_NLSQ) { // that of the draws has its place
        return 0;
    }
    CLI_TRY(job_status(
        c, tess_xpcs_report(c->ctx, j->result, j->data, &j->model, c->values.report, overwrite)));
    console_note("report written to %s", c->values.report);
    return 0;
}

int xpcs_write_results(cli *c, xpcs_job *j, const char *folder)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(j->settings);
    tess_xpcs_write_config config;

    tess_xpcs_write_config_init(&config, sizeof config);
    config.overwrite = c->values.overwrite ? 1 : 2 * c->values.resume;
    config.figures = v->save_plots || info->save_plots == 1;
    config.report = !c->values.report || j->method == XPCS_BOTH; // one page is enough
    if (v->no_surfaces) {
        config.surfaces = 0;
    } else if (v->save_surfaces || (v->output_format && strcmp(v->output_format, "npz") == 0)) {
        config.surfaces = 1;
    }
    config.npz = v->output_format && strcmp(v->output_format, "npz") == 0;
    const tess_status status =
        tess_xpcs_result_write(c->ctx, j->result, j->data, &j->model, folder, &config);
    if (status == TESS_CANCELLED) {
        return explain_cut(c, folder);
    }
    CLI_TRY(job_status(c, status));
    CLI_TRY(write_summary(c, j, folder));
    CLI_TRY(write_report(c, j));
    console_note("results written to %s", folder);
    return 0;
}
