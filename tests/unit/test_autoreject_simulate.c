// The simulation depends on its settings alone, and looks like what it claims to be.
#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_EPOCH = 12, N_CHAN = 8, N_TIME = 300, N = N_EPOCH * N_CHAN * N_TIME };

static tess_autoreject_simulate_config new_config(void)
{
    tess_autoreject_simulate_config config;
    tess_autoreject_simulate_config_init(&config, sizeof config);
    config.n_epoch = N_EPOCH;
    config.n_chan = N_CHAN;
    config.n_time = N_TIME;
    return config;
}

static double *simulate(int32_t n_thread, const tess_autoreject_simulate_config *config)
{
    const int64_t shape[3] = {config->n_epoch, config->n_chan, config->n_time};
    double *data = calloc(N, sizeof *data);
    tess_context *ctx = unit_context(n_thread, 0);
    tess_array out;
    assert_ok(tess_array_init(&out, data, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_simulate(ctx, config, &out));
    tess_context_destroy(ctx);
    return data;
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    const tess_autoreject_simulate_config config = new_config();
    double *first = simulate(1, &config);
    for (int32_t n_thread = 2; n_thread <= 5; n_thread++) {
        double *again = simulate(n_thread, &config);
        assert_memory_equal(again, first, N * sizeof *first);
        free(again);
    }
    free(first);
}

// A memory limit that holds one epoch at a time gives other tiles but the same bytes.
static void same_bytes_for_any_tile_and_file(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    double *first = simulate(1, &config);
    static const char *const names[] = {"a.npy", "a.npz"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const uint64_t epoch_bytes = N_CHAN * N_TIME * 8;
        tess_context *ctx = unit_context(2, 4 * (epoch_bytes * 3 * 2 + 6 * 2 * N_TIME * 8) / 3 + 1);
        const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
        tess_plan *plan = NULL;
        tess_sink *sink = NULL;
        tess_run *run = NULL;
        tess_source *source = NULL;
        assert_ok(tess_autoreject_simulate_plan_create(ctx, &config, &plan));
        assert_true(tess_plan_get_info(plan)->n_tile > 3);
        assert_ok(tess_sink_create(ctx, unit_path(names[i]), NULL, TESS_F64, 3, shape, &sink));
        assert_ok(tess_run_create(ctx, plan, NULL, sink, NULL, &run));
        assert_ok(tess_run_execute(run));
        tess_run_destroy(run);
        tess_sink_close(sink);
        tess_plan_destroy(plan);
        tess_context_destroy(ctx);

        double *again = calloc(N, sizeof *again);
        ctx = unit_context(1, 0);
        assert_ok(tess_source_open(ctx, unit_path(names[i]), NULL, &source));
        assert_ok(tess_source_read(source, 0, N_EPOCH, again, N * sizeof *again));
        assert_memory_equal(again, first, N * sizeof *first);
        tess_source_close(source);
        tess_context_destroy(ctx);
        free(again);
    }
    free(first);
}

static void an_epoch_does_not_depend_on_the_others(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    double *all = simulate(1, &config);
    config.n_epoch = 5;
    double *few = simulate(1, &config);
    assert_memory_equal(few, all, 5 * N_CHAN * N_TIME * sizeof *few);
    free(all);
    free(few);
}

static void the_seed_changes_everything(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    double *zero = simulate(1, &config);
    config.seed = 1;
    double *one = simulate(1, &config);
    int n_same = 0;
    for (int i = 0; i < N; i++) {
        n_same += zero[i] == one[i];
    }
    assert_int_equal(n_same, 0);
    free(zero);
    free(one);
}

// Sampled so fast that the waves stand still, the mean of a row shows them and its steps show the
// noise: both must come from the seed.
static void the_seed_changes_waves_and_noise(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    config.sampling_hz = 1e6;
    config.bad_fraction = 0;
    double *zero = simulate(1, &config);
    config.seed = 1;
    double *one = simulate(1, &config);
    double mean = 0;
    double steps = 0;
    for (int r = 0; r < N_EPOCH * N_CHAN; r++) {
        double row_mean = 0;
        for (int t = 1; t < N_TIME; t++) {
            const int i = r * N_TIME + t;
            row_mean += (one[i] - zero[i]) / N_TIME;
            steps += fabs((one[i] - one[i - 1]) - (zero[i] - zero[i - 1])) / N;
        }
        mean += fabs(row_mean) / (N_EPOCH * N_CHAN);
    }
    assert_true(mean > 1e-6);  // noise of 2 uV over 300 samples leaves 0.2 uV
    assert_true(steps > 1e-6); // waves of 30 Hz at 1 MHz move by less than 10 nV
    free(zero);
    free(one);
}

static void values_are_volts_and_artifacts_are_large(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    config.bad_fraction = 0;
    double *clean = simulate(1, &config);
    double largest = 0;
    for (int i = 0; i < N; i++) {
        assert_true(isfinite(clean[i]));
        largest = fmax(largest, fabs(clean[i]));
    }
    assert_true(largest > 5e-6 && largest < 100e-6);
    config.bad_fraction = 1;
    double *bad = simulate(1, &config);
    double largest_bad = 0;
    for (int i = 0; i < N; i++) {
        largest_bad = fmax(largest_bad, fabs(bad[i]));
    }
    assert_true(largest_bad > 2 * largest);
    free(clean);
    free(bad);
}

static void f32_is_the_rounded_f64(void **state)
{
    (void)state;
    tess_autoreject_simulate_config config = new_config();
    double *wide = simulate(1, &config);
    config.dtype_index = 0;
    const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
    float *narrow = calloc(N, sizeof *narrow);
    tess_context *ctx = unit_context(1, 0);
    tess_array out;
    assert_ok(tess_array_init(&out, narrow, TESS_F32, 3, shape));
    assert_ok(tess_autoreject_simulate(ctx, &config, &out));
    for (int i = 0; i < N; i++) {
        assert_true(narrow[i] == (float)wide[i]);
    }
    config.n_epoch = 3;
    assert_fails(tess_autoreject_simulate(ctx, &config, &out), TESS_E_SHAPE, "sink: ");
    config.n_chan = 0;
    assert_fails(tess_autoreject_simulate(ctx, &config, &out), TESS_E_RANGE, "channels: 0");
    tess_context_destroy(ctx);
    free(wide);
    free(narrow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(same_bytes_for_any_tile_and_file),
        cmocka_unit_test(an_epoch_does_not_depend_on_the_others),
        cmocka_unit_test(the_seed_changes_everything),
        cmocka_unit_test(the_seed_changes_waves_and_noise),
        cmocka_unit_test(values_are_volts_and_artifacts_are_large),
        cmocka_unit_test(f32_is_the_rounded_f64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
