#include "autoreject_golden.h"

#define AR04 "autoreject/ar04_ransac_16x24x50"
#define AR06 "autoreject/ar06_meg"

// A result with everything in it.
typedef struct answer {
    tess_autoreject_ransac_result r;
    int64_t n_from;
    int64_t n_resample;
} answer;

static answer answer_make(const ar_data *d, int64_t n_chan,
                          const tess_autoreject_ransac_config *config)
{
    answer a = {.r = {.struct_size = sizeof a.r}, .n_resample = config->n_resample};
    a.n_from = tess_autoreject_ransac_subset_size(config, n_chan);
    a.r.subsets = calloc((size_t)(a.n_resample * a.n_from) + 1, sizeof *a.r.subsets);
    a.r.mappings = calloc((size_t)(a.n_resample * n_chan * a.n_from) + 1, sizeof(double));
    a.r.correlations = calloc((size_t)(d->n_epoch * n_chan), sizeof(double));
    a.r.bad_log = calloc((size_t)(d->n_epoch * n_chan), 1);
    a.r.bad = calloc((size_t)n_chan, 1);
    return a;
}

static void answer_free(answer *a)
{
    free(a->r.subsets);
    free(a->r.mappings);
    free(a->r.correlations);
    free(a->r.bad_log);
    free(a->r.bad);
}

static tess_autoreject_ransac_config defaults(void)
{
    tess_autoreject_ransac_config config;
    tess_autoreject_ransac_config_init(&config, sizeof config);
    return config;
}

static answer run_all(tess_context *ctx, const ar_data *d, int64_t n_chan,
                      const tess_autoreject_ransac_config *config)
{
    int64_t *channels = ar_first_channels(n_chan);
    answer a = answer_make(d, n_chan, config);
    assert_ok(tess_autoreject_ransac(ctx, d->epochs, channels, n_chan, config, &a.r));
    free(channels);
    return a;
}

static void expect_bad(tess_context *ctx, const char *file, const char *name, const uint8_t *bad,
                       int64_t n_chan)
{
    int64_t n = 0;
    int64_t *want = golden_i64(ctx, file, name, &n);
    int64_t k = 0;
    for (int64_t c = 0; c < n_chan; c++) {
        assert_true(!bad[c] || (k < n && want[k] == c));
        k += bad[c] != 0;
    }
    assert_int_equal(k, n);
    free(want);
}

// Everything the golden file says of run "a_", "b_" or "c_".
static void expect_run(tess_context *ctx, const char *run, const ar_data *d, int64_t n_chan,
                       const answer *a)
{
    char name[32];
    int64_t n = 0;
#define NAME(suffix) (snprintf(name, sizeof name, "%s" suffix, run), name)
    int64_t *subsets = golden_i64(ctx, AR04, NAME("subsets"), &n);
    assert_int_equal(n, a->n_resample * a->n_from);
    assert_memory_equal(a->r.subsets, subsets, (size_t)n * sizeof *subsets);
    double *w0 = golden_f64(ctx, AR04, NAME("W0"), &n);
    assert_near(a->r.mappings, w0, n, 1e-9);
    double *w1 = golden_f64(ctx, AR04, NAME("W1"), &n);
    assert_near(a->r.mappings + n, w1, n, 1e-9);
    double *corr = golden_f64(ctx, AR04, NAME("corr"), &n);
    assert_int_equal(n, d->n_epoch * n_chan);
    assert_near(a->r.correlations, corr, n, 1e-9);
    int64_t *log = golden_i64(ctx, AR04, NAME("bad_log"), &n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(a->r.bad_log[i], log[i]);
    }
    expect_bad(ctx, AR04, NAME("bad"), a->r.bad, n_chan);
#undef NAME
    void *const owned[] = {subsets, w0, w1, corr, log};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        free(owned[i]);
    }
}

