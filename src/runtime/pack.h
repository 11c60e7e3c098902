// Compression: a gzip file written front to back, and blocks in memory.
#ifndef TESS_RUNTIME_PACK_H
#define TESS_RUNTIME_PACK_H

#include "base/memory.h"

typedef struct tess_packer tess_packer;

// Packed bytes go to fd from its start; fd and path are borrowed until close. The header names no
// file and no time: the same bytes give the same file. TESS_E_UNSUPPORTED where the library was
// built without zlib. *out is NULL after a failure.
TESS_MUST_CHECK tess_status tess_packer_open(tess_heap *heap, int fd, const char *path,
                                             tess_packer **out);
TESS_MUST_CHECK tess_status tess_packer_write(tess_packer *packer, const void *src, size_t bytes);
// The end of the stream; nothing may follow.
TESS_MUST_CHECK tess_status tess_packer_finish(tess_packer *packer);
// Safe on NULL.
void tess_packer_close(tess_packer *packer);

// A zlib stream of bytes in memory; without zlib its blocks are stored as they are, so that any
// reader takes them. *packed is from the heap (tag IO) with room for *room bytes, of which
// *packed_bytes count.
TESS_MUST_CHECK tess_status tess_pack_memory(tess_heap *heap, const uint8_t *src, size_t bytes,
                                             uint8_t **packed, size_t *packed_bytes, size_t *room);

#endif
