// The checkpoint container: what goes in comes out, and no damage passes.
#include "runtime/checkpoint.h"
#include "tessera/device.h"
#include "tessera/run.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

static uint64_t heap_now(void)
{
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &now, &peak);
    return now;
}

// A small file with blocks whose payloads need padding and one without payload.
static const char *write_small(void)
{
    const char *path = unit_path("small.ckpt");
    tess_checkpoint_writer writer;
    assert_ok(tess_checkpoint_create(ctx, path, &writer));
    assert_ok(tess_checkpoint_add(&writer, "meta", "{\"a\": 1}", 8));
    assert_ok(tess_checkpoint_add(&writer, "identity", "0123456789", 10));
    assert_ok(tess_checkpoint_add(&writer, "empty", "", 0));
    assert_ok(tess_checkpoint_add(&writer, "odd", "xyz", 3));
    assert_ok(tess_checkpoint_commit(&writer));
    return path;
}

static void values_come_back(void **state)
{
    (void)state;
    const uint64_t before = heap_now();
    tess_checkpoint checkpoint;
    assert_ok(tess_checkpoint_open(ctx, write_small(), &checkpoint));
    char text[11] = "";
    assert_int_equal(tess_checkpoint_size(&checkpoint, "identity"), 10);
    assert_ok(tess_checkpoint_get(&checkpoint, "identity", text, 10));
    assert_string_equal(text, "0123456789");
    assert_int_equal(tess_checkpoint_size(&checkpoint, "empty"), 0);
    assert_int_equal(tess_checkpoint_size(&checkpoint, "none"), 0);
    assert_fails(tess_checkpoint_get(&checkpoint, "odd", text, 4), TESS_E_FORMAT,
                 "block 'odd' has 3 bytes, expected 4");
    tess_checkpoint_close(&checkpoint);
    tess_checkpoint_close(&checkpoint);
    assert_int_equal(heap_now(), before);
    unlink(unit_path("small.ckpt"));
}

static void long_values_take_several_blocks(void **state)
{
    (void)state;
    enum { N = (9 << 20) + 3 };
    unsigned char *data = malloc(N);
    unsigned char *back = malloc(N);
    for (size_t i = 0; i < N; i++) {
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    }
    tess_checkpoint_writer writer;
    const char *path = unit_path("long.ckpt");
    assert_ok(tess_checkpoint_create(ctx, path, &writer));
    assert_ok(tess_checkpoint_add(&writer, "bulk", data, N));
    for (int i = 0; i < 40; i++) { // the index must grow
        assert_ok(tess_checkpoint_add(&writer, "tail", &data[i], 1));
    }
    assert_ok(tess_checkpoint_commit(&writer));
    tess_checkpoint checkpoint;
    assert_ok(tess_checkpoint_open(ctx, path, &checkpoint));
    assert_int_equal(checkpoint.n_block, 3 + 40);
    assert_int_equal(tess_checkpoint_size(&checkpoint, "bulk"), N);
    assert_ok(tess_checkpoint_get(&checkpoint, "bulk", back, N));
    assert_memory_equal(back, data, N);
    assert_ok(tess_checkpoint_get(&checkpoint, "tail", back, 40));
    assert_memory_equal(back, data, 40);
    tess_checkpoint_close(&checkpoint);
    unlink(path);
    free(data);
    free(back);
}

