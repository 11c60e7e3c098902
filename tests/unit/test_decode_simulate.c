// The five profiling sizes against NumPy, and what the other sizes promise.
#include "tessera/decode/stream.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tess_decode_simulate_config new_config(const char *size)
{
    tess_decode_simulate_config config;
    tess_decode_simulate_config_init(&config, sizeof config);
    assert_ok(tess_param_set_text(&tess_decode_simulate_params()->params[0], &config, size));
    return config;
}

// A size cut down so that it is made in milliseconds.
static tess_decode_simulate_config small_config(const char *size)
{
    tess_decode_simulate_config config = new_config(size);
    config.n_electrode = 5;
    config.n_time = 60000;
    config.encoding_spikes = 20000;
    config.decoding_spikes = 10000;
    return config;
}

static tess_decode_recording *simulate(tess_context *ctx, const tess_decode_simulate_config *config)
{
    tess_decode_recording *recording = NULL;
    assert_ok(tess_decode_simulate(ctx, config, &recording));
    return recording;
}

// FNV-1a over 64-bit words.
static uint64_t add_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n_byte)
{
    for (size_t i = 0; i < n_byte; i++) {
        hash = add_word(hash, ((const uint8_t *)data)[i]);
    }
    return hash;
}

static uint64_t hash_spikes(const tess_decode_spikes *spikes)
{
    const size_t item = spikes->mark_dtype == TESS_F64 ? 8 : 4;
    uint64_t hash = 1;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const size_t n = (size_t)spikes->n_spike[e];
        hash = add_word(hash, n);
        hash = hash_bytes(hash, spikes->times[e], 8 * n);
        hash = hash_bytes(hash, spikes->marks[e], item * n * (size_t)spikes->n_feature[e]);
    }
    return hash;
}

static uint64_t hash_recording(const tess_decode_recording *recording)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    const size_t n = (size_t)(info->observation.n_time * info->observation.position.n_dim);
    const tess_decode_position *position = &info->training.position;
    uint64_t hash = hash_spikes(&info->training.spikes);
    hash = add_word(hash, hash_spikes(&info->observation.spikes));
    hash = hash_bytes(hash, position->position, 8 * (size_t)(position->n_sample * position->n_dim));
    hash = hash_bytes(hash, info->true_position, 8 * n);
    if (info->represented_position) {
        hash = hash_bytes(hash, info->represented_position, 8 * n);
    }
    return hash;
}

static int64_t total(const tess_decode_spikes *spikes)
{
    int64_t n = 0;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        n += spikes->n_spike[e];
    }
    return n;
}

// Times word by word; features as floats, so that the last bit of a libm does not matter.
static void check_profile_spikes(const tess_decode_spikes *spikes, uint64_t times, uint64_t marks)
{
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0xcbf29ce484222325)};
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        for (int64_t i = 0; i < spikes->n_spike[e]; i++) {
            uint64_t word;
            memcpy(&word, &spikes->times[e][i], sizeof word);
            hash[0] = add_word(hash[0], word);
        }
        for (int64_t i = 0; i < 2 * spikes->n_spike[e]; i++) {
            const float mark = (float)((const double *)spikes->marks[e])[i];
            uint32_t word;
            memcpy(&word, &mark, sizeof word);
            hash[1] = add_word(hash[1], word);
        }
    }
    assert_true(hash[0] == times);
    assert_true(hash[1] == marks);
}

