// Stratified shuffle splits are scikit-learn's, index by index.
#include "unit.h"
#include "unit_golden.h"

#include "systems/autoreject/threshold/splits.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const SEEDS[] = {"0", "42", "435656", "4294967295"};

typedef struct drawn {
    int64_t n_train;
    int64_t n_validation;
    uint8_t *is_validation;
    int64_t *train;
    int64_t *validation;
} drawn;

static drawn draw(tess_context *ctx, int64_t n_row, int64_t n_class0, int64_t n_split,
                  uint32_t seed)
{
    drawn d = {0};
    tess_ar_split_sizes(n_row, &d.n_train, &d.n_validation);
    d.is_validation = malloc((size_t)(n_row * n_split));
    d.train = malloc((size_t)(d.n_train * n_split) * sizeof *d.train);
    d.validation = malloc((size_t)(d.n_validation * n_split) * sizeof *d.validation);
    assert_ok(tess_ar_stratified_splits(ctx, n_row, n_class0, n_split, seed, d.is_validation,
                                        d.train, d.validation));
    return d;
}

static void drop(drawn *d)
{
    free(d->is_validation);
    free(d->train);
    free(d->validation);
}

static void compare_lists(tess_context *ctx, const char *file, const char *train_name,
                          const char *validation_name, const drawn *d, int64_t n_split)
{
    int64_t n = 0;
    int64_t *want = golden_i64(ctx, file, train_name, &n);
    assert_int_equal(n, n_split * d->n_train);
    assert_memory_equal(d->train, want, (size_t)n * sizeof *want);
    free(want);
    want = golden_i64(ctx, file, validation_name, &n);
    assert_int_equal(n, n_split * d->n_validation);
    assert_memory_equal(d->validation, want, (size_t)n * sizeof *want);
    free(want);
}

static void splits_are_scikit_learns(void **state)
{
    (void)state;
    static const int64_t rows[] = {14, 66, 80, 31};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(SEEDS); k++) {
        const uint32_t seed = (uint32_t)strtoul(SEEDS[k], NULL, 10);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
            char train[64], validation[64];
            const int64_t n_class0 = rows[r] == 31 ? 31 : rows[r] / 2;
            snprintf(train, sizeof train, "s%s_M%d_train", SEEDS[k], (int)rows[r]);
            snprintf(validation, sizeof validation, "s%s_M%d_val", SEEDS[k], (int)rows[r]);
            drawn d = draw(ctx, rows[r], n_class0, 10, seed);
            compare_lists(ctx, "autoreject/ar07_random", train, validation, &d, 10);
            drop(&d);
        }
        char name[64];
        snprintf(name, sizeof name, "s%s_M1000_isval", SEEDS[k]);
        int64_t n = 0;
        int64_t *packed = golden_i64(ctx, "autoreject/ar07_random", name, &n);
        assert_int_equal(n, 125 * 10);
        drawn d = draw(ctx, 1000, 500, 10, seed);
        for (int64_t i = 0; i < 1000 * 10; i++) {
            const int64_t bit = packed[i / 80 * 10 + i % 10] >> (i / 10 % 8) & 1;
            assert_int_equal(d.is_validation[i], bit);
        }
        drop(&d);
        free(packed);
    }
    tess_context_destroy(ctx);
}

static void splits_of_whole_fits(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int64_t n_epoch;
        uint32_t seed;
    } fits[] = {{"autoreject/ar01_eeg_40x24x60", 40, 42},
                {"autoreject/ar02_eeg_odd_37x20x45", 37, 7}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(fits); k++) {
        const int64_t n = fits[k].n_epoch;
        drawn d = draw(ctx, 2 * n, n, 10, fits[k].seed);
        compare_lists(ctx, fits[k].file, "split_train", "split_val", &d, 10);
        int64_t *want = golden_i64(ctx, fits[k].file, "split_isval", NULL);
        for (int64_t i = 0; i < 2 * n * 10; i++) {
            assert_int_equal(d.is_validation[i], want[i]);
        }
        free(want);
        drop(&d);
    }
    tess_context_destroy(ctx);
}

// More splits begin with the fewer ones, and every split uses each row once.
static void splits_are_complete(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    for (int64_t n_row = 2; n_row < 60; n_row++) {
        const bool two = n_row % 2 == 0 && n_row >= 6;
        drawn few = draw(ctx, n_row, two ? n_row / 2 : n_row, 3, 9);
        drawn many = draw(ctx, n_row, two ? n_row / 2 : n_row, 8, 9);
        assert_memory_equal(few.train, many.train, (size_t)(3 * few.n_train) * sizeof(int64_t));
        for (int64_t s = 0; s < 8; s++) {
            int64_t seen[60] = {0};
            for (int64_t i = 0; i < many.n_train; i++) {
                seen[many.train[s * many.n_train + i]]++;
            }
            for (int64_t i = 0; i < many.n_validation; i++) {
                const int64_t row = many.validation[s * many.n_validation + i];
                seen[row]++;
                assert_int_equal(many.is_validation[row * 8 + s], 1);
            }
            for (int64_t r = 0; r < n_row; r++) {
                assert_int_equal(seen[r], 1);
            }
        }
        drop(&few);
        drop(&many);
    }
    tess_context_destroy(ctx);
}

static void too_few_epochs_are_refused(void **state)
{
    (void)state;
    assert_ok(tess_ar_check_splits(3, true));
    assert_ok(tess_ar_check_splits(2, false));
    assert_fails(tess_ar_check_splits(2, true), TESS_E_SHAPE, "at least 3 with augmentation");
    assert_fails(tess_ar_check_splits(1, false), TESS_E_SHAPE, "at least 2, but there are 1");
    assert_fails(tess_ar_check_splits(0, false), TESS_E_SHAPE, "there are 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_scikit_learns),
        cmocka_unit_test(splits_of_whole_fits),
        cmocka_unit_test(splits_are_complete),
        cmocka_unit_test(too_few_epochs_are_refused),
    };
    return cmocka_run_group_tests_name("autoreject_splits", tests, NULL, NULL);
}