static void golden_runs_agree(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_golden_eeg(ctx, AR04, 16, 24, 50);
    tess_autoreject_ransac_config config = defaults();
    answer a = run_all(ctx, &d, 24, &config);
    expect_run(ctx, "a_", &d, 24, &a);
    answer_free(&a);

    config.n_resample = (int64_t)golden_scalar(ctx, AR04, "b_n_resample");
    config.min_channels = golden_scalar(ctx, AR04, "b_min_channels");
    config.min_corr = golden_scalar(ctx, AR04, "b_min_corr");
    config.unbroken_time = golden_scalar(ctx, AR04, "b_unbroken_time");
    config.seed = (int64_t)golden_scalar(ctx, AR04, "b_seed");
    a = run_all(ctx, &d, 24, &config);
    expect_run(ctx, "b_", &d, 24, &a);
    answer_free(&a);

    // A flat channel, and one marked bad that was picked: never a source.
    const int64_t flat = (int64_t)golden_scalar(ctx, AR04, "c_X_flat");
    for (int64_t e = 0; e < d.n_epoch; e++) {
        memset(d.x + (e * d.n_chan + flat) * d.n_time, 0, (size_t)d.n_time * sizeof *d.x);
    }
    d.channels[(int64_t)golden_scalar(ctx, AR04, "c_marked_bad")].is_bad = 1;
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    config = defaults();
    config.n_resample = 11;
    config.seed = 7;
    a = run_all(ctx, &d, 10, &config);
    expect_run(ctx, "c_", &d, 10, &a);
    assert_true(isnan(a.r.correlations[flat]) && a.r.bad_log[flat] == 0);
    answer_free(&a);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void golden_formula_agrees(void **state)
{
    (void)state;
    static const double first[16] = {0.33040182, 0.74404295, 0.88312717, 0.86890864,
                                     0.85975652, 0.89684710, 0.96956911, 0.83056349,
                                     0.83794524, 0.89918235, 0.91388221, 0.90795641,
                                     0.98269795, 0.81220391, 0.57838836, 0.76392248};
    static const int64_t subset[4] = {0, 6, 12, 13};
    static const uint8_t bad[16] = {1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1};
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_golden_formula(ctx);
    const tess_autoreject_ransac_config config = defaults();
    answer a = run_all(ctx, &d, 16, &config);
    assert_memory_equal(a.r.subsets, subset, sizeof subset);
    assert_near(a.r.correlations, first, 16, 1e-8);
    assert_memory_equal(a.r.bad, bad, sizeof bad);
    answer_free(&a);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// Magnetometers of the helmet, with both ways of dot products.
static void golden_magnetometers_agree(void **state)
{
    (void)state;
    enum { N_ALL = 72 };
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 24, N_ALL, 24, 1);
    int64_t n = 0;
    double *x = golden_f64(ctx, AR06, "X", &n);
    double *loc = golden_f64(ctx, AR06, "a_loc", NULL);
    double *to_head = golden_f64(ctx, AR06, "dev_head_t", NULL);
    int64_t *coils = golden_i64(ctx, AR06, "a_coil_type", NULL);
    memcpy(d.x, x, (size_t)n * sizeof *x);
    int64_t channels[N_ALL];
    int64_t n_mag = 0;
    for (int64_t c = 0; c < N_ALL; c++) {
        const int is_mag = coils[c] / 10 == 302;
        d.channels[c].type = is_mag ? TESS_AUTOREJECT_MAG : TESS_AUTOREJECT_GRAD;
        d.channels[c].coil_type = (int32_t)coils[c];
        memcpy(d.channels[c].loc, loc + 12 * c, 12 * sizeof *loc);
        if (is_mag) {
            channels[n_mag++] = c;
        }
    }
    memcpy(d.sensors.device_to_head, to_head, sizeof d.sensors.device_to_head);
    d.sensors.has_device_to_head = 1;
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    tess_autoreject_ransac_config config = defaults();
    config.n_resample = 10;
    int64_t *subsets = golden_i64(ctx, AR06, "ransac_mag_subsets", &n);
    for (int32_t dots = 0; dots < 2; dots++) {
        config.meg_dots = dots;
        answer a = answer_make(&d, n_mag, &config);
        assert_ok(tess_autoreject_ransac(ctx, d.epochs, channels, n_mag, &config, &a.r));
        assert_memory_equal(a.r.subsets, subsets, (size_t)n * sizeof *subsets);
        int64_t n_corr = 0;
        double *corr =
            golden_f64(ctx, AR06, dots ? "ransac_mag_corr_lut" : "ransac_mag_corr_direct", &n_corr);
        assert_int_equal(n_corr, d.n_epoch * n_mag);
        assert_near(a.r.correlations, corr, n_corr, 1e-9);
        expect_bad(ctx, AR06, "ransac_mag_bad", a.r.bad, n_mag);
        free(corr);
        answer_free(&a);
    }
    free(x);
    free(loc);
    free(to_head);
    free(coils);
    free(subsets);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

// The correlation as the definition says it.
static double naive(const ar_data *d, const int64_t *channels, int64_t n_chan, const answer *a,
                    int64_t e, int64_t c)
{
    double xp = 0, xx = 0, pp = 0, values[128];
    for (int64_t t = 0; t < d->n_time; t++) {
        for (int64_t r = 0; r < a->n_resample; r++) {
            values[r] = 0;
            for (int64_t i = 0; i < a->n_from; i++) {
                const int64_t from = channels[a->r.subsets[r * a->n_from + i]];
                values[r] += a->r.mappings[(r * n_chan + c) * a->n_from + i] *
                             d->x[(e * d->n_chan + from) * d->n_time + t];
            }
        }
        const double x = d->x[(e * d->n_chan + channels[c]) * d->n_time + t];
        const double p = median_of(values, a->n_resample);
        xp += x * p;
        xx += x * x;
        pp += p * p;
    }
    return xp / (sqrt(xx) * sqrt(pp));
}

static void random_epochs_agree_with_the_definition(void **state)
{
    (void)state;
    static const int64_t n_resamples[] = {1, 2, 3, 7, 20, 51, 64, 101};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(n_resamples); k++) {
        ar_data d = ar_data_make(ctx, 5, 21, 30 + (int64_t)k, k);
        // Some channels, in an order of their own.
        static const int64_t channels[11] = {20, 3, 1, 5, 7, 19, 0, 11, 13, 2, 16};
        tess_autoreject_ransac_config config = defaults();
        config.n_resample = n_resamples[k];
        config.seed = (int64_t)k;
        config.min_channels = 0.3;
        answer a = answer_make(&d, 11, &config);
        assert_ok(tess_autoreject_ransac(ctx, d.epochs, channels, 11, &config, &a.r));
        for (int64_t i = 0; i < d.n_epoch * 11; i++) {
            const double want = naive(&d, channels, 11, &a, i / 11, i % 11);
            assert_near(&a.r.correlations[i], &want, 1, 1e-12);
            assert_int_equal(a.r.bad_log[i], a.r.correlations[i] < 0.75);
        }
        for (int64_t c = 0; c < 11; c++) {
            int64_t n_bad = 0;
            for (int64_t e = 0; e < d.n_epoch; e++) {
                n_bad += a.r.bad_log[e * 11 + c];
            }
            assert_int_equal(a.r.bad[c], (double)n_bad > 0.4 * 5);
        }
        config.min_corr = a.r.correlations[0]; // not below itself
        assert_ok(tess_autoreject_ransac(ctx, d.epochs, channels, 11, &config, &a.r));
        assert_int_equal(a.r.bad_log[0], 0);
        answer_free(&a);
        ar_data_free(&d);
    }
    tess_context_destroy(ctx);
}

static void subsets_are_rounded_half_to_even(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{10, 2}, {11, 3}, {14, 4}, {16, 4}, {18, 4}, {22, 6}};
    const tess_autoreject_ransac_config config = defaults();
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        assert_int_equal(tess_autoreject_ransac_subset_size(&config, sizes[k][0]), sizes[k][1]);
    }
}

