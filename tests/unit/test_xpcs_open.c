// Opening files under pressure: little memory, none at all, and a user who changes his mind.
#include "runtime/context.h"
#include "xpcs_files.h"

#include <sys/stat.h>
#include <unistd.h>

enum { N_ANGLE = 6, N_FRAME = 401 };

static tess_xpcs_simulation settings(void)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = N_ANGLE;
    s.n_frame = N_FRAME;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

// A simulated file of about 2 MB.
static const char *large_file(tess_context *ctx)
{
    const tess_xpcs_simulation s = settings();
    const char *path = unit_path("large.hdf");
    if (!unit_exists(path)) {
        assert_ok(tess_xpcs_simulate_file(ctx, &s, TESS_XPCS_APS_U, TESS_XPCS_FILTER_LZF, path, 1));
    }
    return path;
}

static void check_rows(tess_xpcs_data *a, tess_context *ctx_a, tess_xpcs_data *b,
                       tess_context *ctx_b)
{
    enum { N = N_FRAME - 1 };
    const size_t bytes = sizeof(double) * N * N;
    double *rows = malloc(2 * bytes);
    for (int64_t k = 0; k < N_ANGLE; k++) {
        assert_ok(tess_xpcs_data_rows(ctx_a, a, k, 0, N, rows));
        assert_ok(tess_xpcs_data_rows(ctx_b, b, k, 0, N, rows + N * N));
        assert_memory_equal(rows, rows + N * N, bytes);
    }
    free(rows);
}

static void what_does_not_fit_goes_to_a_scratch_file(void **state)
{
    (void)state;
    tess_context *roomy = unit_context(2, 0);
    tess_context *tight = unit_context(1, 4 << 20);
    const char *path = large_file(roomy);
    const char *folder = unit_path("scratch");
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *in_memory = NULL;
    tess_xpcs_data *in_file = NULL;
    assert_int_equal(mkdir(folder, 0777), 0);
    config.cache_folder = folder;
    config.no_cache = 1;
    assert_ok(tess_xpcs_data_open(roomy, path, NULL, &in_memory));
    assert_ok(tess_xpcs_data_open(tight, path, &config, &in_file));
    assert_int_equal(tess_xpcs_data_get_info(in_memory)->residency, TESS_XPCS_IN_MEMORY);
    assert_int_equal(tess_xpcs_data_get_info(in_file)->residency, TESS_XPCS_IN_FILE);
    check_rows(in_memory, roomy, in_file, tight);
    assert_int_equal(rmdir(folder), 0); // the scratch file has no name
    tess_xpcs_data_destroy(in_file);

    assert_int_equal(mkdir(folder, 0777), 0);
    config.no_cache = 0; // and the same with a cache on the way
    for (int k = 0; k < 2; k++) {
        assert_ok(tess_xpcs_data_open(tight, path, &config, &in_file));
        assert_string_equal(tess_xpcs_data_get_info(in_file)->layout, k == 0 ? "aps-u" : "cache");
        assert_string_equal(tess_xpcs_data_get_info(in_file)->notes, "");
        check_rows(in_memory, roomy, in_file, tight);
        tess_xpcs_data_destroy(in_file);
    }
    tess_xpcs_data_destroy(in_memory);
    uint64_t now;
    uint64_t peak;
    tess_context_memory(tight, &now, &peak);
    assert_true(peak < 4 << 20);
    tess_context_destroy(roomy);
    tess_context_destroy(tight);
}

static void opening_can_be_cancelled(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = large_file(ctx);
    const char *folder = unit_path("cancelled");
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    assert_int_equal(mkdir(folder, 0777), 0);
    config.cache_folder = folder;
    tess_context_cancel(ctx);
    assert_int_equal(tess_xpcs_data_open(ctx, path, &config, &data), TESS_CANCELLED);
    assert_null(data);
    assert_int_equal(rmdir(folder), 0); // neither cache nor its beginning
    tess_context_destroy(ctx);
}

// Every allocation fails once: an error and nothing lost.
static void no_memory_is_survived(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    unit_allocator allocator;
    tess_xpcs_data_config config = xf_config();
    const char *folder = unit_path("folder");
    xf_aps_u(&f);
    f.bins[1] = 9; // a note is written, too
    const char *path = xf_write(ctx, &f, "small.h5");
    assert_int_equal(mkdir(folder, 0777), 0);
    config.cache_folder = folder;
    const tess_heap real = ctx->heap;
    bool is_done = false;
    for (long long fail_at = 1; !is_done && fail_at < 500; fail_at++) {
        tess_xpcs_data *data = NULL;
        unit_allocator_init(&allocator, fail_at);
        tess_heap_init(&ctx->heap, &allocator.table);
        const tess_status status = tess_xpcs_data_open(ctx, path, &config, &data);
        is_done = atomic_load(&allocator.n_alloc) < fail_at;
        // A cache that cannot be written for want of memory is a note.
        assert_true(status == TESS_OK || status == TESS_E_MEMORY);
        assert_true(!is_done || status == TESS_OK);
        tess_xpcs_data_destroy(data);
        assert_int_equal(atomic_load(&allocator.n_live), 0);
    }
    assert_true(is_done);
    ctx->heap = real;
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_goes_to_a_scratch_file),
        cmocka_unit_test(opening_can_be_cancelled),
        cmocka_unit_test(no_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
