// The checkpoint container: named blocks of plain numbers, checksummed, written atomically.
//
// Layout (little-endian):
//   header   64 bytes   magic "TESSCKPT", version, byte order mark, hash kind, hash of the header
//   block    32 bytes   name[8], payload length, hash of the payload; then the payload, padded to 8
//   ...                 a value longer than 4 MiB takes several blocks of the same name
//   trailer  64 bytes   "TESSTAIL", number of blocks, file length, hash over all block headers,
//                       "TESSERA-CKPT-END"
// A file without a valid trailer was never committed. docs/formats has the same in full.
#ifndef TESS_RUNTIME_CHECKPOINT_H
#define TESS_RUNTIME_CHECKPOINT_H

#include "base/file.h"
#include "runtime/context.h"

enum { TESS_CHECKPOINT_VERSION = 2 };

typedef struct tess_checkpoint_writer {
    tess_context *ctx;
    tess_temp_file file;
    uint64_t offset;
    uint64_t n_block;
    unsigned char *headers; // block headers so far: their hash closes the file
    size_t headers_bytes;
} tess_checkpoint_writer;

TESS_MUST_CHECK tess_status tess_checkpoint_create(tess_context *ctx, const char *path,
                                                   tess_checkpoint_writer *writer);
// name has up to 8 characters. bytes may be 0.
TESS_MUST_CHECK tess_status tess_checkpoint_add(tess_checkpoint_writer *writer, const char *name,
                                                const void *data, size_t bytes);
// Makes the file durable under its name.
TESS_MUST_CHECK tess_status tess_checkpoint_commit(tess_checkpoint_writer *writer);
void tess_checkpoint_discard(tess_checkpoint_writer *writer);

// A whole checkpoint in memory, every checksum verified.
typedef struct tess_checkpoint {
    tess_context *ctx;
    unsigned char *bytes;
    size_t n_bytes;
    uint64_t n_block;
} tess_checkpoint;

// TESS_E_FORMAT or TESS_E_TRUNCATED with file, offset and what is wrong.
TESS_MUST_CHECK tess_status tess_checkpoint_open(tess_context *ctx, const char *path,
                                                 tess_checkpoint *out);
// The same from bytes that somebody else read, which are copied; path: for messages.
TESS_MUST_CHECK tess_status tess_checkpoint_read(tess_context *ctx, const void *bytes,
                                                 size_t n_bytes, const char *path,
                                                 tess_checkpoint *out);
void tess_checkpoint_close(tess_checkpoint *checkpoint);

// Bytes stored under a name; 0 if there is no such name.
size_t tess_checkpoint_size(const tess_checkpoint *checkpoint, const char *name);
// Copies exactly bytes of that name into dst; TESS_E_FORMAT if the size differs.
TESS_MUST_CHECK tess_status tess_checkpoint_get(const tess_checkpoint *checkpoint, const char *name,
                                                void *dst, size_t bytes);

#endif
