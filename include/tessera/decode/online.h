/** decode: the online decoder for closed-loop experiments. */
#ifndef TESSERA_DECODE_ONLINE_H
#define TESSERA_DECODE_ONLINE_H

#include "tessera/decode/detector.h"

TESS_BEGIN_DECLS

/** Options of the online decoder; described by table "decode.online". */
typedef struct tess_decode_online_config {
    uint32_t struct_size;
    int32_t log2_histogram; /* reserved, 0 */
    double bin_width_s;     /* 0.006 */
    double delay_s;         /* a bin is closed this long after its right edge; 0 */
    double start_s;         /* left edge of bin 0; set it before creation */
    double deadline_s;      /* a bin that takes longer counts as missed; 0.001 */
    int64_t max_pending;    /* spikes waiting per electrode; 2000 */
    int64_t n_history;      /* finished bins that can be read back; 64 */
} tess_decode_online_config;

TESS_API void tess_decode_online_config_init(tess_decode_online_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_online_params(void);

/**
 * A causal filter fed spike by spike. Everything is allocated at creation; push, advance and get
 * neither allocate, nor touch files, nor wait for a lock another thread may hold. One producer
 * per electrode may push while one consumer advances.
 */
typedef struct tess_decode_online tess_decode_online;

/** The detector must be stationary; it is borrowed and must not be changed meanwhile. */
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

/** Starts again from the initial conditions at start_s; counters go to zero. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_online_reset(tess_decode_online *online,
                                                              double start_s);

TESS_END_DECLS

#endif
