// Array views and the sources over them and over files.
#include "runtime/source.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

static void arrays_know_their_layout(void **state)
{
    (void)state;
    tess_array a;
    const int64_t shape[6] = {2, 3, 4, 1, 1, 1};
    assert_ok(tess_array_init(&a, &a, TESS_F64, 3, shape));
    assert_int_equal(a.stride[0], 12);
    assert_int_equal(a.stride[2], 1);
    assert_int_equal(a.item_bytes, 8);
    assert_int_equal(tess_array_items(&a), 24);
    assert_true(tess_array_is_contiguous(&a));
    a.stride[1] = 5;
    assert_false(tess_array_is_contiguous(&a));
    a.shape[1] = 1; // the stride of one item says nothing
    a.stride[0] = 4;
    assert_true(tess_array_is_contiguous(&a));
    a.shape[0] = 0;
    a.stride[2] = 9;
    assert_true(tess_array_is_contiguous(&a));
    assert_ok(tess_array_init(&a, &a, TESS_F64, 0, NULL));
    assert_int_equal(tess_array_items(&a), 1);
}

static void arrays_refuse_nonsense(void **state)
{
    (void)state;
    tess_array a;
    const int64_t shape[2] = {2, -3};
    const int64_t huge[3] = {INT64_C(1) << 31, INT64_C(1) << 31, 4};
    assert_fails(tess_array_init(&a, NULL, TESS_F32, 7, shape), TESS_E_SHAPE, "rank: 7");
    assert_fails(tess_array_init(&a, NULL, TESS_F32, -1, shape), TESS_E_SHAPE, "rank: -1");
    assert_fails(tess_array_init(&a, NULL, TESS_F32, 2, shape), TESS_E_SHAPE,
                 "shape[1]: -3 is negative");
    assert_fails(tess_array_init(&a, NULL, TESS_U8, 3, huge), TESS_E_SHAPE, "more items");
    assert_fails(tess_array_init(&a, NULL, TESS_F64, 2, huge), TESS_E_SHAPE, "more bytes");
    assert_fails(tess_array_init(&a, NULL, TESS_BYTES, 2, huge), TESS_E_DTYPE, "no fixed size");
    assert_fails(tess_array_init(&a, NULL, (tess_dtype)99, 2, huge), TESS_E_DTYPE, "dtype: 99");
    assert_string_equal(tess_dtype_name(TESS_BF16), "bf16");
    assert_string_equal(tess_dtype_name((tess_dtype)99), "unknown");
    assert_int_equal(tess_dtype_bytes(TESS_C128), 16);
}

// Reads the source item by item and in one go, and compares with the definition.
static void check_source(const tess_array *a, tess_source *source)
{
    const int64_t n0 = a->shape[0];
    const int64_t inner = a->shape[1] * a->shape[2];
    int32_t *whole = calloc((size_t)(n0 * inner) + 1, sizeof *whole);
    int32_t *item = calloc((size_t)inner + 1, sizeof *item);
    assert_ok(tess_source_read(source, 0, n0, whole, (uint64_t)(n0 * inner) * 4));
    for (int64_t i = 0; i < n0; i++) {
        assert_ok(tess_source_read(source, i, 1, item, (uint64_t)inner * 4));
        assert_memory_equal(item, whole + i * inner, (size_t)inner * 4);
        for (int64_t k = 0; k < inner; k++) {
            const int64_t at =
                i * a->stride[0] + k / a->shape[2] * a->stride[1] + k % a->shape[2] * a->stride[2];
            assert_int_equal(item[k], ((const int32_t *)a->data)[at]);
        }
    }
    free(whole);
    free(item);
}

static void memory_of_any_stride_reads_densely(void **state)
{
    (void)state;
    static int32_t data[200];
    for (int32_t i = 0; i < 200; i++) {
        data[i] = 1000 + i;
    }
    static const struct {
        int64_t stride[3];
        int start;
    } layouts[] = {
        {{20, 5, 1}, 0},     // C order
        {{1, 3, 12}, 0},     // Fortran order
        {{-20, 5, 1}, 40},   // epochs backwards
        {{20, -5, -1}, 19},  // channels and samples backwards
        {{0, 5, 1}, 0},      // one epoch many times
        {{0, 0, 0}, 7},      // one value everywhere
        {{40, 10, 2}, 0},    // every other sample
        {{-1, -3, -12}, 59}, // all backwards
    };
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        tess_array a;
        const int64_t shape[3] = {3, 4, 5};
        assert_ok(tess_array_init(&a, data + layouts[i].start, TESS_I32, 3, shape));
        memcpy(a.stride, layouts[i].stride, sizeof layouts[i].stride);
        tess_source *source = NULL;
        assert_ok(tess_source_from_array(ctx, &a, &source));
        const tess_source_info *info = tess_source_get_info(source);
        assert_string_equal(info->format, "memory");
        assert_string_equal(info->path, "");
        assert_int_equal(info->rank, 3);
        check_source(&a, source);
        tess_array view;
        tess_source_view(source, 2, 1, &view);
        assert_ptr_equal(view.data, data + layouts[i].start + 2 * layouts[i].stride[0]);
        assert_int_equal(view.shape[0], 1);
        tess_source_close(source);
    }
}