// Neither the threads, nor the memory, nor whether samples are taken where they lie or converted
// shows in a result.
static void nothing_else_shows_in_the_result(void **state)
{
    (void)state;
    enum { N_EPOCH = 13, N_CHAN = 18, N_TIME = 70, N_ROW = N_EPOCH * N_CHAN };
    double want[N_ROW];
    for (int32_t n_thread = 1; n_thread <= 5; n_thread++) {
        for (int is_limited = 0; is_limited < 2; is_limited++) {
            tess_context *ctx = unit_context(n_thread, is_limited ? 300 << 10 : 0);
            ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 3);
            float *narrow = malloc(N_ROW * N_TIME * sizeof *narrow);
            for (int64_t i = 0; i < N_ROW * N_TIME; i++) {
                narrow[i] = (float)(d.x[i] * 1e6);
                d.x[i] = (double)narrow[i] * 1e-6;
            }
            double calibration[N_CHAN];
            for (int64_t c = 0; c < N_CHAN; c++) {
                calibration[c] = 1e-6;
            }
            tess_array x = d.array;
            x.data = narrow;
            x.dtype = TESS_F32;
            x.item_bytes = sizeof(float);
            tess_autoreject_epochs *converted = NULL;
            assert_ok(tess_autoreject_epochs_from_array(ctx, &x, &d.sensors, calibration, 100, 0,
                                                        &converted));
            tess_autoreject_ransac_config config = defaults();
            config.n_resample = 20;
            answer a = run_all(ctx, &d, N_CHAN, &config);
            if (n_thread == 1 && !is_limited) {
                memcpy(want, a.r.correlations, sizeof want);
            }
            assert_memory_equal(a.r.correlations, want, sizeof want);
            tess_autoreject_epochs *direct = d.epochs;
            d.epochs = converted;
            answer b = run_all(ctx, &d, N_CHAN, &config);
            d.epochs = direct;
            assert_memory_equal(b.r.correlations, want, sizeof want);
            answer_free(&a);
            answer_free(&b);
            tess_autoreject_epochs_close(converted);
            free(narrow);
            ar_data_free(&d);
            tess_context_destroy(ctx);
        }
    }
}

