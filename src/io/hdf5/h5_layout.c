// A file of several data sets with named axes, laid out at once: the data of each lie in one piece
// at a known offset and may be written there later. Axes follow HDF5's dimension scales, which is
// what makes the file a netCDF-4 one.

#include "h5_support.h"

#include <stdio.h>
#include <string.h>

enum { NAME_CHARS = 256 };

// Name of axis number axis in "time|state_bins"; 0 if there is none.
static int axis_name(const char *dims, int axis, char name[NAME_CHARS])
{
    for (; dims != NULL && axis > 0; axis--) {
        dims = strchr(dims, '|');
        dims = dims != NULL ? dims + 1 : NULL;
    }
    if (dims == NULL) {
        return 0;
    }
    snprintf(name, NAME_CHARS, "%.*s", (int)strcspn(dims, "|"), dims);
    return 1;
}

static bool is_scale(const tess_format_layout *item)
{
    return item->rank == 1 && item->dims != NULL && strcmp(item->dims, item->dataset) == 0;
}

static hid_t create_dataset(hid_t file, const tess_format_layout *item)
{
    hsize_t dims[TESS_MAX_RANK];
    for (int axis = 0; axis < item->rank; axis++) {
        dims[axis] = (hsize_t)item->shape[axis];
    }
    const hid_t type = tess_h5_type_for(item->dtype, item->item_bytes);
    const hid_t space =
        item->rank > 0 ? H5Screate_simple(item->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, 0); // the same result gives the same bytes
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    const hid_t dataset =
        H5Dcreate2(file, item->dataset, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    herr_t result = 0;
    if (dataset >= 0 && item->data != NULL) {
        result = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, item->data);
    }
    tess_h5_close_id(creation);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    if (result < 0) {
        tess_h5_close_id(dataset);
        return -1;
    }
    return dataset;
}

// A text of fixed length, zero included, as the scales' convention wants it.
static herr_t put_fixed_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t result = attribute >= 0 ? H5Awrite(attribute, type, text) : -1;
    tess_h5_close_id(attribute);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return result;
}

// Which scale belongs to each axis: one reference per axis, as lists of length one.
static herr_t put_dimension_list(hid_t file, hid_t dataset, const tess_format_layout *item)
{
    hobj_ref_t references[TESS_MAX_RANK];
    hvl_t lists[TESS_MAX_RANK];
    for (int axis = 0; axis < item->rank; axis++) {
        char name[NAME_CHARS];
        if (!axis_name(item->dims, axis, name) ||
            H5Rcreate(&references[axis], file, name, H5R_OBJECT, -1) < 0) {
            return -1;
        }
        lists[axis] = (hvl_t){.len = 1, .p = &references[axis]};
    }
    const hsize_t n_axis = (hsize_t)item->rank;
    const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    const hid_t space = H5Screate_simple(1, &n_axis, NULL);
    const hid_t attribute =
        H5Acreate2(dataset, "DIMENSION_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t result = attribute >= 0 ? H5Awrite(attribute, type, lists) : -1;
    tess_h5_close_id(attribute);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return result;
}

static herr_t put_item(hid_t file, tess_format_layout *item)
{
    const hid_t dataset = create_dataset(file, item);
    herr_t result = dataset >= 0 ? 0 : -1;
    if (result >= 0 && is_scale(item)) {
        result = put_fixed_text(dataset, "CLASS", "DIMENSION_SCALE") < 0 ||
                         put_fixed_text(dataset, "NAME", item->dataset) < 0
                     ? -1
                     : 0;
    } else if (result >= 0 && item->rank > 0 && item->dims != NULL) {
        result = put_dimension_list(file, dataset, item);
    }
    if (result >= 0 && item->units != NULL) {
        result = put_fixed_text(dataset, "units", item->units);
    }
    if (result >= 0 && item->long_name != NULL) {
        result = put_fixed_text(dataset, "long_name", item->long_name);
    }
    if (result >= 0) {
        item->offset = (uint64_t)H5Dget_offset(dataset);
    }
    tess_h5_close_id(dataset);
    return result;
}

// Scales first: the others refer to them.
static herr_t put_items(hid_t file, tess_format_layout *items, int64_t n_item)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n_item; i++) {
            if (is_scale(&items[i]) == (pass == 0) && put_item(file, &items[i]) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

tess_status tess_h5_lay_out(const tess_host *host, const char *path, tess_format_layout *items,
                            int64_t n_item, const char *provenance)
{
    tess_h5_lock();
    const hid_t file = tess_h5_create_file(path);
    tess_status status = file >= 0 ? TESS_OK : tess_h5_fail_create(host, path);
    if (status == TESS_OK &&
        (tess_h5_put_text(file, TESS_H5_SCHEMA, TESS_H5_SCHEMA_TEXT) < 0 ||
         (provenance != NULL && tess_h5_put_text(file, TESS_H5_PROVENANCE, provenance) < 0) ||
         put_items(file, items, n_item) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot write; is the disk full?");
    }
    if (file >= 0 && H5Fclose(file) < 0 && status == TESS_OK) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot close; is the disk full?");
    }
    tess_h5_unlock();
    return status;
}
