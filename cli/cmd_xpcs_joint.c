// tessera xpcs joint.

#include "xpcs.h"

#include "job.h"

#include <tessera/device.h>
#include <tessera/io.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_Q = 4096 };

// Bins whose q differ by less are of one ring.
static const double same_q = 1e-3;

typedef struct joint_job {
    xpcs_job base;
    tess_xpcs_joint_config config;
    int32_t ties[TESS_XPCS_MAX_PARAM];
    double *q; // owned; of --qs, NULL: one of every file
    int64_t n_q;
    tess_xpcs_data **members; // owned
    int64_t n_member;
    tess_xpcs_joint *joint; // owned
} joint_job;

// The names of one of the lists; what is in none is shared.
static int take_list(const cli *c, joint_job *j, const char *option, const char *text,
                     tess_xpcs_tie tie, const char **said)
{
    for (const char *at = text; at && *at;) {
        const size_t length = strcspn(at, ",");
        int64_t k = 0;
        CLI_TRY(xpcs_find_param(c, &j->base, option, at, length, &k));
        if (said[k] && strcmp(said[k], option) != 0) {
            return cli_usage_error(c, "--%s and --%s both name %.*s: give it once", said[k], option,
                                   (int)length, at);
        }
        said[k] = option;
        j->ties[k] = (int32_t)tie;
        at += length + (at[length] == ',');
    }
    return 0;
}

// What needs neither mode nor files.
static int take_q(const cli *c, joint_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    char *end = NULL;

    tess_xpcs_joint_config_init(&j->config, sizeof j->config);
    if (v->q_ref) {
        j->config.q_ref = strtod(v->q_ref, &end);
        if (end == v->q_ref || *end || !(j->config.q_ref > 0) || isinf(j->config.q_ref)) {
            return cli_usage_error(c, "--q-ref: '%s' is not a number above 0, in 1/Å", v->q_ref);
        }
    }
    if (v->qs && strcmp(v->qs, "all") != 0) {
        return cli_parse_reals(c, "qs", v->qs, &j->q, &j->n_q);
    }
    return 0;
}

static int take_ties(const cli *c, joint_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    const char *said[TESS_XPCS_MAX_PARAM] = {NULL};

    j->config.ties = j->ties;
    CLI_TRY(take_list(c, j, "share", v->share, TESS_XPCS_TIE_SHARED, said));
    CLI_TRY(take_list(c, j, "per-q", v->per_q, TESS_XPCS_TIE_EACH, said));
    return take_list(c, j, "power", v->power, TESS_XPCS_TIE_POWER, said);
}

