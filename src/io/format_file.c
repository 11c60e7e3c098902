#include "io/format_file.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

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
