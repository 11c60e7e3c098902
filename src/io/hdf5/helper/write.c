// Making files: groups, data sets in one piece or in chunks, what is said about them. The data
// themselves are written by the library that asks (../h5_writer.c): it is told where they belong.

#include "helper.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA "schema"
#define SCHEMA_TEXT "tessera.result/1"

// Data start at multiples of this, as everything that maps or streams files likes it.
enum { DATA_ALIGN = 64, ALIGN_FROM_BYTES = 512, DEFLATE_LEVEL = 4, NAME_CHARS = 256 };
enum { GROUP_CHARS = 1024 };

// A text attribute of variable length.
static herr_t put_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t result = attribute >= 0 ? H5Awrite(attribute, type, &text) : -1;
    tess_h5_close_id(attribute);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return result;
}

static hid_t open_for_writing(const char *path, bool is_new)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_alignment(access, ALIGN_FROM_BYTES, DATA_ALIGN);
    hid_t file = -1;
    if (tess_h5_driver_use(access, tess_h5_now.fd) >= 0 && is_new) {
        // Attributes over 64 KiB need the newer layout; any HDF5 since 1.8 reads it.
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
        const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
        H5Pset_obj_track_times(creation, 0); // of the root: the same result gives the same bytes
        file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
        tess_h5_close_id(creation);
    } else {
        file = H5Fopen(path, H5F_ACC_RDWR, access);
    }
    tess_h5_close_id(access);
    return file;
}

tess_status tess_h5_answer_create(tess_h5_message *question)
{
    int32_t is_new = 0;
    tess_h5_get(question, &is_new, sizeof is_new);
    const char *provenance = tess_h5_get_text(question);
    tess_h5_now.file = open_for_writing(tess_h5_now.path, is_new != 0);
    if (tess_h5_now.file < 0) {
        // It is there and open: it was written to in vain, as on a full disk.
        return tess_h5_fail(TESS_E_IO, is_new ? "cannot create" : "cannot open to add to it");
    }
    if (is_new && (put_text(tess_h5_now.file, SCHEMA, SCHEMA_TEXT) < 0 ||
                   (provenance != NULL &&
                    put_text(tess_h5_now.file, TESS_H5_PROVENANCE_NAME, provenance) < 0))) {
        return tess_h5_fail(TESS_E_IO, "cannot write; is the disk full?");
    }
    return TESS_OK;
}

// In chunks of whole rows, or in one piece that has its place at once and is left as it is.
static herr_t set_storage(hid_t creation, const tess_h5_array *array)
{
    if (array->chunk_rows == 0) {
        return H5Pset_layout(creation, H5D_CONTIGUOUS) < 0 ||
                       H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) < 0
                   ? -1
                   : H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    }
    hsize_t chunk[TESS_MAX_RANK];
    uint64_t bytes = (uint64_t)array->item_bytes;
    for (int axis = 0; axis < array->rank; axis++) {
        chunk[axis] = (hsize_t)(axis == 0 ? array->chunk_rows : array->shape[axis]);
        bytes *= chunk[axis];
    }
    if (H5Pset_chunk(creation, array->rank, chunk) < 0) {
        return -1;
    }
    if (array->filter == TESS_H5_DEFLATE) {
        return H5Pset_deflate(creation, DEFLATE_LEVEL);
    }
    // As h5py notes it: versions of the filter and of the format, unpacked bytes of a chunk.
    const unsigned values[3] = {4, 0x0105, (unsigned)bytes};
    return H5Pset_filter(creation, TESS_H5_FILTER_LZF, H5Z_FLAG_OPTIONAL, 3, values);
}

// The groups that the name goes through, made here: those that HDF5 makes by itself hold the second
// in which they were made.
static herr_t create_groups(const char *name)
{
    char path[GROUP_CHARS];
    const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    herr_t result = H5Pset_obj_track_times(creation, 0);
    for (const char *at = strchr(name, '/'); at != NULL && result >= 0; at = strchr(at + 1, '/')) {
        const int n = snprintf(path, sizeof path, "%.*s", (int)(at - name), name);
        const bool is_there = n == 0 || H5Lexists(tess_h5_now.file, path, H5P_DEFAULT) != 0;
        if (!is_there) {
            const hid_t group =
                H5Gcreate2(tess_h5_now.file, path, H5P_DEFAULT, creation, H5P_DEFAULT);
            result = group < 0 ? -1 : 0;
            tess_h5_close_id(group);
        }
    }
    tess_h5_close_id(creation);
    return result;
}

// With named axes the file is one for netCDF, which has no booleans: bytes that say so, as xarray
// writes and reads them.
static bool is_netcdf_bool(const tess_h5_array *array, const char *dims)
{
    return dims != NULL && array->dtype == TESS_BOOL;
}

