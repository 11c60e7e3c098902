// Deflated members through zlib, or as a whole.

#include "base/status.h"
#include "io/zip_unpack.h"
#include "io/zip_whole.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

// The packed side is read in large pieces; what a reader jumps over is unpacked into skipped[].
enum {
    PACKED_BYTES = 1 << 17,
    SKIPPED_BYTES = 1 << 15,
    SIZE_PREFIX_BYTES = 64,
    HEADER_BYTES = 1024, // an array's header: a listing reads no further
};

struct tess_inflater {
    const tess_host *host;
    const tess_zip *zip;
    const tess_zip_member *member;
    z_stream stream;
    uint64_t packed_at; // next byte of the member's packed data to read from the file
    uint64_t at;        // next unpacked byte
    tess_zip_check check;
    uint64_t whole_bytes; // that unpacking at once would take; 0: piece by piece
    uint8_t *whole;       // all unpacked bytes, once they are wanted
    uint8_t packed[PACKED_BYTES];
    uint8_t skipped[SKIPPED_BYTES];
};

// zlib frees without telling the size, which our allocator wants: it is kept in front.
static void *zlib_alloc(void *user, unsigned items, unsigned size)
{
    const tess_host *host = user;
    const size_t bytes = (size_t)items * size + SIZE_PREFIX_BYTES;
    char *block = host->alloc(host->user, bytes);
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &bytes, sizeof bytes);
    return block + SIZE_PREFIX_BYTES;
}

static void zlib_free(void *user, void *ptr)
{
    const tess_host *host = user;
    char *block = (char *)ptr - SIZE_PREFIX_BYTES;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    host->release(host->user, block, bytes);
}

tess_status tess_inflater_open(const tess_host *host, const tess_zip *zip,
                               const tess_zip_member *member, tess_inflater **out)
{
    *out = NULL;
    tess_inflater *inflater = host->alloc(host->user, sizeof *inflater);
    if (inflater == NULL) {
        return TESS_E_MEMORY;
    }
    memset(inflater, 0, sizeof *inflater);
    inflater->host = host;
    inflater->zip = zip;
    inflater->member = member;
    inflater->whole_bytes = tess_zip_whole_bytes(host, member);
    inflater->stream.zalloc = zlib_alloc;
    inflater->stream.zfree = zlib_free;
    // zlib hands the pointer back untouched to the two functions above, which take it as const.
    inflater->stream.opaque = (void *)(uintptr_t)host;
    // Negative: raw deflate data, without zlib's own header.
    if (inflateInit2(&inflater->stream, -MAX_WBITS) != Z_OK) {
        host->release(host->user, inflater, sizeof *inflater);
        return TESS_E_MEMORY;
    }
    *out = inflater;
    return TESS_OK;
}

void tess_inflater_close(tess_inflater *inflater)
{
    if (inflater == NULL) {
        return;
    }
    inflateEnd(&inflater->stream);
    const tess_host *host = inflater->host;
    if (inflater->whole != NULL) {
        host->release(host->user, inflater->whole, (size_t)inflater->member->bytes);
    }
    host->release(host->user, inflater, sizeof *inflater);
}

uint64_t tess_inflater_held_bytes(const tess_inflater *inflater)
{
    return inflater->whole_bytes;
}

static tess_status corrupt(const tess_inflater *f, const char *what)
{
    TESS_FAIL(TESS_E_FORMAT,
              "%s: byte %" PRIu64 ": member '%s': %s after %" PRIu64 " of %" PRIu64
              " unpacked bytes; copy the file again",
              f->zip->file.path, f->member->data_offset + f->packed_at - f->stream.avail_in,
              f->member->name, what, f->at, f->member->bytes);
}

