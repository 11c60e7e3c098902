// Predictions into files: what predict gives, in any chunks, killed anywhere and resumed.
#include "decode_model.h"

#include "runtime/bundle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const NON_LOCAL = "decode/07_non_local";
enum { EVERYTHING = 15, KILLED = 9 };

static tess_context *ctx;
static golden_model m;

static tess_decode_stream_config config_for(const char *path)
{
    tess_decode_stream_config config;
    tess_decode_stream_config_init(&config, sizeof config);
    config.path = path;
    config.want = EVERYTHING;
    return config;
}

// Builds without HDF5 write folders only.
static void skip_without_hdf5(void)
{
    const tess_decode_stream_config config = config_for(unit_path("try.h5"));
    tess_decode_stream_report report = {.struct_size = sizeof report};
    if (tess_decode_stream_plan(ctx, m.detector, &m.observation, &config, &report) ==
        TESS_E_UNSUPPORTED) {
        skip();
    }
}

// A GPU belongs to the process that opened it: a forked child has none.
static void skip_with_gpu(void)
{
    tess_context_info info;
    assert_ok(tess_context_get_info(ctx, &info, sizeof info));
    if (strncmp(info.device, "cpu", 3) != 0) {
        print_message("skipped on %s: children that are killed have no GPU\n", info.device);
        skip();
    }
}

static void stream(const tess_decode_stream_config *config, tess_decode_stream_report *report)
{
    *report = (tess_decode_stream_report){.struct_size = sizeof *report};
    assert_ok(tess_decode_stream(ctx, m.detector, &m.observation, config, report));
}

static void assert_same_file(const char *a, const char *b)
{
    size_t n_a = 0;
    size_t n_b = 0;
    char *bytes_a = unit_read_file(a, &n_a);
    char *bytes_b = unit_read_file(b, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(bytes_a, bytes_b, n_a);
    free(bytes_a);
    free(bytes_b);
}

// Every .npy of two folders.
static void assert_same_folder(const char *a, const char *b)
{
    DIR *folder = opendir(a);
    assert_non_null(folder);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            char path_a[1024];
            char path_b[1024];
            snprintf(path_a, sizeof path_a, "%s/%s", a, entry->d_name);
            snprintf(path_b, sizeof path_b, "%s/%s", b, entry->d_name);
            assert_same_file(path_a, path_b);
            n++;
        }
    }
    closedir(folder);
    assert_true(n > 20);
}

static float *read_rows(const char *path, const char *name, int64_t *n)
{
    tess_bundle bundle;
    assert_ok(tess_bundle_open(ctx, path, &bundle));
    const tess_bundle_entry *entry = tess_bundle_find(&bundle, name);
    assert_non_null(entry);
    *n = entry->n_item;
    float *rows = malloc((size_t)*n * sizeof *rows);
    assert_ok(tess_bundle_read(&bundle, entry, rows, (uint64_t)*n * sizeof *rows));
    tess_bundle_close(&bundle);
    return rows;
}

static void test_equals_predict(void **state)
{
    (void)state;
    skip_without_hdf5();
    const char *path = unit_path("equal.h5");
    const tess_decode_stream_config config = config_for(path);
    tess_decode_stream_report report;
    stream(&config, &report);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(m.detector);
    const int64_t shape[2] = {151, info->n_state_bin};
    tess_decode_outputs out;
    tess_decode_outputs_init(&out, sizeof out);
    tess_array posterior;
    float *want = malloc((size_t)(shape[0] * shape[1]) * sizeof *want);
    assert_ok(tess_array_init(&posterior, want, TESS_F32, 2, shape));
    out.acausal_posterior = &posterior;
    assert_ok(tess_decode_predict(ctx, m.detector, &m.observation, NULL, &out));
    int64_t n = 0;
    float *got = read_rows(path, "acausal_posterior", &n);
    assert_int_equal(n, shape[0] * shape[1]);
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
    assert_true(report.log_evidence == out.log_evidence);
    free(got);
    // The likelihood is spread over the bins of every state.
    got = read_rows(path, "log_likelihood", &n);
    assert_int_equal(n, shape[0] * shape[1]);
    const float *row = got + 5 * info->n_state_bin;
    for (int64_t i = 0; i < 42; i++) {
        assert_true(row[info->state_first[2] + i] == row[info->state_first[3] + i]);
    }
    free(got);
    free(want);
}

