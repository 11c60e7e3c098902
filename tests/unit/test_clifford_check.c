// The check of clifford passes where it should and its controls fail.
#include "clifford_arrays.h"
#include "tessera/sys/clifford_check.h"

static void check_metric(tess_context *ctx, const char *text, int64_t n_row, int64_t n_feature,
                         int64_t seed)
{
    static tess_clifford_finding findings[256];
    tess_clifford_check_config config;
    tess_clifford_check_config_init(&config, sizeof config);
    config.n_row = n_row;
    config.n_feature = n_feature;
    config.seed = seed;
    const tess_clifford_metric metric = cl_metric(text);
    int64_t n = 0, n_control = 0, n_failed = 0;
    assert_ok(tess_clifford_check(ctx, &metric, &config, findings, 256, &n));
    assert_in_range(n, 40, 256);
    for (int64_t i = 0; i < n; i++) {
        n_control += findings[i].is_control;
        if (!findings[i].passed) {
            n_failed++;
            print_error("%s: %s (%s): %.3g, allowed %.3g\n", text, findings[i].name,
                        findings[i].dtype, findings[i].error, findings[i].allowed);
        }
    }
    assert_int_equal(n_failed, 0);
    assert_true(n_control >= 1);
}

static void all_findings_pass(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    static const char *const metrics[] = {"++", "+++", "0+++", "+---", "+", "-", "+-"};
    const size_t n = unit_is_quick() ? 2 : ARRAY_LEN(metrics);
    for (size_t i = 0; i < n; i++) {
        check_metric(ctx, metrics[i], 11, 9, 1);
    }
    check_metric(ctx, "++", 37, 28, 2);
    if (!unit_is_quick()) {
        check_metric(ctx, "++++-", 5, 8, 3);
    }
    tess_context_destroy(ctx);
}

// Without rotations of anything there is still something to check.
static void null_metric(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_clifford_metric metric = cl_metric("00");
    tess_clifford_finding few[2];
    int64_t n = 0;
    assert_ok(tess_clifford_check(ctx, &metric, NULL, few, 2, &n));
    assert_true(n > 2);
    assert_true(few[0].passed && few[1].passed);
    int64_t again = 0;
    assert_ok(tess_clifford_check(ctx, &metric, NULL, NULL, 0, &again));
    assert_int_equal(again, n);
    tess_context_destroy(ctx);
}

static void bad_arguments(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_clifford_metric metric = cl_metric("++");
    int64_t n = 7;
    assert_fails(tess_clifford_check(ctx, NULL, NULL, NULL, 0, &n), TESS_E_ARGUMENT, "NULL");
    assert_fails(tess_clifford_check(ctx, &metric, NULL, NULL, 4, &n), TESS_E_ARGUMENT, "NULL");
    tess_clifford_check_config config;
    tess_clifford_check_config_init(&config, sizeof config);
    config.n_row = 0;
    assert_fails(tess_clifford_check(ctx, &metric, &config, NULL, 0, &n), TESS_E_RANGE, "rows");
    metric.n_symbol = 9;
    assert_fails(tess_clifford_check(ctx, &metric, NULL, NULL, 0, &n), TESS_E_ARGUMENT,
                 "9 symbols");
    assert_int_equal(n, 0);
    tess_context_destroy(ctx);
}

static uint64_t peak_of(const tess_context *ctx)
{
    uint64_t live = 0, peak = 0;
    tess_context_memory(ctx, &live, &peak);
    return peak;
}

// Data that do not fit are refused at once, stages that take too much when they do; what passes has
// kept to the limit.
static void keeps_to_the_limit(void **state)
{
    (void)state;
    static const char *const metrics[] = {"++", "+++", "0+++"};
    const uint64_t limit = (uint64_t)16 << 20;
    for (size_t i = 0; i < (unit_is_quick() ? 1 : 3); i++) {
        const tess_clifford_metric metric = cl_metric(metrics[i]);
        tess_context *ctx = unit_context(2, limit);
        tess_clifford_check_config config;
        tess_clifford_check_config_init(&config, sizeof config);
        config.n_feature = 16;
        tess_status status = TESS_E_MEMORY;
        int64_t n = 0;
        for (config.n_row = 4096; status == TESS_E_MEMORY && config.n_row > 1; config.n_row /= 2) {
            status = tess_clifford_check(ctx, &metric, &config, NULL, 0, &n);
            assert_true(status == TESS_OK || strstr(tess_last_error(), "fewer --rows"));
        }
        assert_int_equal(status, TESS_OK);
        assert_in_range(config.n_row, 16, 2048);
        assert_in_range(peak_of(ctx), limit / 8, limit / 4 * 3);
        tess_context_destroy(ctx);
    }
}

// No memory at any moment: a message, no leak.
static void memory_runs_out(void **state)
{
    (void)state;
    const tess_clifford_metric metric = cl_metric("+");
    tess_clifford_check_config config;
    tess_clifford_check_config_init(&config, sizeof config);
    config.n_row = 2;
    config.n_feature = 8;
    for (long long fail_at = 20; fail_at < 4000; fail_at += unit_is_quick() ? 997 : 97) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config context;
        tess_context_config_init(&context, sizeof context);
        context.n_thread = 1;
        context.allocator = &allocator.table;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&context, &ctx));
        allocator.fail_at = allocator.n_alloc + fail_at;
        int64_t n = 0;
        const tess_status status = tess_clifford_check(ctx, &metric, &config, NULL, 0, &n);
        assert_true(status == TESS_OK || status == TESS_E_MEMORY);
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_findings_pass), cmocka_unit_test(null_metric),
        cmocka_unit_test(bad_arguments),     cmocka_unit_test(keeps_to_the_limit),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
