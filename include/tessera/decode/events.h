/** decode: candidate events, how replay-like each is, and how often chance does as well. */
#ifndef TESSERA_DECODE_EVENTS_H
#define TESSERA_DECODE_EVENTS_H

#include "tessera/decode/intervals.h"
#include "tessera/decode/recording.h"

TESS_BEGIN_DECLS

/** Why an event is not scored; bits. TESS_DECODE_EVENT_OVERLAPS is a note only. */
typedef enum tess_decode_event_reason {
    TESS_DECODE_EVENT_SHORT = 1,
    TESS_DECODE_EVENT_LONG = 2,
    TESS_DECODE_EVENT_FEW_SPIKES = 4,
    TESS_DECODE_EVENT_FEW_ELECTRODES = 8,
    TESS_DECODE_EVENT_MOVING = 16,
    TESS_DECODE_EVENT_FEW_BINS = 32, /* counted bins */
    TESS_DECODE_EVENT_OUTSIDE = 64,  /* of the recording, in part at least */
    TESS_DECODE_EVENT_EMPTY = 128,   /* end <= start, or not a number */
    TESS_DECODE_EVENT_OVERLAPS = 256 /* an earlier event */
} tess_decode_event_reason;

/** "short", "long", ...: of one bit; NULL for anything else. */
TESS_API const char *tess_decode_event_reason_name(int32_t bit);

/** Scores of an event, in the order of every array of them. */
typedef enum tess_decode_event_score {
    TESS_DECODE_EVENT_WEIGHTED_CORRELATION = 0,
    TESS_DECODE_EVENT_LINE_FIT = 1,
    TESS_DECODE_EVENT_DISTANCE = 2,     /* cm */
    TESS_DECODE_EVENT_NET_DISTANCE = 3, /* cm */
    TESS_DECODE_EVENT_MAX_JUMP = 4,     /* cm */
    TESS_DECODE_EVENT_COVERAGE = 5,
    TESS_DECODE_EVENT_SHARPNESS = 6,
    TESS_DECODE_EVENT_SPEED = 7 /* cm/s */
} tess_decode_event_score;

enum { TESS_DECODE_EVENT_N_SCORE = 8, TESS_DECODE_EVENT_MAX_STATE = 16 };

/** "weighted_correlation", ...; NULL for anything else. */
TESS_API const char *tess_decode_event_score_name(int32_t score);

/** What is shuffled. */
typedef enum tess_decode_shuffle {
    TESS_DECODE_SHUFFLE_COLUMN = 1, /* every time bin rotated over the places, each by itself */
    TESS_DECODE_SHUFFLE_FIELD = 2,  /* every electrode's intensities rotated */
    TESS_DECODE_SHUFFLE_TIME = 3,   /* time bins permuted */
    TESS_DECODE_SHUFFLE_MARKS = 4,  /* marks permuted among the spikes of each electrode */
    TESS_DECODE_SHUFFLE_SPIKES = 5, /* electrodes and marks permuted among all spikes */
    TESS_DECODE_SHUFFLE_UNITS = 6   /* sorted: encodings permuted among units */
} tess_decode_shuffle;

enum { TESS_DECODE_N_SHUFFLE = 6 };

/** "column", ...; NULL for anything else. */
TESS_API const char *tess_decode_shuffle_name(int32_t kind);

typedef enum tess_decode_event_decoder {
    TESS_DECODE_EVENT_MEMORYLESS = 0, /* every bin by itself */
    TESS_DECODE_EVENT_STATES = 1      /* the fitted state-space model */
} tess_decode_event_decoder;

