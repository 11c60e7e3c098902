// What the stages of the hidden Markov model share.
#ifndef TESS_BACKEND_CPU_DECODE_HMM_H
#define TESS_BACKEND_CPU_DECODE_HMM_H

#include "backend/cpu/decode/stages.h"
#include "stage/decode_hmm.h"

// The scratch of a stage, cut up.
typedef struct hmm_room {
    double *row;        // [N_s]
    double *other;      // [N_s]
    double *ratio;      // [N_s]
    double *in;         // [N_s] of an operator
    double *out;        // [N_s] of an operator
    double *likelihood; // [n_ll + 1]
    double *sums;       // [n_state]
    double *cells;      // what an operator's scratch counts from
    int is_alone;       // 1: without the pool
} hmm_room;

hmm_room tess_cpu_hmm_room(const tess_hmm_model *model, double *scratch);

#endif
