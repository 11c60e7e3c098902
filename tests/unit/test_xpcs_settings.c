// The original's configurations: golden values, what follows from them, single values, templates.
#include "base/json_read.h"
#include "systems/xpcs/settings/schema.h"
#include "tess_features.h"
#include "tessera/device.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN TESS_GOLDEN "/xpcs/"

static tess_context *ctx;
static tess_heap heap;

// Text as a file of this name in the scratch folder.
static const char *write_config(const char *name, const char *text)
{
    const char *path = unit_path(name);
    unit_write_file(path, text, strlen(text));
    return path;
}

static tess_status load_text(const char *text, int lenient, tess_xpcs_settings **out)
{
    return tess_xpcs_settings_load(ctx, write_config("run.yaml", text), lenient, out);
}

static tess_xpcs_settings *loaded(const char *text)
{
    tess_xpcs_settings *settings = NULL;
    assert_ok(load_text(text, 0, &settings));
    return settings;
}

static const tess_json_value *parse_json(tess_blocks *memory, const char *text)
{
    const tess_json_value *value = NULL;
    assert_ok(tess_json_parse(memory, "text", text, strlen(text), &value));
    return value;
}

// The settings as JSON; the tree lives in memory.
static const tess_json_value *json_of(const tess_xpcs_settings *settings, tess_blocks *memory)
{
    char *text = NULL;
    assert_ok(tess_xpcs_settings_json(ctx, settings, &text));
    const tess_json_value *value = parse_json(memory, text);
    tess_text_free(text);
    return value;
}

static void check_same(const char *key, const tess_json_value *got, const tess_json_value *want)
{
    if (got == NULL || got->kind != want->kind || got->n != want->n ||
        got->number != want->number ||
        (want->kind == TESS_JSON_TEXT && strcmp(got->text, want->text) != 0)) {
        fail_msg("%s: got %s %g, want %s %g", key, got && got->text ? got->text : "?",
                 got ? got->number : 0, want->text ? want->text : "?", want->number);
    }
    if (want->kind == TESS_JSON_OBJECT) {
        for (const tess_json_value *w = want->first; w != NULL; w = w->next) {
            check_same(w->key, tess_json_find(got, w->key), w);
        }
    } else if (want->kind == TESS_JSON_ARRAY) {
        const tess_json_value *g = got->first;
        for (const tess_json_value *w = want->first; w != NULL; w = w->next, g = g->next) {
            check_same(key, g, w);
        }
    }
}

static void check_values(const tess_json_value *got, const tess_json_value *want)
{
    const tess_json_value *values = tess_json_find(got, "values");
    int64_t n = 0;
    for (const tess_json_value *w = tess_json_find(want, "values")->first; w; w = w->next, n++) {
        const tess_json_value *g = tess_json_find(values, w->key);
        if (g == NULL) {
            fail_msg("%s is not there", w->key);
        }
        check_same(w->key, tess_json_find(g, "type"), tess_json_find(w, "type"));
        check_same(w->key, tess_json_find(g, "value"), tess_json_find(w, "value"));
    }
    assert_true(n > 10);
    const char *key = "accepted_without_effect";
    check_same(key, tess_json_find(got, key), tess_json_find(want, key));
}

