// A job: one planned run with its messages, dry run, cancel and resume lines.
#ifndef TESSERA_CLI_JOB_H
#define TESSERA_CLI_JOB_H

#include "cli.h"

#include <tessera/run.h>
#include <tessera/sys/json.h>

typedef struct job {
    tess_plan *plan; // owned
    tess_run *run;   // owned; NULL when the result was there already
    char *found;     // owned; provenance of a result that was there already
    tess_run_report report;
} job;

// Options that make no sense together; call before any work.
int job_check_options(const cli *c);

// 1 if path is a file that says it was made by a stage whose name begins so ("autoreject.").
int job_is_made_by(cli *c, const char *path, const char *stage);

// With --resume: whether the output is there already as the finished result of this very job, left
// by a run that was killed at its very end. An output of anything else is refused.
int job_find_finished(cli *c, job *j, tess_source *source, int *finished);

// Provenance of the result as JSON, wherever it came from.
const char *job_provenance(const job *j);

// What any computation plans: n_item of them, items_per_tile at once.
typedef struct plan_facts {
    tess_strategy strategy;
    const char *reason;
    const char *unit; // of the items: "epochs"
    int64_t n_item;
    int64_t items_per_tile;
    int64_t n_tile;
    uint64_t memory_bytes;
    uint64_t limit_bytes;
    // Members of "system": what only this computation plans. NULL: nothing.
    void (*write_system)(tess_json *json, const void *self);
    const void *self;
} plan_facts;

// Says what was planned, in this line on stderr, or with --dry-run on stdout, as JSON if asked for.
int job_announce_plan(cli *c, const plan_facts *plan, const char *line);

// The same of a planned run.
int job_announce(cli *c, const job *j);

// Runs the plan to the end. source may be NULL. Exit code; 130 or 143 when stopped.
int job_execute(cli *c, job *j, tess_source *source, tess_sink *sink);
void job_close(job *j);

// Says that the run was stopped, and how to go on; total 0: how far it came is not known. The exit
// code of the signal.
int job_explain_cancel(const cli *c, int64_t done, int64_t total);

// A failed computation: stopped, or the library's message. Exit code.
int job_status(const cli *c, tess_status status);

// The plan and the run report as members "plan" and "run".
void job_write_json(tess_json *json, const job *j);

// Finishes a JSON object and prints it on stdout.
int job_print_json(tess_json *json);

#endif
