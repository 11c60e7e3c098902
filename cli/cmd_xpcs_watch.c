// tessera xpcs watch: every file of a folder is fitted as soon as it is complete.

#include "xpcs.h"

#include "job.h"
#include "signals.h"
#include "watch.h"
#include "watch_alarm.h"
#include "watch_table.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// A page is not written more often than this, however fast files come; it loads itself this often.
static const double PAGE_EVERY_S = 1;
enum { REFRESH_S = 5, MESSAGE = 512 };

typedef struct watcher {
    cli *c;
    xpcs_job j;
    tess_xpcs_model model; // before a file completed it
    int64_t n_start;
    double start[TESS_XPCS_MAX_PARAM]; // as configured
    watch_folder folder;
    watch_table table;
    watch_alarms alarms;
    char table_path[PATH_MAX];
    char page_path[PATH_MAX];
    double page_at;
    int page_is_old;
    int n_left_out; // of this run: files that could not be fitted
} watcher;

static int take_seconds(const cli *c, const char *option, const char *text, double least,
                        double standard, double *value)
{
    char *end = NULL;

    *value = text ? strtod(text, &end) : standard;
    return text && (end == text || *end || !(*value >= least && *value <= 86400))
               ? cli_usage_error(c, "--%s: '%s' is not a number of seconds from %g to 86400",
                                 option, text, least)
               : 0;
}

static int take_options(watcher *w)
{
    const cli_xpcs_values *v = &w->c->values.xpcs;

    w->folder.path = w->c->operands[0];
    w->folder.pattern = v->pattern;
    w->folder.is_once = v->once;
    CLI_TRY(take_seconds(w->c, "poll", v->poll, 0.01, 0.25, &w->folder.poll_s));
    CLI_TRY(take_seconds(w->c, "settle", v->settle, 0.01, 0.3, &w->folder.settle_s));
    CLI_TRY(take_seconds(w->c, "patience", v->patience, 0, 60, &w->folder.patience_s));
    w->table.params = tess_xpcs_params((tess_xpcs_mode)w->j.model.mode, &w->table.n_param);
    return watch_alarms_parse(w->c, &w->table, v->alarm, &w->alarms);
}

// Fits alone, each in a folder of its own that is replaced when its file is.
static int prepare(watcher *w)
{
    xpcs_job *j = &w->j;
    const char *output = w->c->values.output;

    if (j->method != XPCS_NLSQ) {
        console_note("a watch fits; draw from the posterior with tessera xpcs mcmc");
        j->method = XPCS_NLSQ;
    }
    j->fit_config.checkpoint_dir = NULL;
    j->fit_config.resume = 0;
    j->fit_config.keep_finished = 0;
    w->model = j->model;
    w->n_start = j->fit_config.n_start;
    memcpy(w->start, j->start, sizeof w->start);
    CLI_TRY(watch_open(&w->folder)); // before there is a folder of results
    if (mkdir(output, 0777) != 0 && errno != EEXIST) {
        return console_fail(73, "-o %s: %s", output, strerror(errno));
    }
    snprintf(w->table_path, sizeof w->table_path, "%.4000s/watch.csv", output);
    snprintf(w->page_path, sizeof w->page_path, "%.4000s/watch.html", output);
    w->table.path = w->table_path;
    CLI_TRY(watch_table_open(w->c, &w->table, &w->folder.files));
    w->c->values.overwrite = 1; // what lies in a file's folder is of an earlier fit of it
    w->page_is_old = 1;
    if (w->table.n_row > 0) {
        console_note("%s has %lld rows: their files are not fitted again", w->table_path,
                     (long long)w->table.n_row);
    }
    return 0;
}

static int write_page(watcher *w, int refresh_s)
{
    const int64_t n = w->table.n_row < WATCH_SHOWN ? w->table.n_row : WATCH_SHOWN;
    tess_xpcs_watch_row *rows = calloc((size_t)n + 1, sizeof *rows);
    char(*pages)[NAME_MAX + 32] = calloc((size_t)n + 1, sizeof *pages);
    tess_status status = rows && pages ? TESS_OK : TESS_E_MEMORY;

    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        const watch_row *row = watch_table_row(&w->table, i);
        const int is_fitted = row->status == WATCH_FITTED;
        snprintf(pages[i], sizeof pages[i], "%.255s.fit/report.html", row->name);
        rows[i] = (tess_xpcs_watch_row){.struct_size = sizeof rows[i],
                                        .quality = is_fitted ? row->quality : -1,
                                        .name = row->name,
                                        .page = is_fitted ? pages[i] : NULL,
                                        .alarms = row->alarms,
                                        .message = row->message,
                                        .at = 1e-9 * (double)row->seen.mtime_ns,
                                        .reduced_chi2 = row->reduced_chi2,
                                        .theta = row->theta,
                                        .sd = row->sd};
    }
    const tess_xpcs_watch_info info = {.struct_size = sizeof info,
                                       .mode = w->j.model.mode,
                                       .folder = w->folder.path,
                                       .rows = rows,
                                       .n_row = n,
                                       .n_fitted = w->table.n_status[WATCH_FITTED],
                                       .n_failed = w->table.n_status[WATCH_FAILED],
                                       .n_alarm = w->table.n_alarm,
                                       .refresh_s = refresh_s};
    if (status == TESS_OK) {
        status = tess_xpcs_watch_page(w->c->ctx, &info, w->page_path);
    }
    free(rows);
    free(pages);
    w->page_at = watch_now();
    w->page_is_old = status != TESS_OK;
    CLI_CALL(status);
    return 0;
}