static void check_resolved(const tess_json_value *got, const tess_json_value *want)
{
    static const char *const same[] = {"physical_parameters", "free", "bounds"};
    static const char *const fit[][2] = {{"loss", "loss"},       {"ftol", "ftol"},
                                         {"xtol", "xtol"},       {"gtol", "gtol"},
                                         {"scaling", "scaling"}, {"max_iterations", "max_nfev"}};
    const tess_json_value *g = tess_json_find(got, "resolved");
    const tess_json_value *w = tess_json_find(want, "resolved");
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        check_same(same[i], tess_json_find(g, same[i]), tess_json_find(w, same[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(fit); i++) {
        check_same(fit[i][0], tess_json_find(tess_json_find(g, "fit"), fit[i][1]),
                   tess_json_find(w, fit[i][0]));
    }
    check_same("model", tess_json_find(tess_json_find(g, "model"), "mode"),
               tess_json_find(w, "model"));
    const tess_json_value *fixed = tess_json_find(w, "fixed");
    check_same("fixed", tess_json_find(g, "fixed"),
               fixed ? fixed : tess_json_find(w, "fixed_at_default_start"));
    const tess_json_value *start = tess_json_find(w, "start");
    if (start->kind == TESS_JSON_ARRAY) {
        check_same("start", tess_json_find(g, "start"), start);
    } else { // from the data: null for every one that is free
        const tess_json_value *item = tess_json_find(g, "start")->first;
        assert_int_equal(item->kind, TESS_JSON_NULL);
        assert_int_equal(item->next->kind, TESS_JSON_NULL);
        assert_int_equal(item->next->next->kind, TESS_JSON_NUMBER);
    }
}

static void check_golden(const char *name, tess_xpcs_settings **out)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s.yaml", name);
    assert_ok(tess_xpcs_settings_load(ctx, path, 0, out));
    snprintf(path, sizeof path, GOLDEN "%s.expected.json", name);
    char *text = unit_read_file(path, NULL);
    tess_blocks memory;
    tess_blocks_init(&memory, &heap);
    const tess_json_value *want = parse_json(&memory, text);
    const tess_json_value *got = json_of(*out, &memory);
    check_values(got, want);
    check_resolved(got, want);
    tess_blocks_free(&memory);
    free(text);
}

static void golden_laminar(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    check_golden("config_laminar", &settings);
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->model.mode, TESS_XPCS_LAMINAR_FLOW);
    assert_true(info->model.dt_s == 0.1 && info->data.dt_s == 0.1);
    assert_true(info->model.gap_angstrom == 2e6 && info->data.gap_angstrom == 2e6);
    assert_int_equal(info->data.n_phi_range, 3);
    assert_true(info->data.phi_ranges[2].minimum == 170 &&
                info->data.phi_ranges[2].maximum == -170);
    assert_int_equal(info->fit.n_start, 0);
    assert_string_equal(info->fit.checkpoint_dir, "./checkpoints");
    assert_int_equal(info->fit.resume, 1);
    assert_int_equal(info->has_sigma, 0);
    assert_int_equal(info->save_plots, 1);
    assert_int_equal(info->log_level, TESS_LOG_INFO);
    assert_string_equal(info->output_folder, "./results");
    assert_string_equal(info->data_path, GOLDEN "aps_u_lzf.hdf"); // beside the configuration
    assert_true(info->memory_limit_bytes > 0);
    assert_contains(info->notices,
                    "config_laminar.yaml:77:11: optimization.nlsq.xtol: 1e-8 is text");
    assert_contains(info->notices, "parameter name phi_0 is an alias of phi0\n");
    assert_contains(info->notices,
                    "39 keys of the original without effect here: metadata.analysis_");
    assert_contains(info->notices, "metadata.config_version 2.23.2");
    assert_contains(info->notices, "shear kernel: upstream");
    assert_contains(info->notices, "of the original's sampling without effect");
    tess_xpcs_settings_destroy(settings);
}

static void golden_static(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    check_golden("config_static", &settings);
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->model.mode, TESS_XPCS_STATIC_ANISOTROPIC);
    assert_int_equal(info->data.start_frame, 3);
    assert_int_equal(info->data.end_frame, 40);
    assert_int_equal(info->data.n_phi_range, 0);
    assert_true(isnan(info->fit.start[0]) && isnan(info->fit.start[1]));
    assert_true(info->fit.start[2] == 0 && info->fit.is_fixed[2] && !info->fit.is_fixed[0]);
    assert_null(info->fit.checkpoint_dir);
    assert_contains(info->notices, "analysis_mode static means static_anisotropic\n");
    tess_xpcs_settings_destroy(settings);
}

