// tessera autoreject simulate: EEG-like epochs into a file, tile by tile.

#include "job.h"
#include "text.h"

#include <tessera/autoreject.h>
#include <tessera/io.h>

#include <stdlib.h>

static tess_dtype simulated_dtype(const tess_autoreject_simulate_config *config)
{
    return config->dtype_index == 0 ? TESS_F32 : TESS_F64;
}

static int print_json(cli *c, const job *j, const tess_autoreject_simulate_config *config)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.simulate/1");
    tess_json_object_begin(json, "result");
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "dtype", tess_dtype_name(simulated_dtype(config)));
    tess_json_array_begin(json, "shape");
    tess_json_int(json, NULL, config->n_epoch);
    tess_json_int(json, NULL, config->n_chan);
    tess_json_int(json, NULL, config->n_time);
    tess_json_array_end(json);
    tess_json_int(json, "seed", config->seed);
    tess_json_object_end(json);
    job_write_json(json, j);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// Names and places of the electrodes, as a montage that the other commands read.
static int write_positions(cli *c, const tess_autoreject_simulate_config *config)
{
    enum { LINE = 96 }; // a name and three numbers
    const size_t n_chan = (size_t)config->n_chan;
    double *at = malloc(n_chan * 3 * sizeof *at);
    char *text = malloc(n_chan * LINE + 1);
    size_t used = 0;

    if (!at || !text) {
        free(at);
        free(text);
        return console_fail(71, "no memory for %zu positions", n_chan);
    }
    tess_status status = tess_autoreject_simulated_positions(config->n_chan, at);
    for (size_t k = 0; status == TESS_OK && k < n_chan; k++) {
        used += (size_t)snprintf(text + used, LINE, "E%03zu,%.9g,%.9g,%.9g\n", k + 1, at[3 * k],
                                 at[3 * k + 1], at[3 * k + 2]);
    }
    if (status == TESS_OK) {
        const int is_own =
            c->values.resume && job_is_made_by(c, c->values.positions, "autoreject.simulate");
        status = tess_text_save(c->ctx, c->values.positions, "autoreject.simulate", text,
                                c->values.overwrite || is_own);
    }
    free(at);
    free(text);
    CLI_CALL(status);
    return 0;
}

static int run_simulate(cli *c, job *j, tess_sink **sink)
{
    tess_autoreject_simulate_config config;
    tess_sink_config sink_config;
    char shape_text[128];

    tess_autoreject_simulate_config_init(&config, sizeof config);
    tess_sink_config_init(&sink_config, sizeof sink_config);
    if (!c->values.output && !c->values.dry_run) {
        return cli_usage_error(c, "-o FILE is missing: where shall the epochs go?");
    }
    CLI_TRY(job_check_options(c));
    CLI_TRY(session_open(c, (void *[]){&config}));
    CLI_CALL(tess_autoreject_simulate_plan_create(c->ctx, &config, &j->plan));
    CLI_TRY(job_announce(c, j));
    if (c->values.dry_run) {
        return 0;
    }
    const int64_t shape[] = {config.n_epoch, config.n_chan, config.n_time};
    int finished = 0;
    CLI_TRY(job_find_finished(c, j, NULL, &finished));
    if (!finished) {
        sink_config.overwrite = c->values.overwrite;
        CLI_CALL(tess_sink_create(c->ctx, c->values.output, &sink_config, simulated_dtype(&config),
                                  3, shape, sink));
        CLI_TRY(job_execute(c, j, NULL, *sink));
    }
    if (c->values.positions) {
        CLI_TRY(write_positions(c, &config));
    }
    if (c->values.json) {
        return print_json(c, j, &config);
    }
    text_shape(shape_text, sizeof shape_text, 3, shape);
    printf("%s: %s %s, seed %lld\n", c->values.output, tess_dtype_name(simulated_dtype(&config)),
           shape_text, (long long)config.seed);
    return 0;
}

int cmd_autoreject_simulate(cli *c)
{
    job j = {0};
    tess_sink *sink = NULL;
    const int code = run_simulate(c, &j, &sink);

    job_close(&j);
    tess_sink_close(sink);
    return code;
}
