// The threshold search gives the same bits whatever the threads, the memory and the interruptions.
#include "autoreject_by_hand.h"
#include "unit.h"

#include "systems/autoreject/threshold/thresholds.h"

#include <stdlib.h>
#include <string.h>

enum { N_EPOCH = 30, N_CHAN = 9, N_TIME = 70, N_SPLIT = 12 };

typedef struct sample_set {
    double *x;
    double weights[N_CHAN * N_CHAN];
    tess_ar_store store;
} sample_set;

static void open_sample(tess_context *ctx, sample_set *set)
{
    tess_mt19937 rng;
    tess_mt19937_seed(&rng, 5);
    set->x = random_epochs(&rng, N_EPOCH, N_CHAN, N_TIME, 0);
    for (int i = 0; i < N_CHAN * N_CHAN; i++) {
        set->weights[i] = i % (N_CHAN + 1) == 0 ? 0 : tess_mt19937_double(&rng) / N_CHAN;
    }
    set->store = store_of(ctx, set->x, N_EPOCH, N_CHAN, N_TIME);
    add_predictions(&set->store, set->x, set->weights);
}

static void close_sample(sample_set *set)
{
    drop_store(&set->store);
    free(set->x);
}

static void check_same(const tess_ar_threshold_result *got, const tess_ar_threshold_result *want)
{
    const size_t chan_bytes = N_CHAN * sizeof(double);
    assert_int_equal(got->n_all, want->n_all);
    assert_memory_equal(got->thresholds, want->thresholds, chan_bytes);
    assert_memory_equal(got->standard_errors, want->standard_errors, chan_bytes);
    assert_memory_equal(got->objectives, want->objectives, chan_bytes);
    assert_memory_equal(got->candidate_objectives, want->candidate_objectives,
                        (size_t)want->n_all * sizeof(double));
}

static void threads_and_memory_change_nothing(void **state)
{
    (void)state;
    static const int32_t searches[] = {TESS_AUTOREJECT_SEARCH_EXACT, TESS_AUTOREJECT_SEARCH_COMPAT};
    for (size_t k = 0; k < ARRAY_LEN(searches); k++) {
        tess_ar_threshold_result want = {0};
        tess_context *first = unit_context(1, 0);
        for (int32_t n_thread = 1; n_thread <= 3; n_thread++) {
            tess_context *ctx = n_thread == 1 ? first : unit_context(n_thread, 0);
            sample_set set;
            open_sample(ctx, &set);
            tess_ar_threshold_request request = {.store = &set.store,
                                                 .leave_one_out = set.weights,
                                                 .search = searches[k],
                                                 .n_split = N_SPLIT,
                                                 .seed = 1};
            int n_fit = 0;
            for (uint64_t bytes = 1 << 24; bytes > 20000; bytes -= bytes / 9) {
                tess_ar_threshold_result got;
                request.memory_bytes = bytes;
                if (tess_ar_search_thresholds(ctx, &request, &got) != TESS_OK) {
                    assert_contains(tess_last_error(), "needs at least");
                    break;
                }
                n_fit++;
                if (!want.ctx) {
                    want = got;
                    continue;
                }
                check_same(&got, &want);
                tess_ar_threshold_result_destroy(&got);
            }
            assert_true(n_fit > 30); // down to one channel and a few splits
            close_sample(&set);
            if (ctx != first) {
                tess_context_destroy(ctx);
            }
        }
        tess_ar_threshold_result_destroy(&want);
        tess_context_destroy(first);
    }
}

typedef struct keeper {
    int64_t stop_at; // tiles
    int64_t n_done;
    size_t bytes;
    void *kept;
} keeper;

static tess_status keep(void *user, int64_t n_tile_done, const void *state, size_t bytes)
{
    keeper *k = user;
    assert_int_equal(n_tile_done, k->n_done + 1);
    assert_true(k->bytes == 0 || k->bytes == bytes);
    k->n_done = n_tile_done;
    k->bytes = bytes;
    if (n_tile_done < k->stop_at) {
        return TESS_OK;
    }
    k->kept = malloc(bytes);
    memcpy(k->kept, state, bytes);
    return TESS_CANCELLED;
}

static void resumes_at_every_tile(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    sample_set set;
    open_sample(ctx, &set);
    tess_ar_threshold_request request = {
        .store = &set.store, .leave_one_out = set.weights, .n_split = N_SPLIT, .seed = 1};
    tess_ar_threshold_result want, got;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &want));
    for (int round = 0; round < 2; round++) {
        // All at once, then in passes over few channels or splits.
        request.memory_bytes = round ? 250000 : 0;
        int64_t n_stop = 0;
        for (;; n_stop++) {
            keeper k = {.stop_at = n_stop + 1};
            tess_ar_threshold_request stopped = request, resumed = request;
            stopped.keep = keep;
            stopped.user = &k;
            const tess_status status = tess_ar_search_thresholds(ctx, &stopped, &got);
            if (status == TESS_OK) {
                check_same(&got, &want);
                tess_ar_threshold_result_destroy(&got);
                assert_int_equal(k.n_done, n_stop);
                break;
            }
            assert_int_equal(status, TESS_CANCELLED);
            resumed.resume_state = k.kept;
            resumed.resume_bytes = k.bytes;
            resumed.resume_tiles = k.n_done;
            resumed.memory_bytes = 0; // other than when it was kept
            assert_ok(tess_ar_search_thresholds(ctx, &resumed, &got));
            check_same(&got, &want);
            tess_ar_threshold_result_destroy(&got);
            free(k.kept);
        }
        assert_true(round ? n_stop > set.store.n_tile : n_stop == set.store.n_tile);
    }
    tess_ar_threshold_result_destroy(&want);
    close_sample(&set);
    tess_context_destroy(ctx);
}

