// .npy: NumPy's own files, our own writing, and files that should not be believed.

#include "base/npy_header.h"
#include "io/formats.h"
#include "io_support.h"
#include "tessera/base.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const tess_format *const npy = &tess_format_npy;

static tess_format_reader open_golden(const char *name)
{
    tess_format_reader reader;
    const tess_status status = npy->open(io_host(), io_golden(name), NULL, 0, &reader);
    if (status != TESS_OK) {
        fail_msg("%s", tess_last_error());
    }
    return reader;
}

// Reads [3][4][5] items in tiles of 2 and 1, which a wrong stride cannot survive.
static void read_all(tess_format_reader *reader, void *dst, size_t row_bytes)
{
    assert_int_equal(npy->read(io_host(), reader, 0, 2, dst), TESS_OK);
    assert_int_equal(npy->read(io_host(), reader, 2, 1, (char *)dst + 2 * row_bytes), TESS_OK);
}

static void assert_ramp_f4(const char *name, int is_direct)
{
    tess_format_reader reader = open_golden(name);
    float got[60];
    assert_int_equal(reader.dtype, TESS_F32);
    assert_int_equal(reader.rank, 3);
    assert_int_equal(reader.shape[0] * 100 + reader.shape[1] * 10 + reader.shape[2], 345);
    assert_int_equal(reader.item_bytes, 4);
    assert_int_equal(reader.direct_offset > 0, is_direct);
    read_all(&reader, got, 80);
    for (int i = 0; i < 60; i++) {
        assert_true(got[i] == (float)i);
    }
    if (is_direct) {
        io_assert_direct(io_golden(name), &reader, got, sizeof got);
    }
    npy->close(io_host(), &reader);
    assert_null(reader.impl);
    assert_int_equal(io_live_blocks(), 0);
}

static void reads_every_version_order_and_byte_order(void **state)
{
    (void)state;
    const int is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    assert_ramp_f4("f4.npy", is_little);
    assert_ramp_f4("f4_v2.npy", is_little);
    assert_ramp_f4("f4_v3.npy", is_little);
    assert_ramp_f4("f4_big.npy", !is_little);
    assert_ramp_f4("f4_fortran.npy", 0);
}

static void reads_big_endian_fortran_f8(void **state)
{
    (void)state;
    tess_format_reader reader = open_golden("f8_big_fortran.npy");
    double got[60];
    assert_int_equal(reader.dtype, TESS_F64);
    read_all(&reader, got, 160);
    for (int i = 0; i < 60; i++) {
        assert_true(got[i] == i);
    }
    npy->close(io_host(), &reader);
}

static void reads_fortran_order_of_five_axes(void **state)
{
    (void)state;
    tess_format_reader reader = open_golden("i2_fortran_5d.npy");
    int16_t got[144];
    assert_int_equal(reader.dtype, TESS_I16);
    assert_int_equal(npy->read(io_host(), &reader, 0, 1, got), TESS_OK);
    assert_int_equal(npy->read(io_host(), &reader, 1, 1, got + 72), TESS_OK);
    for (int i = 0; i < 144; i++) {
        assert_int_equal(got[i], i);
    }
    npy->close(io_host(), &reader);
}

// More rows and columns than one block of the transposition holds.
static void reads_fortran_order_larger_than_a_block(void **state)
{
    (void)state;
    enum { ROWS = 2500, COLUMNS = 37 };
    char *file = malloc(256 + ROWS * COLUMNS * 4);
    const int64_t shape[2] = {ROWS, COLUMNS};
    const size_t header = tess_npy_header_make(file, 256, TESS_F32, 4, 2, shape);
    char *order = strstr(file + 10, "False");
    memcpy(order, "True ", 5);
    for (int t = 0; t < COLUMNS; t++) {
        for (int r = 0; r < ROWS; r++) {
            const float value = (float)(r * COLUMNS + t);
            memcpy(file + header + (size_t)(t * ROWS + r) * 4, &value, 4);
        }
    }
    const char *path = io_file_of(file, header + ROWS * COLUMNS * 4);
    tess_format_reader reader;
    assert_int_equal(npy->open(io_host(), path, NULL, 0, &reader), TESS_OK);
    float *got = malloc(ROWS * COLUMNS * 4);
    assert_int_equal(npy->read(io_host(), &reader, 0, 7, got), TESS_OK);
    assert_int_equal(npy->read(io_host(), &reader, 7, ROWS - 7, got + 7 * COLUMNS), TESS_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_true(got[i] == (float)i);
    }
    npy->close(io_host(), &reader);
    free(got);
    free(file);
}

