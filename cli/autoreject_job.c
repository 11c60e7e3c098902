// Runs the autoreject commands: epochs, fit, reject log, transform, and what stops them.

#include "autoreject.h"
#include "job.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse_counts(const cli *c, const char *option, const char *text, int64_t **out,
                        int64_t *n)
{
    double *reals = NULL;
    CLI_TRY(cli_parse_reals(c, option, text, &reals, n));
    *out = malloc((size_t)*n * sizeof **out);
    for (int64_t i = 0; *out && i < *n; i++) {
        if (!(reals[i] >= 0 && reals[i] < 1e9) || reals[i] != floor(reals[i])) {
            const double value = reals[i];
            free(reals);
            return cli_usage_error(c, "--%s: %g is not a number of channels", option, value);
        }
        (*out)[i] = (int64_t)reals[i];
    }
    free(reals);
    return *out ? 0 : console_fail(71, "no memory for the values of --%s", option);
}

// "none", or "START,END" in seconds, of which either may be left out.
static int parse_baseline(const cli *c, tess_autoreject_epochs_config *config)
{
    const char *text = c->values.baseline;
    if (!text) {
        return 0;
    }
    if (strcmp(text, "none") == 0) {
        config->baseline = 1;
        return 0;
    }
    const char *comma = strchr(text, ',');
    char *end = NULL;
    config->baseline = 2;
    config->baseline_start = comma == text ? -(double)INFINITY : strtod(text, &end);
    if (!comma || (comma != text && end != comma)) {
        return cli_usage_error(c, "--baseline: '%s' is neither none nor START,END in seconds",
                               text);
    }
    config->baseline_end = comma[1] == '\0' ? (double)INFINITY : strtod(comma + 1, &end);
    if ((comma[1] != '\0' && (end == comma + 1 || *end)) || isnan(config->baseline_start) ||
        isnan(config->baseline_end)) {
        return cli_usage_error(c, "--baseline: '%s' is neither none nor START,END in seconds",
                               text);
    }
    return 0;
}

int autoreject_open_session(cli *c, autoreject_job *j)
{
    tess_autoreject_epochs_config_init(&j->epochs_config, sizeof j->epochs_config);
    tess_autoreject_fit_config_init(&j->fit_config, sizeof j->fit_config);
    tess_autoreject_transform_config_init(&j->transform_config, sizeof j->transform_config);
    tess_autoreject_global_config_init(&j->global_config, sizeof j->global_config);
    tess_autoreject_ransac_config_init(&j->ransac_config, sizeof j->ransac_config);
    tess_autoreject_report_config_init(&j->report_config, sizeof j->report_config);
    tess_autoreject_study_config_init(&j->study_config, sizeof j->study_config);
    j->n_kept = -1;
    void *const structs[] = {&j->epochs_config, &j->fit_config,    &j->transform_config,
                             &j->global_config, &j->ransac_config, &j->report_config,
                             &j->study_config};
    static const tess_param_table *(*const tables[])(void) = {
        tess_autoreject_epochs_params,    tess_autoreject_fit_params,
        tess_autoreject_transform_params, tess_autoreject_global_params,
        tess_autoreject_ransac_params,    tess_autoreject_report_params,
        tess_autoreject_study_params};
    void *systems[CLI_MAX_TABLE] = {0};

    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
            if (c->system[i].table == tables[k]()) {
                systems[i] = structs[k];
            }
        }
    }
    if (c->values.consensus) {
        CLI_TRY(
            cli_parse_reals(c, "consensus", c->values.consensus, &j->consensus, &j->n_consensus));
    }
    if (c->values.n_interpolate) {
        CLI_TRY(parse_counts(c, "n-interpolate", c->values.n_interpolate, &j->n_interpolate,
                             &j->n_n_interpolate));
    }
    CLI_TRY(session_open(c, systems));
    return parse_baseline(c, &j->epochs_config);
}

