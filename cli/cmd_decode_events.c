// tessera decode events: candidate events, their scores, and p-values from shuffles.

#include "decode.h"
#include "job.h"
#include "paths.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };

// The bits of --kinds.
static int parse_kinds(const cli *c, int32_t *bits)
{
    *bits = 0;
    for (const char *at = c->values.kinds ? c->values.kinds : ""; *at;) {
        const size_t length = strcspn(at, ",");
        int32_t found = 0;
        for (int32_t kind = 1; kind <= TESS_DECODE_N_SHUFFLE; kind++) {
            const char *name = tess_decode_shuffle_name(kind);
            if (strlen(name) == length && strncmp(name, at, length) == 0) {
                found = kind;
            }
        }
        if (found == 0) {
            return cli_usage_error(
                c, "--kinds: '%.*s' is none of column, field, time, marks, spikes, units",
                (int)length, at);
        }
        *bits |= 1 << found;
        at += length + (at[length] == ',');
    }
    return 0;
}

static int check_options(const cli *c)
{
    const char *const output = c->values.output;
    if (!output && !c->values.dry_run) {
        return cli_usage_error(c, "-o FILE is missing: where shall the table of events go?");
    }
    if (c->values.intervals && c->values.result) {
        return cli_usage_error(c, "--intervals and --result both say where events are; take one");
    }
    if (c->values.intervals_name && !c->values.intervals) {
        return cli_usage_error(c, "--intervals-name needs --intervals FILE");
    }
    if (c->values.states && !c->values.result) {
        return cli_usage_error(c, "--states needs --result FILE, whose states they are");
    }
    CLI_TRY(decode_check_model_file(c));
    return job_check_options(c);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The time bin that the movements of a model are of: the median of the recording's grid.
static int find_model_bin(const tess_decode_observation *o, double *bin)
{
    const int64_t n = o->n_time - 1;
    double *steps = n > 0 ? malloc((size_t)n * sizeof *steps) : NULL;
    *bin = 0;
    if (n < 1) {
        return 0;
    }
    if (!steps) {
        return console_fail(71, "no memory for %lld time bins", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        steps[i] = o->time[i + 1] - o->time[i];
    }
    qsort(steps, (size_t)n, sizeof *steps, by_value);
    *bin = 0.5 * (steps[(n - 1) / 2] + steps[n / 2]);
    free(steps);
    return 0;
}

static int find_events(cli *c, decode_job *j, tess_decode_events **events)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const tess_decode_spikes *spikes = &info->observation.spikes;
    const tess_decode_position *position = info->observation.position.n_sample > 0
                                               ? &info->observation.position
                                               : &info->training.position;
    if (c->values.result) {
        CLI_CALL(tess_decode_result_check(c->ctx, c->values.result, j->recording));
        return job_status(c,
                          tess_decode_events_of_result(c->ctx, c->values.result, c->values.states,
                                                       spikes, position, &j->events, events));
    }
    if (!c->values.intervals) {
        const tess_status status =
            tess_decode_events_find(c->ctx, spikes, position, &j->events, events);
        return status == TESS_OK ? 0 : decode_data_status(c, j, status);
    }
    tess_decode_interval_table *table = NULL;
    CLI_CALL(tess_decode_interval_table_open(c->ctx, c->values.intervals, c->values.intervals_name,
                                             &table));
    const tess_status status = tess_decode_events_of_intervals(
        c->ctx, spikes, position, tess_decode_interval_table_get(table), &j->events, events);
    tess_decode_interval_table_close(table);
    return status == TESS_OK ? 0 : decode_data_status(c, j, status);
}

static int64_t count_scored(const tess_decode_events_info *info)
{
    int64_t n = 0;
    for (int64_t i = 0; i < info->n_event; i++) {
        n += (info->events[i].reason & ~TESS_DECODE_EVENT_OVERLAPS) == 0;
    }
    return n;
}

static int announce(cli *c, const decode_job *j, const tess_decode_events_info *info)
{
    tess_context_info machine;
    const int64_t n = count_scored(info);
    char line[160];

    CLI_CALL(tess_context_get_info(c->ctx, &machine, sizeof machine));
    snprintf(line, sizeof line,
             "plan: %lld events, %lld of them to be scored and shuffled %lld times",
             (long long)info->n_event, (long long)n, (long long)j->events.n_shuffle);
    const plan_facts facts = {.strategy = TESS_STRATEGY_STANDARD,
                              .reason = "some events at a time",
                              .unit = "events",
                              .n_item = n,
                              .items_per_tile = n < 64 ? n : 64,
                              .n_tile = (n + 63) / 64,
                              .limit_bytes = machine.memory_limit_bytes};
    return job_announce_plan(c, &facts, line);
}

static int compute(cli *c, decode_job *j, tess_decode_events *events)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const tess_decode_detector *detector = tess_decode_model_detector(j->model);
    const tess_decode_observation *o = &info->observation;
    tess_status status =
        tess_decode_events_score(c->ctx, events, detector, &o->spikes, &o->position, &j->events);
    if (status == TESS_OK && j->events.n_shuffle > 0) {
        status = tess_decode_events_shuffle(c->ctx, events, detector, &o->spikes, &o->position,
                                            &j->events);
    }
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    if (status == TESS_OK && j->events.n_shuffle > 0 && j->events.n_shuffle < 20) {
        console_note("with %lld shuffles no p is below 0.05; --shuffles 1000 is usual",
                     (long long)j->events.n_shuffle);
    }
    return status == TESS_OK ? 0 : decode_data_status(c, j, status);
}

