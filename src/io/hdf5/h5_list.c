// Walking the data sets of a file. Every object is visited once, links out of the file and soft
// links are not followed, so loops cannot trap the walk.

#include "h5_support.h"

#include <stdio.h>
#include <string.h>

typedef struct walk {
    hid_t file;
    tess_h5_path_fn visit;
    void *user;
    bool is_too_deep;
} walk;

static int depth_of(const char *name)
{
    int depth = 1;
    for (; *name != '\0'; name++) {
        depth += *name == '/';
    }
    return depth;
}

static herr_t visit_object(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    (void)root;
    walk *w = user;
    if (depth_of(name) > TESS_H5_MAX_DEPTH) {
        w->is_too_deep = true;
        return -1;
    }
    if (info->type != H5O_TYPE_DATASET) {
        return 0;
    }
    char path[1024];
    if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) {
        return 0; // no name we could hand on
    }
    return w->visit(w->user, w->file, path) != 0 ? 1 : 0;
}

tess_status tess_h5_walk(const tess_host *host, const char *path, hid_t file, tess_h5_path_fn visit,
                         void *user)
{
    walk w = {file, visit, user, false};
    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &w, H5O_INFO_BASIC) >= 0) {
        return TESS_OK;
    }
    if (w.is_too_deep) {
        H5Eclear2(H5E_DEFAULT);
        return host->fail(host->user, TESS_E_FORMAT, "%s: groups nested deeper than %d levels",
                          path, TESS_H5_MAX_DEPTH);
    }
    return tess_h5_fail(host, TESS_E_FORMAT, path, "cannot list the data sets");
}

typedef struct listing {
    tess_dataset_fn visit;
    void *user;
} listing;

static int list_dataset(void *user, hid_t file, const char *path)
{
    const listing *l = user;
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0) {
        H5Eclear2(H5E_DEFAULT);
        return 0;
    }
    const hid_t space = H5Dget_space(dataset);
    const hid_t creation = H5Dget_create_plist(dataset);
    hsize_t dims[H5S_MAX_RANK] = {0};
    const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    tess_h5_type type;
    tess_h5_type_of(dataset, &type);
    tess_h5_describe_filters(creation, type.text, sizeof type.text);
    tess_dataset_info info = {
        .struct_size = sizeof info,
        .dtype = rank >= 0 && rank <= TESS_MAX_RANK ? type.dtype : 0,
        .rank = rank < 0               ? 0
                : rank < TESS_MAX_RANK ? rank
                                       : TESS_MAX_RANK,
        .name = path,
        .type_text = type.text,
    };
    for (int axis = 0; axis < info.rank; axis++) {
        info.shape[axis] = (int64_t)dims[axis];
    }
    tess_h5_close_id(type.memory_type);
    tess_h5_close_id(creation);
    tess_h5_close_id(space);
    tess_h5_close_id(dataset);
    return l->visit(l->user, &info);
}

tess_status tess_h5_list(const tess_host *host, const char *path, tess_dataset_fn visit, void *user)
{
    listing l = {visit, user};
    hid_t file = -1;
    tess_h5_lock();
    tess_status status = tess_h5_open_file(host, path, &file);
    if (status == TESS_OK) {
        status = tess_h5_walk(host, path, file, list_dataset, &l);
    }
    tess_h5_close_id(file);
    tess_h5_unlock();
    return status;
}
