/** decode: predictions of any length into files, stopped, killed and resumed at will. */
#ifndef TESSERA_DECODE_STREAM_H
#define TESSERA_DECODE_STREAM_H

#include "tessera/decode/intervals.h"
#include "tessera/decode/recording.h"

TESS_BEGIN_DECLS

/** What is written besides acausal posterior and state probabilities; bits. */
typedef enum tess_decode_want {
    TESS_DECODE_WANT_FILTER = 1,
    TESS_DECODE_WANT_PREDICTIVE = 2,
    TESS_DECODE_WANT_LOG_LIKELIHOOD = 4,
    TESS_DECODE_WANT_PREDICTIVE_POSTERIOR = 8,
    TESS_DECODE_WANT_PATH = 16 /* the most likely path: bin, state and place of every row */
} tess_decode_want;

typedef struct tess_decode_stream_config {
    uint32_t struct_size;
    int32_t want;  /* tess_decode_want bits */
    int32_t dtype; /* TESS_F32 or TESS_F64; 0 (default): f64 in mode exact, else f32 */
    int32_t overwrite;
    int32_t resume; /* 1: continue from checkpoint_dir if it holds this very run */
    int32_t reserved;
    const char *path;           /* .h5 (netCDF-readable), or a folder of .npy files where the name
                                   has no suffix */
    const char *checkpoint_dir; /* NULL: none */
    double checkpoint_every_s;  /* 60; 0: after every chunk */
    int64_t n_chunk;            /* 0: from the memory limit; changes no result */
    const char *command_line;   /* for provenance; NULL: the context's */
    const double *design;       /* [T][n_coefficient]; NULL: stationary */
    const tess_decode_recording_info *recording; /* true position for the file; may be NULL */
    const tess_decode_model_config *model;  /* what it was fitted with, for provenance; or NULL */
    const tess_decode_intervals *intervals; /* only their time bins are decoded, each interval as a
                                               sequence of its own; NULL: all, as one */
} tess_decode_stream_config;

TESS_API void tess_decode_stream_config_init(tess_decode_stream_config *config, size_t struct_size);

typedef struct tess_decode_stream_report {
    uint32_t struct_size;
    int32_t resumed;
    int64_t n_chunk;
    int64_t rows_per_chunk;
    uint64_t memory_bytes; /* the plan's */
    uint64_t limit_bytes;
    double log_evidence;
    double elapsed_s;
    double likelihood_s;
    double filter_s;
    double smoother_s;
    double write_s;
    int64_t n_checkpoint;
    double checkpoint_s;
    int64_t n_impossible;
    int64_t first_impossible;
    tess_decode_likelihood_report likelihood;
    uint64_t output_bytes; /* of the result, and what its disk must have free meanwhile */
    uint64_t disk_free_bytes;
    int32_t was_finished; /* resume found the complete result: nothing was computed */
    int32_t reserved;
    double resumed_from; /* 0 to 1: how much an earlier run had done */
    int64_t n_row;       /* time bins decoded */
    int64_t n_interval;  /* of config.intervals */
    int64_t n_empty;     /* of them without a time bin */
} tess_decode_stream_report;

/** Predicts into a file within the context's memory limit. report may be NULL. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_stream(tess_context *ctx,
                                                        const tess_decode_detector *detector,
                                                        const tess_decode_observation *observation,
                                                        const tess_decode_stream_config *config,
                                                        tess_decode_stream_report *report);

/** What a prediction would need: fills the first fields of the report, computes nothing. */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_stream_plan(tess_context *ctx, const tess_decode_detector *detector,
                        const tess_decode_observation *observation,
                        const tess_decode_stream_config *config, tess_decode_stream_report *report);

