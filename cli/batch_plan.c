// What the command says of itself with --dry-run: memory of a job, subjects of a study.

#include "batch.h"

#include "autoreject.h"
#include "child.h"
#include "member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    LEAST_LIMIT = 256, // MiB: a smaller limit saves nothing
    ROUND = 64,        // MiB
    BESIDES = 512      // MiB: the program, threads' stacks, the reader of HDF5
};

static char *read_all(int fd)
{
    const off_t bytes = lseek(fd, 0, SEEK_END);
    char *text = bytes >= 0 ? calloc((size_t)bytes + 1, 1) : NULL;
    off_t done = 0;

    while (text && done < bytes) {
        const ssize_t n = pread(fd, text + done, (size_t)(bytes - done), done);
        if (n <= 0) {
            free(text);
            return NULL;
        }
        done += n;
    }
    return text;
}

static int parse_plan(batch_job *job, int fd, tess_document **out)
{
    char *text = read_all(fd);

    if (!text) {
        return console_fail(71, "cannot read the plan: %s", strerror(errno));
    }
    const tess_status status = tess_document_parse(job->c->ctx, "the plan", text, out);
    free(text);
    CLI_CALL(status);
    return 0;
}

// The plan of a task. A study in which some recordings cannot be opened has one, too.
static int ask_plan(batch_job *job, int64_t task, tess_document **out)
{
    char value[PATH_MAX];
    char threads[48];
    batch_words asked = {0};

    batch_value(job, task, value, sizeof value);
    for (int i = 0; i < job->run.n_word; i++) {
        batch_add(&asked, job->run.words[i].text, job->run.words[i].takes_value);
    }
    snprintf(threads, sizeof threads, "--threads=%lld", (long long)job->config.cpus_per_task);
    batch_add(&asked, threads, 0);
    batch_add(&asked, "--dry-run", 0);
    batch_add(&asked, "--json", 0);
    batch_add(&asked, "--quiet", 0);
    char **line = asked.no_memory ? NULL : batch_line(&asked, value);
    const int fd = memfd_create("plan", MFD_CLOEXEC);
    int code = line && fd >= 0 ? child_run(job->c, line, fd) : console_fail(71, "out of memory");
    batch_free_line(line);
    batch_free_words(&asked);
    if (code == AUTOREJECT_STUDY_FAILED &&
        strcmp(job->inner->command->name, "autoreject study") == 0) {
        code = 0;
    }
    code = code ? code : parse_plan(job, fd, out);
    if (fd >= 0) {
        close(fd);
    }
    return code;
}

static int plan_bytes(batch_job *job, int64_t task, uint64_t *bytes)
{
    tess_document *plan = NULL;
    const int code = ask_plan(job, task, &plan);

    if (code != 0) {
        return console_fail(code, "the plan, which says how much memory to ask for, could not be "
                                  "made here; --mem BYTES does without it");
    }
    const tess_document_node *memory =
        document_member(document_member(tess_document_root(plan), "plan"), "memory_bytes");
    const uint64_t found = memory ? strtoull(memory->text, NULL, 10) : 0;
    *bytes = found > *bytes ? found : *bytes;
    tess_document_destroy(plan);
    return memory ? 0 : console_fail(70, "the plan does not say how much memory it takes");
}

static uint64_t round_up(uint64_t bytes)
{
    const uint64_t unit = (uint64_t)ROUND * MIB;
    const uint64_t least = (uint64_t)LEAST_LIMIT * MIB;
    return bytes < least ? least : (bytes + unit - 1) / unit * unit;
}

// The largest plan of all tasks; parts of a posterior plan alike.
static int planned_limit(batch_job *job, uint64_t *limit)
{
    const int64_t n = job->values ? job->n_task : 1;
    uint64_t bytes = 0;

    if (!job->keeps) {
        return cli_usage_error(job->c,
                               "'%s' makes no plan that says how much memory it takes; "
                               "give --mem BYTES",
                               job->inner->command->name);
    }
    for (int64_t i = 0; i < n; i++) {
        CLI_TRY(plan_bytes(job, i, &bytes));
    }
    *limit = round_up(bytes);
    return 0;
}

static void add_limit(batch_job *job, uint64_t limit)
{
    char text[64];

    snprintf(text, sizeof text, "--memory-limit=%lluM", (unsigned long long)(limit / MIB));
    batch_add(&job->run, text, 0);
    if (job->join.n_word > 0) {
        batch_add(&job->join, text, 0);
    }
}

int batch_plan_memory(batch_job *job)
{
    run_settings run;
    const int has_limit = (job->inner->command->groups & CLI_ENGINE) != 0;
    uint64_t limit = 0;

    CLI_TRY(settings_resolve(&job->inner->run, NULL, &run));
    job->mem_bytes = job->config.mem;
    if (run.memory_limit > 0 && job->mem_bytes > 0 && run.memory_limit >= job->mem_bytes) {
        return cli_usage_error(job->c, "--mem is not more than the command's --memory-limit; a "
                                       "process needs some memory besides");
    }
    if (run.memory_limit > 0) {
        limit = run.memory_limit;
    } else if (job->mem_bytes > 0) {
        limit = job->mem_bytes / 5 * 4;
    } else {
        CLI_TRY(planned_limit(job, &limit));
    }
    if (job->mem_bytes == 0) {
        job->mem_bytes = limit / 4 * 5 + (uint64_t)BESIDES * MIB;
    }
    if (run.memory_limit == 0 && has_limit) {
        add_limit(job, limit);
    }
    return 0;
}

// A plan names recordings, in the order of subjects.
static int take_subjects(batch_job *job, const tess_document_node *recordings)
{
    job->values = calloc((size_t)(recordings ? recordings->n_child : 0) + 1, sizeof *job->values);
    if (!job->values) {
        return console_fail(71, "out of memory");
    }
    for (const tess_document_entry *e = recordings ? recordings->first : NULL; e; e = e->next) {
        const tess_document_node *subject = document_member(e->value, "subject");
        const int is_known =
            job->n_task > 0 && subject && strcmp(job->values[job->n_task - 1], subject->text) == 0;
        if (subject && !is_known && !(job->values[job->n_task++] = strdup(subject->text))) {
            return console_fail(71, "out of memory");
        }
    }
    return job->n_task > 0 ? 0 : console_fail(66, "--per-subject: there is no recording to do");
}

int batch_find_subjects(batch_job *job)
{
    tess_document *plan = NULL;

    int code = ask_plan(job, 0, &plan);
    if (code == 0) {
        const tess_document_node *facts =
            document_member(document_member(tess_document_root(plan), "plan"), "system");
        code = take_subjects(job, document_member(facts, "recordings"));
    }
    tess_document_destroy(plan);
    return code;
}
