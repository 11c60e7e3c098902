// Pages and pictures of a fit: whole, escaped, the right way up.
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/result/noise.h"
#include "tessera/run.h"
#include "xpcs_png.h"
#include "xpcs_result.h"

#include <unistd.h>

enum { N = 40 };

static tess_context *ctx;

static void cells_are_means(void **state)
{
    (void)state;
    // As many pixels as frames, and fewer; f64 and f32.
    for (int k = 0; k < 4; k++) {
        const int64_t side = k < 2 ? N : 7;
        hand_result r;
        hand_make(ctx, 2, N, k % 2 ? TESS_F32 : TESS_F64, &r);
        tess_xp_residuals residuals = {.n_point = 0};
        const tess_xp_sweep_setup setup = {.ctx = ctx,
                                           .data = r.data,
                                           .info = &r.info,
                                           .model = &r.model,
                                           .first_angle = 1,
                                           .n_angle = 1,
                                           .side = side,
                                           .stage = "test",
                                           .residuals = &residuals};
        tess_xp_sweep sweep;
        assert_ok(tess_xp_sweep_run(&setup, &sweep));
        assert_int_equal(sweep.side, side);
        double *map = malloc((size_t)(side * side) * sizeof *map);
        tess_xp_sweep_map(&sweep, 0, TESS_XP_MEASURED, map);
        const double *c2 = r.c2 + N * N;
        for (int64_t u = 0; u < side; u++) {
            for (int64_t v = u; v < side; v++) {
                double sum = 0;
                int n = 0;
                for (int64_t i = 0; i < N; i++) {
                    for (int64_t j = i + 1; j < N; j++) {
                        if (i * side / N == u && j * side / N == v) {
                            sum += c2[i * N + j];
                            n++;
                        }
                    }
                }
                if (n > 0) {
                    assert_true(fabs(map[u * side + v] - sum / n) < 1e-6);
                    assert_true(map[v * side + u] == map[u * side + v]);
                } else { // the diagonal, from its neighbours
                    assert_true(isfinite(map[u * side + v]));
                }
            }
        }
        double mean = 0;
        for (int64_t i = 0; i + 3 < N; i++) {
            mean += c2[i * N + i + 3] / (N - 3);
        }
        assert_int_equal(sweep.lags[3].n, N - 3);
        assert_true(fabs(sweep.lags[3].measured / (N - 3) - mean) < 1e-6);
        assert_int_equal(residuals.n_point, N * (N - 1) / 2);
        assert_true(fabs(sqrt(residuals.squares / (double)residuals.n_point) - 1) < 0.1);
        free(map);
        tess_xp_sweep_free(&sweep);
        hand_free(&r);
    }
}

static void fits_are_the_model(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F64, &r);
    const tess_xp_sweep_setup setup = {.ctx = ctx,
                                       .data = r.data,
                                       .info = &r.info,
                                       .model = &r.model,
                                       .n_angle = 3,
                                       .side = 400,
                                       .stage = "test"};
    const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                     .n_angle = 3,
                                     .phi = r.phi,
                                     .q = r.q,
                                     .contrast = r.contrast,
                                     .offset = r.offset};
    double *want = malloc(3 * N * N * sizeof *want);
    assert_ok(tess_xpcs_model_surface(ctx, &r.model, &angles, r.theta, N, want));
    tess_xp_sweep sweep;
    assert_ok(tess_xp_sweep_run(&setup, &sweep));
    double map[N * N];
    for (int64_t a = 0; a < 3; a++) {
        tess_xp_sweep_map(&sweep, a, TESS_XP_FITTED, map);
        for (int64_t i = 0; i < N * N; i++) {
            if (i / N != i % N) {
                assert_true(fabs(map[i] - want[a * N * N + i]) < 1e-13);
            }
        }
    }
    tess_xp_sweep_map(&sweep, 0, TESS_XP_RESIDUAL, map);
    assert_true(fabs(map[3 * N + 7] - (r.c2[3 * N + 7] - want[3 * N + 7]) / 0.01) < 1e-9);
    assert_true(isnan(map[2 * N + 5]) && isnan(map[5 * N + 2])); // missing
    free(want);
    tess_xp_sweep_free(&sweep);
    hand_free(&r);
}

