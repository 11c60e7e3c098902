// Runs and their journal: stop at any tile, go on, get the same bytes; refuse what does not fit.
#include "base/status.h"
#include "runtime/plan.h"
#include "tessera/run.h"
#include "unit.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_ITEM = 23, N_COL = 5, TILE = 4, N_TILE = 6 };

static tess_context *ctx;
static int n_warning;
static char last_warning[1024];

// What the next tiles do: a tiny system of its own.
static struct {
    int64_t cancel_at; // item; -1: never
    int64_t fail_at;
    int end_callback; // what the progress callback answers once all is done
} script;

static tess_status make_items(const tess_plan *plan, tess_context *context, const tess_tile *tile)
{
    (void)plan;
    int64_t *out = tile->out;
    if (script.fail_at >= tile->first && script.fail_at < tile->first + tile->count) {
        TESS_FAIL(TESS_E_NUMERIC, "item %lld is bad", (long long)script.fail_at);
    }
    for (int64_t i = 0; i < tile->count * N_COL; i++) {
        out[i] = (tile->first * N_COL + i) * 7919;
    }
    if (script.cancel_at >= tile->first && script.cancel_at < tile->first + tile->count) {
        tess_context_cancel(context);
    }
    return TESS_OK;
}

static const tess_plan_ops ops = {.name = "unit.items", .unit = "items", .compute = make_items};
static const tess_plan_ops other_ops = {
    .name = "unit.other", .unit = "items", .compute = make_items};
static const int64_t shape[2] = {N_ITEM, N_COL};

static const tess_param params[] = {{.name = "a", .type = TESS_PARAM_INT}};
static const tess_param_table table = {.name = "unit.items", .params = params, .n_param = 1};

static tess_plan *new_plan(const tess_plan_ops *which, const char *settings)
{
    tess_plan_request request = {.ops = which, .items_per_tile = TILE};
    assert_ok(tess_array_init(&request.out, NULL, TESS_I64, 2, shape));
    tess_plan *plan = NULL;
    assert_ok(tess_plan_create(ctx, &request, &plan));
    plan->table = &table;
    snprintf(plan->settings, sizeof plan->settings, "%s", settings);
    return plan;
}

static tess_sink *new_sink(const char *name)
{
    const tess_sink_config config = {.struct_size = sizeof config, .overwrite = 1};
    tess_sink *sink = NULL;
    assert_ok(tess_sink_create(ctx, unit_path(name), &config, TESS_I64, 2, shape, &sink));
    return sink;
}

static tess_run_config new_config(const char *folder, int resume)
{
    tess_run_config config;
    tess_run_config_init(&config, sizeof config);
    config.checkpoint_dir = folder;
    config.checkpoint_every_s = 0;
    config.resume = resume;
    config.command_line = "unit test \"quoted\"";
    return config;
}

// One process's attempt: create, execute, destroy.
static tess_status attempt(const char *folder, int resume, int64_t cancel_at, int64_t fail_at,
                           tess_run_report *report)
{
    tess_context_cancel_clear(ctx);
    script.cancel_at = cancel_at;
    script.fail_at = fail_at;
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("out.npy");
    const tess_run_config config = new_config(folder, resume);
    tess_run *run = NULL;
    tess_status status = tess_run_create(ctx, plan, NULL, sink, &config, &run);
    if (status == TESS_OK) {
        status = tess_run_execute(run);
        tess_run_report own;
        char message[TESS_MESSAGE_BYTES];
        tess_error_copy_out(message);
        assert_ok(tess_run_get_report(run, report ? report : &own, sizeof own));
        assert_true(unit_is_json(tess_run_provenance(run), NULL));
        tess_error_copy_in(message);
    }
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    tess_context_cancel_clear(ctx);
    return status;
}

static void check_output(void)
{
    int64_t data[N_ITEM * N_COL];
    tess_source *source = NULL;
    assert_ok(tess_source_open(ctx, unit_path("out.npy"), NULL, &source));
    assert_ok(tess_source_read(source, 0, N_ITEM, data, sizeof data));
    tess_source_close(source);
    for (int64_t i = 0; i < N_ITEM * N_COL; i++) {
        assert_int_equal(data[i], i * 7919);
    }
    unlink(unit_path("out.npy"));
    unlink(unit_path("out.npy.json"));
}

// Checkpoints in a folder; the last one's name comes back too.
static int count_checkpoints(const char *folder, char newest[256])
{
    int n = 0;
    DIR *open = opendir(folder);
    newest[0] = '\0';
    for (struct dirent *entry; open && (entry = readdir(open)) != NULL;) {
        if (strstr(entry->d_name, ".ckpt")) {
            n++;
            if (strcmp(entry->d_name, newest) > 0) {
                snprintf(newest, 256, "%s", entry->d_name);
            }
        }
    }
    if (open) {
        closedir(open);
    }
    return n;
}

