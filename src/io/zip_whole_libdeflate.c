// libdeflate unpacks twice as fast as zlib, but only if it has all of the packed and room for all
// of the unpacked bytes.
#include "base/status.h"
#include "io/zip_whole.h"

#include <libdeflate.h>

enum {
    LEAST_BYTES = 4096, // what is smaller is soon unpacked anyhow
    LIMIT_SHARE = 8,
};

uint64_t tess_zip_whole_bytes(const tess_host *host, const tess_zip_member *member)
{
    const uint64_t most = host->memory_limit_bytes / LIMIT_SHARE;
    if (member->bytes < LEAST_BYTES || member->bytes > most ||
        member->packed_bytes > most - member->bytes) {
        return 0;
    }
    return member->bytes + member->packed_bytes;
}

static void unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *whole, size_t bytes,
                   bool *is_sound)
{
    *is_sound = false;
    struct libdeflate_decompressor *tables = libdeflate_alloc_decompressor();
    if (tables != NULL) {
        // Without a place for the number of bytes exactly these must come out.
        *is_sound = libdeflate_deflate_decompress(tables, packed, packed_bytes, whole, bytes,
                                                  NULL) == LIBDEFLATE_SUCCESS;
        libdeflate_free_decompressor(tables);
    }
}

tess_status tess_zip_whole_unpack(const tess_host *host, const tess_zip *zip,
                                  const tess_zip_member *member, uint8_t **whole)
{
    const size_t packed_bytes = (size_t)member->packed_bytes;
    const size_t bytes = (size_t)member->bytes;
    bool is_sound = false;
    uint8_t *packed = host->alloc(host->user, packed_bytes);
    *whole = packed != NULL ? host->alloc(host->user, bytes) : NULL;
    tess_status status = TESS_E_MEMORY;
    if (*whole != NULL) {
        status = tess_infile_read(&zip->file, packed, packed_bytes, member->data_offset);
    }
    if (status == TESS_OK) {
        unpack(packed, packed_bytes, *whole, bytes, &is_sound);
    }
    if (packed != NULL) {
        host->release(host->user, packed, packed_bytes);
    }
    if (*whole != NULL && !is_sound) {
        host->release(host->user, *whole, bytes);
        *whole = NULL;
    }
    return status;
}
