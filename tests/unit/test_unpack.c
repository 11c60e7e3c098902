#include "base/file.h"
#include "runtime/context.h"
#include "runtime/unpack.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// "front to back, " forty times as a zlib stream; the same as a gzip member, and "and on." as
// another.
static const uint8_t packed[] = {0x78, 0xda, 0x4b, 0x2b, 0xca, 0xcf, 0x2b, 0x51, 0x28, 0xc9,
                                 0x57, 0x48, 0x4a, 0x4c, 0xce, 0xd6, 0x51, 0x48, 0x1b, 0xe5,
                                 0x8e, 0x72, 0xa9, 0xc1, 0x05, 0x00, 0xf3, 0x32, 0xce, 0x69};
static const uint8_t member[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b,
                                 0x2b, 0xca, 0xcf, 0x2b, 0x51, 0x28, 0xc9, 0x57, 0x48, 0x4a, 0x4c,
                                 0xce, 0xd6, 0x51, 0x48, 0x1b, 0xe5, 0x8e, 0x72, 0xa9, 0xc1, 0x05,
                                 0x00, 0x37, 0xb8, 0xd9, 0xb5, 0x58, 0x02, 0x00, 0x00};
static const uint8_t other[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                0x03, 0x4b, 0xcc, 0x4b, 0x51, 0xc8, 0xcf, 0xd3, 0x03,
                                0x00, 0x4d, 0x4f, 0xf0, 0x2a, 0x07, 0x00, 0x00, 0x00};

enum { N_REPEAT = 40, N_UNPACKED = 15 * N_REPEAT };

static void unpacked(char *text)
{
    for (int i = 0; i < N_REPEAT; i++) {
        memcpy(text + 15 * i, "front to back, ", 15);
    }
}

// Reads a stretch of a file in pieces; returns the status of the first that fails.
static tess_status read_all(tess_context *ctx, const void *bytes, size_t n, size_t offset,
                            size_t piece, char *dst, size_t capacity, size_t *n_read)
{
    const char *path = unit_path("packed");
    tess_infile file;
    tess_unpacker *unpacker = NULL;
    unit_write_file(path, bytes, n);
    assert_ok(tess_infile_open(path, &file));
    tess_status status =
        tess_unpacker_open(&ctx->heap, &file, offset, file.bytes - offset, &unpacker);
    if (status == TESS_E_UNSUPPORTED) {
        tess_infile_close(&file);
        skip();
    }
    size_t got = 1;
    *n_read = 0;
    while (status == TESS_OK && got > 0 && *n_read < capacity) {
        const size_t wanted = capacity - *n_read < piece ? capacity - *n_read : piece;
        status = tess_unpacker_read(unpacker, dst + *n_read, wanted, &got);
        *n_read += got;
    }
    tess_unpacker_close(unpacker);
    tess_infile_close(&file);
    return status;
}

static void streams_are_unpacked(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    char want[N_UNPACKED + 7];
    char got[2048];
    size_t n = 0;
    uint8_t file[1024] = "xyz";
    unpacked(want);
    memcpy(want + N_UNPACKED, "and on.", 7);
    for (size_t piece = 1; piece < 1000; piece += 37) {
        memcpy(file + 3, packed, sizeof packed);
        assert_ok(read_all(ctx, file, 3 + sizeof packed, 3, piece, got, sizeof got, &n));
        assert_int_equal(n, N_UNPACKED);
        assert_memory_equal(got, want, n);
        // Two members are one stream; padding behind them is nobody's.
        memcpy(file, member, sizeof member);
        memcpy(file + sizeof member, other, sizeof other);
        memset(file + sizeof member + sizeof other, 0, 8);
        for (size_t padding = 0; padding <= 8; padding += 8) {
            assert_ok(read_all(ctx, file, sizeof member + sizeof other + padding, 0, piece, got,
                               sizeof got, &n));
            assert_int_equal(n, N_UNPACKED + 7);
            assert_memory_equal(got, want, n);
        }
    }
    tess_context_destroy(ctx);
}

static void unsound_streams_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    char got[2048];
    size_t n = 0;
    for (size_t cut = 0; cut < sizeof packed; cut++) {
        assert_fails(read_all(ctx, packed, cut, 0, 100, got, sizeof got, &n), TESS_E_TRUNCATED,
                     "compressed data break off");
    }
    uint8_t copy[sizeof member];
    memcpy(copy, member, sizeof member);
    copy[sizeof member - 6] ^= 1; // the checksum
    assert_fails(read_all(ctx, copy, sizeof copy, 0, 100, got, sizeof got, &n), TESS_E_FORMAT,
                 "invalid compressed data");
    assert_fails(read_all(ctx, "not packed at all", 17, 0, 100, got, sizeof got, &n), TESS_E_FORMAT,
                 "packed: byte");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_unpacked),
        cmocka_unit_test(unsound_streams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