// The last accepted fit is the start, unless the caller asked for starts of their own.
static int take_last(watcher *w)
{
    xpcs_job *j = &w->j;

    memcpy(j->start, w->start, sizeof w->start);
    j->fit_config.n_start = w->n_start;
    if (!w->table.has_last || w->n_start > 0) {
        return 0;
    }
    for (int64_t k = 0; k < w->table.n_param; k++) {
        if (!j->is_fixed[k] && isfinite(w->table.last[k])) {
            j->start[k] = w->table.last[k];
        }
    }
    j->fit_config.n_start = 1;
    return 1;
}

static int fit_once(watcher *w)
{
    xpcs_job *j = &w->j;

    tess_xpcs_result_destroy(j->result);
    j->result = NULL;
    return xpcs_status(w->c, j,
                       tess_xpcs_fit(w->c->ctx, j->data, &j->model, &j->fit_config, &j->result));
}

// Near the last fit first; where that does not end well, as if it were the first file.
static int fit_warm(watcher *w)
{
    const int is_warm = take_last(w);

    CLI_TRY(fit_once(w));
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(w->j.result);
    if (!is_warm || (info->convergence == TESS_XPCS_CONVERGED && info->quality == TESS_XPCS_GOOD)) {
        return 0;
    }
    memcpy(w->j.start, w->start, sizeof w->start);
    w->j.fit_config.n_start = w->n_start;
    return fit_once(w);
}

static int fit_file(watcher *w, int64_t file)
{
    const char *name = w->folder.files.files[file].name;
    char path[PATH_MAX];
    char folder[PATH_MAX];

    snprintf(path, sizeof path, "%.3800s/%.255s", w->folder.path, name);
    snprintf(folder, sizeof folder, "%.3800s/%.255s.fit", w->c->values.output, name);
    w->j.model = w->model;
    CLI_TRY(xpcs_open_data(w->c, &w->j, path));
    CLI_TRY(fit_warm(w));
    return watch_is_same(&w->folder, file) ? xpcs_write_results(w->c, &w->j, folder) : 0;
}

