// Packing through zlib.

#include "base/file.h"
#include "base/status.h"
#include "runtime/pack.h"

#include <string.h>
#include <zlib.h>

enum {
    PACKED_BYTES = 1 << 17,
    SIZE_PREFIX_BYTES = 64,
    LEVEL = 2, // samples hardly shrink further, only slower
    PICTURE_LEVEL = 4,
    MEMORY_LEVEL = 8,
    GZIP = MAX_WBITS + 16,
};

struct tess_packer {
    tess_heap *heap;
    int fd;
    const char *path;
    uint64_t offset; // of the next packed byte
    z_stream stream;
    uint8_t packed[PACKED_BYTES];
};

// zlib frees without telling the size, which our allocator wants: it is kept in front.
static void *zlib_alloc(void *user, unsigned items, unsigned size)
{
    const size_t bytes = (size_t)items * size + SIZE_PREFIX_BYTES;
    char *block = tess_heap_alloc(user, bytes, TESS_TAG_IO, "packing");
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

tess_status tess_packer_open(tess_heap *heap, int fd, const char *path, tess_packer **out)
{
    *out = NULL;
    tess_packer *p = tess_heap_alloc_zero(heap, sizeof *p, TESS_TAG_IO, "packing");
    if (p == NULL) {
        return TESS_E_MEMORY;
    }
    p->heap = heap;
    p->fd = fd;
    p->path = path;
    p->stream.zalloc = zlib_alloc;
    p->stream.zfree = zlib_free;
    p->stream.opaque = heap;
    if (deflateInit2(&p->stream, LEVEL, Z_DEFLATED, GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        tess_heap_free(heap, p, sizeof *p, TESS_TAG_IO);
        return TESS_E_MEMORY;
    }
    *out = p;
    return TESS_OK;
}

// Packs what next_in holds and writes every full buffer; with Z_FINISH all of it.
static tess_status pack(tess_packer *p, int flush)
{
    int result;
    do {
        p->stream.next_out = p->packed;
        p->stream.avail_out = PACKED_BYTES;
        // Cannot fail on a stream that was initialised and has room to write to.
        result = deflate(&p->stream, flush);
        const size_t bytes = PACKED_BYTES - p->stream.avail_out;
        TESS_TRY(tess_file_write_at(p->fd, p->path, p->packed, bytes, p->offset));
        p->offset += bytes;
    } while (flush == Z_FINISH ? result == Z_OK : p->stream.avail_out == 0);
    return TESS_OK;
}

tess_status tess_packer_write(tess_packer *p, const void *src, size_t bytes)
{
    while (bytes > 0) {
        const size_t piece = bytes < (1u << 30) ? bytes : 1u << 30;
        // zlib only reads through this pointer.
        p->stream.next_in = (uint8_t *)(uintptr_t)src;
        p->stream.avail_in = (unsigned)piece;
        TESS_TRY(pack(p, Z_NO_FLUSH));
        src = (const char *)src + piece;
        bytes -= piece;
    }
    return TESS_OK;
}

tess_status tess_packer_finish(tess_packer *p)
{
    p->stream.avail_in = 0;
    return pack(p, Z_FINISH);
}

void tess_packer_close(tess_packer *p)
{
    if (p == NULL) {
        return;
    }
    deflateEnd(&p->stream);
    tess_heap_free(p->heap, p, sizeof *p, TESS_TAG_IO);
}

tess_status tess_pack_memory(tess_heap *heap, const uint8_t *src, size_t bytes, uint8_t **packed,
                             size_t *packed_bytes, size_t *room)
{
    z_stream stream = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = heap};
    *packed = NULL;
    if (bytes > 1u << 30) {
        TESS_FAIL(TESS_E_ARGUMENT, "%zu bytes are too many to pack in memory", bytes);
    }
    if (deflateInit(&stream, PICTURE_LEVEL) != Z_OK) {
        return TESS_E_MEMORY;
    }
    *room = deflateBound(&stream, bytes);
    *packed = tess_heap_alloc(heap, *room, TESS_TAG_IO, "packing");
    if (*packed) {
        // zlib only reads through next_in; the bound makes one call enough.
        stream.next_in = (uint8_t *)(uintptr_t)src;
        stream.avail_in = (unsigned)bytes;
        stream.next_out = *packed;
        stream.avail_out = (unsigned)*room;
        deflate(&stream, Z_FINISH);
        *packed_bytes = *room - stream.avail_out;
    }
    deflateEnd(&stream);
    return *packed ? TESS_OK : TESS_E_MEMORY;
}
