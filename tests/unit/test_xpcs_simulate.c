// Simulated correlations: the golden noise, and the same bits however they are made.
#include "systems/xpcs/simulate/simulate.h"
#include "systems/xpcs/store/txc2.h"
#include "unit_golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tess_xpcs_simulation defaults(void)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    return s;
}

static tess_xpcs_data *simulate(tess_context *ctx, const tess_xpcs_simulation *s, int32_t in_memory)
{
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, s, in_memory, &data));
    return data;
}

static void golden_noise(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/fit_laminar", "xpcs/fit_static"};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        tess_context *ctx = unit_context(2, 0);
        int64_t n_angle = 0;
        double *phi = golden_f64(ctx, files[f], "phi", &n_angle);
        double *theta = golden_f64(ctx, files[f], "truth_theta", NULL);
        double *contrast = golden_f64(ctx, files[f], "truth_contrast", NULL);
        double *offset = golden_f64(ctx, files[f], "truth_offset", NULL);
        double *y = golden_f64(ctx, files[f], "y", NULL);
        tess_xpcs_simulation s = defaults();
        s.dtype = 1;
        s.n_angle = n_angle;
        s.n_frame = 81;
        s.sigma = golden_scalar(ctx, files[f], "sigma");
        s.seed = (int64_t)golden_scalar(ctx, files[f], "seed");
        s.model.mode = f == 0 ? TESS_XPCS_LAMINAR_FLOW : TESS_XPCS_STATIC_ANISOTROPIC;
        s.theta = theta;
        s.phi = phi;
        s.contrasts = contrast;
        s.offsets = offset;
        tess_xpcs_data *data = simulate(ctx, &s, 1);
        double *rows = malloc(80 * 80 * sizeof *rows);
        int64_t k = 0;
        for (int64_t a = 0; a < n_angle; a++) {
            assert_ok(tess_xpcs_data_rows(ctx, data, a, 0, 80, rows));
            for (int64_t i = 0; i < 80; i++) {
                // c2 to 2e-14, and the noise to a few roundings of its logarithm and cosine.
                assert_near(rows + i * 81 + 1, y + k, 79 - i, 3e-14);
                k += 79 - i;
            }
        }
        free(rows);
        tess_xpcs_data_destroy(data);
        free(phi);
        free(theta);
        free(contrast);
        free(offset);
        free(y);
        tess_context_destroy(ctx);
    }
}

static void check_same_records(tess_xpcs_data *want, tess_xpcs_data *data, int64_t per_chunk)
{
    tess_xp_reader reader;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    assert_int_equal(n_leaf, tess_xp_tiles_n_leaf(&want->tiles));
    assert_ok(tess_xp_reader_open(data->ctx, data, per_chunk, false, &reader));
    for (int64_t leaf = 0; leaf < n_leaf; leaf += per_chunk) {
        const int64_t n = n_leaf - leaf < per_chunk ? n_leaf - leaf : per_chunk;
        const unsigned char *records = NULL;
        assert_ok(tess_xp_reader_get(&reader, leaf, n, &records));
        const uint64_t begin = tess_xp_tiles_leaf_offset(&data->tiles, leaf);
        const uint64_t end = tess_xp_tiles_leaf_offset(&data->tiles, leaf + n);
        assert_memory_equal(records, want->records + begin, end - begin);
    }
    tess_xp_reader_close(&reader);
}

