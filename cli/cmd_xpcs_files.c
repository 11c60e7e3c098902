// tessera xpcs inspect, convert and plot: what is done with a file without a fit.

#include "xpcs.h"

#include "job.h"
#include "text.h"

static int run_inspect(cli *c, xpcs_job *j)
{
    tess_xpcs_file *file = NULL;
    (void)j;

    CLI_TRY(session_open(c, NULL));
    CLI_TRY(job_status(c, tess_xpcs_file_inspect(c->ctx, c->operands[0], &file)));
    const int code = xpcs_print_file(c, c->operands[0], tess_xpcs_file_get_info(file));
    tess_xpcs_file_close(file);
    return code;
}

static int print_data(cli *c, const xpcs_job *j, const char *schema)
{
    tess_json *json = NULL;

    if (!c->values.json) {
        if (!c->values.quiet) {
            xpcs_print_data(tess_xpcs_data_get_info(j->data));
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", schema);
    tess_json_text(json, "output", c->values.output);
    xpcs_write_data(json, tess_xpcs_data_get_info(j->data));
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int run_convert(cli *c, xpcs_job *j)
{
    if (!c->values.output || !text_ends_with(c->values.output, ".txc2")) {
        return cli_usage_error(c, "-o FILE.txc2 is missing: where shall the tiles go?");
    }
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(xpcs_open_data(c, j, c->operands[0]));
    CLI_TRY(
        job_status(c, tess_xpcs_data_save(c->ctx, j->data, c->values.output, c->values.overwrite)));
    return print_data(c, j, "tessera.xpcs.convert/1");
}

static int run_plot(cli *c, xpcs_job *j)
{
    if (!c->values.output) {
        return cli_usage_error(c, "-o DIR is missing: where shall the pictures go?");
    }
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(xpcs_open_data(c, j, c->operands[0]));
    CLI_TRY(job_status(c, tess_xpcs_figures(c->ctx, NULL, j->data, &j->model, c->values.output,
                                            c->values.overwrite)));
    return print_data(c, j, "tessera.xpcs.plot/1");
}

static int with_job(cli *c, int (*run)(cli *c, xpcs_job *j))
{
    xpcs_job j = {0};
    const int code = run(c, &j);
    xpcs_close(&j);
    return code;
}

int cmd_xpcs_inspect(cli *c)
{
    return with_job(c, run_inspect);
}

int cmd_xpcs_convert(cli *c)
{
    return with_job(c, run_convert);
}

int cmd_xpcs_plot(cli *c)
{
    return with_job(c, run_plot);
}
