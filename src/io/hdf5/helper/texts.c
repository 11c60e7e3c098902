// The texts of a data set, which the library keeps at fixed or at variable length.

#include "heap.h"
#include "helper.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXTS = 65536, MAX_TEXT_BYTES = 65536 };

// The references of a data set that lies in one piece, as every writer keeps short lists of text.
static herr_t read_references(hid_t dataset, int64_t n, uint8_t *references)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    const hid_t file_creation = H5Fget_create_plist(tess_h5_now.file);
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
    return is_plain && pread(tess_h5_now.fd, references, bytes, (off_t)offset) == (ssize_t)bytes
               ? 0
               : -1;
}

static void send_text(const char *text)
{
    tess_h5_put_text(tess_h5_answer(strlen(text) + 8), text);
    tess_h5_send_answer(TESS_H5_ITEM);
}

static herr_t send_variable(hid_t dataset, int64_t n)
{
    uint8_t *references = H5allocate_memory((size_t)n * TESS_H5_REFERENCE_BYTES, 1);
    char *text = H5allocate_memory(MAX_TEXT_BYTES, 1);
    herr_t result =
        references != NULL && text != NULL ? read_references(dataset, n, references) : -1;
    for (int64_t i = 0; result >= 0 && i < n; i++) {
        if (tess_h5_heap_text(tess_h5_now.fd, references + i * TESS_H5_REFERENCE_BYTES, text,
                              MAX_TEXT_BYTES)) {
            send_text(text);
        } else {
            result = -1;
        }
    }
    H5free_memory(text);
    H5free_memory(references);
    return result;
}

static herr_t send_fixed(hid_t dataset, hid_t type, int64_t n)
{
    const size_t width = H5Tget_size(type);
    char *texts = H5allocate_memory((size_t)n * width, 1);
    char *one = H5allocate_memory(width + 1, 1); // with the zero that a full item lacks
    const herr_t result = texts != NULL && one != NULL
                              ? H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts)
                              : -1;
    for (int64_t i = 0; result >= 0 && i < n; i++) {
        memcpy(one, texts + (size_t)i * width, width);
        size_t used = strlen(one);
        while (H5Tget_strpad(type) == H5T_STR_SPACEPAD && used > 0 && one[used - 1] == ' ') {
            one[--used] = '\0';
        }
        send_text(one);
    }
    H5free_memory(one);
    H5free_memory(texts);
    return result;
}

static tess_status send_texts(const char *name, hid_t dataset)
{
    const hid_t type = H5Dget_type(dataset);
    const hid_t space = H5Dget_space(dataset);
    const int64_t n = H5Sget_simple_extent_npoints(space);
    const char *path = tess_h5_now.path;
    tess_status status = TESS_OK;
    if (H5Tget_class(type) != H5T_STRING) {
        status = tess_h5_refuse(TESS_E_DTYPE, "%s: data set '%s' is not text", path, name);
    } else if (n < 0 || n > MAX_TEXTS || H5Tget_size(type) > MAX_TEXT_BYTES) {
        status = tess_h5_refuse(
            TESS_E_SHAPE,
            "%s: data set '%s' has %" PRId64 " texts of %zu bytes; at most %d of %d are read", path,
            name, n, H5Tget_size(type), (int)MAX_TEXTS, (int)MAX_TEXT_BYTES);
    } else if (n > 0 && (H5Tis_variable_str(type) > 0 ? send_variable(dataset, n)
                                                      : send_fixed(dataset, type, n)) < 0) {
        H5Eclear2(H5E_DEFAULT);
        status = tess_h5_refuse(TESS_E_FORMAT,
                                "%s: the texts of data set '%s' cannot be read; copy the file "
                                "again, or rewrite it with h5repack",
                                path, name);
    }
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return status;
}

tess_status tess_h5_answer_texts(tess_h5_message *question)
{
    const char *name = tess_h5_get_text(question);
    const hid_t access = tess_h5_dataset_access();
    const hid_t dataset = name != NULL ? H5Dopen2(tess_h5_now.file, name, access) : -1;
    tess_h5_close_id(access);
    const tess_status status =
        dataset >= 0 ? send_texts(name, dataset)
                     : tess_h5_fail(TESS_E_NOT_FOUND, "cannot open a data set of text");
    tess_h5_close_id(dataset);
    return status;
}
