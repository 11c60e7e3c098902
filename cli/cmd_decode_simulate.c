// tessera decode simulate.

#include "decode.h"
#include "job.h"

#include <string.h>

// SIZE is the parameter of that name, by its more natural place.
static int take_size(cli *c)
{
    const tess_param_table *table = c->system[0].table;

    for (int64_t i = 0; c->n_operand > 0 && i < table->n_param; i++) {
        if (strcmp(table->params[i].name, "size") == 0) {
            if (c->system[0].flag_text[i]) {
                return cli_usage_error(c, "give the size once: as SIZE or as --size");
            }
            c->system[0].flag_text[i] = c->operands[0];
        }
    }
    return 0;
}

static int print_simulated(cli *c, const tess_decode_recording *recording,
                           const tess_decode_simulate_config *config)
{
    tess_decode_recording_info info = *tess_decode_recording_get_info(recording);
    tess_json *json = NULL;

    info.path = c->values.output;
    if (!c->values.json && c->values.quiet) {
        return 0;
    }
    if (!c->values.json) {
        decode_print_recording(&info);
        printf("seed           %lld\n", (long long)config->seed);
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.simulate/1");
    decode_write_recording(json, &info);
    tess_json_int(json, "seed", config->seed);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int run_simulate(cli *c, tess_decode_recording **recording)
{
    tess_decode_simulate_config config;

    tess_decode_simulate_config_init(&config, sizeof config);
    if (!c->values.output) {
        return cli_usage_error(c, "-o FILE is missing: where shall the recording go?");
    }
    CLI_TRY(take_size(c));
    CLI_TRY(session_open(c, (void *[]){&config}));
    CLI_CALL(tess_decode_simulate(c->ctx, &config, recording));
    CLI_CALL(tess_decode_recording_save(c->ctx, *recording, c->values.output, c->values.overwrite));
    return print_simulated(c, *recording, &config);
}

int cmd_decode_simulate(cli *c)
{
    tess_decode_recording *recording = NULL;
    const int code = run_simulate(c, &recording);
    tess_decode_recording_close(recording);
    return code;
}
