// xpcs fit --per-angle: every angle by itself, with a table and a page of all.

#include "xpcs.h"

#include "job.h"
#include "ranks.h"
#include "signals.h"

#include <tessera/io.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MESSAGE = 512, NAME = 32 };

typedef struct angle_row {
    char name[NAME];
    char page[NAME + 16];
    double phi;
    double q;
    int quality; // -1: not fitted
    int is_converged;
    double reduced_chi2;
    double contrast;
    double contrast_sd;
    double offset;
    double offset_sd;
    double theta[TESS_XPCS_MAX_PARAM];
    double sd[TESS_XPCS_MAX_PARAM];
    char message[MESSAGE];
} angle_row;

typedef struct angles {
    cli *c;
    xpcs_job *j;
    const char *folder;
    tess_xpcs_data *all;
    const tess_xpcs_param_info *params;
    int64_t n_param;
    angle_row *rows;
    int64_t n;
    int64_t n_failed;
    int64_t n_doubtful; // fitted, with warnings or without convergence
} angles;

int xpcs_check_per_angle(const cli *c, const xpcs_job *j)
{
    const struct {
        int is_given;
        const char *option;
    } others[] = {
        {c->values.checkpoint != NULL && c->values.checkpoint != j->fit_config.checkpoint_dir,
         "--checkpoint"},
        {c->values.resume, "--resume"},
        {c->values.xpcs.shard != NULL, "--shard"},
        {c->values.xpcs.combine != NULL, "--combine"},
        {j->method != XPCS_NLSQ, "--method cmc or both"},
        {c->values.xpcs.output_format != NULL, "--output-format"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].is_given) {
            return cli_usage_error(c, "--per-angle and %s exclude each other: give one of them",
                                   others[i].option);
        }
    }
    return 0;
}

static void take_fit(angles *s, angle_row *row)
{
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(s->j->result);

    row->quality = info->quality;
    row->is_converged = info->convergence == TESS_XPCS_CONVERGED;
    row->reduced_chi2 = info->reduced_chi2;
    row->contrast = info->contrast[0];
    row->contrast_sd = info->contrast_sd[0];
    row->offset = info->offset[0];
    row->offset_sd = info->offset_sd[0];
    memcpy(row->theta, info->theta, (size_t)s->n_param * sizeof *row->theta);
    memcpy(row->sd, info->sd, (size_t)s->n_param * sizeof *row->sd);
}

static int fit_angle(angles *s, int64_t angle, const char *folder)
{
    xpcs_job *j = s->j;

    CLI_TRY(job_status(s->c, tess_xpcs_data_angle(s->c->ctx, s->all, angle, &j->data)));
    CLI_TRY(xpcs_status(s->c, j,
                        tess_xpcs_fit(s->c->ctx, j->data, &j->model, &j->fit_config, &j->result)));
    take_fit(s, &s->rows[angle]);
    return ranks_is_first() ? xpcs_write_results(s->c, j, folder) : 0;
}

// Every warning by itself, so that --werror and --no-warn find its id.
static void tell_warnings(angles *s, const angle_row *row)
{
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(s->j->result);
    char line[MESSAGE + 64];

    for (const char *at = info->warnings; *at;) {
        const size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "phi %g: %.*s", row->phi, (int)length, at);
        console_warnings(line);
        at += length + (at[length] == '\n');
    }
    s->n_doubtful += info->warnings[0] || info->convergence != TESS_XPCS_CONVERGED;
}

// An angle that cannot be fitted is told in its row, and the others are fitted.
static int take_angle(angles *s, int64_t angle)
{
    xpcs_job *j = s->j;
    angle_row *row = &s->rows[angle];
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(s->all);
    const tess_xpcs_fit_config config = j->fit_config;
    char folder[PATH_MAX];

    row->phi = info->phi[angle];
    row->q = info->q[angle];
    row->quality = -1;
    snprintf(row->name, sizeof row->name, "angle_%03lld", (long long)angle + 1);
    snprintf(row->page, sizeof row->page, "%s/report.html", row->name);
    snprintf(folder, sizeof folder, "%.4000s/%s", s->folder, row->name);
    j->fit_config.contrast = config.contrast ? config.contrast + angle : NULL;
    j->fit_config.offset = config.offset ? config.offset + angle : NULL;
    j->fit_config.n_scaling = config.n_scaling > 0;
    console_set_quiet(!s->c->values.verbose);
    console_capture(row->message, sizeof row->message);
    const int code = fit_angle(s, angle, folder);
    console_capture(NULL, 0);
    console_set_quiet(s->c->values.quiet);
    if (code == 0 && ranks_is_first()) {
        tell_warnings(s, row);
    }
    tess_xpcs_result_destroy(j->result);
    tess_xpcs_data_destroy(j->data);
    j->result = NULL;
    j->data = NULL;
    j->fit_config = config;
    if (code != 0 && (signals_caught() || signals_pipe_closed())) {
        return job_explain_cancel(s->c, angle, s->n);
    }
    if (code != 0) {
        console_fail(code, "phi %g: %s", row->phi, row->message);
        row->quality = -1;
        s->n_failed++;
    }
    return 0;
}

