#include "fuzz_file.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A reader that honours the file's size never needs more than this for the inputs we give.
enum { MAX_BLOCK_BYTES = 256 << 20, MAX_TILE_BYTES = 1 << 22, MAX_TILES = 64 };

static int64_t n_live;
static volatile unsigned sum; // makes the compiler keep the reads

static tess_status host_fail(void *user, tess_status status, const char *format, ...)
{
    (void)user;
    va_list args;
    va_start(args, format);
    tess_error_set_v(status, format, args);
    va_end(args);
    return status;
}

static void *host_alloc(void *user, size_t bytes)
{
    (void)user;
    if (bytes > MAX_BLOCK_BYTES) {
        fprintf(stderr, "a reader asked for %zu bytes\n", bytes);
        abort();
    }
    n_live++;
    return malloc(bytes > 0 ? bytes : 1);
}

static void host_release(void *user, void *ptr, size_t bytes)
{
    (void)user;
    if (ptr != NULL) {
        memset(ptr, 0xdd, bytes); // ASan sees a wrong size
        n_live--;
    }
    free(ptr);
}

static void host_log(void *user, tess_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

static tess_status host_share(void *user, int64_t n_block, tess_job_fn job, void *arg)
{
    (void)user;
    tess_status status = TESS_OK;
    for (int64_t block = 0; block < n_block && status == TESS_OK; block++) {
        status = job(arg, block);
    }
    return status;
}

const tess_host *fuzz_host(void)
{
    static const tess_host host = {
        .struct_size = sizeof host,
        .abi = TESS_MODULE_ABI,
        .fail = host_fail,
        .alloc = host_alloc,
        .release = host_release,
        .log = host_log,
        .memory_limit_bytes = 64 << 20,
        .n_thread = 3,
        .share = host_share,
    };
    return &host;
}

void fuzz_check_leaks(void)
{
    if (n_live != 0) {
        fprintf(stderr, "%lld blocks were not given back\n", (long long)n_live);
        abort();
    }
}

const char *fuzz_file_of(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        perror("fuzz_file_of");
        abort();
    }
    return path;
}

static int visit(void *user, const tess_dataset_info *info)
{
    size_t *n = user;
    if (info->rank < 0 || info->rank > TESS_MAX_RANK) {
        abort();
    }
    *n += strlen(info->name) + strlen(info->type_text);
    return *n > 100000;
}

static unsigned touch(const void *data, uint64_t bytes)
{
    unsigned total = 0;
    for (uint64_t i = 0; i < bytes; i += 61) {
        total += ((const uint8_t *)data)[i];
    }
    return bytes > 0 ? total + ((const uint8_t *)data)[bytes - 1] : total;
}

static void read_tiles(const tess_format *format, tess_format_reader *reader, uint64_t file_bytes)
{
    const int64_t n_item = reader->rank > 0 ? reader->shape[0] : 1;
    uint64_t row_bytes = (uint64_t)reader->item_bytes;
    for (int32_t axis = 1; axis < reader->rank; axis++) {
        row_bytes *= (uint64_t)reader->shape[axis];
    }
    if (reader->direct_offset > 0 &&
        (reader->direct_offset > file_bytes ||
         (uint64_t)n_item * row_bytes > file_bytes - reader->direct_offset)) {
        abort(); // more is promised than the file has
    }
    if (row_bytes == 0 || row_bytes > MAX_TILE_BYTES) {
        return;
    }
    const int64_t step = n_item / MAX_TILES + 1;
    if ((uint64_t)step * row_bytes > MAX_TILE_BYTES) {
        return;
    }
    void *tile = malloc((size_t)((uint64_t)step * row_bytes));
    for (int64_t first = 0; first < n_item; first += step) {
        const int64_t count = n_item - first < step ? n_item - first : step;
        if (format->read(fuzz_host(), reader, first, count, tile) != TESS_OK) {
            break;
        }
        sum = sum + touch(tile, (uint64_t)count * row_bytes);
    }
    // Backwards, too.
    (void)!format->read(fuzz_host(), reader, 0, n_item > 0 ? 1 : 0, tile);
    free(tile);
}

void fuzz_format(const tess_format *format, const uint8_t *data, size_t size)
{
    const char *path = fuzz_file_of(data, size);
    size_t n_char = 0;
    char *text = NULL;
    size_t text_bytes = 0;
    (void)!format->list(fuzz_host(), path, visit, &n_char);
    if (format->provenance != NULL &&
        format->provenance(fuzz_host(), path, &text, &text_bytes) == TESS_OK && text != NULL) {
        n_char += strlen(text);
        fuzz_host()->release(NULL, text, text_bytes);
    }
    for (int allow_truncated = 0; allow_truncated < 2; allow_truncated++) {
        tess_format_reader reader;
        const char *dataset = allow_truncated ? "x" : NULL;
        if (format->open(fuzz_host(), path, format->provenance ? dataset : NULL, allow_truncated,
                         &reader) == TESS_OK) {
            read_tiles(format, &reader, size);
            format->close(fuzz_host(), &reader);
        }
    }
    fuzz_check_leaks();
}
