// The work under every long computation: folder, identity, when a checkpoint is due, the end.
#include "runtime/work.h"

#include "base/status.h"
#include "tessera/run.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tess_context *ctx;
static tess_identity ids[3];
static char lines[4096]; // of the log, since it was cleared

static void on_log(void *user, tess_log_level level, const char *line)
{
    (void)user;
    (void)level;
    const size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.log = on_log;
    config.log_level = TESS_LOG_INFO;
    assert_ok(tess_context_create(&config, &ctx));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        tess_identity_free(&ids[i]);
    }
    tess_context_destroy(ctx);
    return 0;
}

// An identity of two parts; the two made before stay valid.
static tess_identity *new_id(const char *settings, const char *data)
{
    static int next;
    tess_identity *id = &ids[next++ % 3];
    if (id->text.heap) {
        tess_identity_free(id);
    }
    tess_identity_init(id, ctx, "unit.work", "cpu");
    tess_identity_add(id, "settings were '*', are '*'", settings);
    tess_identity_add(id, "the data differ from those of this run", data);
    return id;
}

static tess_status put_state(void *self, tess_checkpoint_writer *writer)
{
    return tess_checkpoint_add(writer, "state", self, sizeof(int64_t));
}

static tess_status refuse_state(void *self, tess_checkpoint_writer *writer)
{
    (void)self;
    (void)writer;
    return tess_error_set(TESS_E_IO, "no room for it");
}

static const char *const files[] = {"partial", "rows", NULL};

static tess_work_config config_of(const char *folder, int32_t resume)
{
    return (tess_work_config){.name = "unit.work",
                              .what = "test",
                              .folder = folder,
                              .resume = resume,
                              .every_s = 1000,
                              .keep = 2,
                              .files = files};
}

static tess_status open_work(const char *folder, int32_t resume, const tess_identity *id,
                             tess_work *work)
{
    const tess_work_config config = config_of(folder, resume);
    lines[0] = '\0';
    return tess_work_open(ctx, &config, id, work);
}

// A folder with n checkpoints whose states are 1..n.
static void leave_checkpoints(const char *folder, int64_t n, const char *settings)
{
    tess_work work;
    assert_ok(open_work(folder, 0, new_id(settings, "x"), &work));
    for (int64_t state = 1; state <= n; state++) {
        tess_work_save(&work, (double)state / 8, put_state, &state);
    }
    assert_int_equal(work.n_saved, n);
    tess_work_close(&work);
}

static int64_t state_of(const tess_work *work)
{
    int64_t state = 0;
    assert_ok(tess_checkpoint_get(&work->found, "state", &state, sizeof state));
    return state;
}

static void a_run_goes_on_where_it_was(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    tess_work work;
    leave_checkpoints(folder, 3, "a=1");
    assert_false(unit_exists(unit_path("work/unit.work.000001.ckpt")));
    assert_true(unit_exists(unit_path("work/unit.work.000002.ckpt")));
    assert_ok(open_work(folder, 1, new_id("a=1", "x"), &work));
    assert_true(work.is_found);
    assert_int_equal(state_of(&work), 3);
    assert_contains(lines, "resumed from 38 %");
    assert_contains(lines, "unit.work.000003.ckpt");
    char *text = NULL;
    assert_ok(tess_checkpoint_describe(ctx, work.newest, &text));
    assert_true(unit_is_json(text, NULL));
    assert_contains(text, "\"stage\": \"unit.work\"");
    tess_text_free(text);
    tess_work_forget(&work);
    assert_false(work.is_found);
    unit_write_file(unit_path("work/rows"), "x", 1);
    assert_int_equal(mkdir(unit_path("work/partial"), 0777), 0);
    unit_write_file(unit_path("work/partial/a.npy"), "x", 1);
    tess_work_end(&work);
    tess_work_close(&work);
    assert_false(unit_exists(folder));
}