static void reads_complex_bytes_and_flags(void **state)
{
    (void)state;
    tess_format_reader reader = open_golden("c16_big.npy");
    double pair[120];
    assert_int_equal(reader.dtype, TESS_C128);
    read_all(&reader, pair, 320);
    for (int i = 0; i < 60; i++) {
        assert_true(pair[2 * i] == i);
        assert_true(pair[2 * i + 1] == 2 * i);
    }
    npy->close(io_host(), &reader);

    reader = open_golden("u1.npy");
    assert_int_equal(reader.dtype, TESS_U8);
    uint8_t items[60];
    read_all(&reader, items, 20);
    assert_int_equal(items[59], 59);
    io_assert_direct(io_golden("u1.npy"), &reader, items, sizeof items);
    npy->close(io_host(), &reader);

    reader = open_golden("b1.npy");
    assert_int_equal(reader.dtype, TESS_BOOL);
    read_all(&reader, items, 20);
    assert_int_equal(items[58], 1);
    assert_int_equal(items[59], 0);
    io_assert_direct(io_golden("b1.npy"), &reader, items, sizeof items);
    npy->close(io_host(), &reader);
}

static void reads_scalars_and_empty_arrays(void **state)
{
    (void)state;
    double value = 0;
    tess_format_reader reader = open_golden("scalar.npy");
    assert_int_equal(reader.rank, 0);
    assert_int_equal(npy->read(io_host(), &reader, 0, 1, &value), TESS_OK);
    assert_true(value == 42.5);
    npy->close(io_host(), &reader);

    reader = open_golden("empty.npy");
    assert_int_equal(reader.shape[0], 0);
    assert_int_equal(npy->read(io_host(), &reader, 0, 0, NULL), TESS_OK);
    npy->close(io_host(), &reader);
}

static void reads_text(void **state)
{
    (void)state;
    static const char *const names[] = {"text_u.npy", "text_u_big.npy"};
    for (int k = 0; k < 2; k++) {
        uint32_t text[9];
        tess_format_reader reader = open_golden(names[k]);
        assert_int_equal(reader.dtype, TESS_UCS4);
        assert_int_equal(reader.item_bytes, 12);
        assert_int_equal(npy->read(io_host(), &reader, 0, 3, text), TESS_OK);
        assert_int_equal(text[0], 'F');
        assert_int_equal(text[2], 0);
        assert_int_equal(text[8], 0xe9);
        npy->close(io_host(), &reader);
    }
    tess_format_reader reader = open_golden("text_s.npy");
    assert_int_equal(reader.dtype, TESS_BYTES);
    io_assert_direct(io_golden("text_s.npy"), &reader, "Fz\0Cz1", 6);
    npy->close(io_host(), &reader);
}

static void refuses_what_is_no_plain_array(void **state)
{
    (void)state;
    io_assert_open_fails(npy, io_golden("structured.npy"), NULL, TESS_E_DTYPE,
                         "one array per field");
    io_assert_open_fails(npy, io_golden("date.npy"), NULL, TESS_E_DTYPE, "'<M8[ns]'");
    io_assert_open_fails(npy, io_golden("seven_axes.npy"), NULL, TESS_E_SHAPE, "7 axes");
    io_assert_open_fails(npy, io_golden("f4.npy"), "x", TESS_E_NOT_FOUND, "leave out");
    io_assert_open_fails(npy, io_golden("no_such_file.npy"), NULL, TESS_E_NOT_FOUND,
                         "no_such_file.npy");
    io_assert_open_fails(npy, io_golden("."), NULL, TESS_E_NOT_FOUND, "regular file");
}

static int note_dataset(void *user, const tess_dataset_info *info)
{
    char *text = user;
    snprintf(text, 128, "%s|%s|%d|%d|%lld", info->name, info->type_text, info->dtype, info->rank,
             (long long)info->shape[0]);
    return 0;
}