static void reads_are_checked(void **state)
{
    (void)state;
    float data[6] = {0};
    float dst[6];
    tess_array a;
    const int64_t shape[2] = {3, 2};
    assert_ok(tess_array_init(&a, data, TESS_F32, 2, shape));
    tess_source *source = NULL;
    assert_ok(tess_source_from_array(ctx, &a, &source));
    assert_fails(tess_source_read(source, -1, 1, dst, 8), TESS_E_ARGUMENT, "items -1 to 0");
    assert_fails(tess_source_read(source, 2, 2, dst, 16), TESS_E_ARGUMENT,
                 "items 2 to 4: the array has 3");
    assert_fails(tess_source_read(source, 0, -1, dst, 0), TESS_E_ARGUMENT, "items 0 to -1");
    assert_fails(tess_source_read(source, 0, INT64_MAX, dst, 0), TESS_E_ARGUMENT, "has 3");
    assert_fails(tess_source_read(source, 0, 1, dst, 4), TESS_E_ARGUMENT,
                 "dst_bytes: expected 8, got 4");
    assert_fails(tess_source_read(source, 0, 1, dst, 16), TESS_E_ARGUMENT,
                 "dst_bytes: expected 8, got 16");
    assert_ok(tess_source_read(source, 3, 0, dst, 0));
    tess_source_close(source);
    tess_source_close(NULL);
}

static void arrays_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    float data[6] = {0};
    tess_array a;
    const int64_t shape[2] = {3, 2};
    tess_source *source = NULL;
    assert_ok(tess_array_init(&a, data, TESS_F32, 0, NULL));
    assert_fails(tess_source_from_array(ctx, &a, &source), TESS_E_SHAPE, "at least one axis");
    assert_null(source);
    assert_ok(tess_array_init(&a, NULL, TESS_F32, 2, shape));
    assert_fails(tess_source_from_array(ctx, &a, &source), TESS_E_ARGUMENT, "data is NULL");
    assert_ok(tess_array_init(&a, data, TESS_F32, 2, shape));
    a.space = TESS_SPACE_DEVICE;
    assert_fails(tess_source_from_array(ctx, &a, &source), TESS_E_SPACE, "host memory");
    a.space = TESS_SPACE_HOST;
    a.shape[1] = -2;
    assert_fails(tess_source_from_array(ctx, &a, &source), TESS_E_SHAPE, "negative");
    a.shape[1] = 2;
    a.rank = 7;
    assert_fails(tess_source_from_array(ctx, &a, &source), TESS_E_SHAPE, "axes");
    assert_null(source);
    const int64_t none[2] = {0, 2};
    assert_ok(tess_array_init(&a, NULL, TESS_F32, 2, none));
    assert_ok(tess_source_from_array(ctx, &a, &source));
    assert_ok(tess_source_read(source, 0, 0, NULL, 0));
    tess_source_close(source);
}

static const char *write_npy(const char *name, const int32_t *data, const int64_t shape[3])
{
    const char *path = unit_path(name);
    const tess_sink_config config = {.struct_size = sizeof config, .overwrite = 1};
    tess_sink *sink = NULL;
    assert_ok(tess_sink_create(ctx, path, &config, TESS_I32, 3, shape, &sink));
    assert_ok(
        tess_sink_write(sink, 0, shape[0], data, (uint64_t)(shape[0] * shape[1] * shape[2]) * 4));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    return path;
}

static void files_read_like_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"a.npy", "a.npz"};
    int32_t data[60];
    for (int32_t i = 0; i < 60; i++) {
        data[i] = i * i;
    }
    const int64_t shape[3] = {3, 4, 5};
    tess_array a;
    assert_ok(tess_array_init(&a, data, TESS_I32, 3, shape));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *path = write_npy(names[i], data, shape);
        tess_source *source = NULL;
        assert_ok(tess_source_open(ctx, path, NULL, &source));
        const tess_source_info *info = tess_source_get_info(source);
        assert_string_equal(info->path, path);
        assert_string_equal(info->format, names[i] + 2);
        assert_int_equal(info->dtype, TESS_I32);
        assert_true(info->file_bytes > 240 && info->file_mtime_ns > 0);
        check_source(&a, source);
        assert_true(tess_source_is_direct(source));
        int32_t piece[7];
        assert_ok(tess_source_read_bytes(source, 5 * sizeof *piece, sizeof piece, piece));
        assert_memory_equal(piece, data + 5, sizeof piece);
        tess_source_close(source);
        unlink(path);
    }
}

