// What the stages of the hidden Markov model share.
#ifndef TESS_BACKEND_CPU_DECODE_HMM_H
#define TESS_BACKEND_CPU_DECODE_HMM_H

#include "backend/cpu/decode/stages.h"
#include "stage/decode_hmm.h"

// Memory that will be wanted after a step, which its products leave time to fetch.
typedef struct hmm_wanted {
    const char *next;
    const char *end;
} hmm_wanted;

// The scratch of a stage, cut up.
typedef struct hmm_room {
    double *row;        // [N_s]
    double *other;      // [N_s]
    double *ratio;      // [N_s]
    double *in;         // [N_s] of an operator
    double *out;        // [N_s] of an operator
    double *likelihood; // [n_ll + 1 + S]: exp(ll - max), max, sums
    double *sums;       // [S]
    double *level;      // [S] what all bins of a state hold
    double *kept_sums;  // [S]
    double *cells;      // what an operator's scratch counts from
    int is_alone;       // 1: without the pool
    hmm_wanted wanted[2];
} hmm_room;

hmm_room tess_cpu_hmm_room(const tess_hmm_model *model, double *scratch);

// Products of a step forward through all movements.
int64_t tess_cpu_hmm_products(const tess_hmm_model *model);
// 1 if a movement has so many products that threads share it.
int tess_cpu_hmm_is_shared(const tess_hmm_model *model);

// y = x A (forward) or A x (backward), A of the discrete transitions given. Only the sum of x is
// read of a state that is left (backward: entered) evenly; of one that is entered (backward: left)
// evenly all bins get the same value, which goes into level instead of y.
void tess_cpu_hmm_spread(tess_backend_device *device, const tess_hmm_model *model,
                         const hmm_room *room, int is_forward, const double *transition,
                         const double *x, const double *sums, double *y, double *level);

#endif