// Channels with strong noise of their own are found, whatever the seed.
static void planted_channels_are_found(void **state)
{
    (void)state;
    enum { N_CHAN = 32 };
    static const int64_t planted[5] = {2, 9, 17, 23, 30};
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 20, N_CHAN, 60, 5);
    uint64_t noise = 1;
    for (int64_t i = 0; i < d.n_epoch * N_CHAN; i++) {
        const int64_t c = i % N_CHAN;
        const double *loc = d.channels[c].loc;
        int is_planted = 0;
        for (size_t k = 0; k < ARRAY_LEN(planted); k++) {
            is_planted |= planted[k] == c;
        }
        for (int64_t t = 0; t < d.n_time; t++) {
            const double time = (double)t;
            d.x[i * d.n_time + t] =
                1e-4 * (loc[0] * sin(0.3 * time) + loc[1] * cos(0.2 * time) + loc[2] * sin(time)) +
                (is_planted ? 1e-4 * (ar_uniform(&noise) - 0.5) : 0);
        }
    }
    for (int64_t seed = 0; seed < (unit_is_quick() ? 2 : 20); seed++) {
        tess_autoreject_ransac_config config = defaults();
        config.seed = seed;
        answer a = run_all(ctx, &d, N_CHAN, &config);
        int64_t n_found = 0;
        for (int64_t c = 0; c < N_CHAN; c++) {
            n_found += a.r.bad[c];
        }
        assert_int_equal(n_found, ARRAY_LEN(planted));
        for (size_t k = 0; k < ARRAY_LEN(planted); k++) {
            assert_int_equal(a.r.bad[planted[k]], 1);
        }
        answer_free(&a);
    }
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, 4, 8, 10, 1);
    int64_t all[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    tess_autoreject_ransac_config config = defaults();
    tess_autoreject_ransac_result r = {.struct_size = sizeof r};
#define RUN(n) tess_autoreject_ransac(ctx, d.epochs, all, (n), &config, &r)
    assert_ok(RUN(8)); // no array is wanted
    assert_fails(RUN(0), TESS_E_ARGUMENT, "channels: none are given");
    assert_fails(RUN(9), TESS_E_RANGE, "channels[8]: 8");
    all[3] = 1;
    assert_fails(RUN(8), TESS_E_ARGUMENT, "'E02' (1) occurs twice");
    all[3] = 3;
    config.min_channels = 0.05;
    assert_fails(RUN(8), TESS_E_ARGUMENT, "min_channels: 0.05 of 8 channels is no channel");
    config.min_channels = 1.5;
    assert_fails(RUN(8), TESS_E_RANGE, "min_channels");
    config = defaults();
    config.seed = -1;
    assert_fails(RUN(8), TESS_E_RANGE, "seed");
    config = defaults();
    config.n_resample = 100000;
    tess_context *small = unit_context(1, 1 << 20);
    assert_fails(tess_autoreject_ransac(small, d.epochs, all, 8, &config, &r), TESS_E_LIMIT,
                 "n_resample: the weights of 100000 subsets");
    tess_context_destroy(small);
    config = defaults();
#define REOPEN() (tess_autoreject_epochs_close(d.epochs), ar_data_open(ctx, &d))
    for (int64_t c = 1; c < 8; c++) {
        d.channels[c].is_bad = 1;
    }
    REOPEN();
    assert_fails(RUN(8), TESS_E_ARGUMENT, "only 1 of the 8 picked are not marked bad");
    d.channels[4].type = TESS_AUTOREJECT_MAG;
    REOPEN();
    assert_fails(RUN(8), TESS_E_ARGUMENT, "'E01' is of type eeg and 'E05' of type mag");
    d.channels[4].type = TESS_AUTOREJECT_EOG;
    REOPEN();
    assert_fails(RUN(8), TESS_E_ARGUMENT, "'E05' is of type eog");
    d.channels[4].type = TESS_AUTOREJECT_EEG;
    d.channels[5].loc[1] = (double)NAN;
    for (int64_t c = 1; c < 8; c++) {
        d.channels[c].is_bad = 0;
    }
    REOPEN();
    assert_fails(RUN(8), TESS_E_NUMERIC, "Valid channel positions are needed");
#undef RUN
#undef REOPEN
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void nonfinite_samples_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 40, 8, 10, 1);
    const int64_t channels[6] = {7, 1, 2, 3, 4, 5};
    tess_autoreject_ransac_result r = {.struct_size = sizeof r};
    d.x[(3 * 8 + 6) * 10] = (double)NAN; // not picked
    assert_ok(tess_autoreject_ransac(ctx, d.epochs, channels, 6, NULL, &r));
    d.x[(5 * 8 + 2) * 10 + 4] = -(double)INFINITY;
    d.x[(5 * 8 + 3) * 10 + 1] = (double)NAN;
    d.x[(39 * 8 + 7) * 10] = (double)NAN;
    assert_fails(tess_autoreject_ransac(ctx, d.epochs, channels, 6, NULL, &r), TESS_E_NUMERIC,
                 "epoch 5, channel 'E03', sample 4 is not finite; 2 of 40 epochs");
    d.x[(4 * 8 + 4) * 10] = 1e200;
    assert_fails(tess_autoreject_ransac(ctx, d.epochs, channels, 6, NULL, &r), TESS_E_NUMERIC,
                 "epoch 4, channel 'E05' are so large");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// A correlation as the stage's header defines it, to the bit.
