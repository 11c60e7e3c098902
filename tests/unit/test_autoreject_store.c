// The store of rearranged samples, and the rules of votes, repairs and folds.
#include "autoreject_data.h"
#include "systems/autoreject/local/local.h"
#include "systems/autoreject/store/store.h"

#include <string.h>
#include <unistd.h>

static tess_ar_store_request request_of(ar_data *d, int64_t *channels, uint64_t memory_bytes)
{
    for (int64_t c = 0; c < d->n_chan; c++) {
        channels[c] = c;
    }
    return (tess_ar_store_request){.device = d->epochs->ctx->device,
                                   .epochs = d->epochs,
                                   .channels = channels,
                                   .n_chan = d->n_chan,
                                   .folder = unit_path("."),
                                   .memory_bytes = memory_bytes};
}

static void check_tiles(tess_ar_store *store, const ar_data *d)
{
    for (int64_t k = 0; k < store->n_tile; k++) {
        const double *tile = NULL;
        assert_ok(tess_ar_store_tile(store, k, &tile));
        for (int64_t r = 0; r < d->n_epoch * d->n_chan; r++) {
            for (int64_t i = 0; i < TESS_AR_TILE; i++) {
                const int64_t t = k * TESS_AR_TILE + i;
                const double want = t < d->n_time ? d->x[r * d->n_time + t] : 0;
                assert_true(tile[r * TESS_AR_TILE + i] == want);
            }
        }
    }
}

static void check_delta(const tess_ar_store *store, const ar_data *d)
{
    for (int64_t r = 0; r < d->n_epoch * d->n_chan; r++) {
        const double *x = d->x + r * d->n_time;
        double low = x[0];
        double high = x[0];
        for (int64_t t = 1; t < d->n_time; t++) {
            low = x[t] < low ? x[t] : low;
            high = x[t] > high ? x[t] : high;
        }
        assert_true(store->delta[r] == high - low);
    }
}

static void tiles_hold_the_samples_in_memory_and_in_a_file(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        {1, 1, 1}, {15, 3, 16}, {17, 4, 17}, {60, 24, 130}, {40, 24, 1300}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        tess_context *ctx = unit_context(2, 0);
        ar_data d = ar_data_make(ctx, sizes[i][0], sizes[i][1], sizes[i][2], i);
        int64_t channels[32];
        tess_ar_store_request request = request_of(&d, channels, UINT64_MAX);
        uint64_t all_bytes = 0;
        uint64_t least_bytes = 0;
        assert_ok(tess_ar_store_sizes(&request, &all_bytes, &least_bytes));
        const uint64_t limits[] = {UINT64_MAX, least_bytes, 3 * least_bytes};
        for (size_t m = 0; m < ARRAY_LEN(limits); m++) {
            tess_ar_store store;
            request.memory_bytes = limits[m];
            assert_ok(tess_ar_store_create(ctx, &request, &store));
            assert_true(m != 0 || store.scratch_fd < 0);
            assert_true(m != 1 || i == 0 || store.scratch_fd >= 0);
            check_tiles(&store, &d);
            check_tiles(&store, &d); // from the last tile back to the first
            check_delta(&store, &d);
            tess_ar_store_close(&store);
            tess_ar_store_close(&store);
        }
        request.memory_bytes = i == 0 ? 8 : least_bytes - 1;
        tess_ar_store store;
        assert_fails(tess_ar_store_create(ctx, &request, &store), TESS_E_LIMIT, "memory limit");
        ar_data_free(&d);
        tess_context_destroy(ctx);
    }
    assert_int_equal(unit_count_files(), 0);
}

