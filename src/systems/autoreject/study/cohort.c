#include "systems/autoreject/study/cohort.h"

#include "base/status.h"
#include "runtime/comm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Parts of a name that not all recordings share.
typedef struct differing {
    bool session;
    bool task;
    bool acquisition;
    bool run;
    bool datatype;
} differing;

static differing find_differing(const tess_autoreject_study *s)
{
    differing d = {0};
    const tess_autoreject_study_recording *first = &s->recordings[0];
    for (int64_t i = 1; i < s->n; i++) {
        const tess_autoreject_study_recording *r = &s->recordings[i];
        d.session = d.session || strcmp(r->session, first->session) != 0;
        d.task = d.task || strcmp(r->task, first->task) != 0;
        d.acquisition = d.acquisition || strcmp(r->acquisition, first->acquisition) != 0;
        d.run = d.run || strcmp(r->run, first->run) != 0;
        d.datatype = d.datatype || strcmp(r->datatype, first->datatype) != 0;
    }
    return d;
}

static void add_part(char label[96], bool is_shown, const char *key, const char *value)
{
    const size_t used = strlen(label);
    if (is_shown && value[0]) {
        snprintf(label + used, 96 - used, "%s%s%.40s", used ? " " : "", key, value);
    }
}

static void name_rows(tess_ar_cohort *c)
{
    enum { MOST = 44 };
    const differing d = find_differing(c->study);
    for (int64_t i = 0; i < c->n_row; i++) {
        const tess_autoreject_study_recording *r = c->rows[i].item->info;
        char *label = c->rows[i].label;
        // By its folder: files of a folder that was copied keep the name of another subject.
        const size_t n = strcspn(r->folder, "/");
        snprintf(label, sizeof c->rows[i].label, "%.*s", n < MOST ? (int)n : MOST, r->folder);
        add_part(label, d.session, "ses-", r->session);
        add_part(label, d.task, "task-", r->task);
        add_part(label, d.acquisition, "acq-", r->acquisition);
        add_part(label, d.run, "run-", r->run);
        add_part(label, d.datatype, "", r->datatype);
    }
    for (int64_t i = 1; i < c->n_row; i++) { // what else tells them apart is in the whole name
        if (strcmp(c->rows[i].label, c->rows[i - 1].label) == 0) {
            snprintf(c->rows[i].label, sizeof c->rows[i].label, "%.95s",
                     c->rows[i].item->info->name);
        }
    }
}

static tess_status make_rows(tess_ar_cohort *c)
{
    const tess_autoreject_study *s = c->study;
    c->rows = tess_blocks_alloc(c->memory, s->n, sizeof *c->rows, "the group");
    if (!c->rows) {
        return TESS_E_MEMORY;
    }
    c->n_row = s->n;
    for (int64_t i = 0; i < s->n; i++) {
        tess_ar_cohort_row *row = &c->rows[i];
        const tess_autoreject_study_recording *r = s->items[i].info;
        row->item = &s->items[i];
        row->is_done = s->items[i].is_record_read && r->state != TESS_AUTOREJECT_STUDY_FAILED;
        row->bad_epochs.value = row->is_done ? r->bad_epochs : (double)NAN;
        row->bad_channels.value = row->is_done ? r->bad_channels : (double)NAN;
        for (int t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
            row->thresholds[t].value = (double)NAN;
        }
        c->n_done += row->is_done;
        c->n_epoch += row->is_done ? r->n_epoch : 0;
        c->n_kept += row->is_done ? r->n_kept : 0;
        c->n_subject += i == 0 || strcmp(r->subject, s->items[i - 1].info->subject) != 0;
    }
    name_rows(c);
    return TESS_OK;
}

static tess_status tell_outliers(tess_autoreject_study *s, const tess_ar_cohort *c)
{
    const char **outliers =
        tess_blocks_alloc(&s->memory, c->n_outlier, sizeof *outliers, "the group");
    if (!outliers) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < c->n_outlier; i++) {
        outliers[i] = tess_ar_study_text(s, c->outliers[i]);
        if (!outliers[i]) {
            return TESS_E_MEMORY;
        }
    }
    s->info.n_outlier = c->n_outlier;
    s->info.outliers = outliers;
    return TESS_OK;
}

static tess_status tell_group(tess_autoreject_study *s, tess_autoreject_study *all)
{
    tess_ar_cohort c = {.study = all, .memory = &all->memory};
    TESS_TRY(make_rows(&c));
    TESS_TRY(tess_ar_cohort_sensors(&c));
    TESS_TRY(tess_ar_cohort_judge(&c));
    TESS_TRY(tell_outliers(s, &c));
    if (!tess_comm_is_first(s->ctx)) {
        return TESS_OK;
    }
    TESS_TRY(tess_ar_cohort_write_tables(&c));
    TESS_TRY(tess_ar_cohort_write_json(&c));
    return tess_ar_cohort_write_page(&c);
}

tess_status tess_ar_study_group(tess_autoreject_study *s)
{
    tess_autoreject_study all;
    tess_status status = tess_ar_study_whole(s, &all);
    if (status == TESS_OK) {
        status = tell_group(s, &all);
    }
    tess_ar_study_whole_free(&all);
    return status;
}
