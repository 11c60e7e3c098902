// A fit on a GPU has the bits of the CPU's: thresholds, curves, losses. Skipped where there is
// none.
#include "autoreject_data.h"

#include "runtime/context.h"
#include "runtime/resident.h"

#include <string.h>

static tess_context *on_cpu;
static tess_context *on_gpu; // NULL: none here

static tess_context *open_limited(const char *device, uint64_t device_limit, uint64_t limit)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.device = device;
    config.n_thread = 2;
    config.device_memory_limit_bytes = device_limit;
    config.memory_limit_bytes = limit;
    tess_context *ctx = NULL;
    return tess_context_create(&config, &ctx) == TESS_OK ? ctx : NULL;
}

static tess_context *open_context(const char *device)
{
    return open_limited(device, 0, 0);
}

static int set_up(void **state)
{
    (void)state;
    on_cpu = open_context("cpu");
    on_gpu = open_context("cuda");
    if (!on_gpu) {
        print_message("no GPU: %s\n", tess_last_error());
    }
    return on_cpu ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    tess_context_destroy(on_cpu);
    tess_context_destroy(on_gpu);
    return 0;
}

static tess_autoreject_model *fit(tess_context *ctx, tess_autoreject_epochs *epochs,
                                  const tess_autoreject_fit_config *config)
{
    tess_autoreject_model *model = NULL;
    assert_ok(tess_autoreject_fit(ctx, epochs, config, &model));
    return model;
}

static void assert_same(const tess_autoreject_model *a, const tess_autoreject_model *b)
{
    const tess_autoreject_model_info *first = tess_autoreject_model_get_info(a);
    const tess_autoreject_model_info *second = tess_autoreject_model_get_info(b);
    assert_int_equal(first->n_type, second->n_type);
    for (int64_t i = 0; i < first->n_type; i++) {
        const tess_autoreject_type_fit *x = &first->types[i], *y = &second->types[i];
        const size_t n_chan = (size_t)x->n_chan;
        const int64_t n_loss = first->n_consensus * first->n_n_interpolate * first->n_fold;
        int64_t n_candidate = 0;
        assert_memory_equal(x->thresholds, y->thresholds, n_chan * sizeof *x->thresholds);
        assert_memory_equal(x->n_candidate, y->n_candidate, n_chan * sizeof *x->n_candidate);
        for (int64_t c = 0; c < x->n_chan; c++) {
            n_candidate += x->n_candidate[c];
        }
        assert_memory_equal(x->candidates, y->candidates,
                            (size_t)n_candidate * sizeof *x->candidates);
        assert_memory_equal(x->candidate_objectives, y->candidate_objectives,
                            (size_t)n_candidate * sizeof *x->candidate_objectives);
        assert_memory_equal(x->loss, y->loss, (size_t)n_loss * sizeof *x->loss);
        assert_int_equal(x->consensus_index, y->consensus_index);
        assert_int_equal(x->n_interpolate_index, y->n_interpolate_index);
    }
}

static tess_autoreject_fit_config config_of(int32_t search)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.search = search;
    config.seed = 7;
    return config;
}

// The epochs for a GPU; there: with the samples in its memory already, which stay in samples.
static tess_autoreject_epochs *epochs_for(tess_context *gpu, const ar_data *d, bool there,
                                          tess_resident *samples)
{
    tess_array array = d->array;
    const size_t bytes = (size_t)(d->n_epoch * d->n_chan * d->n_time) * sizeof(double);
    if (there) {
        assert_ok(tess_resident_from(gpu->device, d->x, bytes, samples));
        array.data = samples->data;
        array.space = TESS_SPACE_DEVICE;
        array.device = gpu->device->info.index;
    }
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(
        tess_autoreject_epochs_from_array(gpu, &array, &d->sensors, NULL, 100, -0.2, &epochs));
    return epochs;
}

// The same epochs by both.
static void check(tess_context *gpu, const ar_data *d, const tess_autoreject_fit_config *config,
                  bool there)
{
    tess_resident samples = {0};
    tess_autoreject_epochs *epochs = epochs_for(gpu, d, there, &samples);
    tess_autoreject_model *want = fit(on_cpu, d->epochs, config);
    tess_autoreject_model *got = fit(gpu, epochs, config);
    assert_same(want, got);
    tess_autoreject_model_destroy(want);
    tess_autoreject_model_destroy(got);
    tess_autoreject_epochs_close(epochs);
    tess_resident_free(&samples);
}