static void bits_do_not_depend_on_how(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 4}, {3, 60}, {2, 400}};
    for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
        tess_context *ctx = unit_context(3, 0);
        tess_context *single = unit_context(1, 0);
        tess_xpcs_simulation s = defaults();
        const int64_t bad[] = {2, 4};
        s.n_angle = shapes[k][0];
        s.n_frame = shapes[k][1];
        s.dtype = (int32_t)(k & 1);
        s.contrast_scatter = 0.1;
        s.offset_scatter = 0.01;
        if (k > 0) {
            s.nan_fraction = 0.05;
            s.bad_frames = bad;
            s.n_bad_frame = 2;
        }
        tess_xpcs_data *memory = simulate(ctx, &s, 1);
        tess_xpcs_data *made = simulate(single, &s, 0);
        assert_int_equal(memory->info.residency, TESS_XPCS_IN_MEMORY);
        assert_int_equal(made->info.residency, TESS_XPCS_GENERATED);
        assert_int_equal(made->info.n_frame, shapes[k][1] - 1);
        assert_int_equal(made->info.n_used, memory->info.n_used);
        assert_memory_equal(made->info.mean, memory->info.mean, (size_t)s.n_angle * sizeof(double));
        assert_memory_equal(made->info.n_finite, memory->info.n_finite,
                            (size_t)s.n_angle * sizeof(int64_t));
        if (k == 1) { // frames 2 and 4 of the file are 0 and 2 of the data, t0 being dropped
            double rows[4][59];
            assert_ok(tess_xpcs_data_rows(ctx, memory, 0, 0, 4, rows[0]));
            for (int64_t i = 0; i < 4; i++) {
                int n_finite = 0;
                for (int64_t j = 0; j < 59; j++) {
                    n_finite += j != i && !isnan(rows[i][j]);
                }
                assert_true((n_finite == 0) == (i == 0 || i == 2));
            }
        }
        check_same_records(memory, made, 1);
        check_same_records(memory, made, 5);
        check_same_records(memory, made, 1 << 20);
        double a[2][3];
        double b[2][3];
        assert_ok(tess_xpcs_data_quantile_scaling(ctx, memory, a[0], a[1]));
        assert_ok(tess_xpcs_data_quantile_scaling(single, made, b[0], b[1]));
        assert_memory_equal(a[0], b[0], (size_t)s.n_angle * sizeof(double));
        assert_memory_equal(a[1], b[1], (size_t)s.n_angle * sizeof(double));
        if (k == 2) {
            assert_ok(tess_xpcs_data_estimate_sigma(ctx, memory, a[0]));
            assert_ok(tess_xpcs_data_estimate_sigma(single, made, b[0]));
            assert_memory_equal(a[0], b[0], 2 * sizeof(double));
            assert_true(fabs(a[0][0] / 0.01 - 1) < 0.05);
        }
        tess_xpcs_data_destroy(memory);
        tess_xpcs_data_destroy(made);
        tess_context_destroy(ctx);
        tess_context_destroy(single);
    }
}

