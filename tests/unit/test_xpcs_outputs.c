// From data over a fit to files, through the public calls.
#include "tessera/device.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

static tess_xpcs_simulation simulation_of(int32_t mode)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = 3;
    s.n_frame = 60;
    s.sigma = 0.01;
    s.model.mode = mode;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

static tess_xpcs_result *fit(tess_xpcs_data *data, const tess_xpcs_model *model)
{
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(ctx, data, model, NULL, &result));
    return result;
}

static char *report_of(tess_context *own, const tess_xpcs_result *result, tess_xpcs_data *data,
                       const tess_xpcs_model *model)
{
    const char *path = unit_path("report.html");
    assert_ok(tess_xpcs_report(own, result, data, model, path, 1));
    return unit_read_file(path, NULL);
}

// The same page whether the points lie in memory, in a file or are made, for any thread count.
static void pages_do_not_depend_on_where_points_lie(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = simulation_of(TESS_XPCS_LAMINAR_FLOW);
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    tess_xpcs_result *result = fit(data, &s.model);
    char *want = report_of(ctx, result, data, &s.model);
    assert_contains(want, "(simulation)");
    const char *path = unit_path("data.txc2");
    assert_ok(tess_xpcs_data_save(ctx, data, path, 1));
    for (int k = 0; k < 2; k++) {
        tess_context *own = unit_context(k == 0 ? 1 : 3, 0);
        tess_xpcs_data *other = NULL;
        if (k == 0) {
            assert_ok(tess_xpcs_simulate(own, &s, 0, &other));
        } else {
            assert_ok(tess_xpcs_data_open(own, path, NULL, &other));
        }
        char *got = report_of(own, result, other, &s.model);
        // Beneath the parameters nothing tells them apart.
        assert_string_equal(strstr(got, ">Parameters</h2>"), strstr(want, ">Parameters</h2>"));
        free(got);
        tess_xpcs_data_destroy(other);
        tess_context_destroy(own);
    }
    free(want);
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
}

static void static_fits_have_files(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = simulation_of(TESS_XPCS_STATIC_ANISOTROPIC);
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    tess_xpcs_result *result = fit(data, &s.model);
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    config.figures = 1;
    const char *folder = unit_path("out");
    assert_ok(tess_xpcs_result_write(ctx, result, data, &s.model, folder, &config));
    char path[1024];
    snprintf(path, sizeof path, "%s/report.html", folder);
    char *html = unit_read_file(path, NULL);
    assert_contains(html, "static_anisotropic");
    assert_null(strstr(html, "shear rate"));
    free(html);
    char *json = NULL;
    size_t at = 0;
    assert_ok(tess_xpcs_result_json(ctx, result, &json));
    assert_true(unit_is_json(json, &at));
    assert_contains(json, "\"analysis_mode\": \"static_anisotropic\"");
    tess_text_free(json);
    snprintf(path, sizeof path, "%s/nlsq/c2_heatmaps_phi_0.0deg.png", folder);
    assert_true(unit_exists(path));
    assert_ok(tess_xpcs_figures(ctx, NULL, data, NULL, unit_path("measured"), 0));
    snprintf(path, sizeof path, "rm -r '%s' '%s'", folder, unit_path("measured"));
    assert_int_equal(system(path), 0);
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
}

static void nothing_is_no_result(void **state)
{
    (void)state;
    char *json = NULL;
    assert_fails(tess_xpcs_result_json(ctx, NULL, &json), TESS_E_ARGUMENT, "result is NULL");
    assert_fails(tess_xpcs_result_write(ctx, NULL, NULL, NULL, "x", NULL), TESS_E_ARGUMENT,
                 "result is NULL");
    assert_fails(tess_xpcs_report(ctx, NULL, NULL, NULL, "x", 0), TESS_E_ARGUMENT,
                 "result is NULL");
    assert_fails(tess_xpcs_figures(ctx, NULL, NULL, NULL, "x", 0), TESS_E_ARGUMENT, "data is NULL");
}

int main(void)
{
    ctx = unit_context(2, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_do_not_depend_on_where_points_lie),
        cmocka_unit_test(static_fits_have_files),
        cmocka_unit_test(nothing_is_no_result),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
