// Who stands out, by the rule of cohort.h.
#include "base/select.h"
#include "base/status.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/study/cohort.h"

#include <math.h>
#include <stdio.h>

enum { MOST_SENTENCES = 200 };

typedef struct judge {
    tess_ar_cohort *cohort;
    double *values; // room for all that are compared
    double *work;
    tess_ar_standing **standings;
    int64_t n;
    bool is_log; // thresholds; else shares
} judge;

static void add(judge *j, tess_ar_standing *standing)
{
    standing->median = (double)NAN;
    if (isfinite(standing->value)) {
        j->standings[j->n++] = standing;
    }
}

// 1.4826 MAD; where more than half are equal, the mean distance in its place.
static double robust_scale(judge *j, double median)
{
    double sum = 0;
    for (int64_t i = 0; i < j->n; i++) {
        j->work[i] = fabs(j->values[i] - median);
        sum += j->work[i];
    }
    const double mad = tess_median(j->work, j->n);
    return mad > 0 ? 1.4826 * mad : 1.2533 * sum / (double)j->n;
}

static double on_scale(const judge *j, double value)
{
    return j->is_log ? log(value > 0 ? value : 1e-300) : value;
}

static void compare(judge *j)
{
    const double step = j->is_log ? log(1 + TESS_AR_THRESHOLD_STEP) : TESS_AR_SHARE_STEP;
    const double beyond = j->cohort->study->config.outlier_z;
    if (j->n == 0) {
        return;
    }
    for (int64_t i = 0; i < j->n; i++) {
        j->work[i] = j->values[i] = on_scale(j, j->standings[i]->value);
    }
    const double median = tess_median(j->work, j->n);
    const double scale = robust_scale(j, median);
    for (int64_t i = 0; i < j->n; i++) {
        tess_ar_standing *s = j->standings[i];
        const double off = j->values[i] - median;
        s->median = j->is_log ? exp(median) : median;
        s->z = scale > 0 ? off / scale : 0;
        s->is_outlier = j->n >= TESS_AR_COHORT_LEAST && (j->is_log ? fabs(s->z) : s->z) > beyond &&
                        (j->is_log ? fabs(off) : off) >= step;
    }
    j->n = 0;
}

// The level of a recording's thresholds of a type.
static double level_of(judge *j, const tess_ar_record *r, int32_t type)
{
    int64_t n = 0;
    for (int64_t c = 0; c < r->n_channel; c++) {
        if (r->channels[c].type == type) {
            j->work[n++] = r->channels[c].threshold;
        }
    }
    return n > 0 ? tess_median(j->work, n) : (double)NAN;
}

static void judge_rows(judge *j)
{
    tess_ar_cohort *c = j->cohort;
    for (int64_t i = 0; i < c->n_row; i++) {
        add(j, &c->rows[i].bad_epochs);
    }
    compare(j);
    for (int64_t i = 0; i < c->n_row; i++) {
        add(j, &c->rows[i].bad_channels);
    }
    compare(j);
    j->is_log = true;
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        for (int64_t i = 0; i < c->n_row; i++) {
            tess_ar_standing *own = &c->rows[i].thresholds[t];
            own->value =
                c->rows[i].is_done ? level_of(j, &c->rows[i].item->record, t) : (double)NAN;
            add(j, own);
        }
        compare(j);
    }
    j->is_log = false;
    for (int64_t i = 0; i < c->n_row; i++) {
        tess_ar_cohort_row *row = &c->rows[i];
        row->is_outlier = row->bad_epochs.is_outlier || row->bad_channels.is_outlier;
        for (int t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
            row->is_outlier = row->is_outlier || row->thresholds[t].is_outlier;
        }
    }
}

