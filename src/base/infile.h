// Files that are read while others may change them.
//
// What a read gives out is what the file held when it was opened, or an error: after the bytes were
// taken, size and times are compared with those at opening. Nothing is mapped: behind the new end
// of a file that was cut, a mapping ends the process with SIGBUS.
#ifndef TESS_BASE_INFILE_H
#define TESS_BASE_INFILE_H

#include "tessera/base.h"

#include <sys/stat.h>

// A regular file open for reading. path is borrowed and must outlive it.
typedef struct tess_infile {
    const char *path;
    int fd;             // -1: closed
    uint64_t bytes;     // size when it was opened
    struct stat opened; // everything about it then
} tess_infile;

// TESS_E_NOT_FOUND when the file is missing, unreadable, or no regular file.
TESS_MUST_CHECK tess_status tess_infile_open(const char *path, tess_infile *out);
// The same of a file that is open already; the descriptor is closed along with it.
TESS_MUST_CHECK tess_status tess_infile_adopt(const char *path, int fd, tess_infile *out);
// Accepts one that is closed.
void tess_infile_close(tess_infile *file);

// Exactly bytes at offset. TESS_E_TRUNCATED if the file always ended before; as check() if somebody
// wrote to it since it was opened. Any thread.
TESS_MUST_CHECK tess_status tess_infile_read(const tess_infile *file, void *dst, size_t bytes,
                                             uint64_t offset);

// TESS_E_CHANGED, saying how, if the file was cut, grew or was written to since it was opened. One
// that was moved, removed or replaced by another of its name is still there for who has it open.
TESS_MUST_CHECK tess_status tess_infile_check(const tess_infile *file);

// TESS_E_CHANGED if its name stands for another file by now: for those who open it again by name.
TESS_MUST_CHECK tess_status tess_infile_check_name(const tess_infile *file);

// Time of the last modification when it was opened.
int64_t tess_infile_mtime_ns(const tess_infile *file);

#endif
