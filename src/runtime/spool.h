// A spool: the output array as a plain .npy file that fills up tile by tile.
//
// It is what survives a crash: with a checkpoint it has a fixed name and is taken up again.
#ifndef TESS_RUNTIME_SPOOL_H
#define TESS_RUNTIME_SPOOL_H

#include "base/hash.h"
#include "runtime/context.h"

typedef struct tess_spool {
    int fd;    // -1: none
    bool keep; // close() leaves the file: a checkpoint refers to it
    uint64_t header_bytes;
    uint64_t data_bytes;
    uint64_t item_bytes; // of one item of the first axis
    char path[1024];
} tess_spool;

// A new file that is removed at close unless taken: beside its final name.
TESS_MUST_CHECK tess_status tess_spool_create(const char *final_path, const tess_array *shape,
                                              tess_spool *spool);
// A file of that very name, kept at close. resume 1: it must be there and of this shape.
TESS_MUST_CHECK tess_status tess_spool_open_kept(const char *path, const tess_array *shape,
                                                 int resume, tess_spool *spool);
TESS_MUST_CHECK tess_status tess_spool_write(tess_spool *spool, int64_t first, int64_t count,
                                             const void *src);
TESS_MUST_CHECK tess_status tess_spool_read(const tess_spool *spool, int64_t first, int64_t count,
                                            void *dst);
void tess_spool_close(tess_spool *spool);

#endif
