// tessera decode report.

#include "decode.h"
#include "job.h"

static int run_report(cli *c, decode_job *j)
{
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    if (!c->values.output) {
        return cli_usage_error(c, "-o FILE is missing: where shall the report go?");
    }
    CLI_TRY(session_open(c, (void *[]){&config}));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->values.recording, NULL, c->operands[0], NULL, 0));
    if (c->values.recording) {
        CLI_TRY(decode_open_recording(c, j, c->values.recording));
    }
    config.recording = j->recording;
    config.path = c->values.output;
    config.overwrite = c->values.overwrite;
    CLI_CALL(tess_decode_report_write(c->ctx, c->operands[0], &config));
    if (c->values.json) {
        puts("{\"schema\": \"tessera.decode.report/1\", \"written\": true}");
    } else {
        printf("%s: report of %s\n", c->values.output, c->operands[0]);
    }
    return 0;
}

int cmd_decode_report(cli *c)
{
    decode_job j = {0};
    const int code = run_report(c, &j);
    decode_close(&j);
    return code;
}