static double defined(const ar_data *d, const answer *a, int64_t e, int64_t c)
{
    enum { LANES = 16 };
    double sums[3][LANES] = {{0}}, total[3] = {0};
    const double *x = d->x + e * d->n_chan * d->n_time;
    for (int64_t t = 0; t < d->n_time; t++) {
        double p[50];
        for (int64_t r = 0; r < 50; r++) {
            double sum = 0;
            for (int64_t i = 0; i < a->n_from; i++) {
                sum = fma(a->r.mappings[(r * d->n_chan + c) * a->n_from + i],
                          x[a->r.subsets[r * a->n_from + i] * d->n_time + t], sum);
            }
            int64_t k = r;
            for (; k > 0 && p[k - 1] > sum; k--) {
                p[k] = p[k - 1];
            }
            p[k] = sum;
        }
        const double value = x[c * d->n_time + t], median = (p[24] + p[25]) * 0.5;
        const double pairs[3][2] = {{value, median}, {value, value}, {median, median}};
        for (int k = 0; k < 3; k++) {
            sums[k][t % LANES] = fma(pairs[k][0], pairs[k][1], sums[k][t % LANES]);
        }
    }
    for (int i = 0; i < 3 * LANES; i++) {
        total[i / LANES] += sums[i / LANES][i % LANES];
    }
    return total[0] / (sqrt(total[1]) * sqrt(total[2]));
}

