// HDF5 files that h5py wrote, read through the helper.

#include "io/formats.h"
#include "io/hdf5/helper/heap.h"
#include "io/hdf5/lzf.h"
#include "io_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const tess_format *const h5 = &tess_format_hdf5;

static void open_named(const char *name, const char *dataset, tess_format_reader *reader)
{
    if (h5->open(io_host(), io_golden(name), dataset, 0, reader) != TESS_OK) {
        fail_msg("%s", tess_last_error());
    }
}

static double value_at(const char *bytes, int32_t dtype, int i)
{
    float f32;
    double f64;
    int16_t i16;
    switch (dtype) {
    case TESS_F32:
        memcpy(&f32, bytes + 4 * i, 4);
        return (double)f32;
    case TESS_F64:
        memcpy(&f64, bytes + 8 * i, 8);
        return f64;
    case TESS_C128:
        memcpy(&f64, bytes + 16 * i + 8, 8);
        return f64 / 2;
    case TESS_I16:
        memcpy(&i16, bytes + 2 * i, 2);
        return i16;
    default:
        return bytes[i];
    }
}

// Values (i / divisor) of [6][4][5] in tiles of 1, 4 and 1: the middle one crosses chunks.
static void assert_ramp(const char *name, const char *dataset, int32_t dtype, int divisor,
                        int is_direct)
{
    tess_format_reader reader;
    open_named(name, dataset, &reader);
    assert_int_equal(reader.dtype, dtype);
    assert_int_equal(reader.shape[0] * 100 + reader.shape[1] * 10 + reader.shape[2], 645);
    assert_int_equal(reader.direct_offset > 0, is_direct);
    const size_t row_bytes = 20 * (size_t)reader.item_bytes;
    char bytes[120 * 16];
    assert_int_equal(h5->read(io_host(), &reader, 0, 1, bytes), TESS_OK);
    assert_int_equal(h5->read(io_host(), &reader, 1, 4, bytes + row_bytes), TESS_OK);
    assert_int_equal(h5->read(io_host(), &reader, 5, 1, bytes + 5 * row_bytes), TESS_OK);
    if (is_direct) {
        io_assert_direct(io_golden(name), &reader, bytes, 6 * row_bytes);
    }
    for (int i = 0; i < 120; i++) {
        const double wanted = dtype == TESS_BOOL ? i % 2 == 0 : i / divisor;
        if (value_at(bytes, dtype, i) != wanted) {
            fail_msg("%s%s: item %d is %g", name, dataset, i, value_at(bytes, dtype, i));
        }
    }
    assert_int_equal(h5->read(io_host(), &reader, 6, 1, bytes), TESS_E_RANGE);
    h5->close(io_host(), &reader);
    assert_int_equal(io_live_blocks(), 0);
}

static void reads_every_storage_and_type(void **state)
{
    (void)state;
    assert_ramp("several.h5", "/contiguous", TESS_F32, 1, 1);
    assert_ramp("several.h5", "contiguous", TESS_F32, 1, 1);
    assert_ramp("several.h5", "/gzip", TESS_F32, 1, 0);
    assert_ramp("several.h5", "/lzf", TESS_F32, 8, 0);
    assert_ramp("several.h5", "/big_endian", TESS_F64, 1, 0);
    assert_ramp("several.h5", "/short", TESS_I16, 1, 0);
    assert_ramp("several.h5", "/flag", TESS_BOOL, 1, 1);
    assert_ramp("several.h5", "/complex", TESS_C128, 1, 1);
    assert_ramp("several.h5", "/soft", TESS_F32, 1, 0);
    assert_ramp("one.h5", NULL, TESS_F32, 1, 1);
    assert_ramp("one.h5", "/entry/data", TESS_F32, 1, 1);
}

