// Which format reads or writes a file.
#include "base/infile.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/origin.h"
#include "runtime/source.h"
#include "runtime/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096 };

// Said before hours of work, not after: a format may need what is not installed.
static tess_status check(tess_context *ctx, const char *path, const tess_format *format)
{
    return format->check ? format->check(&ctx->host, path) : TESS_OK;
}

static tess_status read_head(const char *path, uint8_t head[HEAD_BYTES], size_t *n)
{
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    *n = file.bytes < HEAD_BYTES ? (size_t)file.bytes : HEAD_BYTES;
    const tess_status status = tess_infile_read(&file, head, *n, 0);
    tess_infile_close(&file);
    return status;
}

tess_status tess_format_of_file(tess_context *ctx, const char *path, const tess_format **format)
{
    uint8_t head[HEAD_BYTES];
    size_t n = 0;
    *format = NULL;
    TESS_TRY(read_head(path, head, &n));
    if (n == 0) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: is empty (0 bytes)", path);
    }
    for (int32_t i = 0; i < ctx->n_format; i++) {
        if (ctx->formats[i]->probe(head, n)) {
            *format = ctx->formats[i];
            return check(ctx, path, *format);
        }
    }
    TESS_FAIL(
        TESS_E_FORMAT,
        "%s: not a format Tessera reads (at byte 0 found %02x %02x %02x %02x); it reads .npy, "
        ".npz and HDF5",
        path, head[0], n > 1 ? head[1] : 0, n > 2 ? head[2] : 0, n > 3 ? head[3] : 0);
}

// 1 if path ends in one of the extensions of "a|b|c".
static bool has_extension(const char *path, const char *extensions)
{
    const char *dot = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    if (!dot || (slash && slash > dot)) {
        return false;
    }
    for (const char *e = extensions; *e;) {
        const size_t n = strcspn(e, "|");
        if (strlen(dot) == n && strncasecmp(dot, e, n) == 0) {
            return true;
        }
        e += n + (e[n] == '|');
    }
    return false;
}

tess_status tess_format_for_writing(tess_context *ctx, const char *path, const tess_format **format)
{
    *format = NULL;
    for (int32_t i = 0; i < ctx->n_format; i++) {
        if (ctx->formats[i]->write && has_extension(path, ctx->formats[i]->extensions)) {
            *format = ctx->formats[i];
            return check(ctx, path, *format);
        }
    }
    TESS_FAIL(TESS_E_ARGUMENT, "%s: unknown output format; end the name in .npy, .npz or .h5",
              path);
}

tess_status tess_file_list(tess_context *ctx, const char *path, const char **format,
                           tess_dataset_fn visit, void *user)
{
    tess_error_clear();
    const tess_format *table = NULL;
    TESS_TRY(tess_format_of_file(ctx, path, &table));
    *format = table->name;
    return table->list(&ctx->host, path, visit, user);
}

// Text that outlives the context's bookkeeping.
static tess_status hand_out(tess_context *ctx, char *text, size_t bytes, char **out)
{
    const tess_status status = tess_text_hand_out(text, out);
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_IO);
    return status;
}

// .npy has no room for metadata: it lies beside the file; that of a folder of them lies within.
static tess_status sidecar_provenance(tess_context *ctx, const char *path, const char *end,
                                      char **text)
{
    char sidecar[1056];
    snprintf(sidecar, sizeof sidecar, "%.1023s%s", path, end);
    if (access(sidecar, F_OK) != 0) {
        return TESS_OK;
    }
    tess_infile file;
    TESS_TRY(tess_infile_open(sidecar, &file));
    const uint64_t bytes = file.bytes;
    if (bytes > (16 << 20)) {
        tess_infile_close(&file);
        TESS_FAIL(TESS_E_FORMAT, "%s: too large for provenance (%llu bytes)", sidecar,
                  (unsigned long long)bytes);
    }
    char *buffer = tess_heap_alloc(&ctx->heap, (size_t)bytes + 1, TESS_TAG_IO, "provenance");
    tess_status status = buffer ? tess_infile_read(&file, buffer, (size_t)bytes, 0) : TESS_E_MEMORY;
    tess_infile_close(&file);
    if (status != TESS_OK) {
        tess_heap_free(&ctx->heap, buffer, (size_t)bytes + 1, TESS_TAG_IO);
        return status;
    }
    buffer[bytes] = '\0';
    return hand_out(ctx, buffer, (size_t)bytes + 1, text);
}

// The first bytes of a file, unpacked if they are packed.
static tess_status read_reach(tess_context *ctx, const tess_infile *file, char *reach, size_t *n)
{
    static const uint8_t gzip[2] = {0x1f, 0x8b};
    *n = file->bytes < TESS_ORIGIN_REACH ? (size_t)file->bytes : TESS_ORIGIN_REACH;
    TESS_TRY(tess_infile_read(file, reach, *n, 0));
    if (*n < sizeof gzip || memcmp(reach, gzip, sizeof gzip) != 0) {
        return TESS_OK;
    }
    tess_unpacker *unpacker = NULL;
    TESS_TRY(tess_unpacker_open(&ctx->heap, file, 0, file->bytes, &unpacker));
    const tess_status status = tess_unpacker_read(unpacker, reach, TESS_ORIGIN_REACH, n);
    tess_unpacker_close(unpacker);
    return status;
}

// Of files that are no arrays: pages, models, tables, recordings.
static tess_status embedded_provenance(tess_context *ctx, const char *path, char **text)
{
    tess_infile file;
    size_t n = 0;
    size_t length = 0;
    TESS_TRY(tess_infile_open(path, &file));
    char *reach = tess_heap_alloc(&ctx->heap, TESS_ORIGIN_REACH, TESS_TAG_IO, "provenance");
    tess_status status = reach ? read_reach(ctx, &file, reach, &n) : TESS_E_MEMORY;
    const char *found = status == TESS_OK ? tess_origin_find(reach, n, &length) : NULL;
    if (found) {
        *text = strndup(found, length);
        status = *text ? TESS_OK : tess_error_set(TESS_E_MEMORY, "no memory for provenance");
    }
    tess_heap_free(&ctx->heap, reach, TESS_ORIGIN_REACH, TESS_TAG_IO);
    tess_infile_close(&file);
    return status;
}

tess_status tess_file_provenance(tess_context *ctx, const char *path, char **text)
{
    tess_error_clear();
    *text = NULL;
    const tess_format *table = NULL;
    struct stat there;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) {
        return sidecar_provenance(ctx, path, "/provenance.json", text);
    }
    const tess_status known = tess_format_of_file(ctx, path, &table);
    if (known == TESS_E_FORMAT) {
        tess_error_clear();
        return embedded_provenance(ctx, path, text);
    }
    TESS_TRY(known);
    if (!table->provenance) {
        return sidecar_provenance(ctx, path, ".json", text);
    }
    char *found = NULL;
    size_t bytes = 0;
    TESS_TRY(table->provenance(&ctx->host, path, &found, &bytes));
    return found ? hand_out(ctx, found, bytes, text) : TESS_OK;
}
