/** decode: the online decoder for closed-loop experiments. */
#ifndef TESSERA_DECODE_ONLINE_H
#define TESSERA_DECODE_ONLINE_H

#include "tessera/decode/detector.h"

TESS_BEGIN_DECLS

/** What becomes of learned spikes, of each electrode by itself, when there is no more room. */
typedef enum tess_decode_learn {
    TESS_DECODE_LEARN_NONE = 0,     /* the model stays as it was fitted */
    TESS_DECODE_LEARN_GROW = 1,     /* the first ones stay, later ones are counted */
    TESS_DECODE_LEARN_WINDOW = 2,   /* the newest takes the place of the oldest */
    TESS_DECODE_LEARN_RESERVOIR = 3 /* every one that ever came is kept with the same chance */
} tess_decode_learn;

/** Options of the online decoder; described by table "decode.online". */
typedef struct tess_decode_online_config {
    uint32_t struct_size;
    int32_t log2_histogram;     /* reserved, 0 */
    double bin_width_s;         /* 0.006 */
    double delay_s;             /* a bin is closed this long after its right edge; 0 */
    double start_s;             /* left edge of bin 0; set it before creation */
    double deadline_s;          /* a bin that takes longer counts as missed; 0.001 */
    int64_t max_pending;        /* spikes waiting per electrode; 2000 */
    int64_t n_history;          /* finished bins that can be read back; 64 */
    int32_t learn;              /* tess_decode_learn; none */
    int32_t learn_from_nothing; /* 1: without the spikes and samples of the fitted model; 0 */
    int64_t learn_capacity;     /* spikes kept per electrode; 20000 */
    int64_t learn_samples;      /* position samples kept by window and reservoir; 200000 */
    int64_t learn_seed;         /* of the reservoir; 0 */
    double learn_min_speed;     /* cm/s below which nothing is learned; 0 */
    double learn_refresh_s;     /* decode with more of what was learned, this often; 1 */
    int64_t helper_cpu;         /* helper k runs on CPU helper_cpu + k alone; -1: anywhere */
} tess_decode_online_config;

TESS_API void tess_decode_online_config_init(tess_decode_online_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_online_params(void);

/**
 * A causal filter fed spike by spike. Everything is allocated at creation; push, advance and get
 * neither allocate, nor touch files, nor wait for a lock another thread may hold. One producer
 * per electrode may push while one consumer advances.
 */
typedef struct tess_decode_online tess_decode_online;

/** The detector is borrowed and must not be changed meanwhile. */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_online_create(tess_context *ctx, const tess_decode_detector *detector,
                          const tess_decode_online_config *config, tess_decode_online **out);
TESS_API void tess_decode_online_destroy(tess_decode_online *online);

/** A spike. TESS_OK also when it is counted as late, duplicate or dropped (see stats);
 *  TESS_E_ARGUMENT for an unknown electrode, a wrong feature count or a non-finite value. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_push_spike(tess_decode_online *online,
                                                                   double time, int64_t electrode,
                                                                   const float *mark,
                                                                   int64_t n_feature);

/** A raw position sample; used by local states and penalties. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_push_position(tess_decode_online *online,
                                                                      double time,
                                                                      const double *position,
                                                                      int64_t n_dim);

/** Closes every bin whose right edge plus delay is at or before now; *n_bin says how many. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_advance(tess_decode_online *online,
                                                                double now, int64_t *n_bin);

/**
 * The same for a model whose transitions depend on covariates, which tess_decode_online_advance()
 * refuses where a bin is due: what they are in the bins that this call closes.
 *
 * design [n_row][n_coefficient]  in  as predictions take it. n_row is 1, for all of these bins, or
 *                                    their number: row k is of the k-th.
 *
 * TESS_E_SHAPE for another number of rows or coefficients, TESS_E_NUMERIC for a value that is not
 * finite; then no bin is closed. A bin's row drives what is predicted for the next bin.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_online_advance_with(tess_decode_online *online, double now, const double *design,
                                int64_t n_row, int64_t n_coefficient, int64_t *n_bin);

/** A finished bin; pointers live until n_history further bins are finished. */
typedef struct tess_decode_online_bin {
    uint32_t struct_size;
    int32_t n_electrode_active;
    int64_t bin;
    double start_s;
    int64_t n_spike;
    int64_t best_bin;      /* index into the N_s state bins with the largest posterior */
    int64_t credible_size; /* state bins in the smallest set that holds 95 % */
    double log_norm;       /* log evidence of this bin */
    double likelihood_s;   /* time spent */
    double filter_s;
    const double *posterior;           /* [N_s] causal */
    const double *state_probabilities; /* [n_state] */
    const float *log_likelihood;       /* [n_ll] */
} tess_decode_online_bin;

/** Bin number bin (0 is the first). TESS_E_RANGE if not finished yet or no longer kept. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_get(const tess_decode_online *online,
                                                            int64_t bin,
                                                            tess_decode_online_bin *out,
                                                            size_t struct_size);

enum { TESS_DECODE_LATENCY_BINS = 32 };

typedef struct tess_decode_online_stats {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_bin;
    int64_t n_spike;     /* decoded */
    int64_t n_late;      /* older than the open bin: dropped */
    int64_t n_duplicate; /* same electrode, time and mark as the one before: dropped */
    int64_t n_dropped;   /* no room among max_pending */
    int64_t n_deadline_miss;
    double latency_max_s;
    int64_t latency[TESS_DECODE_LATENCY_BINS]; /* bins that took less than 2^i microseconds */
} tess_decode_online_stats;

