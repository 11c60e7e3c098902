// What the recordings of a study are together: shares, thresholds by sensor, and who stands out.
//
// The rule of outliers: robust z = (value - median) / (1.4826 median absolute deviation), of shares
// upwards, of thresholds by their logarithms and both ways; beyond config.outlier_z and, so that
// trifles of a uniform study are not named, at least SHARE_STEP or THRESHOLD_STEP from the median.
#ifndef TESS_AUTOREJECT_STUDY_COHORT_H
#define TESS_AUTOREJECT_STUDY_COHORT_H

#include "page/html.h"
#include "systems/autoreject/study/study.h"

// Below so many nothing stands out.
enum { TESS_AR_COHORT_LEAST = 5 };
#define TESS_AR_SHARE_STEP 0.05
#define TESS_AR_THRESHOLD_STEP 0.25

// A number of a recording or sensor, and how far it lies from the others.
typedef struct tess_ar_standing {
    double value; // NaN: there is none
    double median;
    double z;
    bool is_outlier;
} tess_ar_standing;

typedef struct tess_ar_cohort_row {
    const tess_ar_study_item *item;
    char label[96]; // what tells it from the others: "sub-01 run-2"
    bool is_done;
    tess_ar_standing bad_epochs;
    tess_ar_standing bad_channels;
    tess_ar_standing thresholds[TESS_AUTOREJECT_N_SOLVABLE]; // median over the sensors of a type
    bool is_outlier;
} tess_ar_cohort_row;

typedef struct tess_ar_cohort_sensor {
    const char *name;
    int32_t type;
    int64_t n;          // recordings that have it
    double position[3]; // mean
    double low;         // of the thresholds
    double high;
    double spread;              // 1.4826 MAD of the thresholds, of their median
    double worst;               // largest share of bad epochs
    const char *worst_of;       // label of that recording
    tess_ar_standing threshold; // median over recordings
    tess_ar_standing bad;       // mean share of bad epochs
} tess_ar_cohort_sensor;

typedef struct tess_ar_cohort {
    tess_autoreject_study *study;
    tess_blocks *memory;      // of the study
    tess_ar_cohort_row *rows; // every recording
    int64_t n_row;
    int64_t n_done;
    int64_t n_subject;
    tess_ar_cohort_sensor *sensors; // by type, then in order of first appearance
    int64_t n_sensor;
    bool has_type[TESS_AUTOREJECT_N_SOLVABLE];
    double *thresholds; // [n_sensor][n_row] NaN: none
    int64_t n_epoch;    // of all that are done
    int64_t n_kept;
    const char **outliers; // a sentence each
    int64_t n_outlier;
} tess_ar_cohort;

// whole.c: the same study with what earlier runs of it finished in the folder; all is freed by
// the second, also after a failure.
TESS_MUST_CHECK tess_status tess_ar_study_whole(tess_autoreject_study *study,
                                                tess_autoreject_study *all);
void tess_ar_study_whole_free(tess_autoreject_study *all);

// Everything of the group: what it is, its tables, its page.
TESS_MUST_CHECK tess_status tess_ar_study_group(tess_autoreject_study *study);

// cohort_sensors.c: the sensors of the rows that are done.
TESS_MUST_CHECK tess_status tess_ar_cohort_sensors(tess_ar_cohort *cohort);
// outliers.c: medians, z and sentences, of rows and sensors.
TESS_MUST_CHECK tess_status tess_ar_cohort_judge(tess_ar_cohort *cohort);
// cohort_files.c
TESS_MUST_CHECK tess_status tess_ar_cohort_write_tables(const tess_ar_cohort *cohort);
TESS_MUST_CHECK tess_status tess_ar_cohort_write_json(const tess_ar_cohort *cohort);
// cohort_page.c
TESS_MUST_CHECK tess_status tess_ar_cohort_write_page(tess_ar_cohort *cohort);
// cohort_figures.c: the parts of it that are drawn.
TESS_MUST_CHECK tess_status tess_ar_cohort_draw_shares(tess_ar_cohort *cohort, tess_html *html);
TESS_MUST_CHECK tess_status tess_ar_cohort_draw_heads(tess_ar_cohort *cohort, tess_html *html);
TESS_MUST_CHECK tess_status tess_ar_cohort_draw_map(tess_ar_cohort *cohort, tess_html *html);

#endif