static void nothing_is_all_defaults(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    assert_ok(tess_xpcs_settings_load(ctx, NULL, 0, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    tess_xpcs_fit_config fit;
    tess_xpcs_fit_config_init(&fit, sizeof fit);
    assert_true(info->fit.ftol == fit.ftol && info->fit.n_start == fit.n_start);
    assert_null(info->fit.start);
    assert_null(info->fit.is_fixed);
    assert_true(info->fit.lower[0] == 100 && info->fit.upper[6] == 10);
    assert_string_equal(info->method, "nlsq");
    assert_string_equal(info->data_path, "");
    assert_int_equal(info->save_plots, -1);
    assert_int_equal(info->log_level, -1);
    tess_xpcs_settings_destroy(settings);
}

// Every mode, in full and minimal: what is loaded back is what nothing stands for.
static void templates_change_nothing(void **state)
{
    (void)state;
    for (int mode = 0; mode < 3; mode++) {
        for (int minimal = 0; minimal < 2; minimal++) {
            char *text = NULL;
            assert_ok(tess_xpcs_settings_template(ctx, (tess_xpcs_mode)mode, minimal, &text));
            tess_xpcs_settings *settings = loaded(text);
            tess_xpcs_settings_info got = *tess_xpcs_settings_get_info(settings);
            tess_xpcs_settings_info want;
            tess_xp_settings_defaults(&want);
            assert_int_equal(got.model.mode, mode);
            want.model.mode = mode;
            assert_true(strstr(text, "stator_rotor_gap: 2") == NULL); // only the user knows it
            assert_true(got.fit.lower[0] == 100 && got.fit.upper[0] == 1e5);
            got.fit.lower = NULL;
            got.fit.upper = NULL;
            assert_memory_equal(&got.model, &want.model, sizeof got.model);
            assert_memory_equal(&got.data, &want.data, sizeof got.data);
            assert_memory_equal(&got.fit, &want.fit, sizeof got.fit);
            assert_string_equal(got.notices, mode == 2 ? "shear kernel: upstream "
                                                         "(model.shear_kernel)\n"
                                                       : "");
            assert_true(got.n_thread == 0 && got.memory_limit_bytes == 0 && got.has_sigma == 0);
            assert_true(got.save_plots == -1 && got.log_level == -1);
            for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
                assert_true(strcspn(line, "\n") <= 110); // letters of two bytes count twice
            }
            tess_xpcs_settings_destroy(settings);
            tess_text_free(text);
        }
    }
    char *text = NULL;
    assert_fails(tess_xpcs_settings_template(ctx, (tess_xpcs_mode)9, 0, &text), TESS_E_ARGUMENT,
                 "mode 9 does not exist");
}

static void single_values_are_set(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = loaded("analysis_mode: laminar_flow\n"
                                          "analyzer_parameters:\n  dt: 0.1\n"
                                          "  geometry: {stator_rotor_gap: 2000000}\n"
                                          "initial_parameters:\n"
                                          "  values: [1, 2, 3, 4, 5, 6, 7]\n"
                                          "phi_filtering:\n  enabled: true\n"
                                          "  target_ranges:\n"
                                          "    - {min_angle: 0, max_angle: 1}\n"
                                          "    - {min_angle: 2, max_angle: 3}\n");
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_ok(tess_xpcs_settings_set(settings, "optimization.nlsq.loss", "Huber"));
    assert_int_equal(info->fit.loss, TESS_XPCS_LOSS_HUBER);
    assert_ok(tess_xpcs_settings_set(settings, "analyzer_parameters.dt", "0.5"));
    assert_true(info->model.dt_s == 0.5 && info->data.dt_s == 0.5);
    assert_ok(tess_xpcs_settings_set(settings, "analyzer_parameters.dt", "0.25"));
    assert_true(info->model.dt_s == 0.25);
    assert_ok(tess_xpcs_settings_set(settings, "initial_parameters.values.gamma_dot_0", "0.02"));
    assert_true(info->fit.start[3] == 0.02 && info->fit.start[2] == 3);
    assert_ok(tess_xpcs_settings_set(settings, "initial_parameters.active_parameters", "D0, beta"));
    assert_true(!info->fit.is_fixed[0] && info->fit.is_fixed[1] && !info->fit.is_fixed[4]);
    assert_ok(tess_xpcs_settings_set(settings, "initial_parameters.active_parameters", "null"));
    assert_null(info->fit.is_fixed);
    assert_ok(tess_xpcs_settings_set(settings, "initial_parameters.values", "null"));
    assert_null(info->fit.start); // single ones below it as well
    assert_ok(tess_xpcs_settings_set(settings, "phi_filtering.target_ranges",
                                     "[{\"min_angle\": -5, \"max_angle\": 5}]"));
    assert_int_equal(info->data.n_phi_range, 1);
    assert_true(info->data.phi_ranges[0].minimum == -5);
    assert_ok(tess_xpcs_settings_set(settings, "phi_filtering.target_ranges[0].max_angle", "9"));
    assert_true(info->data.phi_ranges[0].minimum == -5 && info->data.phi_ranges[0].maximum == 9);
    assert_ok(tess_xpcs_settings_set(settings, "experimental_data.bad_frames", "3,4"));
    assert_true(info->data.n_bad_frame == 2 && info->data.bad_frames[1] == 4);
    char many[4000] = "1";
    for (int i = 2; i <= 500; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), ",%d", i);
    }
    assert_ok(tess_xpcs_settings_set(settings, "experimental_data.bad_frames", many));
    assert_true(info->data.n_bad_frame == 500 && info->data.bad_frames[499] == 500);
    assert_ok(tess_xpcs_settings_set(settings, "analysis_mode", "STATIC"));
    assert_int_equal(info->model.mode, TESS_XPCS_STATIC_ANISOTROPIC);
    tess_xpcs_settings_destroy(settings);
}