static void flip_byte(const char *path, size_t at)
{
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    assert_true(at < n);
    bytes[at] ^= 1;
    unit_write_file(path, bytes, n);
    free(bytes);
}

static void a_run_without_checkpoints(void **state)
{
    (void)state;
    const int before = unit_count_files();
    tess_run_report report;
    assert_ok(attempt(NULL, 0, -1, -1, &report));
    assert_int_equal(report.items_done, N_ITEM);
    assert_int_equal(report.first_item, 0);
    assert_int_equal(report.resumed, 0);
    assert_int_equal(report.n_checkpoint, 0);
    assert_true(report.elapsed_s > 0 && report.read_wait_s >= 0);
    assert_string_equal(report.checkpoint_path, "");
    char *text = unit_read_file(unit_path("out.npy.json"), NULL);
    assert_true(unit_is_json(text, NULL));
    assert_contains(text, "\"stage\": \"unit.items\"");
    assert_contains(text, "\"command_line\": \"unit test \\\"quoted\\\"\"");
    assert_contains(text, "\"items_done\": 23");
    free(text);
    check_output();
    assert_int_equal(attempt(NULL, 0, 8, -1, &report), TESS_CANCELLED);
    assert_int_equal(unit_count_files(), before);
}

static void stop_at_every_tile_and_go_on(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    for (int64_t tile = 0; tile < N_TILE; tile++) {
        for (int by_failure = 0; by_failure < 2; by_failure++) {
            tess_run_report report;
            const int64_t at = tile * TILE;
            const tess_status status =
                attempt(folder, 0, by_failure ? -1 : at, by_failure ? at : -1, &report);
            if (tile == N_TILE - 1 && !by_failure) {
                // Cancelled while the last tile was computed: too late to stop.
                assert_int_equal(status, TESS_OK);
                check_output();
                continue;
            }
            assert_int_equal(status, by_failure ? TESS_E_NUMERIC : TESS_CANCELLED);
            assert_contains(tess_last_error(), by_failure ? "is bad" : "stopped on request");
            const int64_t done = by_failure ? at : at + TILE;
            assert_int_equal(report.items_done, done);
            assert_false(unit_exists(unit_path("out.npy")));
            if (done > 0) {
                assert_true(unit_exists(report.checkpoint_path));
                assert_true(report.n_checkpoint >= 1);
            }
            assert_ok(attempt(folder, 1, -1, -1, &report));
            assert_int_equal(report.first_item, done);
            assert_int_equal(report.resumed, done > 0);
            assert_int_equal(report.items_done, N_ITEM);
            check_output();
            assert_false(unit_exists(folder));
        }
    }
}

static void few_checkpoints_are_kept(void **state)
{
    (void)state;
    char newest[256];
    const char *folder = unit_path("journal");
    assert_int_equal(attempt(folder, 0, 4 * TILE, -1, NULL), TESS_CANCELLED);
    assert_int_equal(count_checkpoints(folder, newest), 2);
    assert_true(unit_exists(unit_path("journal/spool.npy")));
    assert_ok(attempt(folder, 1, -1, -1, NULL));
    check_output();
}

static void another_run_s_folder_is_refused(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    assert_int_equal(attempt(folder, 0, TILE, -1, NULL), TESS_CANCELLED);
    assert_fails(attempt(folder, 0, -1, -1, NULL), TESS_E_EXISTS,
                 "holds the checkpoint of an unfinished run; pass --resume");
    static const struct {
        const tess_plan_ops *ops;
        const char *settings;
        const char *message;
    } wrong[] = {{&ops, "a=2", "settings were 'a=1', are 'a=2'"},
                 {&other_ops, "a=1", "checkpoint of another computation"}};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        tess_plan *plan = new_plan(wrong[i].ops, wrong[i].settings);
        tess_sink *sink = new_sink("out.npy");
        const tess_run_config config = new_config(folder, 1);
        tess_run *run = NULL;
        assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_MISMATCH,
                     wrong[i].message);
        assert_null(run);
        tess_sink_close(sink);
        tess_plan_destroy(plan);
    }
    // A refused attempt must not have harmed the folder.
    assert_ok(attempt(folder, 1, -1, -1, NULL));
    check_output();
}

