#include "autoreject_golden.h"

#define AR05 "autoreject/ar05_global_48x12x40"

enum { N_EPOCH = 48, N_CHAN = 14, N_TIME = 40 };

// The golden recording: 12 EEG channels, the third marked bad, and 2 EOG.
static ar_data golden_data(tess_context *ctx)
{
    ar_data d = ar_golden_eeg(ctx, AR05, N_EPOCH, N_CHAN, N_TIME);
    d.channels[12].type = d.channels[13].type = TESS_AUTOREJECT_EOG;
    d.channels[2].is_bad = 1;
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    return d;
}

static const int64_t EEG[11] = {0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int64_t EOG[2] = {12, 13};

typedef struct answer {
    tess_autoreject_global_result r;
    double candidates[256];
    double objectives[256];
} answer;

static tess_autoreject_global_config defaults(int32_t search)
{
    tess_autoreject_global_config config;
    tess_autoreject_global_config_init(&config, sizeof config);
    config.search = search;
    return config;
}

static tess_status run(tess_context *ctx, const ar_data *d, const int64_t *channels,
                       int64_t n_channel, const tess_autoreject_global_config *config, answer *a)
{
    a->r = (tess_autoreject_global_result){
        .struct_size = sizeof a->r, .candidates = a->candidates, .objectives = a->objectives};
    return tess_autoreject_global(ctx, d->epochs, channels, n_channel, config, &a->r);
}

static void expect_relative(const double *got, const double *want, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++) {
        assert_near(&got[i], &want[i], 1, tolerance * fabs(want[i]));
    }
}

