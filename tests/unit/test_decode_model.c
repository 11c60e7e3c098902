// Ready-made models: their tables, fits to recordings, and model files.
#include "decode_model.h"
#include "runtime/bundle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

static void test_defaults(void **state)
{
    (void)state;
    const struct {
        tess_decode_model_kind kind;
        const char *file;
    } cases[] = {{TESS_DECODE_MODEL_CONT_FRAG, "decode/06_cont_frag"},
                 {TESS_DECODE_MODEL_NON_LOCAL, "decode/07_non_local"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_decode_model_defaults d;
        assert_ok(tess_decode_model_get_defaults(cases[i].kind, 0, &d, sizeof d));
        double *initial = golden_f64(ctx, cases[i].file, "discrete_initial", NULL);
        double *transition = golden_f64(ctx, cases[i].file, "discrete_transition", NULL);
        assert_near(d.discrete_initial, initial, d.n_state, 0);
        assert_near(d.discrete_transition, transition, d.n_state * d.n_state, 0);
        free(initial);
        free(transition);
    }
    for (int kind = 0; kind <= TESS_DECODE_MODEL_MULTI_ENVIRONMENT; kind++) {
        tess_decode_model_defaults d;
        assert_ok(tess_decode_model_get_defaults((tess_decode_model_kind)kind, 0, &d, sizeof d));
        for (int i = 0; i < d.n_state; i++) {
            double sum = 0;
            for (int j = 0; j < d.n_state; j++) {
                sum += d.discrete_transition[i * d.n_state + j];
            }
            assert_true(fabs(sum - 1) < 1e-12);
            assert_non_null(d.states[i].name);
        }
    }
    tess_decode_model_defaults d;
    assert_ok(tess_decode_model_get_defaults(TESS_DECODE_MODEL_DECODER, 1, &d, sizeof d));
    assert_true(d.concentration == 1.0);
    assert_ok(tess_decode_model_get_defaults(TESS_DECODE_MODEL_DECODER, 0, &d, sizeof d));
    assert_true(d.concentration == 1.1);
    assert_fails(tess_decode_model_get_defaults((tess_decode_model_kind)9, 0, &d, sizeof d),
                 TESS_E_ARGUMENT, "model 9 does not exist");
}

static tess_decode_recording *simulate(int size)
{
    tess_decode_simulate_config config;
    tess_decode_recording *recording = NULL;
    tess_decode_simulate_config_init(&config, sizeof config);
    config.size = size;
    if (size >= 5) {
        config.n_time = 400;
        config.n_electrode = 3;
        config.encoding_spikes = 600;
        config.decoding_spikes = 300;
    }
    assert_ok(tess_decode_simulate(ctx, &config, &recording));
    return recording;
}

static float *posterior(tess_decode_model *model, const tess_decode_recording *recording,
                        size_t *bytes)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    tess_decode_detector *detector = tess_decode_model_detector(model);
    const int64_t shape[2] = {info->observation.n_time,
                              tess_decode_detector_get_info(detector)->n_state_bin};
    tess_decode_outputs out;
    tess_array array;
    *bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
    float *rows = malloc(*bytes);
    assert_ok(tess_array_init(&array, rows, TESS_F32, 2, shape));
    tess_decode_outputs_init(&out, sizeof out);
    out.acausal_posterior = &array;
    assert_ok(tess_decode_predict(ctx, detector, &info->observation, NULL, &out));
    return rows;
}

static void save_and_load(const tess_decode_recording *recording,
                          const tess_decode_model_config *config, const char *path)
{
    tess_decode_model *model = NULL;
    tess_decode_model *again = NULL;
    assert_ok(tess_decode_model_fit(ctx, recording, config, &model));
    const tess_status saved = tess_decode_model_save(ctx, model, path, 1);
    if (saved == TESS_E_UNSUPPORTED) { // a build without HDF5
        tess_decode_model_destroy(model);
        return;
    }
    assert_ok(saved);
    assert_fails(tess_decode_model_save(ctx, model, path, 0), TESS_E_EXISTS, "exists already");
    assert_ok(tess_decode_model_load(ctx, path, &again));
    size_t n = 0;
    size_t n_again = 0;
    float *right = posterior(model, recording, &n);
    float *got = posterior(again, recording, &n_again);
    assert_int_equal(n, n_again);
    assert_memory_equal(got, right, n);
    const tess_decode_model_config *settings = tess_decode_model_settings(again);
    assert_true(settings->encoding.waveform_std == config->encoding.waveform_std);
    assert_int_equal(settings->model, config->model);
    free(right);
    free(got);
    tess_decode_model_destroy(model);
    tess_decode_model_destroy(again);
}