static void a_folder_in_use_is_refused(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("first.npy");
    const tess_run_config config = new_config(folder, 0);
    tess_run *run = NULL;
    assert_ok(tess_run_create(ctx, plan, NULL, sink, &config, &run));
    assert_fails(attempt(folder, 0, -1, -1, NULL), TESS_E_LOCKED, "another run is using");
    assert_contains(tess_last_error(), "pid ");
    script.cancel_at = script.fail_at = -1;
    assert_ok(tess_run_execute(run));
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    unlink(unit_path("first.npy"));
    unlink(unit_path("first.npy.json"));
    assert_ok(attempt(folder, 0, -1, -1, NULL));
    check_output();
}

static void a_damaged_checkpoint_is_passed_over(void **state)
{
    (void)state;
    char newest[256];
    char path[300];
    const char *folder = unit_path("journal");
    tess_run_report report;
    assert_int_equal(attempt(folder, 0, 3 * TILE, -1, NULL), TESS_CANCELLED);
    count_checkpoints(folder, newest);
    snprintf(path, sizeof path, "journal/%s", newest);
    flip_byte(unit_path(path), 100);
    n_warning = 0;
    assert_ok(attempt(folder, 1, -1, -1, &report));
    assert_int_equal(n_warning, 1);
    assert_contains(last_warning, "trying an older checkpoint");
    assert_contains(last_warning, newest);
    assert_true(report.first_item > 0 && report.first_item < 4 * TILE + 1);
    check_output();
}

static void a_damaged_spool_is_never_used(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    assert_int_equal(attempt(folder, 0, 2 * TILE, -1, NULL), TESS_CANCELLED);
    flip_byte(unit_path("journal/spool.npy"), 200);
    assert_fails(attempt(folder, 1, -1, -1, NULL), TESS_E_MISMATCH, "items 0 to 4 are damaged");
    flip_byte(unit_path("journal/spool.npy"), 200);
    flip_byte(unit_path("journal/spool.npy"), 20);
    assert_fails(attempt(folder, 1, -1, -1, NULL), TESS_E_MISMATCH, "another shape or type");
    flip_byte(unit_path("journal/spool.npy"), 20);
    assert_ok(attempt(folder, 1, -1, -1, NULL));
    check_output();
}

static void a_folder_of_ruins_says_so(void **state)
{
    (void)state;
    char newest[256];
    char path[300];
    const char *folder = unit_path("journal");
    assert_int_equal(attempt(folder, 0, 2 * TILE, -1, NULL), TESS_CANCELLED);
    while (count_checkpoints(folder, newest) > 1) {
        snprintf(path, sizeof path, "journal/%s", newest);
        unlink(unit_path(path));
    }
    snprintf(path, sizeof path, "journal/%s", newest);
    unit_write_file(unit_path(path), "ruin", 4);
    assert_fails(attempt(folder, 1, -1, -1, NULL), TESS_E_FORMAT, "no checkpoint in it is whole");
    unlink(unit_path(path));
    // Temporaries of a killed process are swept, and without checkpoints resume starts afresh.
    unit_write_file(unit_path("journal/unit.items.000009.ckpt.tmp.1.2"), "x", 1);
    assert_ok(attempt(folder, 1, -1, -1, NULL));
    check_output();
    assert_false(unit_exists(folder));
}

static int answer_at_end(void *user, const tess_progress *progress)
{
    (void)user;
    assert_int_equal(progress->struct_size, sizeof *progress);
    assert_int_equal(progress->total, N_ITEM);
    assert_string_equal(progress->stage, "unit.items");
    return progress->done == progress->total ? script.end_callback : 0;
}

// All tiles are done but the end did not come to pass: a later attempt must find them.
static void a_failed_end_keeps_the_work(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    tess_run_report report;
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("out.npy");
    tess_run_config config = new_config(folder, 0);
    config.checkpoint_every_s = 1000;
    tess_run *run = NULL;
    script.cancel_at = script.fail_at = -1;
    script.end_callback = 1;
    assert_ok(tess_run_create(ctx, plan, NULL, sink, &config, &run));
    assert_fails(tess_run_execute(run), TESS_CANCELLED, "stopped by the progress callback");
    assert_ok(tess_run_get_report(run, &report, sizeof report));
    assert_int_equal(report.n_checkpoint, 1);
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    script.end_callback = 0;
    assert_ok(attempt(folder, 1, -1, -1, &report));
    assert_int_equal(report.first_item, N_ITEM);
    check_output();
}

