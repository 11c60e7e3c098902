// tessera autoreject fit, transform, fit-transform, thresholds.

#include "autoreject.h"
#include "job.h"
#include "text.h"

#include <string.h>
#include <sys/stat.h>

static int is_same_file(const char *a, const char *b)
{
    struct stat first;
    struct stat second;
    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 &&
                                 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

// A result that replaces what it was made from, or another result, is lost work.
static int check_names_differ(const cli *c)
{
    const char *const outputs[] = {c->values.output, c->values.save_model, c->values.log,
                                   c->values.report, c->values.trace,      c->values.log_file};
    const char *const inputs[] = {c->operands[0],    c->values.model_file, c->values.events,
                                  c->values.montage, c->values.use_log,    c->values.config};
    const size_t n = sizeof outputs / sizeof *outputs;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; outputs[i] && k < sizeof inputs / sizeof *inputs; k++) {
            if (inputs[k] && is_same_file(outputs[i], inputs[k])) {
                return cli_usage_error(c,
                                       "%s is read, it cannot be written, too; give the result "
                                       "another name",
                                       outputs[i]);
            }
        }
        for (size_t k = 0; outputs[i] && k < i; k++) {
            if (outputs[k] && is_same_file(outputs[i], outputs[k])) {
                return cli_usage_error(c, "%s is named for two results; give them different names",
                                       outputs[i]);
            }
        }
    }
    return 0;
}

// Everything that can be refused before any work is.
static int check_targets(const cli *c)
{
    CLI_TRY(job_check_options(c));
    CLI_TRY(check_names_differ(c));
    if (c->values.log && !text_ends_with(c->values.log, ".npz") &&
        !text_ends_with(c->values.log, ".h5")) {
        return cli_usage_error(c, "--log: %s: reject logs are written as .npz", c->values.log);
    }
    CLI_TRY(job_check_target(c, c->values.output));
    CLI_TRY(job_check_target(c, c->values.save_model));
    CLI_TRY(job_check_target(c, c->values.log));
    return job_check_target(c, c->values.report);
}

// Epochs go to the formats that hold them; said before a fit that may take hours.
static int check_epochs_target(const cli *c)
{
    static const char *const endings[] = {".fif", ".fif.gz", ".npy", ".npz"};
    for (size_t i = 0; c->values.output && i < sizeof endings / sizeof *endings; i++) {
        if (text_ends_with(c->values.output, endings[i])) {
            return check_targets(c);
        }
    }
    if (!c->values.output && c->values.dry_run) {
        return check_targets(c);
    }
    return c->values.output
               ? cli_usage_error(c, "-o %s: epochs are written as .fif, .fif.gz, .npy or .npz",
                                 c->values.output)
               : cli_usage_error(c, "-o FILE is missing: where shall the repaired epochs go?");
}

static int save_model(cli *c, autoreject_job *j, const char *path)
{
    if (!path) {
        return 0;
    }
    CLI_CALL(tess_autoreject_model_save(c->ctx, j->model, path, c->values.overwrite));
    console_note("model written to %s", path);
    return 0;
}

static int nothing_survives(const autoreject_job *j)
{
    const tess_autoreject_log_info *log = tess_autoreject_log_get_info(j->log);
    for (int64_t e = 0; e < log->n_epoch; e++) {
        if (!log->bad_epochs[e]) {
            return 0;
        }
    }
    return !j->transform_config.keep_bad;
}

// The last word on a log: 5 if nothing survives; everything that can be written has been by then.
static int verdict(const autoreject_job *j)
{
    if (nothing_survives(j)) {
        return console_fail(AUTOREJECT_ALL_BAD,
                            "every epoch is bad: look at the report, raise --consensus or pick "
                            "other channels");
    }
    return 0;
}

static int run_fit(cli *c, autoreject_job *j)
{
    CLI_TRY(check_targets(c));
    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_announce(c, j));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(autoreject_fit(c, j, 0));
    CLI_TRY(save_model(c, j, c->values.output));
    CLI_TRY(autoreject_make_log(c, j));
    CLI_TRY(autoreject_write_report(c, j));
    CLI_TRY(autoreject_print(c, j, "tessera.autoreject.fit/1"));
    return verdict(j);
}

static int run_transform(cli *c, autoreject_job *j)
{
    if (!c->values.model_file) {
        return cli_usage_error(c, "--model FILE is missing: 'tessera autoreject fit' writes one");
    }
    CLI_TRY(check_epochs_target(c));
    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_load_model(c, j));
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
    CLI_TRY(autoreject_open_session(c, j));
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
    return verdict(j);
}

static int run_thresholds(cli *c, autoreject_job *j)
{
    CLI_TRY(check_targets(c));
    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    CLI_TRY(autoreject_fit(c, j, 1));
    CLI_TRY(save_model(c, j, c->values.output));
    if (c->values.json) {
        return autoreject_print(c, j, "tessera.autoreject.thresholds/1");
    }
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(j->model);
    for (int64_t t = 0; t < info->n_type; t++) {
        const tess_autoreject_type_fit *fit = &info->types[t];
        for (int64_t k = 0; k < fit->n_chan; k++) {
            autoreject_print_name(info->channel_names[fit->channels[k]], 20);
            printf(" %-6s %.6g +- %.2g\n", tess_autoreject_type_name(fit->type), fit->thresholds[k],
                   fit->standard_errors[k]);
        }
    }
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