static void stamp(watch_row *row)
{
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(row->fitted_at, sizeof row->fitted_at, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static watch_row new_row(const watcher *w, int64_t file, watch_status status, const char *message)
{
    const watch_file *f = &w->folder.files.files[file];
    watch_row row = {.name = strdup(f->name),
                     .seen = f->seen,
                     .status = status,
                     .quality = -1,
                     .seconds = (double)NAN,
                     .message = strdup(message)};
    stamp(&row);
    return row;
}

static void take_fit(watcher *w, watch_row *row, double seconds)
{
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(w->j.result);

    row->quality = info->quality;
    row->is_converged = info->convergence == TESS_XPCS_CONVERGED;
    row->reduced_chi2 = info->reduced_chi2;
    memcpy(row->theta, info->theta, (size_t)info->n_param * sizeof *row->theta);
    memcpy(row->sd, info->sd, (size_t)info->n_param * sizeof *row->sd);
    row->seconds = seconds;
}

static void print_row(const watcher *w, const watch_row *row)
{
    if (row->status != WATCH_FITTED) {
        printf("%s: %s: %s\n", row->name, watch_status_name(row->status), row->message);
        return;
    }
    printf("%s: %s", row->name, tess_xpcs_quality_name((tess_xpcs_quality)row->quality));
    for (int64_t k = 0; k < w->table.n_param; k++) {
        printf(", %s %.5g ± %.2g", w->table.params[k].name, row->theta[k], row->sd[k]);
    }
    printf(", reduced chi2 %.4g, %.2f s%s%s\n", row->reduced_chi2, row->seconds,
           row->alarms[0] ? "; alarm: " : "", row->alarms);
}

// One object a line.
static int print_json(const watcher *w, const watch_row *row)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(w->c->ctx, 0, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.watch/1");
    tess_json_text(json, "file", row->name);
    tess_json_text(json, "status", watch_status_name(row->status));
    if (row->status == WATCH_FITTED) {
        tess_json_text(json, "quality", tess_xpcs_quality_name((tess_xpcs_quality)row->quality));
        tess_json_bool(json, "converged", row->is_converged);
        tess_json_real(json, "reduced_chi2", row->reduced_chi2);
        tess_json_object_begin(json, "parameters");
        for (int64_t k = 0; k < w->table.n_param; k++) {
            tess_json_object_begin(json, w->table.params[k].name);
            tess_json_real(json, "value", row->theta[k]);
            tess_json_real(json, "uncertainty", row->sd[k]);
            tess_json_object_end(json);
        }
        tess_json_object_end(json);
        tess_json_real(json, "seconds", row->seconds);
    }
    tess_json_text(json, "alarms", row->alarms);
    tess_json_text(json, "message", row->message);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// Appends the row, says it, and what was seen of the file is done with.
static int finish_file(watcher *w, int64_t file, watch_row *row)
{
    row->alarms = watch_alarms_of(&w->alarms, &w->table, row);
    w->page_is_old = 1;
    CLI_TRY(watch_table_add(&w->table, row));
    if (row->alarms[0]) {
        console_fail(0, "alarm: %s: %s", row->name, row->alarms);
    }
    if (w->c->values.json) {
        CLI_TRY(print_json(w, row));
    } else if (!w->c->values.quiet) {
        print_row(w, row);
    }
    fflush(stdout);
    return watch_files_done(&w->folder.files, file)
               ? 0
               : console_fail(71, "no memory for the names of %s", w->folder.path);
}

// A file that may still be on its way is tried again; one that rested long enough gets a row.
static int take_failure(watcher *w, int64_t file, const char *message)
{
    watch_file *f = &w->folder.files.files[file];
    const int is_known = f->is_failed;

    if (!w->folder.is_once && watch_rest(&w->folder, file) < w->folder.patience_s) {
        if (!f->is_told) {
            console_note("%s; trying again while it may be incomplete", message);
            f->is_told = 1;
        }
        watch_retry(&w->folder, file);
        return 0;
    }
    w->n_left_out++;
    f->is_failed = 1;
    if (is_known) { // by an earlier run
        return watch_files_done(&w->folder.files, file) ? 0 : 71;
    }
    console_fail(0, "%s", message);
    watch_row row = new_row(w, file, WATCH_FAILED, message);
    return finish_file(w, file, &row);
}

static int take_file(watcher *w, int64_t file)
{
    const double began = watch_now();
    const int64_t same = watch_files_same(&w->folder.files, file);
    char message[MESSAGE] = "";

    if (same != WATCH_NONE) {
        snprintf(message, sizeof message, "the file that was fitted as %.255s",
                 w->folder.files.files[same].name);
        watch_row row = new_row(w, file, WATCH_RENAMED, message);
        return finish_file(w, file, &row);
    }
    console_set_quiet(!w->c->values.verbose);
    console_capture(message, sizeof message);
    const int code = fit_file(w, file);
    console_capture(NULL, 0);
    console_set_quiet(w->c->values.quiet);
    int taken = 0;
    if (code == 0 && !watch_is_same(&w->folder, file)) {
        watch_retry(&w->folder, file); // it became another while it was fitted
    } else if (code == 0) {
        watch_row row = new_row(w, file, WATCH_FITTED, "");
        take_fit(w, &row, watch_now() - began);
        taken = finish_file(w, file, &row);
    } else if (!signals_caught()) {
        taken = take_failure(w, file, message);
    }
    tess_xpcs_data_destroy(w->j.data);
    tess_xpcs_result_destroy(w->j.result);
    w->j.data = NULL;
    w->j.result = NULL;
    if (taken != 0) { // the table could not be written: the file comes again
        watch_retry(&w->folder, file);
    }
    return 0;
}

static int is_stopped(void)
{
    return signals_caught() || signals_pipe_closed();
}

static int run(watcher *w)
{
    while (!is_stopped() && !watch_is_over(&w->folder)) {
        const int64_t file = watch_next(&w->folder);
        if (w->folder.no_memory) {
            return console_fail(71, "no memory for the names of %s", w->folder.path);
        }
        if (file != WATCH_NONE) {
            CLI_TRY(take_file(w, file));
        }
        if (w->page_is_old && !is_stopped() && watch_now() - w->page_at >= PAGE_EVERY_S) {
            write_page(w, w->folder.is_once ? 0 : REFRESH_S); // said; the next one may succeed
        }
        if (file == WATCH_NONE && !watch_is_over(&w->folder)) {
            watch_sleep(&w->folder);
        }
    }
    return 0;
}

static int watch(watcher *w)
{
    w->c->values.no_progress = 1;
    CLI_TRY(xpcs_open_session(w->c, &w->j));
    CLI_TRY(take_options(w));
    CLI_TRY(prepare(w));
    console_note("watching %s: table %s, page %s", w->folder.path, w->table_path, w->page_path);
    CLI_TRY(run(w));
    const int code = write_page(w, 0); // nothing more will come
    if (is_stopped()) {
        return signals_pipe_closed() ? 141 : signals_exit_code();
    }
    return code ? code
           : w->n_left_out > 0
               ? console_fail(65, "%d files were not fitted: see %s", w->n_left_out, w->table_path)
               : 0;
}

int cmd_xpcs_watch(cli *c)
{
    watcher w = {.c = c, .folder = {.fd = -1, .hints = -1}, .table = {.fd = -1}};
    const int code = watch(&w);

    watch_table_close(&w.table);
    watch_close(&w.folder);
    xpcs_close(&w.j);
    return code;
}