TESS_API TESS_MUST_CHECK tess_status tess_decode_online_get_stats(const tess_decode_online *online,
                                                                  tess_decode_online_stats *stats,
                                                                  size_t struct_size);

enum { TESS_DECODE_ONLINE_TRIGGERS = 8 };

/** Told to a trigger's function. */
typedef struct tess_decode_online_event {
    uint32_t struct_size;
    int32_t trigger; /* its number */
    int64_t bin;
    double start_s;   /* of the bin */
    double mass;      /* mean probability that made it fire */
    double latency_s; /* from the begin of closing the bin to this call */
    double lag_s;     /* from the bin's right edge to the now of the advance */
} tess_decode_online_event;

/** Called by the thread that advances, in the middle of it: it should return at once, and must not
 *  call the decoder. */
typedef void (*tess_decode_online_trigger_fn)(void *payload, const tess_decode_online_event *event);

/** Fires after a bin in which the mean probability over the last n_average bins is above the
 *  threshold and at least min_electrodes had spikes, unless it fired less than lockout_s before. */
typedef struct tess_decode_online_trigger {
    uint32_t struct_size;
    int32_t state;          /* whose probability; -1: that of the bins */
    int32_t min_electrodes; /* 0 */
    int32_t reserved;
    int64_t n_bin;
    const int64_t *bins; /* [n_bin] of the N_s state bins, rising; copied */
    double threshold;    /* 0.5 */
    double lockout_s;    /* 0 */
    int64_t n_average;   /* 1; at most 1024 */
    tess_decode_online_trigger_fn call;
    void *payload;
} tess_decode_online_trigger;

TESS_API void tess_decode_online_trigger_init(tess_decode_online_trigger *trigger,
                                              size_t struct_size);

/** Sets trigger number 0 to TESS_DECODE_ONLINE_TRIGGERS - 1; NULL: none. Its counters go to zero.
 *  Belongs to the thread that advances. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_set_trigger(
    tess_decode_online *online, int32_t number, const tess_decode_online_trigger *trigger);

typedef struct tess_decode_online_trigger_stats {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_fired;
    int64_t n_locked; /* bins in which only the lockout kept it from firing */
    double latency_max_s;
    int64_t latency[TESS_DECODE_LATENCY_BINS]; /* calls that came in less than 2^i microseconds */
} tess_decode_online_trigger_stats;

