// tessera xpcs inspect, convert, g2 and plot: what is done with a file without a fit.

#include "xpcs.h"

#include "job.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>

static int take_positive(const cli *c, const char *option, const char *text, double *value)
{
    char *end = NULL;

    if (!text) {
        return cli_usage_error(c, "--c2-path goes with --q, --phi and --dt: --%s is missing",
                               option);
    }
    *value = strtod(text, &end);
    if (end == text || *end || !(*value > 0) || isinf(*value)) {
        return cli_usage_error(c, "--%s: '%s' is not a number above 0", option, text);
    }
    return 0;
}

// The angles of a data set whose meaning the command line says, as the bins of a file.
static int print_bins(cli *c, const xpcs_job *j)
{
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(j->data);
    tess_xpcs_bin *bins = calloc((size_t)info->n_angle, sizeof *bins);

    if (!bins) {
        return console_fail(71, "no memory for %lld bins", (long long)info->n_angle);
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        bins[a] = (tess_xpcs_bin){.number = a + 1,
                                  .is_valid = 1,
                                  .q = info->q[a],
                                  .phi = info->phi[a],
                                  .n_frame = info->end_frame - info->start_frame + 1,
                                  .dataset = c->values.xpcs.c2_path};
    }
    const tess_xpcs_file_info facts = {.struct_size = sizeof facts,
                                       .layout = info->layout,
                                       .filter = "not looked at",
                                       .dtype = info->dtype,
                                       .dt_s = info->dt_s,
                                       .frame_time_s = info->dt_s,
                                       .stride = 1,
                                       .averaging = 1,
                                       .n_bin = info->n_angle,
                                       .bins = bins,
                                       .notes = ""};
    const int code = xpcs_print_file(c, c->operands[0], &facts);
    free(bins);
    return code;
}

static int inspect_dataset(cli *c, xpcs_job *j)
{
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(take_positive(c, "q", c->values.xpcs.q, &j->data_config.q));
    CLI_TRY(take_positive(c, "dt", c->values.xpcs.dt, &j->model.dt_s));
    j->data_config.dt_s = j->model.dt_s;
    CLI_TRY(xpcs_open_data(c, j, c->operands[0]));
    return print_bins(c, j);
}

static int run_inspect(cli *c, xpcs_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    tess_xpcs_file *file = NULL;

    if (v->c2_path) {
        return inspect_dataset(c, j);
    }
    if (v->q || v->dt || v->phi || v->angles_last) {
        return cli_usage_error(c, "--q, --phi, --dt and --angles-last go with --c2-path NAME");
    }
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
            printf("written        %s\n", c->values.output);
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

static int take_whole(const cli *c, const char *option, const char *text, int64_t *value)
{
    char *end = NULL;

    if (text) {
        *value = strtoll(text, &end, 10);
    }
    return text && (end == text || *end || *value < 1)
               ? cli_usage_error(c, "--%s: '%s' is not a whole number above 0", option, text)
               : 0;
}

static int run_g2(cli *c, xpcs_job *j)
{
    tess_xpcs_g2_config config;
    tess_xpcs_g2 *g2 = NULL;

    tess_xpcs_g2_config_init(&config, sizeof config);
    CLI_TRY(take_whole(c, "windows", c->values.xpcs.windows, &config.n_window));
    CLI_TRY(take_whole(c, "multi-tau", c->values.xpcs.multi_tau, &config.per_level));
    if (!c->values.output) {
        return cli_usage_error(c, "-o FILE is missing: where shall the curves go?");
    }
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(xpcs_open_data(c, j, c->operands[0]));
    tess_status status = tess_xpcs_g2_compute(c->ctx, j->data, &config, &g2);
    if (status == TESS_OK) {
        status = tess_xpcs_g2_save(c->ctx, g2, c->values.output, c->values.overwrite);
    }
    tess_xpcs_g2_destroy(g2);
    CLI_TRY(job_status(c, status));
    return print_data(c, j, "tessera.xpcs.g2/1");
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

int cmd_xpcs_g2(cli *c)
{
    return with_job(c, run_g2);
}

int cmd_xpcs_plot(cli *c)
{
    return with_job(c, run_plot);
}
