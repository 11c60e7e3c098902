// Runs the decode commands: recording, model, prediction, and what stops them.

#include "decode.h"
#include "job.h"
#include "ranks.h"
#include "signals.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double decode_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int decode_open_session(cli *c, decode_job *j)
{
    tess_decode_model_config_init(&j->config, sizeof j->config);
    tess_decode_predict_config_init(&j->predict, sizeof j->predict);
    tess_decode_em_config_init(&j->em, sizeof j->em);
    tess_decode_tune_config_init(&j->tune, sizeof j->tune);
    tess_decode_online_config_init(&j->online, sizeof j->online);
    tess_decode_events_config_init(&j->events, sizeof j->events);
    j->verify_difference = (double)NAN;
    void *const structs[] = {&j->config,
                             &j->config.environment,
                             &j->config.encoding,
                             &j->config.detector,
                             &j->predict,
                             &j->em,
                             &j->tune,
                             &j->online,
                             &j->events};
    void *systems[CLI_MAX_TABLE] = {0};
    static const tess_param_table *(*const tables[])(void) = {
        tess_decode_model_params,    tess_decode_environment_params, tess_decode_encoding_params,
        tess_decode_detector_params, tess_decode_predict_params,     tess_decode_em_params,
        tess_decode_tune_params,     tess_decode_online_params,      tess_decode_events_params};

    // Each of the command's tables is resolved into the struct it describes.
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
            if (c->system[i].table == tables[k]()) {
                systems[i] = structs[k];
            }
        }
    }
    return session_open(c, systems);
}

static int split_gaps(cli *c, decode_job *j, const char *text)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);
    int64_t n_gap = 0;
    if (end == text || *end || !(seconds > 0) || isinf(seconds)) {
        return cli_usage_error(c, "--position-max-gap: '%s' is no time in seconds above 0", text);
    }
    CLI_CALL(tess_decode_recording_split_gaps(c->ctx, j->recording, seconds, &n_gap));
    if (n_gap > 0) {
        console_note("position: %lld gaps of more than %g s are taken as not tracked",
                     (long long)n_gap, seconds);
    }
    return 0;
}

int decode_open_recording(cli *c, decode_job *j, const char *path)
{
    CLI_CALL(tess_decode_recording_open(c->ctx, path, &j->recording));
    console_notes(tess_decode_recording_get_info(j->recording)->notes);
    decode_warn_unused(c, j);
    return c->values.position_max_gap ? split_gaps(c, j, c->values.position_max_gap) : 0;
}

int decode_open_intervals(cli *c, decode_job *j)
{
    const tess_decode_observation *seen =
        &tess_decode_recording_get_info(j->recording)->observation;

    if (!c->values.intervals) {
        return 0;
    }
    CLI_CALL(tess_decode_interval_table_open(c->ctx, c->values.intervals, c->values.intervals_name,
                                             &j->table));
    const tess_decode_intervals *intervals = tess_decode_interval_table_get(j->table);
    j->rows = calloc(2 * (size_t)intervals->n + 1, sizeof *j->rows);
    if (!j->rows) {
        return console_fail(71, "no memory for --intervals");
    }
    const tess_status status = tess_decode_interval_rows(
        c->ctx, intervals, seen->time, seen->n_time, j->rows, j->rows + intervals->n);
    if (status != TESS_OK) {
        return console_fail(tess_status_exit_code(TESS_E_FORMAT), "%s: %s", c->values.intervals,
                            tess_last_error());
    }
    return 0;
}

int decode_open_covariates(cli *c, decode_job *j)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const char *names = tess_decode_model_settings(j->model)->covariates;
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));

    if (states->n_coefficient == 0) {
        return c->values.covariates_file
                   ? cli_usage_error(c,
                                     "--covariates-file: the transitions of this model depend on "
                                     "nothing; --covariates of 'fit' says what they shall")
                   : 0;
    }
    if (!names) {
        return console_fail(tess_status_exit_code(TESS_E_UNSUPPORTED),
                            "%s: its transitions depend on covariates without names, which only "
                            "Python knows how to make; decode with it there",
                            c->values.model_file ? c->values.model_file : "the model");
    }
    CLI_CALL(tess_decode_covariates_open(
        c->ctx, c->values.covariates_file ? c->values.covariates_file : info->path, names,
        info->observation.n_time, &j->covariates));
    j->predict.design = tess_decode_covariates_design(j->covariates, NULL);
    j->em.design = j->predict.design;
    j->events.n_covariate_time = info->observation.n_time;
    j->events.covariate_time = info->observation.time;
    j->events.design = j->predict.design;
    return 0;
}