static void a_stopped_run_can_be_executed_again(void **state)
{
    (void)state;
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("out.npy");
    tess_run *run = NULL;
    script.cancel_at = 2 * TILE;
    script.fail_at = -1;
    assert_ok(tess_run_create(ctx, plan, NULL, sink, NULL, &run));
    assert_int_equal(tess_run_execute(run), TESS_CANCELLED);
    tess_context_cancel_clear(ctx);
    script.cancel_at = -1;
    assert_ok(tess_run_execute(run));
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    check_output();
}

static void a_checkpoint_that_cannot_be_written_is_not_counted(void **state)
{
    (void)state;
    const char *folder = unit_path("journal");
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(mkdir(unit_path("journal/unit.items.000001.ckpt"), 0777), 0);
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("out.npy");
    const tess_run_config config = new_config(folder, 0);
    tess_run *run = NULL;
    // The name is taken by a folder, which looks like a checkpoint at first.
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_EXISTS, "journal");
    rmdir(unit_path("journal/unit.items.000001.ckpt"));
    assert_ok(tess_run_create(ctx, plan, NULL, sink, &config, &run));
    assert_int_equal(mkdir(unit_path("journal/unit.items.000001.ckpt"), 0777), 0);
    script.cancel_at = TILE;
    script.fail_at = -1;
    n_warning = 0;
    assert_int_equal(tess_run_execute(run), TESS_CANCELLED);
    tess_context_cancel_clear(ctx);
    tess_run_report report;
    assert_ok(tess_run_get_report(run, &report, sizeof report));
    assert_int_equal(report.n_checkpoint, 0);
    assert_true(n_warning >= 1);
    assert_contains(last_warning, "not a regular file");
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    rmdir(unit_path("journal/unit.items.000001.ckpt"));
    assert_ok(attempt(folder, 1, -1, -1, NULL));
    check_output();
}

static void configs_and_partners_are_checked(void **state)
{
    (void)state;
    tess_plan *plan = new_plan(&ops, "a=1");
    tess_sink *sink = new_sink("out.npy");
    tess_run *run = NULL;
    tess_run_config config = new_config(NULL, 1);
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_ARGUMENT,
                 "resume: needs the checkpoint folder");
    config = new_config(NULL, 0);
    config.keep_checkpoints = 0;
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_RANGE,
                 "keep_checkpoints");
    config = new_config(NULL, 0);
    config.checkpoint_every_s = (double)NAN;
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_RANGE,
                 "checkpoint_every_s");
    config = new_config(unit_path("no/such/folder"), 0);
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_CREATE,
                 "cannot create the checkpoint folder");
    config.struct_size = 1;
    assert_fails(tess_run_create(ctx, plan, NULL, sink, &config, &run), TESS_E_VERSION,
                 "struct_size 1");

    float data[N_ITEM] = {0};
    tess_array a;
    const int64_t one[1] = {N_ITEM};
    tess_source *source = NULL;
    assert_ok(tess_array_init(&a, data, TESS_F32, 1, one));
    assert_ok(tess_source_from_array(ctx, &a, &source));
    assert_fails(tess_run_create(ctx, plan, source, sink, NULL, &run), TESS_E_ARGUMENT,
                 "source: this plan takes none");
    tess_sink *wrong = NULL;
    assert_ok(tess_sink_from_array(ctx, &a, &wrong));
    assert_fails(tess_run_create(ctx, plan, NULL, wrong, NULL, &run), TESS_E_SHAPE, "sink: ");
    assert_null(run);
    tess_run_destroy(NULL);
    tess_sink_close(wrong);
    tess_source_close(source);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
}

static void keep_warning(void *user, tess_log_level level, const char *text)
{
    (void)user;
    if (level == TESS_LOG_WARNING) {
        n_warning++;
        snprintf(last_warning, sizeof last_warning, "%s", text);
    }
}

int main(void)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.log = keep_warning;
    config.progress = answer_at_end;
    if (tess_context_create(&config, &ctx) != TESS_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_checkpoints),
        cmocka_unit_test(stop_at_every_tile_and_go_on),
        cmocka_unit_test(few_checkpoints_are_kept),
        cmocka_unit_test(another_run_s_folder_is_refused),
        cmocka_unit_test(a_folder_in_use_is_refused),
        cmocka_unit_test(a_damaged_checkpoint_is_passed_over),
        cmocka_unit_test(a_damaged_spool_is_never_used),
        cmocka_unit_test(a_folder_of_ruins_says_so),
        cmocka_unit_test(a_failed_end_keeps_the_work),
        cmocka_unit_test(a_stopped_run_can_be_executed_again),
        cmocka_unit_test(a_checkpoint_that_cannot_be_written_is_not_counted),
        cmocka_unit_test(configs_and_partners_are_checked),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