static void reads_scalars_text_and_halves(void **state)
{
    (void)state;
    tess_format_reader reader;
    double value = 0;
    open_named("several.h5", "/scalar", &reader);
    assert_int_equal(reader.rank, 0);
    assert_int_equal(h5->read(io_host(), &reader, 0, 1, &value), TESS_OK);
    assert_true(value == 42.5);
    h5->close(io_host(), &reader);

    char text[6];
    open_named("several.h5", "/name", &reader);
    assert_int_equal(reader.dtype, TESS_BYTES);
    assert_int_equal(reader.item_bytes, 3);
    assert_int_equal(h5->read(io_host(), &reader, 0, 2, text), TESS_OK);
    assert_memory_equal(text, "Fz\0Cz1", 6);
    h5->close(io_host(), &reader);

    uint16_t half[20];
    open_named("several.h5", "/half", &reader);
    assert_int_equal(reader.dtype, TESS_F16);
    assert_int_equal(h5->read(io_host(), &reader, 0, 1, half), TESS_OK);
    assert_int_equal(half[1], 0x3c00);
    assert_int_equal(half[3], 0x4200);
    h5->close(io_host(), &reader);
}

static void refuses_what_it_cannot_or_should_not_read(void **state)
{
    (void)state;
    const char *path = io_golden("several.h5");
    io_assert_open_fails(h5, path, "/bitshuffle", TESS_E_UNSUPPORTED, "filter 32008 (bitshuffle)");
    io_assert_open_fails(h5, path, "/virtual", TESS_E_UNSUPPORTED, "other files");
    io_assert_open_fails(h5, path, "/outside", TESS_E_NOT_FOUND, "'/outside'");
    io_assert_open_fails(h5, path, "/loop", TESS_E_NOT_FOUND, "too many links");
    io_assert_open_fails(h5, path, "/group", TESS_E_NOT_FOUND, "'/group'");
    io_assert_open_fails(h5, path, "/nowhere", TESS_E_NOT_FOUND, "'/nowhere'");
    io_assert_open_fails(h5, path, "/text", TESS_E_DTYPE, "variable-length text");
    io_assert_open_fails(h5, path, "/group/deep/seven_axes", TESS_E_SHAPE, "7 axes");
    io_assert_open_fails(h5, path, NULL, TESS_E_ARGUMENT, "has 14 data sets");
    io_assert_open_fails(h5, path, NULL, TESS_E_ARGUMENT, "/big_endian, /bitshuffle, /complex");
    io_assert_open_fails(h5, io_golden("f4.npy"), NULL, TESS_E_FORMAT, "HDF5 says");
}

// All rows at once, which are unpacked here, and row by row, which the library unpacks.
static void reads_holes_and_edges(void **state)
{
    (void)state;
    static const char *const names[] = {"gzip_big", "lzf", "checked", "rows", "never"};
    enum { N_ROW = 20, N_COLUMN = 18 };
    for (int k = 0; k < 5; k++) {
        tess_format_reader reader;
        float all[N_ROW][N_COLUMN];
        float row[N_COLUMN];
        open_named("holes.h5", names[k], &reader);
        assert_int_equal(h5->read(io_host(), &reader, 0, N_ROW, all), TESS_OK);
        for (int i = 0; i < N_ROW; i++) {
            assert_int_equal(h5->read(io_host(), &reader, i, 1, row), TESS_OK);
            assert_memory_equal(row, all[i], sizeof row);
            for (int j = 0; j < N_COLUMN; j++) {
                const int is_there = k == 3 || (k < 3 && i >= 3 && j >= 8);
                assert_true(all[i][j] == (is_there ? (float)(i * N_COLUMN + j) : 0));
            }
        }
        assert_int_equal(h5->read(io_host(), &reader, 8, 8, all), TESS_OK);
        assert_true(all[0][10] == (k == 4 ? 0 : 8 * N_COLUMN + 10));
        h5->close(io_host(), &reader);
    }
}

