/** decode: state-space models over position bins and discrete states. */
#ifndef TESSERA_DECODE_DETECTOR_H
#define TESSERA_DECODE_DETECTOR_H

#include "tessera/decode/encoding.h"

TESS_BEGIN_DECLS

/** How position moves within a state or between two; rows sum to 1. */
typedef enum tess_decode_movement_kind {
    TESS_DECODE_DISCRETE = 0, /* into or out of a state of one bin */
    TESS_DECODE_UNIFORM = 1,
    TESS_DECODE_RANDOM_WALK = 2,
    TESS_DECODE_IDENTITY = 3,
    TESS_DECODE_RANDOM_WALK_DIRECTION1 = 4,
    TESS_DECODE_RANDOM_WALK_DIRECTION2 = 5,
    TESS_DECODE_EMPIRICAL = 6, /* counted by tess_decode_empirical_movement(), given as matrix */
    TESS_DECODE_MATRIX = 7     /* any matrix over all bins of the two states */
} tess_decode_movement_kind;

typedef struct tess_decode_movement {
    uint32_t struct_size;
    int32_t kind;         /* tess_decode_movement_kind */
    int32_t use_manifold; /* 1: distances along the interior of a grid */
    int32_t direction;    /* with use_manifold: 0 any, 1 inward, 2 outward */
    double variance;      /* cm^2 per time bin; default 6 */
    double mean[TESS_DECODE_MAX_DIM];
    const double *matrix; /* EMPIRICAL, MATRIX: [B from][B to], all bins */
} tess_decode_movement;

TESS_API void tess_decode_movement_init(tess_decode_movement *movement, size_t struct_size);

/** The matrix of a movement over all bins, [B from][B to] (zero at non-interior bins), as the
 *  original forms it. to may be from. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_movement_matrix(
    tess_context *ctx, const tess_decode_movement *movement, tess_decode_environment *from,
    tess_decode_environment *to, double *out);

/** Counts steps of a position series on the bins: [B][B] rows normalised, to the power speedup. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_empirical_movement(
    tess_context *ctx, const tess_decode_environment *env, const double *position, int64_t n_sample,
    const uint8_t *is_training, int64_t speedup, int time_reversed, double *out);

typedef struct tess_decode_state {
    const char *name;
    int32_t environment; /* index into environments; ignored by no-spike states */
    int32_t encoding;    /* index into encodings; ignored by no-spike states */
    int32_t is_local;
    int32_t is_no_spike;
} tess_decode_state;

/** Options of a detector; scalars are described by table "decode.detector". */
typedef struct tess_decode_detector_config {
    uint32_t struct_size;
    int32_t n_state;
    double no_spike_rate;              /* spikes/s; 1e-10 */
    double non_local_position_penalty; /* nats; 0 */
    double non_local_penalty_std;      /* cm; 1 */
    double local_position_std; /* cm; negative: Local is one bin with the local likelihood */
    /* Not in the table. Copied. */
    const tess_decode_state *states;
    const tess_decode_movement *movements; /* [n_state][n_state], from x to */
    const double *discrete_initial;        /* [n_state] */
    const double *discrete_transition;     /* [n_state][n_state] */
    int64_t n_coefficient;                 /* 0: stationary */
    const double *coefficients; /* [n_coefficient][n_state][n_state - 1]; rows of the transition
                                   are softmax(design . coefficients, 0) */
    const double *initial;      /* [N_s] over interior state bins; NULL: uniform within states */
} tess_decode_detector_config;

TESS_API void tess_decode_detector_config_init(tess_decode_detector_config *config,
                                               size_t struct_size);
TESS_API const tess_param_table *tess_decode_detector_params(void);

/** Borrows environments and encodings. Mutable by EM only: one caller at a time. */
typedef struct tess_decode_detector tess_decode_detector;

/** Layout and parameters; pointers live with the detector (EM updates what they point to). */
typedef struct tess_decode_detector_info {
    uint32_t struct_size;
    int32_t n_state;
    int64_t n_state_bin; /* N_s: interior state bins, states one after another */
    int64_t n_all_bin;   /* with non-interior bins */
    int64_t n_coefficient;
    int64_t n_ll; /* distinct likelihood columns */
    const char *const *state_names;
    const int64_t *state_first;        /* [n_state + 1] offsets into N_s */
    const int32_t *state_of_bin;       /* [N_s] */
    const int64_t *all_index;          /* [N_s] index into n_all_bin */
    const int64_t *ll_first;           /* [n_state] first likelihood column of the state */
    const double *discrete_initial;    /* [n_state] */
    const double *discrete_transition; /* [n_state][n_state] */
    const double *coefficients;
    const double *initial;  /* [N_s] */
    int32_t needs_position; /* 1: rows without the animal's position cannot be decoded */
    int32_t reserved;
} tess_decode_detector_info;

TESS_API TESS_MUST_CHECK tess_status tess_decode_detector_create(
    tess_context *ctx, const tess_decode_detector_config *config,
    tess_decode_environment *const *environments, int64_t n_environment,
    const tess_decode_encoding *const *encodings, int64_t n_encoding, tess_decode_detector **out);
