// tessera decode run, fit, predict, em, simulate, report.

#include "decode.h"
#include "job.h"
#include "ranks.h"
#include "text.h"

#include <tessera/device.h>

#include <stdlib.h>
#include <string.h>

// Prints the facts gathered so far, as text or as one JSON object.
static int print_facts(cli *c, decode_job *j, const char *schema)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    tess_json *json = NULL;

    if (!c->values.json && c->values.quiet) {
        return 0;
    }
    if (!c->values.json) {
        decode_print_recording(info);
        decode_print_model(j);
        if (j->has_prediction) {
            decode_print_prediction(c, j);
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", schema);
    decode_write_recording(json, info);
    decode_write_model(json, j);
    if (j->has_prediction) {
        decode_write_prediction(json, c, j);
    }
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int need_output(const cli *c, const char *what)
{
    if (!c->values.output && !c->values.dry_run) {
        return cli_usage_error(c, "-o FILE is missing: where shall the %s go?", what);
    }
    return 0;
}

static int write_report(cli *c, decode_job *j)
{
    if (!c->values.report) {
        return 0;
    }
    CLI_CALL(tess_decode_report(c->ctx, c->values.output, j->recording, &j->report,
                                c->values.report, c->values.overwrite));
    console_note("report written to %s", c->values.report);
    return 0;
}

// Everything that can be refused before any work is.
static int check_prediction(cli *c, double *share)
{
    int32_t want = 0;

    CLI_TRY(decode_parse_want(c, c->values.want, &want));
    CLI_TRY(need_output(c, "result"));
    CLI_TRY(job_check_options(c));
    if (c->values.intervals_name && !c->values.intervals) {
        return cli_usage_error(c, "--intervals-name needs --intervals FILE");
    }
    if (c->values.verify) {
        CLI_TRY(decode_parse_share(c, c->values.verify, share));
    }
    return 0;
}

static int run_run(cli *c, decode_job *j)
{
    double share = 0;

    CLI_TRY(check_prediction(c, &share));
    c->opens_meanwhile = 1; // reading and fitting are the CPU's
    CLI_TRY(decode_open_session(c, j));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], NULL, NULL, &j->config, 1));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    CLI_CALL(tess_device_use(c->ctx, 0)); // that there is none shows at once
    CLI_TRY(decode_open_intervals(c, j));
    CLI_TRY(decode_fit(c, j));
    CLI_TRY(decode_open_covariates(c, j));
    CLI_CALL(tess_device_use(c->ctx, 1));
    CLI_TRY(decode_predict(c, j));
    if (c->values.dry_run || !ranks_is_first()) {
        return 0;
    }
    if (c->values.verify) {
        CLI_TRY(decode_verify(c, j, share));
    }
    CLI_TRY(write_report(c, j));
    return print_facts(c, j, "tessera.decode.run/1");
}

int cmd_decode_run(cli *c)
{
    decode_job j = {0};
    const int code = run_run(c, &j);
    decode_close(&j);
    return code;
}

static int run_fit(cli *c, decode_job *j)
{
    CLI_TRY(need_output(c, "model"));
    CLI_TRY(decode_open_session(c, j));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], NULL, NULL, &j->config, 0));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    CLI_TRY(decode_fit(c, j));
    CLI_CALL(tess_decode_model_save(c->ctx, j->model, c->values.output, c->values.overwrite));
    console_note("model written to %s, fitted in %.3f s", c->values.output, j->fit_s);
    return print_facts(c, j, "tessera.decode.fit/1");
}

int cmd_decode_fit(cli *c)
{
    decode_job j = {0};
    const int code = run_fit(c, &j);
    decode_close(&j);
    return code;
}

static int run_predict(cli *c, decode_job *j)
{
    double share = 0;

    if (!c->values.model_file) {
        return cli_usage_error(c, "--model-file MODEL is missing: 'tessera decode fit' writes one");
    }
    CLI_TRY(check_prediction(c, &share));
    CLI_TRY(decode_open_session(c, j));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], c->values.model_file, NULL, NULL, 1));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    CLI_TRY(decode_open_intervals(c, j));
    CLI_TRY(decode_load_model(c, j, c->values.model_file));
    CLI_TRY(decode_open_covariates(c, j));
    CLI_TRY(decode_predict(c, j));
    if (c->values.dry_run || !ranks_is_first()) {
        return 0;
    }
    CLI_TRY(write_report(c, j));
    return print_facts(c, j, "tessera.decode.predict/1");
}

int cmd_decode_predict(cli *c)
{
    decode_job j = {0};
    const int code = run_predict(c, &j);
    decode_close(&j);
    return code;
}
