#include "runtime/checkpoint.h"

#include "base/hash.h"
#include "base/status.h"
#include "tessera/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MAGIC[8] = {'T', 'E', 'S', 'S', 'C', 'K', 'P', 'T'};
static const char TAIL_MAGIC[8] = {'T', 'E', 'S', 'S', 'T', 'A', 'I', 'L'};
static const char END_MARK[16] = {'T', 'E', 'S', 'S', 'E', 'R', 'A', '-',
                                  'C', 'K', 'P', 'T', '-', 'E', 'N', 'D'};
static const uint32_t BYTE_ORDER_MARK = 0x01020304;
static const uint64_t MAX_BLOCK = 4 << 20;
static const uint64_t MAX_FILE = UINT64_C(1) << 32; // state is small; bulk lives in the spool

typedef struct file_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t hash_kind;
    uint32_t reserved[7];
    tess_hash hash; // of the 48 bytes before
} file_header;

typedef struct block_header {
    char name[8];
    uint64_t bytes;
    tess_hash hash;
} block_header;

typedef struct file_trailer {
    char magic[8];
    uint64_t n_block;
    uint64_t file_bytes;
    uint64_t reserved;
    tess_hash hash; // of all block headers, in order
    char end[16];
} file_trailer;

_Static_assert(sizeof(file_header) == 64, "header layout");
_Static_assert(sizeof(block_header) == 32, "block layout");
_Static_assert(sizeof(file_trailer) == 64, "trailer layout");

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

static tess_status append(tess_checkpoint_writer *writer, const void *data, size_t bytes)
{
    TESS_TRY(tess_file_write_at(writer->file.fd, writer->file.path, data, bytes, writer->offset));
    writer->offset += bytes;
    return TESS_OK;
}

tess_status tess_checkpoint_create(tess_context *ctx, const char *path,
                                   tess_checkpoint_writer *writer)
{
    memset(writer, 0, sizeof *writer);
    writer->ctx = ctx;
    TESS_TRY(tess_temp_file_create(path, 0600, &writer->file));
    file_header header = {.version = TESS_CHECKPOINT_VERSION,
                          .byte_order = BYTE_ORDER_MARK,
                          .hash_kind = (uint32_t)tess_hash_default()};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.hash = tess_hash_bytes(tess_hash_default(), &header, offsetof(file_header, hash));
    const tess_status status = append(writer, &header, sizeof header);
    if (status != TESS_OK) {
        tess_checkpoint_discard(writer);
    }
    return status;
}

static tess_status remember_header(tess_checkpoint_writer *writer, const block_header *header)
{
    tess_heap *heap = &writer->ctx->heap;
    const size_t used = (size_t)writer->n_block * sizeof *header;
    if (used == writer->headers_bytes) {
        const size_t bytes = used > 0 ? 2 * used : 16 * sizeof *header;
        unsigned char *grown = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "checkpoint index");
        if (!grown) {
            return TESS_E_MEMORY;
        }
        if (used > 0) {
            memcpy(grown, writer->headers, used);
        }
        tess_heap_free(heap, writer->headers, writer->headers_bytes, TESS_TAG_IO);
        writer->headers = grown;
        writer->headers_bytes = bytes;
    }
    memcpy(writer->headers + used, header, sizeof *header);
    writer->n_block++;
    return TESS_OK;
}

tess_status tess_checkpoint_add(tess_checkpoint_writer *writer, const char *name, const void *data,
                                size_t bytes)
{
    static const char zeros[8] = {0};
    const unsigned char *next = data ? data : (const void *)zeros; // no bytes need no address
    do {
        const size_t piece = bytes < MAX_BLOCK ? bytes : (size_t)MAX_BLOCK;
        block_header header = {.bytes = piece};
        memcpy(header.name, name, strnlen(name, sizeof header.name));
        header.hash = tess_hash_bytes(tess_hash_default(), next, piece);
        TESS_TRY(remember_header(writer, &header));
        TESS_TRY(append(writer, &header, sizeof header));
        TESS_TRY(append(writer, next, piece));
        TESS_TRY(append(writer, zeros, (size_t)padded(piece) - piece));
        next += piece;
        bytes -= piece;
    } while (bytes > 0);
    return TESS_OK;
}

tess_status tess_checkpoint_commit(tess_checkpoint_writer *writer)
{
    file_trailer trailer = {.n_block = writer->n_block,
                            .file_bytes = writer->offset + sizeof trailer};
    memcpy(trailer.magic, TAIL_MAGIC, sizeof TAIL_MAGIC);
    memcpy(trailer.end, END_MARK, sizeof END_MARK);
    trailer.hash = tess_hash_bytes(tess_hash_default(), writer->headers,
                                   (size_t)writer->n_block * sizeof(block_header));
    tess_status status = append(writer, &trailer, sizeof trailer);
    if (status == TESS_OK) {
        status = tess_temp_file_commit(&writer->file, 1);
    }
    tess_checkpoint_discard(writer);
    return status;
}

