// tessera xpcs fit and mcmc.

#include "xpcs.h"

#include "job.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The file that is written first.
static const char *first_file(const cli *c, const xpcs_job *j)
{
    return c->values.xpcs.per_angle ? "per_angle.csv"
           : j->method == XPCS_CMC  ? "cmc/parameters.json"
                                    : "nlsq/parameters.json";
}

// What is there already: with --resume a result of this very fit, whose writing goes on.
static int check_own(cli *c, xpcs_job *j, const char *path)
{
    struct stat there;
    int is_own = 1;

    if (path && c->values.resume && !c->values.overwrite && j->method != XPCS_CMC &&
        stat(path, &there) == 0) {
        CLI_TRY(xpcs_status(
            c, j, tess_xpcs_fit_is_of(c->ctx, j->data, &j->model, &j->fit_config, path, &is_own)));
    }
    return is_own ? 0
                  : console_fail(73, "%s is of another fit; give --overwrite to replace it", path);
}

static int check_results(cli *c, xpcs_job *j, const char *folder)
{
    const char *name = first_file(c, j);
    char *first = malloc(strlen(folder) + strlen(name) + 2);
    if (!first) {
        return console_fail(71, "no memory for the name %s", folder);
    }
    sprintf(first, "%s/%s", folder, name);
    const int code = check_own(c, j, first);
    free(first);
    return code ? code : check_own(c, j, c->values.report);
}

// A folder of the configuration is gone on with where it fits; one of --checkpoint when asked to.
static void take_checkpoints(const cli *c, xpcs_job *j)
{
    tess_xpcs_fit_config *config = &j->fit_config;

    if (c->values.checkpoint != config->checkpoint_dir) {
        config->checkpoint_dir = c->values.checkpoint;
        config->resume = c->values.resume;
        config->keep_checkpoints = c->run_values.keep_checkpoints;
    } else if (c->values.resume) {
        config->resume = 1;
    }
    config->checkpoint_every_s = c->run_values.checkpoint_every;
    config->keep_finished = 1; // until the results are written
}

// The last word: with --strict a doubtful fit fails.
static int verdict(const cli *c, const xpcs_job *j)
{
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(j->result);

    console_notes(info->recovery);
    console_warnings(info->warnings);
    if (info->convergence != TESS_XPCS_CONVERGED) {
        console_fail(1,
                     "the fit did not converge: %s (cost %g, gradient %g); try --max-nfev, other "
                     "starts (--n-start 12) or another mode",
                     info->message, info->cost, info->gradient_norm);
        return c->values.xpcs.strict ? 1 : 0;
    }
    return c->values.xpcs.strict && info->warnings[0]
               ? console_fail(1, "the fit has warnings, and --strict was given")
               : 0;
}

// Nothing is lost without them any more.
static void forget_checkpoints(cli *c, const xpcs_job *j)
{
    const char *folder = j->fit_config.fast ? NULL : j->fit_config.checkpoint_dir;

    xpcs_forget_draws(c, j);
    if (folder && tess_checkpoint_clear(c->ctx, folder) != TESS_OK) {
        console_note("%s; remove %s by hand", tess_last_error(), folder);
    }
}

static int fit_and_sample(cli *c, xpcs_job *j, const char *folder)
{
    CLI_TRY(
        xpcs_status(c, j, tess_xpcs_fit(c->ctx, j->data, &j->model, &j->fit_config, &j->result)));
    if (j->method != XPCS_CMC && ranks_is_first()) {
        CLI_TRY(xpcs_write_results(c, j, folder));
    }
    if (j->method != XPCS_NLSQ) {
        CLI_TRY(xpcs_sample(c, j, folder));
    }
    if (!ranks_is_first()) {
        return 0;
    }
    CLI_TRY(xpcs_print_fit(c, j, folder));
    forget_checkpoints(c, j);
    const int fitted = verdict(c, j);
    const int drawn = j->posterior ? xpcs_draws_verdict(c, j) : 0;
    return fitted ? fitted : drawn;
}

static int run_fit(cli *c, xpcs_job *j)
{
    if (c->values.xpcs.version) {
        return cmd_version(c->values.json);
    }
    if (c->values.verbose && c->values.quiet) {
        return cli_usage_error(c, "--verbose and --quiet exclude each other: give one of them");
    }
    CLI_TRY(xpcs_check_drawing(c));
    CLI_TRY(xpcs_open_session(c, j));
    const char *folder = c->values.output;
    const char *path = c->n_operand > 0 ? c->operands[0] : c->values.xpcs.data_file;
    if (c->values.xpcs.plot_simulated) {
        return ranks_is_first() ? xpcs_draw(c, j, folder, path) : 0;
    }
    CLI_TRY(xpcs_check_absent(c, folder, first_file(c, j),
                              c->values.resume || j->sample_config.shard != 0));
    if (!path && j->config) {
        return console_fail(78,
                            "%s: experimental_data.file_path is missing, and no file of data is "
                            "named on the command line",
                            j->config);
    }
    if (!path) {
        return cli_usage_error(c, "no data: name a file, or experimental_data.file_path in the "
                                  "configuration");
    }
    if (c->values.xpcs.plot_experimental) {
        return ranks_is_first() ? xpcs_draw(c, j, folder, path) : 0;
    }
    if (c->values.xpcs.per_angle) {
        CLI_TRY(xpcs_check_per_angle(c, j));
    }
    take_checkpoints(c, j);
    CLI_TRY(xpcs_take_draws_checkpoints(c, j));
    CLI_TRY(job_check_options(c));
    CLI_TRY(xpcs_open_data(c, j, path));
    CLI_TRY(check_results(c, j, folder));
    CLI_TRY(xpcs_take_warm_start(c, j));
    CLI_TRY(xpcs_announce(c, j));
    if (j->method != XPCS_NLSQ) {
        CLI_TRY(xpcs_announce_draws(c, j));
    }
    if (c->values.dry_run) {
        return 0;
    }
    return c->values.xpcs.per_angle ? xpcs_fit_angles(c, j, folder) : fit_and_sample(c, j, folder);
}

int cmd_xpcs_fit(cli *c)
{
    xpcs_job j = {0};
    const int code = run_fit(c, &j);
    xpcs_close(&j);
    return code;
}