static void every_size_has_the_same_bits(void **state)
{
    (void)state;
    // Rows that validate: up to 64, to 128, to 512, to 2560, more; channels: below and above 64.
    static const int64_t sizes[][3] = {{24, 9, 50}, {21, 70, 17}, {300, 5, 20},
                                       {900, 6, 9}, {2500, 5, 9}, {7000, 5, 3}};
    if (!on_gpu) {
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        ar_data d = ar_data_make(on_cpu, sizes[i][0], sizes[i][1], sizes[i][2], i + 3);
        const tess_autoreject_fit_config config = config_of(TESS_AUTOREJECT_SEARCH_EXACT);
        check(on_gpu, &d, &config, i % 2 == 1);
        ar_data_free(&d);
    }
}

static void every_option_has_the_same_bits(void **state)
{
    (void)state;
    if (!on_gpu) {
        skip();
    }
    ar_data d = ar_data_make(on_cpu, 120, 12, 40, 5);
    tess_autoreject_fit_config config = config_of(TESS_AUTOREJECT_SEARCH_COMPAT);
    check(on_gpu, &d, &config, false);
    config.rho_mode = TESS_AUTOREJECT_RHO_INDEPENDENT;
    config.n_split = 23;
    config.n_fold = 4;
    check(on_gpu, &d, &config, true);
    config.augment = 0;
    check(on_gpu, &d, &config, false);
    ar_data_free(&d);
}

// Samples of few values: many of them are the median.
static void ties_have_the_same_bits(void **state)
{
    (void)state;
    if (!on_gpu) {
        skip();
    }
    ar_data d = ar_data_make(on_cpu, 700, 6, 12, 5);
    for (int64_t i = 0; i < d.n_epoch * d.n_chan * d.n_time; i++) {
        d.x[i] = round(d.x[i] / 2e-5) * 2e-5;
    }
    const tess_autoreject_fit_config config = config_of(TESS_AUTOREJECT_SEARCH_EXACT);
    check(on_gpu, &d, &config, true);
    ar_data_free(&d);
}

// More samples than the GPU may hold: tiles go there a few at a time.
// Limits of the device that leave room for one tile and the next, and for batches; of the host that
// keep the tiles in memory and in a file.
static void tiles_that_do_not_fit_go_through(void **state)
{
    (void)state;
    static const uint64_t limits[][2] = {{1600, 0}, {2500, 9000}, {7000, 0}};
    if (!on_gpu) {
        skip();
    }
    ar_data d = ar_data_make(on_cpu, 120, 12, 600, 5);
    const tess_autoreject_fit_config config = config_of(TESS_AUTOREJECT_SEARCH_EXACT);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        tess_context *small = open_limited("cuda", limits[i][0] << 10, limits[i][1] << 10);
        assert_non_null(small);
        check(small, &d, &config, false);
        tess_context_destroy(small);
    }
    ar_data_free(&d);
}

static void samples_that_are_not_finite_are_named(void **state)
{
    (void)state;
    if (!on_gpu) {
        skip();
    }
    ar_data d = ar_data_make(on_cpu, 30, 6, 40, 5);
    d.x[(4 * 6 + 2) * 40 + 7] = (double)NAN;
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_model *model = NULL;
    assert_ok(
        tess_autoreject_epochs_from_array(on_gpu, &d.array, &d.sensors, NULL, 100, -0.2, &epochs));
    assert_fails(tess_autoreject_fit(on_gpu, epochs, NULL, &model), TESS_E_NUMERIC,
                 "epoch 4, channel 'E03', sample 7 is NaN");
    tess_autoreject_epochs_close(epochs);
    ar_data_free(&d);
}

static void correlate(tess_context *ctx, tess_autoreject_epochs *epochs, const int64_t *channels,
                      int64_t n, int64_t n_resample, double *correlations)
{
    tess_autoreject_ransac_config config;
    tess_autoreject_ransac_config_init(&config, sizeof config);
    config.n_resample = n_resample;
    tess_autoreject_ransac_result result = {.struct_size = sizeof result,
                                            .correlations = correlations};
    assert_ok(tess_autoreject_ransac(ctx, epochs, channels, n, &config, &result));
}

// Subsets whose medians are sorted and counted, even and odd; channels of one block and of many.
static void ransac_has_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {
        {5, 9, 50, 50}, {3, 70, 33, 25}, {2, 240, 20, 50}, {2, 12, 17, 61}, {2, 8, 3, 1}};
    if (!on_gpu) {
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        ar_data d = ar_data_make(on_cpu, sizes[i][0], sizes[i][1], sizes[i][2], i + 3);
        const int64_t n = d.n_chan - 1;
        const size_t bytes = (size_t)(d.n_epoch * n) * sizeof(double);
        int64_t *channels = malloc((size_t)n * sizeof *channels);
        double *want = malloc(bytes), *got = malloc(bytes);
        for (int64_t c = 0; c < n; c++) {
            channels[c] = c + 1;
        }
        for (int there = 0; there < 2; there++) {
            tess_resident samples = {0};
            tess_autoreject_epochs *epochs = epochs_for(on_gpu, &d, there == 1, &samples);
            correlate(on_cpu, d.epochs, channels, n, sizes[i][3], want);
            correlate(on_gpu, epochs, channels, n, sizes[i][3], got);
            assert_memory_equal(got, want, bytes);
            tess_autoreject_epochs_close(epochs);
            tess_resident_free(&samples);
        }
        free(channels);
        free(want);
        free(got);
        ar_data_free(&d);
    }
}

