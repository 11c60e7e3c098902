// tessera decode tune: bandwidths by the likelihood of held-out spikes.

#include "decode.h"
#include "job.h"

#include <math.h>
#include <stdlib.h>

static int show_candidate(void *user, double position_std, double waveform_std, double score)
{
    (void)user;
    if (isnan(waveform_std)) {
        console_note("position_std %.4g cm: %.5f nats per spike", position_std, score);
    } else {
        console_note("position_std %.4g cm, waveform_std %.4g uV: %.5f nats per spike",
                     position_std, waveform_std, score);
    }
    return 0;
}

// "--position-std 4.2 --waveform-std 18": what decode run takes.
static void option_line(const tess_decode_tuning_info *info, char *text, size_t capacity)
{
    if (info->has_waveform) {
        snprintf(text, capacity, "--position-std %.4g --waveform-std %.4g", info->position_std,
                 info->waveform_std);
    } else {
        snprintf(text, capacity, "--algorithm sorted_spikes_kde --position-std %.4g",
                 info->position_std);
    }
}

static int32_t last_sweep(const tess_decode_tuning_info *info, int is_position)
{
    int32_t last = 0;
    for (int64_t i = 0; i < info->n_candidate; i++) {
        const tess_decode_tune_candidate *p = &info->candidates[i];
        last = p->is_position == is_position && p->sweep > last ? p->sweep : last;
    }
    return last;
}

static int by_bandwidth(const void *a, const void *b)
{
    const tess_decode_tune_candidate *x = a;
    const tess_decode_tune_candidate *y = b;
    const double p = x->is_position ? x->position_std : x->waveform_std;
    const double q = y->is_position ? y->position_std : y->waveform_std;
    return (p > q) - (p < q);
}

// The last sweep as a table with bars; half a nat below the best and more has the full length.
static int print_curve(const tess_decode_tuning_info *info, int is_position)
{
    static const char bar[] = "########################################";
    const int32_t sweep = last_sweep(info, is_position);
    const size_t n_row = info->n_candidate > 0 ? (size_t)info->n_candidate : 1;
    tess_decode_tune_candidate *rows = calloc(n_row, sizeof *rows);
    size_t n = 0;

    if (!rows) {
        return console_fail(71, "no memory for %lld candidates", (long long)info->n_candidate);
    }
    for (int64_t i = 0; i < info->n_candidate; i++) {
        const tess_decode_tune_candidate *c = &info->candidates[i];
        if (c->is_position == is_position && c->sweep == sweep && sweep > 0) {
            rows[n++] = *c;
        }
    }
    qsort(rows, n, sizeof *rows, by_bandwidth);
    printf("\n%s   below the best, nats per spike\n",
           is_position ? "position_std cm" : "waveform_std uV");
    for (size_t i = 0; i < n; i++) {
        const double value = is_position ? rows[i].position_std : rows[i].waveform_std;
        const int length = (int)fmin(40, ceil(80 * rows[i].below_best));
        printf("%15.4g   %.5f +- %.5f %.*s%s\n", value, rows[i].below_best, rows[i].standard_error,
               length, bar, rows[i].below_best == 0 ? "<- best" : "");
    }
    free(rows);
    return 0;
}

static int print_text(const cli *c, const decode_job *j, const tess_decode_tuning_info *info)
{
    char options[96];

    decode_print_recording(tess_decode_recording_get_info(j->recording));
    printf("held out       %lld blocks of training time; %lld of %lld spikes looked at\n",
           (long long)info->n_fold, (long long)info->n_spike, (long long)info->n_held);
    if (info->has_waveform) {
        CLI_TRY(print_curve(info, 0));
    }
    CLI_TRY(print_curve(info, 1));
    option_line(info, options, sizeof options);
    printf("\ngain           %.5f nats per held-out spike over position_std %.4g",
           info->score - info->start_score, info->start_position_std);
    if (info->has_waveform) {
        printf(", waveform_std %.4g", info->start_waveform_std);
    }
    printf("\noptions        %s\n", options);
    if (c->values.output) {
        printf("settings       %s, for --config\n", c->values.output);
    }
    printf("\ntessera decode run %s %s -o RESULT.h5\n", c->operands[0], options);
    return 0;
}