/** Options of events; scalars are described by table "decode.events". */
typedef struct tess_decode_events_config {
    uint32_t struct_size;
    int32_t decoder; /* tess_decode_event_decoder */
    double rate_bin; /* s, of the multi-unit rate */
    double rate_std; /* s, of its smoothing */
    double threshold_z;
    double max_speed;    /* cm/s; slower is still */
    double speed_std;    /* s, smoothing of velocity */
    double join;         /* s */
    double min_duration; /* s */
    double max_duration; /* s */
    int64_t min_spikes;
    int64_t min_electrodes;
    double state_threshold; /* probability of the states that make an event of a result */
    double event_bin;       /* s; 0: 20 ms memoryless, else the model's own time bin */
    int64_t min_bins;       /* counted */
    double band;            /* cm on either side of a line */
    double max_velocity;    /* cm/s */
    int64_t n_shuffle;
    int64_t seed;
    /* Not in the table. */
    double model_bin;        /* s: time bin of the model's movements; 0: of position samples */
    int32_t shuffles;        /* bits 1 << tess_decode_shuffle; 0: column, field (not on a plane),
                                time, and marks (clusterless) or units (sorted) */
    int32_t keep_statistics; /* 1: the scores of every shuffle are kept */
    /* In the table. */
    int64_t report_events; /* drawn by tess_decode_events_report() */
    /* Not in the table: of tess_decode_events_shuffle(). */
    const char *checkpoint_dir; /* NULL: none */
    double checkpoint_every_s;  /* 60; 0: whenever there is a chance */
    int32_t resume;             /* 1: continue from checkpoint_dir if it holds this very test */
    int32_t keep_finished;      /* 1: it stays until tess_checkpoint_clear() */
    /* Not in the table: of states whose transitions depend on covariates. A time bin of an event
       has the row of the recording's bin that its middle is in, those before and after the first
       and last row. Shuffles leave them where they are. */
    int64_t n_covariate_time;
    const double *covariate_time; /* [n_covariate_time] s, rising: where the rows begin */
    const double *design;         /* [n_covariate_time][n_coefficient], as predictions take it */
} tess_decode_events_config;

