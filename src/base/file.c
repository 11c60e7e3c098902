#include "base/file.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// One write() may move at most 2 GiB; smaller pieces also keep cancellation prompt.
enum { MAX_PIECE = 64 << 20 };

static tess_status write_error(const char *path, const char *what)
{
    const int code = errno;
    const char *remedy = code == ENOSPC || code == EDQUOT ? "; free some space and run again" : "";
    return tess_error_set(TESS_E_IO, "%s: cannot %s: %s%s", path, what, strerror(code), remedy);
}

tess_status tess_file_open_read(const char *path, int *fd, uint64_t *bytes, int64_t *mtime_ns)
{
    *fd = -1;
    int opened;
    do {
        opened = open(path, O_RDONLY | O_CLOEXEC);
    } while (opened < 0 && errno == EINTR);
    if (opened < 0) {
        TESS_FAIL(TESS_E_NOT_FOUND, "%s: cannot open: %s", path, strerror(errno));
    }
    struct stat info;
    if (fstat(opened, &info) != 0) {
        tess_error_set(TESS_E_NOT_FOUND, "%s: cannot stat: %s", path, strerror(errno));
        close(opened);
        return TESS_E_NOT_FOUND;
    }
    if (!S_ISREG(info.st_mode)) {
        tess_error_set(TESS_E_NOT_FOUND, "%s: is not a regular file", path);
        close(opened);
        return TESS_E_NOT_FOUND;
    }
    *fd = opened;
    *bytes = (uint64_t)info.st_size;
    *mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    return TESS_OK;
}

tess_status tess_file_read_at(int fd, const char *path, void *dst, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        const size_t piece = bytes - done < MAX_PIECE ? bytes - done : MAX_PIECE;
        const ssize_t n = pread(fd, (char *)dst + done, piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            TESS_FAIL(TESS_E_IO, "%s: cannot read at byte %llu: %s", path,
                      (unsigned long long)(offset + done), strerror(errno));
        }
        if (n == 0) {
            TESS_FAIL(TESS_E_TRUNCATED, "%s: ends at byte %llu, %zu bytes more were expected", path,
                      (unsigned long long)(offset + done), bytes - done);
        }
        done += (size_t)n;
    }
    return TESS_OK;
}

tess_status tess_file_write_at(int fd, const char *path, const void *src, size_t bytes,
                               uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        const size_t piece = bytes - done < MAX_PIECE ? bytes - done : MAX_PIECE;
        const ssize_t n = pwrite(fd, (const char *)src + done, piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            if (n == 0) {
                errno = ENOSPC;
            }
            return write_error(path, "write");
        }
        done += (size_t)n;
    }
    return TESS_OK;
}

tess_status tess_file_sync(int fd, const char *path)
{
    // A failed sync is never tried again: the kernel may have dropped the pages already and would
    // report success the second time.
    return fdatasync(fd) == 0 ? TESS_OK : write_error(path, "sync to disk");
}

tess_status tess_temp_file_create(const char *final_path, unsigned mode, tess_temp_file *out)
{
    out->fd = -1;
    out->path[0] = '\0';
    if (snprintf(out->final_path, sizeof out->final_path, "%s", final_path) >=
        (int)sizeof out->final_path - 40) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", final_path);
    }
    for (unsigned attempt = 0; attempt < 16; attempt++) {
        const unsigned random = (unsigned)(tess_now_ns() >> 4) * 2654435761u + attempt;
        snprintf(out->path, sizeof out->path, "%s.tmp.%ld.%08x", final_path, (long)getpid(),
                 random);
        out->fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
        if (out->fd >= 0) {
            return TESS_OK;
        }
        if (errno != EEXIST && errno != EINTR) {
            break;
        }
    }
    out->path[0] = '\0';
    TESS_FAIL(TESS_E_CREATE, "%s: cannot create a file there: %s", final_path, strerror(errno));
}

static tess_status sync_directory_of(const char *path)
{
    char directory[1024];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof directory) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    snprintf(directory, sizeof directory, "%.*s", (int)n, path);
    const char *name = slash ? (n > 0 ? directory : "/") : ".";
    const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return write_error(name, "open the directory");
    }
    // Some file systems cannot sync directories; they say EINVAL, which is not a failure.
    const bool failed = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP;
    const tess_status status = failed ? write_error(name, "sync the directory") : TESS_OK;
    close(fd);
    return status;
}

tess_status tess_file_rename(const char *path, const char *final_path, int overwrite)
{
    if (!overwrite) {
        // link() fails if the name exists, which rename() would silently replace.
        if (link(path, final_path) == 0) {
            unlink(path);
            return sync_directory_of(final_path);
        }
        if (errno == EEXIST) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it",
                      final_path);
        }
        // No hard links here (FAT, some network mounts): fall through to rename.
        if (access(final_path, F_OK) == 0) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it",
                      final_path);
        }
    }
    if (rename(path, final_path) != 0) {
        return write_error(final_path, "give the finished file its name");
    }
    return sync_directory_of(final_path);
}

tess_status tess_temp_file_commit(tess_temp_file *file, int overwrite)
{
    tess_status status = tess_file_sync(file->fd, file->path);
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && status == TESS_OK) {
        status = write_error(file->path, "close");
    }
    if (status == TESS_OK) {
        status = tess_file_rename(file->path, file->final_path, overwrite);
    }
    if (status == TESS_OK) {
        file->path[0] = '\0';
    } else {
        tess_temp_file_discard(file);
    }
    return status;
}

void tess_temp_file_discard(tess_temp_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
    if (file->path[0]) {
        unlink(file->path);
        file->path[0] = '\0';
    }
}

tess_status tess_file_write_text(const char *path, const char *text, int overwrite)
{
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(path, 0666, &file));
    const tess_status status = tess_file_write_at(file.fd, file.path, text, strlen(text), 0);
    if (status != TESS_OK) {
        tess_temp_file_discard(&file);
        return status;
    }
    return tess_temp_file_commit(&file, overwrite);
}