// What fails leaves everything as it was, and says which key it was about.
static void a_bad_value_changes_nothing(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"optimization.nlsq.loss", "hubert",
         "optimization.nlsq.loss: 'hubert' does not exist; did you mean 'huber'? allowed is one of "
         "linear, soft_l1, huber, cauchy, arctan"},
        {"optimization.nlsq.los", "huber",
         "unknown key 'optimization.nlsq.los'; did you mean 'loss'?"},
        {"analyzer_parameters.dt", "-1",
         "analyzer_parameters.dt: -1 is out of range; allowed is above 0 s"},
        {"analyzer_parameters.dt", "nan",
         "analyzer_parameters.dt: 'nan' is not a finite number; allowed is above 0 s"},
        {"initial_parameters.values", "1,2",
         "initial_parameters.values: 2 values for 7 parameters of the mode"},
        {"initial_parameters.values", "[1, {", "initial_parameters.values:2:1: did not find"},
        {"initial_parameters.values.D1", "1",
         "initial_parameters.values.D1: 'D1' is no parameter; did you mean 'D0'?"},
        {"optimization", "1", "optimization: expected keys and values below it, found one value"},
        {"", "1", "unknown key ''"},
    };
    tess_xpcs_settings *settings = NULL;
    assert_ok(tess_xpcs_settings_load(ctx, NULL, 0, &settings));
    assert_ok(tess_xpcs_settings_set(settings, "analyzer_parameters.dt", "0.1"));
    char *before = NULL;
    assert_ok(tess_xpcs_settings_json(ctx, settings, &before));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(tess_xpcs_settings_set(settings, bad[i][0], bad[i][1]), TESS_E_CONFIG,
                     bad[i][2]);
        char *after = NULL;
        assert_ok(tess_xpcs_settings_json(ctx, settings, &after));
        assert_string_equal(after, before);
        tess_text_free(after);
    }
    tess_text_free(before);
    tess_xpcs_settings_destroy(settings);
}

static void the_environment_limits_memory(void **state)
{
    (void)state;
    static const char text[] = "analysis_mode: static\nperformance: {memory_limit_gb: 4}\n";
    const uint64_t gib = UINT64_C(1) << 30;
    tess_xpcs_settings *settings = loaded(text);
    assert_true(tess_xpcs_settings_get_info(settings)->memory_limit_bytes == 4 * gib);
    tess_xpcs_settings_destroy(settings);
    setenv("HOMODYNE_MEMORY_LIMIT", "2.5", 1);
    settings = loaded(text);
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_true(info->memory_limit_bytes == 5 * gib / 2);
    assert_contains(info->notices, "memory limit 2.5 GiB: from HOMODYNE_MEMORY_LIMIT\n");
    assert_ok(tess_xpcs_settings_set(settings, "performance.memory_limit_gb", "1"));
    assert_true(info->memory_limit_bytes == gib); // a flag wins
    tess_xpcs_settings_destroy(settings);
    setenv("HOMODYNE_MEMORY_LIMIT", "much", 1);
    assert_fails(load_text(text, 0, &settings), TESS_E_CONFIG,
                 "environment: HOMODYNE_MEMORY_LIMIT: 'much' is not a number; correct or unset it");
    unsetenv("HOMODYNE_MEMORY_LIMIT");
    setenv("NLSQ_MEMORY_FRACTION", "0.5", 1);
    settings = loaded("analysis_mode: static\noptimization: {nlsq: {memory_fraction: 0.25}}\n");
    const uint64_t half = tess_xpcs_settings_get_info(settings)->memory_limit_bytes;
    tess_xpcs_settings_destroy(settings);
    unsetenv("NLSQ_MEMORY_FRACTION");
    settings = loaded("analysis_mode: static\noptimization: {nlsq: {memory_fraction: 0.25}}\n");
    const uint64_t quarter = tess_xpcs_settings_get_info(settings)->memory_limit_bytes;
    assert_true(quarter > 0 && half >= 2 * quarter && half <= 2 * quarter + 1);
    tess_xpcs_settings_destroy(settings);
}