static void what_differs_is_named(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    tess_work work;
    leave_checkpoints(folder, 1, "a=1;b=2");
    assert_fails(open_work(folder, 0, new_id("a=1;b=2", "x"), &work), TESS_E_EXISTS,
                 "holds the checkpoint of an unfinished test; pass --resume");
    assert_fails(open_work(folder, 1, new_id("a=1;b=3", "x"), &work), TESS_E_MISMATCH,
                 "settings were 'a=1;b=2', are 'a=1;b=3'");
    assert_fails(open_work(folder, 1, new_id("a=1;b=2", "y"), &work), TESS_E_MISMATCH,
                 "the data differ from those of this run; remove the folder");
    tess_identity other;
    tess_identity_init(&other, ctx, "unit.work", "cuda");
    assert_fails(open_work(folder, 1, &other, &work), TESS_E_MISMATCH,
                 "made on device 'cpu', this run uses 'cuda'");
    tess_identity_free(&other);
    // Long settings are told by what differs in them.
    char there[1000] = "first=1";
    char here[1000] = "first=1";
    for (int i = 0; i < 60; i++) {
        snprintf(there + strlen(there), 20, ";name%02d=%d", i, i);
        snprintf(here + strlen(here), 20, ";name%02d=%d", i, i == 7 ? -1 : i);
    }
    assert_ok(tess_checkpoint_clear(ctx, folder));
    leave_checkpoints(folder, 1, there);
    assert_fails(open_work(folder, 1, new_id(here, "x"), &work), TESS_E_MISMATCH,
                 "belongs to other settings: name07=7 there, name07=-1 here");
    // With resume 2 a stranger's checkpoint gives way.
    assert_ok(open_work(folder, 2, new_id(here, "x"), &work));
    assert_false(work.is_found);
    assert_contains(lines, "starting afresh");
    tess_work_end(&work);
    tess_work_close(&work);
    assert_false(unit_exists(folder));
}

static void other_computations_and_versions_are_refused(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    tess_work work;
    leave_checkpoints(folder, 1, "a=1");
    tess_work_config config = config_of(folder, 1);
    config.name = "unit.other";
    assert_fails(tess_work_open(ctx, &config, new_id("a=1", "x"), &work), TESS_E_MISMATCH,
                 "holds the checkpoint of another computation (unit.work.000001.ckpt)");
    // As the library before this one wrote them: the header's version is 1.
    const char *path = unit_path("work/unit.work.000001.ckpt");
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    bytes[8] = 1;
    unit_write_file(path, bytes, n);
    free(bytes);
    assert_fails(open_work(folder, 1, new_id("a=1", "x"), &work), TESS_E_MISMATCH,
                 "written by an earlier Tessera");
    assert_true(unit_exists(path));
    unlink(path);
    rmdir(folder);
    assert_ok(tess_checkpoint_clear(ctx, folder));
}

static void links_in_the_folder_are_not_followed(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    const char *victim = unit_path("victim.txt");
    const char *const names[] = {"work/lock", "work/rows"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (int is_hard = 0; is_hard < 2; is_hard++) {
            unit_write_file(victim, "precious", 8);
            assert_int_equal(mkdir(folder, 0777), 0);
            assert_int_equal(is_hard ? link(victim, unit_path(names[i]))
                                     : symlink("../victim.txt", unit_path(names[i])),
                             0);
            tess_work work;
            assert_fails(open_work(folder, 1, new_id("a=1", "x"), &work), TESS_E_CREATE,
                         "remove it");
            char *text = unit_read_file(victim, NULL);
            assert_string_equal(text, "precious");
            free(text);
            unlink(unit_path(names[i]));
            unlink(unit_path("work/lock"));
            assert_int_equal(rmdir(folder), 0);
        }
    }
    unlink(victim);
}

static void a_checkpoint_is_due_by_time_by_wish_and_at_the_end(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    int64_t number = 5;
    tess_work work;
    assert_ok(open_work(folder, 0, new_id("a=1", "x"), &work));
    assert_false(tess_work_is_due(&work, false));
    tess_context_checkpoint(ctx);
    assert_true(tess_work_is_due(&work, false));
    tess_work_save(&work, 0.5, put_state, &number);
    assert_false(tess_work_is_due(&work, false));
    assert_false(tess_work_is_due(&work, true));
    work.save_cost_s = 0; // whatever the disk of the day takes
    work.last_save_ns -= INT64_C(2000000000);
    assert_true(tess_work_is_due(&work, true)); // a second is enough for a milestone
    assert_false(tess_work_is_due(&work, false));
    work.last_save_ns -= INT64_C(1000000000000);
    assert_true(tess_work_is_due(&work, false));
    work.save_cost_s = 100; // never more than a hundredth of the time
    assert_false(tess_work_is_due(&work, false));
    tess_context_cancel(ctx);
    assert_true(tess_work_is_due(&work, false));
    tess_context_cancel_clear(ctx);
    tess_work_end(&work);
    tess_work_close(&work);
    // Without a folder a wish is answered in words.
    assert_ok(open_work(NULL, 0, new_id("a=1", "x"), &work));
    tess_context_checkpoint(ctx);
    assert_false(tess_work_is_due(&work, true));
    assert_contains(lines, "no checkpoint was written: this test keeps none");
    tess_work_end(&work);
    tess_work_close(&work);
    assert_fails(open_work(NULL, 1, new_id("a=1", "x"), &work), TESS_E_ARGUMENT, "resume");
}