static void foreign_states_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    sample_set set;
    open_sample(ctx, &set);
    keeper k = {.stop_at = 2};
    tess_ar_threshold_request request = {.store = &set.store,
                                         .leave_one_out = set.weights,
                                         .n_split = N_SPLIT,
                                         .keep = keep,
                                         .user = &k};
    tess_ar_threshold_result result;
    assert_int_equal(tess_ar_search_thresholds(ctx, &request, &result), TESS_CANCELLED);
    request.keep = NULL;
    request.resume_state = k.kept;
    request.resume_tiles = k.n_done;
    request.resume_bytes = 10;
    assert_fails(tess_ar_search_thresholds(ctx, &request, &result), TESS_E_MISMATCH, "10 bytes");
    request.resume_bytes = k.bytes - 8;
    assert_fails(tess_ar_search_thresholds(ctx, &request, &result), TESS_E_MISMATCH, "instead of");
    request.resume_bytes = k.bytes;
    request.n_split = 3;
    assert_fails(tess_ar_search_thresholds(ctx, &request, &result), TESS_E_MISMATCH, "12 splits");
    free(k.kept);
    close_sample(&set);
    tess_context_destroy(ctx);
}

static void cancel_and_failures(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    sample_set set;
    open_sample(ctx, &set);
    const tess_ar_threshold_request request = {
        .store = &set.store, .leave_one_out = set.weights, .n_split = N_SPLIT};
    tess_ar_threshold_result result;
    tess_context_cancel(ctx);
    assert_int_equal(tess_ar_search_thresholds(ctx, &request, &result), TESS_CANCELLED);
    tess_context_cancel_clear(ctx);
    set.store.n_epoch = 2;
    assert_fails(tess_ar_search_thresholds(ctx, &request, &result), TESS_E_SHAPE, "at least 3");
    close_sample(&set);
    tess_context_destroy(ctx);
}

// Every allocation in turn fails; nothing is lost.
static void memory_failures_leak_nothing(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    sample_set set;
    open_sample(ctx, &set);
    const tess_ar_threshold_request request = {.store = &set.store,
                                               .leave_one_out = set.weights,
                                               .search = TESS_AUTOREJECT_SEARCH_COMPAT,
                                               .n_split = 2};
    for (long long fail_at = 1;; fail_at++) {
        unit_allocator allocator;
        tess_context_config config;
        tess_context *failing = NULL;
        unit_allocator_init(&allocator, 0);
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator.table;
        assert_ok(tess_context_create(&config, &failing));
        const long long n_live = allocator.n_live;
        allocator.fail_at = allocator.n_alloc + fail_at;
        tess_ar_threshold_result result;
        const tess_status status = tess_ar_search_thresholds(failing, &request, &result);
        if (status == TESS_OK) {
            tess_ar_threshold_result_destroy(&result);
        } else {
            assert_int_equal(status, TESS_E_MEMORY);
        }
        assert_true(allocator.n_live <= n_live + 2); // the pool's threads start once
        tess_context_destroy(failing);
        assert_int_equal(allocator.n_live, 0);
        if (status == TESS_OK) {
            break;
        }
    }
    close_sample(&set);
    tess_context_destroy(ctx);
}

// Powers of two scale thresholds and objectives exactly; channels in another order, results too.
static void scaling_and_permuting(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    sample_set set;
    open_sample(ctx, &set);
    tess_ar_threshold_request request = {.store = &set.store, .n_split = N_SPLIT, .seed = 8};
    tess_ar_threshold_result want, got;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &want));
    const int64_t n_row = N_EPOCH * N_CHAN;
    double *other = malloc(sizeof(double) * N_EPOCH * N_CHAN * N_TIME);
    for (int64_t i = 0; i < n_row * N_TIME; i++) {
        const int64_t c = i / N_TIME % N_CHAN;
        const int64_t from = i + (N_CHAN - 1 - 2 * c) * N_TIME;
        other[i] = set.x[from] * 0x1p-20;
    }
    tess_ar_store store = store_of(ctx, other, N_EPOCH, N_CHAN, N_TIME);
    request.store = &store;
    assert_ok(tess_ar_search_thresholds(ctx, &request, &got));
    for (int c = 0; c < N_CHAN; c++) {
        assert_true(got.thresholds[c] == want.thresholds[N_CHAN - 1 - c] * 0x1p-20);
        assert_true(got.objectives[c] == want.objectives[N_CHAN - 1 - c] * 0x1p-20);
    }
    tess_ar_threshold_result_destroy(&want);
    tess_ar_threshold_result_destroy(&got);
    drop_store(&store);
    free(other);
    close_sample(&set);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_memory_change_nothing),
        cmocka_unit_test(resumes_at_every_tile),
        cmocka_unit_test(foreign_states_are_refused),
        cmocka_unit_test(cancel_and_failures),
        cmocka_unit_test(memory_failures_leak_nothing),
        cmocka_unit_test(scaling_and_permuting),
    };
    return cmocka_run_group_tests_name("autoreject_thresholds_runs", tests, NULL, NULL);
}
