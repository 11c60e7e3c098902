// One run of filter and smoother over rows, with everything they give.
#ifndef TESS_TESTS_DECODE_HMM_RUN_H
#define TESS_TESTS_DECODE_HMM_RUN_H

#include "systems/decode/states/hmm.h"
#include "systems/decode/states/path.h"
#include "unit_golden.h"

typedef struct run {
    tess_de_hmm *hmm;
    int64_t n_row;
    int64_t n_bin;
    int32_t n_state;
    int32_t dtype;
    void *filtered; // then smoothed
    void *causal;
    void *predicted;
    double *causal_states;
    double *predictive_states;
    double *acausal_states;
    double *carry;
    double *next;
    tess_de_hmm_carry end;
} run;

// n zeroed items and one more.
void *zeros(int64_t n, size_t bytes);

run new_run(tess_de_hmm *hmm, int32_t n_state, int64_t n_row, int32_t dtype);
void free_run(run *r);

tess_de_hmm_chunk chunk_of(const run *r, const void *ll, int32_t ll_dtype, int64_t n_ll,
                           const double *transition, int64_t stride, int64_t first, int64_t n);

// Filters and smooths in chunks of so many rows.
void go(tess_context *ctx, run *r, const void *ll, int32_t ll_dtype, int64_t n_ll,
        const double *initial, const double *transition, int64_t stride, int64_t chunk_rows);

// The most likely path, in runs of so many rows.
tess_status go_path(tess_context *ctx, const tess_de_hmm *hmm, const tess_de_hmm_chunk *all,
                    const double *initial, int64_t rows, int64_t *bins);

// Rows of the run's dtype.
void check_rows(const run *r, const void *got, const double *want, double tolerance);

#endif
