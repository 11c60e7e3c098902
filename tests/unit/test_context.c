#include "tessera/context.h"
#include "tessera/device.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const variables[] = {
    "TESSERA_NUM_THREADS",  "OMP_NUM_THREADS", "JAX_NUM_THREADS", "SLURM_CPUS_PER_TASK",
    "TESSERA_MEMORY_LIMIT", "TESSERA_ISA",     "TESSERA_DEVICE"};

static int clean_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        unsetenv(variables[i]);
    }
    return 0;
}

static tess_context_config new_config(void)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    return config;
}

static tess_context_info info_of(const tess_context_config *config, tess_context **ctx)
{
    tess_context_info info;
    assert_ok(tess_context_create(config, ctx));
    assert_ok(tess_context_get_info(*ctx, &info, sizeof info));
    return info;
}

static void defaults_need_no_config(void **state)
{
    (void)state;
    tess_context *ctx = NULL;
    const tess_context_info info = info_of(NULL, &ctx);
    assert_true(info.n_thread >= 1);
    assert_true(strstr(info.n_thread_origin, "cpu") != NULL);
    assert_true(info.memory_limit_bytes > 1 << 20);
    assert_contains(info.memory_limit_origin, "80 %");
    assert_string_equal(info.device, "cpu");
    assert_true(strlen(info.isa) > 1 && strlen(info.device_reason) > 3);
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &now, &peak);
    assert_true(now <= peak);
    tess_context_destroy(ctx);
    tess_context_destroy(NULL);
}

static void struct_sizes_tell_versions_apart(void **state)
{
    (void)state;
    struct {
        tess_context_config known;
        uint64_t newer[2];
    } larger = {.known = new_config()};
    tess_context *ctx = NULL;
    // An older caller: only the first fields exist.
    tess_context_config older = new_config();
    older.n_thread = 3;
    older.struct_size = offsetof(tess_context_config, isa);
    older.isa = "must not be read";
    assert_int_equal(info_of(&older, &ctx).n_thread, 3);
    tess_context_destroy(ctx);
    // A newer caller whose new fields are unused, then used.
    larger.known.struct_size = sizeof larger;
    assert_ok(tess_context_create(&larger.known, &ctx));
    tess_context_destroy(ctx);
    larger.newer[1] = 1;
    assert_fails(tess_context_create(&larger.known, &ctx), TESS_E_VERSION, "does not know");
    assert_null(ctx);
    // Not initialised at all.
    tess_context_config blank;
    memset(&blank, 0, sizeof blank);
    assert_fails(tess_context_create(&blank, &ctx), TESS_E_VERSION, "struct_size 0");
    blank.struct_size = UINT32_MAX;
    assert_fails(tess_context_create(&blank, &ctx), TESS_E_VERSION, "struct_size");

    tess_context_info info;
    memset(&info, 0, sizeof info);
    assert_ok(tess_context_create(NULL, &ctx));
    assert_ok(tess_context_get_info(ctx, &info, 16));
    assert_int_equal(info.struct_size, 16);
    assert_null(info.isa);
    assert_fails(tess_context_get_info(ctx, &info, sizeof info + 8), TESS_E_VERSION, "info: size");
    assert_fails(tess_context_get_info(ctx, &info, 0), TESS_E_VERSION, "info: size 0");
    tess_context_destroy(ctx);
}

static void threads_come_from_option_or_environment(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        const char *value;
        int32_t n_thread;
        const char *origin;
    } cases[] = {
        {"TESSERA_NUM_THREADS", "5", 5, "TESSERA_NUM_THREADS"},
        {"OMP_NUM_THREADS", "6,2", 6, "OMP_NUM_THREADS"},
        {"JAX_NUM_THREADS", "3", 3, "JAX_NUM_THREADS"},
        {"SLURM_CPUS_PER_TASK", "7", 7, "SLURM_CPUS_PER_TASK"},
        {"TESSERA_NUM_THREADS", "99999", 1024, "TESSERA_NUM_THREADS"},
        {"OMP_NUM_THREADS", "rubbish", 0, "c"}, // another program's business: passed over
        {"TESSERA_NUM_THREADS", "", 0, "c"},
    };
    tess_context *ctx = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        clean_environment(NULL);
        setenv(cases[i].variable, cases[i].value, 1);
        const tess_context_info info = info_of(NULL, &ctx);
        if (cases[i].n_thread > 0) {
            assert_int_equal(info.n_thread, cases[i].n_thread);
        }
        assert_memory_equal(info.n_thread_origin, cases[i].origin, strlen(cases[i].origin));
        tess_context_destroy(ctx);
    }
    setenv("TESSERA_NUM_THREADS", "2", 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    tess_context_config config = new_config();
    config.n_thread = 4;
    tess_context_info info = info_of(&config, &ctx);
    assert_int_equal(info.n_thread, 4);
    assert_string_equal(info.n_thread_origin, "option");
    tess_context_destroy(ctx);
    static const char *const bad[] = {"many", "0", "-1", "2.5", "2x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        setenv("TESSERA_NUM_THREADS", bad[i], 1);
        assert_fails(tess_context_create(NULL, &ctx), TESS_E_CONFIG, bad[i]);
        assert_contains(tess_last_error(), "TESSERA_NUM_THREADS='");
    }
    config.n_thread = -1;
    assert_fails(tess_context_create(&config, &ctx), TESS_E_RANGE, "threads: -1 is out of range");
    config.n_thread = 1025;
    assert_fails(tess_context_create(&config, &ctx), TESS_E_RANGE, "allowed is 1 to 1024");
}

