// Without zlib nothing is unpacked.

#include "base/status.h"
#include "runtime/unpack.h"

tess_status tess_unpacker_open(tess_heap *heap, const tess_infile *file, uint64_t offset,
                               uint64_t packed_bytes, tess_unpacker **out)
{
    (void)heap;
    (void)offset;
    (void)packed_bytes;
    *out = NULL;
    TESS_FAIL(
        TESS_E_UNSUPPORTED,
        "%s: compressed; this library was built without zlib: unpack the file first, or build "
        "again with zlib's development package installed",
        file->path);
}

tess_status tess_unpacker_read(tess_unpacker *unpacker, void *dst, size_t bytes, size_t *got)
{
    (void)unpacker;
    (void)dst;
    (void)bytes;
    *got = 0;
    TESS_FAIL(TESS_E_UNSUPPORTED, "built without zlib");
}

void tess_unpacker_close(tess_unpacker *unpacker)
{
    (void)unpacker;
}