static void put_real(FILE *file, double x)
{
    fputc(',', file);
    if (!isnan(x)) {
        fprintf(file, "%.9g", x);
    }
}

static void write_table(FILE *file, const angles *s)
{
    const double nothing = (double)NAN;

    fputs("angle,phi,q,quality,converged,reduced_chi2,contrast,contrast_sd,offset,offset_sd", file);
    for (int64_t k = 0; k < s->n_param; k++) {
        fprintf(file, ",%s,%s_sd", s->params[k].name, s->params[k].name);
    }
    fputc('\n', file);
    for (int64_t a = 0; a < s->n; a++) {
        const angle_row *row = &s->rows[a];
        const int is_fitted = row->quality >= 0;
        const double values[] = {row->reduced_chi2, row->contrast, row->contrast_sd, row->offset,
                                 row->offset_sd};
        fprintf(file, "%s,%.9g,%.9g,%s,%s", row->name, row->phi, row->q,
                is_fitted ? tess_xpcs_quality_name((tess_xpcs_quality)row->quality) : "not fitted",
                is_fitted && row->is_converged ? "yes" : "no");
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            put_real(file, is_fitted ? values[i] : nothing);
        }
        for (int64_t k = 0; k < s->n_param; k++) {
            put_real(file, is_fitted ? row->theta[k] : nothing);
            put_real(file, is_fitted ? row->sd[k] : nothing);
        }
        fputc('\n', file);
    }
}

static int save_table(const angles *s)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    if (file) {
        write_table(file, s);
    }
    if (!file || fclose(file) != 0) {
        free(text);
        return console_fail(71, "no memory for the table of the angles");
    }
    snprintf(path, sizeof path, "%.4000s/per_angle.csv", s->folder);
    const tess_status status =
        tess_text_save(s->c->ctx, path, "xpcs.per_angle", text, s->c->values.overwrite);
    free(text);
    CLI_CALL(status);
    return 0;
}

static int save_page(const angles *s)
{
    tess_xpcs_watch_row *rows = calloc((size_t)s->n, sizeof *rows);
    char path[PATH_MAX];

    if (!rows) {
        return console_fail(71, "no memory for the page of the angles");
    }
    for (int64_t a = 0; a < s->n; a++) {
        const angle_row *row = &s->rows[a];
        rows[a] = (tess_xpcs_watch_row){.struct_size = sizeof rows[a],
                                        .quality = row->quality,
                                        .name = row->name,
                                        .page = row->quality >= 0 ? row->page : NULL,
                                        .alarms = "",
                                        .message = row->message,
                                        .at = row->phi,
                                        .reduced_chi2 = row->reduced_chi2,
                                        .theta = row->theta,
                                        .sd = row->sd};
    }
    const tess_xpcs_watch_info info = {.struct_size = sizeof info,
                                       .mode = s->j->model.mode,
                                       .folder = tess_xpcs_data_get_info(s->all)->path,
                                       .rows = rows,
                                       .n_row = s->n,
                                       .n_fitted = s->n - s->n_failed,
                                       .n_failed = s->n_failed,
                                       .by_angle = 1};
    snprintf(path, sizeof path, "%.4000s/per_angle.html", s->folder);
    const char *report = s->c->values.report;
    const tess_status status = tess_xpcs_watch_page(s->c->ctx, &info, report ? report : path);
    free(rows);
    CLI_CALL(status);
    console_note("page written to %s", report ? report : path);
    return 0;
}