static void lists_what_it_cannot_read(void **state)
{
    (void)state;
    char text[128];
    assert_int_equal(npy->list(io_host(), io_golden("f4_big.npy"), note_dataset, text), TESS_OK);
    assert_string_equal(text, "|>f4|12|3|3");
    assert_int_equal(npy->list(io_host(), io_golden("scalar.npy"), note_dataset, text), TESS_OK);
    assert_string_equal(text, "|<f8|13|0|0");
    assert_int_equal(npy->list(io_host(), io_golden("structured.npy"), note_dataset, text),
                     TESS_OK);
    assert_string_equal(text, "|[('a', '<f4'), ('b', '<i2', (3,))]|0|1|2");
}

// A version 1.0 file around a dictionary, with 32 bytes of data.
static const char *file_around(const char *dictionary)
{
    static uint8_t bytes[70000];
    const size_t length = strlen(dictionary);
    memcpy(bytes, "\x93NUMPY\x01", 8);
    bytes[8] = (uint8_t)(length & 255);
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + 10, dictionary, length);
    memset(bytes + 10 + length, 0x3f, 32);
    return io_file_of(bytes, 10 + length + 32);
}

static void accepts_any_spacing_and_key_order(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }   \n",
        "{\"shape\":(8,),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "\n\t{ 'shape' : ( 2L , 4L ) ,\n'descr' : 'f4' , 'fortran_order' : True }\r\n",
        "{'descr': '=f8', 'fortran_order': False, 'shape': ()}",
        "{'descr': '|S32', 'fortran_order': False, 'shape': (1,)}",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const tess_status status = io_exercise(npy, file_around(good[i]));
        if (status != TESS_OK) {
            fail_msg("%s: %s", good[i], tess_last_error());
        }
    }
}

// With one axis the two orders are the same, and the data can stay where they are.
static void fortran_order_of_one_axis_is_direct(void **state)
{
    (void)state;
    tess_format_reader reader;
    const char *path = file_around("{'descr': '|u1', 'fortran_order': True, 'shape': (32,)}");
    assert_int_equal(npy->open(io_host(), path, NULL, 0, &reader), TESS_OK);
    assert_true(reader.direct_offset > 0);
    npy->close(io_host(), &reader);
}

static void refuses_hostile_headers(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        tess_status status;
        const char *part;
    } bad[] = {
        {"", TESS_E_FORMAT, "'{'"},
        {"{", TESS_E_FORMAT, "header ends"},
        {"{}", TESS_E_FORMAT, "lacks 'descr'"},
        {"{'descr': '<f4', 'shape': (2,)}", TESS_E_FORMAT, "lacks 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False}", TESS_E_FORMAT, "lacks 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", TESS_E_FORMAT, "'descr' twice"},
        {"{'descr': '<f4', 'evil': 1}", TESS_E_FORMAT, "one of the keys"},
        {"{'descr': '<f4' 'shape': (2,)}", TESS_E_FORMAT, "',' or '}'"},
        {"{'descr' '<f4'}", TESS_E_FORMAT, "':'"},
        {"{'descr': '<f4}", TESS_E_FORMAT, "end of a string"},
        {"{'descr': 'a\\", TESS_E_FORMAT, "end of a string"},
        {"{'descr': 4}", TESS_E_FORMAT, "a type such as"},
        {"{'descr': ((((((((((((((((((((((((((((((((((((((", TESS_E_FORMAT, "less deeply"},
        {"{'descr': [('a', '<f4'", TESS_E_FORMAT, "closing bracket"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", TESS_E_FORMAT, "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", TESS_E_FORMAT, "a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", TESS_E_FORMAT, "one axis"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", TESS_E_FORMAT, "0 or more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", TESS_E_FORMAT, "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,,)}", TESS_E_FORMAT, "0 or more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ((2,),)}", TESS_E_FORMAT, "0 or more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", TESS_E_FORMAT,
         "2^63 - 1"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", TESS_E_FORMAT,
         "2^63 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 2)}",
         TESS_E_FORMAT, "2^63 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,)}",
         TESS_E_TRUNCATED, "first 8 of 1152921504606846976"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} import os", TESS_E_FORMAT,
         "nothing more"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "pickle"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "'<f3'"},
        {"{'descr': '<U0', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "'<U0'"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "'<V2'"},
        {"{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "U99"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "''"},
        {"{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (2,)}", TESS_E_DTYPE, "'?[31m'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = file_around(bad[i].dictionary);
        io_assert_open_fails(npy, path, NULL, bad[i].status, bad[i].part);
        assert_non_null(strstr(tess_last_error(), path));
    }
    char many_axes[400] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 65; i++) {
        strcat(many_axes, "1, ");
    }
    strcat(many_axes, ")}");
    io_assert_open_fails(npy, file_around(many_axes), NULL, TESS_E_FORMAT, "64 axes");
}

