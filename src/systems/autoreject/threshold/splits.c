#include "systems/autoreject/threshold/splits.h"

#include "base/status.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <math.h>
#include <string.h>

void tess_ar_split_sizes(int64_t n_row, int64_t *n_train, int64_t *n_validation)
{
    *n_validation = (int64_t)ceil(0.2 * (double)n_row);
    *n_train = n_row - *n_validation;
}

tess_status tess_ar_check_splits(int64_t n_epoch, bool two_classes)
{
    // A class needs a row on each side, and the fifth that validates a row of each class.
    const int64_t least = two_classes ? 3 : 2;
    if (n_epoch < least) {
        TESS_FAIL(
            TESS_E_SHAPE,
            "epochs: the threshold search splits them for cross-validation and needs at least "
            "%lld%s, but there are %lld; give more epochs",
            (long long)least, two_classes ? " with augmentation" : "", (long long)n_epoch);
    }
    return TESS_OK;
}

tess_status tess_ar_splitter_create(tess_context *ctx, int64_t n_row, int64_t n_class0,
                                    uint32_t seed, tess_ar_splitter *out)
{
    *out = (tess_ar_splitter){.ctx = ctx, .n_row = n_row, .n_class = {n_class0, n_row - n_class0}};
    tess_ar_split_sizes(n_row, &out->n_train, &out->n_validation);
    out->permutation = tess_heap_alloc(&ctx->heap, (size_t)n_row * sizeof *out->permutation,
                                       TESS_TAG_GENERAL, "splits");
    if (!out->permutation) {
        return TESS_E_MEMORY;
    }
    tess_mt19937_seed(&out->rng, seed);
    return TESS_OK;
}

void tess_ar_splitter_destroy(tess_ar_splitter *splitter)
{
    if (splitter->permutation) {
        tess_heap_free(&splitter->ctx->heap, splitter->permutation,
                       (size_t)splitter->n_row * sizeof *splitter->permutation, TESS_TAG_GENERAL);
    }
    splitter->permutation = NULL;
}

// Shares n_draw among the classes in proportion to count. What rounding down leaves goes to the
// largest remainders; among equal ones the generator decides, and is asked even if all get one.
static void allot(tess_mt19937 *rng, const int64_t count[2], int32_t n_class, int64_t n_draw,
                  int64_t share[2])
{
    const double total = (double)(count[0] + (n_class > 1 ? count[1] : 0));
    double remainder[2] = {0, 0};
    int64_t missing = n_draw;
    share[1] = 0;
    for (int32_t c = 0; c < n_class; c++) {
        const double exact = (double)count[c] / total * (double)n_draw;
        share[c] = (int64_t)floor(exact);
        remainder[c] = exact - floor(exact);
        missing -= share[c];
    }
    if (n_class > 1 && remainder[0] == remainder[1]) {
        int64_t first[2];
        if (missing > 0) {
            tess_mt19937_permutation(rng, 2, first);
        }
        for (int64_t k = 0; k < missing && k < 2; k++) {
            share[first[k]]++;
        }
        return;
    }
    const int32_t larger = remainder[1] > remainder[0];
    share[larger] += missing > 0;
    share[1 - larger] += missing > 1;
}

void tess_ar_splitter_next(tess_ar_splitter *splitter, int64_t *train, int64_t *validation)
{
    const int32_t n_class = splitter->n_class[1] > 0 ? 2 : 1;
    tess_mt19937 *rng = &splitter->rng;
    int64_t n_train[2];
    int64_t n_validation[2];
    allot(rng, splitter->n_class, n_class, splitter->n_train, n_train);
    const int64_t left[2] = {splitter->n_class[0] - n_train[0], splitter->n_class[1] - n_train[1]};
    allot(rng, left, n_class, splitter->n_validation, n_validation);
    int64_t *to_train = train;
    int64_t *to_validation = validation;
    for (int32_t c = 0; c < n_class; c++) {
        const int64_t first = c == 0 ? 0 : splitter->n_class[0];
        tess_mt19937_permutation(rng, splitter->n_class[c], splitter->permutation);
        for (int64_t i = 0; i < n_train[c]; i++) {
            *to_train++ = first + splitter->permutation[i];
        }
        for (int64_t i = 0; i < n_validation[c]; i++) {
            *to_validation++ = first + splitter->permutation[n_train[c] + i];
        }
    }
    tess_mt19937_shuffle(rng, train, splitter->n_train);
    tess_mt19937_shuffle(rng, validation, splitter->n_validation);
}

static tess_status draw_all(tess_ar_splitter *splitter, int64_t n_split, uint8_t *is_validation,
                            int64_t *train, int64_t *validation)
{
    tess_context *ctx = splitter->ctx;
    const size_t bytes = (size_t)splitter->n_row * sizeof(int64_t);
    int64_t *rows = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_GENERAL, "splits");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    memset(is_validation, 0, (size_t)splitter->n_row * (size_t)n_split);
    for (int64_t s = 0; s < n_split; s++) {
        int64_t *to_train = train ? train + s * splitter->n_train : rows;
        int64_t *to_validation =
            validation ? validation + s * splitter->n_validation : rows + splitter->n_train;
        tess_ar_splitter_next(splitter, to_train, to_validation);
        for (int64_t i = 0; i < splitter->n_validation; i++) {
            is_validation[to_validation[i] * n_split + s] = 1;
        }
    }
    tess_heap_free(&ctx->heap, rows, bytes, TESS_TAG_GENERAL);
    return TESS_OK;
}

tess_status tess_ar_stratified_splits(tess_context *ctx, int64_t n_row, int64_t n_class0,
                                      int64_t n_split, uint32_t seed, uint8_t *is_validation,
                                      int64_t *train, int64_t *validation)
{
    tess_ar_splitter splitter;
    TESS_TRY(tess_ar_splitter_create(ctx, n_row, n_class0, seed, &splitter));
    const tess_status status = draw_all(&splitter, n_split, is_validation, train, validation);
    tess_ar_splitter_destroy(&splitter);
    return status;
}