int decode_is_default(const cli *c, const char *table, const char *name)
{
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        const settings *values = &c->system[i];
        for (int64_t k = 0; strcmp(values->table->name, table) == 0 && k < values->table->n_param;
             k++) {
            if (strcmp(values->table->params[k].name, name) == 0) {
                return values->origin[k] == SETTING_DEFAULT;
            }
        }
    }
    return 0;
}

static void take_wish(const cli *c, const char *table, const char *name, const char *option,
                      double wish, double *value)
{
    if (wish > 0 && wish != *value && decode_is_default(c, table, name)) {
        console_note("%s %g, as the recording asks; --%s overrides it", name, wish, option);
        *value = wish;
    }
}

static int starts_with(const char *text, const char *start)
{
    return start && start[0] && strncmp(text, start, strlen(start)) == 0;
}

int decode_data_status(const cli *c, const decode_job *j, tess_status status)
{
    const char *path = tess_decode_recording_get_info(j->recording)->path;
    const int code = tess_status_exit_code(status);
    const int data_code = tess_status_exit_code(TESS_E_FORMAT);

    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    if ((code != data_code && code != tess_status_exit_code(TESS_E_ARGUMENT)) ||
        starts_with(tess_last_error(), c->values.output) || starts_with(tess_last_error(), path) ||
        starts_with(tess_last_error(), c->values.checkpoint) ||
        starts_with(tess_last_error(), c->values.intervals)) {
        return console_status(status);
    }
    return console_fail(data_code, "%s: %s", path, tess_last_error());
}

int decode_fit(cli *c, decode_job *j)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    tess_decode_model_config *config = &j->config;

    take_wish(c, "decode.environment", "place_bin_size", "place-bin-size", info->place_bin_size,
              &config->environment.place_bin_size);
    take_wish(c, "decode.encoding", "position_std", "position-std", info->position_std,
              &config->encoding.position_std);
    take_wish(c, "decode.encoding", "waveform_std", "waveform-std", info->waveform_std,
              &config->encoding.waveform_std);
    config->covariates = c->values.covariates;
    const double begin = decode_now_s();
    const tess_status status = tess_decode_model_fit(c->ctx, j->recording, config, &j->model);
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    if (status != TESS_OK) {
        return decode_data_status(c, j, status);
    }
    j->fit_s = decode_now_s() - begin;
    return 0;
}

int decode_load_model(cli *c, decode_job *j, const char *path)
{
    const double begin = decode_now_s();
    CLI_CALL(tess_decode_model_load(c->ctx, path, &j->model));
    j->config = *tess_decode_model_settings(j->model);
    if (j->recording) {
        CLI_CALL(tess_decode_recording_match(c->ctx, j->recording, j->model));
    }
    j->fit_s = decode_now_s() - begin;
    return 0;
}

int decode_look(const cli *c, decode_job *j)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const tess_decode_environment_info *places =
        tess_decode_environment_get_info(tess_decode_model_environment(j->model));

    if (info->observation.position.n_dim != places->n_dim) {
        return console_fail(tess_status_exit_code(TESS_E_SHAPE),
                            "%s: position has %lld coordinates, and the model %s was fitted to "
                            "%lld; give a recording of the same kind, or fit a model to this one",
                            info->path, (long long)info->observation.position.n_dim,
                            c->values.model_file ? c->values.model_file : "",
                            (long long)places->n_dim);
    }
    j->seen = info->observation;
    if (!tess_decode_detector_get_info(tess_decode_model_detector(j->model))->needs_position) {
        j->seen.position.n_sample = 0;
        j->seen.position.time = NULL;
        j->seen.position.position = NULL;
    }
    return 0;
}

int decode_parse_want(const cli *c, const char *text, int32_t *want)
{
    static const struct {
        const char *name;
        int32_t bit;
    } names[] = {{"filter", TESS_DECODE_WANT_FILTER},
                 {"predictive", TESS_DECODE_WANT_PREDICTIVE},
                 {"predictive-posterior", TESS_DECODE_WANT_PREDICTIVE_POSTERIOR},
                 {"log-likelihood", TESS_DECODE_WANT_LOG_LIKELIHOOD},
                 {"path", TESS_DECODE_WANT_PATH}};

    *want = 0;
    for (const char *at = text ? text : ""; *at;) {
        const size_t length = strcspn(at, ",");
        int32_t bit = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strlen(names[i].name) == length && strncmp(names[i].name, at, length) == 0) {
                bit = names[i].bit;
            }
        }
        if (bit == 0) {
            return cli_usage_error(c,
                                   "--want: '%.*s' is none of filter, predictive, "
                                   "predictive-posterior, log-likelihood, path",
                                   (int)length, at);
        }
        *want |= bit;
        at += length + (at[length] == ',');
    }
    return 0;
}