static void residuals_are_in_sigma_of_the_point(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        hand_result r;
        hand_make(ctx, 2, N, TESS_F32, &r);
        tess_xpcs_data_destroy(r.data);
        hand_data(ctx, 2, N, TESS_F32, 1, &r);
        r.info.sigma_mode = k == 0 ? TESS_XPCS_SIGMA_DATASET : TESS_XPCS_SIGMA_PER_LAG;
        double per_lag[2 * N];
        assert_ok(tess_xp_data_sigma_per_lag(r.data->ctx, r.data, (tess_comm_deal){0, 1}, per_lag));
        const tess_xp_sweep_setup setup = {.ctx = ctx,
                                           .data = r.data,
                                           .info = &r.info,
                                           .model = &r.model,
                                           .first_angle = 1,
                                           .n_angle = 1,
                                           .side = N,
                                           .stage = "test"};
        tess_xp_sweep sweep;
        double fitted[N * N];
        double residual[N * N];
        double rows[3 * N];
        assert_ok(tess_xp_sweep_run(&setup, &sweep));
        tess_xp_sweep_map(&sweep, 0, TESS_XP_FITTED, fitted);
        tess_xp_sweep_map(&sweep, 0, TESS_XP_RESIDUAL, residual);
        tess_xp_noise noise;
        assert_ok(tess_xp_noise_open(&r.info, r.data, &noise));
        assert_ok(tess_xp_noise_rows(&noise, 1, 10, 3, rows));
        for (int64_t i = 10; i < 13; i++) {
            for (int64_t j = 0; j < N; j++) {
                const double sigma = k == 0 ? hand_sigma(i, j) : per_lag[N + llabs(i - j)];
                const double want =
                    ((double)(float)r.c2[(N + i) * N + j] - fitted[i * N + j]) / sigma;
                if (i != j) {
                    assert_true(fabs(residual[i * N + j] - want) < 1e-9);
                    assert_true(fabs(rows[(i - 10) * N + j] - sigma) < 1e-15);
                }
            }
        }
        tess_xp_noise_close(&noise);
        tess_xp_sweep_free(&sweep);
        hand_free(&r);
    }
}

static png_image read_png(const char *path)
{
    size_t bytes = 0;
    char *file = unit_read_file(path, &bytes);
    png_image image;
    png_decode((const uint8_t *)file, bytes, &image);
    free(file);
    return image;
}

// Small far from the diagonal, row t2 after row from the earliest on.
static void maps_have_their_origin_lower_left(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 1, N, TESS_F64, &r);
    const tess_xp_sweep_setup setup = {.ctx = ctx,
                                       .data = r.data,
                                       .info = &r.info,
                                       .model = &r.model,
                                       .n_angle = 1,
                                       .side = 400,
                                       .stage = "test"};
    tess_xp_sweep sweep;
    tess_xp_maps maps;
    assert_ok(tess_xp_sweep_run(&setup, &sweep));
    assert_ok(tess_xp_maps_create(&sweep, &maps));
    tess_xp_maps_fill(&maps, &sweep, 0);
    // The missing point (t1 5, t2 2) is one, and so is its mirror image.
    assert_int_equal(maps.side, N);
    assert_true(isnan(maps.values[2 * N + 5]));
    assert_true(isnan(maps.values[5 * N + 2]));
    assert_true(isfinite(maps.values[(N - 1 - 2) * N + 5]));
    assert_true(maps.values[4 * N + 3] > maps.values[(N - 1) * N]);
    // Half of the measured and fitted values lie between the percentiles.
    assert_true(maps.low < maps.high && maps.low > 1 && maps.high < 1.5);
    tess_xp_maps_destroy(&maps);
    tess_xp_sweep_free(&sweep);
    hand_free(&r);
}

static void figures_have_names(void **state)
{
    (void)state;
    const double phi[] = {4.88, -5.79, -0.02, 4.91, 4.92, 180};
    const double q[] = {0.0054, 0.0054, 0.0054, 0.0054, 0.006, 0.0054};
    const tess_xpcs_data_info info = {.n_angle = 6, .phi = phi, .q = q};
    static const char *const want[] = {"c2_heatmaps_phi_4.9deg_q_0.005400.png",
                                       "c2_heatmaps_phi_-5.8deg.png",
                                       "c2_heatmaps_phi_0.0deg.png",
                                       "c2_heatmaps_phi_4.9deg_q_0.005400_2.png",
                                       "c2_heatmaps_phi_4.9deg_q_0.006000.png",
                                       "c2_heatmaps_phi_180.0deg.png"};
    for (int64_t a = 0; a < 6; a++) {
        char name[TESS_XP_FIGURE_NAME];
        tess_xp_figure_name(&info, a, name);
        assert_string_equal(name, want[a]);
    }
}

