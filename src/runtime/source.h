// The inside of a source: what the pipeline needs beyond the public calls.
#ifndef TESS_RUNTIME_SOURCE_H
#define TESS_RUNTIME_SOURCE_H

#include "base/hash.h"
#include "runtime/context.h"
#include "tessera/io.h"

// Shape, dtype and strides of the whole array; data NULL if it is neither in memory nor mapped.
void tess_source_array(const tess_source *source, tess_array *array);

// 1 for arrays of the caller, which cost the run no memory of its own.
int tess_source_in_memory(const tess_source *source);

// What reading may hold beyond the tiles: the format's caches.
uint64_t tess_source_held_bytes(const tess_source *source);

// Items first..first+count-1 without a copy. Only for sources in memory or mapped.
void tess_source_view(const tess_source *source, int64_t first, int64_t count, tess_array *view);

// As tess_source_read(), with the pool's threads where the data are in memory or mapped. For the
// pool's one caller only.
TESS_MUST_CHECK tess_status tess_source_read_with(tess_source *source, tess_pool *pool,
                                                  int64_t first, int64_t count, void *dst);

// Mapped files: brings the pages of a range in, so that a broken disk or a file cut short
// meanwhile is an error here and not a signal later; and gives them back. No-ops otherwise.
TESS_MUST_CHECK tess_status tess_source_populate(tess_source *source, int64_t first, int64_t count);
// The same for a stretch of bytes of the array, where items of the first axis are too large.
TESS_MUST_CHECK tess_status tess_source_populate_bytes(tess_source *source, uint64_t offset,
                                                       uint64_t n_byte);
void tess_source_release(tess_source *source, int64_t first, int64_t count);

// What tells this input from another: size, time and a hash of its first and last MiB.
TESS_MUST_CHECK tess_status tess_source_fingerprint(tess_source *source, tess_hash *hash);

// The format that recognises a file by its first bytes, loading the HDF5 module on demand.
TESS_MUST_CHECK tess_status tess_format_of_file(tess_context *ctx, const char *path,
                                                const tess_format **format);

// The format that writes files of this name.
TESS_MUST_CHECK tess_status tess_format_for_writing(tess_context *ctx, const char *path,
                                                    const tess_format **format);

#endif
