/** decode: bandwidths chosen by the likelihood of held-out spikes. */
#ifndef TESSERA_DECODE_TUNE_H
#define TESSERA_DECODE_TUNE_H

#include "tessera/decode/recording.h"

TESS_BEGIN_DECLS

/** Options of tess_decode_tune(); scalars are described by table "decode.tune". */
typedef struct tess_decode_tune_config {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_fold;     /* contiguous blocks of training time, each held out once */
    int64_t n_point;    /* bandwidths of a sweep */
    double span;        /* a sweep goes from 1/span to span times the bandwidth it starts from */
    int64_t n_refine;   /* parabola steps after a sweep */
    int64_t max_rounds; /* sweeps of each bandwidth at most */
    int64_t max_spikes; /* held-out spikes looked at, all folds together; 0: all */
    /* Not in the table. Called for every candidate; non-zero stops with TESS_CANCELLED. */
    int (*candidate)(void *user, double position_std, double waveform_std, double score);
    void *user;
} tess_decode_tune_config;

TESS_API void tess_decode_tune_config_init(tess_decode_tune_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_decode_tune_params(void);

/** A pair of bandwidths that was tried. */
typedef struct tess_decode_tune_candidate {
    double position_std;   /* cm */
    double waveform_std;   /* uV; NaN for sorted spikes */
    double score;          /* nats per held-out spike */
    double below_best;     /* nats per held-out spike; 0 for the best */
    double standard_error; /* of below_best, from the folds */
    int32_t sweep;         /* 1, 2, ... in order of time */
    int32_t is_position;   /* 1: of a sweep over position_std, 0: over waveform_std */
} tess_decode_tune_candidate;

typedef struct tess_decode_tuning tess_decode_tuning;

/** What was found; pointers live with the tuning. */
typedef struct tess_decode_tuning_info {
    uint32_t struct_size;
    int32_t has_waveform; /* 0: sorted spikes */
    double position_std;  /* chosen, cm */
    double waveform_std;  /* chosen, uV; NaN for sorted spikes */
    double score;         /* of the choice: nats per held-out spike */
    double start_position_std;
    double start_waveform_std;
    double start_score;
    int64_t n_fold;
    int64_t n_sample;        /* held-out position samples looked at */
    int64_t n_spike;         /* held-out spikes looked at */
    int64_t n_held;          /* held-out spikes there are */
    int32_t position_at_end; /* 1: the best position_std is the last one tried on its side */
    int32_t waveform_at_end;
    int64_t n_candidate;
    const tess_decode_tune_candidate *candidates; /* in order of time */
    double elapsed_s;
} tess_decode_tuning_info;

/**
 * Chooses position_std and waveform_std, common to all electrodes. The training samples are cut
 * into n_fold contiguous blocks; for each candidate an encoding model is fitted to all blocks but
 * one, and the spikes of that one are predicted at the animal's position, as a marked point
 * process:
 *
 *     score = [ sum over held-out spikes of log lambda_e(m, x(t))
 *               - sum over held-out samples of Lambda(x(t)) ] / held-out spikes
 *
 * lambda is floored as in decoding. Sorted spikes have position_std alone. First waveform_std, then
 * position_std is swept, each refined by parabolas, until neither moves. The same bits for any
 * number of threads.
 *
 * config  in  environment, algorithm and where to start: as for tess_decode_model_fit()
 *
 * TESS_E_UNSUPPORTED for algorithms without bandwidths, TESS_E_ARGUMENT for bandwidths per axis or
 * feature, TESS_E_NUMERIC where a block has no spikes or samples.
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_tune(tess_context *ctx,
                                                      const tess_decode_recording *recording,
                                                      const tess_decode_model_config *config,
                                                      const tess_decode_tune_config *tune,
                                                      tess_decode_tuning **out);
TESS_API void tess_decode_tuning_destroy(tess_decode_tuning *tuning);
TESS_API const tess_decode_tuning_info *
tess_decode_tuning_get_info(const tess_decode_tuning *tuning);

/** One-file HTML page: the choice, the curves, every candidate. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_tuning_report(tess_context *ctx,
                                                               const tess_decode_tuning *tuning,
                                                               const char *path, int overwrite);

/** The choice as a configuration file, for --config: JSON, after a comment with its provenance
 *  unless the name ends in .json. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_tuning_save(tess_context *ctx,
                                                             const tess_decode_tuning *tuning,
                                                             const char *path, int overwrite);

TESS_END_DECLS

#endif
