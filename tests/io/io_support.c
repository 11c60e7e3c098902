#include "io_support.h"

#include "base/status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_CHARS = 512, MAX_TILE_BYTES = 1 << 20 };

static atomic_llong n_live; // the HDF5 test allocates on several threads
static int64_t fail_in;
static char log_line[512];
static volatile unsigned sum; // makes the compiler keep the reads
static char scratch_directory[64] = "io_test_XXXXXX";

static tess_status stub_fail(void *user, tess_status status, const char *format, ...)
{
    (void)user;
    va_list args;
    va_start(args, format);
    tess_error_set_v(status, format, args);
    va_end(args);
    return status;
}

static void *stub_alloc(void *user, size_t bytes)
{
    (void)user;
    if (fail_in > 0 && --fail_in == 0) {
        tess_error_set(TESS_E_MEMORY, "no memory, as the test wished");
        return NULL;
    }
    // Exactly these bytes, so that ASan sees every byte beyond.
    void *block = malloc(bytes > 0 ? bytes : 1);
    n_live += block != NULL;
    return block;
}

static void stub_release(void *user, void *ptr, size_t bytes)
{
    (void)user;
    // A wrong size would be caught here by ASan.
    if (ptr != NULL) {
        memset(ptr, 0xdd, bytes);
        n_live--;
    }
    free(ptr);
}

static void stub_log(void *user, tess_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    va_list args;
    va_start(args, format);
    vsnprintf(log_line, sizeof log_line, format, args);
    va_end(args);
}

static tess_status stub_share(void *user, int64_t n_block, tess_job_fn job, void *arg)
{
    (void)user;
    tess_status status = TESS_OK;
    for (int64_t block = 0; block < n_block && status == TESS_OK; block++) {
        status = job(arg, block);
    }
    return status;
}

static const tess_host stub = {
    .struct_size = sizeof stub,
    .abi = TESS_MODULE_ABI,
    .fail = stub_fail,
    .alloc = stub_alloc,
    .release = stub_release,
    .log = stub_log,
    .memory_limit_bytes = 1 << 30,
    .n_thread = 3, // parts of a job, one after the other
    .share = stub_share,
};

const tess_host *io_host(void)
{
    return &stub;
}

int64_t io_live_blocks(void)
{
    return n_live;
}

void io_fail_allocation(int64_t k)
{
    fail_in = k;
}

const char *io_last_log(void)
{
    static char last[sizeof log_line];
    memcpy(last, log_line, sizeof last);
    log_line[0] = '\0';
    return last;
}

const char *io_golden(const char *name)
{
    static char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s/%s", TESS_GOLDEN_DIRECTORY, name);
    return path;
}

const char *io_scratch(const char *ending)
{
    static char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s/scratch%s", scratch_directory, ending);
    return path;
}

const char *io_file_of(const void *bytes, size_t n_byte)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        // In memory: the sweeps write tens of thousands of files.
        fd = memfd_create("io_test", MFD_CLOEXEC);
        assert_true(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bytes, n_byte, 0), n_byte);
    return path;
}

uint8_t *io_slurp(const char *path, size_t *n_byte)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n_byte = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*n_byte + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n_byte, file), *n_byte);
    fclose(file);
    return bytes;
}

void io_assert_open_fails(const tess_format *format, const char *path, const char *dataset,
                          tess_status status, const char *part)
{
    tess_format_reader reader;
    const tess_status got = format->open(&stub, path, dataset, 0, &reader);
    if (got != status || strstr(tess_last_error(), part) == NULL) {
        fail_msg("expected %s with '%s', got %s: %s", tess_status_name(status), part,
                 tess_status_name(got), tess_last_error());
    }
    assert_null(reader.impl);
    assert_int_equal(n_live, 0);
}

static int count_dataset(void *user, const tess_dataset_info *info)
{
    assert_non_null(info->name);
    assert_non_null(info->type_text);
    assert_in_range(info->rank, 0, TESS_MAX_RANK);
    ++*(int *)user;
    return 0;
}

// Touches every byte, so that a mapping too short shows.
static unsigned sum_bytes(const void *data, uint64_t n_byte)
{
    unsigned total = 0;
    for (uint64_t i = 0; i < n_byte; i++) {
        total += ((const uint8_t *)data)[i];
    }
    return total;
}

static tess_status read_tiles(const tess_format *format, tess_format_reader *reader)
{
    uint64_t row_bytes = (uint64_t)reader->item_bytes;
    for (int32_t axis = 1; axis < reader->rank; axis++) {
        row_bytes *= (uint64_t)reader->shape[axis];
    }
    const int64_t n_row = reader->rank > 0 ? reader->shape[0] : 1;
    if (row_bytes == 0 || row_bytes > MAX_TILE_BYTES) {
        return TESS_OK;
    }
    void *tile = malloc((size_t)row_bytes);
    assert_non_null(tile);
    tess_status status = TESS_OK;
    for (int64_t row = 0; row < n_row && status == TESS_OK; row++) {
        status = format->read(&stub, reader, row, 1, tile);
        sum = sum + (status == TESS_OK ? sum_bytes(tile, row_bytes) : 0);
    }
    free(tile);
    return status;
}

void io_assert_direct(const char *path, const tess_format_reader *reader, const void *bytes,
                      size_t n_byte)
{
    size_t all = 0;
    uint8_t *file = io_slurp(path, &all);
    assert_true(reader->direct_offset > 0 && reader->direct_offset + n_byte <= all);
    assert_memory_equal(file + reader->direct_offset, bytes, n_byte);
    free(file);
}

tess_status io_exercise(const tess_format *format, const char *path)
{
    int n_dataset = 0;
    tess_format_reader reader;
    char *text = NULL;
    size_t n_byte = 0;
    (void)!format->list(&stub, path, count_dataset, &n_dataset);
    if (format->provenance != NULL && format->provenance(&stub, path, &text, &n_byte) == TESS_OK &&
        text != NULL) {
        assert_int_equal(strlen(text) < n_byte, 1);
        stub.release(NULL, text, n_byte);
    }
    tess_status status = format->open(&stub, path, NULL, 1, &reader);
    if (status == TESS_OK) {
        status = read_tiles(format, &reader);
        format->close(&stub, &reader);
    }
    assert_null(reader.impl);
    assert_int_equal(n_live, 0);
    return status;
}

int io_setup(void **state)
{
    (void)state;
    return mkdtemp(scratch_directory) != NULL ? 0 : -1;
}

int io_teardown(void **state)
{
    (void)state;
    char command[PATH_CHARS];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_directory);
    return system(command);
}