static void test_files(void **state)
{
    (void)state;
    const int models[] = {TESS_DECODE_MODEL_DECODER, TESS_DECODE_MODEL_CONT_FRAG,
                          TESS_DECODE_MODEL_NO_SPIKE_CONT_FRAG, TESS_DECODE_MODEL_NON_LOCAL};
    tess_decode_recording *line = simulate(5);
    tess_decode_recording *plane = simulate(6);
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        tess_decode_model_config config;
        tess_decode_model_config_init(&config, sizeof config);
        config.model = models[i];
        config.encoding.waveform_std = 20.0 + 1.0 / 3.0;
        config.movement_variance = 7.5;
        save_and_load(line, &config, unit_path("model.npz"));
        save_and_load(plane, &config, unit_path("plane.npz"));
        save_and_load(line, &config, unit_path("model.h5"));
    }
    tess_decode_recording_close(line);
    tess_decode_recording_close(plane);
}

// What EM changed is in the file.
static void test_learned_parameters(void **state)
{
    (void)state;
    tess_decode_recording *recording = simulate(5);
    tess_decode_model *model = NULL;
    tess_decode_model *again = NULL;
    assert_ok(tess_decode_model_fit(ctx, recording, NULL, &model));
    const tess_decode_detector_info *info =
        tess_decode_detector_get_info(tess_decode_model_detector(model));
    tess_decode_em_config em;
    tess_decode_em_config_init(&em, sizeof em);
    const double concentration = 1.1;
    double evidence[2];
    int64_t n = 0;
    em.max_iterations = 2;
    em.concentration = &concentration;
    tess_decode_outputs out;
    tess_decode_outputs_init(&out, sizeof out);
    assert_ok(tess_decode_em(ctx, tess_decode_model_detector(model),
                             &tess_decode_recording_get_info(recording)->observation, &em, &out,
                             evidence, &n));
    assert_true(info->discrete_transition[0] != 0.98);
    assert_ok(tess_decode_model_save(ctx, model, unit_path("learned.npz"), 0));
    assert_ok(tess_decode_model_load(ctx, unit_path("learned.npz"), &again));
    const tess_decode_detector_info *got =
        tess_decode_detector_get_info(tess_decode_model_detector(again));
    assert_memory_equal(got->discrete_transition, info->discrete_transition, 4 * sizeof(double));
    assert_memory_equal(got->initial, info->initial, (size_t)info->n_state_bin * sizeof(double));
    tess_decode_model_destroy(model);
    tess_decode_model_destroy(again);
    tess_decode_recording_close(recording);
}

// A column of ones, then the data sets in the order of their names.
static void check_design(tess_context *own, const char *path, int64_t n_time)
{
    tess_decode_covariates *found = NULL;
    int64_t n = 0;
    assert_ok(tess_decode_covariates_open(own, path, "b,a", n_time, &found));
    const double *design = tess_decode_covariates_design(found, &n);
    assert_int_equal(n, 3);
    for (int64_t t = 0; t < n_time; t++) {
        assert_true(design[3 * t] == 1 && design[3 * t + 1] == (double)(t % 3));
        assert_true(design[3 * t + 2] == 0.5 * (double)t);
    }
    tess_decode_covariates_close(found);
    tess_decode_covariates_close(NULL);
}

static void write_covariates(const char *path, int64_t n_time)
{
    double *a = malloc((size_t)n_time * sizeof *a);
    uint8_t *b = malloc((size_t)n_time);
    for (int64_t t = 0; t < n_time; t++) {
        a[t] = 0.5 * (double)t;
        b[t] = (uint8_t)(t % 3);
    }
    tess_format_writer_input inputs[2];
    tess_bundle_input(&inputs[0], "a", TESS_F64, 1, &n_time, a);
    tess_bundle_input(&inputs[1], "b", TESS_U8, 1, &n_time, b);
    assert_ok(tess_bundle_write(ctx, path, inputs, 2, 1));
    free(a);
    free(b);
}

