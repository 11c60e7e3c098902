// Files of beamlines: what they hold, and what is said of broken ones.
#include "runtime/context.h"
#include "systems/xpcs/files/matrices.h"
#include "systems/xpcs/files/symmetric.h"
#include "xpcs_files.h"

#include <math.h>
#include <unistd.h>

static const struct {
    const char *name;
    const char *layout;
    const char *filter;
    double dt_s;
} golden[] = {
    {"aps_legacy_deflate", "aps-legacy", "deflate", 0},
    {"aps_u_lzf", "aps-u", "lzf", 0.1},
    {"aps_u_mapping_deflate", "aps-u", "deflate", 0.05},
};

static void golden_paths(size_t f, char path[512], char expected[128])
{
    snprintf(path, 512, XF_GOLDEN "%s.hdf", golden[f].name);
    snprintf(expected, 128, "xpcs/%s.expected", golden[f].name);
}

// Every matrix to the bit, with the q and phi that the index mapping gives it.
static void golden_files_are_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    for (size_t f = 0; f < ARRAY_LEN(golden); f++) {
        char path[512];
        char expected[128];
        golden_paths(f, path, expected);
        int64_t n_bin;
        int64_t n_item;
        double *q = golden_f64(ctx, expected, "bin_q", &n_bin);
        double *phi = golden_f64(ctx, expected, "bin_phi", NULL);
        double *full = golden_f64(ctx, expected, "c2_full", &n_item);
        int64_t *number = f > 0 ? golden_i64(ctx, expected, "bin_number", NULL) : NULL;
        const int64_t n = llround(sqrt((double)(n_item / n_bin)));
        float *matrix = malloc((size_t)(n * n) * sizeof *matrix);
        tess_xpcs_file *file = NULL;
        assert_ok(tess_xpcs_file_inspect(ctx, path, &file));
        const tess_xpcs_file_info *info = tess_xpcs_file_get_info(file);
        assert_string_equal(info->layout, golden[f].layout);
        assert_string_equal(info->filter, golden[f].filter);
        assert_string_equal(info->notes, "");
        assert_int_equal(info->dtype, TESS_F32);
        assert_true(fabs(info->dt_s - golden[f].dt_s) < 1e-15);
        assert_int_equal(info->n_bin, n_bin);
        for (int64_t k = 0; k < n_bin; k++) {
            const tess_xpcs_bin *bin = &info->bins[k];
            assert_true(bin->is_valid && bin->q == q[k] && bin->phi == phi[k]);
            assert_int_equal(bin->number, number ? number[k] : k + 1);
            assert_int_equal(bin->n_frame, n);
            assert_ok(file->read(file, k, matrix));
            for (int64_t i = 0; i < n * n; i++) {
                assert_true((double)matrix[i] == full[k * n * n + i]);
            }
        }
        tess_xpcs_file_close(file);
        free(q), free(phi), free(full), free(number), free(matrix);
    }
    tess_context_destroy(ctx);
}

static void golden_selections_are_opened(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (size_t f = 0; f < ARRAY_LEN(golden); f++) {
        char path[512];
        char expected[128];
        golden_paths(f, path, expected);
        int64_t n_sel;
        int64_t n_t;
        double *q = golden_f64(ctx, expected, "sel_q", &n_sel);
        double *phi = golden_f64(ctx, expected, "sel_phi", NULL);
        double *packed = golden_f64(ctx, expected, "sel_packed", NULL);
        double *t = golden_f64(ctx, expected, "sel_t", &n_t);
        double *ranges = f == 0 ? golden_f64(ctx, expected, "sel_phi_ranges", NULL) : NULL;
        int64_t *frames = golden_i64(ctx, expected, "sel_frames", NULL);
        tess_xpcs_data_config config = xf_config();
        tess_xpcs_data *data = NULL;
        config.q = golden_scalar(ctx, expected, "sel_q_request");
        config.start_frame = frames[0];
        config.end_frame = frames[1];
        config.phi_ranges = (const tess_xpcs_angle_range *)ranges;
        config.n_phi_range = ranges ? 2 : 0;
        config.dt_s = f == 0 ? 0.1 : 0;
        config.gap_angstrom = 2e6;
        assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
        const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
        assert_string_equal(info->layout, golden[f].layout);
        assert_string_equal(info->path, path);
        assert_int_equal(info->n_angle, n_sel);
        assert_int_equal(info->n_frame, n_t);
        assert_int_equal(info->start_frame, frames[0]);
        assert_true(fabs(info->dt_s - golden_scalar(ctx, expected, "sel_dt")) < 1e-15);
        assert_true(info->gap_angstrom == 2e6);
        assert_near(info->q, q, n_sel, 0);
        assert_near(info->phi, phi, n_sel, 0);
        xf_check_packed(ctx, data, packed);
        tess_xpcs_data_destroy(data);
        free(q), free(phi), free(packed), free(t), free(ranges), free(frames);
    }
    tess_context_destroy(ctx);
}

