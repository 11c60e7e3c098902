#include "runtime/spool.h"

#include "base/file.h"
#include "base/npy_header.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_CAPACITY = 1024 };

// Header text of the final array; sets the sizes.
static tess_status make_header(const tess_array *shape, tess_spool *spool,
                               char header[HEADER_CAPACITY])
{
    const size_t n = tess_npy_header_make(header, HEADER_CAPACITY, (tess_dtype)shape->dtype,
                                          shape->item_bytes, shape->rank, shape->shape);
    if (n == 0) {
        TESS_FAIL(TESS_E_DTYPE, "output: %s cannot be written to .npy",
                  tess_dtype_name((tess_dtype)shape->dtype));
    }
    spool->header_bytes = n;
    spool->item_bytes = (uint64_t)shape->item_bytes;
    for (int32_t i = 1; i < shape->rank; i++) {
        spool->item_bytes *= (uint64_t)shape->shape[i];
    }
    spool->data_bytes = spool->item_bytes * (uint64_t)shape->shape[0];
    return TESS_OK;
}

static tess_status write_header(tess_spool *spool, const char *header)
{
    TESS_TRY(tess_file_write_at(spool->fd, spool->path, header, (size_t)spool->header_bytes, 0));
    // The full length at once: a hole where nothing was written yet, and a full disk shows early
    // on file systems that reserve.
    return tess_file_resize(spool->fd, spool->path, spool->header_bytes + spool->data_bytes);
}

tess_status tess_spool_create(const char *final_path, const tess_array *shape, tess_spool *spool)
{
    char header[HEADER_CAPACITY];
    memset(spool, 0, sizeof *spool);
    spool->fd = -1;
    TESS_TRY(make_header(shape, spool, header));
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(final_path, 0666, &file));
    spool->fd = file.fd;
    memcpy(spool->path, file.path, sizeof spool->path);
    const tess_status status = write_header(spool, header);
    if (status != TESS_OK) {
        tess_spool_close(spool);
    }
    return status;
}

// An existing spool must be exactly the one this run would have made.
static tess_status check_kept(const tess_spool *spool, const char *header)
{
    char found[HEADER_CAPACITY];
    struct stat info;
    if (fstat(spool->fd, &info) != 0) {
        TESS_FAIL(TESS_E_IO, "%s: cannot stat: %s", spool->path, strerror(errno));
    }
    const uint64_t expected = spool->header_bytes + spool->data_bytes;
    if ((uint64_t)info.st_size != expected) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: has %lld bytes, the checkpoint expects %llu", spool->path,
                  (long long)info.st_size, (unsigned long long)expected);
    }
    TESS_TRY(tess_file_read_at(spool->fd, spool->path, found, (size_t)spool->header_bytes, 0));
    if (memcmp(found, header, (size_t)spool->header_bytes) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: is of another shape or type than this run's output",
                  spool->path);
    }
    return TESS_OK;
}

tess_status tess_spool_open_kept(const char *path, const tess_array *shape, int resume,
                                 tess_spool *spool)
{
    char header[HEADER_CAPACITY];
    memset(spool, 0, sizeof *spool);
    spool->fd = -1;
    TESS_TRY(make_header(shape, spool, header));
    if (snprintf(spool->path, sizeof spool->path, "%s", path) >= (int)sizeof spool->path) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    if (!resume) {
        unlink(path); // whatever bears the name: a link would lead elsewhere
    }
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (resume ? 0 : O_CREAT | O_EXCL);
    do {
        spool->fd = open(path, flags, 0600);
    } while (spool->fd < 0 && errno == EINTR);
    if (spool->fd < 0) {
        TESS_FAIL(resume ? TESS_E_MISMATCH : TESS_E_CREATE, "%s: cannot open: %s", path,
                  strerror(errno));
    }
    spool->keep = true;
    const tess_status status = resume ? check_kept(spool, header) : write_header(spool, header);
    if (status != TESS_OK) {
        spool->keep = resume != 0;
        tess_spool_close(spool);
    }
    return status;
}

tess_status tess_spool_write(tess_spool *spool, int64_t first, int64_t count, const void *src)
{
    return tess_file_write_at(spool->fd, spool->path, src,
                              (size_t)(spool->item_bytes * (uint64_t)count),
                              spool->header_bytes + spool->item_bytes * (uint64_t)first);
}

tess_status tess_spool_read(const tess_spool *spool, int64_t first, int64_t count, void *dst)
{
    return tess_spool_read_bytes(spool, spool->item_bytes * (uint64_t)first,
                                 spool->item_bytes * (uint64_t)count, dst);
}

// Nobody but us should write there: what comes up short is no fault of the user's data.
static tess_status was_cut(const tess_spool *spool)
{
    TESS_FAIL(TESS_E_IO, "%s: was cut while it was in use; run again", spool->path);
}

tess_status tess_spool_read_bytes(const tess_spool *spool, uint64_t offset, uint64_t bytes,
                                  void *dst)
{
    const tess_status status =
        tess_file_read_at(spool->fd, spool->path, dst, (size_t)bytes, spool->header_bytes + offset);
    return status == TESS_E_TRUNCATED ? was_cut(spool) : status;
}

static tess_status read_input(void *self, uint64_t offset, uint64_t bytes, void *dst)
{
    return tess_spool_read_bytes(self, offset, bytes, dst);
}

void tess_spool_input(const tess_spool *spool, tess_format_writer_input *input)
{
    input->data = NULL;
    input->read = read_input;
    input->self = (void *)(uintptr_t)spool; // only read from
}

tess_status tess_spool_check(const tess_spool *spool)
{
    struct stat info;
    const bool is_whole = fstat(spool->fd, &info) == 0 &&
                          (uint64_t)info.st_size == spool->header_bytes + spool->data_bytes;
    return is_whole ? TESS_OK : was_cut(spool);
}

void tess_spool_close(tess_spool *spool)
{
    if (spool->fd >= 0) {
        close(spool->fd);
        spool->fd = -1;
        if (!spool->keep) {
            unlink(spool->path);
        }
    }
}
