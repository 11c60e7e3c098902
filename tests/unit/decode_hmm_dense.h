// Small hidden Markov models of every kind, and their answers by dense matrices.
#ifndef TESS_TESTS_DECODE_HMM_DENSE_H
#define TESS_TESTS_DECODE_HMM_DENSE_H

#include "systems/decode/states/hmm.h"
#include "unit_golden.h"

enum { DENSE_MAX_STATE = 5 };

typedef struct dense_case {
    const char *name;
    tess_de_hmm_desc desc;
    tess_decode_environment *owned[2];
    tess_decode_environment *env[DENSE_MAX_STATE];
    tess_decode_movement movements[DENSE_MAX_STATE * DENSE_MAX_STATE];
    int64_t ll_first[DENSE_MAX_STATE];
    int64_t first[DENSE_MAX_STATE + 1];
    int64_t n_row;
    int64_t stride;
    double *transition; // [1 or n_row][S][S]
    double *initial;
    double *ll; // [n_row][n_ll]
} dense_case;

int dense_case_count(void);
void dense_case_make(tess_context *ctx, int which, int is_exact, dense_case *out);
void dense_case_free(dense_case *c);

// The continuous part of the transition between two states' interior bins; free() it.
double *dense_movement(tess_context *ctx, const dense_case *c, int32_t from, int32_t to);

typedef struct dense_result {
    double *filtered; // [n_row][N_s]
    double *predicted;
    double *smoothed;
    int64_t *path;
    double log_evidence;
} dense_result;

dense_result dense_run(tess_context *ctx, const dense_case *c);
void dense_free_result(dense_result *result);

// Uniform in [0, 1) from a state of its own.
double dense_random(uint64_t *state);

#endif