/** Which device each part of a prediction of n_row rows runs on, and why, as a phrase:
 *  text [capacity]. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_stream_where(tess_context *ctx,
                                                              const tess_decode_detector *detector,
                                                              int64_t n_row, char *text,
                                                              size_t capacity);

enum { TESS_DECODE_SCORE_STATES = 16 };

typedef enum tess_decode_grade {
    TESS_DECODE_GRADE_NONE = 0, /* nothing to judge by */
    TESS_DECODE_GRADE_GOOD = 1,
    TESS_DECODE_GRADE_FAIR = 2,
    TESS_DECODE_GRADE_POOR = 3
} tess_decode_grade;

/** How a result compares with what is known of the truth. Positions are in the coordinates of the
 *  bins: linear with a track. Local states of one bin are taken at the animal's own position. The
 *  truth is where the animal was or, if the recording is a simulation that knows it, the place
 *  represented. NaN where nothing is known. */
typedef struct tess_decode_score {
    uint32_t struct_size;
    int32_t n_state;
    int64_t n_time;
    int64_t n_scored;     /* rows whose true position is known and of which Local and states with
                             places hold more than half */
    double median_error;  /* cm, from the bin with the largest posterior, states summed; Local: from
                             the animal */
    double percentile_90; /* of the error */
    double coverage_50;   /* share of rows whose true bin lies in the smallest set of bins that */
    double coverage_95;   /* holds 50 % or 95 % of the posterior; the last bin of the set counts
                             only in part, so that a right posterior has 0.5 and 0.95 */
    double log_evidence;  /* as stored with the result */
    double occupancy[TESS_DECODE_SCORE_STATES]; /* mean probability of each state */
    char state_names[TESS_DECODE_SCORE_STATES][32];
    int64_t n_looked;       /* rows scored or counted below: n_time, or an even sample of it */
    int64_t n_local;        /* of n_scored: rows in which Local outweighs all other places */
    int64_t n_unplaced;     /* rows of which states without any place hold half or more */
    int64_t n_unknown;      /* rows without a true position */
    double median_away;     /* cm, over the scored rows that are not Local's */
    double chance_error;    /* cm: median distance of the animal at two unrelated times */
    double spread;          /* share of the places that the posterior is spread over, mean */
    int32_t error_grade;    /* tess_decode_grade of median_error / chance_error: good up to 0.2,
                               fair up to 0.5; none where Local holds more than half of the rows,
                               of fewer than 20 rows, and where the animal rests */
    int32_t coverage_grade; /* of |coverage_50 - 0.5|: good up to 0.1, fair up to 0.25 */
    int64_t n_not_finite;   /* rows whose posterior is not a number */
    int32_t rests;          /* 1: chance_error is at most a tenth of the median distance of two
                               places: the animal rests, and chance says nothing of decoding */
    int32_t reserved;
    int64_t path_changes; /* of state along the most likely path; -1: the result has none */
    double path_share[TESS_DECODE_SCORE_STATES]; /* of the rows that it is in each state; or NaN */
} tess_decode_score;

/** "good", "fair", "poor"; "not judged" for anything else. */
TESS_API const char *tess_decode_grade_name(int32_t grade);

/** Scores a result written by tess_decode_stream(). recording NULL: the true position stored with
 *  the result, if any; one that the result was not decoded from is TESS_E_MISMATCH. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_score_result(
    tess_context *ctx, const char *result_path, const tess_decode_recording *recording,
    tess_decode_score *score, size_t struct_size);

/** tess_decode_report_write() with its defaults. recording and report may be NULL; what they would
 *  show is left out. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_report(tess_context *ctx, const char *result_path,
                                                        const tess_decode_recording *recording,
                                                        const tess_decode_stream_report *report,
                                                        const char *path, int overwrite);

/** Whether what a call must hold fits the memory limit, told from the headers of the files before
 *  any of them is read: a recording, a model fitted to it with these settings (fit) or loaded from
 *  model_path, a result that is reported. NULL: not part of it. predicts: rows are to be decoded.
 *  TESS_E_LIMIT with the bytes it takes and a limit that does; TESS_OK where nobody set a limit. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_check_memory(
    tess_context *ctx, const char *recording_path, const char *model_path, const char *result_path,
    const tess_decode_model_config *fit, int predicts);

TESS_END_DECLS

#endif
