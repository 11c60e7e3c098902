// tessera autoreject global and validation-curve.

#include "autoreject.h"
#include "job.h"

#include <stdlib.h>

// The picked channels of one type; the number of them.
static int64_t channels_of_type(const autoreject_job *j, int32_t type, int64_t *channels)
{
    const tess_autoreject_sensors *sensors = tess_autoreject_epochs_get_info(j->epochs)->sensors;
    int64_t n = 0;
    for (int64_t i = 0; i < j->n_pick; i++) {
        if (sensors->channels[j->picks[i]].type == type) {
            channels[n++] = j->picks[i];
        }
    }
    return n;
}

typedef struct global_line {
    int32_t type;
    tess_autoreject_global_result result;
} global_line;

static int print_global(cli *c, autoreject_job *j, const global_line *lines, int n_line)
{
    tess_json *json = NULL;

    if (!c->values.json) {
        for (int i = 0; i < n_line; i++) {
            printf("%-6s %.6g\n", tess_autoreject_type_name(lines[i].type),
                   lines[i].result.threshold);
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.global/1");
    autoreject_write_epochs(json, j);
    tess_json_object_begin(json, "reject");
    for (int i = 0; i < n_line; i++) {
        tess_json_real(json, tess_autoreject_type_name(lines[i].type), lines[i].result.threshold);
    }
    tess_json_object_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// Eye channels cannot be repaired, but MNE's reject= takes a threshold for them.
static void pick_eog(autoreject_job *j)
{
    const tess_autoreject_sensors *sensors = tess_autoreject_epochs_get_info(j->epochs)->sensors;
    for (int64_t i = 0; i < sensors->n_chan; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[i];
        if (channel->type == TESS_AUTOREJECT_EOG && !channel->is_bad) {
            j->picks[j->n_pick++] = i; // there is room for every channel
        }
    }
}

static int run_global(cli *c, autoreject_job *j, int64_t **channels)
{
    global_line lines[TESS_AUTOREJECT_EOG + 1];
    int n_line = 0;

    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    if (!c->values.picks) {
        pick_eog(j);
    }
    *channels = malloc((size_t)j->n_pick * sizeof **channels + 1);
    if (!*channels) {
        return console_fail(71, "no memory for the list of channels");
    }
    for (int32_t type = 0; type <= TESS_AUTOREJECT_EOG; type++) {
        const int64_t n = channels_of_type(j, type, *channels);
        if (n == 0) {
            continue;
        }
        global_line *line = &lines[n_line++];
        *line = (global_line){.type = type, .result = {.struct_size = sizeof line->result}};
        CLI_TRY(job_status(c, tess_autoreject_global(c->ctx, j->epochs, *channels, n,
                                                     &j->global_config, &line->result)));
    }
    return print_global(c, j, lines, n_line);
}

int cmd_autoreject_global(cli *c)
{
    autoreject_job j = {0};
    int64_t *channels = NULL;
    const int code = run_global(c, &j, &channels);
    free(channels);
    autoreject_close(&j);
    return code;
}

typedef struct curve {
    double *thresholds;
    int64_t n;
    double *scores; // train, then test: [n][n_fold] each
} curve;

static double mean_of(const double *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum / (double)n;
}

static int print_curve(cli *c, autoreject_job *j, const curve *v)
{
    const int64_t n_fold = j->global_config.n_fold;
    const double *test = v->scores + v->n * n_fold;
    tess_json *json = NULL;

    if (!c->values.json) {
        puts("threshold      train score    test score");
        for (int64_t i = 0; i < v->n; i++) {
            printf("%-14.6g %-14.6g %.6g\n", v->thresholds[i],
                   mean_of(v->scores + i * n_fold, n_fold), mean_of(test + i * n_fold, n_fold));
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.validation-curve/1");
    tess_json_array_begin(json, "curve");
    for (int64_t i = 0; i < v->n; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_real(json, "threshold", v->thresholds[i]);
        tess_json_real(json, "train", mean_of(v->scores + i * n_fold, n_fold));
        tess_json_real(json, "test", mean_of(test + i * n_fold, n_fold));
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int run_curve(cli *c, autoreject_job *j, curve *v)
{
    if (!c->values.thresholds) {
        return cli_usage_error(c, "--thresholds LIST is missing: such as 40e-6,80e-6,160e-6");
    }
    CLI_TRY(cli_parse_reals(c, "thresholds", c->values.thresholds, &v->thresholds, &v->n));
    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    const int64_t n = v->n * j->global_config.n_fold;
    v->scores = malloc((size_t)n * 2 * sizeof *v->scores + 1);
    if (!v->scores) {
        return console_fail(71, "no memory for %lld scores", (long long)n);
    }
    CLI_TRY(job_status(c, tess_autoreject_validation_curve(
                              c->ctx, j->epochs, j->picks, j->n_pick, v->thresholds, v->n, NULL,
                              j->global_config.n_fold, v->scores, v->scores + n)));
    return print_curve(c, j, v);
}

int cmd_autoreject_validation_curve(cli *c)
{
    autoreject_job j = {0};
    curve v = {0};
    const int code = run_curve(c, &j, &v);
    free(v.thresholds);
    free(v.scores);
    autoreject_close(&j);
    return code;
}
