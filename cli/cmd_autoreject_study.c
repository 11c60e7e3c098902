// tessera autoreject study: every recording of a BIDS tree.

#include "autoreject.h"
#include "job.h"
#include "text.h"

#include <math.h>
#include <string.h>

static const char *const STATES[] = {"to do", "done", "done already", "failed"};

static tess_autoreject_study_config make_config(const cli *c, const autoreject_job *j)
{
    tess_autoreject_study_config config = j->study_config;

    config.overwrite = c->values.overwrite;
    config.resume = c->values.resume;
    config.subjects = c->values.study.subjects;
    config.sessions = c->values.study.sessions;
    config.tasks = c->values.study.tasks;
    config.acquisitions = c->values.study.acquisitions;
    config.runs = c->values.study.runs;
    config.datatypes = c->values.study.datatypes;
    config.picks = c->values.picks;
    config.epochs = &j->epochs_config;
    config.fit = &j->fit_config;
    config.transform = &j->transform_config;
    config.report = &j->report_config;
    return config;
}

static void fill_parts(const cli *c, autoreject_job *j)
{
    j->epochs_config.event = c->values.event;
    j->epochs_config.stim = c->values.stim;
    j->epochs_config.montage = c->values.montage;
    j->epochs_config.types = c->values.types;
    j->epochs_config.bads = c->values.bads;
    j->fit_config.consensus = j->consensus;
    j->fit_config.n_consensus = j->n_consensus;
    j->fit_config.n_interpolate = j->n_interpolate;
    j->fit_config.n_n_interpolate = j->n_n_interpolate;
    j->fit_config.checkpoint_dir = c->values.checkpoint;
    j->fit_config.checkpoint_every_s = c->run_values.checkpoint_every;
}

static void print_shape(const tess_autoreject_study_recording *r)
{
    char memory[32];

    if (r->n_epoch < 0) {
        return;
    }
    printf("  %lld x %lld x %lld", (long long)r->n_epoch, (long long)r->n_chan,
           (long long)r->n_time);
    if (r->memory_bytes > 0) {
        text_bytes(memory, sizeof memory, r->memory_bytes);
        printf("  %s", memory);
    }
    if (r->n_kept >= 0) {
        printf("  %lld kept, %.1f %% of channels in epochs bad", (long long)r->n_kept,
               100 * r->bad_channels);
    }
}

static void print_recording(const tess_autoreject_study_recording *r)
{
    autoreject_print_name(r->name, 32);
    printf(" %-12s", STATES[r->state & 3]);
    print_shape(r);
    puts("");
    if (r->state == TESS_AUTOREJECT_STUDY_FAILED) {
        printf("    ");
        for (const char *at = r->message; *at; at++) {
            text_print_char(stdout, *at);
        }
        puts("");
    }
}

static void write_recording(tess_json *json, const tess_autoreject_study_recording *r)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", r->name);
    tess_json_text(json, "path", r->path);
    tess_json_text(json, "folder", r->folder);
    tess_json_text(json, "subject", r->subject);
    tess_json_text(json, "session", r->session[0] ? r->session : NULL);
    tess_json_text(json, "task", r->task[0] ? r->task : NULL);
    tess_json_text(json, "acquisition", r->acquisition[0] ? r->acquisition : NULL);
    tess_json_text(json, "run", r->run[0] ? r->run : NULL);
    tess_json_text(json, "datatype", r->datatype);
    tess_json_text(json, "state", STATES[r->state & 3]);
    tess_json_text(json, "message", r->message);
    if (r->n_epoch >= 0) {
        tess_json_int(json, "n_epoch", r->n_epoch);
        tess_json_int(json, "n_chan", r->n_chan);
        tess_json_int(json, "n_time", r->n_time);
        tess_json_uint(json, "memory_bytes", r->memory_bytes);
    }
    if (r->n_kept >= 0) {
        tess_json_int(json, "n_kept", r->n_kept);
        tess_json_real(json, "bad_epochs", r->bad_epochs);
        tess_json_real(json, "bad_channels", r->bad_channels);
        tess_json_real(json, "repaired", r->repaired);
    }
    tess_json_object_end(json);
}

