// tessera decode em: fits a model, then improves its discrete parameters on the decoded bins.

#include "decode.h"
#include "job.h"
#include "paths.h"

#include <stdlib.h>

typedef struct em_result {
    double *log_evidence; // owned: [max_iterations]
    int64_t n_iteration;
    int was_finished; // the model was there already
} em_result;

static int show_iteration(void *user, int64_t iteration, double log_evidence, double change)
{
    (void)user;
    if (iteration == 0) {
        console_note("iteration 1: log evidence %.10g", log_evidence);
    } else {
        console_note("iteration %lld: log evidence %.10g, relative change %.3g",
                     (long long)iteration + 1, log_evidence, change);
    }
    return 0;
}

// The priors that belong to the ready-made model.
static int set_priors(const decode_job *j, tess_decode_model_defaults *defaults,
                      tess_decode_em_config *config)
{
    const tess_decode_model_config *fitted = tess_decode_model_settings(j->model);
    const int sorted = fitted->encoding.algorithm >= TESS_DECODE_SORTED_SPIKES_KDE;

    CLI_CALL(tess_decode_model_get_defaults((tess_decode_model_kind)fitted->model, sorted, defaults,
                                            sizeof *defaults));
    config->concentration = &defaults->concentration;
    config->stickiness = defaults->stickiness;
    config->frozen_rows = defaults->frozen_rows;
    return 0;
}

static int run_em(cli *c, decode_job *j, const tess_decode_observation *seen, em_result *result)
{
    tess_decode_outputs outputs;

    tess_decode_outputs_init(&outputs, sizeof outputs);
    result->log_evidence = calloc((size_t)j->em.max_iterations, sizeof *result->log_evidence);
    if (!result->log_evidence) {
        return console_fail(71, "no memory for %lld iterations", (long long)j->em.max_iterations);
    }
    const tess_status status =
        tess_decode_em(c->ctx, tess_decode_model_detector(j->model), seen, &j->em, &outputs,
                       result->log_evidence, &result->n_iteration);
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    CLI_CALL(status);
    CLI_CALL(tess_decode_model_save(c->ctx, j->model, c->values.output, c->values.overwrite));
    if (c->values.checkpoint) {
        CLI_CALL(tess_checkpoint_clear(c->ctx, c->values.checkpoint));
    }
    return 0;
}

// With --resume: the model may be there already, left by a run that was killed at its very end.
static int find_finished(cli *c, decode_job *j, const tess_decode_observation *seen,
                         em_result *result)
{
    CLI_CALL(tess_decode_em_is_finished(c->ctx, tess_decode_model_detector(j->model), seen, &j->em,
                                        c->values.output, &result->was_finished));
    if (!result->was_finished) {
        return paths_check_target(c, c->values.output);
    }
    console_note("%s is complete already: nothing was left to do", c->values.output);
    tess_decode_model_destroy(j->model);
    j->model = NULL;
    return decode_load_model(c, j, c->values.output);
}

static int estimate(cli *c, decode_job *j, em_result *result)
{
    const tess_decode_observation *seen = &j->seen;
    tess_decode_model_defaults defaults;

    CLI_TRY(decode_look(c, j));
    CLI_TRY(set_priors(j, &defaults, &j->em));
    j->em.iteration = show_iteration;
    j->em.checkpoint_dir = c->values.checkpoint;
    j->em.checkpoint_every_s = c->run_values.checkpoint_every;
    j->em.resume = c->values.resume;
    j->em.keep_finished = 1; // until the model is in its file
    if (c->values.resume) {
        CLI_TRY(find_finished(c, j, seen, result));
    }
    return result->was_finished ? 0 : run_em(c, j, seen, result);
}

static void print_text(const cli *c, decode_job *j, const em_result *result)
{
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));

    decode_print_recording(tess_decode_recording_get_info(j->recording));
    decode_print_model(j);
    if (!result->was_finished) {
        printf("iterations     %lld\n", (long long)result->n_iteration);
    }
    if (result->n_iteration > 0) {
        printf("log evidence   %.10g at first, %.10g at last\n", result->log_evidence[0],
               result->log_evidence[result->n_iteration - 1]);
    }
    for (int32_t from = 0; from < states->n_state && states->n_coefficient == 0; from++) {
        printf("%s", from == 0 ? "transitions    " : "               ");
        for (int32_t to = 0; to < states->n_state; to++) {
            printf("%s%.6g", to ? "  " : "",
                   states->discrete_transition[from * states->n_state + to]);
        }
        printf("  from %s\n", states->state_names[from]);
    }
    decode_print_coefficients(j);
    printf("model file     %s\n", c->values.output);
}

static int print_json(cli *c, decode_job *j, const em_result *result)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.em/1");
    decode_write_recording(json, tess_decode_recording_get_info(j->recording));
    decode_write_model(json, j);
    tess_json_object_begin(json, "em");
    tess_json_text(json, "path", c->values.output);
    tess_json_bool(json, "was_finished", result->was_finished);
    tess_json_int(json, "n_iteration", result->n_iteration);
    tess_json_array_begin(json, "log_evidence");
    for (int64_t i = 0; i < result->n_iteration; i++) {
        tess_json_real(json, NULL, result->log_evidence[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static void write_iterations(tess_json *json, const void *self)
{
    const tess_decode_em_config *em = self;
    tess_json_int(json, "max_iterations", em->max_iterations);
}

// Before the model is fitted nobody knows what memory its iterations take.
static int announce(cli *c, const decode_job *j)
{
    const int64_t n_time = tess_decode_recording_get_info(j->recording)->observation.n_time;
    tess_context_info machine;
    char line[128];

    CLI_CALL(tess_context_get_info(c->ctx, &machine, sizeof machine));
    snprintf(line, sizeof line, "plan: at most %lld iterations over %lld bins",
             (long long)j->em.max_iterations, (long long)n_time);
    const plan_facts facts = {.strategy = TESS_STRATEGY_STANDARD,
                              .reason = "every iteration goes over all bins",
                              .unit = "bins",
                              .n_item = n_time,
                              .items_per_tile = n_time,
                              .n_tile = 1,
                              .limit_bytes = machine.memory_limit_bytes,
                              .write_system = write_iterations,
                              .self = &j->em};
    return job_announce_plan(c, &facts, line);
}

static int run(cli *c, decode_job *j, em_result *result)
{
    if (!c->values.output && !c->values.dry_run) {
        return cli_usage_error(c, "-o FILE is missing: where shall the model go?");
    }
    CLI_TRY(job_check_options(c));
    CLI_TRY(decode_check_model_file(c));
    CLI_TRY(decode_open_session(c, j));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], c->values.model_file, NULL,
                                      c->values.model_file ? NULL : &j->config, 1));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    if (c->values.dry_run) {
        return announce(c, j);
    }
    CLI_TRY(c->values.model_file ? decode_load_model(c, j, c->values.model_file)
                                 : decode_fit(c, j));
    CLI_TRY(decode_open_covariates(c, j));
    CLI_TRY(estimate(c, j, result));
    if (c->values.json) {
        return print_json(c, j, result);
    }
    print_text(c, j, result);
    return 0;
}

int cmd_decode_em(cli *c)
{
    decode_job j = {0};
    em_result result = {0};
    const int code = run(c, &j, &result);
    free(result.log_evidence);
    decode_close(&j);
    return code;
}
