// .npz: NumPy's own archives, our own, and archives that should not be believed.

#include "io/formats.h"
#include "io/zip_unpack.h"
#include "io_support.h"
#include "runtime/crc32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tess_format *const npz = &tess_format_npz;

static void assert_ramp(const char *path, const char *dataset, int32_t dtype)
{
    tess_format_reader reader;
    if (npz->open(io_host(), path, dataset, 0, &reader) != TESS_OK) {
        fail_msg("%s", tess_last_error());
    }
    assert_int_equal(reader.dtype, dtype);
    assert_int_equal(reader.shape[0] * 100 + reader.shape[1] * 10 + reader.shape[2], 345);
    char bytes[60 * 8];
    const size_t row_bytes = 20 * (size_t)reader.item_bytes;
    // Backwards once: a stream has to start over.
    assert_int_equal(npz->read(io_host(), &reader, 2, 1, bytes + 2 * row_bytes), TESS_OK);
    assert_int_equal(npz->read(io_host(), &reader, 0, 2, bytes), TESS_OK);
    for (int i = 0; i < 60; i++) {
        if (dtype == TESS_F32) {
            float value;
            memcpy(&value, bytes + 4 * i, 4);
            assert_true(value == (float)i);
        } else if (dtype == TESS_F64) {
            double value;
            memcpy(&value, bytes + 8 * i, 8);
            assert_true(value == i);
        } else {
            int32_t value;
            memcpy(&value, bytes + 4 * i, 4);
            assert_int_equal(value, i);
        }
    }
    npz->close(io_host(), &reader);
    assert_int_equal(io_live_blocks(), 0);
}

static void reads_stored_members(void **state)
{
    (void)state;
    assert_ramp(io_golden("stored.npz"), NULL, TESS_F32);
    assert_ramp(io_golden("stored.npz"), "x", TESS_F32);
    assert_ramp(io_golden("stored.npz"), "x.npy", TESS_F32);
    assert_ramp(io_golden("several.npz"), "first", TESS_F32);
    assert_ramp(io_golden("several.npz"), "second", TESS_I32);
}

static void reads_deflated_members(void **state)
{
    (void)state;
    if (!TESS_TEST_HAS_ZLIB) {
        io_assert_open_fails(npz, io_golden("deflated.npz"), NULL, TESS_E_UNSUPPORTED, "no zlib");
        return;
    }
    assert_ramp(io_golden("deflated.npz"), NULL, TESS_F32);
    assert_ramp(io_golden("deflated_fortran.npz"), NULL, TESS_F64);
}

enum { LONG_BYTES = 8128, LONG_PACKED_BYTES = 420 };

// Item i of deflated_long.npz is i modulo 256.
static void assert_long_ramp(const tess_host *host, uint64_t held_bytes)
{
    tess_format_reader reader;
    uint8_t items[8000];
    assert_int_equal(npz->open(host, io_golden("deflated_long.npz"), NULL, 0, &reader), TESS_OK);
    assert_int_equal(reader.held_bytes, held_bytes);
    assert_int_equal(npz->read(host, &reader, 60, 40, items + 4800), TESS_OK);
    assert_int_equal(npz->read(host, &reader, 0, 60, items), TESS_OK);
    for (int i = 0; i < 8000; i++) {
        assert_int_equal(items[i], i % 256);
    }
    npz->close(host, &reader);
    assert_int_equal(io_live_blocks(), 0);
}

static void unpacks_at_once_what_fits_into_memory(void **state)
{
    (void)state;
    if (!TESS_TEST_HAS_ZLIB) {
        skip();
    }
    tess_host host = *io_host();
    assert_long_ramp(&host, TESS_TEST_HAS_LIBDEFLATE ? LONG_BYTES + LONG_PACKED_BYTES : 0);
    host.memory_limit_bytes = 8 * (LONG_BYTES + LONG_PACKED_BYTES) - 1;
    assert_long_ramp(&host, 0);
}