// Every range of rows, so that pieces begin and end anywhere in chunks and in what is kept of them.
static void reads_all_ranges_of(const char *name, int n_filled)
{
    enum { N_ROW = 21, N_ITEM = 21 };
    tess_format_reader reader;
    int16_t rows[N_ROW * N_ITEM];
    open_named("stored.h5", name, &reader);
    for (int first = 0; first < N_ROW; first++) {
        for (int count = 1; count <= N_ROW - first; count++) {
            memset(rows, 0x55, sizeof rows);
            assert_int_equal(h5->read(io_host(), &reader, first, count, rows), TESS_OK);
            for (int i = 0; i < count * N_ITEM; i++) {
                const int wanted = first + i / N_ITEM < n_filled ? -7 : first * N_ITEM + i;
                if (rows[i] != wanted) {
                    fail_msg("%s: rows %d..+%d: item %d is %d", name, first, count, i, rows[i]);
                }
            }
        }
    }
    h5->close(io_host(), &reader);
    assert_int_equal(io_live_blocks(), 0);
}

static void reads_every_range_behind_a_user_block(void **state)
{
    (void)state;
    static const char *const names[] = {"compact",   "piece",  "piece_big", "plain",
                                        "plain_big", "packed", "checked",   "scaled"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        reads_all_ranges_of(names[k], 0);
    }
    reads_all_ranges_of("filled", 20);
    reads_all_ranges_of("filled_big", 20);
}

static void reads_every_index_of_chunks(void **state)
{
    (void)state;
    static const char *const names[] = {"fixed", "extensible", "tree", "single", "plain"};
    enum { N_ROW = 12, N_COLUMN = 6 };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        tess_format_reader reader;
        float items[N_ROW * N_COLUMN];
        open_named("latest.h5", names[k], &reader);
        assert_int_equal(h5->read(io_host(), &reader, 0, N_ROW, items), TESS_OK);
        for (int i = 0; i < N_ROW * N_COLUMN; i++) {
            assert_true(items[i] == (float)i);
        }
        h5->close(io_host(), &reader);
    }
    int32_t kind = 0;
    double number = 0;
    char text[8];
    assert_int_equal(h5->attribute(io_host(), io_golden("latest.h5"), "/", "attribute3", &kind,
                                   &number, text, sizeof text),
                     TESS_OK);
    assert_true(kind == 1 && number == 3);
    assert_int_equal(h5->attribute(io_host(), io_golden("latest.h5"), "/", "tessera_provenance",
                                   &kind, &number, text, sizeof text),
                     TESS_OK);
    assert_int_equal(kind, 2);
    assert_string_equal(text, "{}");
    assert_int_equal(h5->attribute(io_host(), io_golden("latest.h5"), "/", "absent", &kind, &number,
                                   text, sizeof text),
                     TESS_OK);
    assert_int_equal(kind, 0);
}

static int note_dataset(void *user, const tess_dataset_info *info)
{
    char *text = user;
    const size_t used = strlen(text);
    snprintf(text + used, 2048 - used, "%s|%s|%d|%d;", info->name, info->type_text, info->dtype,
             info->rank);
    return 0;
}

static void lists_data_sets(void **state)
{
    (void)state;
    char text[2048] = "";
    assert_int_equal(h5->list(io_host(), io_golden("several.h5"), note_dataset, text), TESS_OK);
    assert_non_null(strstr(text, "/gzip|float32 LE, shuffle, gzip 4|12|3;"));
    assert_non_null(strstr(text, "/lzf|float32 LE, lzf|12|3;"));
    assert_non_null(strstr(text, "/bitshuffle|float32 LE, bitshuffle|12|3;"));
    assert_non_null(strstr(text, "/short|int16 BE|3|3;"));
    assert_non_null(strstr(text, "/complex|complex128|15|3;"));
    assert_non_null(strstr(text, "/flag|bool|1|3;"));
    assert_non_null(strstr(text, "/text|variable-length text|0|1;"));
    assert_non_null(strstr(text, "/group/deep/seven_axes|float32 LE|0|6;"));
    assert_null(strstr(text, "/outside"));
    assert_null(strstr(text, "/loop"));
}