static void failing_memory_leaves_no_covariates(const char *path, int64_t n_time)
{
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    const long long live = atomic_load(&counter.n_live);
    tess_status status = TESS_E_MEMORY;
    for (int n_failure = 1; status != TESS_OK; n_failure++) {
        tess_decode_covariates *found = NULL;
        counter.fail_at = atomic_load(&counter.n_alloc) + n_failure;
        status = tess_decode_covariates_open(counted, path, "a,b", n_time, &found);
        counter.fail_at = 0;
        assert_true(status == TESS_OK ? n_failure > 3 : status == TESS_E_MEMORY && !found);
        tess_decode_covariates_close(found);
        assert_true(atomic_load(&counter.n_live) == live);
    }
    tess_context_destroy(counted);
}

static void test_covariates(void **state)
{
    (void)state;
    tess_decode_recording *recording = simulate(5);
    const int64_t n_time = tess_decode_recording_get_info(recording)->observation.n_time;
    char path[512];
    snprintf(path, sizeof path, "%s", unit_path("covariates.npz"));
    write_covariates(path, n_time);
    check_design(ctx, path, n_time);
    failing_memory_leaves_no_covariates(path, n_time);
    tess_decode_covariates *none = NULL;
    assert_fails(tess_decode_covariates_open(ctx, path, "a", n_time + 1, &none), TESS_E_SHAPE,
                 "one for each of them");
    assert_fails(tess_decode_covariates_open(ctx, path, "c", n_time, &none), TESS_E_FORMAT,
                 "it has a, b");
    tess_decode_model_config config;
    tess_decode_model_config_init(&config, sizeof config);
    config.model = TESS_DECODE_MODEL_NON_LOCAL;
    config.covariates = "a,b";
    tess_decode_model *model = NULL;
    tess_decode_model *again = NULL;
    assert_ok(tess_decode_model_fit(ctx, recording, &config, &model));
    const tess_decode_detector_info *info =
        tess_decode_detector_get_info(tess_decode_model_detector(model));
    assert_int_equal(info->n_coefficient, 3);
    for (int64_t i = 0; i < 4 * 3; i++) { // what the matrix says, and nothing of a and b
        const double *row = info->discrete_transition + i / 3 * 4;
        assert_true(fabs(info->coefficients[i] - log(row[i % 3] / row[3])) < 1e-12);
        assert_true(info->coefficients[12 + i] == 0 && info->coefficients[24 + i] == 0);
    }
    assert_ok(tess_decode_model_save(ctx, model, unit_path("varying.npz"), 0));
    assert_ok(tess_decode_model_load(ctx, unit_path("varying.npz"), &again));
    assert_string_equal(tess_decode_model_settings(again)->covariates, "a,b");
    const tess_decode_detector_info *got =
        tess_decode_detector_get_info(tess_decode_model_detector(again));
    assert_memory_equal(got->coefficients, info->coefficients, 36 * sizeof(double));
    tess_decode_model_destroy(model);
    tess_decode_model_destroy(again);
    tess_decode_recording_close(recording);
}

static void test_bad_files(void **state)
{
    (void)state;
    tess_decode_recording *recording = simulate(5);
    tess_decode_model *model = NULL;
    assert_ok(tess_decode_recording_save(ctx, recording, unit_path("recording.npz"), 0));
    assert_fails(tess_decode_model_load(ctx, unit_path("recording.npz"), &model), TESS_E_FORMAT,
                 "has no data set 'schema'");
    assert_fails(tess_decode_model_load(ctx, unit_path("nothing.npz"), &model), TESS_E_NOT_FOUND,
                 "nothing.npz");
    tess_decode_model_config config;
    tess_decode_model_config_init(&config, sizeof config);
    config.model = TESS_DECODE_MODEL_MULTI_ENVIRONMENT;
    assert_fails(tess_decode_model_fit(ctx, recording, &config, &model), TESS_E_UNSUPPORTED,
                 "per environment");
    tess_decode_recording_close(recording);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_files),
        cmocka_unit_test(test_learned_parameters), cmocka_unit_test(test_covariates),
        cmocka_unit_test(test_bad_files)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