// Unpacked at once or piece by piece, the same sentence.
static void tells_where_a_long_member_is_corrupt(void **state)
{
    (void)state;
    if (!TESS_TEST_HAS_ZLIB) {
        skip();
    }
    char sentences[2][1024];
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("deflated_long.npz"), &n_byte);
    bytes[30 + 5 + 20 + 300] ^= 0xff; // behind the name and the sizes: packed bytes
    for (int at_once = 0; at_once < 2; at_once++) {
        tess_host host = *io_host();
        host.memory_limit_bytes = at_once ? 1 << 30 : 0;
        tess_format_reader reader;
        uint8_t items[8000];
        assert_int_equal(npz->open(&host, io_file_of(bytes, n_byte), NULL, 0, &reader), TESS_OK);
        assert_int_equal(npz->read(&host, &reader, 0, 100, items), TESS_E_FORMAT);
        snprintf(sentences[at_once], sizeof sentences[at_once], "%s", tess_last_error());
        npz->close(&host, &reader);
    }
    assert_string_equal(sentences[0], sentences[1]);
    assert_non_null(strstr(sentences[0], "member 'x.npy'"));
    free(bytes);
}

static void verifies_the_checksum_of_a_forward_read(void **state)
{
    (void)state;
    static const char *const names[] = {"stored.npz", "deflated.npz"};
    for (int k = 0; k < (TESS_TEST_HAS_ZLIB ? 2 : 1); k++) {
        tess_format_reader reader;
        float data[60];
        assert_int_equal(npz->open(io_host(), io_golden(names[k]), NULL, 0, &reader), TESS_OK);
        assert_int_equal(npz->read(io_host(), &reader, 0, 2, data), TESS_OK);
        (void)io_last_log();
        assert_int_equal(npz->read(io_host(), &reader, 2, 1, data), TESS_OK);
        assert_non_null(strstr(io_last_log(), "CRC-32 verified"));
        npz->close(io_host(), &reader);
    }
}

static void notices_changed_data(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("stored.npz"), &n_byte);
    bytes[300] ^= 1; // inside the array
    tess_format_reader reader;
    float data[60];
    const char *path = io_file_of(bytes, n_byte);
    assert_int_equal(npz->open(io_host(), path, NULL, 0, &reader), TESS_OK);
    assert_int_equal(npz->read(io_host(), &reader, 0, 3, data), TESS_E_FORMAT);
    assert_non_null(strstr(tess_last_error(), "member 'x.npy': CRC-32"));
    npz->close(io_host(), &reader);
    free(bytes);
}

static int note_dataset(void *user, const tess_dataset_info *info)
{
    char *text = user;
    const size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%s|%s|%d;", info->name, info->type_text, info->rank);
    return 0;
}

static void lists_members(void **state)
{
    (void)state;
    char text[256] = "";
    assert_int_equal(npz->list(io_host(), io_golden("several.npz"), note_dataset, text), TESS_OK);
    assert_string_equal(text, "first|<f4|3;second|>i4|3;names|<U2|1;");
    io_assert_open_fails(npz, io_golden("several.npz"), NULL, TESS_E_ARGUMENT,
                         "has 3 arrays; choose one with --dataset: first, second, names");
    io_assert_open_fails(npz, io_golden("several.npz"), "third", TESS_E_NOT_FOUND,
                         "no array 'third'; there are: first");
}

static void writes_what_it_reads_and_can_map(void **state)
{
    (void)state;
    const float data[6] = {0, 1, 2, 3, 4, 5};
    tess_format_writer_input input = {
        .dataset = "ptp",
        .provenance =
            "{\"user\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"bad\": \"\xff\xc0\xaf\"}",
        .dtype = TESS_F32,
        .rank = 2,
        .item_bytes = 4,
        .shape = {2, 3},
        .data = data,
        .data_bytes = sizeof data,
    };
    const char *path = io_scratch(".npz");
    assert_int_equal(npz->write(io_host(), path, &input), TESS_OK);
    assert_int_equal(io_live_blocks(), 0);
    tess_format_reader reader;
    assert_int_equal(npz->open(io_host(), path, NULL, 0, &reader), TESS_OK);
    assert_string_equal(reader.dataset, "ptp");
    assert_int_equal(reader.direct_offset % 64, 0);
    io_assert_direct(path, &reader, data, sizeof data);
    npz->close(io_host(), &reader);

    char *text = NULL;
    size_t n_byte = 0;
    assert_int_equal(npz->provenance(io_host(), path, &text, &n_byte), TESS_OK);
    assert_string_equal(text, "{\"user\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"bad\": "
                              "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}");
    io_host()->release(NULL, text, n_byte);

    assert_int_equal(npz->provenance(io_host(), io_golden("stored.npz"), &text, &n_byte), TESS_OK);
    assert_null(text);
    // The name's length moves the data; the padding must follow.
    char name[48] = "";
    for (size_t length = 1; length < sizeof name; length++) {
        memset(name, 'n', length);
        input.dataset = name;
        assert_int_equal(npz->write(io_host(), path, &input), TESS_OK);
        assert_int_equal(npz->open(io_host(), path, NULL, 0, &reader), TESS_OK);
        assert_int_equal(reader.direct_offset % 64, 0);
        io_assert_direct(path, &reader, data, sizeof data);
        npz->close(io_host(), &reader);
    }
    input.dataset = "../evil";
    assert_int_equal(npz->write(io_host(), path, &input), TESS_E_ARGUMENT);
    assert_int_equal(io_live_blocks(), 0);
}