static void test_any_chunks_any_type(void **state)
{
    (void)state;
    skip_without_hdf5();
    const int64_t chunks[] = {2, 5, 151};
    for (int dtype = TESS_F32; dtype <= TESS_F64; dtype++) {
        tess_decode_stream_report report;
        tess_decode_stream_config config = config_for(unit_path("right.h5"));
        config.overwrite = 1;
        config.dtype = dtype;
        stream(&config, &report);
        assert_int_equal(report.n_chunk, 1);
        for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
            config.path = unit_path("other.h5");
            config.n_chunk = chunks[i];
            stream(&config, &report);
            assert_true(report.n_chunk >= chunks[i]);
            assert_same_file(unit_path("right.h5"), unit_path("other.h5"));
            if (chunks[i] == 151 && dtype == TESS_F64) {
                continue; // hundreds of checkpoints, each synced, once are enough
            }
            config.checkpoint_dir = unit_path("work");
            config.checkpoint_every_s = 0;
            stream(&config, &report);
            assert_same_file(unit_path("right.h5"), unit_path("other.h5"));
            assert_false(unit_exists(unit_path("work")));
            config.checkpoint_dir = NULL;
        }
    }
}

// An allocator that ends the process at a given call: an instant nobody can prepare for.
static long calls_left;

static void *dying_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)user;
    (void)tag;
    if (--calls_left == 0) {
        _exit(KILLED);
    }
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void dying_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)user;
    (void)bytes;
    (void)tag;
    free(ptr);
}

// Runs in a process of its own that dies at allocation number at; 1 if it did.
static int die_at(const tess_decode_stream_config *config, long at)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tess_context_config dying;
        const tess_allocator allocator = {.alloc = dying_alloc, .release = dying_release};
        tess_context *own = NULL;
        calls_left = -1;
        tess_context_config_init(&dying, sizeof dying);
        dying.allocator = &allocator;
        dying.n_thread = 1;
        if (tess_context_create(&dying, &own) != TESS_OK) {
            _exit(1);
        }
        calls_left = at;
        const tess_status status =
            tess_decode_stream(own, m.detector, &m.observation, config, NULL);
        _exit(status == TESS_OK ? 0 : 2);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    const int code = WEXITSTATUS(result);
    assert_true(code == 0 || code == KILLED);
    return code == KILLED;
}

// want 0: smoothed rows replace filtered ones in place.
static void die_everywhere(const char *right, const char *out, int is_folder, int dtype, int want)
{
    const char *work = unit_path("work");
    int n_resumed = 0;
    long at = 1;
    const long step = is_folder ? 89 : unit_is_quick() ? 61 : 29;
    for (int n_died = 1; n_died; at += step) {
        tess_decode_stream_config config = config_for(out);
        tess_decode_stream_report report;
        config.overwrite = 1;
        config.want = want;
        config.dtype = dtype;
        config.n_chunk = 6;
        config.checkpoint_dir = work;
        config.checkpoint_every_s = 0;
        config.resume = 1;
        n_died = die_at(&config, at) && die_at(&config, at / 3 + 1);
        config.n_chunk = 2;
        stream(&config, &report);
        n_resumed += report.resumed;
        if (is_folder) {
            assert_same_folder(right, out);
        } else {
            assert_same_file(right, out);
        }
        assert_false(unit_exists(work));
        if (is_folder) {
            char moved[1024];
            snprintf(moved, sizeof moved, "%s_%ld", out, at);
            assert_int_equal(rename(out, moved), 0);
        } else {
            unlink(out);
        }
    }
    assert_true(at > 100);
    assert_true(n_resumed > 2);
}

static void test_killed_anywhere(void **state)
{
    (void)state;
    skip_with_gpu();
    skip_without_hdf5();
    for (int dtype = TESS_F32; dtype <= TESS_F64; dtype++) {
        tess_decode_stream_config config = config_for(unit_path("whole.h5"));
        tess_decode_stream_report report;
        config.overwrite = 1;
        config.want = dtype == TESS_F32 ? 0 : EVERYTHING;
        config.dtype = dtype;
        stream(&config, &report);
        die_everywhere(unit_path("whole.h5"), unit_path("killed.h5"), 0, dtype, config.want);
    }
}

static void test_killed_folder(void **state)
{
    (void)state;
    skip_with_gpu();
    tess_decode_stream_config config = config_for(unit_path("whole"));
    tess_decode_stream_report report;
    config.want = 0;
    stream(&config, &report);
    die_everywhere(unit_path("whole"), unit_path("killed"), 1, TESS_F32, 0);
}

static void test_finished_is_recognised(void **state)
{
    (void)state;
    skip_without_hdf5();
    tess_decode_stream_config config = config_for(unit_path("done.h5"));
    tess_decode_stream_report report;
    stream(&config, &report);
    const double evidence = report.log_evidence;
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL), TESS_E_EXISTS,
                 "pass --overwrite");
    config.resume = 1;
    config.checkpoint_dir = unit_path("work");
    stream(&config, &report);
    assert_int_equal(report.was_finished, 1);
    assert_true(report.log_evidence == evidence);
    assert_false(unit_exists(unit_path("work")));
}