// Opening the file must fail with a message that names it.
static void expect_damaged(const char *path, const char *what, size_t where)
{
    tess_checkpoint checkpoint;
    const tess_status status = tess_checkpoint_open(ctx, path, &checkpoint);
    // The version may have become one that there is not yet.
    const bool is_version = status == TESS_E_MISMATCH && where >= 8 && where < 12;
    if (status != TESS_E_FORMAT && status != TESS_E_TRUNCATED && !is_version) {
        fail_msg("%s %zu was not noticed: %s", what, where, tess_status_name(status));
    }
    assert_contains(tess_last_error(), "small.ckpt");
    assert_null(checkpoint.bytes);
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    const char *path = write_small();
    size_t n = 0;
    free(unit_read_file(path, &n));
    const uint64_t before = heap_now();
    assert_int_equal(truncate(path, (off_t)n + 1), 0); // one byte too many is no checkpoint either
    expect_damaged(path, "length", n + 1);
    for (size_t keep = n; keep-- > 0;) {
        assert_int_equal(truncate(path, (off_t)keep), 0);
        expect_damaged(path, "length", keep);
    }
    assert_int_equal(heap_now(), before);
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    const char *path = write_small();
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    assert_int_equal(n, 64 + 4 * 32 + 8 + 16 + 8 + 64);
    const int fd = open(path, O_WRONLY);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        const char flipped = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
        expect_damaged(path, "bit flip in byte", bit / 8);
        assert_int_equal(pwrite(fd, &bytes[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    close(fd);
    free(bytes);
    tess_checkpoint checkpoint;
    assert_ok(tess_checkpoint_open(ctx, path, &checkpoint));
    tess_checkpoint_close(&checkpoint);
}

static void blocks_cannot_change_places(void **state)
{
    (void)state;
    const char *path = write_small();
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    // "empty" (32 bytes) goes before "meta" and "identity" (88 bytes): all whole, in another order.
    char swapped[400];
    memcpy(swapped, bytes, n);
    memcpy(swapped + 64, bytes + 64 + 88, 32);
    memcpy(swapped + 96, bytes + 64, 88);
    unit_write_file(path, swapped, n);
    expect_damaged(path, "order", 0);
    assert_contains(tess_last_error(), "block index damaged");
    free(bytes);
}

static void bytes_of_no_block_are_noticed(void **state)
{
    (void)state;
    const char *path = write_small();
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    char longer[400] = {0};
    const uint64_t file_bytes = n + 8;
    memcpy(longer, bytes, n - 64);
    memcpy(longer + n - 56, bytes + n - 64, 64);
    memcpy(longer + n - 56 + 16, &file_bytes, 8);
    unit_write_file(path, longer, n + 8);
    expect_damaged(path, "gap", 0);
    assert_contains(tess_last_error(), "belong to no block");
    free(bytes);
}

static void nothing_is_left_without_commit(void **state)
{
    (void)state;
    unlink(unit_path("small.ckpt"));
    const int before = unit_count_files();
    tess_checkpoint_writer writer;
    assert_ok(tess_checkpoint_create(ctx, unit_path("gone.ckpt"), &writer));
    assert_ok(tess_checkpoint_add(&writer, "meta", "x", 1));
    tess_checkpoint_discard(&writer);
    assert_int_equal(unit_count_files(), before);
    assert_fails(tess_checkpoint_create(ctx, unit_path("no/folder.ckpt"), &writer), TESS_E_CREATE,
                 "folder.ckpt");
    tess_checkpoint checkpoint;
    assert_fails(tess_checkpoint_open(ctx, unit_path("gone.ckpt"), &checkpoint), TESS_E_NOT_FOUND,
                 "gone.ckpt");
}

static void describe_gives_the_meta_text(void **state)
{
    (void)state;
    char *text = NULL;
    assert_ok(tess_checkpoint_describe(ctx, write_small(), &text));
    assert_string_equal(text, "{\"a\": 1}");
    tess_text_free(text);
    unit_write_file(unit_path("small.ckpt"), "no checkpoint", 13);
    assert_fails(tess_checkpoint_describe(ctx, unit_path("small.ckpt"), &text), TESS_E_TRUNCATED,
                 "13 bytes are too few");
    assert_null(text);
}

int main(void)
{
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(long_values_take_several_blocks),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(blocks_cannot_change_places),
        cmocka_unit_test(bytes_of_no_block_are_noticed),
        cmocka_unit_test(nothing_is_left_without_commit),
        cmocka_unit_test(describe_gives_the_meta_text),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
