// tessera xpcs compare.

#include "xpcs.h"

#include "console.h"
#include "job.h"
#include "text.h"

#include <tessera/device.h>

#include <string.h>

enum { MOST_MODELS = 16 };

// The mode of a name's first n characters; -1: none.
static int32_t mode_of(const char *name, size_t n)
{
    for (int32_t mode = 0; mode < MOST_MODELS; mode++) {
        const char *known = tess_xpcs_mode_name((tess_xpcs_mode)mode);
        if (known && strlen(known) == n && strncmp(known, name, n) == 0) {
            return mode;
        }
    }
    return -1;
}

static int parse_models(const cli *c, int32_t *modes, int64_t *n)
{
    *n = 0;
    for (const char *at = c->values.xpcs.models; *at;) {
        const size_t length = strcspn(at, ",");
        const int32_t mode = mode_of(at, length);
        if (mode < 0 || *n == MOST_MODELS) {
            return cli_usage_error(c,
                                   "--models has '%.*s'; expected names of models such as "
                                   "static_isotropic, static_anisotropic, laminar_flow",
                                   (int)length, at);
        }
        modes[(*n)++] = mode;
        at += length + (at[length] == ',');
    }
    return 0;
}

static void print_row(const tess_xpcs_evidence *e)
{
    printf("%-20s %11.4g %12.2f +- %-5.2f %9.2f +- %-5.2f %10.1f %10.1f  %s\n",
           tess_xpcs_mode_name((tess_xpcs_mode)e->mode), e->probability, e->log_evidence, e->error,
           e->log_bayes_factor, e->log_bayes_factor_error, e->aic, e->bic,
           tess_xpcs_bayes_words(e->log_bayes_factor, e->log_bayes_factor_error));
}

static void print_rows(const tess_xpcs_evidence *rows, int64_t n)
{
    printf("%-20s %11s %12s %8s %9s %8s %10s %10s\n", "model", "probability", "ln evidence", "",
           "ln factor", "", "AIC", "BIC");
    for (int64_t k = 0; k < n; k++) {
        print_row(&rows[k]);
    }
}

static int print_result(cli *c, const tess_xpcs_evidence *rows, int64_t n)
{
    char *text = NULL;

    if (!c->values.json) {
        if (!c->values.quiet) {
            print_rows(rows, n);
        }
        return 0;
    }
    CLI_CALL(tess_xpcs_compare_json(c->ctx, rows, n, &text));
    puts(text);
    tess_text_free(text);
    return 0;
}

static int write_files(cli *c, const tess_xpcs_evidence *rows, int64_t n)
{
    const char *const paths[] = {c->values.output, c->values.report};

    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        if (paths[k]) {
            CLI_TRY(job_status(
                c, tess_xpcs_compare_write(c->ctx, rows, n, paths[k], c->values.overwrite)));
        }
    }
    return 0;
}

// Those of the session are the default mode's; every model has its own.
static void forget_parameters(xpcs_job *j)
{
    j->fit_config.start = j->fit_config.x_scale = NULL;
    j->fit_config.lower = j->fit_config.upper = NULL;
    j->fit_config.is_fixed = NULL;
    j->sample_config.prior_mean = j->sample_config.prior_sd = NULL;
}

static int run_compare(cli *c, xpcs_job *j)
{
    int32_t modes[MOST_MODELS];
    int64_t n = 0;
    tess_xpcs_evidence rows[MOST_MODELS];

    if (!c->values.xpcs.models) {
        c->values.xpcs.models = "static_isotropic,static_anisotropic,laminar_flow";
    }
    CLI_TRY(parse_models(c, modes, &n));
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(xpcs_open_data(c, j, c->operands[0]));
    forget_parameters(j);
    CLI_TRY(xpcs_status(c, j,
                        tess_xpcs_compare(c->ctx, j->data, &j->model, modes, n, &j->fit_config,
                                          &j->sample_config, rows, sizeof *rows)));
    CLI_TRY(write_files(c, rows, n));
    CLI_TRY(print_result(c, rows, n));
    for (int64_t k = 0; k < n; k++) {
        if (rows[k].is_doubtful) {
            console_note("%s: %s", tess_xpcs_mode_name((tess_xpcs_mode)rows[k].mode),
                         rows[k].notes);
        }
    }
    return 0;
}

int cmd_xpcs_compare(cli *c)
{
    xpcs_job j = {0};
    const int code = run_compare(c, &j);
    xpcs_close(&j);
    return code;
}
