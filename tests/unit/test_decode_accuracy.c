// Simulated spikes decode to where they came from, whatever the number of features.
#include "tessera/decode/recording.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

enum { N_TIME = 15000, N_BIN = 70 };

typedef struct decoding {
    tess_context *ctx;
    tess_decode_recording *recording;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
    tess_decode_detector *detector;
    const tess_decode_recording_info *info;
} decoding;

// A one-state decoder with defaults, fitted on the training period.
static decoding fit(int64_t n_feature, int32_t floor)
{
    decoding d = {.ctx = unit_context(2, 0)};
    tess_decode_simulate_config simulation;
    tess_decode_simulate_config_init(&simulation, sizeof simulation);
    assert_ok(
        tess_param_set_text(&tess_decode_simulate_params()->params[0], &simulation, "day-1d"));
    simulation.n_feature = n_feature;
    simulation.n_electrode = 8;
    simulation.n_time = N_TIME;
    simulation.n_bin = N_BIN;
    simulation.encoding_spikes = unit_is_quick() ? 20000 : 40000;
    simulation.decoding_spikes = 15000;
    assert_ok(tess_decode_simulate(d.ctx, &simulation, &d.recording));
    d.info = tess_decode_recording_get_info(d.recording);
    tess_decode_environment_config bins;
    tess_decode_environment_config_init(&bins, sizeof bins);
    bins.place_bin_size = d.info->place_bin_size;
    const tess_decode_position *position = &d.info->training.position;
    assert_ok(tess_decode_environment_create(d.ctx, &bins, position->position, position->n_sample,
                                             1, &d.env));
    tess_decode_encoding_config settings;
    tess_decode_encoding_config_init(&settings, sizeof settings);
    settings.floor = floor;
    assert_ok(tess_decode_encoding_create(d.ctx, d.env, &d.info->training, &settings, &d.encoding));
    const tess_decode_state state = {.name = "Continuous"};
    const double one = 1;
    tess_decode_movement movement;
    tess_decode_movement_init(&movement, sizeof movement);
    movement.kind = TESS_DECODE_RANDOM_WALK;
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    config.n_state = 1;
    config.states = &state;
    config.movements = &movement;
    config.discrete_initial = &one;
    config.discrete_transition = &one;
    const tess_decode_encoding *const encodings[] = {d.encoding};
    assert_ok(tess_decode_detector_create(d.ctx, &config, &d.env, 1, encodings, 1, &d.detector));
    return d;
}

static void free_decoding(decoding *d)
{
    tess_decode_detector_destroy(d->detector);
    tess_decode_encoding_destroy(d->encoding);
    tess_decode_environment_destroy(d->env);
    tess_decode_recording_close(d->recording);
    tess_context_destroy(d->ctx);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median distance of the most probable bin from the represented position, in runs and in replays.
static void median_errors(const decoding *d, double errors[2])
{
    static float posterior[N_TIME][N_BIN];
    static double list[2][N_TIME];
    const tess_decode_environment_info *env = tess_decode_environment_get_info(d->env);
    assert_int_equal(env->n_interior, N_BIN);
    tess_array array;
    const int64_t shape[2] = {N_TIME, N_BIN};
    assert_ok(tess_array_init(&array, posterior, TESS_F32, 2, shape));
    tess_decode_outputs outputs;
    tess_decode_outputs_init(&outputs, sizeof outputs);
    outputs.acausal_posterior = &array;
    assert_ok(tess_decode_predict(d->ctx, d->detector, &d->info->observation, NULL, &outputs));
    size_t n[2] = {0, 0};
    for (int64_t k = 0; k < N_TIME; k++) {
        int64_t best = 0;
        for (int64_t p = 1; p < N_BIN; p++) {
            best = posterior[k][p] > posterior[k][best] ? p : best;
        }
        const int replay = d->info->is_replay[k];
        list[replay][n[replay]++] =
            fabs(env->interior_centers[best] - d->info->represented_position[k]);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(n[i] > 20);
        qsort(list[i], n[i], sizeof list[i][0], by_value);
        errors[i] = list[i][n[i] / 2];
    }
}

static void any_number_of_features_decodes(void **state)
{
    (void)state;
    static const int64_t features[] = {2, 10, 4, 8};
    for (size_t i = 0; i < (unit_is_quick() ? 2 : ARRAY_LEN(features)); i++) {
        double errors[2];
        decoding d = fit(features[i], TESS_DECODE_FLOOR_AUTO);
        median_errors(&d, errors);
        free_decoding(&d);
        print_message("%d features: %.2f cm, replays %.2f cm\n", (int)features[i], errors[0],
                      errors[1]);
        assert_true(errors[0] < 5);
        assert_true(errors[1] < 15);
    }
}

// The original's floor leaves nothing of eight features.
static void an_absolute_floor_hides_eight_features(void **state)
{
    (void)state;
    double errors[2];
    decoding d = fit(8, TESS_DECODE_FLOOR_ABSOLUTE);
    median_errors(&d, errors);
    free_decoding(&d);
    assert_true(errors[1] > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_features_decodes),
        cmocka_unit_test(an_absolute_floor_hides_eight_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
