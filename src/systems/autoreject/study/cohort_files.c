// The group as tables (TSV) and as JSON.
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/origin.h"
#include "systems/autoreject/study/cohort.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_real(tess_text *out, double value)
{
    char text[40] = "n/a";
    if (isfinite(value)) {
        tess_real_text(value, 1, text, sizeof text);
    }
    tess_text_printf(out, "\t%s", text);
}

static void add_cell(tess_text *out, const char *text)
{
    for (const char *at = text[0] ? text : "n/a"; *at; at++) {
        const char c = (unsigned char)*at < ' ' ? ' ' : *at;
        tess_text_append(out, &c, 1);
    }
}

static void add_text(tess_text *out, const char *text)
{
    tess_text_add(out, "\t");
    add_cell(out, text);
}

static void add_count(tess_text *out, int64_t n)
{
    if (n < 0) {
        tess_text_add(out, "\tn/a");
    } else {
        tess_text_printf(out, "\t%lld", (long long)n);
    }
}

static void add_row(tess_text *out, const tess_ar_cohort *c, const tess_ar_cohort_row *row)
{
    const tess_autoreject_study_recording *r = row->item->info;
    tess_text_append(out, r->folder, strcspn(r->folder, "/"));
    add_text(out, r->session);
    add_text(out, r->task);
    add_text(out, r->acquisition);
    add_text(out, r->run);
    add_text(out, r->datatype);
    add_text(out, r->name);
    add_text(out, row->is_done ? "done" : "failed");
    add_count(out, row->is_done ? r->n_epoch : -1);
    add_count(out, r->n_kept);
    add_real(out, row->bad_epochs.value);
    add_real(out, row->bad_channels.value);
    add_real(out, row->is_done ? r->repaired : (double)NAN);
    add_real(out, row->is_done ? row->bad_epochs.z : (double)NAN);
    add_real(out, row->is_done ? row->bad_channels.z : (double)NAN);
    for (int t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        if (c->has_type[t]) {
            const tess_ar_standing *level = &row->thresholds[t];
            add_real(out, level->value);
            add_real(out, isfinite(level->value) ? level->z : (double)NAN);
        }
    }
    tess_text_printf(out, "\t%d", row->is_outlier);
    add_text(out, row->is_done ? "" : r->message);
    tess_text_add(out, "\n");
}

static tess_status write_text(const tess_ar_cohort *c, const char *name, const tess_text *out)
{
    char path[TESS_AR_STUDY_PATH];
    const char *chars = NULL;
    TESS_TRY(tess_text_finish(out, &chars));
    TESS_TRY(tess_ar_study_root_path(c->study, name, path));
    return tess_file_write_text(path, chars, 1);
}

static tess_status write_recordings(const tess_ar_cohort *c)
{
    tess_text out;
    tess_text_init(&out, c->memory->heap);
    tess_text_add(&out, "participant_id\tsession\ttask\tacquisition\trun\tdatatype\tname\tstatus\t"
                        "n_epochs\tn_kept\tbad_epochs\tbad_channels\trepaired_channels\t"
                        "z_bad_epochs\tz_bad_channels");
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        if (c->has_type[t]) {
            const char *name = tess_autoreject_type_name(t);
            tess_text_printf(&out, "\tthreshold_%s\tz_threshold_%s", name, name);
        }
    }
    tess_text_add(&out, "\toutlier\tmessage\n");
    for (int64_t i = 0; i < c->n_row; i++) {
        add_row(&out, c, &c->rows[i]);
    }
    const tess_status status = write_text(c, "group_desc-autoreject_recordings.tsv", &out);
    tess_text_destroy(&out);
    return status;
}

static tess_status write_sensors(const tess_ar_cohort *c)
{
    tess_text out;
    tess_text_init(&out, c->memory->heap);
    tess_text_add(&out,
                  "name\ttype\tn_recordings\tthreshold_median\tthreshold_low\tthreshold_high\t"
                  "threshold_spread\tbad\tbad_worst\tworst_recording\tz_threshold\tz_bad\t"
                  "outlier\n");
    for (int64_t i = 0; i < c->n_sensor; i++) {
        const tess_ar_cohort_sensor *s = &c->sensors[i];
        add_cell(&out, s->name);
        add_text(&out, tess_autoreject_type_name(s->type));
        add_count(&out, s->n);
        add_real(&out, s->threshold.value);
        add_real(&out, s->low);
        add_real(&out, s->high);
        add_real(&out, s->spread);
        add_real(&out, s->bad.value);
        add_real(&out, s->worst);
        add_text(&out, s->worst_of);
        add_real(&out, s->threshold.z);
        add_real(&out, s->bad.z);
        tess_text_printf(&out, "\t%d\n", s->threshold.is_outlier || s->bad.is_outlier);
    }
    const tess_status status = write_text(c, "group_desc-autoreject_sensors.tsv", &out);
    tess_text_destroy(&out);
    return status;
}

tess_status tess_ar_cohort_write_tables(const tess_ar_cohort *c)
{
    TESS_TRY(write_recordings(c));
    return write_sensors(c);
}

static void put_recording(tess_json *json, const tess_ar_cohort_row *row)
{
    const tess_autoreject_study_recording *r = row->item->info;
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", r->name);
    tess_json_text(json, "subject", r->subject);
    tess_json_text(json, "folder", r->folder);
    tess_json_text(json, "status", row->is_done ? "done" : "failed");
    if (row->is_done) {
        tess_json_int(json, "n_epochs", r->n_epoch);
        tess_json_int(json, "n_kept", r->n_kept);
        tess_json_real(json, "bad_epochs", r->bad_epochs);
        tess_json_real(json, "bad_channels", r->bad_channels);
        tess_json_real(json, "repaired_channels", r->repaired);
        tess_json_object_begin(json, "thresholds");
        for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
            if (isfinite(row->thresholds[t].value)) {
                tess_json_real(json, tess_autoreject_type_name(t), row->thresholds[t].value);
            }
        }
        tess_json_object_end(json);
        tess_json_bool(json, "outlier", row->is_outlier);
    } else {
        tess_json_text(json, "message", r->message);
    }
    tess_json_object_end(json);
}

tess_status tess_ar_cohort_write_json(const tess_ar_cohort *c)
{
    tess_json *json = NULL;
    char path[TESS_AR_STUDY_PATH];
    const char *text = NULL;
    TESS_TRY(tess_ar_study_root_path(c->study, "group_desc-autoreject_summary.json", path));
    TESS_TRY(tess_json_create_on(c->memory->heap, 1, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.study/1");
    tess_json_object_begin(json, TESS_ORIGIN_NAME);
    tess_origin_head(json, "autoreject.study", NULL);
    tess_json_object_end(json);
    tess_json_int(json, "n_subjects", c->n_subject);
    tess_json_int(json, "n_recordings", c->n_row);
    tess_json_int(json, "n_failed", c->n_row - c->n_done);
    tess_json_int(json, "n_epochs", c->n_epoch);
    tess_json_int(json, "n_kept", c->n_kept);
    tess_json_real(json, "outlier_z", c->study->config.outlier_z);
    tess_json_array_begin(json, "outliers");
    for (int64_t i = 0; i < c->n_outlier; i++) {
        tess_json_text(json, NULL, c->outliers[i]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "recordings");
    for (int64_t i = 0; i < c->n_row; i++) {
        put_recording(json, &c->rows[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, text, 1);
    }
    tess_json_destroy(json);
    return status;
}