static void print_dropped(const tess_decode_events_info *info)
{
    for (int32_t bit = 1; tess_decode_event_reason_name(bit); bit <<= 1) {
        int64_t n = 0;
        for (int64_t i = 0; i < info->n_event; i++) {
            n += (info->events[i].reason & bit) != 0;
        }
        if (n > 0) {
            printf("  %-12s %lld%s\n", tess_decode_event_reason_name(bit), (long long)n,
                   bit == TESS_DECODE_EVENT_OVERLAPS ? " (scored all the same)" : "");
        }
    }
}

static void print_shares(const tess_decode_events_info *info)
{
    for (int32_t k = 0; k < info->n_kind && info->n_scored > 0; k++) {
        printf("\nshuffle %-8s p < 0.05 of events with a p\n",
               tess_decode_shuffle_name(info->kinds[k]));
        for (int32_t s = 0; s < N_SCORE; s++) {
            const tess_decode_event_share *share = &info->shares[k * N_SCORE + s];
            if (tess_decode_event_has_p(info->kinds[k], s) && share->n_event > 0) {
                printf("  %-20s %5.1f %%  (%lld of %lld; 95 %% interval %.1f to %.1f %%)\n",
                       tess_decode_event_score_name(s), 100 * share->share,
                       (long long)share->n_significant, (long long)share->n_event, 100 * share->low,
                       100 * share->high);
            }
        }
    }
}

static int print_text(const cli *c, const tess_decode_events_info *info)
{
    printf("events         %lld by %s, %lld scored\n", (long long)info->n_event, info->source,
           (long long)info->n_scored);
    if (info->problem[0]) {
        printf("none found     %s\n", info->problem);
    }
    print_dropped(info);
    printf("decoded        %s, bins of %g s, in %.3f s\n",
           info->decoder == TESS_DECODE_EVENT_STATES ? "by states" : "memoryless", info->event_bin,
           info->elapsed_s);
    print_shares(info);
    printf("%stable          %s\n", info->n_kind > 0 ? "\n" : "", c->values.output);
    return 0;
}

static void write_shares(tess_json *json, const tess_decode_events_info *info)
{
    tess_json_array_begin(json, "shares");
    for (int32_t k = 0; k < info->n_kind * N_SCORE; k++) {
        const tess_decode_event_share *share = &info->shares[k];
        const int32_t kind = info->kinds[k / N_SCORE];
        if (!tess_decode_event_has_p(kind, k % N_SCORE)) {
            continue;
        }
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "shuffle", tess_decode_shuffle_name(kind));
        tess_json_text(json, "score", tess_decode_event_score_name(k % N_SCORE));
        tess_json_int(json, "n_event", share->n_event);
        tess_json_int(json, "n_significant", share->n_significant);
        tess_json_real(json, "share", share->share);
        tess_json_real(json, "low", share->low);
        tess_json_real(json, "high", share->high);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static void write_dropped(tess_json *json, const tess_decode_events_info *info)
{
    tess_json_object_begin(json, "reasons");
    for (int32_t bit = 1; tess_decode_event_reason_name(bit); bit <<= 1) {
        int64_t n = 0;
        for (int64_t i = 0; i < info->n_event; i++) {
            n += (info->events[i].reason & bit) != 0;
        }
        tess_json_int(json, tess_decode_event_reason_name(bit), n);
    }
    tess_json_object_end(json);
}

static int print_json(cli *c, const decode_job *j, const tess_decode_events_info *info)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.events/1");
    decode_write_recording(json, tess_decode_recording_get_info(j->recording));
    tess_json_object_begin(json, "events");
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "report", c->values.report);
    tess_json_bool(json, "was_finished", j->was_finished);
    tess_json_text(json, "source", info->source);
    tess_json_text(json, "problem", info->problem);
    tess_json_int(json, "n_event", info->n_event);
    tess_json_int(json, "n_scored", info->n_scored);
    tess_json_text(json, "decoder",
                   info->decoder == TESS_DECODE_EVENT_STATES ? "states" : "memoryless");
    tess_json_real(json, "event_bin", info->event_bin);
    tess_json_real(json, "rate_mean", info->rate_mean);
    tess_json_real(json, "rate_sd", info->rate_sd);
    tess_json_int(json, "n_shuffle", info->n_kind > 0 ? info->n_shuffle : 0);
    tess_json_real(json, "elapsed_s", info->elapsed_s);
    write_dropped(json, info);
    write_shares(json, info);
    tess_json_object_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// With --resume: the table may be there already, left by a run that was killed at its very end.