// What is planned, and what came of it.
static void write_facts(tess_json *json, const void *self)
{
    const tess_autoreject_study_info *info = self;

    tess_json_int(json, "at_a_time", info->n_at_a_time);
    tess_json_int(json, "threads_each", info->threads_each);
    tess_json_int(json, "n_todo", info->n_todo);
    tess_json_int(json, "n_done", info->n_done);
    tess_json_int(json, "n_kept", info->n_kept);
    tess_json_int(json, "n_failed", info->n_failed);
    tess_json_array_begin(json, "outliers");
    for (int64_t i = 0; i < info->n_outlier; i++) {
        tess_json_text(json, NULL, info->outliers[i]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "recordings");
    for (int64_t i = 0; i < info->n_recording; i++) {
        write_recording(json, &info->recordings[i]);
    }
    tess_json_array_end(json);
}

static int print_json(cli *c, const tess_autoreject_study_info *info)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.study.run/1");
    tess_json_uint(json, "memory_bytes", info->memory_bytes);
    tess_json_uint(json, "limit_bytes", info->limit_bytes);
    write_facts(json, info);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// The plan in a line: how many, how many at a time, and in how much memory.
static void plan_line(const cli *c, const tess_autoreject_study_info *info, char *line,
                      size_t capacity)
{
    char memory[32];
    char limit[32];
    char ranks[48] = "";
    tess_context_info machine;

    if (tess_context_get_info(c->ctx, &machine, sizeof machine) == TESS_OK && machine.n_rank > 1) {
        snprintf(ranks, sizeof ranks, " on each of %d ranks", (int)machine.n_rank);
    }

    text_bytes(memory, sizeof memory, info->memory_bytes);
    text_bytes(limit, sizeof limit, info->limit_bytes);
    snprintf(line, capacity,
             "plan: %lld recordings to do (%lld done already, %lld cannot be opened), %lld at a "
             "time with %d thread%s each%s; %s of %s",
             (long long)info->n_todo, (long long)info->n_kept, (long long)info->n_failed,
             (long long)info->n_at_a_time, (int)info->threads_each,
             info->threads_each == 1 ? "" : "s", ranks, memory, limit);
}

static int print_plan(cli *c, const tess_autoreject_study_info *info)
{
    char line[512];
    const int64_t at_a_time = info->n_at_a_time > 0 ? info->n_at_a_time : 1;
    const plan_facts plan = {.strategy = at_a_time < info->n_todo ? TESS_STRATEGY_LARGE
                                                                  : TESS_STRATEGY_STANDARD,
                             .reason = "as many recordings at a time as threads and memory allow",
                             .unit = "recordings",
                             .n_item = info->n_todo,
                             .items_per_tile = at_a_time,
                             .n_tile = (info->n_todo + at_a_time - 1) / at_a_time,
                             .memory_bytes = info->memory_bytes,
                             .limit_bytes = info->limit_bytes,
                             .write_system = write_facts,
                             .self = info};

    for (int64_t i = 0; c->values.dry_run && !c->values.json && i < info->n_recording; i++) {
        print_recording(&info->recordings[i]);
    }
    plan_line(c, info, line, sizeof line);
    return job_announce_plan(c, &plan, line);
}

static int print_result(cli *c, const tess_autoreject_study_info *info)
{
    if (c->values.json) {
        return print_json(c, info);
    }
    if (c->values.quiet) {
        return 0;
    }
    for (int64_t i = 0; i < info->n_recording; i++) {
        if (info->n_recording <= 40 || info->recordings[i].state == TESS_AUTOREJECT_STUDY_FAILED) {
            print_recording(&info->recordings[i]);
        }
    }
    for (int64_t i = 0; i < info->n_outlier; i++) {
        printf("outlier        %s\n", info->outliers[i]);
    }
    printf("recordings     %lld done, %lld done already, %lld failed\n", (long long)info->n_done,
           (long long)info->n_kept, (long long)info->n_failed);
    printf("group report   %s/group_desc-autoreject_report.html\n", c->values.output);
    return 0;
}

// The output is where the work is kept, so that a run can always be continued.
static int explain_stop(const cli *c, const tess_autoreject_study_info *info)
{
    cli kept = *c;

    if (!kept.values.checkpoint) {
        kept.values.checkpoint = c->values.output;
    }
    return job_explain_cancel(&kept, info->n_done + info->n_kept, info->n_recording);
}

static int run_study(cli *c, tess_autoreject_study *study)
{
    const tess_autoreject_study_info *info = tess_autoreject_study_get_info(study);

    console_notes(info->notes);
    CLI_TRY(print_plan(c, info));
    if (c->values.dry_run) {
        return info->n_failed > 0 ? AUTOREJECT_STUDY_FAILED : 0;
    }
    const tess_status status = tess_autoreject_study_run(study);
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return explain_stop(c, info);
    }
    CLI_CALL(status);
    CLI_TRY(print_result(c, info));
    return info->n_failed > 0
               ? console_fail(AUTOREJECT_STUDY_FAILED, "%lld of %lld recordings failed",
                              (long long)info->n_failed, (long long)info->n_recording)
               : 0;
}

static int open_study(cli *c, autoreject_job *j)
{
    tess_autoreject_study *study = NULL;

    if (!c->values.output) {
        return cli_usage_error(c, "-o DIR is missing: where shall the derivatives go, such as %s",
                               "BIDS_DIR/derivatives/tessera");
    }
    CLI_TRY(autoreject_open_session(c, j));
    fill_parts(c, j);
    const tess_autoreject_study_config config = make_config(c, j);
    CLI_TRY(job_status(
        c, tess_autoreject_study_open(c->ctx, c->operands[0], c->values.output, &config, &study)));
    const int code = run_study(c, study);
    tess_autoreject_study_close(study);
    return code;
}

int cmd_autoreject_study(cli *c)
{
    autoreject_job j = {0};
    const int code = open_study(c, &j);
    autoreject_close(&j);
    return code;
}