static void a_kept_file_is_opened_again(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 20, 6, 50, 3);
    int64_t channels[32];
    tess_ar_store_request request = request_of(&d, channels, 0);
    uint64_t all_bytes = 0;
    assert_ok(tess_ar_store_sizes(&request, &all_bytes, &request.memory_bytes));
    request.kept_path = unit_path("kept.samples");
    tess_ar_store store;
    assert_ok(tess_ar_store_create(ctx, &request, &store));
    tess_ar_store_close(&store);
    assert_ok(tess_ar_store_reopen(ctx, &request, &store));
    check_tiles(&store, &d);
    tess_ar_store_close(&store);
    assert_int_equal(truncate(request.kept_path, (off_t)all_bytes - 1), 0);
    assert_fails(tess_ar_store_reopen(ctx, &request, &store), TESS_E_TRUNCATED, "are expected");
    assert_int_equal(unlink(request.kept_path), 0);
    request.kept_path = unit_path("nowhere/kept.samples");
    assert_fails(tess_ar_store_create(ctx, &request, &store), TESS_E_CREATE, "cannot create");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void predictions_have_peak_to_peaks_too(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(3, 0);
    ar_data d = ar_data_make(ctx, 30, 8, 40, 5);
    int64_t channels[32];
    tess_ar_store_request request = request_of(&d, channels, UINT64_MAX);
    double weights[8 * 8];
    uint64_t s = 9, least_bytes = 0;
    for (int i = 0; i < 64; i++) {
        weights[i] = i % 9 == 0 ? 0 : ar_uniform(&s) - 0.3;
    }
    request.leave_one_out = weights;
    request.keeps_predictions = true;
    tess_ar_store store;
    assert_ok(tess_ar_store_create(ctx, &request, &store));
    assert_non_null(store.predicted);
    for (int64_t e = 0; e < d.n_epoch; e++) {
        for (int64_t c = 0; c < 8; c++) {
            const double *kept = store.predicted + (e * 8 + c) * TESS_AR_TILE;
            double low = 0;
            double high = 0;
            for (int64_t t = 0; t < d.n_time; t++) {
                double y = 0;
                for (int64_t i = 0; i < 8; i++) {
                    y += weights[c * 8 + i] * d.x[(e * 8 + i) * d.n_time + t];
                }
                low = t == 0 || y < low ? y : low;
                high = t == 0 || y > high ? y : high;
                const int64_t at = t / TESS_AR_TILE * (int64_t)store.tile_items + t % TESS_AR_TILE;
                assert_true(fabs(kept[at] - y) <= 1e-13 * 1e-4);
            }
            const double got = store.delta_augmented[e * 8 + c];
            assert_true(fabs(got - (high - low)) <= 1e-13 * (high - low));
            // Behind the last of 40 samples
            assert_true(kept[2 * store.tile_items + 8] == 0);
        }
    }
    tess_ar_store_close(&store);
    assert_ok(tess_ar_store_sizes(&request, &request.memory_bytes, &least_bytes));
    request.memory_bytes *= 2; // with the peak-to-peaks too few for both
    assert_ok(tess_ar_store_create(ctx, &request, &store));
    assert_true(store.scratch_fd < 0 && !store.predicted);
    tess_ar_store_close(&store);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 40, 5, 30, 1);
    int64_t channels[32];
    const tess_ar_store_request request = request_of(&d, channels, UINT64_MAX);
    tess_ar_store store;
    d.x[(17 * 5 + 3) * 30 + 12] = (double)NAN;
    d.x[(17 * 5 + 4) * 30 + 2] = (double)NAN;
    d.x[(31 * 5 + 0) * 30 + 29] = -(double)INFINITY;
    assert_fails(tess_ar_store_create(ctx, &request, &store), TESS_E_NUMERIC,
                 "epoch 17, channel 'E04', sample 12 is NaN; 2 of 40 epochs");
    d.x[(2 * 5 + 1) * 30] = (double)INFINITY;
    assert_fails(tess_ar_store_create(ctx, &request, &store), TESS_E_NUMERIC,
                 "epoch 2, channel 'E02', sample 0 is infinite; 3 of 40 epochs");
    ar_data_fill(&d, 1);
    d.x[(4 * 5 + 2) * 30] = 1e308;
    d.x[(4 * 5 + 2) * 30 + 1] = -1e308;
    assert_fails(tess_ar_store_create(ctx, &request, &store), TESS_E_NUMERIC, "overflows");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void the_worst_channels_are_repaired(void **state)
{
    (void)state;
    static const double delta[2][5] = {{3, 9, 5, 9, 1}, {1, 2, 3, 4, 5}};
    static const double thresholds[5] = {3, 3, 3, 3, 3};
    int8_t labels[10];
    int64_t counts[2];
    tess_context *ctx = unit_context(1, 0);
    assert_ok(tess_ar_votes(ctx->device, &delta[0][0], thresholds, 2, 5, labels, counts));
    tess_context_destroy(ctx);
    static const int8_t votes[10] = {0, 1, 1, 1, 0, 0, 0, 0, 1, 1};
    assert_memory_equal(labels, votes, sizeof votes);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 2);
    tess_ar_select_repairs(labels, &delta[0][0], 2, 5, 1); // of two equal ones the later
    static const int8_t one[10] = {0, 1, 1, 2, 0, 0, 0, 0, 1, 2};
    assert_memory_equal(labels, one, sizeof one);
    tess_ar_select_repairs(labels, &delta[0][0], 2, 5, 1); // carried over
    static const int8_t two[10] = {0, 2, 1, 2, 0, 0, 0, 0, 2, 2};
    assert_memory_equal(labels, two, sizeof two);
    tess_ar_select_repairs(labels, &delta[0][0], 2, 5, 4);
    static const int8_t all[10] = {0, 2, 2, 2, 0, 0, 0, 0, 2, 2};
    assert_memory_equal(labels, all, sizeof all);
}

static void consensus_is_compared_in_double(void **state)
{
    (void)state;
    assert_false(tess_ar_epoch_is_bad(3, 3 * 0.1, 10)); // 0.30000000000000004
    assert_true(tess_ar_epoch_is_bad(4, 3 * 0.1, 10));
    assert_true(tess_ar_epoch_is_bad(3, 0.3, 10));
    assert_true(tess_ar_epoch_is_bad(0, 0, 10));
    assert_true(tess_ar_epoch_is_bad(10, 1, 10));
    assert_false(tess_ar_epoch_is_bad(9, 1, 10));
}

static void folds_are_contiguous(void **state)
{
    (void)state;
    uint8_t folds[3 * 7];
    assert_ok(tess_ar_contiguous_folds(7, 3, folds));
    static const uint8_t want[21] = {2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2};
    assert_memory_equal(folds, want, sizeof want);
    assert_fails(tess_ar_contiguous_folds(7, 8, folds), TESS_E_SHAPE,
                 "Cannot have number of splits n_splits=8 greater than the number of samples: "
                 "n_samples=7.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_hold_the_samples_in_memory_and_in_a_file),
        cmocka_unit_test(a_kept_file_is_opened_again),
        cmocka_unit_test(predictions_have_peak_to_peaks_too),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(the_worst_channels_are_repaired),
        cmocka_unit_test(consensus_is_compared_in_double),
        cmocka_unit_test(folds_are_contiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