// From NumPy: for mean, end in ((encoding mean, 100), (decoding mean, 20)): for each electrode
// n = rng.poisson(mean), np.sort(rng.uniform(0, end, n)), rng.normal(0, 1, (n, 2)).
static void profiling_sizes_are_the_originals(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        int64_t n[2];
        uint64_t times[2];
        uint64_t marks[2];
    } want[] = {
        {"tiny",
         {77, 37},
         {UINT64_C(0x6f1e53d67ac2faf3), UINT64_C(0x18abfb495c8977e4)},
         {UINT64_C(0xc6cefcb3c71ca68b), UINT64_C(0xb34d3215f200c9c)}},
        {"small",
         {429, 238},
         {UINT64_C(0xe7a08cda7f8f06a), UINT64_C(0x384d48e7c502b2e)},
         {UINT64_C(0xead9b511e49992c9), UINT64_C(0x89207ec181ebdf10)}},
        {"medium",
         {3206, 1601},
         {UINT64_C(0x18571cffe1ac28ad), UINT64_C(0xbe64fd0f7788f5ec)},
         {UINT64_C(0x624ac9ae44bed3c0), UINT64_C(0xf09a3d0a284f8c50)}},
        {"large",
         {15895, 9596},
         {UINT64_C(0x8aefc6d56ba0c8a1), UINT64_C(0x5d3c7e938ef05293)},
         {UINT64_C(0xd73317ed524b8aee), UINT64_C(0x1a7ef02215661472)}},
        {"realistic",
         {64039, 25551},
         {UINT64_C(0xfd9814fd6bcc1f0e), UINT64_C(0xd30cdde5664ca48e)},
         {UINT64_C(0x84f8dcf0ab3641b6), UINT64_C(0x84a8336b26fa1dcf)}},
    };
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        tess_decode_simulate_config config = new_config(want[i].size);
        config.generator = TESS_DECODE_GENERATOR_ORIGINAL;
        tess_decode_recording *recording = simulate(ctx, &config);
        const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
        assert_int_equal(info->training.spikes.mark_dtype, TESS_F64);
        assert_int_equal(total(&info->training.spikes), want[i].n[0]);
        assert_int_equal(total(&info->observation.spikes), want[i].n[1]);
        check_profile_spikes(&info->training.spikes, want[i].times[0], want[i].marks[0]);
        check_profile_spikes(&info->observation.spikes, want[i].times[1], want[i].marks[1]);
        assert_true(info->place_bin_size == 100.0 / (double)info->n_interior_position);
        assert_true(info->training.position.position[1] ==
                    100.0 / (double)(info->training.position.n_sample - 1));
        assert_true(info->observation.time[info->observation.n_time - 1] == 20);
        assert_string_equal(info->format, "simulation");
        tess_decode_recording_close(recording);
    }
    tess_context_destroy(ctx);
}

static void check_times(const tess_decode_spikes *spikes, double first, double last)
{
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        for (int64_t i = 0; i < spikes->n_spike[e]; i++) {
            const double t = spikes->times[e][i];
            assert_true(t >= first && t <= last);
            assert_true(i == 0 || t >= spikes->times[e][i - 1]);
        }
    }
}

// The same counts with spikes of place cells: what they say of place is what decoding needs.
static void profiling_sizes_can_be_decoded(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    static const char *const sizes[] = {"tiny", "small", "medium", "large"};
    static const int64_t n_spike[] = {77, 429, 3206, 15895}; // those of the original
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const tess_decode_simulate_config config = new_config(sizes[i]);
        tess_decode_recording *recording = simulate(ctx, &config);
        const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
        assert_int_equal(total(&info->training.spikes), n_spike[i]);
        check_times(&info->training.spikes, 0, 100);
        tess_decode_model *model = NULL;
        assert_ok(tess_decode_model_fit(ctx, recording, NULL, &model));
        tess_decode_stream_config stream;
        tess_decode_stream_config_init(&stream, sizeof stream);
        stream.path = unit_path("decoded");
        stream.overwrite = 1;
        stream.recording = info;
        assert_ok(tess_decode_stream(ctx, tess_decode_model_detector(model), &info->observation,
                                     &stream, NULL));
        tess_decode_score score;
        assert_ok(tess_decode_score_result(ctx, stream.path, recording, &score, sizeof score));
        assert_true(score.median_error < 4);
        assert_int_equal(score.error_grade, TESS_DECODE_GRADE_GOOD);
        // Bins as wide as position samples are apart: nothing to warn of.
        const double step = info->training.position.time[1];
        assert_true(fabs(info->observation.time[1] - step) < 1e-9);
        tess_decode_model_destroy(model);
        tess_decode_recording_close(recording);
    }
    tess_decode_simulate_config config = new_config("day-1d");
    tess_decode_recording *recording = NULL;
    config.generator = TESS_DECODE_GENERATOR_ORIGINAL;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_ARGUMENT, "generator: the");
    tess_context_destroy(ctx);
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    static const char *const sizes[] = {"day-1d", "day-2d", "max", "small"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        tess_decode_simulate_config config = small_config(sizes[i]);
        uint64_t hash[4];
        for (int32_t n_thread = 1; n_thread <= 3; n_thread++) {
            tess_context *ctx = unit_context(n_thread, 0);
            tess_decode_recording *recording = simulate(ctx, &config);
            hash[n_thread] = hash_recording(recording);
            tess_decode_recording_close(recording);
            tess_context_destroy(ctx);
        }
        assert_true(hash[2] == hash[1] && hash[3] == hash[1]);
        config.seed = 43;
        tess_context *ctx = unit_context(1, 0);
        tess_decode_recording *recording = simulate(ctx, &config);
        assert_true(hash_recording(recording) != hash[1]);
        tess_decode_recording_close(recording);
        tess_context_destroy(ctx);
    }
}