// The diagonal that rows show, of whole matrices.
static void golden_diagonals_are_mended(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    int64_t n_item;
    double *want = golden_f64(ctx, "xpcs/aps_u_lzf.expected", "c2_diag", &n_item);
    double rows[100 * 100];
    double diagonal[100];
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    config.keep_t0 = 1;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_lzf.hdf", &config, &data));
    assert_int_equal(tess_xpcs_data_get_info(data)->n_angle, 5);
    assert_int_equal(tess_xpcs_data_get_info(data)->keep_t0, 1);
    for (int64_t a = 0; a < 5; a++) {
        assert_ok(tess_xpcs_data_rows(ctx, data, a, 0, 100, rows));
        for (int64_t i = 0; i < 100; i++) {
            diagonal[i] = rows[101 * i];
        }
        assert_near(diagonal, want + (a + 5) * 100, 100, 1e-12);
    }
    free(want);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void triangles_become_matrices(void **state)
{
    (void)state;
    enum { N = 150 }; // more than two blocks
    static double want[N][N];
    static double got[N][N];
    static float narrow[N][N];
    tess_xp_asymmetry worst;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            want[i][j] = 1 + 0.001 * abs(i - j) + 0.0001 * (i + j);
        }
    }
    for (int kind = 0; kind < 4; kind++) { // upper, lower, both, NaN instead of zeros
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                const int is_kept = i == j || kind == 2 || (kind == 1 ? j < i : j > i);
                got[i][j] = is_kept ? want[i][j] : kind == 3 ? (double)NAN : 0;
                narrow[i][j] = (float)got[i][j];
            }
        }
        assert_true(tess_xp_symmetrise(got, TESS_F64, N, &worst));
        assert_memory_equal(got, want, sizeof got);
        assert_true(tess_xp_symmetrise(narrow, TESS_F32, N, &worst));
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                assert_true(narrow[i][j] == (float)want[i][j]);
            }
        }
    }
    got[3][140] = want[3][140] * 1.0004;
    assert_true(tess_xp_symmetrise(got, TESS_F64, N, &worst));
    assert_true(got[3][140] == got[140][3] && fabs(got[3][140] / want[3][140] - 1.0002) < 1e-12);
    got[140][3] = 2 * want[3][140];
    got[7][9] = 1.1 * want[7][9];
    assert_false(tess_xp_symmetrise(got, TESS_F64, N, &worst));
    assert_int_equal(worst.row, 3);
    assert_int_equal(worst.column, 140);
    assert_true(worst.lower == 2 * want[3][140]);
    got[140][3] = (double)INFINITY;
    assert_false(tess_xp_symmetrise(got, TESS_F64, N, &worst));
    memset(got, 0, sizeof got);
    assert_true(tess_xp_symmetrise(got, TESS_F64, N, &worst));
}