static void refuses_other_versions_and_long_headers(void **state)
{
    (void)state;
    io_assert_open_fails(npy, io_file_of("\x93NUMPY\x04\x00\x10\x00{}", 12), NULL, TESS_E_FORMAT,
                         "version 4.0");
    io_assert_open_fails(npy, io_file_of("\x93NUMPY\x01\x01\x10\x00{}", 12), NULL, TESS_E_FORMAT,
                         "version 1.1");
    io_assert_open_fails(npy, io_file_of("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), NULL,
                         TESS_E_FORMAT, "at most");
    io_assert_open_fails(npy, io_file_of("NUMPY", 5), NULL, TESS_E_FORMAT, "magic");
    assert_int_equal(npy->probe((const uint8_t *)"\x93NUMPX\x01\x00", 8), 0);
}

static void keeps_whole_items_of_truncated_files_on_request(void **state)
{
    (void)state;
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("f4.npy"), &n_byte);
    const char *path = io_file_of(bytes, 128 + 80 + 81); // 2 items and one byte
    io_assert_open_fails(npy, path, NULL, TESS_E_TRUNCATED,
                         "expected 240 bytes of data from byte 128 on, found 161; copy the file "
                         "again, or pass --allow-truncated to keep the first 2 of 3 items");
    tess_format_reader reader;
    assert_int_equal(npy->open(io_host(), path, NULL, 1, &reader), TESS_OK);
    assert_int_equal(reader.shape[0], 2);
    float two[40];
    assert_int_equal(npy->read(io_host(), &reader, 0, 2, two), TESS_OK);
    assert_true(two[39] == 39);
    npy->close(io_host(), &reader);

    path = io_file_of(bytes, 128 + 79);
    assert_int_equal(npy->open(io_host(), path, NULL, 1, &reader), TESS_E_TRUNCATED);
    assert_non_null(strstr(tess_last_error(), "not hold one whole item"));
    free(bytes);
}

static void refuses_every_prefix(void **state)
{
    (void)state;
    static const char *const names[] = {"f4.npy",     "f8_big_fortran.npy", "f4_v3.npy",
                                        "text_u.npy", "scalar.npy",         "c16_big.npy"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t n_byte = 0;
        uint8_t *bytes = io_slurp(io_golden(names[k]), &n_byte);
        for (size_t length = 0; length < n_byte; length++) {
            tess_format_reader reader;
            const char *path = io_file_of(bytes, length);
            const tess_status status = npy->open(io_host(), path, NULL, 0, &reader);
            if (status != TESS_E_TRUNCATED && status != TESS_E_FORMAT) {
                fail_msg("%s cut to %zu bytes: %s", names[k], length, tess_status_name(status));
            }
            (void)!io_exercise(npy, path);
        }
        free(bytes);
    }
}

