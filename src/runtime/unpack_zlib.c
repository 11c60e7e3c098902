// Unpacking through zlib.

#include "base/status.h"
#include "runtime/unpack.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

enum {
    PACKED_BYTES = 1 << 17,
    SIZE_PREFIX_BYTES = 64,
    GZIP_FIRST_BYTE = 0x1f,
    ZLIB_OR_GZIP = MAX_WBITS + 32, // zlib tells the two apart by their first bytes
};

struct tess_unpacker {
    tess_heap *heap;
    const tess_infile *file;
    uint64_t offset; // of the next packed byte to read from the file
    uint64_t left;   // packed bytes not read yet
    z_stream stream;
    bool at_end;
    uint8_t packed[PACKED_BYTES];
};

// zlib frees without telling the size, which our allocator wants: it is kept in front.
static void *zlib_alloc(void *user, unsigned items, unsigned size)
{
    const size_t bytes = (size_t)items * size + SIZE_PREFIX_BYTES;
    char *block = tess_heap_alloc(user, bytes, TESS_TAG_IO, "unpacking");
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &bytes, sizeof bytes);
    return block + SIZE_PREFIX_BYTES;
}

static void zlib_free(void *user, void *ptr)
{
    char *block = (char *)ptr - SIZE_PREFIX_BYTES;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    tess_heap_free(user, block, bytes, TESS_TAG_IO);
}

tess_status tess_unpacker_open(tess_heap *heap, const tess_infile *file, uint64_t offset,
                               uint64_t packed_bytes, tess_unpacker **out)
{
    *out = NULL;
    tess_unpacker *u = tess_heap_alloc_zero(heap, sizeof *u, TESS_TAG_IO, "unpacking");
    if (u == NULL) {
        return TESS_E_MEMORY;
    }
    u->heap = heap;
    u->file = file;
    u->offset = offset;
    u->left = packed_bytes;
    u->stream.zalloc = zlib_alloc;
    u->stream.zfree = zlib_free;
    u->stream.opaque = heap;
    if (inflateInit2(&u->stream, ZLIB_OR_GZIP) != Z_OK) {
        tess_heap_free(heap, u, sizeof *u, TESS_TAG_IO);
        return TESS_E_MEMORY;
    }
    *out = u;
    return TESS_OK;
}

void tess_unpacker_close(tess_unpacker *u)
{
    if (u == NULL) {
        return;
    }
    inflateEnd(&u->stream);
    tess_heap_free(u->heap, u, sizeof *u, TESS_TAG_IO);
}

static tess_status refill(tess_unpacker *u)
{
    if (u->stream.avail_in > 0 || u->left == 0) {
        return TESS_OK;
    }
    const size_t piece = u->left < PACKED_BYTES ? (size_t)u->left : PACKED_BYTES;
    TESS_TRY(tess_infile_read(u->file, u->packed, piece, u->offset));
    u->stream.next_in = u->packed;
    u->stream.avail_in = (unsigned)piece;
    u->offset += piece;
    u->left -= piece;
    return TESS_OK;
}

static tess_status unsound(const tess_unpacker *u, int result)
{
    const uint64_t at = u->offset - u->stream.avail_in;
    if (result == Z_MEM_ERROR) {
        return TESS_E_MEMORY;
    }
    if (result == Z_BUF_ERROR) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: byte %" PRIu64 ": compressed data break off; copy the file again",
                  u->file->path, at);
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: byte %" PRIu64 ": invalid compressed data (%s); copy the file again",
              u->file->path, at, u->stream.msg != NULL ? u->stream.msg : "unknown");
}

tess_status tess_unpacker_read(tess_unpacker *u, void *dst, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes && !u->at_end) {
        TESS_TRY(refill(u));
        const size_t wanted = bytes - *got;
        const unsigned piece = wanted < (1u << 30) ? (unsigned)wanted : 1u << 30;
        u->stream.next_out = (uint8_t *)dst + *got;
        u->stream.avail_out = piece;
        const int result = inflate(&u->stream, Z_NO_FLUSH);
        *got += piece - u->stream.avail_out;
        if (result == Z_STREAM_END) {
            TESS_TRY(refill(u));
            // Another gzip member may follow; anything else behind the stream is not ours.
            u->at_end = u->stream.avail_in == 0 || u->stream.next_in[0] != GZIP_FIRST_BYTE;
            if (!u->at_end) {
                inflateReset(&u->stream);
            }
        } else if (result != Z_OK) {
            return unsound(u, result);
        }
    }
    return TESS_OK;
}
