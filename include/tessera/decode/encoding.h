/** decode: encoding models, and the likelihood of spikes at every bin. */
#ifndef TESSERA_DECODE_ENCODING_H
#define TESSERA_DECODE_ENCODING_H

#include "tessera/array.h"
#include "tessera/decode/environment.h"

TESS_BEGIN_DECLS

typedef enum tess_decode_algorithm {
    TESS_DECODE_CLUSTERLESS_KDE = 0,
    TESS_DECODE_CLUSTERLESS_GMM = 1,
    TESS_DECODE_SORTED_SPIKES_KDE = 2,
    TESS_DECODE_SORTED_SPIKES_GLM = 3
} tess_decode_algorithm;

typedef enum tess_decode_mode {
    TESS_DECODE_EXACT = 0,  /* float64 everywhere, every pair */
    TESS_DECODE_FAST = 1,   /* float32 kernels; 2e-5 per spike value */
    TESS_DECODE_BOUNDED = 2 /* as fast, expansions within bound; the certified bound is reported */
} tess_decode_mode;

typedef enum tess_decode_floor {
    TESS_DECODE_FLOOR_AUTO = 0,     /* absolute for up to 4 features, else relative */
    TESS_DECODE_FLOOR_ABSOLUTE = 1, /* intensities of at least 1e-15: the original's rule */
    TESS_DECODE_FLOOR_RELATIVE = 2, /* at most floor_nats below the spike's best bin */
    TESS_DECODE_FLOOR_NONE = 3      /* only the range of the arithmetic: 700 nats */
} tess_decode_floor;

typedef enum tess_decode_mark_density {
    TESS_DECODE_MARK_PROBABILITY = 0, /* the original's: density per uV^D */
    TESS_DECODE_MARK_UNIT_PEAK = 1    /* without the factor (sigma sqrt(2 pi))^-D */
} tess_decode_mark_density;

/** What a non-finite mark or spike time does. */
typedef enum tess_decode_nan_policy {
    TESS_DECODE_NAN_ERROR = 0,
    TESS_DECODE_NAN_DROP = 1
} tess_decode_nan_policy;

/** Which spikes belong to the training samples (defect 7 of the original). */
typedef enum tess_decode_membership {
    TESS_DECODE_MEMBERSHIP_ORIGINAL = 0, /* runs widened by one step; may count a spike twice */
    TESS_DECODE_MEMBERSHIP_NEAREST = 1   /* a spike belongs to its nearest sample, once */
} tess_decode_membership;

/** Options of an encoding model; scalars are described by table "decode.encoding". */
typedef struct tess_decode_encoding_config {
    uint32_t struct_size;
    int32_t algorithm;    /* tess_decode_algorithm */
    int32_t mode;         /* tess_decode_mode */
    int32_t floor;        /* tess_decode_floor */
    int32_t mark_density; /* tess_decode_mark_density */
    int32_t nan_policy;   /* tess_decode_nan_policy */
    int32_t membership;   /* tess_decode_membership */
    int32_t strict;      /* 1: unsorted spike times are an error instead of sorted with a warning */
    double bound;        /* of TESS_DECODE_BOUNDED: nats per spike value */
    double floor_nats;   /* of TESS_DECODE_FLOOR_RELATIVE */
    double bin_scale;    /* decoding bin / position sample; 1: the original; 0: from the data */
    double position_std; /* cm */
    double waveform_std; /* uV */
    /* GMM: components, iterations and tolerance; GLM: knots and penalty */
    int64_t gmm_components_occupancy;
    int64_t gmm_components_gpi;
    int64_t gmm_components_joint;
    int64_t gmm_iterations;
    double gmm_tolerance;
    double gmm_ridge;
    int64_t seed;
    double glm_knot_spacing; /* cm */
    double glm_penalty;
    /* Not in the table. */
    const double *position_std_values; /* [n_position_std], instead of position_std; NULL */
    const double *waveform_std_values; /* [n_waveform_std], instead of waveform_std; NULL */
    int64_t n_position_std;
    int64_t n_waveform_std;
} tess_decode_encoding_config;

TESS_API void tess_decode_encoding_config_init(tess_decode_encoding_config *config,
                                               size_t struct_size);
TESS_API const tess_param_table *tess_decode_encoding_params(void);

/** Spikes of every electrode (clusterless) or unit (sorted: marks NULL). */
typedef struct tess_decode_spikes {
    uint32_t struct_size;
    int32_t mark_dtype; /* TESS_F32 or TESS_F64 */
    int64_t n_electrode;
    const int64_t *n_spike;     /* [n_electrode] */
    const int64_t *n_feature;   /* [n_electrode] */
    const double *const *times; /* [n_electrode] pointers to n_spike times, s */
    const void *const *marks;   /* [n_electrode] pointers to [n_spike][n_feature], C order, uV */
} tess_decode_spikes;

TESS_API void tess_decode_spikes_init(tess_decode_spikes *spikes, size_t struct_size);

/** A series of raw positions. */
typedef struct tess_decode_position {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_sample;
    int64_t n_dim;
    const double *time;     /* [n_sample] increasing, s */
    const double *position; /* [n_sample][n_dim] cm; NaN: not tracked */
} tess_decode_position;

TESS_API void tess_decode_position_init(tess_decode_position *position, size_t struct_size);

