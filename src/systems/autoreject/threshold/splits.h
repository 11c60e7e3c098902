// Stratified shuffle splits one after another, for searches with more of them than fit in memory.
#ifndef TESS_AUTOREJECT_SPLITS_H
#define TESS_AUTOREJECT_SPLITS_H

#include "base/rng.h"
#include "runtime/context.h"

typedef struct tess_ar_splitter {
    tess_context *ctx;
    tess_mt19937 rng;
    int64_t n_row;
    int64_t n_class[2]; // rows of each class; the second may be empty
    int64_t n_train;
    int64_t n_validation;
    int64_t *permutation; // [n_row]
} tess_ar_splitter;

// What a split of so many rows leaves for training and for validation.
void tess_ar_split_sizes(int64_t n_row, int64_t *n_train, int64_t *n_validation);

TESS_MUST_CHECK tess_status tess_ar_splitter_create(tess_context *ctx, int64_t n_row,
                                                    int64_t n_class0, uint32_t seed,
                                                    tess_ar_splitter *out);
void tess_ar_splitter_destroy(tess_ar_splitter *splitter);

// The next split: train[n_train] and validation[n_validation], in scikit-learn's order.
void tess_ar_splitter_next(tess_ar_splitter *splitter, int64_t *train, int64_t *validation);

#endif
