// Options of sampling, and where another fit ended.

#include "member.h"
#include "xpcs.h"

#include "job.h"

#include <tessera/sys/document.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A fit so far off is no start: the original's limit of reduced chi2.
static const double MAX_REDUCED_CHI2 = 100;

static int choose_method(const cli *c, xpcs_job *j)
{
    const int is_mcmc = strcmp(c->command->name, "xpcs mcmc") == 0;
    const char *given = c->values.xpcs.method;
    const char *said = given ? given : tess_xpcs_settings_get_info(j->settings)->method;

    if (is_mcmc && given && strcmp(given, "nlsq") == 0) {
        return cli_usage_error(c, "--method nlsq: xpcs mcmc samples; fit with tessera xpcs fit");
    }
    j->method = strcmp(said, "both") == 0                               ? XPCS_BOTH
                : strcmp(said, "cmc") == 0 || strcmp(said, "mcmc") == 0 ? XPCS_CMC
                : is_mcmc                                               ? XPCS_CMC
                                                                        : XPCS_NLSQ;
    return 0;
}

static int parse_fraction(const cli *c)
{
    const char *text = c->values.xpcs.gpu_memory_fraction;
    char *end = NULL;
    const double x = text ? strtod(text, &end) : 0.5;

    return text && (*end || end == text || !(x > 0 && x <= 1))
               ? cli_usage_error(c, "--gpu-memory-fraction: '%s' is not a number above 0, up to 1",
                                 text)
               : 0;
}

// The place of a name among the parameters of the mode, or -1 contrast, -2 offset; -3: none.
static int64_t find_prior(const xpcs_job *j, const char *name, size_t length)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);

    for (int64_t k = 0; k < n; k++) {
        if (strlen(params[k].name) == length && strncmp(params[k].name, name, length) == 0) {
            return k;
        }
    }
    for (int which = 0; which < 2; which++) {
        const char *known = tess_xpcs_scaling_param(which)->name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return -1 - which;
        }
    }
    return -3;
}

// "D0=1e4:2e3,contrast=0.3:0.1"
static int take_priors(const cli *c, xpcs_job *j)
{
    for (const char *at = c->values.xpcs.prior; at && *at;) {
        const size_t length = strcspn(at, ",");
        const size_t n_name = strcspn(at, "=,");
        const int64_t k = find_prior(j, at, n_name);
        char *end = NULL;
        const double mean = n_name < length ? strtod(at + n_name + 1, &end) : 0;
        const int has_mean = n_name < length && end > at + n_name + 1 && *end == ':';
        const double sd = has_mean ? strtod(end + 1, &end) : 0;
        if (k == -3) {
            return cli_usage_error(c, "--prior: '%.*s' is no parameter of mode %s", (int)n_name, at,
                                   tess_xpcs_mode_name((tess_xpcs_mode)j->model.mode));
        }
        if (!has_mean || end != at + length || !isfinite(mean) || !(sd > 0) || isinf(sd)) {
            return cli_usage_error(c,
                                   "--prior: '%.*s' is no prior; write NAME=MEAN:SD with SD above "
                                   "0, such as D0=1e4:2e3",
                                   (int)length, at);
        }
        double *pair = k == -1 ? j->sample_config.contrast_prior : j->sample_config.offset_prior;
        *(k >= 0 ? &j->prior_mean[k] : &pair[0]) = mean;
        *(k >= 0 ? &j->prior_sd[k] : &pair[1]) = sd;
        at += length + (at[length] == ',');
    }
    return 0;
}

int xpcs_write_priors(FILE *file, const xpcs_job *j)
{
    const double *pairs[2] = {j->sample_config.contrast_prior, j->sample_config.offset_prior};
    int64_t n = 0;
    int count = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);

    if (j->method == XPCS_NLSQ) {
        return 0;
    }
    for (int64_t k = 0; k < n; k++) {
        if (isfinite(j->prior_mean[k]) && isfinite(j->prior_sd[k])) {
            fprintf(file, "%s%s=%.17g:%.17g", count++ ? "," : "", params[k].name, j->prior_mean[k],
                    j->prior_sd[k]);
        }
    }
    for (int which = 0; which < 2; which++) {
        const tess_xpcs_param_info *p = tess_xpcs_scaling_param(which);
        if (pairs[which][0] != p->prior_mean || pairs[which][1] != p->prior_sd) {
            fprintf(file, "%s%s=%.17g:%.17g", count++ ? "," : "", p->name, pairs[which][0],
                    pairs[which][1]);
        }
    }
    return count;
}