static void test_other_runs_are_refused(void **state)
{
    (void)state;
    skip_with_gpu();
    skip_without_hdf5();
    tess_decode_stream_config config = config_for(unit_path("mine.h5"));
    config.checkpoint_dir = unit_path("work");
    config.checkpoint_every_s = 0;
    config.n_chunk = 6;
    for (long at = 200; !unit_exists(unit_path("work/decode.predict.000001.ckpt")); at += 50) {
        assert_true(die_at(&config, at));
    }
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL), TESS_E_EXISTS,
                 "holds the checkpoint of an unfinished run");
    config.resume = 1;
    config.want = 0;
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL),
                 TESS_E_MISMATCH, "settings were 'want=15;dtype=f32', are 'want=0;dtype=f32'");
    config.want = EVERYTHING;
    m.times[2][100] += 1e-9;
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL),
                 TESS_E_MISMATCH, "the spikes differ");
    m.times[2][100] -= 1e-9;
    golden_model other;
    golden_model_open(&other, ctx, NON_LOCAL, TESS_DECODE_FAST);
    golden_model_detector(&other, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    assert_fails(tess_decode_stream(ctx, other.detector, &m.observation, &config, NULL),
                 TESS_E_MISMATCH, "rows of");
    golden_model_close(&other);
    tess_decode_stream_report report;
    stream(&config, &report);
    assert_int_equal(report.resumed, 1);
}

// Every allocation fails once: an error with nothing left behind, or the right result.
static void test_failing_memory(void **state)
{
    (void)state;
    tess_status status = TESS_E_MEMORY;
    tess_decode_stream_config config = config_for(unit_path("starved"));
    config.overwrite = 1;
    config.n_chunk = 2;
    for (long long at = 1; status != TESS_OK; at++) {
        unit_allocator allocator;
        tess_context_config starved;
        tess_context *own = NULL;
        unit_allocator_init(&allocator, 0);
        tess_context_config_init(&starved, sizeof starved);
        starved.n_thread = 1;
        starved.allocator = &allocator.table;
        assert_ok(tess_context_create(&starved, &own));
        allocator.fail_at = atomic_load(&allocator.n_alloc) + at;
        const long long before = atomic_load(&allocator.n_live);
        status = tess_decode_stream(own, m.detector, &m.observation, &config, NULL);
        if (status != TESS_OK) {
            assert_int_equal(status, TESS_E_MEMORY);
            assert_false(unit_exists(unit_path("starved")));
        }
        assert_true(atomic_load(&allocator.n_live) <= before + 1); // the pool may have started
        tess_context_destroy(own);
        assert_int_equal(atomic_load(&allocator.n_live), 0);
        assert_true(at < 2000);
    }
}

static void test_plan_and_bad_arguments(void **state)
{
    (void)state;
    skip_without_hdf5();
    tess_decode_stream_config config = config_for(unit_path("plan.h5"));
    tess_decode_stream_report report = {.struct_size = sizeof report};
    config.n_chunk = 4;
    assert_ok(tess_decode_stream_plan(ctx, m.detector, &m.observation, &config, &report));
    assert_int_equal(report.rows_per_chunk, 38);
    assert_true(report.output_bytes > 151 * 86 * 4);
    assert_false(unit_exists(config.path));
    config.path = unit_path("plan.npz");
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL),
                 TESS_E_ARGUMENT, "results go to HDF5 files");
    config.path = unit_path("plan.h5");
    config.resume = 1;
    assert_fails(tess_decode_stream(ctx, m.detector, &m.observation, &config, NULL),
                 TESS_E_ARGUMENT, "resume: needs the checkpoint folder");
}

static int open_model(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    golden_model_open(&m, ctx, NON_LOCAL, TESS_DECODE_FAST);
    tess_decode_detector_config scalars;
    tess_decode_detector_config_init(&scalars, sizeof scalars);
    scalars.local_position_std = 4;
    scalars.non_local_position_penalty = 3;
    golden_model_detector(&m, ctx, TESS_DECODE_MODEL_NON_LOCAL, &scalars);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    golden_model_close(&m);
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_predict),
                                       cmocka_unit_test(test_any_chunks_any_type),
                                       cmocka_unit_test(test_killed_anywhere),
                                       cmocka_unit_test(test_killed_folder),
                                       cmocka_unit_test(test_finished_is_recognised),
                                       cmocka_unit_test(test_other_runs_are_refused),
                                       cmocka_unit_test(test_failing_memory),
                                       cmocka_unit_test(test_plan_and_bad_arguments)};
    return cmocka_run_group_tests(tests, open_model, close_model);
}