static void write_candidates(tess_json *json, const tess_decode_tuning_info *info)
{
    tess_json_array_begin(json, "candidates");
    for (int64_t i = 0; i < info->n_candidate; i++) {
        const tess_decode_tune_candidate *p = &info->candidates[i];
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "sweep", p->sweep);
        tess_json_text(json, "over", p->is_position ? "position_std" : "waveform_std");
        tess_json_real(json, "position_std", p->position_std);
        tess_json_real(json, "waveform_std", p->waveform_std);
        tess_json_real(json, "score", p->score);
        tess_json_real(json, "below_best", p->below_best);
        tess_json_real(json, "standard_error", p->standard_error);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static int print_json(cli *c, const decode_job *j, const tess_decode_tuning_info *info)
{
    char options[96];
    tess_json *json = NULL;

    option_line(info, options, sizeof options);
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.tune/1");
    decode_write_recording(json, tess_decode_recording_get_info(j->recording));
    tess_json_object_begin(json, "tuning");
    tess_json_text(json, "options", options);
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "report", c->values.report);
    tess_json_real(json, "position_std", info->position_std);
    tess_json_real(json, "waveform_std", info->waveform_std);
    tess_json_real(json, "score", info->score);
    tess_json_real(json, "start_position_std", info->start_position_std);
    tess_json_real(json, "start_waveform_std", info->start_waveform_std);
    tess_json_real(json, "start_score", info->start_score);
    tess_json_bool(json, "position_at_end", info->position_at_end);
    tess_json_bool(json, "waveform_at_end", info->waveform_at_end);
    tess_json_int(json, "n_fold", info->n_fold);
    tess_json_int(json, "n_sample", info->n_sample);
    tess_json_int(json, "n_spike", info->n_spike);
    tess_json_int(json, "n_held", info->n_held);
    tess_json_real(json, "elapsed_s", info->elapsed_s);
    write_candidates(json, info);
    tess_json_object_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static void write_folds(tess_json *json, const void *self)
{
    const tess_decode_tune_config *tune = self;
    tess_json_int(json, "folds", tune->n_fold);
    tess_json_int(json, "points", tune->n_point);
    tess_json_int(json, "rounds", tune->max_rounds);
    tess_json_int(json, "max_spikes", tune->max_spikes);
}

static int announce(cli *c, const decode_job *j)
{
    const int has_waveform = j->config.encoding.algorithm == TESS_DECODE_CLUSTERLESS_KDE;
    const int64_t n_sweep = has_waveform ? 2 * j->tune.max_rounds : 1;
    const int64_t n = n_sweep * (j->tune.n_point + j->tune.n_refine);
    tess_context_info machine;
    char line[160];

    CLI_CALL(tess_context_get_info(c->ctx, &machine, sizeof machine));
    snprintf(line, sizeof line, "plan: some %lld candidates at most, each fitted %lld times",
             (long long)n, (long long)j->tune.n_fold);
    const plan_facts facts = {.strategy = TESS_STRATEGY_STANDARD,
                              .reason = "one model at a time",
                              .unit = "fits",
                              .n_item = n * j->tune.n_fold,
                              .items_per_tile = 1,
                              .n_tile = n * j->tune.n_fold,
                              .limit_bytes = machine.memory_limit_bytes,
                              .write_system = write_folds,
                              .self = &j->tune};
    return job_announce_plan(c, &facts, line);
}

static void warn_ends(const tess_decode_tuning_info *info)
{
    if (info->position_at_end) {
        console_warn(TESS_W_DECODE_TUNE_EDGE,
                     "the best position_std, %.4g cm, is the last one tried; start from "
                     "there: --position-std %.4g",
                     info->position_std, info->position_std);
    }
    if (info->waveform_at_end) {
        console_warn(TESS_W_DECODE_TUNE_EDGE,
                     "the best waveform_std, %.4g uV, is the last one tried; start from "
                     "there: --waveform-std %.4g",
                     info->waveform_std, info->waveform_std);
    }
}

static int run(cli *c, decode_job *j, tess_decode_tuning **tuning)
{
    CLI_TRY(decode_open_session(c, j));
    CLI_CALL(tess_decode_check_memory(c->ctx, c->operands[0], NULL, NULL, &j->config, 0));
    CLI_TRY(decode_open_recording(c, j, c->operands[0]));
    CLI_TRY(announce(c, j));
    if (c->values.dry_run) {
        return 0;
    }
    j->tune.candidate = c->values.verbose > 0 ? show_candidate : NULL;
    const tess_status status = tess_decode_tune(c->ctx, j->recording, &j->config, &j->tune, tuning);
    console_erase_bar();
    if (status == TESS_CANCELLED) {
        return job_explain_cancel(c, 0, 0);
    }
    if (status != TESS_OK) {
        return decode_data_status(c, j, status);
    }
    const tess_decode_tuning_info *info = tess_decode_tuning_get_info(*tuning);
    warn_ends(info);
    if (c->values.output) {
        CLI_CALL(tess_decode_tuning_save(c->ctx, *tuning, c->values.output, c->values.overwrite));
    }
    if (c->values.report) {
        CLI_CALL(tess_decode_tuning_report(c->ctx, *tuning, c->values.report, c->values.overwrite));
        console_note("report written to %s", c->values.report);
    }
    if (c->values.json) {
        return print_json(c, j, info);
    }
    return c->values.quiet ? 0 : print_text(c, j, info);
}

int cmd_decode_tune(cli *c)
{
    decode_job j = {0};
    tess_decode_tuning *tuning = NULL;
    const int code = run(c, &j, &tuning);
    tess_decode_tuning_destroy(tuning);
    decode_close(&j);
    return code;
}
