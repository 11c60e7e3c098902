// Files as the built-in formats use them, on top of base/file.h.
#ifndef TESS_IO_FORMAT_FILE_H
#define TESS_IO_FORMAT_FILE_H

#include "tessera/base.h"

// A regular file open for reading. path is borrowed and must outlive it.
typedef struct tess_infile {
    const char *path;
    int fd;         // -1: closed
    uint64_t bytes; // size when it was opened
} tess_infile;

TESS_MUST_CHECK tess_status tess_infile_open(const char *path, tess_infile *out);
void tess_infile_close(tess_infile *file);

// A range of a file mapped read-only. The mapping starts at a page boundary, data at the offset
// asked for.
typedef struct tess_filemap {
    void *base;
    size_t mapped_bytes;
    const void *data;
} tess_filemap;

TESS_MUST_CHECK tess_status tess_filemap_open(const tess_infile *file, uint64_t offset,
                                              uint64_t bytes, tess_filemap *out);
void tess_filemap_close(tess_filemap *map);

// A file written front to back. path is borrowed.
typedef struct tess_outfile {
    const char *path;
    int fd;
    uint64_t bytes; // written so far
} tess_outfile;

// Truncates what is there: the name is the caller's temporary one.
TESS_MUST_CHECK tess_status tess_outfile_create(const char *path, tess_outfile *out);
TESS_MUST_CHECK tess_status tess_outfile_write(tess_outfile *file, const void *src, uint64_t bytes);
// Closes; status is how writing went and wins over a failure to close. Syncing is left to the
// commit of the temporary file.
TESS_MUST_CHECK tess_status tess_outfile_finish(tess_outfile *file, tess_status status);

#endif
