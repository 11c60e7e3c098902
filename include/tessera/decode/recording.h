/** decode: recordings in files, simulated recordings, ready-made models and model files. */
#ifndef TESSERA_DECODE_RECORDING_H
#define TESSERA_DECODE_RECORDING_H

#include "tessera/decode/detector.h"

TESS_BEGIN_DECLS

/** Everything a model is fitted on and decoded from; owns its arrays. Layouts: docs/formats. */
typedef struct tess_decode_recording tess_decode_recording;

/** What a recording holds; pointers live with it. */
typedef struct tess_decode_recording_info {
    uint32_t struct_size;
    int32_t has_track;
    const char *path;   /* "" for simulations */
    const char *format; /* "npz", "hdf5", "nwb", "simulation" */
    tess_decode_training training;
    tess_decode_observation observation;
    tess_decode_track track;         /* if has_track */
    double place_bin_size;           /* the recording's own wish; 0: none */
    double position_std;             /* likewise */
    double waveform_std;             /* likewise */
    const double *interior_position; /* [n_interior_position][n_dim] samples the grid is to be
                                        made from instead of the positions; NULL */
    int64_t n_interior_position;
    const double *true_position;        /* [T][n_dim] the animal at time[k]; NULL if unknown */
    const double *represented_position; /* [T][n_dim] simulated truth, replays included; NULL */
    const uint8_t *is_replay;           /* [T]; NULL if unknown */
    const int32_t *const *unit;         /* [n_electrode] -> decoding spikes' unit, -1 hash; NULL */
    const char *notes; /* what was taken from where, a sentence per line; "" if nothing to say */
    const int64_t *electrode_id; /* [n_electrode] all different; NULL: known by their order alone */
} tess_decode_recording_info;

/** Reads a recording: our NPZ or HDF5 layout, or NWB with plain position, spike times and
 *  features. Errors name the data set and what was expected of it. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_recording_open(tess_context *ctx, const char *path,
                                                                tess_decode_recording **out);

/** Makes gaps between position samples that are longer than max_gap_s untracked, by a sample of NaN
 *  in the middle of each: nothing is interpolated across them any more. n_gap (may be NULL): how
 *  many there were. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_recording_split_gaps(
    tess_context *ctx, tess_decode_recording *recording, double max_gap_s, int64_t *n_gap);

/** Writes a recording, .npz or .h5, atomically. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_recording_save(
    tess_context *ctx, const tess_decode_recording *recording, const char *path, int overwrite);
TESS_API const tess_decode_recording_info *
tess_decode_recording_get_info(const tess_decode_recording *recording);
TESS_API void tess_decode_recording_close(tess_decode_recording *recording);

/** Options of a simulation; described by table "decode.simulate". Zeros in counts: the size's. */
typedef struct tess_decode_simulate_config {
    uint32_t struct_size;
    int32_t size; /* choice: tiny small medium large realistic day-1d day-2d probe-8 chronic max */
    int64_t seed;
    int64_t n_electrode;
    int64_t n_feature;
    int64_t n_time;          /* decoding rows */
    int64_t n_bin;           /* 1-D position bins */
    int64_t encoding_spikes; /* of all electrodes */
    int64_t decoding_spikes;
    double drift;      /* uV per hour */
    double artefacts;  /* fraction of spikes at 2 to 5 mV */
    int32_t generator; /* choice of the five profiling sizes: 0 tessera, spikes that depend on
                          place; 1 original, the original's script, whose spikes do not */
    int32_t reserved;
} tess_decode_simulate_config;

/** What tess_decode_simulate_config.generator may be. */
typedef enum tess_decode_generator {
    TESS_DECODE_GENERATOR_TESSERA = 0,
    TESS_DECODE_GENERATOR_ORIGINAL = 1
} tess_decode_generator;

TESS_API void tess_decode_simulate_config_init(tess_decode_simulate_config *config,
                                               size_t struct_size);
TESS_API const tess_param_table *tess_decode_simulate_params(void);