static void figures_are_written(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 2, N, TESS_F64, &r);
    const char *folder = unit_path("figures");
    assert_ok(tess_xp_figures_of(ctx, &r.info, r.data, &r.model, folder, 0));
    char path[1024];
    snprintf(path, sizeof path, "%s/c2_heatmaps_phi_-20.0deg.png", folder);
    png_image three = read_png(path);
    // Cells of 8 pixels from (104, 64) on: bright beside the diagonal, dark where t1 = 0.
    const uint8_t *near = png_pixel(&three, 104 + 20 * 8 + 4, 64 + (N - 1 - 21) * 8 + 4);
    const uint8_t *far = png_pixel(&three, 104 + 4, 64 + 4);
    const uint8_t *other = png_pixel(&three, 104 + 20 * 8 + 4, 64 + 21 * 8 + 4);
    assert_true(near[1] > far[1] + 50);
    static const uint8_t grey[3] = {160, 160, 160};
    assert_memory_equal(png_pixel(&three, 104 + 5 * 8 + 1, 64 + (N - 1 - 2) * 8 + 1), grey, 3);
    assert_memory_not_equal(other, grey, 3);
    assert_fails(tess_xp_figures_of(ctx, &r.info, r.data, &r.model, folder, 0), TESS_E_EXISTS,
                 "c2_heatmaps_phi_-20.0deg.png: exists already");
    // Without a result the measured map alone.
    assert_ok(tess_xp_figures_of(ctx, NULL, r.data, NULL, folder, 1));
    png_image one = read_png(path);
    assert_int_equal(one.height, three.height);
    assert_true(2 * one.width < three.width);
    unlink(path);
    snprintf(path, sizeof path, "%s/c2_heatmaps_phi_-5.0deg.png", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); // nothing else was left there
    png_free(&one);
    png_free(&three);
    hand_free(&r);
}

// Every element that is opened is closed, in order; text has no bare angle brackets.
static void check_nesting(const char *html)
{
    static const char *const alone[] = {"!DOCTYPE", "!--", "meta", "img"};
    char open[64][16];
    int depth = 0;
    for (const char *at = strchr(html, '<'); at; at = strchr(at + 1, '<')) {
        char name[16] = "";
        const char *start = at + 1 + (at[1] == '/');
        const size_t n = strcspn(start, " >/\n");
        const char *end = strchr(at, '>');
        assert_true(end && n > 0 && n < sizeof name);
        memcpy(name, start, n);
        int is_alone = end[-1] == '/';
        for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
            is_alone = is_alone || strcmp(name, alone[i]) == 0;
        }
        if (at[1] == '/') {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (!is_alone) {
            assert_true(depth < 64);
            snprintf(open[depth++], sizeof open[0], "%s", name);
        }
        if (at[1] != '/' && (strcmp(name, "style") == 0 || strcmp(name, "script") == 0)) {
            at = strstr(at, name[1] == 't' ? "</style>" : "</script>") - 1;
        }
    }
    assert_int_equal(depth, 0);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; *s; s++) {
        n += *s == *part && strncmp(s, part, strlen(part)) == 0;
    }
    return n;
}

static void pages_are_whole(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 3, 30};
    for (size_t k = 0; k < (unit_is_quick() ? 2 : ARRAY_LEN(sizes)); k++) {
        hand_result r;
        hand_make(ctx, sizes[k], N, TESS_F32, &r);
        const char *path = unit_path("report.html");
        assert_ok(tess_xp_report_of(ctx, &r.info, r.data, &r.model, path, 1));
        char *html = unit_read_file(path, NULL);
        check_nesting(html);
        assert_int_equal(count(html, "<details id="), sizes[k]);
        assert_int_equal(count(html, "data:image/png;base64,iVBOR"), 3 * sizes[k]);
        // Those of angles, and the contents.
        assert_int_equal(count(html, " open>"), 1 + (sizes[k] > 4 ? 1 : sizes[k]));
        assert_contains(html, "run&lt;script&gt;07.h5");
        assert_null(strstr(html, "<script>07"));
        assert_null(strstr(html, "/secret/"));
        assert_contains(html, "alpha &amp; D0 are &lt;strongly&gt; correlated.");
        assert_contains(html, "20000 ± 260");
        assert_contains(html, "at_upper");
        assert_contains(html, "fit marginal");
        assert_contains(html, ">[19480, 20780]<");
        assert_contains(html, ">[1.948, 2.000] p<");
        assert_contains(html, "has risen by 3.84 (in");
        assert_contains(html, ">Other minima</h2>");
        assert_contains(html, ">913<");
        assert_contains(html, ">410<");
        assert_contains(html, "bootstrap");
        assert_contains(html, "10.1073/pnas.2401162121");
        assert_contains(html, "Provenance");
        assert_null(strstr(html, "http://"));
        free(html);
        assert_fails(tess_xp_report_of(ctx, &r.info, r.data, &r.model, path, 0), TESS_E_EXISTS,
                     "exists already");
        hand_free(&r);
    }
}