static int make_stream_config(const cli *c, const decode_job *j, tess_decode_stream_config *config)
{
    tess_decode_stream_config_init(config, sizeof *config);
    CLI_TRY(decode_parse_want(c, c->values.want, &config->want));
    if (c->values.dtype) {
        config->dtype = strcmp(c->values.dtype, "f64") == 0 ? TESS_F64 : TESS_F32;
    }
    config->overwrite = c->values.overwrite;
    config->resume = c->values.resume;
    config->path = c->values.output ? c->values.output : "result.h5"; // a plan needs some name
    config->checkpoint_dir = c->values.checkpoint;
    config->checkpoint_every_s = c->run_values.checkpoint_every;
    config->n_chunk = j->predict.n_chunk;
    config->design = j->predict.design;
    config->recording = tess_decode_recording_get_info(j->recording);
    config->model = tess_decode_model_settings(j->model);
    config->intervals = j->table ? tess_decode_interval_table_get(j->table) : NULL;
    return 0;
}

static int announce(cli *c, const decode_job *j, const tess_decode_stream_report *plan,
                    int64_t n_time)
{
    char memory[32];
    char limit[32];
    char where[256];
    char line[512];
    tess_context_info info;

    text_bytes(memory, sizeof memory, plan->memory_bytes);
    text_bytes(limit, sizeof limit, plan->limit_bytes);
    CLI_CALL(tess_context_get_info(c->ctx, &info, sizeof info));
    CLI_CALL(tess_decode_stream_where(c->ctx, tess_decode_model_detector(j->model), n_time, where,
                                      sizeof where));
    const int is_cpu = strcmp(info.device, "cpu") == 0; // then there is nothing to tell
    snprintf(line, sizeof line, "plan: %lld bins in %lld %s of %lld; %s of %s%s%s",
             (long long)n_time, (long long)plan->n_chunk, plan->n_chunk == 1 ? "chunk" : "chunks",
             (long long)plan->rows_per_chunk, memory, limit, is_cpu ? "" : "; ",
             is_cpu ? "" : where);
    const plan_facts facts = {
        .strategy = plan->n_chunk == 1 ? TESS_STRATEGY_STANDARD : TESS_STRATEGY_CHUNKED,
        .reason = plan->n_chunk == 1 ? "all bins at once" : "as many bins at once as fit",
        .unit = "bins",
        .n_item = n_time,
        .items_per_tile = plan->rows_per_chunk,
        .n_tile = plan->n_chunk,
        .memory_bytes = plan->memory_bytes,
        .limit_bytes = plan->limit_bytes};
    return job_announce_plan(c, &facts, line);
}

static int run_stream(cli *c, decode_job *j, const tess_decode_stream_config *config)
{
    j->report = (tess_decode_stream_report){.struct_size = sizeof j->report};
    const tess_status status = tess_decode_stream(c->ctx, tess_decode_model_detector(j->model),
                                                  &j->seen, config, &j->report);
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    if (status != TESS_OK) {
        return decode_data_status(c, j, status);
    }
    const double elapsed = j->report.elapsed_s;
    if (j->report.resumed) {
        console_note("the rest in %.3f s", elapsed);
        return 0;
    }
    console_note("%lld bins in %.3f s, %.0f bins/s", (long long)j->report.n_row, elapsed,
                 elapsed > 0 ? (double)j->report.n_row / elapsed : 0);
    return 0;
}

// The result is whole by now: a stop costs no more than its score.
static int score(const cli *c, decode_job *j)
{
    const tess_status status = tess_decode_score_result(c->ctx, c->values.output, j->recording,
                                                        &j->score, sizeof j->score);

    if (status == TESS_CANCELLED && signals_caught() && !signals_pipe_closed()) {
        return console_fail(signals_exit_code(),
                            "stopped on request: %s is written whole, only its score is missing "
                            "(tessera decode report shows it)",
                            c->values.output);
    }
    CLI_CALL(status);
    return 0;
}

int decode_predict(cli *c, decode_job *j)
{
    tess_decode_stream_config config;
    tess_decode_stream_report plan = {.struct_size = sizeof plan};

    CLI_TRY(decode_look(c, j));
    CLI_TRY(make_stream_config(c, j, &config));
    const tess_status status = tess_decode_stream_plan(c->ctx, tess_decode_model_detector(j->model),
                                                       &j->seen, &config, &plan);
    if (status != TESS_OK) {
        return decode_data_status(c, j, status);
    }
    CLI_TRY(announce(c, j, &plan, plan.n_row));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(run_stream(c, j, &config));
    if (!ranks_is_first()) {
        return 0;
    }
    CLI_TRY(score(c, j));
    j->has_prediction = 1;
    return 0;
}

void decode_close(decode_job *j)
{
    free(j->rows);
    tess_decode_interval_table_close(j->table);
    tess_decode_covariates_close(j->covariates);
    tess_decode_model_destroy(j->model);
    tess_decode_recording_close(j->recording);
}
