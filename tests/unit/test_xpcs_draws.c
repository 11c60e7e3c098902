// Files of draws: all there, the same bytes again, nothing replaced unasked.
#include "tessera/device.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sampled {
    tess_xpcs_simulation s;
    tess_xpcs_sample_config config;
    tess_xpcs_data *data;
    tess_xpcs_result *fit;
    tess_xpcs_posterior *posterior;
    tess_xpcs_diagnosis *diagnosis;
} sampled;

static tess_context *ctx;

static void sample(sampled *o)
{
    tess_xpcs_simulation_init(&o->s, sizeof o->s);
    tess_xpcs_sample_config_init(&o->config, sizeof o->config);
    o->s.n_angle = 2;
    o->s.n_frame = 24;
    o->s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    o->config.n_chain = 2;
    o->config.n_warmup = 60;
    o->config.n_draw = 30;
    assert_ok(tess_xpcs_simulate(ctx, &o->s, 1, &o->data));
    assert_ok(tess_xpcs_fit(ctx, o->data, &o->s.model, NULL, &o->fit));
    assert_ok(tess_xpcs_sample(ctx, o->data, &o->s.model, o->fit, NULL, &o->config, &o->posterior));
    assert_ok(tess_xpcs_diagnose(ctx, tess_xpcs_posterior_get_info(o->posterior), o->fit,
                                 &o->config, &o->diagnosis));
}

static void release(sampled *o)
{
    tess_xpcs_diagnosis_destroy(o->diagnosis);
    tess_xpcs_posterior_destroy(o->posterior);
    tess_xpcs_result_destroy(o->fit);
    tess_xpcs_data_destroy(o->data);
}

static tess_status save(const sampled *o, const char *folder, int overwrite)
{
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    config.overwrite = overwrite;
    return tess_xpcs_draws_write(ctx, tess_xpcs_posterior_get_info(o->posterior), o->diagnosis,
                                 o->fit, &o->config, o->data, &o->s.model, unit_path(folder),
                                 &config);
}

static int is_there(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/cmc/%s", unit_path(folder), name);
    return unit_exists(path);
}

static char *read_back(const char *folder, const char *name, size_t *n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/cmc/%s", unit_path(folder), name);
    assert_true(is_there(folder, name));
    return unit_read_file(path, n);
}

static void remove_folder(const char *folder)
{
    char line[1100];
    snprintf(line, sizeof line, "rm -r '%s'", unit_path(folder));
    assert_int_equal(system(line), 0);
}

static void files_are_the_same_again(void **state)
{
    (void)state;
    static const char *const names[] = {"samples.npz",       "fitted_data.npz",
                                        "inference_data.nc", "parameters.json",
                                        "diagnostics.json",  "analysis_results_cmc.json"};
    sampled first = {0};
    sampled second = {0};
    tess_context *two = ctx;
    sample(&first);
    assert_ok(save(&first, "one", 0));
    ctx = unit_context(1, 0);
    sample(&second);
    assert_ok(save(&second, "two", 0));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strstr(names[i], ".nc") && !is_there("one", names[i])) {
            continue; // a build without HDF5
        }
        size_t n[2] = {0, 0};
        size_t at = 0;
        char *a = read_back("one", names[i], &n[0]);
        char *b = read_back("two", names[i], &n[1]);
        if (strstr(names[i], ".json")) {
            assert_true(unit_is_json(a, &at));
            assert_contains(a, "\"tessera_provenance\"");
        } else {
            assert_int_equal(n[0], n[1]);
            assert_memory_equal(a, b, n[0]);
        }
        free(a), free(b);
    }
    release(&second);
    tess_context_destroy(ctx);
    ctx = two;
    char *json = NULL;
    size_t at = 0;
    assert_ok(tess_xpcs_draws_json(ctx, tess_xpcs_posterior_get_info(first.posterior),
                                   first.diagnosis, first.fit, &first.config, &json));
    assert_true(unit_is_json(json, &at));
    assert_contains(json, "\"min_ess_bulk\"");
    tess_text_free(json);
    assert_fails(save(&first, "one", 0), TESS_E_EXISTS, "parameters.json");
    assert_ok(save(&first, "one", 2)); // they are these very draws'
    first.config.seed = 7;             // and now claim to be others
    assert_fails(save(&first, "one", 2), TESS_E_EXISTS, "parameters.json");
    assert_ok(save(&first, "one", 1));
    release(&first);
    remove_folder("one");
    remove_folder("two");
}

// Also without the data, of one chain, and of a draw or two.
static void pages_of_any_draws(void **state)
{
    (void)state;
    sampled o = {0};
    sample(&o);
    tess_xpcs_posterior_info draws = *tess_xpcs_posterior_get_info(o.posterior);
    const char *path = unit_path("draws.html");
    assert_ok(tess_xpcs_draws_report(ctx, &draws, o.diagnosis, o.fit, &o.config, o.data, &o.s.model,
                                     path, 0));
    char *text = unit_read_file(path, NULL);
    assert_contains(text, ">Fitted cuts</h2>");
    free(text);
    assert_fails(
        tess_xpcs_draws_report(ctx, &draws, o.diagnosis, o.fit, &o.config, NULL, NULL, path, 0),
        TESS_E_EXISTS, "--overwrite");
    assert_ok(tess_xpcs_draws_report(ctx, &draws, o.diagnosis, o.fit, &o.config, NULL, NULL, path,
                                     2)); // is there
    for (int64_t n = 1; n < 4; n += 2) {
        tess_xpcs_diagnosis *few = NULL;
        draws.n_chain = 1;
        draws.n_draw = n;
        draws.energy = NULL;
        draws.contrast = draws.offset = NULL;
        assert_ok(tess_xpcs_diagnose(ctx, &draws, o.fit, &o.config, &few));
        assert_ok(tess_xpcs_draws_report(ctx, &draws, few, o.fit, &o.config, o.data, &o.s.model,
                                         path, 1));
        tess_xpcs_diagnosis_destroy(few);
    }
    text = unit_read_file(path, NULL);
    assert_null(strstr(text, ">Fitted cuts</h2>"));
    free(text);
    unlink(path);
    release(&o);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    sampled o = {0};
    char *json = NULL;
    sample(&o);
    const tess_xpcs_posterior_info *draws = tess_xpcs_posterior_get_info(o.posterior);
    assert_fails(tess_xpcs_draws_write(ctx, draws, NULL, o.fit, NULL, NULL, NULL, "x", NULL),
                 TESS_E_ARGUMENT, "diagnosis is NULL");
    assert_fails(tess_xpcs_draws_write(ctx, draws, o.diagnosis, o.fit, NULL, NULL, NULL, "", NULL),
                 TESS_E_ARGUMENT, "folder is empty");
    tess_xpcs_posterior_info fewer = *draws;
    fewer.n_draw--;
    assert_fails(tess_xpcs_draws_json(ctx, &fewer, o.diagnosis, o.fit, NULL, &json),
                 TESS_E_MISMATCH, "other draws");
    assert_null(json);
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_the_same_again),
        cmocka_unit_test(pages_of_any_draws),
        cmocka_unit_test(mistakes_are_refused),
    };
    ctx = unit_context(2, 0);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return failed;
}
