// Devices, instruction sets, ceilings, the profile table and the bug report.
#include "tessera/autoreject.h"
#include "tessera/device.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *new_context(int profile)
{
    setenv("TESSERA_CUDA_PLUGIN", "none", 1);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.memory_limit_bytes = 64 << 20; // small ceilings, quickly measured
    config.profile = profile;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    return ctx;
}

static void the_cpu_is_listed(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    tess_device_info infos[4];
    int64_t n = 0;
    memset(infos, 0xAB, sizeof infos);
    assert_ok(tess_device_list(ctx, infos, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(infos[0].struct_size, sizeof infos[0]);
    assert_string_equal(infos[0].id, "cpu");
    assert_string_equal(infos[0].backend, "cpu");
    assert_true(strlen(infos[0].name) > 0 && infos[0].score > 0);
    assert_true(infos[0].memory_bytes >= infos[0].memory_free_bytes);
    assert_contains(infos[0].detail, "cores");
    assert_ok(tess_device_list(ctx, NULL, 0, &n));
    assert_int_equal(n, 1);
    tess_context_destroy(ctx);
}

static void missing_backends_have_a_reason(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    assert_string_equal(tess_device_why_not(ctx, "cpu"), "");
    assert_string_equal(tess_device_why_not(ctx, "cuda"),
                        "module tessera-backend-cuda is disabled by TESSERA_CUDA_PLUGIN");
    assert_contains(tess_device_why_not(ctx, "vulkan"), "no such backend");
    tess_context_destroy(ctx);
    setenv("TESSERA_CUDA_PLUGIN", unit_path("missing.so"), 1);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    assert_ok(tess_context_create(&config, &ctx));
    assert_contains(tess_device_why_not(ctx, "cuda"), "which cannot be read");
    tess_context_destroy(ctx);
    unit_write_file(unit_path("rubbish.so"), "rubbish", 7);
    setenv("TESSERA_CUDA_PLUGIN", unit_path("rubbish.so"), 1);
    assert_ok(tess_context_create(&config, &ctx));
    assert_contains(tess_device_why_not(ctx, "cuda"), "cannot be loaded");
    tess_context_destroy(ctx);
}

static void instruction_sets_are_listed(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    tess_isa_info infos[8];
    const int64_t n = tess_isa_list(ctx, infos, 8);
    assert_in_range(n, 1, 8);
    assert_string_equal(infos[0].name, "ref");
    assert_true(infos[0].usable);
    int n_chosen = 0;
    for (int64_t i = 0; i < n; i++) {
        n_chosen += infos[i].chosen;
        assert_true(!infos[i].chosen || infos[i].usable);
    }
    assert_int_equal(n_chosen, 1);
    assert_int_equal(tess_isa_list(ctx, NULL, 0), n);
    tess_context_destroy(ctx);
}

static void ceilings_are_measured(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    tess_device_ceilings peak;
    assert_ok(tess_device_benchmark(ctx, "cpu", &peak, sizeof peak));
    assert_int_equal(peak.struct_size, sizeof peak);
    assert_int_equal(peak.n_thread, 2);
    assert_true(peak.read_bytes_per_s > 1e6 && peak.copy_bytes_per_s > 1e6);
    assert_true(peak.flop_f32_per_s > 1e6 && peak.flop_f64_per_s > 1e6);
    assert_true(peak.upload_bytes_per_s == 0);
    assert_fails(tess_device_benchmark(ctx, "cuda:0", &peak, sizeof peak), TESS_E_DEVICE, "cuda:0");
    assert_fails(tess_device_benchmark(ctx, "cpu", &peak, sizeof peak + 1), TESS_E_VERSION,
                 "ceilings: size");
    tess_context_destroy(ctx);
}

static void the_profile_has_a_row_per_span(void **state)
{
    (void)state;
    tess_context *ctx = new_context(1);
    tess_autoreject_simulate_config config;
    tess_autoreject_simulate_config_init(&config, sizeof config);
    config.n_epoch = 2;
    static double data[2 * 64 * 500];
    tess_array out;
    const int64_t shape[3] = {2, 64, 500};
    assert_ok(tess_array_init(&out, data, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_simulate(ctx, &config, &out));
    const char *text = NULL;
    assert_ok(tess_context_profile_text(ctx, &text));
    assert_contains(text, "span");
    assert_contains(text, "autoreject.simulate");
    assert_contains(text, "peak of cpu, measured now:");
    tess_context_destroy(ctx);
}

static void the_processor_is_described(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    tess_cpu_info info;
    assert_ok(tess_cpu_get_info(ctx, &info, sizeof info));
    assert_in_range(info.n_core_physical, 1, sysconf(_SC_NPROCESSORS_CONF));
    assert_in_range(info.n_core_logical, info.n_core_allowed, sysconf(_SC_NPROCESSORS_CONF));
    assert_in_range(info.n_core_allowed, 1, info.n_core_logical);
    assert_in_range(info.n_numa_node, 1, 1024);
    assert_true(info.name[0] && info.architecture[0]);
    assert_fails(tess_cpu_get_info(ctx, &info, sizeof info + 1), TESS_E_VERSION, "size");
    tess_context_destroy(ctx);
}

static void the_bug_report_is_json_without_paths(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    setenv("TESSERA_PLUGIN_PATH", "/a/secret/place", 1);
    char *text = NULL;
    assert_ok(tess_sysinfo_json(ctx, 0, &text));
    size_t at = 0;
    if (!unit_is_json(text, &at)) {
        fail_msg("not JSON at byte %zu: %s", at, text);
    }
    assert_contains(text, "\"schema\": \"tessera.sysinfo/1\"");
    assert_contains(text, "\"TESSERA_PLUGIN_PATH\": \"(set)\"");
    assert_null(strstr(text, "secret"));
    tess_text_free(text);
    assert_ok(tess_sysinfo_json(ctx, 1, &text));
    assert_true(unit_is_json(text, NULL));
    assert_contains(text, "/a/secret/place");
    assert_contains(text, "working_directory");
    tess_text_free(text);
    unsetenv("TESSERA_PLUGIN_PATH");
    tess_context_destroy(ctx);
}

// "cpu" by another thread stands in for a GPU here: how it is taken over does not depend on what it
// is.
static void a_device_is_opened_meanwhile(void **state)
{
    (void)state;
    tess_context *ctx = new_context(0);
    tess_context_info info;
    assert_ok(tess_device_use(ctx, 1)); // none was begun
    assert_ok(tess_device_begin(ctx, "cpu"));
    assert_fails(tess_device_begin(ctx, "cpu"), TESS_E_ARGUMENT, "another device already");
    assert_ok(tess_device_use(ctx, 1));
    assert_ok(tess_context_get_info(ctx, &info, sizeof info));
    assert_string_equal(info.device_reason, "asked for");
    assert_fails(tess_device_begin(ctx, "cuda"), TESS_E_ARGUMENT, "another device already");
    tess_context_destroy(ctx);

    ctx = new_context(0);
    assert_ok(tess_device_begin(ctx, "cuda:3"));
    assert_fails(tess_device_use(ctx, 1), TESS_E_DEVICE, "device 'cuda:3' is not available");
    assert_ok(tess_device_use(ctx, 0)); // told once; the context stays the CPU's
    assert_ok(tess_context_get_info(ctx, &info, sizeof info));
    assert_string_equal(info.device, "cpu");
    assert_ok(tess_device_begin(ctx, "cpu")); // and never used
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_listed),
        cmocka_unit_test(missing_backends_have_a_reason),
        cmocka_unit_test(a_device_is_opened_meanwhile),
        cmocka_unit_test(instruction_sets_are_listed),
        cmocka_unit_test(ceilings_are_measured),
        cmocka_unit_test(the_processor_is_described),
        cmocka_unit_test(the_profile_has_a_row_per_span),
        cmocka_unit_test(the_bug_report_is_json_without_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