static void print_lines(const angles *s)
{
    xpcs_print_data(tess_xpcs_data_get_info(s->all));
    for (int64_t a = 0; a < s->n; a++) {
        const angle_row *row = &s->rows[a];
        if (row->quality < 0) {
            printf("phi %-10.4g not fitted: %s\n", row->phi, row->message);
            continue;
        }
        printf("phi %-10.4g %s", row->phi, tess_xpcs_quality_name((tess_xpcs_quality)row->quality));
        for (int64_t k = 0; k < s->n_param; k++) {
            printf(", %s %.5g ± %.2g", s->params[k].name, row->theta[k], row->sd[k]);
        }
        printf(", reduced chi2 %.4g\n", row->reduced_chi2);
    }
}

static void write_row(tess_json *json, const angles *s, const angle_row *row)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "folder", row->name);
    tess_json_real(json, "phi", row->phi);
    tess_json_real(json, "q", row->q);
    if (row->quality >= 0) {
        tess_json_text(json, "quality", tess_xpcs_quality_name((tess_xpcs_quality)row->quality));
        tess_json_bool(json, "converged", row->is_converged);
        tess_json_real(json, "reduced_chi2", row->reduced_chi2);
        tess_json_object_begin(json, "parameters");
        for (int64_t k = 0; k < s->n_param + 2; k++) {
            const int which = (int)(k - s->n_param);
            tess_json_object_begin(json, which < 0 ? s->params[k].name
                                                   : tess_xpcs_scaling_param(which)->name);
            tess_json_real(json, "value",
                           which < 0    ? row->theta[k]
                           : which == 0 ? row->contrast
                                        : row->offset);
            tess_json_real(json, "uncertainty",
                           which < 0    ? row->sd[k]
                           : which == 0 ? row->contrast_sd
                                        : row->offset_sd);
            tess_json_object_end(json);
        }
        tess_json_object_end(json);
    }
    tess_json_text(json, "message", row->message);
    tess_json_object_end(json);
}

static int print_json(const angles *s)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(s->c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.per_angle/1");
    tess_json_text(json, "output", s->folder);
    xpcs_write_data(json, tess_xpcs_data_get_info(s->all));
    tess_json_array_begin(json, "angles");
    for (int64_t a = 0; a < s->n; a++) {
        write_row(json, s, &s->rows[a]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int tell_all(const angles *s)
{
    if (!ranks_is_first()) {
        return 0;
    }
    CLI_TRY(save_table(s));
    CLI_TRY(save_page(s));
    if (s->c->values.json) {
        return print_json(s);
    }
    if (!s->c->values.quiet) {
        print_lines(s);
    }
    return 0;
}

static int fit_all(angles *s)
{
    const char *report = s->c->values.report;

    if (ranks_is_first() && mkdir(s->folder, 0777) != 0 && errno != EEXIST) {
        return console_fail(73, "-o %s: %s", s->folder, strerror(errno));
    }
    for (int64_t a = 0; a < s->n; a++) {
        s->c->values.report = NULL; // it is that of all
        const int code = take_angle(s, a);
        s->c->values.report = report;
        CLI_TRY(code);
    }
    CLI_TRY(tell_all(s));
    if (s->n_failed > 0) {
        return console_fail(65, "%lld of %lld angles were not fitted", (long long)s->n_failed,
                            (long long)s->n);
    }
    return s->c->values.xpcs.strict && s->n_doubtful > 0
               ? console_fail(1,
                              "fits of %lld of %lld angles have warnings, and --strict was given",
                              (long long)s->n_doubtful, (long long)s->n)
               : 0;
}

int xpcs_fit_angles(cli *c, xpcs_job *j, const char *folder)
{
    angles s = {.c = c, .j = j, .folder = folder, .all = j->data};

    s.n = tess_xpcs_data_get_info(s.all)->n_angle;
    s.params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &s.n_param);
    s.rows = calloc((size_t)s.n, sizeof *s.rows);
    if (!s.rows) {
        return console_fail(71, "no memory for %lld angles", (long long)s.n);
    }
    if (j->fit_config.n_scaling > 0 && j->fit_config.n_scaling != s.n) {
        free(s.rows);
        return cli_usage_error(c, "--contrasts and --offsets: %lld values for %lld angles",
                               (long long)j->fit_config.n_scaling, (long long)s.n);
    }
    j->data = NULL;
    j->fit_config.checkpoint_dir = NULL;
    j->fit_config.keep_finished = 0;
    const int code = fit_all(&s);
    j->data = s.all;
    free(s.rows);
    return code;
}