static hid_t create_dataset(const tess_h5_array *array, const char *name, const char *axes)
{
    if (create_groups(name) < 0) {
        return -1;
    }
    hsize_t dims[TESS_MAX_RANK];
    for (int axis = 0; axis < array->rank; axis++) {
        dims[axis] = (hsize_t)array->shape[axis];
    }
    const hid_t type = is_netcdf_bool(array, axes)
                           ? H5Tcopy(H5T_NATIVE_INT8)
                           : tess_h5_type_for(array->dtype, array->item_bytes);
    const hid_t space =
        array->rank > 0 ? H5Screate_simple(array->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, 0); // the same result gives the same bytes
    hid_t dataset = -1;
    if (set_storage(creation, array) >= 0) {
        dataset =
            H5Dcreate2(tess_h5_now.file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    tess_h5_close_id(creation);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return dataset;
}

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= 128) {
            return false;
        }
    }
    return true;
}

// A text of fixed length, zero included, as the scales' convention wants it.
static herr_t put_fixed_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    if (!is_ascii(text)) {
        H5Tset_cset(type, H5T_CSET_UTF8);
    }
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t result = attribute >= 0 ? H5Awrite(attribute, type, text) : -1;
    tess_h5_close_id(attribute);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return result;
}

// Which scale belongs to each axis of "time|state_bins": one reference per axis, as lists of length
// one. HDF5's convention, which is what makes the file a netCDF-4 one.
static herr_t put_dimension_list(hid_t dataset, int rank, const char *dims)
{
    hobj_ref_t references[TESS_MAX_RANK];
    hvl_t lists[TESS_MAX_RANK];
    for (int axis = 0; axis < rank; axis++) {
        char name[NAME_CHARS];
        const size_t n = strcspn(dims, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, dims);
        if (n == 0 || H5Rcreate(&references[axis], tess_h5_now.file, name, H5R_OBJECT, -1) < 0) {
            return -1;
        }
        lists[axis] = (hvl_t){.len = 1, .p = &references[axis]};
        dims += n + (dims[n] == '|');
    }
    const hsize_t n_axis = (hsize_t)rank;
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

// "chain" of "posterior/chain".
static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

static herr_t put_labels(hid_t dataset, const tess_h5_array *array, const char *name,
                         const char *dims, const char *units, const char *long_name)
{
    herr_t result = 0;
    if (array->is_scale) {
        result = put_fixed_text(dataset, "CLASS", "DIMENSION_SCALE") < 0
                     ? -1
                     : put_fixed_text(dataset, "NAME", last_part(name));
    } else if (array->rank > 0 && dims != NULL) {
        result = put_dimension_list(dataset, array->rank, dims);
    }
    if (result >= 0 && is_netcdf_bool(array, dims)) {
        result = put_fixed_text(dataset, "dtype", "bool");
    }
    if (result >= 0 && units != NULL) {
        result = put_fixed_text(dataset, "units", units);
    }
    if (result >= 0 && long_name != NULL) {
        result = put_fixed_text(dataset, "long_name", long_name);
    }
    return result;
}

static void send_offset(uint64_t offset)
{
    tess_h5_put(tess_h5_answer(sizeof offset), &offset, sizeof offset);
    tess_h5_send_answer(TESS_H5_ITEM);
}

tess_status tess_h5_answer_put(tess_h5_message *question)
{
    tess_h5_array array;
    tess_h5_get(question, &array, sizeof array);
    const char *name = tess_h5_get_text(question);
    const char *dims = tess_h5_get_text(question);
    const char *units = tess_h5_get_text(question);
    const char *long_name = tess_h5_get_text(question);
    tess_h5_close_id(tess_h5_now.dataset);
    tess_h5_now.dataset = name != NULL ? create_dataset(&array, name, dims) : -1;
    if (tess_h5_now.dataset < 0 ||
        put_labels(tess_h5_now.dataset, &array, name, dims, units, long_name) < 0) {
        return tess_h5_fail(TESS_E_IO, "cannot write; is the disk full?");
    }
    tess_h5_now.rank = array.rank;
    // None for what is empty or in chunks.
    const haddr_t offset = array.chunk_rows == 0 ? H5Dget_offset(tess_h5_now.dataset) : 0;
    H5Eclear2(H5E_DEFAULT);
    send_offset(offset);
    return TESS_OK;
}

tess_status tess_h5_answer_put_chunk(tess_h5_message *question)
{
    static const char nothing[1]; // the driver notes the place and writes nothing
    int64_t row = 0;
    tess_h5_place place;
    tess_h5_get(question, &row, sizeof row);
    tess_h5_get(question, &place, sizeof place);
    const hsize_t offset[TESS_MAX_RANK] = {(hsize_t)row};
    tess_h5_place found = {0};
    tess_h5_driver_watch(&found);
    const herr_t result = H5Dwrite_chunk(tess_h5_now.dataset, H5P_DEFAULT, (uint32_t)place.skipped,
                                         offset, (size_t)place.bytes, nothing);
    tess_h5_driver_watch(NULL);
    if (result < 0 || found.bytes != place.bytes) {
        return tess_h5_fail(TESS_E_IO, "cannot write; is the disk full?");
    }
    send_offset(found.offset);
    return TESS_OK;
}
