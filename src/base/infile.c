#include "base/infile.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int64_t in_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

tess_status tess_infile_open(const char *path, tess_infile *out)
{
    int fd = -1;
    uint64_t bytes = 0;
    *out = (tess_infile){.path = path, .fd = -1};
    TESS_TRY(tess_file_open_read(path, &fd, &bytes, NULL));
    return tess_infile_adopt(path, fd, out);
}

tess_status tess_infile_adopt(const char *path, int fd, tess_infile *out)
{
    *out = (tess_infile){.path = path, .fd = fd};
    if (fstat(fd, &out->opened) != 0) {
        tess_error_set(TESS_E_NOT_FOUND, "%s: cannot stat: %s", path, strerror(errno));
        tess_infile_close(out);
        return TESS_E_NOT_FOUND;
    }
    out->bytes = (uint64_t)out->opened.st_size;
    return TESS_OK;
}

void tess_infile_close(tess_infile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

tess_status tess_infile_read(const tess_infile *file, void *dst, size_t bytes, uint64_t offset)
{
    const tess_status status = tess_file_read_at(file->fd, file->path, dst, bytes, offset);
    if (status == TESS_OK || status == TESS_E_TRUNCATED) {
        TESS_TRY(tess_infile_check(file));
    }
    return status;
}

tess_status tess_infile_check(const tess_infile *file)
{
    struct stat now;
    if (fstat(file->fd, &now) != 0) {
        TESS_FAIL(TESS_E_IO, "%s: cannot stat: %s", file->path, strerror(errno));
    }
    const unsigned long long then_bytes = file->bytes;
    const unsigned long long now_bytes = (unsigned long long)now.st_size;
    if (now_bytes < then_bytes) {
        TESS_FAIL(TESS_E_CHANGED,
                  "%s: was cut from %llu to %llu bytes while it was being read; restore it and run "
                  "again",
                  file->path, then_bytes, now_bytes);
    }
    if (now_bytes > then_bytes) {
        TESS_FAIL(TESS_E_CHANGED,
                  "%s: grew from %llu to %llu bytes while it was being read; run again once nobody "
                  "writes to it any more",
                  file->path, then_bytes, now_bytes);
    }
    // Not the time of change: another name, owner, mode or attribute moves that as well.
    if (in_ns(now.st_mtim) != in_ns(file->opened.st_mtim)) {
        TESS_FAIL(TESS_E_CHANGED,
                  "%s: was written to while it was being read; run again once nobody writes to it "
                  "any more",
                  file->path);
    }
    return TESS_OK;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

tess_status tess_infile_check_name(const tess_infile *file)
{
    struct stat named;
    if (stat(file->path, &named) != 0 || !is_same_file(&named, &file->opened)) {
        TESS_FAIL(TESS_E_CHANGED, "%s: was replaced while it was being opened; run again",
                  file->path);
    }
    return TESS_OK;
}

int64_t tess_infile_mtime_ns(const tess_infile *file)
{
    return in_ns(file->opened.st_mtim);
}
