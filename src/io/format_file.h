// Files as the built-in formats use them, on top of base/file.h.
#ifndef TESS_IO_FORMAT_FILE_H
#define TESS_IO_FORMAT_FILE_H

#include "tessera/base.h"

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
