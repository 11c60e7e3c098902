// Walking the data sets of a file. Links out of the file and soft links are not followed, and the
// library visits an object once, unless a damaged count of its links says that it has only one:
// then depth and number end the walk.

#include "helper.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OBJECTS = 1 << 20 };

typedef struct walk {
    tess_h5_path_fn visit;
    void *user;
    int n_object;
    bool is_too_much;
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
    if (depth_of(name) > TESS_H5_MAX_DEPTH || ++w->n_object > MAX_OBJECTS) {
        w->is_too_much = true;
        return -1;
    }
    if (info->type != H5O_TYPE_DATASET) {
        return 0;
    }
    char path[1024];
    if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) {
        return 0; // no name we could hand on
    }
    return w->visit(w->user, path) != 0 ? 1 : 0;
}

tess_status tess_h5_walk(tess_h5_path_fn visit, void *user)
{
    walk w = {.visit = visit, .user = user};
    if (H5Ovisit2(tess_h5_now.file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &w, H5O_INFO_BASIC) >=
        0) {
        return TESS_OK;
    }
    if (w.is_too_much) {
        H5Eclear2(H5E_DEFAULT);
        return tess_h5_refuse(TESS_E_FORMAT,
                              "%s: more than %d objects, or groups nested deeper than %d levels",
                              tess_h5_now.path, MAX_OBJECTS, TESS_H5_MAX_DEPTH);
    }
    return tess_h5_fail(TESS_E_FORMAT, "cannot list the data sets");
}

static int list_dataset(void *user, const char *path)
{
    (void)user;
    const hid_t dataset = H5Dopen2(tess_h5_now.file, path, H5P_DEFAULT);
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
    bool is_read = rank >= 0 && rank <= TESS_MAX_RANK;
    tess_h5_listed listed = {.rank = rank < 0 ? 0 : rank < TESS_MAX_RANK ? rank : TESS_MAX_RANK};
    for (int axis = 0; axis < listed.rank; axis++) {
        is_read = is_read && dims[axis] <= INT64_MAX;
        listed.shape[axis] = dims[axis] <= INT64_MAX ? (int64_t)dims[axis] : INT64_MAX;
    }
    listed.dtype = is_read ? type.dtype : 0;
    tess_h5_message *m = tess_h5_answer(sizeof listed + strlen(path) + sizeof type.text + 16);
    tess_h5_put(m, &listed, sizeof listed);
    tess_h5_put_text(m, path);
    tess_h5_put_text(m, type.text);
    tess_h5_send_answer(TESS_H5_ITEM);
    tess_h5_close_id(type.memory_type);
    tess_h5_close_id(creation);
    tess_h5_close_id(space);
    tess_h5_close_id(dataset);
    return 0;
}

tess_status tess_h5_answer_list(tess_h5_message *question)
{
    (void)question;
    return tess_h5_walk(list_dataset, NULL);
}
