// tessera autoreject fit, transform, fit-transform, thresholds, info.

#include "autoreject.h"
#include "job.h"
#include "ranks.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int check_epochs_target(const cli *c)
{
    if (!c->values.output && !c->values.dry_run) {
        return cli_usage_error(c, "-o FILE is missing: where shall the repaired epochs go?");
    }
    return job_check_options(c);
}

// What --resume finds under the name of an output is a result of autoreject; whether it is one of
// this very run shows when it is written.
static int check_found(cli *c, const char *path)
{
    if (!path || access(path, F_OK) != 0 || job_is_made_by(c, path, "autoreject.")) {
        return 0;
    }
    return console_fail(
        73, "%s exists and is no result of autoreject; give --overwrite to replace it", path);
}

// What makes no sense, before any work.
static int check_request(const cli *c, const autoreject_job *j)
{
    if (j->transform_config.keep_bad && j->transform_config.drop_partial) {
        return cli_usage_error(c, "--keep-bad keeps every epoch and --drop-partial drops some that "
                                  "are good: give one of them");
    }
    return 0;
}

static int open_session(cli *c, autoreject_job *j)
{
    const char *const outputs[] = {c->values.output, c->values.save_model, c->values.log,
                                   c->values.report};

    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(check_request(c, j));
    for (size_t i = 0; autoreject_overwrite(c) == 2 && i < sizeof outputs / sizeof *outputs; i++) {
        CLI_TRY(check_found(c, outputs[i]));
    }
    return 0;
}

static int save_model(cli *c, autoreject_job *j, const char *path)
{
    if (!path) {
        return 0;
    }
    CLI_CALL(tess_autoreject_model_save(c->ctx, j->model, path, autoreject_overwrite(c)));
    console_note("model written to %s", path);
    return 0;
}

// Whether a transform drops an epoch.
static bool is_dropped(const autoreject_job *j, const tess_autoreject_log_info *log, int64_t e)
{
    bool is_bad = log->bad_epochs[e] != 0;
    for (int64_t c = 0; j->transform_config.drop_partial && !is_bad && c < log->n_chan; c++) {
        is_bad = log->labels[e * log->n_chan + c] == 1;
    }
    return is_bad && !j->transform_config.keep_bad;
}

static bool nothing_survives(const autoreject_job *j)
{
    const tess_autoreject_log_info *log = tess_autoreject_log_get_info(j->log);
    for (int64_t e = 0; e < log->n_epoch; e++) {
        if (!is_dropped(j, log, e)) {
            return false;
        }
    }
    return true;
}

// The last word on a log: 5 if nothing survives; everything that can be written has been by then.
static int verdict(const autoreject_job *j)
{
    if (!nothing_survives(j)) {
        return 0;
    }
    return console_fail(AUTOREJECT_ALL_BAD,
                        j->transform_config.drop_partial
                            ? "every epoch is bad or keeps bad channels: look at the report, leave "
                              "out --drop-partial, or allow more repairs (--n-interpolate)"
                            : "every epoch is bad: look at the report, raise --consensus or pick "
                              "other channels");
}

static int run_fit(cli *c, autoreject_job *j)
{
    CLI_TRY(job_check_options(c));
    CLI_TRY(open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_announce(c, j));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(autoreject_fit(c, j, 0));
    if (!ranks_is_first()) { // which writes and speaks for all
        return 0;
    }
    CLI_TRY(save_model(c, j, c->values.output));
    CLI_TRY(autoreject_make_log(c, j));
    CLI_TRY(autoreject_write_report(c, j));
    CLI_TRY(autoreject_print(c, j, "tessera.autoreject.fit/1"));
    autoreject_forget_checkpoints(c);
    return verdict(j);
}

// By its name: other epochs may have other channels, in another order.
static bool is_fitted(const tess_autoreject_model_info *model, const char *name)
{
    bool is_there = false;
    for (int64_t p = 0; p < model->n_pick; p++) {
        is_there = is_there || strcmp(model->channel_names[model->picks[p]], name) == 0;
    }
    return is_there;
}

