// Simulated files: what opens from them is what was simulated.
#include "runtime/context.h"
#include "systems/xpcs/files/matrices.h"
#include "xpcs_files.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

enum { N_ANGLE = 5, N_FRAME = 70 };

static const double PHI[N_ANGLE] = {30, -15, 88, 0, 30};
static const double Q[N_ANGLE] = {0.0054, 0.0054, 0.0054, 0.0054, 0.007};

static tess_xpcs_simulation settings(void)
{
    static const int64_t bad = 12;
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = N_ANGLE;
    s.n_frame = N_FRAME;
    s.phi = PHI;
    s.q_list = Q;
    s.contrast_scatter = 0.1;
    s.nan_fraction = 0.001;
    s.bad_frames = &bad;
    s.n_bad_frame = 1;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

static void check_same(tess_context *ctx, tess_xpcs_data *got, tess_xpcs_data *want)
{
    const tess_xpcs_data_info *a = tess_xpcs_data_get_info(got);
    const tess_xpcs_data_info *b = tess_xpcs_data_get_info(want);
    assert_int_equal(a->n_angle, b->n_angle);
    assert_int_equal(a->n_frame, b->n_frame);
    double *rows = malloc(2 * N_FRAME * N_FRAME * sizeof *rows);
    for (int64_t k = 0; k < a->n_angle; k++) {
        const size_t bytes = (size_t)(a->n_frame * a->n_frame) * sizeof *rows;
        assert_true(a->phi[k] == b->phi[k] && a->q[k] == b->q[k]);
        assert_int_equal(a->n_finite[k], b->n_finite[k]);
        assert_ok(tess_xpcs_data_rows(ctx, got, k, 0, a->n_frame, rows));
        assert_ok(tess_xpcs_data_rows(ctx, want, k, 0, a->n_frame, rows + N_FRAME * N_FRAME));
        assert_memory_equal(rows, rows + N_FRAME * N_FRAME, bytes);
    }
    free(rows);
}

static const struct {
    tess_xpcs_file_layout layout;
    tess_xpcs_filter filter;
    const char *name;
    const char *filter_name;
} cases[] = {
    {TESS_XPCS_APS_U, TESS_XPCS_FILTER_LZF, "u_lzf.hdf", "lzf"},
    {TESS_XPCS_APS_U, TESS_XPCS_FILTER_DEFLATE, "u_deflate.hdf", "deflate"},
    {TESS_XPCS_APS_U, TESS_XPCS_FILTER_NONE, "u_none.hdf", "none"},
    {TESS_XPCS_APS_LEGACY, TESS_XPCS_FILTER_DEFLATE, "legacy.hdf", "deflate"},
    {TESS_XPCS_TXC2, TESS_XPCS_FILTER_NONE, "flat.txc2", "none"},
};

static void files_open_as_the_simulation(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (int keep_t0 = 0; keep_t0 < 2; keep_t0++) {
        tess_xpcs_simulation s = settings();
        s.model.keep_t0 = keep_t0;
        tess_xpcs_data *want = NULL;
        assert_ok(tess_xpcs_simulate(ctx, &s, 1, &want));
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            const char *path = unit_path(cases[i].name);
            assert_ok(tess_xpcs_simulate_file(ctx, &s, cases[i].layout, cases[i].filter, path, 1));
            tess_xpcs_data_config config = xf_config();
            tess_xpcs_data *got = NULL;
            config.keep_t0 = keep_t0;
            config.q_tolerance = 0.5; // both rings
            assert_ok(tess_xpcs_data_open(ctx, path, &config, &got));
            check_same(ctx, got, want);
            const tess_xpcs_data_info *info = tess_xpcs_data_get_info(got);
            assert_int_equal(info->keep_t0, keep_t0);
            assert_true(info->dt_s == (cases[i].layout == TESS_XPCS_APS_LEGACY ? 0 : 0.1));
            tess_xpcs_data_destroy(got);
        }
        tess_xpcs_data_destroy(want);
    }
    tess_context_destroy(ctx);
}

static void files_look_like_a_beamlines(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_simulation s = settings();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *path = unit_path(cases[i].name);
        tess_xpcs_file *file = NULL;
        assert_ok(tess_xpcs_simulate_file(ctx, &s, cases[i].layout, cases[i].filter, path, 1));
        assert_ok(tess_xpcs_file_inspect(ctx, path, &file));
        const tess_xpcs_file_info *info = tess_xpcs_file_get_info(file);
        assert_int_equal(info->n_bin, N_ANGLE);
        assert_string_equal(info->filter, cases[i].filter_name);
        for (int64_t k = 0; k < N_ANGLE; k++) {
            assert_true(info->bins[k].q == Q[k] && info->bins[k].phi == PHI[k]);
        }
        if (cases[i].layout == TESS_XPCS_APS_U) {
            // Points of the grid in order of q, then phi: the fifth is the only one of its ring.
            static const int64_t numbers[N_ANGLE] = {3, 1, 4, 2, 5};
            for (int64_t k = 0; k < N_ANGLE; k++) {
                assert_int_equal(info->bins[k].number, numbers[k]);
            }
        }
        tess_xpcs_file_close(file);
    }
    // Zeros below the diagonal, the spike on it.
    tess_bundle bundle;
    static double c2[N_FRAME][N_FRAME];
    double contrast[N_ANGLE];
    assert_ok(tess_bundle_open(ctx, unit_path(cases[0].name), &bundle));
    assert_ok(tess_bundle_read_f64(
        &bundle, tess_bundle_find(&bundle, "xpcs/twotime/correlation_map/c2_00002"), &c2[0][0]));
    assert_ok(
        tess_bundle_read_f64(&bundle, tess_bundle_find(&bundle, "simulation/contrast"), contrast));
    for (int i = 0; i < N_FRAME; i++) {
        for (int j = 0; j < i; j++) {
            assert_true(c2[i][j] == 0);
        }
        assert_true(fabs(c2[i][i] - (1.5 + contrast[1])) < 1e-6);
    }
    assert_true(c2[0][1] > 0.9 && isnan(c2[11][40]) && isnan(c2[0][11]));
    tess_bundle_close(&bundle);
    tess_context_destroy(ctx);
}