/** Simulates a recording. The value of every spike depends on seed and index alone. With generator
 *  "original" the five profiling sizes reproduce the original's script (NumPy's PCG64) to the bit;
 *  its spikes say nothing of place. Otherwise they have the same counts, and places. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_simulate(tess_context *ctx,
                                                          const tess_decode_simulate_config *config,
                                                          tess_decode_recording **out);

/** The ready-made models. */
typedef enum tess_decode_model_kind {
    TESS_DECODE_MODEL_DECODER = 0,
    TESS_DECODE_MODEL_CONT_FRAG = 1,
    TESS_DECODE_MODEL_NO_SPIKE_CONT_FRAG = 2,
    TESS_DECODE_MODEL_NON_LOCAL = 3,
    TESS_DECODE_MODEL_MULTI_ENVIRONMENT = 4
} tess_decode_model_kind;

enum { TESS_DECODE_MODEL_MAX_STATE = 4 };

/** States and defaults of a ready-made model: the only place where they are written. */
typedef struct tess_decode_model_defaults {
    uint32_t struct_size;
    int32_t n_state;
    const char *name; /* "cont-frag" */
    tess_decode_state states[TESS_DECODE_MODEL_MAX_STATE];
    int32_t movement_kinds[TESS_DECODE_MODEL_MAX_STATE * TESS_DECODE_MODEL_MAX_STATE]; /* dense
                                                                    [n_state][n_state] */
    double discrete_initial[TESS_DECODE_MODEL_MAX_STATE];
    double discrete_transition[TESS_DECODE_MODEL_MAX_STATE * TESS_DECODE_MODEL_MAX_STATE];
    double stickiness[TESS_DECODE_MODEL_MAX_STATE];
    uint8_t frozen_rows[TESS_DECODE_MODEL_MAX_STATE];
    uint8_t reserved[4];
    double concentration;
} tess_decode_model_defaults;

TESS_API TESS_MUST_CHECK tess_status
tess_decode_model_get_defaults(tess_decode_model_kind kind, int sorted_spikes,
                               tess_decode_model_defaults *defaults, size_t struct_size);

/** Options of fitting a ready-made model; table "decode.model". */
typedef struct tess_decode_model_config {
    uint32_t struct_size;
    int32_t model; /* tess_decode_model_kind */
    double movement_variance;
    tess_decode_environment_config environment;
    tess_decode_encoding_config encoding;
    tess_decode_detector_config detector; /* states and movements are filled in by fit */
    const char *covariates; /* not in the table, copied: names of what the transitions depend on,
                               separated by commas; NULL: nothing. Of detector.coefficients that are
                               not given the intercept is as the matrix says, and the others 0 */
} tess_decode_model_config;

TESS_API void tess_decode_model_config_init(tess_decode_model_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_model_params(void);

/** A fitted model: environment, encoding and detector in one. */
typedef struct tess_decode_model tess_decode_model;

/** Bin size and bandwidths that config leaves at their defaults are the recording's own wishes, if
 *  it has any; so is the track. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_model_fit(tess_context *ctx,
                                                           const tess_decode_recording *recording,
                                                           const tess_decode_model_config *config,
                                                           tess_decode_model **out);

/** A versioned, language-neutral model file (.npz or .h5): the training data the KDE is made of,
 *  the settings, the discrete parameters. Loading fits again, to the same bits. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_model_save(tess_context *ctx,
                                                            const tess_decode_model *model,
                                                            const char *path, int overwrite);
TESS_API TESS_MUST_CHECK tess_status tess_decode_model_load(tess_context *ctx, const char *path,
                                                            tess_decode_model **out);
/** Puts the electrodes of a recording into the order of the model's, by their ids, where both have
 *  ids; otherwise order and number are left as they are. Electrodes that the model does not
 *  know are left out with a warning; TESS_E_MISMATCH names those of the model that are missing. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_recording_match(tess_context *ctx,
                                                                 tess_decode_recording *recording,
                                                                 const tess_decode_model *model);
TESS_API tess_decode_detector *tess_decode_model_detector(tess_decode_model *model);
TESS_API tess_decode_environment *tess_decode_model_environment(tess_decode_model *model);
TESS_API const tess_decode_encoding *tess_decode_model_encoding(const tess_decode_model *model);
TESS_API const tess_decode_model_config *tess_decode_model_settings(const tess_decode_model *model);
TESS_API void tess_decode_model_destroy(tess_decode_model *model);

TESS_END_DECLS

#endif