static void survives_every_bit_flip(void **state)
{
    (void)state;
    static const char *const names[] = {"f4.npy", "f8_big_fortran.npy", "structured.npy"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t n_byte = 0;
        uint8_t *bytes = io_slurp(io_golden(names[k]), &n_byte);
        for (size_t bit = 0; bit < 8 * n_byte; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            (void)!io_exercise(npy, io_file_of(bytes, n_byte));
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(bytes);
    }
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int64_t k = 1;; k++) {
        tess_format_reader reader;
        io_fail_allocation(k);
        const tess_status status =
            npy->open(io_host(), io_golden("f4_fortran.npy"), NULL, 0, &reader);
        io_fail_allocation(0);
        if (status == TESS_OK) {
            npy->close(io_host(), &reader);
            assert_true(k > 3); // reader, header, block
            break;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        assert_int_equal(io_live_blocks(), 0);
    }
}

static void refuses_items_outside_the_array(void **state)
{
    (void)state;
    char dst[8];
    tess_format_reader reader = open_golden("f4.npy");
    assert_int_equal(npy->read(io_host(), &reader, 3, 1, dst), TESS_E_RANGE);
    assert_int_equal(npy->read(io_host(), &reader, -1, 1, dst), TESS_E_RANGE);
    assert_int_equal(npy->read(io_host(), &reader, 1, INT64_MAX, dst), TESS_E_RANGE);
    npy->close(io_host(), &reader);
}

static void writes_what_it_reads(void **state)
{
    (void)state;
    float data[6] = {0, 1, 2, 3, 4, NAN};
    const tess_format_writer_input input = {
        .dtype = TESS_F32,
        .rank = 2,
        .item_bytes = 4,
        .shape = {2, 3},
        .data = data,
        .data_bytes = sizeof data,
    };
    const char *path = io_scratch(".npy");
    assert_int_equal(npy->write(io_host(), path, &input), TESS_OK);
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(path, &n_byte);
    assert_int_equal(n_byte, 128 + 24);
    assert_memory_equal(bytes,
                        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                        "'shape': (2, 3), }  ",
                        70);
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, data, sizeof data);
    free(bytes);
    assert_int_equal(io_exercise(npy, path), TESS_OK);

    tess_format_writer_input bf16 = input;
    bf16.dtype = TESS_BF16;
    assert_int_equal(npy->write(io_host(), path, &bf16), TESS_E_DTYPE);
    assert_int_equal(npy->write(io_host(), "no/such/directory/x.npy", &input), TESS_E_CREATE);
}

// RLIMIT_FSIZE stands in for a full disk: the write comes up short, then fails.
static void tells_when_the_disk_is_full(void **state)
{
    (void)state;
    static char data[1 << 16];
    const tess_format_writer_input input = {.dtype = TESS_U8,
                                            .rank = 1,
                                            .item_bytes = 1,
                                            .shape = {sizeof data},
                                            .data = data,
                                            .data_bytes = sizeof data};
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small = {4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const tess_status status = npy->write(io_host(), io_scratch(".npy"), &input);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, TESS_E_IO);
    assert_non_null(strstr(tess_last_error(), "scratch.npy: cannot write"));
}

static void header_fits_the_largest_shape(void **state)
{
    (void)state;
    char buffer[TESS_NPY_HEADER_MAX_BYTES];
    const int64_t shape[6] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    const size_t n_byte =
        tess_npy_header_make(buffer, sizeof buffer, TESS_UCS4, 4000000000, 6, shape);
    assert_true(n_byte > 0);
    assert_int_equal(n_byte % 64, 0);
    assert_int_equal(tess_npy_header_make(buffer, 64, TESS_F32, 4, 1, shape), 0);
    assert_int_equal(tess_npy_header_make(buffer, sizeof buffer, TESS_F32, 4, 7, shape), 0);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_version_order_and_byte_order),
        cmocka_unit_test(reads_big_endian_fortran_f8),
        cmocka_unit_test(reads_fortran_order_of_five_axes),
        cmocka_unit_test(reads_fortran_order_larger_than_a_block),
        cmocka_unit_test(reads_complex_bytes_and_flags),
        cmocka_unit_test(reads_scalars_and_empty_arrays),
        cmocka_unit_test(reads_text),
        cmocka_unit_test(refuses_what_is_no_plain_array),
        cmocka_unit_test(lists_what_it_cannot_read),
        cmocka_unit_test(accepts_any_spacing_and_key_order),
        cmocka_unit_test(fortran_order_of_one_axis_is_direct),
        cmocka_unit_test(refuses_hostile_headers),
        cmocka_unit_test(refuses_other_versions_and_long_headers),
        cmocka_unit_test(keeps_whole_items_of_truncated_files_on_request),
        cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(survives_every_bit_flip),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(refuses_items_outside_the_array),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(tells_when_the_disk_is_full),
        cmocka_unit_test(header_fits_the_largest_shape),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
