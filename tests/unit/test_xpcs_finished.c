// A finished fit whose checkpoint stays until its results are written.
#include "xpcs_fit_fixture.h"

#include "tessera/io.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static golden_fit open_fit(const char *folder)
{
    golden_fit g = golden_fit_open(0, 2);
    g.config.checkpoint_dir = folder;
    g.config.keep_finished = 1;
    g.config.resume = 1;
    return g;
}

static tess_xpcs_result *fit(const golden_fit *g)
{
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(g->ctx, g->data, &g->model, &g->config, &result));
    return result;
}

static tess_status write_results(const golden_fit *g, const tess_xpcs_result *result,
                                 const char *folder, int32_t overwrite)
{
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    config.overwrite = overwrite;
    config.surfaces = 1;
    return tess_xpcs_result_write(g->ctx, result, g->data, &g->model, folder, &config);
}

static int is_of(const golden_fit *g, const char *path)
{
    int found = -1;
    assert_ok(tess_xpcs_fit_is_of(g->ctx, g->data, &g->model, &g->config, path, &found));
    return found;
}

static void assert_same_numbers(const tess_xpcs_result_info *a, const tess_xpcs_result_info *b)
{
    const size_t n = (size_t)a->n_covariance;
    assert_memory_equal(a->theta, b->theta, (size_t)a->n_param * sizeof *a->theta);
    assert_memory_equal(a->sd, b->sd, (size_t)a->n_param * sizeof *a->sd);
    assert_memory_equal(a->contrast, b->contrast, (size_t)a->n_angle * sizeof *a->contrast);
    assert_memory_equal(a->covariance, b->covariance, n * n * sizeof *a->covariance);
    assert_memory_equal(a->trace, b->trace, (size_t)a->n_trace * sizeof *a->trace);
    assert_memory_equal(&a->chi2, &b->chi2, sizeof a->chi2);
    assert_string_equal(a->warnings, b->warnings);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->identity, b->identity);
    assert_int_equal(a->n_pass, b->n_pass);
}

static void a_finished_fit_is_had_at_once(void **state)
{
    (void)state;
    const char *folder = unit_path("kept");
    golden_fit g = open_fit(folder);
    tess_xpcs_result *first = fit(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(first);
    assert_int_equal(a->resumed, 0);
    assert_true(a->n_checkpoint > 0);
    assert_int_equal(strlen(a->identity), 32);
    assert_true(unit_exists(folder));
    for (int i = 0; i < 2; i++) { // it stays however often it is asked for
        tess_xpcs_result *again = fit(&g);
        const tess_xpcs_result_info *b = tess_xpcs_result_get_info(again);
        assert_true(b->resumed && b->resumed_from == 1 && b->n_checkpoint == 0);
        assert_same_numbers(a, b);
        tess_xpcs_result_destroy(again);
    }
    // The caller takes it without promising to clear: it goes.
    g.config.keep_finished = 0;
    tess_xpcs_result_destroy(fit(&g));
    assert_false(unit_exists(folder));
    g.config.keep_finished = 1;
    tess_xpcs_result_destroy(fit(&g));
    assert_ok(tess_checkpoint_clear(g.ctx, folder));
    assert_false(unit_exists(folder));
    // Nothing is kept of a fit in a hurry.
    g.config.fast = 1;
    tess_xpcs_result_destroy(fit(&g));
    assert_false(unit_exists(folder));
    tess_xpcs_result_destroy(first);
    golden_fit_close(&g);
}

static void results_say_which_fit_they_are_of(void **state)
{
    (void)state;
    static const char *const files[] = {
        "own/nlsq/parameters.json", "own/nlsq/analysis_results_nlsq.json",
        "own/nlsq/convergence_metrics.json", "own/nlsq/fitted_data.npz", "own/report.html"};
    golden_fit g = open_fit(NULL);
    g.config.resume = 0;
    tess_xpcs_result *result = fit(&g);
    assert_int_equal(is_of(&g, unit_path(files[0])), 0);
    assert_ok(write_results(&g, result, unit_path("own"), 0));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_int_equal(is_of(&g, unit_path(files[i])), 1);
    }
    const double start[3] = {1000, -1, 0};
    g.config.start = start;
    assert_int_equal(is_of(&g, unit_path(files[0])), 0);
    g.config.start = NULL;
    g.config.loss = TESS_XPCS_LOSS_HUBER;
    assert_int_equal(is_of(&g, unit_path(files[0])), 0);
    g.config.loss = TESS_XPCS_LOSS_LINEAR;
    g.config.chunk_tiles = 16; // changes no bit
    assert_int_equal(is_of(&g, unit_path(files[0])), 1);
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

// What a file was: another file of the same name has another number.
static ino_t number_of(const char *path)
{
    struct stat there;
    assert_int_equal(stat(path, &there), 0);
    return there.st_ino;
}

static void half_a_folder_is_completed(void **state)
{
    (void)state;
    golden_fit g = open_fit(NULL);
    g.config.resume = 0;
    tess_xpcs_result *result = fit(&g);
    assert_ok(write_results(&g, result, unit_path("half"), 2));
    const ino_t first = number_of(unit_path("half/nlsq/parameters.json"));
    const ino_t page = number_of(unit_path("half/report.html"));
    unlink(unit_path("half/nlsq/fitted_data.npz"));
    unlink(unit_path("half/nlsq/convergence_metrics.json"));
    assert_fails(write_results(&g, result, unit_path("half"), 0), TESS_E_EXISTS, "parameters.json");
    assert_ok(write_results(&g, result, unit_path("half"), 2));
    assert_true(unit_exists(unit_path("half/nlsq/fitted_data.npz")));
    assert_true(unit_exists(unit_path("half/nlsq/convergence_metrics.json")));
    assert_int_equal(number_of(unit_path("half/nlsq/parameters.json")), first);
    assert_int_equal(number_of(unit_path("half/report.html")), page);
    // Of another fit: not touched. What that one left beside results of this one gives way.
    g.config.sigma *= 2;
    tess_xpcs_result *other = fit(&g);
    assert_fails(write_results(&g, other, unit_path("half"), 2), TESS_E_EXISTS, "parameters.json");
    unlink(unit_path("half/report.html"));
    assert_ok(tess_xpcs_report(g.ctx, other, g.data, &g.model, unit_path("half/report.html"), 2));
    assert_fails(
        tess_xpcs_report(g.ctx, result, g.data, &g.model, unit_path("half/report.html"), 2),
        TESS_E_EXISTS, "report.html");
    const ino_t others = number_of(unit_path("half/report.html"));
    assert_ok(write_results(&g, result, unit_path("half"), 2));
    assert_int_not_equal(number_of(unit_path("half/report.html")), others);
    tess_xpcs_result_destroy(other);
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_fit_is_had_at_once),
        cmocka_unit_test(results_say_which_fit_they_are_of),
        cmocka_unit_test(half_a_folder_is_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
