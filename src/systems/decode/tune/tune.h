// The inside of tuning: folds.c cuts the training time, candidate.c scores a pair of bandwidths,
// search.c looks for the best, tune.c is the door.
#ifndef TESS_SYSTEMS_DECODE_TUNE_H
#define TESS_SYSTEMS_DECODE_TUNE_H

#include "base/blocks.h"
#include "runtime/watch.h"
#include "tessera/decode/tune.h"

#include <stdbool.h>

// The training samples as rows of an observation: row k is what lies between samples k and k+1.
typedef struct tess_de_folds {
    int64_t n_fold;
    int64_t n_sample;     // of the position series
    int64_t *first;       // [n_fold + 1] samples; fold f is first[f] to first[f + 1]
    uint8_t *is_training; // [n_sample] all folds
    uint8_t *is_missing;  // [n_sample] rows that cannot be scored or are not looked at
    int64_t n_row;        // that are
    int64_t longest;      // samples of a fold
    int64_t n_held;       // spikes of all rows that can be scored
    double share;         // of the rows that are looked at
} tess_de_folds;

TESS_MUST_CHECK tess_status tess_de_folds_make(tess_context *ctx, tess_blocks *memory,
                                               const tess_decode_training *training, int64_t n_fold,
                                               int64_t max_spikes, tess_de_folds *out);

typedef struct tess_de_tuner {
    tess_context *ctx;
    tess_blocks *memory;
    tess_decode_tune_config tune;
    tess_decode_encoding_config encoding; // with the bandwidths being tried
    tess_decode_environment *env;
    tess_decode_training training;       // is_training: all folds but one
    tess_decode_observation observation; // the training data again, as rows
    tess_de_folds folds;
    uint8_t *mask; // [n_sample], training's
    double *rows;  // [folds.longest]
    bool has_waveform;
    tess_watch watch;
    int64_t n_done; // fits
    int64_t n_most; // fits at most
    // Candidates so far.
    tess_decode_tune_candidate *candidates;
    double *fold_scores; // [n_candidate][n_fold] nats per spike
    int64_t n_candidate;
    int64_t n_room;
    int64_t n_spike; // looked at by each
    int32_t n_sweep;
    bool position_at_end;
    bool waveform_at_end;
} tess_de_tuner;

// Index of the candidate, old or new.
TESS_MUST_CHECK tess_status tess_de_tune_try(tess_de_tuner *tuner, double position_std,
                                             double waveform_std, bool is_position, int64_t *index);

// Candidates a search makes at most.
int64_t tess_de_tune_most(const tess_decode_tune_config *tune, bool has_waveform);
// Index of the best candidate.
TESS_MUST_CHECK tess_status tess_de_tune_search(tess_de_tuner *tuner, double position_std,
                                                double waveform_std, int64_t *best);

#endif