static void judge_sensors(judge *j)
{
    tess_ar_cohort *c = j->cohort;
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        for (int64_t i = 0; i < c->n_sensor; i++) {
            if (c->sensors[i].type == t) {
                add(j, &c->sensors[i].bad);
            }
        }
        compare(j);
        j->is_log = true;
        for (int64_t i = 0; i < c->n_sensor; i++) {
            if (c->sensors[i].type == t) {
                add(j, &c->sensors[i].threshold);
            }
        }
        compare(j);
        j->is_log = false;
    }
}

static tess_status say(tess_ar_cohort *c, const char *text)
{
    if (c->n_outlier == MOST_SENTENCES) {
        return TESS_OK;
    }
    c->outliers[c->n_outlier] = tess_ar_study_text(c->study, text);
    return c->outliers[c->n_outlier++] ? TESS_OK : TESS_E_MEMORY;
}

static tess_status say_share(tess_ar_cohort *c, const char *who, const char *what,
                             const tess_ar_standing *s)
{
    char text[300];
    snprintf(text, sizeof text, "%.100s: %.1f %% of %s; the median is %.1f %%, robust z %.1f", who,
             100 * s->value, what, 100 * s->median, s->z);
    return s->is_outlier ? say(c, text) : TESS_OK;
}

static tess_status say_threshold(tess_ar_cohort *c, const char *who, int32_t type,
                                 const tess_ar_standing *s)
{
    const tess_ar_unit unit = tess_ar_unit_of(type);
    char text[300];
    snprintf(text, sizeof text,
             "%.100s: %s thresholds of %s %s; the median is %s %s, robust z "
             "%.1f",
             who, tess_autoreject_type_name(type), tess_ar_number_of(unit.scale * s->value).text,
             unit.name, tess_ar_number_of(unit.scale * s->median).text, unit.name, s->z);
    return s->is_outlier ? say(c, text) : TESS_OK;
}

static tess_status tell(tess_ar_cohort *c)
{
    c->outliers =
        tess_blocks_alloc(c->memory, MOST_SENTENCES, sizeof *c->outliers, "outliers of the group");
    if (!c->outliers) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < c->n_row; i++) {
        const tess_ar_cohort_row *row = &c->rows[i];
        TESS_TRY(say_share(c, row->label, "epochs are bad", &row->bad_epochs));
        TESS_TRY(say_share(c, row->label, "channels in epochs are bad", &row->bad_channels));
        for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
            TESS_TRY(say_threshold(c, row->label, t, &row->thresholds[t]));
        }
    }
    for (int64_t i = 0; i < c->n_sensor; i++) {
        const tess_ar_cohort_sensor *sensor = &c->sensors[i];
        char who[128];
        char shown[TESS_AR_NAME];
        tess_ar_shown_name(sensor->name, shown);
        snprintf(who, sizeof who, "sensor %s", shown);
        TESS_TRY(say_share(c, who, "epochs of all recordings are bad at it", &sensor->bad));
        TESS_TRY(say_threshold(c, who, sensor->type, &sensor->threshold));
    }
    return TESS_OK;
}

tess_status tess_ar_cohort_judge(tess_ar_cohort *c)
{
    tess_blocks scratch;
    int64_t most = c->n_row > c->n_sensor ? c->n_row : c->n_sensor;
    for (int64_t i = 0; i < c->n_row; i++) {
        const int64_t n = c->rows[i].item->record.n_channel;
        most = n > most ? n : most;
    }
    tess_blocks_init(&scratch, c->memory->heap);
    judge j = {.cohort = c,
               .values = tess_blocks_alloc(&scratch, most, sizeof(double), "the group"),
               .work = tess_blocks_alloc(&scratch, most, sizeof(double), "the group"),
               .standings = tess_blocks_alloc(&scratch, most, sizeof(void *), "the group")};
    tess_status status = TESS_E_MEMORY;
    if (j.values && j.work && j.standings) {
        judge_rows(&j);
        judge_sensors(&j);
        status = tell(c);
    }
    tess_blocks_free(&scratch);
    return status;
}
