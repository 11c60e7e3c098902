// A spool: the output array as a plain .npy file that fills up tile by tile.
//
// It is what survives a crash: with a checkpoint it has a fixed name and is taken up again.
#ifndef TESS_RUNTIME_SPOOL_H
#define TESS_RUNTIME_SPOOL_H

#include "base/hash.h"
#include "runtime/context.h"
#include "tessera/sys/format.h"

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
// Bytes of the data. TESS_E_IO if somebody cut the file.
TESS_MUST_CHECK tess_status tess_spool_read_bytes(const tess_spool *spool, uint64_t offset,
                                                  uint64_t bytes, void *dst);
// Lets a format read the array from the spool, which must outlive the input.
void tess_spool_input(const tess_spool *spool, tess_format_writer_input *input);
// Before the file itself becomes the result: TESS_E_IO if it is not as long as it should be.
TESS_MUST_CHECK tess_status tess_spool_check(const tess_spool *spool);
void tess_spool_close(tess_spool *spool);

#endif