// Before a fit is made that draws could not begin from.
static int check_noise(const cli *c, const xpcs_job *j)
{
    const tess_xpcs_sample_config *s = &j->sample_config;

    if (j->fit_config.noise != 1) {
        return 0;
    }
    if (s->method == TESS_XPCS_METHOD_CONSENSUS || s->shard > 0 || c->values.xpcs.combine) {
        return cli_usage_error(c, "noise frames is a noise of all points together, which parts of "
                                  "the data do not have: use --sampler nuts or laplace without "
                                  "parts, or --noise independent");
    }
    if (j->fit_config.sigma_mode == TESS_XPCS_SIGMA_PER_LAG) {
        return cli_usage_error(c, "--sigma-mode per_lag: draws with noise frames have constant or "
                                  "estimate; give one of them, or --noise independent");
    }
    if (s->scaling != TESS_XPCS_DRAW_SCALING_FIT) {
        return cli_usage_error(c, "--draw-scaling: draws with noise frames have that of the fit; "
                                  "give --draw-scaling fit, or --noise independent");
    }
    return 0;
}

int xpcs_take_sampling(const cli *c, xpcs_job *j)
{
    const tess_xpcs_sample_config *said = tess_xpcs_settings_get_info(j->settings)->sample;

    CLI_TRY(choose_method(c, j));
    CLI_TRY(parse_fraction(c));
    for (int k = 0; k < TESS_XPCS_MAX_PARAM; k++) {
        j->prior_mean[k] = said->prior_mean[k];
        j->prior_sd[k] = said->prior_sd[k];
    }
    j->sample_config.prior_mean = j->prior_mean;
    j->sample_config.prior_sd = j->prior_sd;
    CLI_TRY(take_priors(c, j));
    CLI_TRY(xpcs_take_shard(c, j));
    if (j->method == XPCS_NLSQ) {
        xpcs_warn_unused_draws(c);
    } else if (j->fit_config.scaling == TESS_XPCS_SCALING_FOURIER &&
               j->sample_config.scaling == TESS_XPCS_DRAW_SCALING_FIT) {
        return cli_usage_error(c, "--scaling fourier: a series in phi is not sampled; give "
                                  "--draw-scaling individual or averaged, or another --scaling");
    } else if (j->fit_config.loss != TESS_XPCS_LOSS_LINEAR) {
        return cli_usage_error(c, "--loss: draws are of normal noise, which a robust loss does not "
                                  "have; give --loss linear, or --method nlsq to fit alone");
    }
    return j->method == XPCS_NLSQ ? 0 : check_noise(c, j);
}

static double number_of(const tess_document_node *node)
{
    char *end = NULL;
    const double x = node && node->text[0] ? strtod(node->text, &end) : (double)NAN;
    return end && *end == '\0' ? x : (double)NAN;
}

// Values of parameters.json as starts. Those that are given on the command line stay.
static int take_values(cli *c, xpcs_job *j, const char *path, const tess_document_node *root)
{
    const tess_document_node *all = document_member(root, "parameters");
    const double chi2 = number_of(document_member(root, "reduced_chi_squared"));
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);

    if (chi2 > MAX_REDUCED_CHI2) {
        console_note("warning: %s: reduced chi2 is %.3g, above %g: not taken as a start", path,
                     chi2, MAX_REDUCED_CHI2);
        return 0;
    }
    for (int64_t k = 0; k < n; k++) {
        const double x = number_of(document_member(document_member(all, params[k].name), "value"));
        if (!isfinite(x)) {
            return console_fail(65, "%s: has no value of %s; give a folder of results of mode %s",
                                path, params[k].name,
                                tess_xpcs_mode_name((tess_xpcs_mode)j->model.mode));
        }
        const int is_given = k < CLI_XPCS_STARTS && c->values.xpcs.starts[k];
        if (!is_given && j->is_fixed[k] != 1) {
            j->start[k] = x;
        }
    }
    j->fit_config.n_start = j->fit_config.n_start ? j->fit_config.n_start : 1;
    console_note("starting from %s", path);
    return 0;
}

int xpcs_take_warm_start(cli *c, xpcs_job *j)
{
    const char *given = c->values.xpcs.nlsq_result;
    tess_document *document = NULL;
    struct stat there;
    char path[4200];

    if (!given || c->values.xpcs.no_warmstart) {
        return 0;
    }
    const int is_folder = stat(given, &there) == 0 && S_ISDIR(there.st_mode);
    snprintf(path, sizeof path, "%s%s", given, is_folder ? "/parameters.json" : "");
    if (is_folder && stat(path, &there) != 0) { // not the folder nlsq itself
        snprintf(path, sizeof path, "%s/nlsq/parameters.json", given);
    }
    CLI_CALL(tess_document_load(c->ctx, path, &document));
    const int code = take_values(c, j, path, tess_document_root(document));
    tess_document_destroy(document);
    return code;
}
