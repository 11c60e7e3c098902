// A driver of HDF5 that reads and writes the one file whose descriptor we were given. Nothing a
// file names beside itself (external links, virtual data sets) can be opened through it.

#include "helper.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct driver_file {
    H5FD_t base; // first: the library's own part
    int fd;
    haddr_t eoa;
    haddr_t eof;
} driver_file;

static hid_t driver_id = -1;
static int given = -1;
static bool is_open; // the library opens and closes more than once, but never two at a time
static tess_h5_place *watched;

static void note_error(const char *what)
{
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_NONE_MINOR,
             "cannot %s: %s", what, strerror(errno));
}

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t max_address)
{
    (void)name, (void)access, (void)max_address;
    struct stat info;
    if (is_open || given < 0 || fstat(given, &info) != 0) {
        return NULL;
    }
    if ((flags & H5F_ACC_TRUNC) != 0 && ftruncate(given, 0) != 0) {
        note_error("empty the file");
        return NULL;
    }
    driver_file *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->eof = (flags & H5F_ACC_TRUNC) != 0 ? 0 : (haddr_t)info.st_size;
    f->fd = given;
    is_open = true;
    return &f->base;
}

static herr_t close_file(H5FD_t *file)
{
    is_open = false;
    free(file);
    return 0;
}

static int compare(const H5FD_t *a, const H5FD_t *b)
{
    return (a > b) - (a < b);
}

// As the library's own driver for POSIX files, so that files come out the same.
static herr_t query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    if (flags != NULL) {
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_SUPPORTS_SWMR_IO |
                 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    }
    return 0;
}

static haddr_t get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)file)->eoa;
}

static herr_t set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((driver_file *)file)->eoa = address;
    return 0;
}

static haddr_t get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)file)->eof;
}

static bool is_noted(H5FD_mem_t type, haddr_t address, size_t n_byte)
{
    if (watched == NULL || type != H5FD_MEM_DRAW) {
        return false;
    }
    watched->offset = address;
    watched->bytes = n_byte;
    return true;
}

static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                         size_t n_byte, void *dst)
{
    (void)transfer;
    const int fd = ((driver_file *)file)->fd;
    if (address > INT64_MAX || n_byte > INT64_MAX - address) {
        return -1;
    }
    if (is_noted(type, address, n_byte)) {
        return 0;
    }
    for (size_t done = 0; done < n_byte;) {
        const ssize_t n = pread(fd, (char *)dst + done, n_byte - done, (off_t)(address + done));
        if (n < 0 && errno != EINTR) {
            note_error("read");
            return -1;
        }
        if (n == 0) { // beyond the end are zeros, as the library wants it
            memset((char *)dst + done, 0, n_byte - done);
            return 0;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t n_byte, const void *src)
{
    (void)transfer;
    driver_file *f = (driver_file *)file;
    if (address > INT64_MAX || n_byte > INT64_MAX - address) {
        return -1;
    }
    if (is_noted(type, address, n_byte)) {
        return 0;
    }
    for (size_t done = 0; done < n_byte;) {
        const ssize_t n =
            pwrite(f->fd, (const char *)src + done, n_byte - done, (off_t)(address + done));
        if (n < 0 && errno != EINTR) {
            note_error("write");
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    f->eof = address + n_byte > f->eof ? address + n_byte : f->eof;
    return 0;
}

static herr_t truncate_file(H5FD_t *file, hid_t transfer, hbool_t is_closing)
{
    (void)transfer, (void)is_closing;
    driver_file *f = (driver_file *)file;
    if (f->eoa == f->eof) {
        return 0;
    }
    if (ftruncate(f->fd, (off_t)f->eoa) != 0) {
        note_error("size the file");
        return -1;
    }
    f->eof = f->eoa;
    return 0;
}

bool tess_h5_driver_register(void)
{
    static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
        .version = H5FD_CLASS_VERSION,
        .value = (H5FD_class_value_t)600, // of those anybody may use
#endif
        .name = "tessera",
        .maxaddr = INT64_MAX,
        .fc_degree = H5F_CLOSE_STRONG,
        .open = open_file,
        .close = close_file,
        .cmp = compare,
        .query = query,
        .get_eoa = get_eoa,
        .set_eoa = set_eoa,
        .get_eof = get_eof,
        .read = read_bytes,
        .write = write_bytes,
        .truncate = truncate_file,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    driver_id = H5FDregister(&driver);
    return driver_id >= 0;
}

herr_t tess_h5_driver_use(hid_t access, int fd)
{
    given = fd;
    return H5Pset_driver(access, driver_id, NULL);
}

void tess_h5_driver_watch(tess_h5_place *place)
{
    watched = place;
}
