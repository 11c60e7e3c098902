// The inside of a source: what the pipeline needs beyond the public calls.
#ifndef TESS_RUNTIME_SOURCE_H
#define TESS_RUNTIME_SOURCE_H

#include "base/hash.h"
#include "base/infile.h"
#include "runtime/context.h"
#include "tessera/io.h"

// Shape, dtype and strides of the whole array; data NULL for files.
void tess_source_array(const tess_source *source, tess_array *array);

// 1 for arrays of the caller, which cost the run no memory of its own.
int tess_source_in_memory(const tess_source *source);

// What reading may hold beyond the tiles: the format's caches.
uint64_t tess_source_held_bytes(const tess_source *source);

// Items first..first+count-1 without a copy. Only for sources in memory.
void tess_source_view(const tess_source *source, int64_t first, int64_t count, tess_array *view);

// As tess_source_read(), with the pool's threads where the data are in memory or lie in the file as
// they are. For the pool's one caller only.
TESS_MUST_CHECK tess_status tess_source_read_with(tess_source *source, tess_pool *pool,
                                                  int64_t first, int64_t count, void *dst);

// Whether the array lies in a file as it is delivered: then any stretch of its bytes can be read,
// by any thread.
bool tess_source_is_direct(const tess_source *source);
TESS_MUST_CHECK tess_status tess_source_read_bytes(const tess_source *source, uint64_t offset,
                                                   uint64_t n_byte, void *dst);

// TESS_E_CHANGED if the file is not any more what it was when it was opened. Every read looks, too:
// this is for what was computed since.
TESS_MUST_CHECK tess_status tess_source_check(const tess_source *source);

// The file as it was opened; NULL for memory.
const tess_infile *tess_source_file(const tess_source *source);

// What tells this input from another: size, time and a hash of its first and last MiB.
TESS_MUST_CHECK tess_status tess_source_fingerprint(tess_source *source, tess_hash *hash);

// The format that recognises a file by its first bytes, loading the HDF5 module on demand.
TESS_MUST_CHECK tess_status tess_format_of_file(tess_context *ctx, const char *path,
                                                const tess_format **format);

// The format that writes files of this name.
TESS_MUST_CHECK tess_status tess_format_for_writing(tess_context *ctx, const char *path,
                                                    const tess_format **format);

#endif
