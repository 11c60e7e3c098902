// The most likely path, a run of rows at a time.
//
// Backwards, the score of a bin is the best log probability of all that can follow; forwards, the
// path takes the best next bin, the lowest of equals. Whoever goes over the rows keeps the scores
// of some of them, and makes those between again on the way forward.
#ifndef TESS_SYSTEMS_DECODE_PATH_H
#define TESS_SYSTEMS_DECODE_PATH_H

#include "stage/decode_hmm.h"
#include "systems/decode/states/hmm.h"

// A model whose factors are logarithms, and what it works in.
typedef struct tess_de_path tess_de_path;

TESS_MUST_CHECK tess_status tess_de_path_create(tess_context *ctx, const tess_de_hmm *hmm,
                                                tess_de_path **out);
void tess_de_path_destroy(tess_de_path *path);
// What it holds, and for rows of covariates besides.
size_t tess_de_path_bytes(const tess_de_hmm *hmm);

// With logarithms; lives as long as the path.
const tess_hmm_model *tess_de_path_model(const tess_de_path *path);

// Scores of a chunk's rows from those of the row after it (next [N_s]), whose likelihood is one
// more row of chunk->ll; next NULL: nothing follows. scores [n_row][N_s], or NULL where first
// [N_s], the scores of the first row, is all that is wanted. next may be first.
TESS_MUST_CHECK tess_status tess_de_path_scores(tess_de_path *path, const tess_de_hmm_chunk *chunk,
                                                const double *next, double *scores, double *first);

// The bins of a chunk's rows, given their scores. from: that of the row before, or -1 where the
// path begins, by initial [N_s]. Row t of chunk->transition drives t-1 -> t here.
TESS_MUST_CHECK tess_status tess_de_path_trace(tess_de_path *path, const tess_de_hmm_chunk *chunk,
                                               const double *scores, const double *initial,
                                               int64_t from, int64_t *bins);

#endif