TESS_API TESS_MUST_CHECK tess_status
tess_decode_online_get_trigger_stats(const tess_decode_online *online, int32_t number,
                                     tess_decode_online_trigger_stats *stats, size_t struct_size);

/**
 * The decoder's state in a file: the filter, waiting spikes, positions, counters, triggers' memory
 * and all that was learned. A decoder created in the same way that restores it goes on with the
 * same bits; bins closed before are not in the file. No other thread may push meanwhile. restore
 * checks the whole file first: TESS_E_FORMAT or TESS_E_TRUNCATED if it is damaged, TESS_E_MISMATCH
 * if it is of another decoder, which leave this one as it was.
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_snapshot(tess_decode_online *online,
                                                                 const char *path, int overwrite);
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_restore(tess_decode_online *online,
                                                                const char *path);

/** What a decoder with a learning policy was told, in calls. */
typedef struct tess_decode_online_learn_stats {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_spike; /* learned */
    int64_t n_full;  /* of these, not kept since there was no room (grow) */
    int64_t n_slow;  /* spikes and samples at which the animal was too slow */
    int64_t n_slow_sample;
    int64_t n_unplaced; /* spikes older than the positions known, or waiting for one at a freeze */
    int64_t n_dropped;  /* more than max_pending waited for a position */
    int64_t n_ignored;  /* calls while frozen */
    int64_t n_refresh;
    double refresh_max_s; /* that the thread which advances spent on one */
} tess_decode_online_learn_stats;

/**
 * A position sample, or a spike, to learn. Both belong to the thread that advances.
 *
 * A spike's place is interpolated between the position samples before and after it, so it waits
 * for the latter. Errors leave the decoder as it was: TESS_E_ARGUMENT for a time that does not come
 * after the one before (of positions; of spikes of one electrode, for one that comes earlier),
 * TESS_E_NUMERIC for a position that is not finite, TESS_E_RANGE for one off the track.
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_learn_position(tess_decode_online *online,
                                                                       double time,
                                                                       const double *position,
                                                                       int64_t n_dim);
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_learn_spike(tess_decode_online *online,
                                                                    double time, int64_t electrode,
                                                                    const float *mark,
                                                                    int64_t n_feature);

/** Decodes from now on with all that was learned, at once: this call takes as long as the work that
 *  is left. By itself it happens every learn_refresh_s of bins, after the last bin of an advance,
 *  and without waiting: the model is prepared beside, by helpers or a little after every bin, and
 *  decoded with from the refresh after that. More than four times max_pending lessons of an
 *  electrode, or of the animal, between two refreshes make one more. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_refresh(tess_decode_online *online);

/** 1: refreshes, then counts what it is told to learn and does not learn it. 0: learns again. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_set_frozen(tess_decode_online *online,
                                                                   int is_frozen);

/** The model that is decoded with; pointers and numbers are good until the next refresh. */
typedef struct tess_decode_online_learned {
    uint32_t struct_size;
    int32_t is_frozen;
    int64_t n_bin;       /* interior: P */
    int64_t n_electrode; /* E */
    int64_t n_sample;    /* position samples kept, and seen */
    int64_t n_sample_seen;
    const double *occupancy;               /* [P] */
    const double *summed_ground_intensity; /* [P] */
    const double *mean_rates;              /* [E] spikes per position sample */
    const int64_t *n_spike;                /* [E] kept */
    tess_decode_online_learn_stats stats;
} tess_decode_online_learned;

TESS_API TESS_MUST_CHECK tess_status tess_decode_online_get_learned(
    const tess_decode_online *online, tess_decode_online_learned *out, size_t struct_size);

/** Starts again from the initial conditions at start_s; counters go to zero.
 *  What was learned stays. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_reset(tess_decode_online *online,
                                                              double start_s);

TESS_END_DECLS

#endif