// A file with every key of the original's templates is read without a word about unknown ones.
static void all_keys_of_the_original_are_known(void **state)
{
    (void)state;
    static const char path[] = TESS_GOLDEN "/../fuzz/corpus/xpcs_settings/every_key.yaml";
    tess_xpcs_settings *settings = NULL;
    assert_ok(tess_xpcs_settings_load(ctx, path, 0, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->fit.n_start, 10);
    assert_int_equal(info->fit.max_nfev, 100);
    assert_int_equal(info->fit.n_scaling, 2);
    assert_true(info->fit.offset[1] == 0.99 && info->fit.x_scale[3] == 0.00000371);
    assert_true(info->fit.upper[6] == 180 && info->fit.start[3] == 0.01);
    assert_true(info->data.phi_ranges[1].minimum == 250 && info->data.fallback_all == 1);
    assert_int_equal(info->fit.scaling, TESS_XPCS_SCALING_AUTO);
    assert_string_equal(info->device, "auto");
    assert_string_equal(info->output_folder, "./results");
    assert_true(info->memory_limit_bytes == UINT64_C(48) << 30);
    tess_xpcs_settings_destroy(settings);
}

// The n-th allocation fails, whichever it is: an error, nothing lost.
static void memory_may_run_out(void **state)
{
    (void)state;
    tess_context *usual = ctx;
    for (long long at = 1, failed = 1; failed; at += unit_is_quick() ? 17 : 1) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        assert_ok(tess_context_create(&config, &ctx));
        allocator.fail_at = atomic_load(&allocator.n_alloc) + at;
        tess_xpcs_settings *settings = NULL;
        char *text = NULL;
        tess_status status =
            tess_xpcs_settings_load(ctx, GOLDEN "config_laminar.yaml", 0, &settings);
        if (status == TESS_OK) {
            status = tess_xpcs_settings_set(settings, "initial_parameters.values", "null");
        }
        if (status == TESS_OK) {
            status = tess_xpcs_settings_json(ctx, settings, &text);
        }
        tess_text_free(text);
        if (status == TESS_OK) {
            status = tess_xpcs_settings_template(ctx, TESS_XPCS_LAMINAR_FLOW, 0, &text);
            tess_text_free(text);
        }
        failed = status != TESS_OK;
        assert_true(!failed || status == TESS_E_MEMORY);
        tess_xpcs_settings_destroy(settings);
        tess_context_destroy(ctx);
        assert_int_equal(atomic_load(&allocator.n_live), 0);
    }
    ctx = usual;
}

// No option of the tables without a key, and no key without its parameter.
static void every_option_has_a_key(void **state)
{
    (void)state;
    const tess_param_table *tables[] = {tess_xpcs_model_params(), tess_xpcs_data_params(),
                                        tess_xpcs_fit_params()};
    int64_t n_row = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n_row);
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (int64_t k = 0; k < tables[t]->n_param; k++) {
            const char *name = tables[t]->params[k].name;
            int found = strcmp(name, "mode") == 0 || strcmp(name, "lenient") == 0;
            for (int64_t i = 0; i < n_row && !found; i++) {
                found = rows[i].table && rows[i].table() == tables[t] &&
                        strcmp(rows[i].param, name) == 0;
            }
            if (!found) {
                fail_msg("no key sets %s of %s", name, tables[t]->name);
            }
        }
    }
    for (int64_t i = 0; i < n_row; i++) {
        const tess_xp_rule rule = tess_xp_rule_of(&rows[i]);
        assert_true((rows[i].table == NULL) == (rule.param == NULL));
        for (int64_t j = 0; j < i; j++) {
            assert_string_not_equal(rows[i].path, rows[j].path);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    tess_heap_init(&heap, NULL);
    ctx = unit_context(1, 0);
    unsetenv("HOMODYNE_MEMORY_LIMIT");
    unsetenv("NLSQ_MEMORY_FRACTION");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest without_yaml[] = {
        cmocka_unit_test(nothing_is_all_defaults),
        cmocka_unit_test(every_option_has_a_key),
    };
    if (!TESS_HAVE_YAML) {
        return cmocka_run_group_tests(without_yaml, setup, teardown);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_laminar),
        cmocka_unit_test(golden_static),
        cmocka_unit_test(nothing_is_all_defaults),
        cmocka_unit_test(templates_change_nothing),
        cmocka_unit_test(single_values_are_set),
        cmocka_unit_test(a_bad_value_changes_nothing),
        cmocka_unit_test(the_environment_limits_memory),
        cmocka_unit_test(all_keys_of_the_original_are_known),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(every_option_has_a_key),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