// Fifty subsets may go by way of f32, where ties, offsets, artefacts and scales are hard, and where
// the first epochs tell that it does not help the others do not.
static void fifty_predictions_have_the_bits_of_their_definition(void **state)
{
    (void)state;
    enum { N_EPOCH = 16, N_CHAN = 21, N_TIME = 43, N_ITEM = N_CHAN * N_TIME };
    static const char *const sets[] = {NULL, "portable"};
    for (size_t set = 0; set < 2; set++) {
        tess_context_config given;
        tess_context *ctx = NULL;
        tess_context_config_init(&given, sizeof given);
        given.n_thread = 2;
        given.isa = sets[set];
        assert_ok(tess_context_create(&given, &ctx));
        ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 5);
        for (int64_t i = 0; i < N_EPOCH / 8 * N_ITEM; i++) {
            const int64_t c = i % N_ITEM / N_TIME, t = i % N_TIME;
            double *x = d.x + i / N_ITEM * 8 * N_ITEM + i % N_ITEM; // of the first of eight epochs
            x[0 * N_ITEM] = c == 3 ? x[0 * N_ITEM] * 1e9 : x[0 * N_ITEM];
            x[1 * N_ITEM] = t % 7 ? 1e-3 : 0;          // everywhere the same
            x[2 * N_ITEM] = rint(x[2 * N_ITEM] * 2e5); // few values
            x[3 * N_ITEM] = t > 10 && t < 30 ? 0 : x[3 * N_ITEM];
            x[4 * N_ITEM] *= t < 20 ? 1e-100 : 1e-140;
            x[5 * N_ITEM] += 1;
            x[6 * N_ITEM] = c == 0 ? 1e-120 : 0;
            x[7 * N_ITEM] *= t % 2 ? 1e140 : 1e60;
        }
        tess_autoreject_ransac_config config = defaults();
        answer a = run_all(ctx, &d, N_CHAN, &config);
        for (int64_t i = 0; i < N_EPOCH * N_CHAN; i++) {
            const double want = defined(&d, &a, i / N_CHAN, i % N_CHAN), got = a.r.correlations[i];
            assert_true(isnan(want) ? isnan(got) : memcmp(&got, &want, sizeof want) == 0);
        }
        answer_free(&a);
        ar_data_free(&d);
        tess_context_destroy(ctx);
    }
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
        ar_data d = ar_data_make(ctx, 4, 8, 10, 1);
        int64_t *channels = ar_first_channels(8);
        tess_autoreject_ransac_result r = {.struct_size = sizeof r};
        allocator.fail_at = allocator.n_alloc + fail_at;
        status = tess_autoreject_ransac(ctx, d.epochs, channels, 8, NULL, &r);
        assert_true(status == TESS_OK || status == TESS_E_MEMORY);
        free(channels);
        ar_data_free(&d);
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
    }
}

static int stop_at_once(void *user, const tess_progress *progress)
{
    (void)progress;
    ++*(int *)user;
    return 1;
}

static void a_run_can_be_stopped(void **state)
{
    (void)state;
    int n_call = 0;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.progress = stop_at_once;
    config.progress_user = &n_call;
    config.n_thread = 2;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    ar_data d = ar_data_make(ctx, 40, 16, 2000, 1);
    int64_t *channels = ar_first_channels(16);
    tess_autoreject_ransac_result r = {.struct_size = sizeof r};
    assert_int_equal(tess_autoreject_ransac(ctx, d.epochs, channels, 16, NULL, &r), TESS_CANCELLED);
    assert_int_equal(n_call, 1);
    tess_context_cancel(ctx);
    assert_int_equal(tess_autoreject_ransac(ctx, d.epochs, channels, 16, NULL, &r), TESS_CANCELLED);
    free(channels);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_runs_agree),
        cmocka_unit_test(golden_formula_agrees),
        cmocka_unit_test(golden_magnetometers_agree),
        cmocka_unit_test(random_epochs_agree_with_the_definition),
        cmocka_unit_test(subsets_are_rounded_half_to_even),
        cmocka_unit_test(nothing_else_shows_in_the_result),
        cmocka_unit_test(planted_channels_are_found),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(fifty_predictions_have_the_bits_of_their_definition),
        cmocka_unit_test(nonfinite_samples_are_named),
        cmocka_unit_test(memory_failures_leak_nothing),
        cmocka_unit_test(a_run_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
