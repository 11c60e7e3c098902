// How strategies and tiles follow from sizes and limits.
#include "base/npy_header.h"
#include "runtime/budget.h"
#include "runtime/plan.h"
#include "tessera/autoreject.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TIME = 1024 };
static float samples[N_TIME];

// A file of zeros that takes no disk.
static const char *sparse_npy(const char *name, int64_t n_epoch, int64_t n_chan, bool fortran)
{
    char header[TESS_NPY_HEADER_MAX_BYTES];
    const int64_t shape[3] = {n_epoch, n_chan, N_TIME};
    const size_t n = tess_npy_header_make(header, sizeof header, TESS_F32, 4, 3, shape);
    if (fortran) {
        memcpy(strstr(header + 10, "False"), "True ", 5);
    }
    const char *path = unit_path(name);
    unit_write_file(path, header, n);
    assert_int_equal(truncate(path, (off_t)((int64_t)n + n_epoch * n_chan * N_TIME * 4)), 0);
    return path;
}

// Epochs that all lie on the same samples: as large as wished, without memory.
static tess_source *broadcast_source(tess_context *ctx, int64_t n_epoch, int64_t n_chan)
{
    tess_array x;
    const int64_t shape[3] = {n_epoch, n_chan, N_TIME};
    assert_ok(tess_array_init(&x, samples, TESS_F32, 3, shape));
    x.stride[0] = 0;
    x.stride[1] = 0;
    tess_source *source = NULL;
    assert_ok(tess_source_from_array(ctx, &x, &source));
    return source;
}

// What every plan must satisfy.
static void check_sums(const tess_plan_info *info)
{
    assert_true(info->items_per_tile >= 1);
    assert_int_equal(info->n_tile,
                     (info->n_item + info->items_per_tile - 1) / info->items_per_tile);
    assert_true(info->memory_bytes <= info->limit_bytes);
    assert_true(strlen(info->reason) > 5);
    assert_int_equal(info->struct_size, sizeof *info);
}

static tess_plan_info plan_memory(tess_context *ctx, int64_t n_epoch, int64_t n_chan, int64_t tile)
{
    tess_source *source = broadcast_source(ctx, n_epoch, n_chan);
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    config.tile_epochs = tile;
    tess_plan *plan = NULL;
    assert_ok(tess_autoreject_ptp_plan_create(ctx, source, &config, &plan));
    const tess_plan_info info = *tess_plan_get_info(plan);
    check_sums(&info);
    tess_plan_destroy(plan);
    tess_source_close(source);
    return info;
}

static void small_inputs_are_one_tile(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_plan_info info = plan_memory(ctx, 100, 8, 0);
    assert_int_equal(info.strategy, TESS_STRATEGY_STANDARD);
    assert_int_equal(info.n_tile, 1);
    assert_int_equal(info.items_per_tile, 100);
    assert_int_equal(info.tile_bytes, 100 * 8 * N_TIME * 4);
    const tess_plan_info none = plan_memory(ctx, 0, 8, 0);
    assert_int_equal(none.n_tile, 0);
    tess_context_destroy(ctx);
}

static void large_inputs_are_cut(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_plan_info info = plan_memory(ctx, 10000, 64, 0);
    assert_int_equal(info.strategy, TESS_STRATEGY_LARGE);
    assert_true(info.n_tile > 10);
    assert_contains(info.reason, "fit the");
    const tess_plan_info wished = plan_memory(ctx, 1000, 64, 7);
    assert_int_equal(wished.items_per_tile, 7);
    assert_int_equal(wished.n_tile, 143);
    assert_int_equal(plan_memory(ctx, 10, 64, 1000).items_per_tile, 10);
    tess_context_destroy(ctx);
}