// Channels that are marked bad now and were not when the model was fitted.
static void tell_of_bads(const autoreject_job *j)
{
    const tess_autoreject_model_info *model = tess_autoreject_model_get_info(j->model);
    const tess_autoreject_sensors *sensors = tess_autoreject_epochs_get_info(j->epochs)->sensors;
    char names[512] = "";
    size_t length = 0;

    for (int64_t c = 0; c < sensors->n_chan && length < sizeof names; c++) {
        const char *name = sensors->channels[c].name;
        if (sensors->channels[c].is_bad && is_fitted(model, name)) {
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length ? ", " : "", name);
        }
    }
    if (length > 0) {
        console_note("warning: marked bad, but repaired and predicted from like the others, as the "
                     "model was fitted with them: %s; fit without them to leave them alone",
                     names);
    }
}

static int run_transform(cli *c, autoreject_job *j)
{
    if (!c->values.model_file) {
        return cli_usage_error(c, "--model FILE is missing: 'tessera autoreject fit' writes one");
    }
    if (c->values.picks) {
        return cli_usage_error(c, "--picks: the model says which channels are repaired; give them "
                                  "to 'fit', or leave them out");
    }
    CLI_TRY(check_epochs_target(c));
    CLI_TRY(open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_load_model(c, j));
    tell_of_bads(j);
    if (c->values.dry_run) {
        return autoreject_print(c, j, "tessera.autoreject.transform/1");
    }
    CLI_TRY(autoreject_make_log(c, j));
    if (!nothing_survives(j)) {
        CLI_TRY(autoreject_transform(c, j));
    }
    CLI_TRY(autoreject_write_report(c, j));
    CLI_TRY(autoreject_print(c, j, "tessera.autoreject.transform/1"));
    return verdict(j);
}

static int run_fit_transform(cli *c, autoreject_job *j)
{
    CLI_TRY(check_epochs_target(c));
    CLI_TRY(open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_announce(c, j));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(autoreject_fit(c, j, 0));
    CLI_TRY(save_model(c, j, c->values.save_model));
    CLI_TRY(autoreject_make_log(c, j));
    if (!nothing_survives(j)) {
        CLI_TRY(autoreject_transform(c, j));
    }
    CLI_TRY(autoreject_write_report(c, j));
    CLI_TRY(autoreject_print(c, j, "tessera.autoreject.fit-transform/1"));
    autoreject_forget_checkpoints(c);
    return verdict(j);
}

static void print_thresholds(const tess_autoreject_model_info *info)
{
    for (int64_t t = 0; t < info->n_type; t++) {
        const tess_autoreject_type_fit *fit = &info->types[t];
        for (int64_t k = 0; k < fit->n_chan; k++) {
            autoreject_print_name(info->channel_names[fit->channels[k]], 20);
            printf(" %-6s %.6g +- %.2g\n", tess_autoreject_type_name(fit->type), fit->thresholds[k],
                   fit->standard_errors[k]);
        }
    }
}

static int run_thresholds(cli *c, autoreject_job *j)
{
    CLI_TRY(job_check_options(c));
    CLI_TRY(open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    if (c->values.dry_run) {
        return autoreject_announce(c, j);
    }
    CLI_TRY(autoreject_fit(c, j, 1));
    if (!ranks_is_first()) { // which writes and speaks for all
        return 0;
    }
    CLI_TRY(save_model(c, j, c->values.output));
    if (c->values.json) {
        CLI_TRY(autoreject_print(c, j, "tessera.autoreject.thresholds/1"));
    } else {
        print_thresholds(tess_autoreject_model_get_info(j->model));
    }
    autoreject_forget_checkpoints(c);
    return 0;
}

static int with_job(cli *c, int (*run)(cli *c, autoreject_job *j))
{
    autoreject_job j = {0};
    const int code = run(c, &j);
    autoreject_close(&j);
    return code;
}

int cmd_autoreject_fit(cli *c)
{
    return with_job(c, run_fit);
}

int cmd_autoreject_transform(cli *c)
{
    return with_job(c, run_transform);
}

int cmd_autoreject_fit_transform(cli *c)
{
    return with_job(c, run_fit_transform);
}

int cmd_autoreject_thresholds(cli *c)
{
    return with_job(c, run_thresholds);
}

int cmd_autoreject_info(cli *c)
{
    autoreject_job j = {0};
    int code = autoreject_open_session(c, &j);
    if (code == 0) {
        code = autoreject_open_epochs(c, &j, c->operands[0]);
    }
    if (code == 0) {
        autoreject_hint_at_montage(&j);
        code = autoreject_print(c, &j, "tessera.autoreject.info/1");
    }
    autoreject_close(&j);
    return code;
}