static void wrong_files_say_what_is_wrong(void **state)
{
    (void)state;
    tess_source *source = NULL;
    assert_fails(tess_source_open(ctx, unit_path("none.npy"), NULL, &source), TESS_E_NOT_FOUND,
                 "none.npy: cannot open");
    assert_fails(tess_source_open(ctx, unit_path(""), NULL, &source), TESS_E_NOT_FOUND,
                 "is not a regular file");
    unit_write_file(unit_path("empty"), "", 0);
    assert_fails(tess_source_open(ctx, unit_path("empty"), NULL, &source), TESS_E_TRUNCATED,
                 "is empty (0 bytes)");
    unit_write_file(unit_path("text"), "hello world", 11);
    assert_fails(tess_source_open(ctx, unit_path("text"), NULL, &source), TESS_E_FORMAT,
                 "at byte 0 found 68 65 6c 6c");
    unit_write_file(unit_path("one"), "h", 1);
    assert_fails(tess_source_open(ctx, unit_path("one"), NULL, &source), TESS_E_FORMAT, "68 00 00");
    assert_null(source);
    unlink(unit_path("empty"));
    unlink(unit_path("text"));
    unlink(unit_path("one"));
}

static tess_hash fingerprint_of(const tess_array *a)
{
    tess_source *source = NULL;
    tess_hash hash = {0, 0};
    assert_ok(tess_source_from_array(ctx, a, &source));
    assert_ok(tess_source_fingerprint(source, &hash));
    tess_source_close(source);
    return hash;
}

static void fingerprints_tell_inputs_apart(void **state)
{
    (void)state;
    int32_t data[60] = {0};
    tess_array a;
    const int64_t shape[3] = {3, 4, 5};
    assert_ok(tess_array_init(&a, data, TESS_I32, 3, shape));
    const tess_hash zero = fingerprint_of(&a);
    assert_true(tess_hash_equal(zero, fingerprint_of(&a)));
    data[0] = 1;
    assert_false(tess_hash_equal(zero, fingerprint_of(&a)));
    data[0] = 0;
    data[59] = 1;
    assert_false(tess_hash_equal(zero, fingerprint_of(&a)));

    static int32_t large[1 << 20]; // 4 MiB: only its ends are read
    const int64_t large_shape[3] = {4, 1 << 10, 1 << 8};
    assert_ok(tess_array_init(&a, large, TESS_I32, 3, large_shape));
    const tess_hash large_zero = fingerprint_of(&a);
    large[(1 << 20) - 1] = 1;
    assert_false(tess_hash_equal(large_zero, fingerprint_of(&a)));
    large[0] = 1;
    large[(1 << 20) - 1] = 0;
    assert_false(tess_hash_equal(large_zero, fingerprint_of(&a)));

    tess_hash file[2];
    for (int i = 0; i < 2; i++) {
        tess_source *source = NULL;
        data[59] = i;
        assert_ok(tess_source_open(ctx, write_npy("f.npy", data, shape), NULL, &source));
        assert_ok(tess_source_fingerprint(source, &file[i]));
        tess_source_close(source);
    }
    assert_false(tess_hash_equal(file[0], file[1]));
}

// One epoch may be larger than memory: its fingerprint must not copy it.
static void fingerprints_cost_little_memory(void **state)
{
    (void)state;
    static float data[1024];
    tess_array a;
    const int64_t shape[3] = {2, 100000, 1024};
    assert_ok(tess_array_init(&a, data, TESS_F32, 3, shape));
    a.stride[0] = 0;
    a.stride[1] = 0;
    uint64_t now = 0;
    uint64_t peak = 0;
    (void)fingerprint_of(&a);
    tess_context_memory(ctx, &now, &peak);
    assert_in_range(peak, 1, 16 << 20);
    const tess_hash zero = fingerprint_of(&a);
    data[1023] = 1;
    assert_false(tess_hash_equal(zero, fingerprint_of(&a)));
    data[1023] = 0;
}

int main(void)
{
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_know_their_layout),
        cmocka_unit_test(arrays_refuse_nonsense),
        cmocka_unit_test(memory_of_any_stride_reads_densely),
        cmocka_unit_test(reads_are_checked),
        cmocka_unit_test(arrays_that_cannot_be_read_are_refused),
        cmocka_unit_test(files_read_like_memory),
        cmocka_unit_test(wrong_files_say_what_is_wrong),
        cmocka_unit_test(fingerprints_tell_inputs_apart),
        cmocka_unit_test(fingerprints_cost_little_memory),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