static tess_status refill(tess_inflater *f)
{
    const uint64_t left = f->member->packed_bytes - f->packed_at;
    if (f->stream.avail_in > 0 || left == 0) {
        return TESS_OK;
    }
    const uint64_t piece = left < PACKED_BYTES ? left : PACKED_BYTES;
    TESS_TRY(tess_infile_read(&f->zip->file, f->packed, (size_t)piece,
                              f->member->data_offset + f->packed_at));
    f->stream.next_in = f->packed;
    f->stream.avail_in = (unsigned)piece;
    f->packed_at += piece;
    return TESS_OK;
}

// After the last byte nothing but the end mark may follow, else the directory lied about the size.
static tess_status check_end(tess_inflater *f)
{
    uint8_t spare;
    int result = Z_OK;
    while (result == Z_OK) {
        TESS_TRY(refill(f));
        f->stream.next_out = &spare;
        f->stream.avail_out = 1;
        result = inflate(&f->stream, Z_NO_FLUSH);
        if (f->stream.avail_out == 0) {
            return corrupt(f, "more data than the directory promises");
        }
    }
    return result == Z_STREAM_END ? TESS_OK : corrupt(f, "invalid end of compressed data");
}

// Unpacks the next bytes into dst, which must not reach past the member's end.
static tess_status unpack(tess_inflater *f, uint8_t *dst, size_t bytes)
{
    const uint64_t start = f->at;
    size_t done = 0;
    while (done < bytes) {
        TESS_TRY(refill(f));
        const size_t left = bytes - done;
        const unsigned piece = left < (1u << 30) ? (unsigned)left : 1u << 30;
        f->stream.next_out = dst + done;
        f->stream.avail_out = piece;
        const int result = inflate(&f->stream, Z_NO_FLUSH);
        const unsigned got = piece - f->stream.avail_out;
        done += got;
        f->at += got;
        if (result == Z_MEM_ERROR) {
            return TESS_E_MEMORY;
        }
        if (result != Z_OK && done < bytes) {
            return corrupt(f, result == Z_STREAM_END  ? "compressed data end"
                              : result == Z_BUF_ERROR ? "compressed data break off"
                                                      : "invalid compressed data");
        }
        if (result == Z_STREAM_END) {
            break;
        }
    }
    TESS_TRY(tess_zip_check_add(&f->check, f->host, f->zip, f->member, start, dst, bytes));
    return TESS_OK;
}

// Tried once: what cannot be unpacked at once is left to zlib, which says where it breaks.
static tess_status take_whole(tess_inflater *f)
{
    f->whole_bytes = 0;
    TESS_TRY(tess_zip_whole_unpack(f->host, f->zip, f->member, &f->whole));
    if (f->whole == NULL) {
        return TESS_OK;
    }
    const tess_status status =
        tess_zip_check_add(&f->check, f->host, f->zip, f->member, 0, f->whole, f->member->bytes);
    if (status != TESS_OK) {
        f->host->release(f->host->user, f->whole, (size_t)f->member->bytes);
        f->whole = NULL;
    }
    return status;
}

tess_status tess_inflater_read(tess_inflater *f, uint64_t offset, uint64_t bytes, void *dst)
{
    if (f->whole_bytes > 0 && offset + bytes > HEADER_BYTES) {
        TESS_TRY(take_whole(f));
    }
    if (f->whole != NULL) {
        memcpy(dst, f->whole + offset, (size_t)bytes);
        return TESS_OK;
    }
    if (offset < f->at) {
        // Reset cannot fail on a stream that was initialised.
        inflateReset(&f->stream);
        f->stream.avail_in = 0;
        f->packed_at = 0;
        f->at = 0;
    }
    while (f->at < offset) {
        const uint64_t gap = offset - f->at;
        TESS_TRY(unpack(f, f->skipped, gap < SKIPPED_BYTES ? (size_t)gap : SKIPPED_BYTES));
    }
    TESS_TRY(unpack(f, dst, (size_t)bytes));
    return bytes > 0 && f->at == f->member->bytes ? check_end(f) : TESS_OK;
}