static void writes_what_it_reads(void **state)
{
    (void)state;
    const float data[6] = {0, 1, 2, 3, 4, 5};
    static char long_provenance[100001];
    memset(long_provenance, 'x', 100000);
    tess_format_writer_input input = {
        .dataset = "results/ptp",
        .provenance = long_provenance,
        .dtype = TESS_F32,
        .rank = 2,
        .item_bytes = 4,
        .shape = {2, 3},
        .data = data,
        .data_bytes = sizeof data,
    };
    const char *path = io_scratch(".h5");
    if (h5->write(io_host(), path, &input) != TESS_OK) {
        fail_msg("%s", tess_last_error());
    }
    tess_format_reader reader;
    assert_int_equal(h5->open(io_host(), path, NULL, 0, &reader), TESS_OK);
    assert_string_equal(reader.dataset, "/results/ptp");
    io_assert_direct(path, &reader, data, sizeof data);
    h5->close(io_host(), &reader);
    char *text = NULL;
    size_t n_byte = 0;
    assert_int_equal(h5->provenance(io_host(), path, &text, &n_byte), TESS_OK);
    assert_string_equal(text, long_provenance);
    io_host()->release(NULL, text, n_byte);
    assert_int_equal(h5->provenance(io_host(), io_golden("one.h5"), &text, &n_byte), TESS_OK);
    assert_null(text);
    input.dtype = TESS_BF16;
    assert_int_equal(h5->write(io_host(), path, &input), TESS_E_DTYPE);
    assert_int_equal(h5->write(io_host(), "no/such/directory/x.h5", &input), TESS_E_DTYPE);
    input.dtype = TESS_F32;
    assert_int_equal(h5->write(io_host(), "no/such/directory/x.h5", &input), TESS_E_CREATE);
}

static void refuses_truncated_files(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("one.h5"), &n_byte);
    // Every length of the superblock and root, then a step that meets all alignments.
    for (size_t length = 0; length < n_byte; length += length < 600 ? 1 : 37) {
        const tess_status status = io_exercise(h5, io_file_of(bytes, length));
        if (status != TESS_E_TRUNCATED && status != TESS_E_FORMAT) {
            fail_msg("cut to %zu bytes: %s", length, tess_status_name(status));
        }
    }
    free(bytes);
}

static void *read_repeatedly(void *user)
{
    static char wrong_open[] = "open";
    static char wrong_read[] = "read";
    (void)user;
    for (int i = 0; i < 50; i++) {
        tess_format_reader reader;
        float tile[20];
        if (h5->open(io_host(), TESS_GOLDEN_DIRECTORY "/several.h5", "/gzip", 0, &reader) !=
            TESS_OK) {
            return wrong_open;
        }
        for (int row = 0; row < 6; row++) {
            if (h5->read(io_host(), &reader, row, 1, tile) != TESS_OK ||
                tile[19] != (float)(20 * row + 19)) {
                return wrong_read;
            }
        }
        h5->close(io_host(), &reader);
    }
    return NULL;
}

static void works_from_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_repeatedly, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void unpacks_lzf_within_bounds(void **state)
{
    (void)state;
    uint8_t out[64];
    const uint8_t good[] = {2, 'a', 'b', 'c', 0x20 | 0, 2, 0xe0, 1, 2};
    assert_int_equal(tess_lzf_unpack(good, sizeof good, out, sizeof out), 3 + 3 + 10);
    assert_int_equal(tess_lzf_unpack(good, sizeof good, NULL, 0), 16);
    assert_memory_equal(out, "abcabcabcabcabca", 16);
    assert_int_equal(tess_lzf_unpack(good, sizeof good, out, 15), 0);
    const uint8_t before_start[] = {0, 'a', 0x20, 1};
    assert_int_equal(tess_lzf_unpack(before_start, 4, out, sizeof out), 0);
    for (size_t length = 1; length < sizeof good; length++) {
        if (length != 4 && length != 6) { // complete at a smaller size
            assert_int_equal(tess_lzf_unpack(good, length, out, sizeof out), 0);
        }
    }
}