// Asking for twice the spikes adds spikes and keeps those there were.
static void a_spike_depends_on_its_index_alone(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_decode_simulate_config config = small_config("day-1d");
    tess_decode_recording *few = simulate(ctx, &config);
    config.encoding_spikes *= 2;
    config.decoding_spikes *= 2;
    tess_decode_recording *many = simulate(ctx, &config);
    const tess_decode_spikes *a = &tess_decode_recording_get_info(few)->observation.spikes;
    const tess_decode_spikes *b = &tess_decode_recording_get_info(many)->observation.spikes;
    for (int64_t e = 0; e < a->n_electrode; e++) {
        int64_t k = 0;
        for (int64_t i = 0; i < a->n_spike[e]; i++) {
            while (k < b->n_spike[e] && b->times[e][k] != a->times[e][i]) {
                k++;
            }
            assert_true(k < b->n_spike[e]);
            assert_memory_equal((const float *)a->marks[e] + 4 * i,
                                (const float *)b->marks[e] + 4 * k, 4 * sizeof(float));
        }
    }
    tess_decode_recording_close(few);
    tess_decode_recording_close(many);
    tess_context_destroy(ctx);
}

static void sizes_are_what_they_say(void **state)
{
    (void)state;
    static const char *const sizes[] = {"day-1d", "day-2d", "max"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const tess_decode_simulate_config config = small_config(sizes[i]);
        tess_decode_recording *recording = simulate(ctx, &config);
        const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
        const tess_decode_position *training = &info->training.position;
        assert_int_equal(info->observation.n_time, 60000);
        assert_int_equal(training->n_sample, 120000); // twice the spikes, twice the time
        assert_in_range(total(&info->training.spikes), 19990, 20010);
        assert_in_range(total(&info->observation.spikes), 9990, 10010);
        check_times(&info->training.spikes, 0, training->time[119999]);
        check_times(&info->observation.spikes, info->observation.time[0],
                    info->observation.time[59999]);
        assert_true(info->observation.time[0] > training->time[119999]);
        for (int64_t k = 0; k < 120000 * training->n_dim; k++) {
            assert_true(training->position[k] >= 0 && training->position[k] <= 175);
        }
        tess_decode_recording_close(recording);
    }
    tess_context_destroy(ctx);
}

