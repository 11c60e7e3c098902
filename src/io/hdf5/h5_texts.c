// The texts of a data set, which the library keeps at fixed or at variable length.

#include "h5_heap.h"
#include "h5_support.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXTS = 65536, MAX_TEXT_BYTES = 65536 };

// The references of a data set that lies in one piece, as every writer keeps short lists of text.
static herr_t read_references(int fd, hid_t file, hid_t dataset, int64_t n, uint8_t *references)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    const hid_t file_creation = H5Fget_create_plist(file);
    size_t address_bytes = 0;
    size_t size_bytes = 0;
    hsize_t user_block = 1;
    const haddr_t offset = H5Dget_offset(dataset);
    const size_t bytes = (size_t)n * TESS_H5_REFERENCE_BYTES;
    const bool is_plain = H5Pget_layout(creation) == H5D_CONTIGUOUS && offset != HADDR_UNDEF &&
                          H5Pget_sizes(file_creation, &address_bytes, &size_bytes) >= 0 &&
                          address_bytes == 8 && size_bytes == 8 &&
                          H5Pget_userblock(file_creation, &user_block) >= 0 && user_block == 0;
    tess_h5_close_id(file_creation);
    tess_h5_close_id(creation);
    return is_plain && pread(fd, references, bytes, (off_t)offset) == (ssize_t)bytes ? 0 : -1;
}

static herr_t visit_variable(const char *path, hid_t file, hid_t dataset, int64_t n,
                             tess_text_fn visit, void *user)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *references = H5allocate_memory((size_t)n * TESS_H5_REFERENCE_BYTES, 1);
    char *text = H5allocate_memory(MAX_TEXT_BYTES, 1);
    herr_t result = fd >= 0 && references != NULL && text != NULL
                        ? read_references(fd, file, dataset, n, references)
                        : -1;
    for (int64_t i = 0; result >= 0 && i < n; i++) {
        if (!tess_h5_heap_text(fd, references + i * TESS_H5_REFERENCE_BYTES, text,
                               MAX_TEXT_BYTES)) {
            result = -1;
        } else if (visit(user, i, text) != 0) {
            break;
        }
    }
    H5free_memory(text);
    H5free_memory(references);
    if (fd >= 0) {
        close(fd);
    }
    return result;
}

static herr_t visit_fixed(hid_t dataset, hid_t type, int64_t n, tess_text_fn visit, void *user)
{
    const size_t width = H5Tget_size(type);
    char *texts = H5allocate_memory((size_t)n * width, 1);
    char *one = H5allocate_memory(width + 1, 1); // with the zero that a full item lacks
    herr_t result = texts != NULL && one != NULL
                        ? H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts)
                        : -1;
    for (int64_t i = 0; result >= 0 && i < n; i++) {
        memcpy(one, texts + (size_t)i * width, width);
        size_t used = strlen(one);
        while (H5Tget_strpad(type) == H5T_STR_SPACEPAD && used > 0 && one[used - 1] == ' ') {
            one[--used] = '\0';
        }
        if (visit(user, i, one) != 0) {
            break;
        }
    }
    H5free_memory(one);
    H5free_memory(texts);
    return result;
}

static tess_status visit_dataset(const tess_host *host, const char *path, const char *name,
                                 hid_t file, hid_t dataset, tess_text_fn visit, void *user)
{
    const hid_t type = H5Dget_type(dataset);
    const hid_t space = H5Dget_space(dataset);
    const int64_t n = H5Sget_simple_extent_npoints(space);
    const bool is_variable = H5Tis_variable_str(type) > 0;
    tess_status status = TESS_OK;
    if (H5Tget_class(type) != H5T_STRING) {
        status = host->fail(host->user, TESS_E_DTYPE, "%s: data set '%s' is not text", path, name);
    } else if (n < 0 || n > MAX_TEXTS || H5Tget_size(type) > MAX_TEXT_BYTES) {
        status =
            host->fail(host->user, TESS_E_SHAPE,
                       "%s: data set '%s' has %" PRId64 " texts of %zu bytes; at most %d of %d are "
                       "read",
                       path, name, n, H5Tget_size(type), (int)MAX_TEXTS, (int)MAX_TEXT_BYTES);
    } else if ((is_variable ? visit_variable(path, file, dataset, n, visit, user)
                            : visit_fixed(dataset, type, n, visit, user)) < 0) {
        H5Eclear2(H5E_DEFAULT);
        status =
            host->fail(host->user, TESS_E_FORMAT,
                       "%s: the texts of data set '%s' cannot be read; copy the file again, or "
                       "rewrite it with h5repack",
                       path, name);
    }
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return status;
}

tess_status tess_h5_texts(const tess_host *host, const char *path, const char *dataset,
                          tess_text_fn visit, void *user)
{
    hid_t file = -1;
    tess_h5_lock();
    tess_status status = tess_h5_open_file(host, path, &file);
    if (status == TESS_OK) {
        const hid_t access = tess_h5_dataset_access();
        const hid_t opened = H5Dopen2(file, dataset, access);
        tess_h5_close_id(access);
        status = opened >= 0
                     ? visit_dataset(host, path, dataset, file, opened, visit, user)
                     : tess_h5_fail(host, TESS_E_NOT_FOUND, path, "cannot open a data set of text");
        tess_h5_close_id(opened);
    }
    tess_h5_close_id(file);
    tess_h5_unlock();
    return status;
}
