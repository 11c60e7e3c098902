// The page of the group.
#include "base/status.h"
#include "page/html_parts.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/study/cohort.h"
#include "systems/autoreject/text/citation.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CELLS = 7 + TESS_AUTOREJECT_N_SOLVABLE, CELL = 120, MOST_FAILED = 20 };

static void fact(tess_html *html, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(tess_html *html, const char *name, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(html, name, text);
}

static int64_t count_outlying_rows(const tess_ar_cohort *c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_row; i++) {
        n += c->rows[i].is_outlier;
    }
    return n;
}

static void write_verdict(const tess_ar_cohort *c, tess_html *html)
{
    const int64_t n_failed = c->n_row - c->n_done;
    const int64_t n_out = count_outlying_rows(c);
    char text[1400];
    snprintf(text, sizeof text, "%lld of %lld recordings done", (long long)c->n_done,
             (long long)c->n_row);
    tess_html_badge(html, n_failed == 0 ? TESS_HTML_GOOD : TESS_HTML_BAD, text);
    if (n_out > 0) {
        snprintf(text, sizeof text, "%lld recording%s to look at", (long long)n_out,
                 n_out == 1 ? "" : "s");
        tess_html_badge(html, TESS_HTML_CHECK, text);
    }
    if (c->n_epoch > 0) {
        snprintf(text, sizeof text, "%.1f %% of epochs kept",
                 100 * (double)c->n_kept / (double)c->n_epoch);
        tess_html_badge(html, TESS_HTML_NEUTRAL, text);
    }
    int64_t n_said = 0;
    for (int64_t i = 0; i < c->n_row; i++) {
        const tess_ar_cohort_row *row = &c->rows[i];
        if (!row->is_done && n_said++ < MOST_FAILED) {
            snprintf(text, sizeof text, "%s failed: %.1200s", row->label, row->item->info->message);
            tess_html_warning(html, text);
        }
    }
    if (n_said > MOST_FAILED) {
        snprintf(text, sizeof text, "%lld more failed; the table has them all.",
                 (long long)(n_said - MOST_FAILED));
        tess_html_warning(html, text);
    }
}

static void write_facts(const tess_ar_cohort *c, tess_html *html)
{
    const tess_autoreject_study *s = c->study;
    char text[40];
    tess_html_fact_begin(html);
    fact(html, "subjects", "%lld, %lld recordings", (long long)c->n_subject, (long long)c->n_row);
    fact(html, "epochs", "%lld, of them %lld kept", (long long)c->n_epoch, (long long)c->n_kept);
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        int64_t n = 0;
        for (int64_t i = 0; i < c->n_sensor; i++) {
            n += c->sensors[i].type == t;
        }
        if (n > 0) {
            fact(html, tess_autoreject_type_name(t), "%lld sensors", (long long)n);
        }
    }
    if (s->epochs.window > 0) {
        fact(html, "cut", "windows of %g s, %g s of them overlapping", s->epochs.window,
             s->epochs.overlap);
    } else {
        fact(html, "cut", "%g to %g s around %.200s", s->epochs.tmin, s->epochs.tmax,
             s->epochs.event ? s->epochs.event : "every event");
    }
    tess_param_get_text(&tess_autoreject_fit_params()->params[0], &s->fit, text, sizeof text);
    fact(html, "search", "%s, %lld splits, seed %lld, %lld folds", text, (long long)s->fit.n_split,
         (long long)s->fit.seed, (long long)s->fit.n_fold);
    tess_html_fact_end(html);
}

static void write_outliers(const tess_ar_cohort *c, tess_html *html)
{
    char text[700];
    tess_html_heading(html, "Outliers");
    snprintf(text, sizeof text,
             "The rule: robust z, the distance from the median in units of 1.4826 times the median "
             "absolute deviation, beyond %g. Shares of bad epochs and channels count upwards and "
             "from %g points above the median on; thresholds by their logarithms, both ways and "
             "from %g %% on. Recordings are compared with recordings, sensors with sensors of "
             "their type, where there are at least %d.",
             c->study->config.outlier_z, 100 * TESS_AR_SHARE_STEP, 100 * TESS_AR_THRESHOLD_STEP,
             TESS_AR_COHORT_LEAST);
    tess_html_paragraph(html, text);
    if (c->n_outlier == 0) {
        tess_html_paragraph(html, c->n_done < TESS_AR_COHORT_LEAST
                                      ? "There are too few recordings to compare them."
                                      : "None.");
        return;
    }
    tess_text_add(&html->text, "<ul>\n");
    for (int64_t i = 0; i < c->n_outlier; i++) {
        tess_html_element(&html->text, "li", c->outliers[i]);
        tess_text_add(&html->text, "\n");
    }
    tess_text_add(&html->text, "</ul>\n");
}

static void share(char cell[CELL], double value)
{
    if (isfinite(value)) {
        snprintf(cell, CELL, "%.1f %%", 100 * value);
    } else {
        snprintf(cell, CELL, "-");
    }
}

// -1: not known.
static void count(char cell[CELL], int64_t value)
{
    if (value >= 0) {
        snprintf(cell, CELL, "%lld", (long long)value);
    } else {
        snprintf(cell, CELL, "-");
    }
}