static void memory_limit_comes_from_option_or_environment(void **state)
{
    (void)state;
    tess_context *ctx = NULL;
    setenv("TESSERA_MEMORY_LIMIT", "1.5G", 1);
    tess_context_info info = info_of(NULL, &ctx);
    assert_true(info.memory_limit_bytes == UINT64_C(3) << 29);
    assert_string_equal(info.memory_limit_origin, "TESSERA_MEMORY_LIMIT");
    tess_context_destroy(ctx);
    tess_context_config config = new_config();
    config.memory_limit_bytes = 1 << 30;
    info = info_of(&config, &ctx);
    assert_int_equal(info.memory_limit_bytes, 1 << 30);
    assert_string_equal(info.memory_limit_origin, "option");
    tess_context_destroy(ctx);
    static const char *const bad[] = {"lots", "0", "-5M"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        setenv("TESSERA_MEMORY_LIMIT", bad[i], 1);
        assert_fails(tess_context_create(NULL, &ctx), TESS_E_CONFIG, "is not a size");
    }
}

static void instruction_sets_can_be_chosen(void **state)
{
    (void)state;
    tess_context *ctx = NULL;
    tess_context_config config = new_config();
    config.isa = "ref";
    assert_string_equal(info_of(&config, &ctx).isa, "ref");
    tess_context_destroy(ctx);
    setenv("TESSERA_ISA", "portable", 1);
    assert_string_equal(info_of(NULL, &ctx).isa, "ref");
    tess_context_destroy(ctx);
    setenv("TESSERA_ISA", "", 1);
    (void)info_of(NULL, &ctx);
    tess_context_destroy(ctx);
    setenv("TESSERA_ISA", "mmx", 1);
    assert_fails(tess_context_create(NULL, &ctx), TESS_E_UNSUPPORTED,
                 "isa: 'mmx' is not built in or not supported by this CPU; usable are ref");
    assert_null(ctx);
    setenv("TESSERA_ISA", "an instruction set with a long name", 1);
    assert_fails(tess_context_create(NULL, &ctx), TESS_E_ARGUMENT, "isa: '");
}

static void devices_can_be_chosen(void **state)
{
    (void)state;
    static const char *const bad[] = {"gpu",   "cpu:x", "cpu:1", ":0", "a-very-long-backend-name",
                                      "cpu:-1"};
    setenv("TESSERA_CUDA_PLUGIN", "none", 1);
    tess_context *ctx = NULL;
    tess_context_config config = new_config();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        config.device = bad[i];
        assert_fails(tess_context_create(&config, &ctx), TESS_E_DEVICE, bad[i]);
        assert_null(ctx);
    }
    config.device = "cuda";
    assert_fails(tess_context_create(&config, &ctx), TESS_E_DEVICE,
                 "device 'cuda' is not available: module tessera-backend-cuda is disabled by "
                 "TESSERA_CUDA_PLUGIN; use --device cpu or auto");
    config.device = "auto";
    const tess_context_info info = info_of(&config, &ctx);
    assert_string_equal(info.device, "cpu");
    assert_contains(info.device_reason, "auto: module tessera-backend-cuda is disabled");
    assert_string_equal(tess_last_error(), "");
    tess_context_destroy(ctx);
    config.device = "cpu:0";
    assert_string_equal(info_of(&config, &ctx).device, "cpu");
    tess_context_destroy(ctx);
    setenv("TESSERA_DEVICE", "cuda", 1);
    assert_fails(tess_context_create(NULL, &ctx), TESS_E_DEVICE, "cuda");
    unsetenv("TESSERA_CUDA_PLUGIN");
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    int n_failed = 0;
    for (long long fail_at = 1; fail_at < 40; fail_at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, fail_at);
        tess_context_config config = new_config();
        config.allocator = &allocator.table;
        config.trace_path = unit_path("never.json");
        config.n_thread = 2;
        tess_context *ctx = NULL;
        const tess_status status = tess_context_create(&config, &ctx);
        if (status != TESS_OK) {
            assert_fails(status, TESS_E_MEMORY, "cannot allocate");
            assert_null(ctx);
            n_failed++;
        }
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
        if (status == TESS_OK) {
            break;
        }
    }
    assert_true(n_failed >= 5);
    unlink(unit_path("never.json"));
}

static void the_trace_is_written_at_destroy(void **state)
{
    (void)state;
    tess_context_config config = new_config();
    config.trace_path = unit_path("trace.json");
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    tess_context_destroy(ctx);
    char *text = unit_read_file(unit_path("trace.json"), NULL);
    assert_true(unit_is_json(text, NULL));
    free(text);
    // Who writes it himself hears of failures; it is not written twice.
    unlink(unit_path("trace.json"));
    assert_ok(tess_context_create(&config, &ctx));
    assert_ok(tess_context_trace_write(ctx));
    assert_true(unit_exists(unit_path("trace.json")));
    unlink(unit_path("trace.json"));
    tess_context_destroy(ctx);
    assert_false(unit_exists(unit_path("trace.json")));
    ctx = unit_context(1, 0);
    assert_ok(tess_context_trace_write(ctx));
    const char *profile = NULL;
    assert_ok(tess_context_profile_text(ctx, &profile));
    assert_string_equal(profile, "");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_need_no_config, clean_environment),
        cmocka_unit_test_setup(struct_sizes_tell_versions_apart, clean_environment),
        cmocka_unit_test_setup(threads_come_from_option_or_environment, clean_environment),
        cmocka_unit_test_setup(memory_limit_comes_from_option_or_environment, clean_environment),
        cmocka_unit_test_setup(instruction_sets_can_be_chosen, clean_environment),
        cmocka_unit_test_setup(devices_can_be_chosen, clean_environment),
        cmocka_unit_test_setup(failed_allocations_leave_nothing, clean_environment),
        cmocka_unit_test_setup(the_trace_is_written_at_destroy, clean_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