static void files_beyond_the_limit_come_by_windows(void **state)
{
    (void)state;
    for (int fortran = 0; fortran < 2; fortran++) {
        const char *path = sparse_npy(fortran ? "f.npy" : "c.npy", 4096, 16, fortran != 0);
        tess_context *ctx = unit_context(1, tess_resident_bytes() + (UINT64_C(48) << 20));
        tess_source *source = NULL;
        assert_ok(tess_source_open(ctx, path, NULL, &source));
        tess_plan *plan = NULL;
        assert_ok(tess_autoreject_ptp_plan_create(ctx, source, NULL, &plan));
        const tess_plan_info *info = tess_plan_get_info(plan);
        check_sums(info);
        assert_int_equal(info->strategy, fortran ? TESS_STRATEGY_STREAMING : TESS_STRATEGY_CHUNKED);
        assert_contains(info->reason, "256.0 MiB of input exceed the");
        assert_true(info->n_tile > 4);
        tess_plan_destroy(plan);
        tess_source_close(source);
        tess_context_destroy(ctx);
        unlink(path);
    }
}

static void the_smallest_limit_named_does_work(void **state)
{
    (void)state;
    const char *path = sparse_npy("big_epochs.npy", 8, 8192, false); // 32 MiB each
    tess_context *ctx = unit_context(1, UINT64_C(16) << 20);
    tess_source *source = NULL;
    assert_ok(tess_source_open(ctx, path, NULL, &source));
    tess_plan *plan = NULL;
    assert_fails(tess_autoreject_ptp_plan_create(ctx, source, NULL, &plan), TESS_E_LIMIT,
                 "memory limit 16.0 MiB is too small: one of the epochs takes 33587200 bytes");
    assert_null(plan);
    static const char phrase[] = "the smallest limit that works is ";
    const char *found = strstr(tess_last_error(), phrase);
    assert_non_null(found);
    const uint64_t limit = strtoull(found + strlen(phrase), NULL, 10) << 20;
    assert_contains(found, " MiB");
    assert_true(limit > UINT64_C(96) << 20);
    tess_source_close(source);
    tess_context_destroy(ctx);

    ctx = unit_context(1, limit);
    assert_ok(tess_source_open(ctx, path, NULL, &source));
    assert_ok(tess_autoreject_ptp_plan_create(ctx, source, NULL, &plan));
    assert_int_equal(tess_plan_get_info(plan)->items_per_tile, 1);
    tess_plan_destroy(plan);
    tess_source_close(source);
    tess_context_destroy(ctx);
    unlink(path);
}

static void settings_name_what_changes_the_answer(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_source *source = broadcast_source(ctx, 3, 2);
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    config.tile_epochs = 2;
    config.nonfinite = TESS_AUTOREJECT_NONFINITE_ERROR;
    tess_plan *plan = NULL;
    assert_ok(tess_autoreject_ptp_plan_create(ctx, source, &config, &plan));
    assert_string_equal(plan->settings, "nonfinite=error");
    tess_plan_destroy(plan);
    tess_plan_destroy(NULL);
    tess_source_close(source);

    tess_autoreject_simulate_config simulate;
    tess_autoreject_simulate_config_init(&simulate, sizeof simulate);
    assert_ok(tess_autoreject_simulate_plan_create(ctx, &simulate, &plan));
    assert_string_equal(plan->settings, "dtype=f64;epochs=120;channels=64;samples=500;seed=0;"
                                        "sampling=250;bad_fraction=0.05");
    tess_plan_destroy(plan);
    tess_context_destroy(ctx);
}

static void strategies_have_names(void **state)
{
    (void)state;
    assert_string_equal(tess_strategy_name(TESS_STRATEGY_STANDARD), "STANDARD");
    assert_string_equal(tess_strategy_name(TESS_STRATEGY_LARGE), "LARGE");
    assert_string_equal(tess_strategy_name(TESS_STRATEGY_CHUNKED), "CHUNKED");
    assert_string_equal(tess_strategy_name(TESS_STRATEGY_STREAMING), "STREAMING");
    assert_string_equal(tess_strategy_name((tess_strategy)9), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_inputs_are_one_tile),
        cmocka_unit_test(large_inputs_are_cut),
        cmocka_unit_test(files_beyond_the_limit_come_by_windows),
        cmocka_unit_test(the_smallest_limit_named_does_work),
        cmocka_unit_test(settings_name_what_changes_the_answer),
        cmocka_unit_test(strategies_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
