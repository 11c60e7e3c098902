// Files: calls that survive EINTR and short counts, and outputs that appear complete or not at all.
//
// Messages name the file, what was tried and the system's reason.
#ifndef TESS_BASE_FILE_H
#define TESS_BASE_FILE_H

#include "tessera/base.h"

// TESS_E_NOT_FOUND when the file is missing or unreadable. *fd is -1 after failure.
// mtime_ns may be NULL.
TESS_MUST_CHECK tess_status tess_file_open_read(const char *path, int *fd, uint64_t *bytes,
                                                int64_t *mtime_ns);

// Exactly bytes at offset; TESS_E_TRUNCATED if the file ends before.
TESS_MUST_CHECK tess_status tess_file_read_at(int fd, const char *path, void *dst, size_t bytes,
                                              uint64_t offset);
// TESS_E_IO with a remedy on a full disk.
TESS_MUST_CHECK tess_status tess_file_write_at(int fd, const char *path, const void *src,
                                               size_t bytes, uint64_t offset);

// Asks for these bytes to go to the disk soon; says nothing of whether they do.
void tess_file_begin_sync(int fd, uint64_t offset, uint64_t bytes);

// A file under a temporary name in the directory of its final one.
typedef struct tess_temp_file {
    int fd;          // -1: closed
    char path[1024]; // as tess_temp_name() makes it
    char final_path[1024];
} tess_temp_file;

// mode 0600 for private state, 0666 (less the umask) for results. Sweeps what killed processes left
// of the same file.
TESS_MUST_CHECK tess_status tess_temp_file_create(const char *final_path, unsigned mode,
                                                  tess_temp_file *out);
// fdatasync, close, rename, fsync of the directory. On failure the temporary is removed and the
// old file, if any, is untouched. Without overwrite an existing file is TESS_E_EXISTS.
TESS_MUST_CHECK tess_status tess_temp_file_commit(tess_temp_file *file, int overwrite);
// Closes and removes what was not committed. Safe to call twice.
void tess_temp_file_discard(tess_temp_file *file);

// "<final>.tmp.<pid>.<host and number>": a name beside the final one that no other process and no
// other call gives. TESS_E_CREATE where it is too long.
TESS_MUST_CHECK tess_status tess_temp_name(const char *final_path, char *name, size_t capacity);

// Removes files and folders of such names, of final_path and of files named after it
// (final_path.json ...), whose process is gone from this machine: what a killed run left.
void tess_temp_file_sweep(const char *final_path);

// Renames path to final_path as above, for files written elsewhere (the directory is synced).
TESS_MUST_CHECK tess_status tess_file_rename(const char *path, const char *final_path,
                                             int overwrite);
TESS_MUST_CHECK tess_status tess_file_sync(int fd, const char *path);
// posix_fallocate() from the file's start on, counting what files that were just replaced leave.
int tess_file_reserve(int fd, uint64_t bytes);
// What the disk of a folder has room for, counting what files that were just replaced leave.
TESS_MUST_CHECK tess_status tess_file_disk_free(const char *folder, uint64_t *bytes);
TESS_MUST_CHECK tess_status tess_file_resize(int fd, const char *path, uint64_t bytes);

// A whole small file, or text, written atomically.
TESS_MUST_CHECK tess_status tess_file_write_whole(const char *path, const void *bytes, size_t n,
                                                  int overwrite);
TESS_MUST_CHECK tess_status tess_file_write_text(const char *path, const char *text, int overwrite);

// TESS_E_ARGUMENT if output is the very file that input names, by whatever name or link: no result
// takes the place of what it is made from. input NULL or "": there is none.
TESS_MUST_CHECK tess_status tess_file_check_distinct(const char *input, const char *output);

// Makes a folder and every folder on the way to it, as far as they are not there.
TESS_MUST_CHECK tess_status tess_file_make_folders(const char *path);

#endif
