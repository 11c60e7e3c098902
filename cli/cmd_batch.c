// tessera slurm, tessera pbs: scripts that run a command as a job.

#include "batch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const tess_param_table *batch_params(void)
{
#define AT_CONFIG(field) offsetof(batch_config, field)
    static const tess_param params[] = {
        {"mem", TESS_PARAM_BYTES, AT_CONFIG(mem), 0, 0, 1e18, NULL, "",
         "memory of the job, or of each of its ranks; 0: as the command plans, and some besides"},
        {"cpus_per_task", TESS_PARAM_INT, AT_CONFIG(cpus_per_task), 0, 0, 65536, NULL, "",
         "cores of each rank; 0: the command's --threads, or 4"},
        {"ntasks", TESS_PARAM_INT, AT_CONFIG(ntasks), 1, 1, 65536, NULL, "",
         "ranks, which divide the work by MPI"},
        {"nodes", TESS_PARAM_INT, AT_CONFIG(nodes), 0, 0, 65536, NULL, "",
         "machines the ranks are on, the same number on each; 0: wherever there is room"},
        {"gpus_per_task", TESS_PARAM_INT, AT_CONFIG(gpus_per_task), 0, 0, 64, NULL, "",
         "GPUs of each rank; 0: as many as its --device needs"},
        {"stop_before", TESS_PARAM_INT, AT_CONFIG(stop_before), 60, 1, 86400, NULL, "s",
         "how long before the time limit the run keeps its work and stops, to go on"},
        {"restarts", TESS_PARAM_INT, AT_CONFIG(restarts), 20, 0, 1000, NULL, "",
         "how often the job goes on after its time limit"},
        {"shards", TESS_PARAM_INT, AT_CONFIG(shards), 0, 0, 100000, NULL, "",
         "of xpcs mcmc: an array job, a task for each of so many parts, and one that joins them"},
        {"at_a_time", TESS_PARAM_INT, AT_CONFIG(at_a_time), 0, 0, 100000, NULL, "",
         "tasks of an array that run at the same time; 0: as many as there is room for"},
    };
    static const tess_param_table table = {"batch", params, sizeof params / sizeof params[0]};
    return &table;
}

// Names stand in comments that the batch system reads: nothing but what names are made of.
static int check_name(const cli *c, const char *option, const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-+@:,";

    if (!text || (text[0] && text[0] != '-' && !text[strspn(text, safe)] && strlen(text) < 60)) {
        return 0;
    }
    return cli_usage_error(c,
                           "--%s: a name of up to 59 letters, digits and . _ - + @ : , is "
                           "needed",
                           option);
}

// "90", "1:30:00", "2-00:00:00". Minutes alone, as SLURM takes them.
static int take_time(const cli *c, const char *text, int64_t *seconds)
{
    int days = 0;
    int hours = 0;
    int minutes = 0;
    int rest = 0;
    int used = -1;

    text = text ? text : "01:00:00";
    if (strchr(text, '-')) {
        sscanf(text, "%5d-%2d:%2d:%2d%n", &days, &hours, &minutes, &rest, &used);
    } else if (strchr(text, ':')) {
        sscanf(text, "%5d:%2d:%2d%n", &hours, &minutes, &rest, &used);
    } else {
        sscanf(text, "%7d%n", &minutes, &used);
    }
    *seconds = ((int64_t)days * 24 + hours) * 3600 + (int64_t)minutes * 60 + rest;
    if (!isdigit((unsigned char)text[0]) || used < 0 || text[used] || days < 0 || hours < 0 ||
        minutes < 0 || rest < 0 || *seconds < 1) {
        return cli_usage_error(c,
                               "--time: '%s' is no time limit; write HH:MM:SS, D-HH:MM:SS or "
                               "minutes",
                               text);
    }
    return 0;
}

