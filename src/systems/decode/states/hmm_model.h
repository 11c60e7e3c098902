// The inside of a hidden Markov model, for the files that make it up.
#ifndef TESS_SYSTEMS_DECODE_HMM_MODEL_H
#define TESS_SYSTEMS_DECODE_HMM_MODEL_H

#include "systems/decode/states/hmm.h"
#include "systems/decode/states/hmm_guesses.h"
#include "systems/decode/states/transition.h"

#include <stdatomic.h>

struct tess_de_hmm_there;

struct tess_de_hmm {
    tess_blocks blocks;
    int is_exact;
    tess_hmm_model model; // what the CPU steps with; points to what follows
    tess_hmm_model plain; // every movement bin by bin: of paths, and of other devices
    int64_t n_forecast;   // tess_de_hmm_forecast_items()
    int64_t *first;
    int64_t *ll_first;
    int32_t *link;
    uint8_t *enters_evenly;
    uint8_t *leaves_evenly;
    tess_de_operator *operators; // [2][n_state * n_state] as model has them, and plain ones
    tess_hmm_operator *forward;  // likewise
    tess_hmm_operator *backward;
    _Atomic(struct tess_de_hmm_there *) *there; // on a device, if it was used last: hmm_there.h
    tess_de_hmm_guesses *guesses;               // [2] forward, backward: hmm_parts.h
};

// hmm.c: adds the norms of rows to what goes from chunk to chunk.
void tess_de_hmm_note_rows(const double *log_norm, int64_t n_row, tess_de_hmm_carry *carry);

#endif