int autoreject_open_epochs(cli *c, autoreject_job *j, const char *path)
{
    tess_autoreject_epochs_config *config = &j->epochs_config;

    config->events = c->values.events;
    config->event = c->values.event;
    config->stim = c->values.stim;
    config->montage = c->values.montage;
    config->types = c->values.types;
    config->bads = c->values.bads;
    config->dataset = c->values.dataset;
    CLI_CALL(tess_autoreject_epochs_open(c->ctx, path, config, &j->epochs));
    return autoreject_pick(c, j);
}

int autoreject_pick(cli *c, autoreject_job *j)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);

    console_notes(info->notes);
    j->picks = malloc((size_t)info->sensors->n_chan * sizeof *j->picks + 1);
    if (!j->picks) {
        return console_fail(71, "no memory for the list of channels");
    }
    CLI_CALL(tess_autoreject_picks(j->epochs, c->values.picks, j->picks, &j->n_pick));
    return 0;
}

static void complete_fit_config(const cli *c, autoreject_job *j)
{
    tess_autoreject_fit_config *config = &j->fit_config;

    config->picks = j->picks;
    config->n_pick = j->n_pick;
    config->consensus = j->consensus;
    config->n_consensus = j->n_consensus;
    config->n_interpolate = j->n_interpolate;
    config->n_n_interpolate = j->n_n_interpolate;
    config->checkpoint_dir = c->values.checkpoint;
    config->resume = c->values.resume;
    config->checkpoint_every_s = c->run_values.checkpoint_every;
    config->keep_finished = 1; // until all outputs are written
}

static void write_scratch(tess_json *json, const void *self)
{
    const tess_autoreject_fit_plan *plan = self;
    tess_json_uint(json, "scratch_bytes", plan->scratch_bytes);
}

int autoreject_announce(cli *c, autoreject_job *j)
{
    tess_autoreject_fit_plan plan;
    char memory[32];
    char limit[32];
    char scratch[32];
    char line[512];

    complete_fit_config(c, j);
    CLI_CALL(tess_autoreject_fit_get_plan(c->ctx, j->epochs, &j->fit_config, &plan, sizeof plan));
    text_bytes(memory, sizeof memory, plan.memory_bytes);
    text_bytes(limit, sizeof limit, plan.limit_bytes);
    text_bytes(scratch, sizeof scratch, plan.scratch_bytes);
    snprintf(line, sizeof line, "plan: %s, %lld tiles of time; %s of %s%s%s; %s",
             tess_strategy_name((tess_strategy)plan.strategy), (long long)plan.n_tile, memory,
             limit, plan.scratch_bytes ? ", scratch file of " : "",
             plan.scratch_bytes ? scratch : "", plan.reason);
    const int64_t n_time = tess_autoreject_epochs_get_info(j->epochs)->n_time;
    const plan_facts facts = {.strategy = (tess_strategy)plan.strategy,
                              .reason = plan.reason,
                              .unit = "samples",
                              .n_item = n_time,
                              .items_per_tile = (n_time + plan.n_tile - 1) / plan.n_tile,
                              .n_tile = plan.n_tile,
                              .memory_bytes = plan.memory_bytes,
                              .limit_bytes = plan.limit_bytes,
                              .write_system = write_scratch,
                              .self = &plan};
    return job_announce_plan(c, &facts, line);
}

// The largest number of repairs that is tried by default follows the channels.
static void say_repairs(const autoreject_job *j, const tess_autoreject_model_info *info)
{
    enum { USUAL = 32 };
    const int64_t n = info->n_n_interpolate;
    if (!j->n_interpolate && n > 0 && info->n_interpolate[n - 1] < USUAL) {
        console_note("n_interpolate: %lld is tried instead of %d, one less than the channels "
                     "picked; give --n-interpolate for others",
                     (long long)info->n_interpolate[n - 1], USUAL);
    }
}