static int open_one(cli *c, joint_job *j, const char *path, const double *q)
{
    tess_xpcs_data_config config = j->base.data_config;
    tess_xpcs_data **grown =
        realloc(j->members, (size_t)(j->n_member + 1) * sizeof(tess_xpcs_data *));

    if (!grown) {
        return console_fail(71, "no memory for the members");
    }
    j->members = grown;
    config.q = q ? *q : config.q;
    config.no_cache = 1; // its names do not tell members apart
    j->members[j->n_member] = NULL;
    CLI_TRY(xpcs_status(c, &j->base,
                        tess_xpcs_data_open(c->ctx, path, &config, &j->members[j->n_member])));
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(j->members[j->n_member++]);
    console_notes(info->notes);
    j->base.model.keep_t0 = info->keep_t0;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Every q of a file, rising.
static int open_all(cli *c, joint_job *j, const char *path)
{
    tess_xpcs_file *file = NULL;

    CLI_TRY(xpcs_status(c, &j->base, tess_xpcs_file_inspect(c->ctx, path, &file)));
    const tess_xpcs_file_info *info = tess_xpcs_file_get_info(file);
    double *q = calloc((size_t)info->n_bin + 1, sizeof *q);
    int64_t n = 0;
    int code = q ? 0 : console_fail(71, "no memory for the bins of %s", path);
    if (!code && strcmp(info->layout, "aps-u") != 0) {
        code = cli_usage_error(c,
                               "--qs all: %s has layout %s, whose bins are not rings of one q; "
                               "name the q",
                               path, info->layout);
    }
    for (int64_t i = 0; !code && i < info->n_bin; i++) {
        if (info->bins[i].is_valid && info->bins[i].q > 0) {
            q[n++] = info->bins[i].q;
        }
    }
    if (!code) {
        qsort(q, (size_t)n, sizeof *q, compare);
    }
    for (int64_t i = 0; !code && i < n; i++) {
        if (i == 0 || q[i] > (1 + same_q) * q[i - 1]) {
            code = open_one(c, j, path, &q[i]);
        }
    }
    free(q);
    tess_xpcs_file_close(file);
    return code;
}

static int open_members(cli *c, joint_job *j)
{
    for (int i = 0; i < c->n_operand; i++) {
        if (c->values.xpcs.qs && !j->q) {
            CLI_TRY(open_all(c, j, c->operands[i]));
        } else if (!j->q) {
            CLI_TRY(open_one(c, j, c->operands[i], NULL));
        }
        for (int64_t k = 0; k < j->n_q; k++) {
            CLI_TRY(open_one(c, j, c->operands[i], &j->q[k]));
        }
        if (j->n_member > MOST_Q) {
            return console_fail(65, "more than %d members; take fewer", MOST_Q);
        }
    }
    return j->n_member < 2
               ? cli_usage_error(c,
                                 "%lld member: a joint fit needs two at least; name several "
                                 "files, or several q of one with --qs 0.004,0.006 or --qs all",
                                 (long long)j->n_member)
               : 0;
}

static void print_parameters(const tess_xpcs_joint_info *info)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)info->mode, &n);

    printf("%-20s %-7s %13s    %-9s\n", "", "", "value", "sd");
    for (int64_t i = 0; i < info->n_unknown; i++) {
        const tess_xpcs_unknown *u = &info->unknowns[i];
        char name[64];
        if (u->member >= 0) {
            snprintf(name, sizeof name, "%s[%lld]", info->names[u->param], (long long)u->member);
        } else {
            snprintf(name, sizeof name, "%s%s", info->names[u->param],
                     u->is_exponent ? " exponent" : "");
        }
        printf("%-20s %-7s %13.7g +- %-9.2g %s%s\n", name,
               tess_xpcs_tie_name((tess_xpcs_tie)info->ties[u->param]), u->value, u->sd,
               u->is_exponent ? "" : params[u->param].unit,
               u->status == TESS_XPCS_FREE
                   ? ""
                   : tess_xpcs_param_status_name((tess_xpcs_param_status)u->status));
    }
    for (int64_t k = 0; k < n; k++) {
        if (info->tests[k].dof > 0) {
            printf("%-20s free by member, chi2 would fall by %.4g for %lld values: p = %.3g\n",
                   info->names[k], info->tests[k].gain, (long long)info->tests[k].dof,
                   info->tests[k].p);
        }
    }
}

static void print_lines(const tess_xpcs_joint_info *info, const char *folder)
{
    printf("members        %lld, %lld angles\n", (long long)info->n_member,
           (long long)info->n_angle);
    printf("fit            %s: %s\n",
           tess_xpcs_convergence_name((tess_xpcs_convergence)info->convergence), info->message);
    printf("quality        %s\n", tess_xpcs_quality_name((tess_xpcs_quality)info->quality));
    printf("sharing        chi2 %.6g above that of the members alone for %lld values fewer: p = "
           "%.3g\n",
           info->excess, (long long)info->excess_dof, info->excess_p);
    printf("q_ref          %.6g 1/Å\n", info->q_ref);
    printf("time           %.3f s, %lld evaluations\n\n", info->seconds,
           (long long)info->n_evaluation);
    print_parameters(info);
    puts("");
    for (int64_t m = 0; m < info->n_member; m++) {
        printf("member %-4lld q %-12.6g reduced chi2 %.6g\n", (long long)m, info->q[m],
               info->reduced_chi2[m]);
    }
    printf("\nresults        %s\n", folder);
}

static int print_result(cli *c, const joint_job *j)
{
    char *text = NULL;

    if (!c->values.json) {
        if (!c->values.quiet) {
            print_lines(tess_xpcs_joint_get_info(j->joint), c->values.output);
        }
        return 0;
    }
    CLI_CALL(tess_xpcs_joint_json(c->ctx, j->joint, &text));
    return xpcs_print_json(c, "tessera.xpcs.joint/1", text);
}