static void poor_results_have_pages_too(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 1, 4, TESS_F64, &r);
    for (int k = 0; k < HAND_PARAM; k++) {
        r.sd[k] = k % 2 ? (double)INFINITY : (double)NAN;
        r.status[k] = TESS_XPCS_UNIDENTIFIED;
    }
    for (int64_t i = 0; i < r.info.n_covariance * r.info.n_covariance; i++) {
        r.correlation[i] = (double)NAN;
    }
    r.sigma[0] = 0;
    r.chi2[0] = (double)NAN;
    r.info.reduced_chi2 = (double)NAN;
    r.info.sigma_is_default = 1;
    r.info.n_trace = 0;
    r.info.n_basin = 1;
    r.info.bootstrap_sd = NULL;
    r.info.warnings = "";
    r.info.convergence = TESS_XPCS_FAILED;
    r.info.quality = TESS_XPCS_POOR;
    const char *path = unit_path("poor.html");
    assert_ok(tess_xp_report_of(ctx, &r.info, r.data, &r.model, path, 0));
    char *html = unit_read_file(path, NULL);
    check_nesting(html);
    assert_contains(html, "± ∞");
    assert_contains(html, "sigma is a default: chi2 not interpretable");
    assert_contains(html, "unidentified");
    assert_null(strstr(html, "<h2>Warnings</h2>"));
    assert_null(strstr(html, "Other minima"));
    assert_null(strstr(html, "within this rise"));
    free(html);
    hand_free(&r);
}

static void the_wrong_data_are_refused(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 2, N, TESS_F64, &r);
    r.info.n_frame = N + 1;
    const char *path = unit_path("wrong.html");
    assert_fails(tess_xp_report_of(ctx, &r.info, r.data, &r.model, path, 0), TESS_E_SHAPE,
                 "2 angles of 40 frames, but the result is of 2 angles of 41");
    r.info.n_frame = N;
    r.model.kernel = TESS_XPCS_KERNEL_PHYSICAL;
    assert_fails(tess_xp_report_of(ctx, &r.info, r.data, &r.model, path, 0), TESS_E_MISMATCH,
                 "kernel physical, but the fit was laminar_flow, kernel upstream");
    assert_false(unit_exists(path));
    hand_free(&r);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    const char *path = unit_path("no_memory.html");
    for (long long n = 1; n < 200; n++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        tess_context *own = NULL;
        hand_result r;
        assert_ok(tess_context_create(&config, &own));
        hand_make(own, 1, 6, TESS_F64, &r);
        allocator.fail_at = allocator.n_alloc + n;
        const tess_status status = tess_xp_report_of(own, &r.info, r.data, &r.model, path, 0);
        hand_free(&r);
        tess_context_destroy(own);
        assert_int_equal(allocator.n_live, 0);
        if (status == TESS_OK) {
            assert_true(n > 10);
            unlink(path);
            return;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        assert_false(unit_exists(path));
    }
    fail_msg("no end of allocations");
}

static int stop_at_once(void *user, const tess_progress *progress)
{
    int *n = user;
    assert_string_equal(progress->unit, "tiles");
    return ++*n >= 2;
}

static void a_report_can_be_stopped(void **state)
{
    (void)state;
    int n_call = 0;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.progress = stop_at_once;
    config.progress_user = &n_call;
    tess_context *own = NULL;
    assert_ok(tess_context_create(&config, &own));
    hand_result r;
    hand_make(own, 4, 800, TESS_F64, &r);
    const char *path = unit_path("stopped.html");
    n_call = 0;
    assert_int_equal(tess_xp_report_of(own, &r.info, r.data, &r.model, path, 0), TESS_CANCELLED);
    assert_false(unit_exists(path));
    hand_free(&r);
    tess_context_destroy(own);
}

static void errors_have_two_digits(void **state)
{
    (void)state;
    char text[96];
    tess_xp_with_error(16917.74, 12.3, text, sizeof text);
    assert_string_equal(text, "16918 ± 12");
    tess_xp_with_error(0.0019912345, 0.0000203, text, sizeof text);
    assert_string_equal(text, "0.001991 ± 0.000020");
    tess_xp_with_error(-1.5, 0, text, sizeof text);
    assert_string_equal(text, "-1.5");
    tess_xp_with_error(3, (double)INFINITY, text, sizeof text);
    assert_string_equal(text, "3 ± ∞");
    tess_xp_with_error(1.25e-12, 3e-14, text, sizeof text);
    assert_string_equal(text, "1.25e-12 ± 3e-14");
}

int main(void)
{
    ctx = unit_context(2, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_means),
        cmocka_unit_test(fits_are_the_model),
        cmocka_unit_test(residuals_are_in_sigma_of_the_point),
        cmocka_unit_test(maps_have_their_origin_lower_left),
        cmocka_unit_test(figures_have_names),
        cmocka_unit_test(figures_are_written),
        cmocka_unit_test(pages_are_whole),
        cmocka_unit_test(poor_results_have_pages_too),
        cmocka_unit_test(the_wrong_data_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(a_report_can_be_stopped),
        cmocka_unit_test(errors_have_two_digits),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