static void global_thresholds_have_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{30, 5, 40}, {300, 40, 20}, {130, 3, 9}};
    if (!on_gpu) {
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        enum { N_THRESHOLD = 3, N_FOLD = 5, MOST = 300 };
        ar_data d = ar_data_make(on_cpu, sizes[i][0], sizes[i][1], sizes[i][2], i + 3);
        tess_resident samples = {0};
        tess_autoreject_epochs *there = epochs_for(on_gpu, &d, i == 1, &samples);
        tess_context *const contexts[2] = {on_cpu, on_gpu};
        tess_autoreject_epochs *const epochs[2] = {d.epochs, there};
        double objectives[2][MOST], scores[2][2][N_THRESHOLD * N_FOLD];
        tess_autoreject_global_result found[2];
        int64_t channels[40];
        for (int64_t c = 0; c < d.n_chan; c++) {
            channels[c] = c;
        }
        const double thresholds[N_THRESHOLD] = {2e-5, 6e-5, 1e-4};
        for (int k = 0; k < 2; k++) {
            found[k] = (tess_autoreject_global_result){.struct_size = sizeof found[k],
                                                       .objectives = objectives[k]};
            assert_ok(tess_autoreject_global(contexts[k], epochs[k], channels, d.n_chan, NULL,
                                             &found[k]));
            assert_ok(tess_autoreject_validation_curve(contexts[k], epochs[k], channels, d.n_chan,
                                                       thresholds, N_THRESHOLD, NULL, N_FOLD,
                                                       scores[k][0], scores[k][1]));
        }
        assert_true(found[0].threshold == found[1].threshold);
        assert_int_equal(found[0].n_candidate, found[1].n_candidate);
        assert_memory_equal(objectives[0], objectives[1],
                            (size_t)found[0].n_candidate * sizeof(double));
        assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        tess_autoreject_epochs_close(there);
        tess_resident_free(&samples);
        ar_data_free(&d);
    }
}

// Channels of samples that are on the GPU, some marked, by tess_autoreject_interpolate.
static void repairs_have_the_same_bits(void **state)
{
    (void)state;
    if (!on_gpu) {
        skip();
    }
    ar_data d = ar_data_make(on_cpu, 14, 12, 90, 5);
    const size_t n_row = (size_t)(d.n_epoch * d.n_chan), bytes = n_row * 90 * sizeof(double);
    int64_t channels[11]; // all but the first
    uint8_t *bad = calloc(n_row, 1);
    double *got = malloc(bytes);
    for (int64_t c = 0; c < 11; c++) {
        channels[c] = c + 1;
    }
    for (size_t i = 0; i < n_row; i++) {
        bad[i] = i % 12 > 0 && (i % 5 == 2 || i % 37 == 1);
    }
    tess_resident samples = {0};
    tess_autoreject_epochs_close(epochs_for(on_gpu, &d, true, &samples));
    tess_array there = d.array;
    there.data = samples.data;
    there.space = TESS_SPACE_DEVICE;
    there.device = on_gpu->device->info.index;
    assert_ok(tess_autoreject_interpolate(on_gpu, &d.sensors, channels, 11, bad, NULL, &there));
    assert_ok(tess_autoreject_interpolate(on_cpu, &d.sensors, channels, 11, bad, NULL, &d.array));
    assert_ok(tess_resident_fetch(&samples, got, bytes));
    assert_memory_equal(got, d.x, bytes);
    tess_resident_free(&samples);
    free(bad);
    free(got);
    ar_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_size_has_the_same_bits),
                                       cmocka_unit_test(every_option_has_the_same_bits),
                                       cmocka_unit_test(ties_have_the_same_bits),
                                       cmocka_unit_test(tiles_that_do_not_fit_go_through),
                                       cmocka_unit_test(samples_that_are_not_finite_are_named),
                                       cmocka_unit_test(ransac_has_the_same_bits),
                                       cmocka_unit_test(global_thresholds_have_the_same_bits),
                                       cmocka_unit_test(repairs_have_the_same_bits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
