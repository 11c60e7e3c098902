// Sampling: from the fit to draws, their files and what is said of them.

#include "xpcs.h"

#include "job.h"
#include "ranks.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Passes with gradient that a draw took over the cases tried: 3 to 15.
enum { PASSES_A_DRAW = 7 };

int xpcs_announce_draws(cli *c, const xpcs_job *j)
{
    const tess_xpcs_sample_config *s = &j->sample_config;
    tess_xpcs_fit_plan plan;
    const double n = (double)s->n_chain * (double)(s->n_warmup + s->n_draw);

    CLI_TRY(xpcs_status(
        c, j,
        tess_xpcs_fit_get_plan(c->ctx, j->data, &j->model, &j->fit_config, &plan, sizeof plan)));
    if (c->values.xpcs.combine) {
        console_note("sampling: none; the parts in %s are joined", c->values.xpcs.combine);
        return 0;
    }
    if (s->method == TESS_XPCS_METHOD_LAPLACE) {
        console_note("sampling: %lld draws at once from a normal at the maximum, weighed by all "
                     "data, about %.2g s",
                     (long long)(s->n_chain * s->n_draw),
                     (double)(s->n_chain * s->n_draw) * plan.pass_s);
        return 0;
    }
    console_note("sampling: %lld chains of %lld + %lld draws, about %.2g passes and %.2g s%s",
                 (long long)s->n_chain, (long long)s->n_warmup, (long long)s->n_draw,
                 PASSES_A_DRAW * n, PASSES_A_DRAW * n * plan.pass_s,
                 s->method == TESS_XPCS_METHOD_CONSENSUS
                     ? ", of parts of the data, which are combined; without --cmc-num-shards and "
                       "--shard-points all data are sampled at once, which is exact"
                     : "");
    return 0;
}

int xpcs_take_draws_checkpoints(const cli *c, xpcs_job *j)
{
    const tess_xpcs_fit_config *fit = &j->fit_config;
    tess_xpcs_sample_config *config = &j->sample_config;

    if (j->method == XPCS_NLSQ || !fit->checkpoint_dir) {
        return 0;
    }
    j->draws_folder = malloc(strlen(fit->checkpoint_dir) + 8);
    if (!j->draws_folder) {
        return console_fail(71, "no memory for the name %s", fit->checkpoint_dir);
    }
    sprintf(j->draws_folder, "%s/draws", fit->checkpoint_dir);
    config->checkpoint_dir = j->draws_folder;
    config->checkpoint_every_s = c->run_values.checkpoint_every;
    config->keep_checkpoints = fit->keep_checkpoints;
    config->resume = fit->resume;
    config->keep_finished = 1; // until the results are written
    return 0;
}

static void forget_folder(cli *c, const char *folder)
{
    if (tess_checkpoint_clear(c->ctx, folder) != TESS_OK) {
        console_note("%s; remove %s by hand", tess_last_error(), folder);
    }
}

void xpcs_forget_draws(cli *c, const xpcs_job *j)
{
    char part[PATH_MAX];

    if (!j->draws_folder || c->values.xpcs.combine) { // joining leaves none
        return;
    }
    if (j->sample_config.method != TESS_XPCS_METHOD_CONSENSUS) {
        forget_folder(c, j->draws_folder);
        return;
    }
    for (int64_t k = 1; k <= tess_xpcs_posterior_get_info(j->posterior)->n_shard; k++) {
        snprintf(part, sizeof part, "%.4000s_%05lld", j->draws_folder, (long long)k);
        forget_folder(c, part);
    }
}

// Where --report says, else beside the draws.
static int write_page(cli *c, xpcs_job *j, const char *folder, int overwrite)
{
    char *path = malloc(strlen(folder) + 32);

    if (!path) {
        return console_fail(71, "no memory for the name %s", folder);
    }
    sprintf(path, "%s/cmc/report.html", folder);
    const char *place = c->values.report ? c->values.report : path;
    const int code =
        job_status(c, tess_xpcs_draws_report(c->ctx, tess_xpcs_posterior_get_info(j->posterior),
                                             j->diagnosis, j->result, &j->sample_config, j->data,
                                             &j->model, place, overwrite));
    if (code == 0) {
        console_note("report written to %s", place);
    }
    free(path);
    return code;
}

static int write_draws(cli *c, xpcs_job *j, const char *folder)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    tess_xpcs_write_config config;

    tess_xpcs_write_config_init(&config, sizeof config);
    config.overwrite = c->values.overwrite ? 1 : 2 * c->values.resume;
    config.surfaces = v->no_surfaces ? 0 : v->save_surfaces ? 1 : -1;
    CLI_TRY(job_status(c, tess_xpcs_draws_write(c->ctx, tess_xpcs_posterior_get_info(j->posterior),
                                                j->diagnosis, j->result, &j->sample_config, j->data,
                                                &j->model, folder, &config)));
    return write_page(c, j, folder, config.overwrite);
}