static int verdict(const cli *c, const joint_job *j)
{
    const tess_xpcs_joint_info *info = tess_xpcs_joint_get_info(j->joint);

    console_warnings(info->warnings);
    return c->values.xpcs.strict && info->warnings[0]
               ? console_fail(1, "the joint fit has warnings, and --strict was given")
               : 0;
}

static void take_checkpoints(const cli *c, joint_job *j)
{
    tess_xpcs_fit_config *config = &j->base.fit_config;

    config->checkpoint_dir = c->values.checkpoint;
    config->resume = c->values.resume;
    config->keep_checkpoints = c->run_values.keep_checkpoints;
    config->checkpoint_every_s = c->run_values.checkpoint_every;
    config->keep_finished = 1; // until the results are written
}

static int fit(cli *c, joint_job *j)
{
    const int overwrite = c->values.overwrite ? 1 : 2 * c->values.resume;

    CLI_TRY(xpcs_status(c, &j->base,
                        tess_xpcs_fit_joint(c->ctx, j->members, j->n_member, &j->base.model,
                                            &j->base.fit_config, &j->config, &j->joint)));
    CLI_TRY(job_status(c, tess_xpcs_joint_write(c->ctx, j->joint, c->values.output, overwrite)));
    console_note("results written to %s", c->values.output);
    CLI_TRY(print_result(c, j));
    if (c->values.checkpoint && tess_checkpoint_clear(c->ctx, c->values.checkpoint) != TESS_OK) {
        console_note("%s; remove %s by hand", tess_last_error(), c->values.checkpoint);
    }
    return verdict(c, j);
}

static void write_members(tess_json *json, const void *self)
{
    const joint_job *j = self;
    tess_json_int(json, "n_member", j->n_member);
}

// What a pass over each member takes, all together.
static int announce(cli *c, joint_job *j)
{
    plan_facts facts = {.unit = "tiles of points", .write_system = write_members, .self = j};
    char line[128];
    double pass_s = 0;

    for (int64_t m = 0; m < j->n_member; m++) {
        tess_xpcs_fit_plan plan;
        CLI_TRY(xpcs_status(c, &j->base,
                            tess_xpcs_fit_get_plan(c->ctx, j->members[m], &j->base.model,
                                                   &j->base.fit_config, &plan, sizeof plan)));
        facts.strategy =
            plan.strategy > (int32_t)facts.strategy ? (tess_strategy)plan.strategy : facts.strategy;
        facts.n_item += plan.n_tile;
        facts.memory_bytes += plan.memory_bytes;
        facts.limit_bytes = plan.limit_bytes;
        pass_s += plan.pass_s;
    }
    snprintf(line, sizeof line, "plan: %lld members, %lld tiles; about %.2g s an evaluation",
             (long long)j->n_member, (long long)facts.n_item, pass_s);
    facts.reason = "one member after another";
    facts.items_per_tile = facts.n_item;
    facts.n_tile = 1;
    return job_announce_plan(c, &facts, line);
}

static int run(cli *c, joint_job *j)
{
    CLI_TRY(take_q(c, j));
    CLI_TRY(xpcs_check_output(c, "joint.json", c->values.resume));
    CLI_TRY(xpcs_open_session(c, &j->base));
    CLI_TRY(xpcs_take_starts(c, &j->base));
    CLI_TRY(take_ties(c, j));
    take_checkpoints(c, j);
    CLI_TRY(job_check_options(c));
    CLI_TRY(open_members(c, j));
    CLI_TRY(announce(c, j));
    return c->values.dry_run ? 0 : fit(c, j);
}

int cmd_xpcs_joint(cli *c)
{
    joint_job j = {0};
    const int code = run(c, &j);

    tess_xpcs_joint_destroy(j.joint);
    for (int64_t m = 0; m < j.n_member; m++) {
        tess_xpcs_data_destroy(j.members[m]);
    }
    free(j.members);
    free(j.q);
    xpcs_close(&j.base);
    return code;
}
