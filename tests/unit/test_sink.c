#include "tessera/device.h"
#include "tessera/io.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tess_context *ctx;
static const int64_t shape[2] = {4, 3};
static const float values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static tess_sink *open_sink(const char *name, int overwrite)
{
    const tess_sink_config config = {.struct_size = sizeof config, .overwrite = overwrite};
    tess_sink *sink = NULL;
    assert_ok(tess_sink_create(ctx, unit_path(name), &config, TESS_F32, 2, shape, &sink));
    return sink;
}

static void check_content(const char *name, const float *expected)
{
    float data[12];
    tess_source *source = NULL;
    assert_ok(tess_source_open(ctx, unit_path(name), NULL, &source));
    assert_ok(tess_source_read(source, 0, 4, data, sizeof data));
    assert_memory_equal(data, expected, sizeof data);
    tess_source_close(source);
}

static void files_appear_at_commit_only(void **state)
{
    (void)state;
    static const char *const names[] = {"a.npy", "a.npz", "A.NPY"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const int before = unit_count_files();
        tess_sink *sink = open_sink(names[i], 0);
        for (int64_t k = 0; k < 4; k++) {
            assert_ok(tess_sink_write(sink, k, 1, values + 3 * k, 12));
            assert_false(unit_exists(unit_path(names[i])));
        }
        assert_ok(tess_sink_commit(sink));
        assert_ok(tess_sink_commit(sink));
        tess_sink_close(sink);
        assert_int_equal(unit_count_files(), before + 1);
        check_content(names[i], values);
        struct stat info;
        assert_int_equal(stat(unit_path(names[i]), &info), 0);
        assert_int_equal(info.st_mode & 0777, 0644);
        unlink(unit_path(names[i]));
    }
}

static void closing_without_commit_leaves_nothing(void **state)
{
    (void)state;
    const int before = unit_count_files();
    tess_sink *sink = open_sink("b.npy", 0);
    assert_ok(tess_sink_write(sink, 0, 4, values, sizeof values));
    tess_sink_close(sink);
    tess_sink_close(NULL);
    assert_int_equal(unit_count_files(), before);
}

static void existing_files_are_safe(void **state)
{
    (void)state;
    static const float other[12] = {5};
    tess_sink *sink = open_sink("c.npy", 0);
    assert_ok(tess_sink_write(sink, 0, 4, values, sizeof values));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    // Refused at once, not after the work.
    assert_fails(tess_sink_create(ctx, unit_path("c.npy"), NULL, TESS_F32, 2, shape, &sink),
                 TESS_E_EXISTS, "c.npy: exists already; pass --overwrite");
    assert_null(sink);
    sink = open_sink("c.npy", 1);
    assert_ok(tess_sink_write(sink, 0, 4, other, sizeof other));
    check_content("c.npy", values);
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    check_content("c.npy", other);
    unlink(unit_path("c.npy"));

    // Somebody else's file that came in between stays, and so does its sidecar.
    for (int npz = 0; npz < 2; npz++) {
        const char *name = npz ? "d.npz" : "d.npy";
        sink = open_sink(name, 0);
        assert_ok(tess_sink_write(sink, 0, 4, values, sizeof values));
        assert_ok(tess_sink_set_provenance(sink, "{\"mine\": 1}"));
        unit_write_file(unit_path(name), "theirs", 6);
        unit_write_file(unit_path("d.npy.json"), "{\"theirs\": 1}", 13);
        assert_fails(tess_sink_commit(sink), TESS_E_EXISTS, "exists already");
        tess_sink_close(sink);
        char *text = unit_read_file(unit_path(name), NULL);
        assert_string_equal(text, "theirs");
        free(text);
        text = unit_read_file(unit_path("d.npy.json"), NULL);
        assert_string_equal(text, "{\"theirs\": 1}");
        free(text);
        unlink(unit_path(name));
        unlink(unit_path("d.npy.json"));
    }
}

static void commit_wants_every_item(void **state)
{
    (void)state;
    tess_sink *sink = open_sink("e.npy", 0);
    assert_fails(tess_sink_commit(sink), TESS_E_ARGUMENT, "only 0 of 4 items were written");
    assert_ok(tess_sink_write(sink, 0, 2, values, 24));
    assert_ok(tess_sink_write(sink, 0, 2, values, 24)); // again: still only two
    assert_fails(tess_sink_commit(sink), TESS_E_ARGUMENT, "only 2 of 4 items were written");
    assert_ok(tess_sink_write(sink, 2, 2, values + 6, 24));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    check_content("e.npy", values);
    unlink(unit_path("e.npy"));
}