static void write_row(const tess_ar_cohort *c, tess_html *html, const tess_ar_cohort_row *row)
{
    const tess_autoreject_study_recording *r = row->item->info;
    char text[MOST_CELLS][CELL];
    const char *cells[MOST_CELLS];
    char page[1200];
    int n = 0;
    snprintf(text[n++], CELL, "%s", row->label);
    snprintf(text[n++], CELL, "%s",
             !row->is_done     ? "failed"
             : row->is_outlier ? "outlier"
                               : "done");
    count(text[n++], row->is_done ? r->n_epoch : -1);
    count(text[n++], row->is_done ? r->n_kept : -1);
    share(text[n++], row->bad_epochs.value);
    share(text[n++], row->bad_channels.value);
    share(text[n++], row->is_done ? r->repaired : (double)NAN);
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        const tess_ar_unit unit = tess_ar_unit_of(t);
        const double value = row->thresholds[t].value;
        if (c->has_type[t] && isfinite(value)) {
            snprintf(text[n++], CELL, "%s %s", tess_ar_number_of(unit.scale * value).text,
                     unit.name);
        } else if (c->has_type[t]) {
            snprintf(text[n++], CELL, "-");
        }
    }
    for (int i = 0; i < n; i++) {
        cells[i] = text[i];
    }
    if (row->is_done && c->study->config.with_reports) {
        snprintf(page, sizeof page, "%.500s/%.500s_desc-autoreject_report.html", r->folder,
                 r->name);
        tess_html_table_row_link(html, cells, n, page);
    } else {
        tess_html_table_row(html, cells, n);
    }
}

static void write_recordings(const tess_ar_cohort *c, tess_html *html)
{
    const char *heads[MOST_CELLS] = {"recording",  "state",        "epochs",  "kept",
                                     "bad epochs", "bad channels", "repaired"};
    char names[TESS_AUTOREJECT_N_SOLVABLE][40];
    int n = 7;
    tess_html_heading(html, "Recordings");
    tess_html_paragraph(html, "A click on a head sorts. Names lead to the page of the recording; "
                              "thresholds are medians over its sensors.");
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        if (c->has_type[t]) {
            snprintf(names[t], sizeof names[t], "%s threshold", tess_autoreject_type_name(t));
            heads[n++] = names[t];
        }
    }
    tess_html_table_begin(html, heads, n);
    for (int64_t i = 0; i < c->n_row; i++) {
        write_row(c, html, &c->rows[i]);
    }
    tess_html_table_end(html);
}

static void write_sensors(const tess_ar_cohort *c, tess_html *html)
{
    static const char *const heads[] = {"sensor", "type",    "recordings", "threshold",
                                        "spread", "least",   "greatest",   "bad",
                                        "worst",  "worst in"};
    tess_html_heading(html, "Sensors");
    tess_html_paragraph(html,
                        "Median, spread and ends of a sensor's thresholds over recordings, and "
                        "the mean and the largest share of epochs in which it is bad.");
    tess_html_table_begin(html, heads, 10);
    for (int64_t i = 0; i < c->n_sensor; i++) {
        const tess_ar_cohort_sensor *s = &c->sensors[i];
        const tess_ar_unit unit = tess_ar_unit_of(s->type);
        char shown[TESS_AR_NAME];
        char text[7][CELL];
        tess_ar_shown_name(s->name, shown);
        snprintf(text[0], CELL, "%lld", (long long)s->n);
        snprintf(text[1], CELL, "%s %s", tess_ar_number_of(unit.scale * s->threshold.value).text,
                 unit.name);
        share(text[2], s->spread);
        snprintf(text[3], CELL, "%s %s", tess_ar_number_of(unit.scale * s->low).text, unit.name);
        snprintf(text[4], CELL, "%s %s", tess_ar_number_of(unit.scale * s->high).text, unit.name);
        share(text[5], s->bad.value);
        share(text[6], s->worst);
        const char *const cells[] = {shown,   tess_autoreject_type_name(s->type),
                                     text[0], text[1],
                                     text[2], text[3],
                                     text[4], text[5],
                                     text[6], s->worst_of};
        tess_html_table_row(html, cells, 10);
    }
    tess_html_table_end(html);
}

static tess_status write_parts(tess_ar_cohort *c, tess_html *html)
{
    write_verdict(c, html);
    write_facts(c, html);
    TESS_TRY(tess_ar_cohort_draw_shares(c, html));
    write_outliers(c, html);
    TESS_TRY(tess_ar_cohort_draw_heads(c, html));
    TESS_TRY(tess_ar_cohort_draw_map(c, html));
    write_recordings(c, html);
    write_sensors(c, html);
    tess_html_cite(html, TESS_AR_CITATION);
    return TESS_OK;
}

tess_status tess_ar_cohort_write_page(tess_ar_cohort *c)
{
    tess_autoreject_study *s = c->study;
    char path[TESS_AR_STUDY_PATH];
    tess_autoreject_study_config stored = s->config;
    stored.n_at_a_time = 0; // decides nothing in the results
    const tess_origin origin = {
        .stage = "autoreject.study",
        .identity = s->settings,
        .tables = {tess_autoreject_study_params(), tess_autoreject_epochs_params(),
                   tess_autoreject_fit_params(), tess_autoreject_transform_params()},
        .values = {&stored, &s->epochs, &s->fit, &s->transform}};
    tess_html *html = tess_blocks_alloc(c->memory, 1, sizeof *html, "the page of the group");
    if (!html) {
        return TESS_E_MEMORY;
    }
    tess_context *ctx = NULL; // one whose pages do not differ from run to run
    TESS_TRY(tess_ar_study_root_path(s, "group_desc-autoreject_report.html", path));
    TESS_TRY(tess_ar_study_context(s, 1, 0, true, NULL, NULL, &ctx));
    tess_html_begin(html, ctx, &origin, "Rejection and repair over a study");
    tess_status status = write_parts(c, html);
    if (status == TESS_OK) {
        status = tess_html_write(html, path, 1);
    }
    tess_html_destroy(html);
    tess_context_destroy(ctx);
    return status;
}
