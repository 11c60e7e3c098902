// Writing results: contiguous or packed data sets and their provenance.

#include "h5_support.h"

#include <string.h>
#include <unistd.h>

// Data start at multiples of this, so that they can be mapped.
enum { DATA_ALIGN = 64, ALIGN_FROM_BYTES = 512 };
// A chunk has to stay below 4 GiB; the library holds a few while it packs.
enum { MAX_CHUNK_BYTES = 1 << 30, DEFLATE_LEVEL = 4 };

herr_t tess_h5_put_text(hid_t object, const char *name, const char *text)
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

// The whole array is one chunk where the library allows it, else as many whole rows as it does.
static herr_t set_packing(hid_t creation, const tess_format_writer_input *input)
{
    if (input->packing == TESS_PACKING_NONE || input->rank < 1 || input->data_bytes == 0) {
        return 0;
    }
    hsize_t chunk[TESS_MAX_RANK];
    for (int axis = 0; axis < input->rank; axis++) {
        chunk[axis] = (hsize_t)input->shape[axis];
    }
    const uint64_t row_bytes = input->data_bytes / (uint64_t)input->shape[0];
    const uint64_t n_row = row_bytes < MAX_CHUNK_BYTES ? MAX_CHUNK_BYTES / row_bytes : 1;
    chunk[0] = chunk[0] < n_row ? chunk[0] : n_row;
    if (H5Pset_chunk(creation, input->rank, chunk) < 0) {
        return -1;
    }
    if (input->packing == TESS_PACKING_DEFLATE) {
        return H5Pset_deflate(creation, DEFLATE_LEVEL);
    }
    // As h5py notes it: versions of the filter and of the format, unpacked bytes of a chunk.
    const unsigned values[3] = {4, 0x0105, (unsigned)(chunk[0] * row_bytes)};
    return H5Pset_filter(creation, TESS_H5_FILTER_LZF, H5Z_FLAG_OPTIONAL, 3, values);
}

static herr_t put_array(hid_t file, const tess_format_writer_input *input)
{
    hsize_t dims[TESS_MAX_RANK];
    for (int axis = 0; axis < input->rank; axis++) {
        dims[axis] = (hsize_t)input->shape[axis];
    }
    const hid_t type = tess_h5_type_for(input->dtype, input->item_bytes);
    const hid_t space =
        input->rank > 0 ? H5Screate_simple(input->rank, dims, NULL) : H5Screate(H5S_SCALAR);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_obj_track_times(creation, 0); // the same result gives the same bytes
    hid_t dataset = -1;
    if (set_packing(creation, input) >= 0) {
        dataset = H5Dcreate2(file, input->dataset, type, space, links, creation, H5P_DEFAULT);
    }
    herr_t result = dataset >= 0 ? 0 : -1;
    if (result >= 0 && input->data_bytes > 0) {
        result = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, input->data);
    }
    tess_h5_close_id(dataset);
    tess_h5_close_id(creation);
    tess_h5_close_id(links);
    tess_h5_close_id(space);
    tess_h5_close_id(type);
    return result;
}

static herr_t put_arrays(hid_t file, const tess_format_writer_input *inputs, int64_t n_input)
{
    for (int64_t i = 0; i < n_input; i++) {
        if (put_array(file, &inputs[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

hid_t tess_h5_create_file(const char *path)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_alignment(access, ALIGN_FROM_BYTES, DATA_ALIGN);
    // Attributes over 64 KiB need the newer layout; any HDF5 since 1.8 reads it.
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0); // of the root: the same result gives the same bytes
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    tess_h5_close_id(creation);
    tess_h5_close_id(access);
    return file;
}

tess_status tess_h5_fail_create(const tess_host *host, const char *path)
{
    // A file that is there could be created; it was written to in vain, as on a full disk.
    const tess_status status = access(path, W_OK) == 0 ? TESS_E_IO : TESS_E_CREATE;
    return tess_h5_fail(host, status, path, "cannot create");
}

static tess_status write_file(const tess_host *host, const char *path,
                              const tess_format_writer_input *inputs, int64_t n_input)
{
    const hid_t file = tess_h5_create_file(path);
    if (file < 0) {
        return tess_h5_fail_create(host, path);
    }
    tess_status status = TESS_OK;
    if (tess_h5_put_text(file, TESS_H5_SCHEMA, TESS_H5_SCHEMA_TEXT) < 0 ||
        (inputs[0].provenance != NULL &&
         tess_h5_put_text(file, TESS_H5_PROVENANCE, inputs[0].provenance) < 0) ||
        put_arrays(file, inputs, n_input) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot write; is the disk full?");
    }
    if (H5Fclose(file) < 0 && status == TESS_OK) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot close; is the disk full?");
    }
    return status;
}

static tess_status check_types(const tess_host *host, const char *path,
                               const tess_format_writer_input *inputs, int64_t n_input)
{
    for (int64_t i = 0; i < n_input; i++) {
        const hid_t type = tess_h5_type_for(inputs[i].dtype, inputs[i].item_bytes);
        if (type < 0) {
            H5Eclear2(H5E_DEFAULT);
            return host->fail(host->user, TESS_E_DTYPE,
                              "%s: items of type %d are not written to HDF5; use numbers, booleans "
                              "or fixed-length text",
                              path, inputs[i].dtype);
        }
        tess_h5_close_id(type);
    }
    return TESS_OK;
}

tess_status tess_h5_write_many(const tess_host *host, const char *temporary_path,
                               const tess_format_writer_input *inputs, int64_t n_input)
{
    if (n_input < 1) {
        return host->fail(host->user, TESS_E_ARGUMENT, "%s: there is no array to write",
                          temporary_path);
    }
    tess_h5_lock();
    tess_status status = check_types(host, temporary_path, inputs, n_input);
    if (status == TESS_OK) {
        status = write_file(host, temporary_path, inputs, n_input);
    }
    tess_h5_unlock();
    return status;
}

static tess_status add_array(const tess_host *host, const char *path,
                             const tess_format_writer_input *input)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_alignment(access, ALIGN_FROM_BYTES, DATA_ALIGN);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    tess_h5_close_id(access);
    if (file < 0) {
        return tess_h5_fail(host, TESS_E_CREATE, path, "cannot open to add to it");
    }
    tess_status status = TESS_OK;
    if (put_array(file, input) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot write; is the disk full?");
    }
    if (H5Fclose(file) < 0 && status == TESS_OK) {
        status = tess_h5_fail(host, TESS_E_IO, path, "cannot close; is the disk full?");
    }
    return status;
}

tess_status tess_h5_add(const tess_host *host, const char *temporary_path,
                        const tess_format_writer_input *input)
{
    tess_h5_lock();
    tess_status status = check_types(host, temporary_path, input, 1);
    if (status == TESS_OK) {
        status = add_array(host, temporary_path, input);
    }
    tess_h5_unlock();
    return status;
}

tess_status tess_h5_write(const tess_host *host, const char *temporary_path,
                          const tess_format_writer_input *input)
{
    return tess_h5_write_many(host, temporary_path, input, 1);
}
