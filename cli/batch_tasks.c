// The tasks of an array job: values of the user's, subjects of a study, parts of a posterior.

#include "batch.h"

#include <stdlib.h>
#include <string.h>

static int is_command(const batch_job *job, const char *name)
{
    return strcmp(job->inner->command->name, name) == 0;
}

static int split_values(batch_job *job, const char *list)
{
    int64_t n = 1;

    for (const char *at = list; *at; at++) {
        n += *at == ',';
    }
    job->values = calloc((size_t)n + 1, sizeof *job->values);
    for (const char *at = list; job->values && job->n_task < n;) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= PATH_MAX) {
            return cli_usage_error(job->c, "--each: value %lld of '%s' is %s",
                                   (long long)job->n_task + 1, list, length ? "too long" : "empty");
        }
        if (!(job->values[job->n_task] = strndup(at, length))) {
            break;
        }
        job->n_task++;
        at += length + (at[length] == ',');
    }
    return job->n_task == n ? 0 : console_fail(71, "out of memory");
}

static int mark_words(batch_job *job)
{
    int n_marked = 0;

    for (int i = 0; i < job->run.n_word; i++) {
        batch_word *word = &job->run.words[i];
        word->takes_value = strstr(word->text, "{}") != NULL;
        n_marked += word->takes_value;
    }
    return n_marked > 0 ? 0
                        : cli_usage_error(job->c, "--each: no word of the command has {}, where "
                                                  "the value goes");
}

static void copy_words(const batch_words *from, batch_words *to)
{
    for (int i = 0; i < from->n_word; i++) {
        batch_add(to, from->words[i].text, 0);
    }
}

// Each task writes its part into the folder of work; the last job joins them where the user wants.
static int make_shards(batch_job *job)
{
    char text[PATH_MAX + 32];

    if (!is_command(job, "xpcs mcmc")) {
        return cli_usage_error(job->c, "--shards is of 'xpcs mcmc', which draws from parts of the "
                                       "data");
    }
    if (job->inner->values.xpcs.shard || job->inner->values.xpcs.combine) {
        return cli_usage_error(job->c, "--shards gives --shard and --combine itself; leave them "
                                       "out");
    }
    copy_words(&job->run, &job->join);
    snprintf(text, sizeof text, "--combine=%s/parts", job->work);
    batch_add(&job->join, text, 0);
    snprintf(text, sizeof text, "--output=%s/parts", job->work);
    batch_add(&job->run, text, 0);
    batch_add(&job->run, "--shard={}", 1);
    job->n_task = job->config.shards;
    return 0;
}

// A study's folder takes one run at a time: each task has its own, and the last job puts them
// together and reports on the group. A recording that cannot be used keeps nobody out of it.
static int make_subjects(batch_job *job)
{
    char text[PATH_MAX + 32];

    if (!is_command(job, "autoreject study")) {
        return cli_usage_error(job->c, "--per-subject is of 'autoreject study'");
    }
    CLI_TRY(batch_find_subjects(job));
    copy_words(&job->run, &job->join);
    batch_add(&job->run, "--subjects={}", 1);
    snprintf(text, sizeof text, "--output=%s/parts/{}", job->work);
    batch_add(&job->run, text, 1);
    job->join_anyway = 1;
    job->gathers = 1;
    return 0;
}

int batch_take_values(batch_job *job)
{
    const cli_batch_values *own = &job->c->values.batch;

    if ((own->each != NULL) + (own->per_subject != 0) + (job->config.shards > 0) > 1) {
        return cli_usage_error(job->c, "--each, --per-subject and --shards exclude each other");
    }
    if (job->config.shards == 1) {
        return cli_usage_error(job->c, "--shards 1: one part is no array; leave it out");
    }
    if (own->each) {
        CLI_TRY(split_values(job, own->each));
        return mark_words(job);
    }
    return 0;
}

// The word of the command that a value was parsed from differs by task.
static int is_valued(const batch_job *job, const char *value)
{
    for (int i = 0; job->parsed[i]; i++) {
        const char *start = job->parsed[i];
        if (value >= start && value <= start + strlen(start)) {
            return job->run.words[i].takes_value;
        }
    }
    return 0;
}

// Tasks run at the same time, so that none may write what another does.
static int check_apart(const batch_job *job)
{
    const cli_values *v = &job->inner->values;
    const cli_command *command = job->inner->command;

    if (v->checkpoint && !is_valued(job, v->checkpoint)) {
        return cli_usage_error(job->c,
                               "--checkpoint %s: one folder for all tasks; leave it out, "
                               "or with --each put {} into it",
                               v->checkpoint);
    }
    if (job->join.n_word > 0) { // a folder for each
        return 0;
    }
    if (v->output ? !is_valued(job, v->output) : command->output_role == PATH_INTO) {
        return cli_usage_error(job->c, "-o %s: all tasks would write there; put {} into it",
                               v->output ? v->output : "is missing, and a default is one folder");
    }
    return 0;
}

int batch_make_tasks(batch_job *job)
{
    if (job->c->values.batch.per_subject) {
        CLI_TRY(make_subjects(job));
    } else if (job->config.shards > 0) {
        CLI_TRY(make_shards(job));
    }
    return job->n_task > 0 ? check_apart(job) : 0;
}