// The same words have the same folder, so that a job that is submitted again goes on.
static void name_work(batch_job *job)
{
    const char *folder = job->c->values.batch.work ? job->c->values.batch.work : "tessera-work";
    const char *each = job->c->values.batch.each;
    uint32_t hash = 2166136261U; // FNV-1a

    for (int i = 0; i < job->c->n_operand + (each != NULL); i++) {
        const char *at = i < job->c->n_operand ? job->c->operands[i] : each;
        do { // the end of each word counts too
            hash = (hash ^ (unsigned char)*at) * 16777619U;
        } while (*at++);
    }
    hash = (hash ^ (uint32_t)job->config.shards) * 16777619U;
    snprintf(job->work, sizeof job->work, "%.3000s/%s-%08x", folder, job->name, (unsigned)hash);
}

static void name_job(batch_job *job)
{
    const char *given = job->c->values.batch.job_name;

    snprintf(job->name, sizeof job->name, "%s", given ? given : job->inner->command->name);
    for (char *at = job->name; *at; at++) {
        *at = *at == ' ' ? '-' : *at;
    }
}

// The program by the name it was called, or by its place where that was a path.
static int take_words(batch_job *job)
{
    cli *c = job->c;
    char place[PATH_MAX];
    const int is_path = strchr(c->argv[0], '/') && realpath("/proc/self/exe", place);

    batch_add(&job->run, is_path ? place : c->argv[0], 0);
    for (int i = 0; i < c->n_operand; i++) {
        if (strcmp(c->operands[i], "--") == 0) {
            return cli_usage_error(c, "'--' cannot stand in the command of a job, to which options "
                                      "are added; write ./-name for a file -name");
        }
        batch_add(&job->run, c->operands[i], 0);
    }
    return job->run.no_memory ? console_fail(71, "out of memory") : 0;
}

static int parse_command(batch_job *job)
{
    cli *c = job->c;
    cli *inner = job->inner;
    char value[PATH_MAX];
    int n_word = 0;

    inner->command = cli_match_command(c->n_operand, c->operands, &n_word);
    if (!inner->command || inner->command->run == cmd_slurm || inner->command->run == cmd_pbs) {
        return cli_usage_error(c, "'%s' is no command that can be a job", c->operands[0]);
    }
    CLI_TRY(batch_take_values(job));
    batch_value(job, 0, value, sizeof value);
    job->parsed = batch_line(&job->run, value);
    inner->operands = calloc((size_t)job->run.n_word, sizeof *inner->operands);
    if (!job->parsed || !inner->operands) {
        return console_fail(71, "out of memory");
    }
    CLI_TRY(cli_parse(inner, job->run.n_word - 1 - n_word, job->parsed + 1 + n_word));
    if (inner->values.help || inner->values.dry_run) {
        return cli_usage_error(c, "--%s is nothing for a job",
                               inner->values.help ? "help" : "dry-run");
    }
    job->keeps = (inner->command->groups & CLI_RUN) != 0;
    return 0;
}

// Ranks are of commands that divide their work; an array of parts divides it already.
static int check_ranks(const batch_job *job)
{
    const batch_config *own = &job->config;

    if (own->ntasks > 1 && !(job->inner->command->groups & CLI_RANKS)) {
        return cli_usage_error(job->c,
                               "--ntasks %lld: '%s' works in one process; many files are many "
                               "tasks (--each)",
                               (long long)own->ntasks, job->inner->command->name);
    }
    if (own->ntasks > 1 && own->shards > 0) {
        return cli_usage_error(job->c, "--ntasks and --shards exclude each other");
    }
    if (own->nodes > 0 && own->ntasks % own->nodes != 0) {
        return cli_usage_error(job->c,
                               "--nodes %lld: --ntasks %lld is no multiple of it, and each has "
                               "the same number of ranks",
                               (long long)own->nodes, (long long)own->ntasks);
    }
    return 0;
}

static void add_to_all(batch_job *job, const char *text)
{
    batch_add(&job->run, text, 0);
    if (job->join.n_word > 0) {
        batch_add(&job->join, text, 0);
    }
}

// As many GPUs as the numbers in a device's name need: a job counts its own from zero.
static int64_t count_gpus(const char *device)
{
    int64_t n = device && strncmp(device, "cuda", 4) == 0 ? 1 : 0;

    for (const char *at = n > 0 ? strchr(device, ':') : NULL; at; at = strchr(at + 1, ':')) {
        const long number = strtol(at + 1, NULL, 10);
        n = number >= n && number < 64 ? number + 1 : n;
    }
    return n;
}