static void packs_what_lzf_unpacks(void **state)
{
    (void)state;
    enum { CAPACITY = 20000 };
    static uint8_t src[CAPACITY];
    static uint8_t packed[2 * CAPACITY];
    static uint8_t out[CAPACITY];
    static uint32_t table[1 << TESS_LZF_TABLE_BITS];
    uint32_t random = 12345;
    // Alphabets of one letter to all: runs, repeats near and far, and what does not shrink.
    for (int alphabet = 1; alphabet <= 256; alphabet *= 2) {
        for (size_t n = 1; n <= CAPACITY; n = n < 40 ? n + 1 : 3 * n) {
            for (size_t i = 0; i < n; i++) {
                random = random * 1664525 + 1013904223;
                src[i] = (uint8_t)((random >> 24) % (uint32_t)alphabet);
            }
            const size_t used = tess_lzf_pack(src, n, packed, sizeof packed, table);
            assert_in_range(used, 1, n + n / 32 + 1);
            memset(out, 0xee, n);
            assert_int_equal(tess_lzf_unpack(packed, used, out, n), n);
            assert_memory_equal(out, src, n);
            // Just enough room, and one byte less.
            assert_int_equal(tess_lzf_pack(src, n, packed, used, table), used);
            assert_int_equal(tess_lzf_pack(src, n, packed, used - 1, table), 0);
        }
    }
    memset(src, 7, sizeof src);
    assert_true(tess_lzf_pack(src, CAPACITY, packed, CAPACITY, table) < CAPACITY / 80);
}

static void writes_packed_data_sets(void **state)
{
    (void)state;
    enum { N = 60 };
    static float triangle[N][N];
    static float back[N][N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            triangle[i][j] = j < i ? 0 : 1 + 0.01F * (float)(i * 7 % 13) + (float)(j % 5);
        }
    }
    tess_format_writer_input input = {
        .dataset = "plain/first",
        .dtype = TESS_F32,
        .rank = 2,
        .item_bytes = 4,
        .shape = {N, N},
        .data = triangle,
        .data_bytes = sizeof triangle,
    };
    const char *path = io_scratch(".h5");
    assert_int_equal(h5->write(io_host(), path, &input), TESS_OK);
    input.dataset = "packed/lzf";
    input.packing = TESS_PACKING_LZF;
    assert_int_equal(h5->add(io_host(), path, &input), TESS_OK);
    input.dataset = "packed/deflate";
    input.packing = TESS_PACKING_DEFLATE;
    assert_int_equal(h5->add(io_host(), path, &input), TESS_OK);
    assert_int_equal(h5->add(io_host(), path, &input), TESS_E_IO); // the name is taken
    static const char *const names[] = {"/plain/first", "/packed/lzf", "/packed/deflate"};
    for (int k = 0; k < 3; k++) {
        tess_format_reader reader;
        assert_int_equal(h5->open(io_host(), path, names[k], 0, &reader), TESS_OK);
        assert_int_equal(h5->read(io_host(), &reader, 0, N, back), TESS_OK);
        assert_memory_equal(back, triangle, sizeof back);
        h5->close(io_host(), &reader);
    }
    char text[2048] = "";
    assert_int_equal(h5->list(io_host(), path, note_dataset, text), TESS_OK);
    assert_non_null(strstr(text, "/packed/lzf|float32 LE, lzf|12|2;"));
    assert_non_null(strstr(text, "/packed/deflate|float32 LE, gzip 4|12|2;"));
    assert_int_equal(h5->add(io_host(), io_golden("no.h5"), &input), TESS_E_CREATE);
}