static void named_counts_make_named_grids(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_decode_simulate_config config = small_config("day-2d");
    config.n_time = 709321;
    config.encoding_spikes = config.decoding_spikes;
    tess_decode_recording *recording = simulate(ctx, &config);
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    tess_decode_environment_config settings;
    tess_decode_environment_config_init(&settings, sizeof settings);
    settings.place_bin_size = info->place_bin_size;
    tess_decode_environment *env = NULL;
    assert_ok(tess_decode_environment_create(ctx, &settings, info->training.position.position,
                                             info->training.position.n_sample, 2, &env));
    const tess_decode_environment_info *grid = tess_decode_environment_get_info(env);
    assert_int_equal(grid->grid_shape[0], 60);
    assert_int_equal(grid->grid_shape[1], 57);
    assert_in_range(grid->n_interior, 714, 734);
    tess_decode_environment_destroy(env);
    tess_decode_recording_close(recording);

    config = small_config("chronic");
    recording = simulate(ctx, &config);
    info = tess_decode_recording_get_info(recording);
    settings.place_bin_size = info->place_bin_size;
    assert_ok(tess_decode_environment_create(ctx, &settings, info->training.position.position,
                                             info->training.position.n_sample, 1, &env));
    assert_int_equal(tess_decode_environment_get_info(env)->n_bin, 500);
    tess_decode_environment_destroy(env);
    tess_decode_recording_close(recording);
    tess_context_destroy(ctx);
}

// Replays happen where the animal rests, sweep on without it, and are six times as loud.
static void replays_are_where_the_truth_says(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_decode_simulate_config config = small_config("day-1d");
    config.decoding_spikes = 40000;
    config.encoding_spikes = 40000;
    tess_decode_recording *recording = simulate(ctx, &config);
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    const int64_t n_time = info->observation.n_time;
    int64_t n_row[2] = {0, 0};
    for (int64_t k = 0; k < n_time; k++) {
        n_row[info->is_replay[k]]++;
        const double away = fabs(info->represented_position[k] - info->true_position[k]);
        if (info->is_replay[k]) {
            assert_true(info->true_position[k] == info->true_position[k - 1]);
        } else {
            assert_true(away == 0);
        }
    }
    assert_in_range(n_row[1], 500, 10000);
    double n_spike[2] = {0, 0};
    double n_hash = 0;
    for (int64_t e = 0; e < 5; e++) {
        for (int64_t i = 0; i < info->observation.spikes.n_spike[e]; i++) {
            const double s = info->observation.spikes.times[e][i] - info->observation.time[0];
            n_spike[info->is_replay[(int64_t)(s * 500)]]++;
            n_hash += info->unit[e][i] < 0;
        }
    }
    const double loudness = n_spike[1] / (double)n_row[1] / (n_spike[0] / (double)n_row[0]);
    assert_true(loudness > 5 && loudness < 8); // units fire more at the resting places' expense
    assert_true(fabs(n_hash / (n_spike[0] + n_spike[1]) - 0.5) < 0.02);
    tess_decode_recording_close(recording);
    tess_context_destroy(ctx);
}

static double largest(const tess_decode_spikes *spikes, int64_t e, int64_t i)
{
    const float *marks = (const float *)spikes->marks[e] + i * spikes->n_feature[e];
    float most = marks[0];
    for (int64_t f = 1; f < spikes->n_feature[e]; f++) {
        most = marks[f] > most ? marks[f] : most;
    }
    return (double)most;
}

static void drift_and_artefacts_show(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_decode_simulate_config config = small_config("probe-8");
    config.artefacts = 0.01;
    config.drift = 3600; // a microvolt a second
    tess_decode_recording *recording = simulate(ctx, &config);
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    const tess_decode_spikes *spikes = &info->observation.spikes;
    double n_artefact = 0;
    double n = 0;
    double sum[2] = {0, 0};
    double count[2] = {0, 0};
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        assert_int_equal(spikes->n_feature[e], 8);
        for (int64_t i = 0; i < spikes->n_spike[e]; i++) {
            const double size = largest(spikes, e, i);
            const int late = spikes->times[e][i] > info->observation.time[30000];
            n++;
            if (size > 1200) {
                n_artefact++;
            } else if (info->unit[e][i] >= 0) {
                sum[late] += size;
                count[late]++;
            }
        }
    }
    assert_true(n_artefact / n > 0.006 && n_artefact / n < 0.014);
    const double gained = sum[1] / count[1] - sum[0] / count[0];
    assert_true(gained > 40 && gained < 80); // over 60 s
    tess_decode_recording_close(recording);
    tess_context_destroy(ctx);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_recording *recording = NULL;
    tess_decode_simulate_config config = new_config("tiny");
    config.drift = 1;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_ARGUMENT, "drift: the");
    config = new_config("day-2d");
    config.n_bin = 100;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_ARGUMENT,
                 "two-dimensional");
    config = new_config("day-1d");
    config.artefacts = 2;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_RANGE, "artefacts");
    config = new_config("day-1d");
    config.decoding_spikes = 1;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_ARGUMENT,
                 "245700000000 samples to train on");
    assert_null(recording);
    tess_context_destroy(ctx);
    tess_decode_recording_close(NULL);
}

