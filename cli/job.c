// Runs a plan for a command and explains itself, also when stopped.

#include "job.h"

#include "paths.h"
#include "signals.h"
#include "text.h"

#include <tessera/device.h>
#include <tessera/io.h>

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int job_check_options(const cli *c)
{
    if (c->values.resume && !c->values.checkpoint) {
        return cli_usage_error(c, "--resume needs --checkpoint DIR, where the work was kept");
    }
    return 0;
}

int job_is_made_by(cli *c, const char *path, const char *stage)
{
    char wanted[96];
    char *text = NULL;

    snprintf(wanted, sizeof wanted, "\"stage\": \"%s", stage);
    const int is_read = tess_file_provenance(c->ctx, path, &text) == TESS_OK;
    const int is_made_by = is_read && text && strstr(text, wanted);
    tess_text_free(text);
    return is_made_by;
}

int job_find_finished(cli *c, job *j, tess_source *source, int *finished)
{
    *finished = 0;
    if (!c->values.resume || !c->values.output || c->values.overwrite) {
        return 0;
    }
    CLI_CALL(tess_run_is_finished(c->ctx, j->plan, source, c->values.output, c->values.checkpoint,
                                  finished));
    if (!*finished) {
        return paths_check_target(c, c->values.output);
    }
    CLI_CALL(tess_file_provenance(c->ctx, c->values.output, &j->found));
    j->report.resumed = 1;
    j->report.items_done = tess_plan_get_info(j->plan)->n_item;
    j->report.first_item = j->report.items_done;
    console_note("%s is complete already: nothing was left to do", c->values.output);
    return 0;
}

const char *job_provenance(const job *j)
{
    return j->run ? tess_run_provenance(j->run) : j->found;
}

// Schema "tessera.plan/1", and member "plan" of results: one shape for all.
static void write_plan(tess_json *json, const plan_facts *plan)
{
    tess_json_object_begin(json, "plan");
    tess_json_text(json, "strategy", tess_strategy_name(plan->strategy));
    tess_json_text(json, "reason", plan->reason);
    tess_json_text(json, "unit", plan->unit);
    tess_json_int(json, "n_item", plan->n_item);
    tess_json_int(json, "items_per_tile", plan->items_per_tile);
    tess_json_int(json, "n_tile", plan->n_tile);
    tess_json_uint(json, "memory_bytes", plan->memory_bytes);
    tess_json_uint(json, "limit_bytes", plan->limit_bytes);
    tess_json_object_begin(json, "system");
    if (plan->write_system) {
        plan->write_system(json, plan->self);
    }
    tess_json_object_end(json);
    tess_json_object_end(json);
}

static void write_slots(tess_json *json, const void *self)
{
    const tess_plan_info *plan = self;
    tess_json_int(json, "n_slot", plan->n_slot);
    tess_json_uint(json, "tile_bytes", plan->tile_bytes);
}

static plan_facts facts_of(const tess_plan_info *plan)
{
    return (plan_facts){.strategy = (tess_strategy)plan->strategy,
                        .reason = plan->reason,
                        .unit = "epochs",
                        .n_item = plan->n_item,
                        .items_per_tile = plan->items_per_tile,
                        .n_tile = plan->n_tile,
                        .memory_bytes = plan->memory_bytes,
                        .limit_bytes = plan->limit_bytes,
                        .write_system = write_slots,
                        .self = plan};
}

void job_write_json(tess_json *json, const job *j)
{
    const tess_run_report *report = &j->report;

    const plan_facts plan = facts_of(tess_plan_get_info(j->plan));
    write_plan(json, &plan);
    tess_json_object_begin(json, "run");
    tess_json_bool(json, "resumed", report->resumed);
    tess_json_int(json, "first_item", report->first_item);
    tess_json_int(json, "items_done", report->items_done);
    tess_json_real(json, "elapsed_s", report->elapsed_s);
    tess_json_real(json, "read_wait_s", report->read_wait_s);
    tess_json_uint(json, "peak_heap_bytes", report->peak_heap_bytes);
    tess_json_int(json, "n_checkpoint", report->n_checkpoint);
    tess_json_real(json, "checkpoint_s", report->checkpoint_s);
    tess_json_object_end(json);
    tess_json_raw(json, "provenance", job_provenance(j));
}

int job_print_json(tess_json *json)
{
    const char *text = NULL;
    CLI_CALL(tess_json_finish(json, &text));
    puts(text);
    return 0;
}

static int print_plan_json(cli *c, const plan_facts *plan)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.plan/1");
    tess_json_text(json, "command", c->command->name);
    write_plan(json, plan);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int job_announce_plan(cli *c, const plan_facts *plan, const char *line)
{
    if (!c->values.dry_run) {
        console_note("%s", line);
        return 0;
    }
    if (c->values.json) {
        return print_plan_json(c, plan);
    }
    puts(line);
    return 0;
}