// With room for a few matrices at a time the same bytes are written, and in another second, too.
static void memory_limits_change_nothing(void **state)
{
    (void)state;
    tess_context *roomy = unit_context(1, 0);
    tess_context *tight = unit_context(1, 4 * 2 * N_FRAME * N_FRAME * sizeof(float));
    const tess_xpcs_simulation s = settings();
    size_t n_a;
    size_t n_b;
    assert_ok(tess_xpcs_simulate_file(roomy, &s, TESS_XPCS_APS_U, TESS_XPCS_FILTER_LZF,
                                      unit_path("a.hdf"), 1));
    const struct timespec later = {.tv_sec = 1, .tv_nsec = 50000000};
    nanosleep(&later, NULL);
    assert_ok(tess_xpcs_simulate_file(tight, &s, TESS_XPCS_APS_U, TESS_XPCS_FILTER_LZF,
                                      unit_path("b.hdf"), 1));
    char *a = unit_read_file(unit_path("a.hdf"), &n_a);
    char *b = unit_read_file(unit_path("b.hdf"), &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(a, b, n_a);
    free(a), free(b);
    tess_context_destroy(roomy);
    tess_context *none = unit_context(1, N_FRAME * N_FRAME);
    assert_fails(tess_xpcs_simulate_file(none, &s, TESS_XPCS_APS_U, TESS_XPCS_FILTER_LZF,
                                         unit_path("c.hdf"), 1),
                 TESS_E_LIMIT, "a matrix of 70 frames takes 19600 bytes");
    tess_context_destroy(none);
    tess_context_destroy(tight);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_simulation s = settings();
    const int n_before = unit_count_files();
    const char *path = unit_path("x.hdf");
    assert_fails(tess_xpcs_simulate_file(ctx, &s, (tess_xpcs_file_layout)7, 0, path, 0),
                 TESS_E_ARGUMENT, "layout: 7");
    assert_fails(tess_xpcs_simulate_file(ctx, &s, 0, (tess_xpcs_filter)-1, path, 0),
                 TESS_E_ARGUMENT, "filter: -1");
    assert_fails(tess_xpcs_simulate_file(ctx, &s, 0, 0, unit_path("x.dat"), 0), TESS_E_ARGUMENT,
                 "x.dat");
    assert_fails(tess_xpcs_simulate_file(ctx, &s, 0, 0, unit_path("x.npz"), 0), TESS_E_ARGUMENT,
                 "written at once");
    assert_int_equal(unit_count_files(), n_before);
    assert_ok(tess_xpcs_simulate_file(ctx, &s, 0, 0, path, 0));
    assert_fails(tess_xpcs_simulate_file(ctx, &s, 0, 0, path, 0), TESS_E_EXISTS, "x.hdf");
    unlink(path);
    tess_context_destroy(ctx);
}

// What a .txc2 file cannot do any more.
static void flat_files_are_taken_as_they_are(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_simulation s = settings();
    const char *path = unit_path("flat.txc2");
    const tess_xpcs_angle_range all = {-90, 90};
    const tess_xpcs_angle_range some = {-20, 20};
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate_file(ctx, &s, TESS_XPCS_TXC2, 0, path, 1));
    config.phi_ranges = &all;
    config.n_phi_range = 1;
    config.dt_s = 0.2;
    config.gap_angstrom = 1e6;
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_true(tess_xpcs_data_get_info(data)->dt_s == 0.2);
    assert_true(tess_xpcs_data_get_info(data)->gap_angstrom == 1e6);
    assert_contains(tess_xpcs_data_get_info(data)->notes,
                    "dt is configured as 0.2 s, but the file says 0.1 s");
    tess_xpcs_data_destroy(data);
    config.phi_ranges = &some;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG,
                 "holds an angle of 30 degrees, which is in none of phi_ranges");
    config.n_phi_range = 0;
    config.start_frame = 5;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG,
                 "holds frames 1 to 70, and start_frame and end_frame ask for 5 to 70");
    config.start_frame = 1;
    config.exclude_lags = 3;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG,
                 "exclude_lags cannot be applied");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_open_as_the_simulation),
        cmocka_unit_test(files_look_like_a_beamlines),
        cmocka_unit_test(memory_limits_change_nothing),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(flat_files_are_taken_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
