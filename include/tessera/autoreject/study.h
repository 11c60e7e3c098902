/** autoreject: whole studies, from a BIDS tree to its derivatives. */
#ifndef TESSERA_AUTOREJECT_STUDY_H
#define TESSERA_AUTOREJECT_STUDY_H

#include "tessera/autoreject/report.h"

TESS_BEGIN_DECLS

/** Options of a study; scalars are described by table "autoreject.study". Everything is copied. */
typedef struct tess_autoreject_study_config {
    uint32_t struct_size;
    int32_t with_reports; /* 1: a page for each recording */
    int64_t n_at_a_time;  /* recordings; 0: as many as threads and memory allow */
    double outlier_z;     /* robust z beyond which a recording or sensor is named; 3.5 */
    /* Not in the table. */
    int32_t overwrite;    /* 1: what an earlier study left in the folder is done again */
    int32_t resume;       /* 1: what an earlier run of this study finished is kept */
    const char *subjects; /* labels joined by ',', "01" or "sub-01"; NULL: all; likewise: */
    const char *sessions;
    const char *tasks;
    const char *acquisitions;
    const char *runs;
    const char *datatypes;                       /* "eeg", "meg" */
    const char *picks;                           /* as of tess_autoreject_picks() */
    const tess_autoreject_epochs_config *epochs; /* NULL: the defaults; likewise: */
    const tess_autoreject_fit_config *fit;       /* picks and folds are not used */
    const tess_autoreject_transform_config *transform;
    const tess_autoreject_report_config *report;
} tess_autoreject_study_config;

TESS_API void tess_autoreject_study_config_init(tess_autoreject_study_config *config,
                                                size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_study_params(void);

/** Where a recording stands. */
typedef enum tess_autoreject_study_state {
    TESS_AUTOREJECT_STUDY_TODO = 0,
    TESS_AUTOREJECT_STUDY_DONE = 1,  /* by this run */
    TESS_AUTOREJECT_STUDY_KEPT = 2,  /* by an earlier one, of the same settings and files */
    TESS_AUTOREJECT_STUDY_FAILED = 3 /* message says why */
} tess_autoreject_study_state;

/** One recording; texts are "" where there is nothing to say and live with the study. */
typedef struct tess_autoreject_study_recording {
    uint32_t struct_size;
    int32_t state;    /* tess_autoreject_study_state */
    const char *name; /* "sub-01_task-rest" */
    const char *path; /* of the file, as it is opened */
    const char *subject;
    const char *session;
    const char *task;
    const char *acquisition;
    const char *run;
    const char *datatype; /* "eeg", "meg" */
    const char *folder;   /* of its results: "sub-01/eeg", below the output */
    const char *message;  /* why it failed; what was noted, a sentence per line */
    int64_t n_epoch;      /* -1: not known */
    int64_t n_chan;       /* picked */
    int64_t n_time;
    uint64_t memory_bytes; /* of the fit; 0: not known */
    int64_t n_kept;        /* epochs that stay; -1: not yet known */
    double bad_epochs;     /* share, 0 to 1; NaN: not yet known; likewise: */
    double bad_channels;   /* share of channels in single epochs that are bad, repaired or not */
    double repaired;       /* and that are repaired */
} tess_autoreject_study_recording;

typedef struct tess_autoreject_study tess_autoreject_study;

typedef struct tess_autoreject_study_info {
    uint32_t struct_size;
    int32_t threads_each; /* of a recording at work */
    int64_t n_recording;
    const tess_autoreject_study_recording *recordings; /* by path */
    int64_t n_at_a_time;
    uint64_t memory_bytes; /* of those at a time, the largest */
    uint64_t limit_bytes;
    int64_t n_todo; /* by state */
    int64_t n_done;
    int64_t n_kept;
    int64_t n_failed;
    int64_t n_outlier;
    const char *const *outliers; /* [n_outlier] a sentence each, of recordings and sensors */
    const char *notes;           /* what was passed over, a sentence per line */
} tess_autoreject_study_info;

/**
 * Finds the recordings of a BIDS tree (FIF, EDF, BDF, BrainVision, EEGLAB; eeg and meg) with their
 * tables, opens each to see what it holds, and plans how many are worked on at a time. Nothing is
 * written. A recording that cannot be opened is in state FAILED.
 *
 * bids_dir  in  the root of the tree.
 * output    in  folder of the derivatives: not there yet, empty, or of an earlier study.
 * config    in  may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_autoreject_study_open(tess_context *ctx, const char *bids_dir, const char *output,
                           const tess_autoreject_study_config *config, tess_autoreject_study **out);
TESS_API void tess_autoreject_study_close(tess_autoreject_study *study);
TESS_API const tess_autoreject_study_info *
tess_autoreject_study_get_info(const tess_autoreject_study *study);

/**
 * Fits and repairs every recording that is to do, several at a time within the memory limit, and
 * writes for each repaired epochs, reject log, model, page and, when all of that is on the disk,
 * its record; then the pages and tables of the group. What fails is in state FAILED and does not
 * stop the rest. A run that is stopped at any time goes on with resume, to the same bytes.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_study_run(tess_autoreject_study *study);

TESS_END_DECLS

#endif