static void bins_are_placed_by_the_mapping(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    tess_xpcs_file *file = NULL;
    xf_aps_u(&f);
    f.bins[0] = 1;
    f.bins[2] = 2;
    f.mapping[0] = 5;
    assert_ok(tess_xpcs_file_inspect(ctx, xf_write(ctx, &f, "mapped.h5"), &file));
    const tess_xpcs_bin *bins = tess_xpcs_file_get_info(file)->bins;
    assert_true(bins[0].q == 0.0054 && bins[0].phi == 90 && bins[0].number == 1);
    assert_true(bins[1].q == 0.0054 && bins[1].phi == 0 && bins[1].number == 5);
    assert_true(bins[2].q == 0.004 && bins[2].phi == 0);
    assert_true(fabs(tess_xpcs_file_get_info(file)->dt_s - 0.1) < 1e-15);
    tess_xpcs_file_close(file);
    xf_drop(&f, "xpcs/qmap/dynamic_index_mapping");
    assert_ok(tess_xpcs_file_inspect(ctx, xf_write(ctx, &f, "mapped.h5"), &file));
    assert_true(tess_xpcs_file_get_info(file)->bins[0].q == 0.004);
    assert_true(tess_xpcs_file_get_info(file)->bins[0].phi == -30);
    tess_xpcs_file_close(file);

    xf_legacy(&f);
    f.bins[0] = 3;
    f.bins[2] = 1;
    assert_ok(tess_xpcs_file_inspect(ctx, xf_write(ctx, &f, "mapped.h5"), &file));
    assert_true(tess_xpcs_file_get_info(file)->bins[0].phi == 190);
    assert_true(tess_xpcs_file_get_info(file)->bins[2].q == 0.00538);
    tess_xpcs_file_close(file);
    tess_context_destroy(ctx);
}

// A matrix in f64 among others in f32: all become f64, none changes.
static void types_may_be_mixed(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    double wide[XF_FRAMES][XF_FRAMES];
    double got[XF_FRAMES][XF_FRAMES];
    const int64_t shape[] = {XF_FRAMES, XF_FRAMES};
    tess_xpcs_file *file = NULL;
    xf_legacy(&f);
    for (int i = 0; i < XF_FRAMES; i++) {
        for (int j = 0; j < XF_FRAMES; j++) {
            wide[i][j] = j < i ? 0 : 1.1 + 0.01 * i * j;
        }
    }
    tess_bundle_input(xf_find(&f, f.keys[1]), f.keys[1], TESS_F64, 2, shape, wide);
    assert_ok(tess_xpcs_file_inspect(ctx, xf_write(ctx, &f, "mixed.h5"), &file));
    assert_int_equal(tess_xpcs_file_get_info(file)->dtype, TESS_F64);
    for (int k = 0; k < XF_MATRICES; k++) {
        assert_ok(file->read(file, k, got));
        for (int i = 0; i < XF_FRAMES; i++) {
            for (int j = i; j < XF_FRAMES; j++) {
                const double want = k == 1 ? wide[i][j] : (double)f.c2[k][i][j];
                assert_true(got[i][j] == want && got[j][i] == want);
            }
        }
    }
    tess_xpcs_file_close(file);
    tess_context_destroy(ctx);
}

