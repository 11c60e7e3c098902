// The texts of a data set, which the library keeps at fixed or at variable length.

#include "h5_support.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_TEXTS = 65536, MAX_TEXT_BYTES = 65536 };

static herr_t visit_variable(hid_t dataset, hid_t type, hid_t space, int64_t n, tess_text_fn visit,
                             void *user)
{
    char **texts = H5allocate_memory((size_t)n * sizeof *texts, 1);
    herr_t result =
        texts != NULL ? H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) : -1;
    for (int64_t i = 0; result >= 0 && i < n; i++) {
        if (visit(user, i, texts[i] != NULL ? texts[i] : "") != 0) {
            break;
        }
    }
    if (result >= 0) {
        result = H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    }
    H5free_memory(texts);
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
                                 hid_t dataset, tess_text_fn visit, void *user)
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
    } else if ((is_variable ? visit_variable(dataset, type, space, n, visit, user)
                            : visit_fixed(dataset, type, n, visit, user)) < 0) {
        status = tess_h5_fail(host, TESS_E_FORMAT, path, "cannot read a text");
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
                     ? visit_dataset(host, path, dataset, opened, visit, user)
                     : tess_h5_fail(host, TESS_E_NOT_FOUND, path, "cannot open a data set of text");
        tess_h5_close_id(opened);
    }
    tess_h5_close_id(file);
    tess_h5_unlock();
    return status;
}