int xpcs_sample(cli *c, xpcs_job *j, const char *folder)
{
    if (c->values.xpcs.no_warmstart) {
        console_note("--no-nlsq-warmstart: chains begin around the minimum all the same; the "
                     "priors never know of it");
    }
    if (c->values.xpcs.combine) {
        CLI_TRY(xpcs_combine_shards(c, j));
    } else {
        CLI_TRY(xpcs_status(c, j,
                            tess_xpcs_sample(c->ctx, j->data, &j->model, j->result, &j->fit_config,
                                             &j->sample_config, &j->posterior)));
    }
    CLI_TRY(job_status(c, tess_xpcs_diagnose(c->ctx, tess_xpcs_posterior_get_info(j->posterior),
                                             j->result, &j->sample_config, &j->diagnosis)));
    if (!ranks_is_first()) {
        return 0;
    }
    return j->sample_config.shard > 0 ? xpcs_save_shard(c, j, folder) : write_draws(c, j, folder);
}

// R-hat, which one chain and draws that never moved do not have.
static const char *r_hat_text(double r_hat, int digits, char text[static 24])
{
    if (isnan(r_hat)) {
        return "unknown";
    }
    snprintf(text, 24, "%.*f", digits, r_hat);
    return text;
}

static void print_row(const char *name, const tess_xpcs_summary *s)
{
    char text[24];
    if (s->is_fixed) {
        printf("%-20s %13.7g    fixed\n", name, s->mean);
        return;
    }
    printf("%-20s %13.7g +- %-9.2g [%.5g, %.5g]  %s %7.0f %7.0f%s\n", name, s->mean, s->sd,
           s->quantile[0], s->quantile[TESS_XPCS_N_QUANTILE - 1], r_hat_text(s->r_hat, 3, text),
           s->ess_bulk, s->ess_tail, s->is_bimodal ? "  two modes" : "");
}

void xpcs_print_draws(const xpcs_job *j)
{
    const tess_xpcs_diagnosis_info *d = tess_xpcs_diagnosis_get_info(j->diagnosis);
    const tess_xpcs_posterior_info *p = tess_xpcs_posterior_get_info(j->posterior);
    const int64_t n = d->n_param + 1;
    char text[24];

    printf("\ndraws          %lld chains of %lld after %lld, %lld evaluations, %.3f s\n",
           (long long)d->n_chain, (long long)d->n_draw, (long long)j->sample_config.n_warmup,
           (long long)p->n_evaluation, p->seconds);
    if (p->method == TESS_XPCS_METHOD_CONSENSUS) {
        printf("parts          %lld, combined\n", (long long)p->n_shard);
    }
    if (p->noise_photons > 0) {
        printf("noise          as the fit has it: draws spread as far as its errors reach\n");
    }
    printf("chains         %s: R-hat %s, effective draws %.0f in the bulk, %.0f in the tails",
           tess_xpcs_chains_state_name((tess_xpcs_chains_state)d->state),
           r_hat_text(d->r_hat_max, 4, text), d->ess_bulk_min, d->ess_tail_min);
    if (!isnan(d->bfmi_min)) { // made by paths
        printf(", %lld divergences, acceptance %.2f, E-BFMI %.2f", (long long)d->n_diverged_all,
               d->accept_mean, d->bfmi_min);
    }
    printf("\n\n");
    printf("%-20s %13s    %-9s %s\n", "", "mean", "sd", "5 to 95 %, R-hat, ESS of bulk and tails");
    for (int64_t k = 0; k < n && k < d->n_row; k++) {
        print_row(d->names[k], &d->rows[k]);
    }
}

int xpcs_draws_verdict(const cli *c, const xpcs_job *j)
{
    const tess_xpcs_diagnosis_info *d = tess_xpcs_diagnosis_get_info(j->diagnosis);

    char text[24];

    console_warnings(d->warnings);
    if (d->state != TESS_XPCS_CHAINS_CONVERGED) {
        console_fail(1, "the chains have not converged (%s): R-hat %s, %lld divergences",
                     tess_xpcs_chains_state_name((tess_xpcs_chains_state)d->state),
                     r_hat_text(d->r_hat_max, 3, text), (long long)d->n_diverged_all);
        return c->values.xpcs.strict ? 1 : 0;
    }
    return c->values.xpcs.strict && d->warnings[0]
               ? console_fail(1, "the draws have warnings, and --strict was given")
               : 0;
}