static int note_text(void *user, int64_t index, const char *text)
{
    char *all = user;
    const size_t used = strlen(all);
    snprintf(all + used, 256 - used, "%d=%s;", (int)index, text);
    return strcmp(text, "Fz") == 0;
}

static void reads_texts_of_any_length(void **state)
{
    (void)state;
    const char *path = io_golden("several.h5");
    char text[256] = "";
    assert_int_equal(h5->texts(io_host(), path, "/text", note_text, text), TESS_OK);
    assert_string_equal(text, "0=a;1=bc;");
    text[0] = '\0';
    assert_int_equal(h5->texts(io_host(), path, "name", note_text, text), TESS_OK);
    assert_string_equal(text, "0=Fz;"); // stopped there
    assert_int_equal(h5->texts(io_host(), path, "gzip", note_text, text), TESS_E_DTYPE);
    assert_int_equal(h5->texts(io_host(), path, "absent", note_text, text), TESS_E_NOT_FOUND);
    assert_int_equal(h5->texts(io_host(), path, "outside", note_text, text), TESS_E_NOT_FOUND);
}

// A file of one collection at byte 32 with a text of five letters, number 3.
static void make_heap(uint8_t bytes[128], uint64_t size)
{
    memset(bytes, 0, 128);
    memcpy(bytes, (const uint8_t[]){5, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 3}, 13);
    memcpy(bytes + 32, "GCOL\1\0\0\0\x60", 9);
    memcpy(bytes + 48, (const uint8_t[]){1, 0, 1, 0}, 4);
    memcpy(bytes + 56, &size, sizeof size);
    memcpy(bytes + 72, (const uint8_t[]){3, 0, 1, 0, 0, 0, 0, 0, 5}, 9);
    memcpy(bytes + 88, "hello", 5);
}

static bool heap_text(const uint8_t bytes[128], char text[16])
{
    const int fd = open(io_file_of(bytes, 128), O_RDONLY);
    const bool is_there = tess_h5_heap_text(fd, bytes, text, 16);
    close(fd);
    return is_there;
}

// Sizes that lead backwards, nowhere or on for ever end the search.
static void a_damaged_heap_ends(void **state)
{
    (void)state;
    uint8_t bytes[128];
    char text[16];
    make_heap(bytes, 8);
    assert_true(heap_text(bytes, text));
    assert_string_equal(text, "hello");
    static const uint64_t sizes[] = {0, 16, 4096, UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_heap(bytes, sizes[i]);
        assert_false(heap_text(bytes, text));
    }
    make_heap(bytes, 8);
    bytes[72] = 0; // the free rest
    assert_false(heap_text(bytes, text));
    make_heap(bytes, 8);
    bytes[40] = 0xff; // longer than the file
    bytes[12] = 9;
    assert_false(heap_text(bytes, text));
    make_heap(bytes, 8);
    bytes[11] = 0xff; // an address beyond all files
    assert_false(heap_text(bytes, text));
}

static int setup(void **state)
{
    setenv("TESSERA_HDF5_PLUGIN", TESS_HDF5_HELPER, 1);
    return io_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_storage_and_type),
        cmocka_unit_test(reads_scalars_text_and_halves),
        cmocka_unit_test(refuses_what_it_cannot_or_should_not_read),
        cmocka_unit_test(reads_holes_and_edges),
        cmocka_unit_test(reads_every_range_behind_a_user_block),
        cmocka_unit_test(reads_every_index_of_chunks),
        cmocka_unit_test(lists_data_sets),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(refuses_truncated_files),
        cmocka_unit_test(works_from_several_threads),
        cmocka_unit_test(unpacks_lzf_within_bounds),
        cmocka_unit_test(packs_what_lzf_unpacks),
        cmocka_unit_test(writes_packed_data_sets),
        cmocka_unit_test(reads_texts_of_any_length),
        cmocka_unit_test(a_damaged_heap_ends),
    };
    return cmocka_run_group_tests(tests, setup, io_teardown);
}