static int take_machine(batch_job *job)
{
    run_settings run;
    const cli_values *v = &job->inner->values;
    int64_t *cpus = &job->config.cpus_per_task;

    CLI_TRY(settings_resolve(&job->inner->run, NULL, &run));
    if (*cpus > 0 && run.threads > *cpus) {
        return cli_usage_error(job->c,
                               "--cpus-per-task %lld is less than the command's --threads "
                               "%lld",
                               (long long)*cpus, (long long)run.threads);
    }
    *cpus = *cpus > 0 ? *cpus : run.threads > 0 ? run.threads : 4;
    if (job->config.gpus_per_task == 0 && job->config.ntasks > 1 && v->device &&
        strchr(v->device, ',')) {
        job->gpus_per_node = count_gpus(v->device);
    } else if (job->config.gpus_per_task == 0) {
        job->config.gpus_per_task = count_gpus(v->device);
    }
    return 0;
}

static int add_options(batch_job *job)
{
    const cli_values *v = &job->inner->values;
    char text[64];
    run_settings run;

    CLI_TRY(settings_resolve(&job->inner->run, NULL, &run));
    if ((job->inner->command->groups & CLI_ENGINE) && run.threads == 0) {
        snprintf(text, sizeof text, "--threads=%lld", (long long)job->config.cpus_per_task);
        add_to_all(job, text);
    }
    if (job->keeps && !v->progress && !v->no_progress) {
        add_to_all(job, "--progress=plain");
    }
    // PBS ends a job at its limit without a word: the run looks at the clock itself.
    if (job->keeps && job->system == BATCH_PBS && run.time_limit <= 0) {
        if (job->seconds <= job->config.stop_before) {
            return cli_usage_error(job->c, "--time is not longer than --stop-before");
        }
        snprintf(text, sizeof text, "--time-limit=%lld",
                 (long long)(job->seconds - job->config.stop_before));
        add_to_all(job, text);
    }
    return job->run.no_memory || job->join.no_memory ? console_fail(71, "out of memory") : 0;
}

static int write_script(const batch_job *job)
{
    cli *c = job->c;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    if (file && job->system == BATCH_SLURM) {
        batch_print_slurm(file, job);
    } else if (file) {
        batch_print_pbs(file, job);
    }
    if (!file || fclose(file) != 0) {
        free(text);
        return console_fail(71, "out of memory");
    }
    const int code = cli_write_text(
        c, job->system == BATCH_SLURM ? "tessera.slurm/1" : "tessera.pbs/1", NULL, text);
    free(text);
    return code;
}

static int make_script(batch_job *job)
{
    cli *c = job->c;
    const cli_batch_values *own = &c->values.batch;

    CLI_TRY(settings_resolve(&c->system[0], NULL, &job->config));
    CLI_TRY(check_name(c, "job-name", own->job_name));
    CLI_TRY(check_name(c, job->system == BATCH_SLURM ? "partition" : "queue", own->partition));
    CLI_TRY(check_name(c, "account", own->account));
    CLI_TRY(take_time(c, own->time, &job->seconds));
    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    CLI_TRY(take_words(job));
    CLI_TRY(parse_command(job));
    CLI_TRY(check_ranks(job));
    CLI_TRY(take_machine(job));
    name_job(job);
    name_work(job);
    CLI_TRY(batch_make_tasks(job));
    CLI_TRY(batch_plan_memory(job));
    CLI_TRY(add_options(job));
    return write_script(job);
}

static int run_batch(cli *c, batch_system system)
{
    batch_job job = {.c = c, .system = system, .inner = calloc(1, sizeof *job.inner)};
    const int code = job.inner ? make_script(&job) : console_fail(71, "out of memory");

    if (job.inner) {
        free(job.inner->operands);
    }
    free(job.inner);
    batch_free_line(job.parsed);
    batch_free_line(job.values);
    batch_free_words(&job.run);
    batch_free_words(&job.join);
    return code;
}

int cmd_slurm(cli *c)
{
    return run_batch(c, BATCH_SLURM);
}

int cmd_pbs(cli *c)
{
    return run_batch(c, BATCH_PBS);
}