// The middle one of three is missing: the last keeps its own angle.
static void matrices_keep_their_bins(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    tess_xpcs_data *data = NULL;
    xf_aps_u(&f);
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    const double third = tess_xpcs_data_get_info(data)->phi[2];
    tess_xpcs_data_destroy(data);
    xf_drop(&f, f.keys[1]);
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    assert_int_equal(info->n_angle, 2);
    assert_true(info->phi[1] == third);
    assert_contains(info->notes,
                    "2 matrices and 3 processed bins; they are matched by the numbers");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void odd_files_are_read_with_notes(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    tess_xpcs_data *data = NULL;
    const int64_t two = 2;

    xf_aps_u(&f);
    f.bins[1] = 7;
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    assert_int_equal(tess_xpcs_data_get_info(data)->n_angle, 2);
    assert_contains(tess_xpcs_data_get_info(data)->notes,
                    "processed_bins has bin 7, which the grid of 2 x 3 points and 6 bins does not");
    tess_xpcs_data_destroy(data);

    xf_aps_u(&f);
    f.mapping[4] = -3;
    tess_bundle_input(xf_find(&f, "xpcs/twotime/processed_bins"), "xpcs/twotime/processed_bins",
                      TESS_I64, 1, &two, f.bins);
    xf_drop(&f, "xpcs/qmap/map_names");
    xf_drop(&f, "entry/instrument/detector_1/frame_time");
    xf_add(&f, "xpcs/qmap/dynamic_num_pts", TESS_I64, 1, &two, f.bins);
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    assert_int_equal(info->n_angle, 1);
    assert_true(info->dt_s == 0);
    assert_contains(info->notes, "does not name its maps");
    assert_contains(info->notes, "has 3 matrices and 2 processed bins; the first of both are used");
    assert_contains(info->notes, "bin 5, which the grid");
    assert_contains(info->notes, "does not say the time between frames");
    assert_contains(info->notes, "dynamic_num_pts disagrees");
    tess_xpcs_data_destroy(data);

    xf_legacy(&f);
    f.bins[1] = 0;
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    info = tess_xpcs_data_get_info(data);
    assert_int_equal(info->n_angle, 2);
    assert_true(info->phi[1] == -170 && info->q[1] == 0.00542);
    assert_contains(info->notes, "qphi_bin_to_process has bin 0, but there are 3 bins");
    assert_contains(info->notes, "count as one ring");
    tess_xpcs_data_destroy(data);

    xf_legacy(&f);
    tess_bundle_input(xf_find(&f, "xpcs/qphi_bin_to_process"), "xpcs/qphi_bin_to_process", TESS_I64,
                      1, &two, f.bins);
    tess_bundle_input(xf_find(&f, "xpcs/dphilist"), "xpcs/dphilist", TESS_F64, 1, &two, f.phi);
    assert_ok(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "odd.h5"), NULL, &data));
    info = tess_xpcs_data_get_info(data);
    assert_int_equal(info->n_angle, 2);
    assert_contains(info->notes, "qphi_bin_to_process lists 2 bins for 3 matrices; it is not used");
    assert_contains(info->notes, "has 3 matrices, 3 q and 2 phi; the first of each are used");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void times_are_compared(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    tess_xpcs_data *data = NULL;
    tess_xpcs_data_config config = xf_config();
    xf_aps_u(&f);
    const char *path = xf_write(ctx, &f, "times.h5");
    config.dt_s = 0.1005;
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_string_equal(tess_xpcs_data_get_info(data)->notes, "");
    assert_true(tess_xpcs_data_get_info(data)->dt_s == 0.1005);
    tess_xpcs_data_destroy(data);
    config.dt_s = 0.102;
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "dt is configured as 0.102 s");
    tess_xpcs_data_destroy(data);
    config.dt_s = 0.05;
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes,
                    "dt is configured as 0.05 s, but the file says 0.1 s (frame time 0.01 s, "
                    "stride 5, averaging 2); the configured one is used");
    tess_xpcs_data_destroy(data);
    config.dt_s = 0.01;
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "a factor of 10: check the units");
    tess_xpcs_data_destroy(data);
    config.dt_s = -1;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG, "dt: got -1");
    config.dt_s = (double)NAN;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG, "seconds");
    config.dt_s = 0;
    config.gap_angstrom = -2;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG, "gap: got -2");
    tess_context_destroy(ctx);
}

// The same matrices with angles first, one alone, and angles last; packed: frames 2 to 6 of them.
static const char *write_data_sets(tess_context *ctx, double packed[XF_MATRICES * 10])
{
    static xf_file f;
    static float last[XF_FRAMES][XF_FRAMES][XF_MATRICES];
    const int64_t stack[] = {XF_MATRICES, XF_FRAMES, XF_FRAMES};
    const int64_t strided[] = {XF_FRAMES, XF_FRAMES, XF_MATRICES};
    int64_t n = 0;
    xf_aps_u(&f);
    f.n_input = 0;
    for (int k = 0; k < XF_MATRICES; k++) {
        for (int i = 0; i < XF_FRAMES; i++) {
            for (int j = 0; j < XF_FRAMES; j++) {
                last[i][j][k] = f.c2[k][i][j];
                if (i > 0 && j > i) {
                    packed[n++] = (double)f.c2[k][i][j];
                }
            }
        }
    }
    xf_add(&f, "entry/data/two_time", TESS_F32, 3, stack, f.c2);
    xf_add(&f, "entry/data/one", TESS_F32, 2, stack + 1, f.c2[0]);
    xf_add(&f, "entry/data/last", TESS_F32, 3, strided, last);
    xf_add(&f, "packed", TESS_F32, 3, strided, last);
    f.inputs[3].packing = TESS_PACKING_LZF;
    xf_add(&f, "flat", TESS_F32, 1, (int64_t[]){36}, f.c2[0]);
    return xf_write(ctx, &f, "generic.h5");
}