int job_announce(cli *c, const job *j)
{
    const plan_facts plan = facts_of(tess_plan_get_info(j->plan));
    char memory[32];
    char limit[32];
    char line[512];

    text_bytes(memory, sizeof memory, plan.memory_bytes);
    text_bytes(limit, sizeof limit, plan.limit_bytes);
    snprintf(line, sizeof line, "plan: %s (%s); %lld %s of %lld items; %s of %s",
             tess_strategy_name(plan.strategy), plan.reason, (long long)plan.n_tile,
             plan.n_tile == 1 ? "tile" : "tiles", (long long)plan.items_per_tile, memory, limit);
    return job_announce_plan(c, &plan, line);
}

// The exact line to type next: what was typed, and --resume.
static void print_resume_line(const cli *c)
{
    char **words = calloc((size_t)c->argc + 1, sizeof *words);
    char resume[] = "--resume";
    int n_word = 0;

    if (!words) {
        return;
    }
    for (int i = 0; i < c->argc; i++) {
        words[n_word++] = c->argv[i];
    }
    if (!c->values.resume) {
        words[n_word++] = resume;
    }
    char *line = text_command_line(n_word, words);
    if (line) {
        console_fail(0, "to continue, run: %s", line);
    }
    free(line);
    free(words);
}

// Whether a folder has a file of this run: its checkpoints, but for the lock.
static int has_new_file(const char *folder)
{
    const struct timespec began = signals_limit_began();
    DIR *dir = opendir(folder);
    int found = 0;

    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        char path[PATH_MAX];
        struct stat there;
        snprintf(path, sizeof path, "%.2000s/%s", folder, entry->d_name);
        found = strcmp(entry->d_name, "lock") != 0 && stat(path, &there) == 0 &&
                S_ISREG(there.st_mode) &&
                (there.st_mtim.tv_sec > began.tv_sec ||
                 (there.st_mtim.tv_sec == began.tv_sec && there.st_mtim.tv_nsec >= began.tv_nsec));
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

int job_explain_cancel(const cli *c, int64_t done, int64_t total)
{
    const int code = signals_caught() ? signals_exit_code() : tess_status_exit_code(TESS_CANCELLED);
    const char *why = code == 75 ? "the time limit was reached" : "stopped on request";

    if (signals_pipe_closed()) {
        return 141;
    }
    // A scheduler would run it again for ever.
    if (code == 75 && c->values.resume && !has_new_file(c->values.checkpoint)) {
        return console_fail(2,
                            "--time-limit %g: the next piece of work was not done by then, and "
                            "would not be the next time; give it longer",
                            c->run_values.time_limit);
    }
    if (total > 0) {
        console_fail(code, "%s after %lld of %lld", why, (long long)done, (long long)total);
    } else {
        console_fail(code, "%s", why);
    }
    if (!(c->command->groups & CLI_RUN)) {
        return code;
    }
    if (!c->values.checkpoint) {
        return console_fail(code, "nothing was kept; with --checkpoint DIR a run can be continued");
    }
    print_resume_line(c);
    return code;
}

static int create_run(cli *c, job *j, tess_source *source, tess_sink *sink)
{
    tess_run_config config;

    tess_run_config_init(&config, sizeof config);
    config.resume = c->values.resume;
    config.checkpoint_dir = c->values.checkpoint;
    config.checkpoint_every_s = c->run_values.checkpoint_every;
    config.keep_checkpoints = c->run_values.keep_checkpoints;
    CLI_CALL(tess_run_create(c->ctx, j->plan, source, sink, &config, &j->run));
    return 0;
}

int job_execute(cli *c, job *j, tess_source *source, tess_sink *sink)
{
    CLI_TRY(create_run(c, j, source, sink));
    const tess_status status = tess_run_execute(j->run);
    console_erase_bar();
    if (status != TESS_OK && status != TESS_CANCELLED) {
        return console_status(status);
    }
    CLI_CALL(tess_run_get_report(j->run, &j->report, sizeof j->report));
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, j->report.items_done, tess_plan_get_info(j->plan)->n_item);
    }
    if (j->report.resumed) {
        console_note("continued from item %lld", (long long)j->report.first_item);
    }
    return 0;
}

void job_close(job *j)
{
    tess_run_destroy(j->run);
    tess_plan_destroy(j->plan);
    tess_text_free(j->found);
    memset(j, 0, sizeof *j);
}

int job_status(const cli *c, tess_status status)
{
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    return status == TESS_OK ? 0 : console_status(status);
}
