// Compressed stretches of files (zlib or gzip), unpacked front to back.
#ifndef TESS_RUNTIME_UNPACK_H
#define TESS_RUNTIME_UNPACK_H

#include "base/infile.h"
#include "base/memory.h"

typedef struct tess_unpacker tess_unpacker;

// Bytes offset..offset+packed_bytes-1 of an open file, borrowed until close.
// Several gzip members one after another are one stream. TESS_E_UNSUPPORTED where the library was
// built without zlib. *out is NULL after a failure.
TESS_MUST_CHECK tess_status tess_unpacker_open(tess_heap *heap, const tess_infile *file,
                                               uint64_t offset, uint64_t packed_bytes,
                                               tess_unpacker **out);
// The next bytes; *got is smaller only where the stream ends. TESS_E_FORMAT or TESS_E_TRUNCATED
// with file and offset when it is not sound.
TESS_MUST_CHECK tess_status tess_unpacker_read(tess_unpacker *unpacker, void *dst, size_t bytes,
                                               size_t *got);
// Safe on NULL.
void tess_unpacker_close(tess_unpacker *unpacker);

#endif