/** What an encoding model learns from. */
typedef struct tess_decode_training {
    uint32_t struct_size;
    int32_t reserved;
    tess_decode_spikes spikes;
    tess_decode_position position;
    const uint8_t *is_training; /* [n_sample]; NULL: all. Group and environment already applied */
    const double *weights;      /* [n_sample]; NULL: all 1. Clusterless: ignored by GMM */
} tess_decode_training;

TESS_API void tess_decode_training_init(tess_decode_training *training, size_t struct_size);

/** What is to be decoded: T rows, row k being [time[k], time[k+1]) and the last one empty. */
typedef struct tess_decode_observation {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_time;
    const double *time;
    tess_decode_spikes spikes;
    tess_decode_position position; /* for local states and penalties; n_sample 0: none */
    const uint8_t *is_missing;     /* [n_time]; NULL: none */
} tess_decode_observation;

TESS_API void tess_decode_observation_init(tess_decode_observation *observation,
                                           size_t struct_size);

/** Immutable once created; borrows the environment, copies everything else. */
typedef struct tess_decode_encoding tess_decode_encoding;

/** Everything known of an encoding model; pointers live with it. Densities are per cm or cm^2,
 *  rates per position sample. NULL where an algorithm has no such thing. */
typedef struct tess_decode_encoding_info {
    uint32_t struct_size;
    int32_t algorithm;
    int32_t floor; /* as decided: never AUTO */
    int32_t reserved;
    int64_t n_electrode;
    int64_t n_interior;
    int64_t n_place_dim;
    int64_t n_training_sample;
    double bound;            /* certified nats per spike value of the expansions; 0 in exact mode */
    double bin_width_s;      /* median step of the training position */
    const double *occupancy; /* [P] pi */
    const double *mean_rates;                /* [n_electrode] r */
    const double *summed_ground_intensity;   /* [P] Lambda, without bin_scale */
    const double *place_fields;              /* [n_electrode][P]; sorted spikes: rate; clusterless:
                                                density g_e */
    const int64_t *n_spike;                  /* [n_electrode] kept for encoding */
    const int64_t *n_feature;                /* [n_electrode] */
    const int64_t *n_before;                 /* [n_electrode] spikes before the training samples */
    const int64_t *n_after;                  /* [n_electrode] and after */
    const double *const *encoding_positions; /* [n_electrode] -> [n_spike][n_place_dim] */
    const double *const *encoding_marks;     /* [n_electrode] -> [n_spike][n_feature] */
} tess_decode_encoding_info;

TESS_API TESS_MUST_CHECK tess_status tess_decode_encoding_create(
    tess_context *ctx, tess_decode_environment *env, const tess_decode_training *training,
    const tess_decode_encoding_config *config, tess_decode_encoding **out);
TESS_API void tess_decode_encoding_destroy(tess_decode_encoding *encoding);
TESS_API const tess_decode_encoding_info *
tess_decode_encoding_get_info(const tess_decode_encoding *encoding);

/** Counts of what a likelihood met, for warnings and reports. */
typedef struct tess_decode_likelihood_report {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_spike;      /* decoded */
    int64_t n_value;      /* (spike, bin) values */
    int64_t n_floored;    /* of them on the floor */
    int64_t n_flat_spike; /* spikes on the floor at every bin */
    int64_t n_excluded;   /* spikes of electrodes without encoding spikes, left out */
    int64_t n_before;     /* spikes before time[0] */
    int64_t n_after;      /* and after the last time */
    double bound;         /* certified, nats per spike value */
    double bin_scale;     /* as used */
    double pairs;         /* (decoding, encoding) pairs evaluated */
} tess_decode_likelihood_report;

/**
 * Log likelihood of rows first..first+n_row-1 at every interior bin:
 *
 *     out[k][p] = -bin_scale Lambda_p + sum over spikes of row k of max(log lambda(m, p), floor)
 *
 * The rows are always those of the whole time vector, so any split into calls gives the same
 * bits. Missing rows are 0.
 *
 * out     out  f32 or f64 [n_row][P], host, C-contiguous
 * report  out  struct_size must be set; NULL: what deserves a warning is logged
 */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_log_likelihood(tess_context *ctx, const tess_decode_encoding *encoding,
                           const tess_decode_observation *observation, int64_t first, int64_t n_row,
                           tess_array *out, tess_decode_likelihood_report *report);

/** The same at the animal's own position: out [n_row]. Needs observation->position. Rows at which
 *  the position is NaN are 0 (missing). */
TESS_API TESS_MUST_CHECK tess_status tess_decode_local_log_likelihood(
    tess_context *ctx, const tess_decode_encoding *encoding,
    const tess_decode_observation *observation, int64_t first, int64_t n_row, tess_array *out,
    tess_decode_likelihood_report *report);

/** No-spike state: out[k] = sum_e (n_ek ln rho - rho), rho = rate * median time step. */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_no_spike_log_likelihood(tess_context *ctx, const tess_decode_observation *observation,
                                    double rate, int64_t first, int64_t n_row, tess_array *out);

/** log lambda(m, p) of each given mark on one electrode, floored: out [n][P] f32 or f64. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_log_joint(tess_context *ctx,
                                                           const tess_decode_encoding *encoding,
                                                           int64_t electrode,
                                                           const tess_array *marks,
                                                           tess_array *out);

/** Row of each spike time by the rule of the original; -1 outside [time[0], time[n_time-1]]. */
TESS_API void tess_decode_time_bin(const double *time, int64_t n_time, const double *spike_times,
                                   int64_t n_spike, int64_t *row);

TESS_END_DECLS

#endif
