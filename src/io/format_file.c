#include "io/format_file.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

tess_status tess_infile_open(const char *path, tess_infile *out)
{
    *out = (tess_infile){.path = path, .fd = -1};
    int64_t mtime_ns = 0;
    return tess_file_open_read(path, &out->fd, &out->bytes, &mtime_ns);
}

void tess_infile_close(tess_infile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

tess_status tess_filemap_open(const tess_infile *file, uint64_t offset, uint64_t bytes,
                              tess_filemap *out)
{
    *out = (tess_filemap){0};
    if (bytes == 0) {
        // mmap refuses empty ranges, and an empty array still needs a base.
        out->data = "";
        return TESS_OK;
    }
    const uint64_t lead = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t mapped = bytes + lead;
    if (mapped > SIZE_MAX) {
        TESS_FAIL(TESS_E_LIMIT, "%s: %" PRIu64 " bytes do not fit this machine's address space",
                  file->path, mapped);
    }
    void *base =
        mmap(NULL, (size_t)mapped, PROT_READ, MAP_SHARED, file->fd, (off_t)(offset - lead));
    if (base == MAP_FAILED) {
        TESS_FAIL(TESS_E_IO, "%s: cannot map %" PRIu64 " bytes: %s", file->path, mapped,
                  strerror(errno));
    }
    *out = (tess_filemap){base, (size_t)mapped, (const char *)base + lead};
    return TESS_OK;
}

void tess_filemap_close(tess_filemap *map)
{
    if (map->base != NULL) {
        munmap(map->base, map->mapped_bytes);
    }
    *map = (tess_filemap){0};
}

tess_status tess_outfile_create(const char *path, tess_outfile *out)
{
    *out = (tess_outfile){.path = path};
    do {
        out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    } while (out->fd < 0 && errno == EINTR);
    if (out->fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create: %s; choose a directory you may write to", path,
                  strerror(errno));
    }
    return TESS_OK;
}

tess_status tess_outfile_write(tess_outfile *file, const void *src, uint64_t bytes)
{
    TESS_TRY(tess_file_write_at(file->fd, file->path, src, (size_t)bytes, file->bytes));
    file->bytes += bytes;
    return TESS_OK;
}

tess_status tess_outfile_finish(tess_outfile *file, tess_status status)
{
    const int fd = file->fd;
    file->fd = -1;
    // Interrupted or not, the descriptor is closed.
    if (fd >= 0 && close(fd) != 0 && errno != EINTR && status == TESS_OK) {
        TESS_FAIL(TESS_E_IO, "%s: cannot close: %s; free some space and run again", file->path,
                  strerror(errno));
    }
    return status;
}