TESS_API void tess_decode_detector_destroy(tess_decode_detector *detector);
TESS_API const tess_decode_detector_info *
tess_decode_detector_get_info(const tess_decode_detector *detector);

/** Where results go: each is NULL (not wanted) or f32 or f64, C-contiguous, in host memory; or, for
 *  predictions alone, in that of the context's device (tess_device_array_create()), where it stays:
 *  then it is f64 of an exact model and of state probabilities, else f32. */
typedef struct tess_decode_outputs {
    uint32_t struct_size;
    int32_t reserved;
    tess_array *acausal_posterior;              /* [T][N_s] */
    tess_array *acausal_state_probabilities;    /* [T][S] */
    tess_array *causal_posterior;               /* [T][N_s] */
    tess_array *causal_state_probabilities;     /* [T][S] */
    tess_array *predictive_posterior;           /* [T][N_s] */
    tess_array *predictive_state_probabilities; /* [T][S] */
    tess_array *log_likelihood;                 /* [T][n_ll], modifiers and missing rows applied */
    int64_t *most_likely_bin;                   /* [T] Viterbi path into N_s, or NULL */
    double log_evidence;      /* out; NaN if only likelihood and path are asked for */
    int64_t n_impossible;     /* out: rows at which no state bin could explain the spikes */
    int64_t first_impossible; /* out: the first of them, -1 if none */
    tess_decode_likelihood_report likelihood; /* out */
    double resumed_from; /* out, of EM: 0 to 1, how much an earlier call had done */
} tess_decode_outputs;

TESS_API void tess_decode_outputs_init(tess_decode_outputs *outputs, size_t struct_size);

/** Options of a prediction; scalars are described by table "decode.predict". */
typedef struct tess_decode_predict_config {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_chunk;                  /* 0: from the memory limit; changes no result */
    const double *design;             /* [T][n_coefficient] for covariate-dependent transitions */
    const tess_array *log_likelihood; /* [T][n_ll] known already: nothing is computed; or NULL */
} tess_decode_predict_config;

TESS_API void tess_decode_predict_config_init(tess_decode_predict_config *config,
                                              size_t struct_size);
TESS_API const tess_param_table *tess_decode_predict_params(void);

/** Likelihood, filter, smoother, most likely path: what outputs asks for, in chunks of rows. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_predict(tess_context *ctx,
                                                         const tess_decode_detector *detector,
                                                         const tess_decode_observation *observation,
                                                         const tess_decode_predict_config *config,
                                                         tess_decode_outputs *outputs);

/** Rows over interior bins [T][N_s] among all bins: out [T][n_all_bin] of the same dtype, f32 or
 * f64, NaN at bins that are not interior. Both C-contiguous, host. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_all_bins(tess_context *ctx,
                                                          const tess_decode_detector *detector,
                                                          const tess_array *rows, tess_array *out);

/** Options of EM; scalars are described by table "decode.em". */
typedef struct tess_decode_em_config {
    uint32_t struct_size;
    int32_t estimate_initial_conditions;
    int32_t estimate_discrete_transition;
    int32_t reserved;
    int64_t max_iterations;
    double tolerance;
    double regularization; /* of the coefficients */
    /* Not in the table. */
    const double *concentration; /* [1] */
    const double *stickiness;    /* [S]; NULL: 0 */
    const double *prior_weight;  /* [S]; NULL: 0 */
    const uint8_t *frozen_rows;  /* [S]; NULL: none */
    const double *design;        /* as in predict */
    /* Called after every iteration; non-zero stops with TESS_CANCELLED. NULL: none. */
    int (*iteration)(void *user, int64_t iteration, double log_evidence, double change);
    void *user;
    const char *checkpoint_dir; /* NULL: none */
    double checkpoint_every_s;  /* 60; 0: whenever there is a chance */
    int32_t resume;             /* 1: continue from checkpoint_dir if it holds this very estimate,
                                   whose detector was as it is now */
    int32_t keep_finished;      /* 1: the checkpoint stays until tess_checkpoint_clear(), so that
                                   nothing is lost before the model is in its file */
} tess_decode_em_config;

TESS_API void tess_decode_em_config_init(tess_decode_em_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_em_params(void);

/**
 * Expectation maximisation of initial conditions and discrete transitions; the likelihood is
 * computed once. Outputs belong to the last E-step, the most likely path to the parameters after
 * it.
 *
 * log_evidence  out  [max_iterations], one value per E-step
 * n_iteration   out  E-steps done
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_em(tess_context *ctx,
                                                    tess_decode_detector *detector,
                                                    const tess_decode_observation *observation,
                                                    const tess_decode_em_config *config,
                                                    tess_decode_outputs *outputs,
                                                    double *log_evidence, int64_t *n_iteration);

/**
 * Whether the model file at path already holds what this estimate would give, as its provenance
 * says; the detector is as it is before. Then what a killed run may have left in
 * config->checkpoint_dir is removed. For callers that resume and find the file there.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_decode_em_is_finished(tess_context *ctx, const tess_decode_detector *detector,
                           const tess_decode_observation *observation,
                           const tess_decode_em_config *config, const char *path, int *finished);

TESS_END_DECLS

#endif