static void counts_and_means_are_right(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = defaults();
    const int64_t bad[] = {1, 7, 150};
    s.n_angle = 4;
    s.nan_fraction = 0.1;
    s.bad_frames = bad;
    s.n_bad_frame = 3;
    s.model.keep_t0 = 1;
    tess_xpcs_data *data = simulate(ctx, &s, 0);
    assert_int_equal(data->info.n_frame, 200);
    assert_true(data->info.dt_s == 0.1 && data->info.gap_angstrom == 2e6);
    assert_string_equal(data->info.layout, "simulation");
    double *rows = malloc(200 * 200 * sizeof *rows);
    int64_t n_used = 0;
    for (int64_t a = 0; a < 4; a++) {
        assert_true(data->info.phi[a] == -90 + 45 * ((double)a + 0.5));
        assert_ok(tess_xpcs_data_rows(ctx, data, a, 0, 200, rows));
        int64_t n = 0;
        double sum = 0;
        for (int64_t i = 0; i < 200; i++) {
            for (int64_t j = i + 1; j < 200; j++) {
                const bool is_bad = i == 0 || i == 6 || i == 149 || j == 0 || j == 6 || j == 149;
                assert_true(!is_bad || isnan(rows[i * 200 + j]));
                n += !isnan(rows[i * 200 + j]);
                sum += isnan(rows[i * 200 + j]) ? 0 : rows[i * 200 + j];
            }
        }
        assert_int_equal(data->info.n_finite[a], n);
        assert_true(fabs(data->info.mean[a] - sum / (double)n) < 1e-13);
        const double share = (double)n / (197 * 196 / 2);
        assert_true(fabs(share - 0.9) < 0.02);
        n_used += n;
    }
    assert_int_equal(data->info.n_used, n_used);
    free(rows);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void scatter_is_keyed_by_seed_and_angle(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s = defaults();
    s.n_frame = 4;
    s.n_angle = 400;
    s.contrast_scatter = 0.1;
    s.offset_scatter = 0.01;
    tess_xpcs_data *many = simulate(ctx, &s, 0);
    s.n_angle = 3;
    tess_xpcs_data *few = simulate(ctx, &s, 0);
    s.seed = 43;
    tess_xpcs_data *other = simulate(ctx, &s, 0);
    const tess_xp_truth truth = tess_xp_simulated_truth(many);
    assert_memory_equal(truth.contrast, tess_xp_simulated_truth(few).contrast, 3 * sizeof(double));
    assert_memory_equal(truth.offset, tess_xp_simulated_truth(few).offset, 3 * sizeof(double));
    assert_true(truth.contrast[0] != tess_xp_simulated_truth(other).contrast[0]);
    double sums[4] = {0};
    for (int64_t a = 0; a < 400; a++) {
        const double c = truth.contrast[a] / 0.3 - 1;
        const double o = truth.offset[a] - 1;
        sums[0] += c / 400;
        sums[1] += c * c / 400;
        sums[2] += o / 400;
        sums[3] += o * o / 400;
    }
    assert_true(fabs(sums[0]) < 0.02 && fabs(sqrt(sums[1]) - 0.1) < 0.015);
    assert_true(fabs(sums[2]) < 0.002 && fabs(sqrt(sums[3]) - 0.01) < 0.0015);
    assert_true(truth.theta[0] == 68481 && truth.theta[6] == 2);
    tess_xpcs_data_destroy(many);
    tess_xpcs_data_destroy(few);
    tess_xpcs_data_destroy(other);
    tess_context_destroy(ctx);
}

static void every_setting_shows_in_the_fingerprint(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    enum { N = 12 };
    tess_hash prints[N];
    const double phi[] = {1, 2};
    const int64_t bad[] = {3};
    const double theta[] = {1000, -1, 0, 1e-3, 0, 0, 1};
    for (int k = 0; k < N; k++) {
        tess_xpcs_simulation s = defaults();
        s.n_angle = k == 1 ? 3 : 2;
        s.n_frame = k == 2 ? 11 : 10;
        s.seed = k == 3 ? 5 : 4;
        s.sigma = k == 4 ? 0.02 : 0.01;
        s.contrast = k == 5 ? 0.2 : 0.3;
        s.phi = k == 6 ? phi : NULL;
        s.bad_frames = bad;
        s.n_bad_frame = k == 7;
        s.theta = k == 8 ? theta : NULL;
        s.model.kernel = k == 9;
        s.dtype = k == 10;
        s.nan_fraction = k == 11 ? 0.1 : 0;
        tess_xpcs_data *data = simulate(ctx, &s, 0);
        prints[k] = data->fingerprint;
        tess_xpcs_data *again = simulate(ctx, &s, 0);
        assert_true(tess_hash_equal(prints[k], again->fingerprint));
        for (int other = 0; other < k; other++) {
            assert_false(tess_hash_equal(prints[k], prints[other]));
        }
        tess_xpcs_data_destroy(data);
        tess_xpcs_data_destroy(again);
    }
    tess_context_destroy(ctx);
}

static void memory_stays_bounded(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = defaults();
    s.n_angle = 2;
    s.n_frame = unit_is_quick() ? 700 : 2601;
    tess_xpcs_data *data = simulate(ctx, &s, 0);
    double contrast[2];
    double offset[2];
    assert_ok(tess_xpcs_data_quantile_scaling(ctx, data, contrast, offset));
    assert_true(fabs(offset[0] - 1) < 0.05);
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &now, &peak);
    assert_true(unit_is_quick() || data->info.bytes > UINT64_C(24) << 20);
    assert_true(peak < UINT64_C(14) << 20);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    tess_context *tight = unit_context(1, UINT64_C(1) << 20);
    s.n_frame = 700;
    assert_fails(tess_xpcs_simulate(tight, &s, 1, &data), TESS_E_LIMIT, "memory limit: 1048576");
    tess_context_destroy(tight);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    tess_xpcs_simulation s = defaults();
    s.n_frame = 3;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "n_frame");
    s = defaults();
    s.model.dt_s = 0;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_ARGUMENT, "dt");
    s = defaults();
    const int64_t bad[] = {201};
    s.bad_frames = bad;
    s.n_bad_frame = 1;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "bad_frames[0]: 201");
    s = defaults();
    s.nan_fraction = 0.7;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_NUMERIC, "more than half");
    s = defaults();
    double contrasts[8] = {0.1, 0.1, (double)NAN};
    s.contrasts = contrasts;
    assert_fails(tess_xpcs_simulate(ctx, &s, 0, &data), TESS_E_RANGE, "contrasts[2]");
    assert_null(data);
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &now, &peak);
    assert_true(now < 1 << 20);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_noise),
        cmocka_unit_test(bits_do_not_depend_on_how),
        cmocka_unit_test(counts_and_means_are_right),
        cmocka_unit_test(scatter_is_keyed_by_seed_and_angle),
        cmocka_unit_test(every_setting_shows_in_the_fingerprint),
        cmocka_unit_test(memory_stays_bounded),
        cmocka_unit_test(bad_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