static void any_data_set_can_be_taken(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const double phi[] = {-30, 0, 90};
    double packed[XF_MATRICES * 10];
    const char *path = write_data_sets(ctx, packed);
    static const struct {
        const char *name;
        int32_t angles_last;
        int64_t n_angle;
    } cases[] = {{"/entry/data/two_time", 0, 3},
                 {"entry/data/one", 0, 1},
                 {"entry/data/last", 1, 3},
                 {"packed", 1, 3}};
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    config.q = 0.01;
    config.phi = phi;
    config.dt_s = 0.5;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        config.c2_path = cases[i].name;
        config.angles_last = cases[i].angles_last;
        config.n_phi = cases[i].n_angle;
        assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
        const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
        assert_int_equal(info->n_angle, cases[i].n_angle);
        assert_string_equal(info->layout, "dataset");
        assert_true(info->q[0] == 0.01 && info->dt_s == 0.5);
        xf_check_packed(ctx, data, packed);
        tess_xpcs_data_destroy(data);
    }
    config.c2_path = "entry/data/two_time";
    config.angles_last = 1;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_SHAPE, "is 3 x 6");
    config.angles_last = 0;
    config.n_phi = 2;
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_CONFIG,
                 "phi: got 2 angles for the 3 matrices of");
    config.c2_path = "flat";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_SHAPE, "'flat' has 1 axes");
    config.c2_path = "absent";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_NOT_FOUND, "absent");
    tess_context_destroy(ctx);
}

static void sigma_comes_from_a_data_set(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    static double sigma[XF_MATRICES][XF_FRAMES][XF_FRAMES];
    static float shared[XF_FRAMES][XF_FRAMES];
    const int64_t stack[] = {XF_MATRICES, XF_FRAMES, XF_FRAMES};
    for (int i = 0; i < XF_MATRICES * XF_FRAMES * XF_FRAMES; i++) {
        const int row = i / XF_FRAMES % XF_FRAMES;
        const int column = i % XF_FRAMES;
        (&sigma[0][0][0])[i] = 0.01 + 0.001 * (row * column);
    }
    for (int i = 0; i < XF_FRAMES * XF_FRAMES; i++) {
        (&shared[0][0])[i] = 0.02F;
    }
    xf_aps_u(&f);
    xf_add(&f, "errors/all", TESS_F64, 3, stack, sigma);
    xf_add(&f, "errors/one", TESS_F32, 2, stack + 1, shared);
    xf_add(&f, "errors/oblong", TESS_F32, 2, (int64_t[]){XF_FRAMES, XF_FRAMES - 1}, shared);
    const char *path = xf_write(ctx, &f, "sigma.h5");
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    config.sigma_dataset = "errors/all";
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_int_equal(tess_xpcs_data_get_info(data)->has_sigma, 1);
    tess_xpcs_data_destroy(data);
    config.sigma_dataset = "errors/one";
    assert_ok(tess_xpcs_data_open(ctx, path, &config, &data));
    assert_int_equal(tess_xpcs_data_get_info(data)->has_sigma, 1);
    tess_xpcs_data_destroy(data);
    config.sigma_dataset = "errors/none";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_NOT_FOUND, "errors/none");
    config.sigma_dataset = "xpcs/qmap/dynamic_v_list_dim0";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_SHAPE,
                 "expected (3, 6, 6) or (6, 6)");
    config.sigma_dataset = "errors/oblong";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_SHAPE, "errors/oblong");
    sigma[1][2][4] = 0.3;
    path = xf_write(ctx, &f, "sigma.h5");
    config.sigma_dataset = "errors/all";
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_NUMERIC,
                 "matrix not symmetric: 'errors/all'");
    sigma[1][2][4] = sigma[1][4][2] = -1;
    path = xf_write(ctx, &f, "sigma.h5");
    assert_fails(tess_xpcs_data_open(ctx, path, &config, &data), TESS_E_NUMERIC, "sigma: -1 at");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_read),
        cmocka_unit_test(golden_selections_are_opened),
        cmocka_unit_test(golden_diagonals_are_mended),
        cmocka_unit_test(triangles_become_matrices),
        cmocka_unit_test(bins_are_placed_by_the_mapping),
        cmocka_unit_test(types_may_be_mixed),
        cmocka_unit_test(matrices_keep_their_bins),
        cmocka_unit_test(odd_files_are_read_with_notes),
        cmocka_unit_test(times_are_compared),
        cmocka_unit_test(any_data_set_can_be_taken),
        cmocka_unit_test(sigma_comes_from_a_data_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