int autoreject_fit(cli *c, autoreject_job *j, int thresholds_only)
{
    complete_fit_config(c, j);
    const tess_status status =
        thresholds_only ? tess_autoreject_thresholds(c->ctx, j->epochs, &j->fit_config, &j->model)
                        : tess_autoreject_fit(c->ctx, j->epochs, &j->fit_config, &j->model);
    CLI_TRY(job_status(c, status));
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(j->model);
    console_notes(info->notes);
    say_repairs(j, info);
    console_note("%lld epochs x %lld channels in %.3f s", (long long)info->n_epoch,
                 (long long)info->n_pick, info->seconds[3]);
    return 0;
}

int autoreject_load_model(cli *c, autoreject_job *j)
{
    CLI_CALL(tess_autoreject_model_load(c->ctx, c->values.model_file, &j->model));
    return 0;
}

int autoreject_make_log(cli *c, autoreject_job *j)
{
    if (c->values.use_log) {
        CLI_CALL(tess_autoreject_log_load(c->ctx, c->values.use_log, &j->log));
    } else {
        CLI_TRY(job_status(c, tess_autoreject_log_compute(c->ctx, j->model, j->epochs, &j->log)));
    }
    console_notes(tess_autoreject_log_get_info(j->log)->notes);
    if (c->values.log) {
        CLI_CALL(tess_autoreject_log_save(c->ctx, j->log, c->values.log, autoreject_overwrite(c)));
        console_note("reject log written to %s", c->values.log);
    }
    return 0;
}

int autoreject_transform(cli *c, autoreject_job *j)
{
    const char *folder = c->values.checkpoint;
    char *own = NULL;

    // A fit before it keeps its own checkpoint until all is written.
    if (folder && j->fit_config.checkpoint_dir) {
        if (asprintf(&own, "%s/transform", folder) < 0) {
            return console_fail(71, "no memory for the name %s", folder);
        }
        struct stat there;
        if (lstat(own, &there) == 0 && !S_ISDIR(there.st_mode)) {
            const int code = console_fail(73, "%s: is no folder of a run; remove it", own);
            free(own);
            return code;
        }
        folder = own;
    }
    j->transform_config.overwrite = autoreject_overwrite(c);
    j->transform_config.checkpoint_dir = folder;
    j->transform_config.resume = c->values.resume;
    j->transform_config.checkpoint_every_s = c->run_values.checkpoint_every;
    const tess_status status =
        tess_autoreject_transform(c->ctx, j->model, j->epochs, j->log, &j->transform_config, NULL,
                                  c->values.output, &j->n_kept);
    free(own);
    return job_status(c, status);
}

int autoreject_write_report(cli *c, autoreject_job *j)
{
    if (!c->values.report) {
        return 0;
    }
    char *command = NULL;
    CLI_TRY(autoreject_use_log_command(c, &command));
    j->report_config.use_log = command;
    const tess_status status =
        tess_autoreject_report(c->ctx, j->model, j->log, j->epochs, &j->report_config, NULL,
                               c->values.report, autoreject_overwrite(c));
    j->report_config.use_log = NULL;
    free(command);
    CLI_TRY(job_status(c, status));
    console_note("report written to %s", c->values.report);
    return 0;
}

void autoreject_forget_checkpoints(cli *c)
{
    const char *folder = c->values.checkpoint;

    if (folder && access(folder, F_OK) == 0 && tess_checkpoint_clear(c->ctx, folder) != TESS_OK) {
        console_note("%s; remove %s by hand", tess_last_error(), folder);
    }
}

int autoreject_overwrite(const cli *c)
{
    return c->values.overwrite ? 1 : 2 * c->values.resume;
}

void autoreject_close(autoreject_job *j)
{
    tess_autoreject_log_destroy(j->log);
    tess_autoreject_model_destroy(j->model);
    tess_autoreject_epochs_close(j->epochs);
    free(j->picks);
    free(j->consensus);
    free(j->n_interpolate);
}