static void checksum_is_that_of_zip(void **state)
{
    (void)state;
    assert_int_equal(tess_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(tess_crc32(tess_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
}

static void refuses_every_prefix(void **state)
{
    (void)state;
    static const char *const names[] = {"stored.npz", "deflated.npz", "several.npz"};
    for (size_t k = 0; k < 3; k++) {
        size_t n_byte = 0;
        uint8_t *bytes = io_slurp(io_golden(names[k]), &n_byte);
        for (size_t length = 0; length < n_byte; length++) {
            const char *path = io_file_of(bytes, length);
            const tess_status status = io_exercise(npz, path);
            if (status != TESS_E_TRUNCATED) {
                fail_msg("%s cut to %zu bytes: %s", names[k], length, tess_status_name(status));
            }
        }
        free(bytes);
    }
}

static void survives_every_bit_flip(void **state)
{
    (void)state;
    static const char *const names[] = {"stored.npz", "deflated.npz", "deflated_fortran.npz",
                                        "deflated_long.npz"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t n_byte = 0;
        uint8_t *bytes = io_slurp(io_golden(names[k]), &n_byte);
        for (size_t bit = 0; bit < 8 * n_byte; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            (void)!io_exercise(npz, io_file_of(bytes, n_byte));
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(bytes);
    }
}

// Offsets of the directory and of the end record in a golden file without comment.
static size_t end_record(const uint8_t *bytes, size_t n_byte)
{
    assert_memory_equal(bytes + n_byte - 22, "PK\5\6", 4);
    return n_byte - 22;
}

static size_t directory(const uint8_t *bytes, size_t n_byte)
{
    const uint8_t *end = bytes + end_record(bytes, n_byte);
    return end[16] | (size_t)end[17] << 8;
}

// stored.npz with bytes of its directory entry or end record replaced.
static void assert_patched(int in_entry, size_t at, const char *patch, size_t n_patch,
                           tess_status status, const char *part)
{
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("stored.npz"), &n_byte);
    const size_t start = in_entry ? directory(bytes, n_byte) : end_record(bytes, n_byte);
    memcpy(bytes + start + at, patch, n_patch);
    io_assert_open_fails(npz, io_file_of(bytes, n_byte), NULL, status, part);
    free(bytes);
}

static void refuses_hostile_directories(void **state)
{
    (void)state;
    assert_patched(1, 46, "../ab", 5, TESS_E_FORMAT, "'..'");
    assert_patched(1, 46, "/", 1, TESS_E_FORMAT, "absolute");
    assert_patched(1, 46, "a\\b", 3, TESS_E_FORMAT, "name not allowed");
    assert_patched(1, 46, "\x1b", 1, TESS_E_FORMAT, "control characters");
    assert_patched(1, 8, "\x01", 1, TESS_E_UNSUPPORTED, "encrypted");
    assert_patched(1, 46, "y", 1, TESS_E_FORMAT, "does not agree");
    assert_patched(1, 10, "\x0c", 1, TESS_E_FORMAT, "does not agree"); // bzip2, here only
    assert_patched(1, 20, "\xff\xff\xff\x7f", 4, TESS_E_FORMAT, "runs into the directory");
    assert_patched(1, 24, "\xff\xff\xff\x7f", 4, TESS_E_FORMAT, "stored without compression");
    assert_patched(1, 24, "\xff\xff\xff\xff", 4, TESS_E_FORMAT, "ZIP64 field missing");
    assert_patched(1, 42, "\xff\xff\xff\x7f", 4, TESS_E_FORMAT, "runs into the directory");
    assert_patched(1, 28, "\xff\xff", 2, TESS_E_FORMAT, "past the end of the directory");
    assert_patched(1, 0, "XX", 2, TESS_E_FORMAT, "expected a directory entry");
    assert_patched(0, 4, "\x01", 1, TESS_E_UNSUPPORTED, "several disks");
    assert_patched(0, 10, "\x02", 1, TESS_E_FORMAT, "does not fit the file");
    assert_patched(0, 10, "\x00", 1, TESS_E_FORMAT, "beyond its 0 members");
    assert_patched(0, 12, "\xff\xff\xff\x7f", 4, TESS_E_FORMAT, "does not fit the file");
    assert_patched(0, 16, "\xff\xff\xff\xff", 4, TESS_E_FORMAT, "does not fit the file");
    assert_patched(0, 20, "\x01", 1, TESS_E_TRUNCATED, "no ZIP directory");
}

static void refuses_bombs(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("deflated.npz"), &n_byte);
    uint8_t *entry = bytes + directory(bytes, n_byte);
    memcpy(entry + 24, "\xff\xff\xff\x7f", 4);
    io_assert_open_fails(npz, io_file_of(bytes, n_byte), NULL, TESS_E_FORMAT,
                         "more than 1000 times");
    free(bytes);
}

// Two entries of the directory that lead to the same bytes.
static void refuses_overlapping_members(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("several.npz"), &n_byte);
    uint8_t *first = bytes + directory(bytes, n_byte);
    const size_t entry_bytes = 46 + strlen("first.npy");
    memcpy(first + entry_bytes + 42, first + 42, 4); // second starts where first does
    io_assert_open_fails(npz, io_file_of(bytes, n_byte), "first", TESS_E_FORMAT, "overlap");
    free(bytes);
}

static void put_le(uint8_t *at, uint64_t value, int n_byte)
{
    for (int i = 0; i < n_byte; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

// stored.npz with its sizes, offset and directory told by ZIP64 records only, as in archives over
// 4 GiB. Returns the length; *zip64_end is where the new end record starts.
static size_t widen(uint8_t *bytes, size_t n_byte, size_t *zip64_end)
{
    const size_t start = directory(bytes, n_byte);
    uint8_t entry[200];
    const size_t entry_bytes = end_record(bytes, n_byte) - start;
    memcpy(entry, bytes + start, entry_bytes);
    const uint32_t size = (uint32_t)(entry[24] | entry[25] << 8);
    put_le(entry + 20, UINT32_MAX, 4);
    put_le(entry + 24, UINT32_MAX, 4);
    put_le(entry + 42, UINT32_MAX, 4);
    put_le(entry + 30, 28 + 5, 2); // the new field and one to skip
    memcpy(entry + entry_bytes, "\x99\x99\x01\x00?\x01\x00\x18\x00", 9);
    put_le(entry + entry_bytes + 9, size, 8);
    put_le(entry + entry_bytes + 17, size, 8);
    put_le(entry + entry_bytes + 25, 0, 8);
    const size_t directory_bytes = entry_bytes + 33;
    memcpy(bytes + start, entry, directory_bytes);

    uint8_t *end64 = bytes + start + directory_bytes;
    *zip64_end = start + directory_bytes;
    memset(end64, 0, 56 + 20 + 22);
    memcpy(end64, "PK\6\6\x2c", 5);
    put_le(end64 + 24, 1, 8);
    put_le(end64 + 32, 1, 8);
    put_le(end64 + 40, directory_bytes, 8);
    put_le(end64 + 48, start, 8);
    memcpy(end64 + 56, "PK\6\7", 4);
    put_le(end64 + 64, *zip64_end, 8);
    put_le(end64 + 72, 1, 4);
    memcpy(end64 + 76, "PK\5\6", 4);
    put_le(end64 + 84, 0xffff, 2);
    put_le(end64 + 86, 0xffff, 2);
    put_le(end64 + 88, UINT32_MAX, 4);
    put_le(end64 + 92, UINT32_MAX, 4);
    return *zip64_end + 56 + 20 + 22;
}

static void reads_zip64_and_refuses_hostile_ones(void **state)
{
    (void)state;
    static const struct {
        size_t at; // from the ZIP64 end record
        uint8_t value;
        tess_status status;
        const char *part;
    } bad[] = {
        {0, 'X', TESS_E_FORMAT, "expected the ZIP64 end record"},
        {64 + 7, 0x7f, TESS_E_FORMAT, "cannot start at byte"},
        {60, 1, TESS_E_UNSUPPORTED, "several disks"},
        {32 + 7, 0x7f, TESS_E_FORMAT, "does not fit the file"},
        {40 + 7, 0x7f, TESS_E_FORMAT, "does not fit the file"},
        {48 + 7, 0xff, TESS_E_FORMAT, "does not fit the file"},
        {(size_t)-24 + 7, 0x7f, TESS_E_FORMAT, "stored without compression"},
        {(size_t)-16 + 7, 0x7f, TESS_E_FORMAT, "runs into the directory"},
        {(size_t)-1, 0x7f, TESS_E_FORMAT, "runs into the directory"},
        {(size_t)-26, 8, TESS_E_FORMAT, "ZIP64 field missing or too short"},
        {(size_t)-26, 99, TESS_E_FORMAT, "ZIP64 field missing or too short"},
    };
    size_t n_byte = 0;
    uint8_t *narrow = io_slurp(io_golden("stored.npz"), &n_byte);
    uint8_t *bytes = malloc(n_byte + 200);
    memcpy(bytes, narrow, n_byte);
    size_t end64 = 0;
    const size_t wide_bytes = widen(bytes, n_byte, &end64);
    assert_ramp(io_file_of(bytes, wide_bytes), NULL, TESS_F32);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const uint8_t before = bytes[end64 + bad[i].at];
        bytes[end64 + bad[i].at] = bad[i].value;
        io_assert_open_fails(npz, io_file_of(bytes, wide_bytes), NULL, bad[i].status, bad[i].part);
        bytes[end64 + bad[i].at] = before;
    }
    for (size_t bit = 8 * end64 - 8 * 110; bit < 8 * wide_bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)!io_exercise(npz, io_file_of(bytes, wide_bytes));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
    free(narrow);
}

static void refuses_members_of_one_name(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("several.npz"), &n_byte);
    uint8_t *second = bytes + directory(bytes, n_byte) + 46 + strlen("first.npy");
    second[28] = 9; // "second.npy" loses its last letter to the next entry's extra field
    memcpy(second + 46, "first.npy", 9);
    second[30] = 1;
    io_assert_open_fails(npz, io_file_of(bytes, n_byte), "first", TESS_E_FORMAT, "2 members");
    free(bytes);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    const char *name = TESS_TEST_HAS_ZLIB ? "deflated_fortran.npz" : "stored.npz";
    for (int64_t k = 1;; k++) {
        tess_format_reader reader;
        io_fail_allocation(k);
        tess_status status = npz->open(io_host(), io_golden(name), NULL, 0, &reader);
        if (status == TESS_OK) {
            char data[480];
            status = npz->read(io_host(), &reader, 0, 3, data);
            npz->close(io_host(), &reader);
        }
        io_fail_allocation(0);
        assert_int_equal(io_live_blocks(), 0);
        if (status == TESS_OK) {
            assert_true(k > 4); // reader, tail, directory, header, ...
            break;
        }
        assert_int_equal(status, TESS_E_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_stored_members),
        cmocka_unit_test(reads_deflated_members),
        cmocka_unit_test(unpacks_at_once_what_fits_into_memory),
        cmocka_unit_test(tells_where_a_long_member_is_corrupt),
        cmocka_unit_test(verifies_the_checksum_of_a_forward_read),
        cmocka_unit_test(notices_changed_data),
        cmocka_unit_test(lists_members),
        cmocka_unit_test(writes_what_it_reads_and_can_map),
        cmocka_unit_test(checksum_is_that_of_zip),
        cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(survives_every_bit_flip),
        cmocka_unit_test(refuses_hostile_directories),
        cmocka_unit_test(refuses_bombs),
        cmocka_unit_test(refuses_overlapping_members),
        cmocka_unit_test(reads_zip64_and_refuses_hostile_ones),
        cmocka_unit_test(refuses_members_of_one_name),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