typedef struct watcher {
    int n_call;
    int64_t done;
    int64_t total;
    int stop_after;
} watcher;

static int watch(void *user, const tess_progress *progress)
{
    watcher *w = user;
    assert_string_equal(progress->unit, "electrodes");
    assert_true(progress->done > w->done);
    w->done = progress->done;
    w->total = progress->total;
    return ++w->n_call == w->stop_after;
}

static void progress_is_told_and_can_stop(void **state)
{
    (void)state;
    for (int stop_after = 0; stop_after <= 1; stop_after++) {
        watcher w = {.stop_after = stop_after};
        tess_context_config settings;
        tess_context_config_init(&settings, sizeof settings);
        settings.n_thread = 2;
        settings.progress = watch;
        settings.progress_user = &w;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&settings, &ctx));
        tess_decode_simulate_config config = small_config("day-1d");
        config.n_electrode = 20;
        config.n_time = 300000;
        tess_decode_recording *recording = NULL;
        const tess_status status = tess_decode_simulate(ctx, &config, &recording);
        assert_int_equal(status, stop_after ? TESS_CANCELLED : TESS_OK);
        assert_in_range(w.n_call, stop_after ? 1 : 2, stop_after ? 1 : 6); // every 50 ms at most
        assert_int_equal(w.total, 40);
        assert_int_equal(w.done, stop_after ? 8 : 40);
        tess_decode_recording_close(recording);
        tess_context_destroy(ctx);
    }
    tess_context *ctx = unit_context(1, 64 << 20);
    const tess_decode_simulate_config config = new_config("max");
    tess_decode_recording *recording = NULL;
    assert_fails(tess_decode_simulate(ctx, &config, &recording), TESS_E_LIMIT,
                 "the recording takes at least");
    tess_context_destroy(ctx);
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    static const char *const sizes[] = {"tiny", "day-2d"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        tess_status status = TESS_E_MEMORY;
        int n_failed = 0;
        for (long long fail_at = 1; status != TESS_OK; fail_at++) {
            unit_allocator allocator;
            unit_allocator_init(&allocator, 0);
            tess_context_config settings;
            tess_context_config_init(&settings, sizeof settings);
            settings.n_thread = 1;
            settings.allocator = &allocator.table;
            tess_context *ctx = NULL;
            assert_ok(tess_context_create(&settings, &ctx));
            allocator.fail_at = atomic_load(&allocator.n_alloc) + fail_at;
            tess_decode_simulate_config config = small_config(sizes[i]);
            config.n_electrode = 2;
            config.n_time = 2000;
            config.encoding_spikes = config.decoding_spikes = 100;
            tess_decode_recording *recording = NULL;
            status = tess_decode_simulate(ctx, &config, &recording);
            assert_true(status == TESS_OK || status == TESS_E_MEMORY);
            assert_int_equal(recording != NULL, status == TESS_OK);
            n_failed += status != TESS_OK;
            tess_decode_recording_close(recording);
            tess_context_destroy(ctx);
            assert_int_equal(atomic_load(&allocator.n_live), 0);
        }
        assert_in_range(n_failed, 15, 60);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiling_sizes_are_the_originals),
        cmocka_unit_test(profiling_sizes_can_be_decoded),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(a_spike_depends_on_its_index_alone),
        cmocka_unit_test(sizes_are_what_they_say),
        cmocka_unit_test(named_counts_make_named_grids),
        cmocka_unit_test(replays_are_where_the_truth_says),
        cmocka_unit_test(drift_and_artefacts_show),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(progress_is_told_and_can_stop),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