void tess_checkpoint_discard(tess_checkpoint_writer *writer)
{
    tess_temp_file_discard(&writer->file);
    tess_heap_free(&writer->ctx->heap, writer->headers, writer->headers_bytes, TESS_TAG_IO);
    writer->headers = NULL;
    writer->headers_bytes = 0;
}

static tess_status check_header(const file_header *header, const char *path)
{
    if (memcmp(header->magic, MAGIC, sizeof MAGIC) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: not a checkpoint (byte 0)", path);
    }
    if (header->byte_order != BYTE_ORDER_MARK) {
        TESS_FAIL(TESS_E_FORMAT, "%s: written on a machine of the other byte order", path);
    }
    if (header->version > 0 && header->version < TESS_CHECKPOINT_VERSION) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: written by an earlier Tessera (checkpoint version %u, this one reads %d): "
                  "finish it with that one, or remove the folder to start afresh",
                  path, header->version, TESS_CHECKPOINT_VERSION);
    }
    if (header->version == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: checkpoint version 0: the file is damaged", path);
    }
    if (header->version > TESS_CHECKPOINT_VERSION) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: checkpoint version %u is newer than this library reads (%d): use the "
                  "Tessera that wrote it, or a newer one",
                  path, header->version, TESS_CHECKPOINT_VERSION);
    }
    if (!tess_hash_supported((tess_hash_kind)header->hash_kind)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: its checksums are of kind %u, which this build cannot verify (built without "
                  "xxHash?)",
                  path, header->hash_kind);
    }
    const tess_hash hash =
        tess_hash_bytes((tess_hash_kind)header->hash_kind, header, offsetof(file_header, hash));
    if (!tess_hash_equal(hash, header->hash)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: header damaged (byte 0 to 63)", path);
    }
    return TESS_OK;
}

static const block_header *block_at(const tess_checkpoint *checkpoint, uint64_t offset)
{
    return (const block_header *)(const void *)(checkpoint->bytes + offset);
}

// Padding carries nothing, so it must be zero: no byte of the file goes unchecked.
static bool padding_is_zero(const unsigned char *end_of_payload, uint64_t bytes)
{
    for (uint64_t i = bytes; i < padded(bytes); i++) {
        if (end_of_payload[i - bytes] != 0) {
            return false;
        }
    }
    return true;
}

// Walks all blocks; every length is checked before it is used.
static tess_status check_blocks(const tess_checkpoint *checkpoint, const char *path,
                                tess_hash_kind kind, uint64_t end, unsigned char *headers,
                                uint64_t n_block)
{
    uint64_t offset = sizeof(file_header);
    for (uint64_t i = 0; i < n_block; i++) {
        if (end - offset < sizeof(block_header)) {
            TESS_FAIL(TESS_E_TRUNCATED, "%s: block %llu is cut off at byte %llu", path,
                      (unsigned long long)i, (unsigned long long)offset);
        }
        const block_header *header = block_at(checkpoint, offset);
        if (header->bytes > MAX_BLOCK || padded(header->bytes) > end - offset - sizeof *header) {
            TESS_FAIL(TESS_E_FORMAT, "%s: block %llu has an impossible length (byte %llu)", path,
                      (unsigned long long)i, (unsigned long long)(offset + 8));
        }
        memcpy(headers + i * sizeof *header, header, sizeof *header);
        const unsigned char *payload = checkpoint->bytes + offset + sizeof *header;
        const tess_hash hash = tess_hash_bytes(kind, payload, (size_t)header->bytes);
        if (!tess_hash_equal(hash, header->hash) ||
            !padding_is_zero(payload + header->bytes, header->bytes)) {
            TESS_FAIL(TESS_E_FORMAT, "%s: block %llu is damaged (bytes %llu to %llu)", path,
                      (unsigned long long)i, (unsigned long long)(offset + sizeof *header),
                      (unsigned long long)(offset + sizeof *header + header->bytes));
        }
        offset += sizeof *header + padded(header->bytes);
    }
    if (offset != end) {
        TESS_FAIL(TESS_E_FORMAT, "%s: bytes %llu to %llu belong to no block", path,
                  (unsigned long long)offset, (unsigned long long)end);
    }
    return TESS_OK;
}

static tess_status check_all(tess_checkpoint *checkpoint, const char *path)
{
    const uint64_t n = checkpoint->n_bytes;
    if (n < sizeof(file_header) + sizeof(file_trailer)) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: %llu bytes are too few for a checkpoint", path,
                  (unsigned long long)n);
    }
    file_header header;
    file_trailer trailer;
    memcpy(&header, checkpoint->bytes, sizeof header);
    memcpy(&trailer, checkpoint->bytes + n - sizeof trailer, sizeof trailer);
    TESS_TRY(check_header(&header, path));
    if (memcmp(trailer.magic, TAIL_MAGIC, sizeof TAIL_MAGIC) != 0 ||
        memcmp(trailer.end, END_MARK, sizeof END_MARK) != 0 || trailer.file_bytes != n ||
        trailer.reserved != 0 || trailer.n_block > n / sizeof(block_header)) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: no valid trailer in the last 64 bytes: it was never "
                  "committed or has been cut",
                  path);
    }
    tess_heap *heap = &checkpoint->ctx->heap;
    const size_t bytes = (size_t)trailer.n_block * sizeof(block_header);
    unsigned char *headers = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "checkpoint index");
    if (!headers) {
        return TESS_E_MEMORY;
    }
    const tess_hash_kind kind = (tess_hash_kind)header.hash_kind;
    tess_status status =
        check_blocks(checkpoint, path, kind, n - sizeof trailer, headers, trailer.n_block);
    if (status == TESS_OK &&
        !tess_hash_equal(tess_hash_bytes(kind, headers, bytes), trailer.hash)) {
        status = tess_error_set(TESS_E_FORMAT, "%s: block index damaged (last 64 bytes)", path);
    }
    tess_heap_free(heap, headers, bytes, TESS_TAG_IO);
    checkpoint->n_block = trailer.n_block;
    return status;
}