static void a_failed_checkpoint_leaves_the_one_before(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    int64_t number = 5;
    tess_work work;
    assert_ok(open_work(folder, 0, new_id("a=1", "x"), &work));
    tess_work_save(&work, 0.1, put_state, &number);
    tess_error_set(TESS_E_NUMERIC, "what stopped the run");
    for (int i = 0; i < 5; i++) {
        tess_work_save(&work, 0.2, refuse_state, NULL);
    }
    assert_string_equal(tess_last_error(), "what stopped the run");
    assert_contains(lines, "checkpoint not written (no room for it); the test goes on");
    assert_null(strstr(strstr(lines, "not written") + 1, "not written")); // said once
    tess_work_close(&work);
    assert_ok(open_work(folder, 1, new_id("a=1", "x"), &work));
    assert_int_equal(state_of(&work), 5);
    tess_work_end(&work);
    tess_work_close(&work);
}

// Neither passed over nor cleared away, even where nothing lies beside them.
static void those_of_a_newer_version_are_refused(void **state)
{
    (void)state;
    enum { VERSION_AT = 8 };
    const char *folder = unit_path("work");
    const char *path = unit_path("work/unit.work.000002.ckpt");
    tess_work work;
    leave_checkpoints(folder, 2, "a=1");
    size_t n_byte = 0;
    char *bytes = unit_read_file(path, &n_byte);
    bytes[VERSION_AT] = 9;
    unit_write_file(path, bytes, n_byte);
    tess_work_config config = config_of(folder, 1);
    config.files = NULL;
    assert_fails(tess_work_open(ctx, &config, new_id("a=1", "x"), &work), TESS_E_MISMATCH,
                 "version 9 is newer");
    tess_work_close(&work);
    assert_true(unit_exists(path));
    free(bytes);
    assert_ok(tess_checkpoint_clear(ctx, folder));
}

static void damaged_checkpoints_are_passed_over(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    tess_work work;
    leave_checkpoints(folder, 2, "a=1");
    unit_write_file(unit_path("work/unit.work.000002.ckpt"), "x", 1);
    assert_ok(open_work(folder, 1, new_id("a=1", "x"), &work));
    assert_int_equal(state_of(&work), 1);
    assert_contains(lines, "trying an older checkpoint");
    tess_work_close(&work);
    // None is left: what lies beside them is not written over, where anything does.
    unit_write_file(unit_path("work/unit.work.000001.ckpt"), "x", 1);
    assert_fails(open_work(folder, 1, new_id("a=1", "x"), &work), TESS_E_FORMAT,
                 "no checkpoint in it is whole; remove the folder");
    tess_work_config config = config_of(folder, 1);
    config.files = NULL;
    assert_ok(tess_work_open(ctx, &config, new_id("a=1", "x"), &work));
    assert_false(work.is_found);
    assert_contains(lines, "no checkpoint in it is whole, starting afresh");
    int64_t number = 7;
    tess_work_save(&work, 0.5, put_state, &number);
    tess_work_close(&work);
    assert_ok(tess_work_open(ctx, &config, new_id("a=1", "x"), &work));
    assert_int_equal(state_of(&work), 7);
    tess_work_end(&work);
    tess_work_close(&work);
    assert_false(unit_exists(folder));
}

static void clear_removes_what_checkpoints_name(void **state)
{
    (void)state;
    const char *folder = unit_path("work");
    leave_checkpoints(folder, 2, "a=1");
    unit_write_file(unit_path("work/rows"), "x", 1);
    unit_write_file(unit_path("work/mine.txt"), "x", 1);
    unit_write_file(unit_path("work/unit.work.000009.ckpt.tmp.1.2"), "x", 1);
    assert_ok(tess_checkpoint_clear(ctx, folder));
    assert_true(unit_exists(unit_path("work/mine.txt")));
    assert_false(unit_exists(unit_path("work/rows")));
    assert_false(unit_exists(unit_path("work/unit.work.000002.ckpt")));
    assert_false(unit_exists(unit_path("work/unit.work.000009.ckpt.tmp.1.2")));
    unlink(unit_path("work/mine.txt"));
    assert_ok(tess_checkpoint_clear(ctx, folder));
    assert_false(unit_exists(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_where_it_was),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(other_computations_and_versions_are_refused),
        cmocka_unit_test(links_in_the_folder_are_not_followed),
        cmocka_unit_test(a_checkpoint_is_due_by_time_by_wish_and_at_the_end),
        cmocka_unit_test(a_failed_checkpoint_leaves_the_one_before),
        cmocka_unit_test(those_of_a_newer_version_are_refused),
        cmocka_unit_test(damaged_checkpoints_are_passed_over),
        cmocka_unit_test(clear_removes_what_checkpoints_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