// Then the report may still be missing.
static int find_finished(cli *c, decode_job *j, const tess_decode_events *events, int *has_table)
{
    const tess_decode_observation *o = &tess_decode_recording_get_info(j->recording)->observation;
    const char *const report = c->values.report;

    *has_table = 0;
    if (!c->values.resume || c->values.overwrite) {
        return 0;
    }
    CLI_CALL(tess_decode_events_is_finished(c->ctx, events, tess_decode_model_detector(j->model),
                                            &o->spikes, &o->position, &j->events, c->values.output,
                                            has_table));
    if (!*has_table) {
        return paths_check_target(c, c->values.output);
    }
    if (!report || access(report, F_OK) == 0) {
        j->was_finished = 1;
        console_note("%s is complete already: nothing was left to do", c->values.output);
    }
    return 0;
}

static int write_report(cli *c, const decode_job *j, const tess_decode_events *events)
{
    const tess_decode_recording_info *from = tess_decode_recording_get_info(j->recording);

    if (c->values.report) {
        CLI_CALL(tess_decode_events_report(c->ctx, events, &from->observation.spikes,
                                           c->values.report, c->values.overwrite));
        console_note("report written to %s", c->values.report);
    }
    return 0;
}

// The checkpoint goes when everything has its name.
static int finish(cli *c, decode_job *j, tess_decode_events *events)
{
    int has_table = 0;

    CLI_TRY(find_finished(c, j, events, &has_table));
    if (!j->was_finished) {
        CLI_TRY(compute(c, j, events));
        if (!ranks_is_first()) {
            return 0;
        }
        if (!has_table) {
            CLI_CALL(
                tess_decode_events_save(c->ctx, events, c->values.output, c->values.overwrite));
        }
        CLI_TRY(write_report(c, j, events));
    }
    if (ranks_is_first() && c->values.checkpoint && access(c->values.checkpoint, F_OK) == 0) {
        CLI_CALL(tess_checkpoint_clear(c->ctx, c->values.checkpoint));
    }
    return 0;
}

static int run(cli *c, decode_job *j, tess_decode_events **events)
{
    int32_t kinds = 0;

    CLI_TRY(check_options(c));
    CLI_TRY(parse_kinds(c, &kinds));
    CLI_TRY(decode_open_session(c, j));
    j->events.shuffles = kinds;
    j->events.checkpoint_dir = c->values.checkpoint;
    j->events.checkpoint_every_s = c->run_values.checkpoint_every;
    j->events.resume = c->values.resume;
    j->events.keep_finished = 1; // until table and report have their names
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], c->values.model_file, NULL,
                                      c->values.model_file ? NULL : &j->config, 0));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    CLI_TRY(find_model_bin(&tess_decode_recording_get_info(j->recording)->observation,
                           &j->events.model_bin));
    CLI_TRY(find_events(c, j, events));
    CLI_TRY(announce(c, j, tess_decode_events_get_info(*events)));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(c->values.model_file ? decode_load_model(c, j, c->values.model_file)
                                 : decode_fit(c, j));
    if (c->values.covariates_file || j->events.decoder == TESS_DECODE_EVENT_STATES) {
        CLI_TRY(decode_open_covariates(c, j));
    }
    CLI_TRY(finish(c, j, *events));
    const tess_decode_events_info *info = tess_decode_events_get_info(*events);
    if (c->values.json) {
        return print_json(c, j, info);
    }
    return c->values.quiet || j->was_finished ? 0 : print_text(c, info);
}

int cmd_decode_events(cli *c)
{
    decode_job j = {0};
    tess_decode_events *events = NULL;
    const int code = run(c, &j, &events);
    tess_decode_events_destroy(events);
    decode_close(&j);
    return code;
}