TESS_API void tess_decode_events_config_init(tess_decode_events_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_events_params(void);

/** One event; NaN and -1 where a value is not defined. */
typedef struct tess_decode_event {
    int64_t event;  /* its row in the table it was found in: the key of its random numbers */
    double start;   /* s */
    double end;     /* s, excluded */
    int32_t reason; /* tess_decode_event_reason bits; 0 or OVERLAPS: scored */
    int32_t line_route;
    int64_t n_spike;
    int64_t n_electrode;
    int64_t n_part;   /* runs that were joined; 1 in tables */
    double peak_z;    /* of the multi-unit rate */
    double max_speed; /* cm/s */
    int64_t n_bin;    /* decoded: T */
    int64_t n_counted;
    int64_t first_row; /* of its rows in posterior; -1: not decoded */
    double scores[TESS_DECODE_EVENT_N_SCORE];
    double duration;       /* s */
    double line_velocity;  /* cm/s */
    double line_intercept; /* cm from the route's start at the first bin */
    int64_t start_bin;     /* interior bins: most likely at the first and last counted bin */
    int64_t end_bin;
    int32_t direction; /* sign of the correlation; 0 without */
    int32_t reserved;
    double log_evidence;  /* nats, of the states */
    double evidence_gain; /* nats per bin over uniform jumps */
    double state_time[TESS_DECODE_EVENT_MAX_STATE];
    double state_probability[TESS_DECODE_EVENT_MAX_STATE];
} tess_decode_event;

/** Share of the events with p < 0.05, and its 95 % interval (Clopper and Pearson). */
typedef struct tess_decode_event_share {
    int64_t n_event; /* with a p */
    int64_t n_significant;
    double share;
    double low;
    double high;
} tess_decode_event_share;

/** A table of events, scored and tested step by step. */
typedef struct tess_decode_events tess_decode_events;

/** Everything known; pointers live with the events and change with each call that takes them. */
typedef struct tess_decode_events_info {
    uint32_t struct_size;
    int32_t decoder;
    int64_t n_event;
    const tess_decode_event *events;
    const char *source;  /* "multi-unit rate", "intervals", "states" */
    const char *problem; /* why none could be found; "" */
    double begin;        /* s: the recording */
    double end;
    double rate_mean; /* spikes/s over still bins; NaN: not looked at */
    double rate_sd;
    int64_t n_rate_bin;
    int64_t n_still_bin;
    /* Once scored: */
    int64_t n_scored;
    int64_t n_place;
    int64_t n_state; /* 0: memoryless */
    const char *const *state_names;
    double event_bin;
    double bin_scale;
    int64_t n_route;
    int64_t n_row;             /* time bins of all scored events */
    const double *posterior;   /* [n_row][n_place], states summed */
    const double *state_rows;  /* [n_row][n_state] */
    const uint8_t *is_counted; /* [n_row] */
    const int64_t *row_event;  /* [n_row] index into events */
    const double *row_time;    /* [n_row] s: where the bin begins */
    /* Once tested: */
    int32_t n_kind;
    int32_t kinds[TESS_DECODE_N_SHUFFLE];
    int32_t reserved;
    int64_t n_shuffle;
    uint64_t seed;
    const double *p;                       /* [n_kind][n_event][N_SCORE]; NaN: none */
    const double *q;                       /* likewise */
    const double *shuffle_median;          /* likewise, of the statistic */
    const double *shuffle_high;            /* likewise, its 95th percentile */
    const tess_decode_event_share *shares; /* [n_kind][N_SCORE] */
    const double *statistics; /* [n_kind][n_event][n_shuffle][N_SCORE], if kept: scores as they are,
                                 without the sign or negation that p is made of */
    double elapsed_s;         /* of scores and shuffles */
} tess_decode_events_info;

TESS_API void tess_decode_events_destroy(tess_decode_events *events);
TESS_API const tess_decode_events_info *
tess_decode_events_get_info(const tess_decode_events *events);

/** Candidate events by the multi-unit rate. position may have no samples: then every bin is still.
 *  A recording without a still bin or a rate without spread has no events; problem says so. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_find(
    tess_context *ctx, const tess_decode_spikes *spikes, const tess_decode_position *position,
    const tess_decode_events_config *config, tess_decode_events **out);

/** Events that were found elsewhere. Intervals that are empty, outside the recording or without
 *  spikes stay in the table with the reason. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_of_intervals(
    tess_context *ctx, const tess_decode_spikes *spikes, const tess_decode_position *position,
    const tess_decode_intervals *intervals, const tess_decode_events_config *config,
    tess_decode_events **out);

/** Runs of rows in which some states hold at least state_threshold together (probability [n_time]);
 *  row k is [time[k], time[k + 1]), the last row closes the one before. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_of_states(
    tess_context *ctx, const tess_decode_spikes *spikes, const tess_decode_position *position,
    const double *time, const double *probability, int64_t n_time,
    const tess_decode_events_config *config, tess_decode_events **out);

/** The probability of some states together, out of a result of tess_decode_stream().
 *  states: names separated by commas; NULL: those whose name begins with "Non-Local". */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_events_of_result(tess_context *ctx, const char *result_path, const char *states,
                             const tess_decode_spikes *spikes, const tess_decode_position *position,
                             const tess_decode_events_config *config, tess_decode_events **out);

/**
 * Decodes every event that has no reason against it as a sequence of its own, and scores it.
 *
 * position  in  for states that need to know where the animal is; n_sample 0: none
 *
 * TESS_E_UNSUPPORTED for models of several environments; TESS_E_ARGUMENT where event_bin is not the
 * time bin of a state-space model, or the covariates that its transitions depend on are missing.
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_score(
    tess_context *ctx, tess_decode_events *events, const tess_decode_detector *detector,
    const tess_decode_spikes *spikes, const tess_decode_position *position,
    const tess_decode_events_config *config);

/** Shuffles every scored event, n_shuffle times by each kind, and gives p, q and shares. Takes what
 *  tess_decode_events_score() took. The same bits for any number of threads and memory limit. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_shuffle(
    tess_context *ctx, tess_decode_events *events, const tess_decode_detector *detector,
    const tess_decode_spikes *spikes, const tess_decode_position *position,
    const tess_decode_events_config *config);

/** *finished: 1 if the file at path is the complete table of this very test, as its provenance
 * says: left by a run that was killed after naming it. events: found, not yet scored or scored. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_is_finished(
    tess_context *ctx, const tess_decode_events *events, const tess_decode_detector *detector,
    const tess_decode_spikes *spikes, const tess_decode_position *position,
    const tess_decode_events_config *config, const char *path, int *finished);

/** 1 if there is a p for this score under this kind of shuffle. */
TESS_API int tess_decode_event_has_p(int32_t kind, int32_t score);

/** q by Benjamini and Hochberg of p[n]; NaN stay and do not count. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_event_q(tess_context *ctx, const double *p,
                                                         int64_t n, double *q);

/** k of n with its 95 % interval. */
TESS_API tess_decode_event_share tess_decode_event_share_of(int64_t k, int64_t n);

/** A column of the table, [n_event]: whole (-1: no index) or reals; non-zero stops. */
typedef int (*tess_decode_event_column_fn)(void *user, const char *name, const double *real,
                                           const int64_t *whole, int64_t n);

/** Every column of tess_decode_events_save(), in order; TESS_CANCELLED where visit stopped it. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_columns(tess_context *ctx,
                                                                const tess_decode_events *events,
                                                                tess_decode_event_column_fn visit,
                                                                void *user);

/** The table: .csv (a row per event), .h5 or .npz (a data set per column, and the posteriors). */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_save(tess_context *ctx,
                                                             const tess_decode_events *events,
                                                             const char *path, int overwrite);

/** The HTML report of events, scored and tested or not, while the model they were scored with
 * lives. spikes: for rasters; NULL: none. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_events_report(tess_context *ctx,
                                                               const tess_decode_events *events,
                                                               const tess_decode_spikes *spikes,
                                                               const char *path, int overwrite);

TESS_END_DECLS

#endif