static void writes_are_checked(void **state)
{
    (void)state;
    tess_sink *sink = open_sink("f.npy", 0);
    assert_fails(tess_sink_write(sink, 3, 2, values, 24), TESS_E_ARGUMENT,
                 "items 3 to 5: the output has 4");
    assert_fails(tess_sink_write(sink, -1, 1, values, 12), TESS_E_ARGUMENT, "items -1");
    assert_fails(tess_sink_write(sink, 0, 1, values, 8), TESS_E_ARGUMENT,
                 "src_bytes: expected 12, got 8");
    tess_sink_close(sink);
    assert_fails(tess_sink_create(ctx, unit_path("f.txt"), NULL, TESS_F32, 2, shape, &sink),
                 TESS_E_ARGUMENT, "f.txt: unknown output format; end the name in .npy");
    assert_fails(tess_sink_create(ctx, unit_path("f.d/npy"), NULL, TESS_F32, 2, shape, &sink),
                 TESS_E_ARGUMENT, "unknown output format");
    assert_fails(tess_sink_create(ctx, unit_path("no/f.npy"), NULL, TESS_F32, 2, shape, &sink),
                 TESS_E_CREATE, "no/f.npy: cannot create");
    assert_fails(tess_sink_create(ctx, unit_path("f.npy"), NULL, TESS_F32, 0, shape, &sink),
                 TESS_E_SHAPE, "at least one axis");
    assert_fails(tess_sink_create(ctx, unit_path("f.npy"), NULL, TESS_BF16, 2, shape, &sink),
                 TESS_E_DTYPE, "bf16 cannot be written");
    assert_null(sink);
}

static void provenance_travels_with_the_file(void **state)
{
    (void)state;
    static const char *const names[] = {"g.npy", "g.npz"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        tess_sink *sink = open_sink(names[i], 0);
        assert_ok(tess_sink_write(sink, 0, 4, values, sizeof values));
        assert_ok(tess_sink_set_provenance(sink, "{\"old\": 1}"));
        assert_ok(tess_sink_set_provenance(sink, "{\"made\": \"by test\"}"));
        assert_ok(tess_sink_commit(sink));
        tess_sink_close(sink);
        assert_int_equal(unit_exists(unit_path("g.npy.json")), i == 0);
        char *text = NULL;
        assert_ok(tess_file_provenance(ctx, unit_path(names[i]), &text));
        assert_string_equal(text, "{\"made\": \"by test\"}");
        tess_text_free(text);
        unlink(unit_path("g.npy.json"));
        if (i == 0) {
            assert_ok(tess_file_provenance(ctx, unit_path(names[i]), &text));
            assert_null(text);
        }
        unlink(unit_path(names[i]));
    }
    tess_text_free(NULL);
}

static void memory_sinks_fill_the_array(void **state)
{
    (void)state;
    float data[12] = {0};
    tess_array a;
    tess_sink *sink = NULL;
    assert_ok(tess_array_init(&a, data, TESS_F32, 2, shape));
    assert_ok(tess_sink_from_array(ctx, &a, &sink));
    assert_ok(tess_sink_write(sink, 0, 3, values, 36));
    assert_fails(tess_sink_commit(sink), TESS_E_ARGUMENT, "only 3 of 4");
    assert_ok(tess_sink_write(sink, 3, 1, values + 9, 12));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    assert_memory_equal(data, values, sizeof data);

    a.stride[0] = 4;
    assert_fails(tess_sink_from_array(ctx, &a, &sink), TESS_E_SHAPE, "C-contiguous");
    assert_ok(tess_array_init(&a, data, TESS_F32, 2, shape));
    a.space = TESS_SPACE_DEVICE;
    assert_fails(tess_sink_from_array(ctx, &a, &sink), TESS_E_SPACE, "host memory");
    assert_ok(tess_array_init(&a, NULL, TESS_F32, 2, shape));
    assert_fails(tess_sink_from_array(ctx, &a, &sink), TESS_E_ARGUMENT, "data is NULL");
    assert_null(sink);
}

static void empty_outputs_are_files_too(void **state)
{
    (void)state;
    const int64_t shapes[2][2] = {{0, 3}, {4, 0}};
    for (size_t i = 0; i < 2; i++) {
        tess_sink *sink = NULL;
        tess_source *source = NULL;
        assert_ok(tess_sink_create(ctx, unit_path("h.npy"), NULL, TESS_F64, 2, shapes[i], &sink));
        assert_ok(tess_sink_write(sink, 0, shapes[i][0], NULL, 0));
        assert_ok(tess_sink_commit(sink));
        tess_sink_close(sink);
        assert_ok(tess_source_open(ctx, unit_path("h.npy"), NULL, &source));
        assert_memory_equal(tess_source_get_info(source)->shape, shapes[i], sizeof shapes[i]);
        assert_ok(tess_source_read(source, 0, shapes[i][0], NULL, 0));
        tess_source_close(source);
        unlink(unit_path("h.npy"));
    }
}

int main(void)
{
    umask(022);
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_appear_at_commit_only),
        cmocka_unit_test(closing_without_commit_leaves_nothing),
        cmocka_unit_test(existing_files_are_safe),
        cmocka_unit_test(commit_wants_every_item),
        cmocka_unit_test(writes_are_checked),
        cmocka_unit_test(provenance_travels_with_the_file),
        cmocka_unit_test(memory_sinks_fill_the_array),
        cmocka_unit_test(empty_outputs_are_files_too),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