static void golden_thresholds_agree(void **state)
{
    (void)state;
    static const struct {
        const char *threshold;
        const char *candidates; // NULL: not in the file
        const char *objectives;
        const int64_t *channels;
        int64_t n_channel;
        int64_t n_fold;
        int64_t decim;
    } cases[] = {
        {"thr_eeg", "cand_eeg", "J_eeg", EEG, 11, 5, 1},
        {"thr_eog", "cand_eog", "J_eog", EOG, 2, 5, 1},
        {"thr_eeg_cv7", "cand_eeg", NULL, EEG, 11, 7, 1},
        {"thr_eeg_decim", NULL, NULL, EEG, 11, 5, 2},
        {"thr_eog_decim", NULL, NULL, EOG, 2, 5, 2},
    };
    tess_context *ctx = unit_context(2, 0);
    ar_data d = golden_data(ctx);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        tess_autoreject_global_config config = defaults(1);
        config.n_fold = cases[k].n_fold;
        config.decim = cases[k].decim;
        answer a;
        assert_ok(run(ctx, &d, cases[k].channels, cases[k].n_channel, &config, &a));
        assert_true(a.r.threshold == golden_scalar(ctx, AR05, cases[k].threshold));
        assert_int_equal(a.r.n_candidate, N_EPOCH);
        if (cases[k].candidates) {
            double *want = golden_f64(ctx, AR05, cases[k].candidates, NULL);
            assert_memory_equal(a.candidates, want, N_EPOCH * sizeof *want);
            free(want);
        }
        if (cases[k].objectives) {
            double *want = golden_f64(ctx, AR05, cases[k].objectives, NULL);
            expect_relative(a.objectives, want, N_EPOCH, 1e-12);
            free(want);
        }
        // The exact search finds nothing worse, and the first of the best.
        const double compat = a.r.objective;
        config.search = 0;
        assert_ok(run(ctx, &d, cases[k].channels, cases[k].n_channel, &config, &a));
        assert_true(a.r.objective <= compat);
        for (int64_t i = 0; i < N_EPOCH; i++) {
            assert_true(a.candidates[i] < a.r.threshold ? a.objectives[i] > a.r.objective
                                                        : a.objectives[i] >= a.r.objective);
        }
    }
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void golden_validation_curves_agree(void **state)
{
    (void)state;
    static const struct {
        const char *thresholds, *train, *test;
        int64_t n_fold;
    } cases[] = {{"vc_range", "vc_train", "vc_test", 5}, {"vc2_range", "vc2_train", "vc2_test", 4}};
    tess_context *ctx = unit_context(2, 0);
    ar_data d = golden_data(ctx);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        int64_t n_threshold = 0, n = 0;
        double *thresholds = golden_f64(ctx, AR05, cases[k].thresholds, &n_threshold);
        double *train = golden_f64(ctx, AR05, cases[k].train, &n);
        double *test = golden_f64(ctx, AR05, cases[k].test, NULL);
        assert_int_equal(n, n_threshold * cases[k].n_fold);
        double got_train[75], got_test[75], alone[75];
        assert_ok(tess_autoreject_validation_curve(ctx, d.epochs, EEG, 11, thresholds, n_threshold,
                                                   NULL, cases[k].n_fold, got_train, got_test));
        expect_relative(got_train, train, n, 1e-12);
        expect_relative(got_test, test, n, 1e-12);
        assert_ok(tess_autoreject_validation_curve(ctx, d.epochs, EEG, 11, thresholds, n_threshold,
                                                   NULL, cases[k].n_fold, NULL, alone));
        assert_memory_equal(alone, got_test, (size_t)n * sizeof *alone);
        free(thresholds);
        free(train);
        free(test);
    }
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void golden_formula_agrees(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_golden_formula(ctx);
    int64_t *channels = ar_first_channels(16);
    const tess_autoreject_global_config config = defaults(1);
    answer a;
    assert_ok(run(ctx, &d, channels, 16, &config, &a));
    const double want = 3.896539826982289e-05;
    expect_relative(&a.r.threshold, &want, 1, 1e-9);
    free(channels);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Largest peak-to-peak of an epoch.
static double peak_of(const ar_data *d, int64_t e)
{
    double peak = 0;
    for (int64_t c = 0; c < d->n_chan; c++) {
        const double *x = d->x + (e * d->n_chan + c) * d->n_time;
        double low = x[0], high = x[0];
        for (int64_t t = 1; t < d->n_time; t++) {
            low = fmin(low, x[t]);
            high = fmax(high, x[t]);
        }
        peak = fmax(peak, high - low);
    }
    return peak;
}

// The loss of a fold as the definition says it; part 1 or 2: whose median.
static double naive_loss(const ar_data *d, const uint8_t *fold, int part, double threshold)
{
    double sum = 0, values[256];
    const int64_t n_value = d->n_chan * d->n_time;
    for (int64_t i = 0; i < n_value; i++) {
        double mean = 0;
        int64_t n_kept = 0, n_median = 0;
        for (int64_t e = 0; e < d->n_epoch; e++) {
            if (fold[e] == 1 && peak_of(d, e) <= threshold) {
                mean += d->x[e * n_value + i];
                n_kept++;
            }
            if (fold[e] == part) {
                values[n_median++] = d->x[e * n_value + i];
            }
        }
        if (n_kept == 0) {
            return (double)INFINITY;
        }
        qsort(values, (size_t)n_median, sizeof *values, by_value);
        const double median = (values[(n_median - 1) / 2] + values[n_median / 2]) / 2;
        sum += (median - mean / (double)n_kept) * (median - mean / (double)n_kept);
    }
    return sqrt(sum / (double)n_value);
}

// Folds that overlap and leave epochs out, thresholds in any order, data with many ties.
static void random_curves_agree_with_the_definition(void **state)
{
    (void)state;
    enum { N = 23, N_FOLD = 3, N_THRESHOLD = 6 };
    tess_context *ctx = unit_context(2, 0);
    for (uint64_t round = 0; round < (unit_is_quick() ? 2 : 8); round++) {
        ar_data d = ar_data_make(ctx, N, 3, 5 + 9 * (int64_t)round, round);
        for (int64_t i = 0; round % 2 && i < N * 3 * d.n_time; i++) {
            d.x[i] = rint(d.x[i] / 20e-6) * 20e-6; // few values: ties in peaks and samples
        }
        uint64_t s = round + 100;
        uint8_t folds[N_FOLD * N];
        for (int64_t i = 0; i < N_FOLD * N; i++) {
            folds[i] = i % N == 0 ? 2 : (uint8_t)(3 * ar_uniform(&s));
        }
        double thresholds[N_THRESHOLD] = {1e9, 0, -1};
        for (int64_t k = 2; k < N_THRESHOLD; k++) {
            thresholds[k] = peak_of(&d, (int64_t)(N * ar_uniform(&s)));
        }
        const int64_t channels[3] = {0, 1, 2};
        double train[N_THRESHOLD * N_FOLD], test[N_THRESHOLD * N_FOLD];
        assert_ok(tess_autoreject_validation_curve(ctx, d.epochs, channels, 3, thresholds,
                                                   N_THRESHOLD, folds, N_FOLD, train, test));
        for (int64_t i = 0; i < N_THRESHOLD * N_FOLD; i++) {
            const uint8_t *fold = folds + i % N_FOLD * N;
            const double threshold = thresholds[i / N_FOLD];
            const double want_train = -naive_loss(&d, fold, 1, threshold);
            const double want_test = -naive_loss(&d, fold, 2, threshold);
            expect_relative(&train[i], &want_train, 1, 1e-12);
            expect_relative(&test[i], &want_test, 1, 1e-12);
        }
        ar_data_free(&d);
    }
    tess_context_destroy(ctx);
}

// Candidates are distinct, ties are kept together, folds are contiguous.
static void random_objectives_agree_with_the_definition(void **state)
{
    (void)state;
    enum { N = 22, N_FOLD = 4 };
    tess_context *ctx = unit_context(3, 0);
    for (uint64_t round = 0; round < 4; round++) {
        ar_data d = ar_data_make(ctx, N, 4, 20, round);
        for (int64_t i = 0; round % 2 && i < N * 4 * 20; i++) {
            d.x[i] = rint(d.x[i] / 40e-6) * 40e-6;
        }
        tess_autoreject_global_config config = defaults(0);
        config.n_fold = N_FOLD;
        const int64_t channels[4] = {0, 1, 2, 3};
        answer a;
        assert_ok(run(ctx, &d, channels, 4, &config, &a));
        assert_true(round % 2 ? a.r.n_candidate < N : a.r.n_candidate == N);
        double best = (double)INFINITY, threshold = 0;
        for (int64_t k = 0; k < a.r.n_candidate; k++) {
            assert_true(k == 0 || a.candidates[k] > a.candidates[k - 1]);
            double want = 0;
            for (int64_t f = 0; f < N_FOLD; f++) {
                uint8_t fold[N];
                for (int64_t e = 0; e < N; e++) { // 6, 6, 5, 5
                    const int64_t part = e < 12 ? e / 6 : 2 + (e - 12) / 5;
                    fold[e] = part == f ? 2 : 1;
                }
                want += naive_loss(&d, fold, 2, a.candidates[k]);
            }
            want /= N_FOLD;
            expect_relative(&a.objectives[k], &want, 1, 1e-12);
            if (a.objectives[k] < best) {
                best = a.objectives[k];
                threshold = a.candidates[k];
            }
        }
        assert_true(a.r.objective == best && a.r.threshold == threshold);
        ar_data_free(&d);
    }
    tess_context_destroy(ctx);
}

// Neither the threads, nor the memory, nor how samples are stored shows in a result; twice the data
// have twice the threshold.
static void nothing_else_shows_in_the_result(void **state)
{
    (void)state;
    enum { N = 37, CHAN = 40, TIME = 50 };
    answer want = {0};
    for (int32_t n_thread = 1; n_thread <= 4; n_thread++) {
        for (int is_limited = 0; is_limited < 2; is_limited++) {
            tess_context *ctx = unit_context(n_thread, is_limited ? 400 << 10 : 0);
            ar_data d = ar_data_make(ctx, N, CHAN, TIME, 9);
            int64_t *channels = ar_first_channels(CHAN);
            const tess_autoreject_global_config config = defaults(0);
            answer a = {0};
            assert_ok(run(ctx, &d, channels, CHAN, &config, &a));
            if (n_thread == 1 && !is_limited) {
                want = a;
            }
            assert_memory_equal(a.objectives, want.objectives, sizeof want.objectives);
            assert_memory_equal(a.candidates, want.candidates, sizeof want.candidates);
            for (int64_t i = 0; i < N * CHAN * TIME; i++) {
                d.x[i] *= 16;
            }
            assert_ok(run(ctx, &d, channels, CHAN, &config, &a));
            assert_true(a.r.threshold == 16 * want.r.threshold);
            assert_true(a.r.objective == 16 * want.r.objective);
            free(channels);
            ar_data_free(&d);
            tess_context_destroy(ctx);
        }
    }
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, 6, 3, 10, 1);
    d.channels[2].type = TESS_AUTOREJECT_EOG;
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    const int64_t channels[4] = {0, 1, 2, 1};
    tess_autoreject_global_config config = defaults(0);
    tess_autoreject_global_result r = {.struct_size = sizeof r};
#define RUN(n) tess_autoreject_global(ctx, d.epochs, channels, (n), &config, &r)
    assert_ok(RUN(2)); // no array is wanted
    assert_fails(RUN(0), TESS_E_ARGUMENT, "channels: none are given");
    assert_fails(RUN(3), TESS_E_ARGUMENT, "'E01' is of type eeg and 'E03' of type eog");
    assert_fails(RUN(4), TESS_E_ARGUMENT, "'E02' (1) occurs twice");
    config.n_fold = 7;
    assert_fails(RUN(2), TESS_E_SHAPE,
                 "Cannot have number of splits n_splits=7 greater than the number of samples: "
                 "n_samples=6.");
    config.n_fold = 1;
    assert_fails(RUN(2), TESS_E_RANGE, "n_fold");
    config = defaults(0);
    config.decim = 0;
    assert_fails(RUN(2), TESS_E_RANGE, "decim");
    config.decim = 100; // time 0 is 20 samples on, and none is left
    assert_fails(RUN(2), TESS_E_RANGE, "leaves fewer than two");
    config.decim = 9; // one sample, whose peak-to-peak amplitude is 0: a threshold that drops all
    assert_fails(RUN(2), TESS_E_RANGE, "leaves fewer than two");
#undef RUN
    const double thresholds[2] = {1e-5, (double)NAN};
    uint8_t folds[6] = {1, 1, 1, 2, 2, 3};
    double test[4];
#define CURVE(n, folds, n_fold)                                                                    \
    tess_autoreject_validation_curve(ctx, d.epochs, channels, 3, thresholds, (n), (folds),         \
                                     (n_fold), NULL, test)
    assert_fails(CURVE(0, NULL, 2), TESS_E_ARGUMENT, "thresholds: none are given");
    assert_fails(CURVE(2, NULL, 2), TESS_E_RANGE, "thresholds[1]: NaN");
    assert_fails(CURVE(1, NULL, 1), TESS_E_RANGE, "n_fold: 1");
    assert_fails(CURVE(1, NULL, 9), TESS_E_SHAPE, "n_splits=9 greater");
    assert_fails(CURVE(1, folds, 1), TESS_E_RANGE, "folds[0][5]: 3");
    memset(folds, 1, sizeof folds);
    assert_fails(CURVE(1, folds, 1), TESS_E_ARGUMENT, "fold 0 tests no epoch");
    memset(folds, 2, sizeof folds); // none trains: nothing can be kept
    assert_ok(CURVE(1, folds, 1));
    assert_true(isinf(test[0]) && test[0] < 0);
    d.x[(4 * 3 + 1) * 10 + 7] = (double)NAN;
    assert_fails(CURVE(1, NULL, 2), TESS_E_NUMERIC, "epoch 4, channel 'E02', sample 7 is NaN");
#undef CURVE
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// Every allocation in turn fails; nothing is lost.
static void memory_failures_leak_nothing(void **state)
{
    (void)state;
    tess_status status = TESS_E_MEMORY;
    for (long long fail_at = 1; status != TESS_OK; fail_at++) {
        unit_allocator allocator;
        tess_context_config config;
        tess_context *ctx = NULL;
        unit_allocator_init(&allocator, 0);
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator.table;
        assert_ok(tess_context_create(&config, &ctx));
        ar_data d = ar_data_make(ctx, 12, 4, 10, 1);
        const int64_t channels[4] = {0, 1, 2, 3};
        tess_autoreject_global_config options = defaults(1);
        options.decim = 2;
        tess_autoreject_global_result r = {.struct_size = sizeof r};
        allocator.fail_at = allocator.n_alloc + fail_at;
        status = tess_autoreject_global(ctx, d.epochs, channels, 4, &options, &r);
        assert_true(status == TESS_OK || status == TESS_E_MEMORY);
        ar_data_free(&d);
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
    }
}

static int stop_at_once(void *user, const tess_progress *progress)
{
    (void)user;
    return strcmp(progress->stage, "autoreject.global") == 0;
}

static void a_run_can_be_stopped(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.progress = stop_at_once;
    config.n_thread = 2;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    ar_data d = ar_data_make(ctx, 60, 20, 1000, 1);
    int64_t *channels = ar_first_channels(20);
    tess_autoreject_global_result r = {.struct_size = sizeof r};
    assert_int_equal(tess_autoreject_global(ctx, d.epochs, channels, 20, NULL, &r), TESS_CANCELLED);
    free(channels);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_thresholds_agree),
        cmocka_unit_test(golden_validation_curves_agree),
        cmocka_unit_test(golden_formula_agrees),
        cmocka_unit_test(random_curves_agree_with_the_definition),
        cmocka_unit_test(random_objectives_agree_with_the_definition),
        cmocka_unit_test(nothing_else_shows_in_the_result),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(memory_failures_leak_nothing),
        cmocka_unit_test(a_run_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