tess_status tess_checkpoint_open(tess_context *ctx, const char *path, tess_checkpoint *out)
{
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    int fd = -1;
    uint64_t bytes = 0;
    int64_t mtime_ns = 0;
    TESS_TRY(tess_file_open_read(path, &fd, &bytes, &mtime_ns));
    tess_status status = TESS_OK;
    if (bytes > MAX_FILE) {
        status = tess_error_set(TESS_E_FORMAT, "%s: %llu bytes are too many for a checkpoint", path,
                                (unsigned long long)bytes);
    }
    if (status == TESS_OK) {
        out->bytes = tess_heap_alloc(&ctx->heap, (size_t)bytes, TESS_TAG_IO, "checkpoint");
        out->n_bytes = (size_t)bytes;
        status =
            out->bytes ? tess_file_read_at(fd, path, out->bytes, (size_t)bytes, 0) : TESS_E_MEMORY;
    }
    close(fd);
    if (status == TESS_OK) {
        status = check_all(out, path);
    }
    if (status != TESS_OK) {
        tess_checkpoint_close(out);
    }
    return status;
}

tess_status tess_checkpoint_read(tess_context *ctx, const void *bytes, size_t n_bytes,
                                 const char *path, tess_checkpoint *out)
{
    *out = (tess_checkpoint){.ctx = ctx, .n_bytes = n_bytes};
    out->bytes = tess_heap_alloc(&ctx->heap, n_bytes, TESS_TAG_IO, "checkpoint");
    if (!out->bytes) {
        return TESS_E_MEMORY;
    }
    memcpy(out->bytes, bytes, n_bytes);
    const tess_status status = check_all(out, path);
    if (status != TESS_OK) {
        tess_checkpoint_close(out);
    }
    return status;
}

void tess_checkpoint_close(tess_checkpoint *checkpoint)
{
    if (checkpoint->bytes) {
        tess_heap_free(&checkpoint->ctx->heap, checkpoint->bytes, checkpoint->n_bytes, TESS_TAG_IO);
    }
    memset(checkpoint, 0, sizeof *checkpoint);
}

// Calls of this after tess_checkpoint_open() may trust every length. dst NULL only counts.
static size_t gather(const tess_checkpoint *checkpoint, const char *name, unsigned char *dst)
{
    char key[8] = {0};
    memcpy(key, name, strnlen(name, sizeof key));
    uint64_t offset = sizeof(file_header);
    size_t total = 0;
    for (uint64_t i = 0; i < checkpoint->n_block; i++) {
        const block_header *header = block_at(checkpoint, offset);
        if (memcmp(header->name, key, sizeof key) == 0) {
            if (dst) {
                memcpy(dst + total, checkpoint->bytes + offset + sizeof *header,
                       (size_t)header->bytes);
            }
            total += (size_t)header->bytes;
        }
        offset += sizeof *header + padded(header->bytes);
    }
    return total;
}

size_t tess_checkpoint_size(const tess_checkpoint *checkpoint, const char *name)
{
    return gather(checkpoint, name, NULL);
}

tess_status tess_checkpoint_get(const tess_checkpoint *checkpoint, const char *name, void *dst,
                                size_t bytes)
{
    const size_t found = gather(checkpoint, name, NULL);
    if (found != bytes) {
        TESS_FAIL(TESS_E_FORMAT, "checkpoint: block '%.8s' has %zu bytes, expected %zu", name,
                  found, bytes);
    }
    gather(checkpoint, name, dst);
    return TESS_OK;
}

tess_status tess_checkpoint_describe(tess_context *ctx, const char *path, char **text)
{
    tess_error_clear();
    *text = NULL;
    tess_checkpoint checkpoint;
    TESS_TRY(tess_checkpoint_open(ctx, path, &checkpoint));
    const size_t bytes = tess_checkpoint_size(&checkpoint, "meta");
    tess_status status = TESS_OK;
    *text = malloc(bytes + 1);
    if (!*text) {
        status = tess_error_set(TESS_E_MEMORY, "cannot allocate %zu bytes for text", bytes + 1);
    } else {
        status = tess_checkpoint_get(&checkpoint, "meta", *text, bytes);
        (*text)[bytes] = '\0';
    }
    tess_checkpoint_close(&checkpoint);
    return status;
}
