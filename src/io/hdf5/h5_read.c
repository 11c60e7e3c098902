// Opening and reading one data set. Contiguous data in the machine's own format are mapped; the
// rest goes through the library, which converts and unpacks.

#include "h5_support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MIN_CACHE_BYTES = 1 << 20,
    MAX_CACHE_BYTES = 64 << 20,
    MAX_LISTED = 20,
    LISTED_CHARS = 640,
    MAX_PROVENANCE_BYTES = 16 << 20
};

typedef struct h5_reader {
    size_t own_bytes; // of this allocation
    hid_t file;
    hid_t dataset;
    hid_t memory_type;
    void *map; // NULL: not mapped
    size_t map_bytes;
    char path[];
} h5_reader;

// Chunks of one slab (all that share their range of the first axis) are kept between reads, so
// that a tile boundary inside a slab does not unpack it twice.
static void size_cache(hid_t access, hid_t creation, tess_format_reader *shape)
{
    hsize_t chunk[TESS_MAX_RANK] = {0};
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, TESS_MAX_RANK, chunk) != shape->rank) {
        return;
    }
    double slab_bytes = (double)shape->item_bytes * (double)chunk[0];
    double n_chunk = 1;
    for (int axis = 1; axis < shape->rank; axis++) {
        const double across = (double)shape->shape[axis] / (double)chunk[axis] + 1;
        slab_bytes *= across * (double)chunk[axis];
        n_chunk *= across;
    }
    const double bytes = slab_bytes < MIN_CACHE_BYTES   ? MIN_CACHE_BYTES
                         : slab_bytes > MAX_CACHE_BYTES ? MAX_CACHE_BYTES
                                                        : slab_bytes;
    // While a packed chunk is opened, the library holds it twice more.
    double chunk_bytes = (double)shape->item_bytes;
    for (int axis = 0; axis < shape->rank; axis++) {
        chunk_bytes *= (double)chunk[axis];
    }
    shape->held_bytes = (uint64_t)(bytes + 2 * chunk_bytes);
    const double slots = n_chunk < 100000 ? 10 * n_chunk + 521 : 1000003;
    // Weight 1: chunks that were read whole go first.
    H5Pset_chunk_cache(access, (size_t)slots, (size_t)bytes, 1.0);
}

// Fills shape and type of *out from the open data set; type->memory_type is the caller's.
static tess_status describe(const tess_host *host, const h5_reader *h5, const char *dataset,
                            tess_h5_type *type, tess_format_reader *out)
{
    tess_h5_type_of(h5->dataset, type);
    const hid_t space = H5Dget_space(h5->dataset);
    hsize_t dims[H5S_MAX_RANK] = {0};
    const bool has_items = H5Sget_simple_extent_type(space) != H5S_NULL;
    const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    tess_h5_close_id(space);
    if (type->dtype == 0 || !has_items) {
        return host->fail(host->user, TESS_E_DTYPE,
                          "%s: data set '%s' is %s, which is not read; store plain numbers, "
                          "booleans or fixed-length text",
                          h5->path, dataset, has_items ? type->text : "empty (null)");
    }
    if (rank < 0 || rank > TESS_MAX_RANK) {
        return host->fail(host->user, TESS_E_SHAPE,
                          "%s: data set '%s' has %d axes; at most %d are read", h5->path, dataset,
                          rank, TESS_MAX_RANK);
    }
    out->dtype = type->dtype;
    out->item_bytes = type->item_bytes;
    out->rank = rank;
    int64_t total = type->item_bytes;
    for (int axis = 0; axis < rank; axis++) {
        out->shape[axis] = (int64_t)dims[axis];
        const int64_t factor = out->shape[axis] > 0 ? out->shape[axis] : 1;
        if (dims[axis] > INT64_MAX || __builtin_mul_overflow(total, factor, &total)) {
            return host->fail(host->user, TESS_E_FORMAT,
                              "%s: data set '%s': its shape takes more than 2^63 bytes", h5->path,
                              dataset);
        }
    }
    snprintf(out->dataset, sizeof out->dataset, "%s", dataset);
    return TESS_OK;
}

static tess_status check_storage(const tess_host *host, const h5_reader *h5, const char *dataset,
                                 hid_t creation)
{
    char filters[TESS_H5_TYPE_CHARS] = "";
    const H5Z_filter_t missing = tess_h5_describe_filters(creation, filters, sizeof filters);
    if (missing != 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "%s: data set '%s' is compressed with filter %d (%s), which this module "
                          "lacks; rewrite it, e.g. h5repack -f GZIP=4",
                          h5->path, dataset, (int)missing, tess_h5_filter_name(missing));
    }
    if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "%s: data set '%s' keeps its data in other files, which are not "
                          "followed; copy it into one file, e.g. with h5repack",
                          h5->path, dataset);
    }
    return TESS_OK;
}

// Maps the data if they lie in one piece as they are delivered. Not being able to is no error.
static void map_data(h5_reader *h5, hid_t creation, const tess_h5_type *type,
                     tess_format_reader *out)
{
    uint64_t bytes = (uint64_t)out->item_bytes;
    for (int axis = 0; axis < out->rank; axis++) {
        bytes *= (uint64_t)out->shape[axis];
    }
    const haddr_t offset = H5Dget_offset(h5->dataset);
    const uint64_t unit = (uint64_t)type->item_bytes;
    if (!type->is_direct || H5Pget_layout(creation) != H5D_CONTIGUOUS || offset == HADDR_UNDEF ||
        bytes == 0 || (type->dtype != TESS_BYTES && offset % unit != 0)) {
        H5Eclear2(H5E_DEFAULT);
        return;
    }
    const int fd = open(h5->path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || offset > (uint64_t)info.st_size ||
        bytes > (uint64_t)info.st_size - offset) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    const uint64_t lead = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    void *map =
        mmap(NULL, (size_t)(bytes + lead), PROT_READ, MAP_SHARED, fd, (off_t)(offset - lead));
    close(fd);
    if (map != MAP_FAILED) {
        h5->map = map;
        h5->map_bytes = (size_t)(bytes + lead);
        out->mapped = (const char *)map + lead;
        out->held_bytes = 0;
    }
}

static tess_status open_dataset(const tess_host *host, h5_reader *h5, const char *dataset,
                                tess_format_reader *out)
{
    const hid_t access = tess_h5_dataset_access();
    h5->dataset = H5Dopen2(h5->file, dataset, access);
    if (h5->dataset < 0) {
        char what[320];
        snprintf(what, sizeof what, "no data set '%.250s' in this file", dataset);
        tess_h5_close_id(access);
        return tess_h5_fail(host, TESS_E_NOT_FOUND, h5->path, what);
    }
    tess_h5_type type;
    const hid_t creation = H5Dget_create_plist(h5->dataset);
    tess_status status = describe(host, h5, dataset, &type, out);
    h5->memory_type = type.memory_type;
    if (status == TESS_OK) {
        status = check_storage(host, h5, dataset, creation);
    }
    if (status == TESS_OK) {
        // The cache is fixed when a data set is opened and its size known only after: open again.
        tess_h5_close_id(h5->dataset);
        size_cache(access, creation, out);
        h5->dataset = H5Dopen2(h5->file, dataset, access);
        status = h5->dataset >= 0 ? TESS_OK
                                  : tess_h5_fail(host, TESS_E_FORMAT, h5->path, "cannot reopen");
    }
    if (status == TESS_OK) {
        map_data(h5, creation, &type, out);
    }
    tess_h5_close_id(creation);
    tess_h5_close_id(access);
    return status;
}

// The only data set, or the names of all for the message.
typedef struct choice {
    int n_dataset;
    char first[256];
    char listed[LISTED_CHARS];
} choice;

static int note_dataset(void *user, hid_t file, const char *dataset)
{
    (void)file;
    choice *c = user;
    if (c->n_dataset == 0) {
        snprintf(c->first, sizeof c->first, "%s", dataset);
    }
    const size_t used = strlen(c->listed);
    if (c->n_dataset < MAX_LISTED && used + strlen(dataset) + 8 < sizeof c->listed) {
        snprintf(c->listed + used, sizeof c->listed - used, "%s%s", used ? ", " : "", dataset);
    } else if (used > 3 && strcmp(c->listed + used - 3, "...") != 0) {
        snprintf(c->listed + used, sizeof c->listed - used, ", ...");
    }
    c->n_dataset++;
    return 0;
}

static tess_status choose_dataset(const tess_host *host, const h5_reader *h5, choice *c)
{
    const tess_status status = tess_h5_walk(host, h5->path, h5->file, note_dataset, c);
    if (status != TESS_OK || c->n_dataset == 1) {
        return status;
    }
    if (c->n_dataset == 0) {
        return host->fail(host->user, TESS_E_NOT_FOUND, "%s: the file has no data set", h5->path);
    }
    return host->fail(host->user, TESS_E_ARGUMENT,
                      "%s: has %d data sets; choose one with --dataset: %s", h5->path, c->n_dataset,
                      c->listed);
}

static void release_reader(const tess_host *host, h5_reader *h5)
{
    if (h5->map != NULL) {
        munmap(h5->map, h5->map_bytes);
    }
    tess_h5_close_id(h5->memory_type);
    tess_h5_close_id(h5->dataset);
    tess_h5_close_id(h5->file);
    host->release(host->user, h5, h5->own_bytes);
}

tess_status tess_h5_open(const tess_host *host, const char *path, const char *dataset,
                         int allow_truncated, tess_format_reader *out)
{
    // The library refuses truncated files as a whole: addresses behind the end may be anything's.
    (void)allow_truncated;
    *out = (tess_format_reader){0};
    const size_t path_bytes = strlen(path) + 1;
    h5_reader *h5 = host->alloc(host->user, sizeof *h5 + path_bytes);
    if (h5 == NULL) {
        return TESS_E_MEMORY;
    }
    *h5 = (h5_reader){
        .own_bytes = sizeof *h5 + path_bytes, .file = -1, .dataset = -1, .memory_type = -1};
    memcpy(h5->path, path, path_bytes);

    choice c = {0};
    tess_h5_lock();
    tess_status status = tess_h5_open_file(host, path, &h5->file);
    if (status == TESS_OK && dataset == NULL) {
        status = choose_dataset(host, h5, &c);
    }
    if (status == TESS_OK) {
        status = open_dataset(host, h5, dataset != NULL ? dataset : c.first, out);
    }
    if (status != TESS_OK) {
        release_reader(host, h5);
        *out = (tess_format_reader){0};
    } else {
        out->impl = h5;
    }
    tess_h5_unlock();
    return status;
}

void tess_h5_close(const tess_host *host, tess_format_reader *reader)
{
    if (reader->impl != NULL) {
        tess_h5_lock();
        release_reader(host, reader->impl);
        tess_h5_unlock();
    }
    *reader = (tess_format_reader){0};
}

static herr_t read_items(const h5_reader *h5, const tess_format_reader *reader, int64_t first,
                         int64_t count, void *dst)
{
    const int unpacked =
        tess_h5_packed_read(h5->dataset, h5->memory_type, reader, first, count, dst);
    if (unpacked != 0) {
        return unpacked > 0 ? 0 : -1;
    }
    if (reader->rank == 0) {
        return H5Dread(h5->dataset, h5->memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, dst);
    }
    hsize_t start[TESS_MAX_RANK] = {(hsize_t)first};
    hsize_t extent[TESS_MAX_RANK] = {(hsize_t)count};
    for (int axis = 1; axis < reader->rank; axis++) {
        extent[axis] = (hsize_t)reader->shape[axis];
    }
    const hid_t file_space = H5Dget_space(h5->dataset);
    const hid_t memory_space = H5Screate_simple(reader->rank, extent, NULL);
    herr_t result = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, extent, NULL);
    if (result >= 0) {
        result = H5Dread(h5->dataset, h5->memory_type, memory_space, file_space, H5P_DEFAULT, dst);
    }
    tess_h5_close_id(memory_space);
    tess_h5_close_id(file_space);
    return result;
}

tess_status tess_h5_read(const tess_host *host, tess_format_reader *reader, int64_t first,
                         int64_t count, void *dst)
{
    const h5_reader *h5 = reader->impl;
    const int64_t n_item = reader->rank > 0 ? reader->shape[0] : 1;
    if (first < 0 || count < 0 || first > n_item || count > n_item - first) {
        return host->fail(host->user, TESS_E_RANGE,
                          "items %" PRId64 "..+%" PRId64 " are not among the %" PRId64
                          " of the array",
                          first, count, n_item);
    }
    bool is_empty = count == 0;
    for (int axis = 1; axis < reader->rank; axis++) {
        is_empty = is_empty || reader->shape[axis] == 0;
    }
    if (is_empty) {
        return TESS_OK;
    }
    tess_h5_lock();
    tess_status status = TESS_OK;
    if (read_items(h5, reader, first, count, dst) < 0) {
        char what[400];
        snprintf(what, sizeof what, "data set '%s': cannot read items %" PRId64 " to %" PRId64,
                 reader->dataset, first, first + count - 1);
        status = tess_h5_fail(host, TESS_E_FORMAT, h5->path, what);
    }
    tess_h5_unlock();
    return status;
}

// Copies a text attribute of the root into memory of the host.
static tess_status read_text(const tess_host *host, const char *path, hid_t attribute, char **text,
                             size_t *bytes)
{
    const hid_t type = H5Aget_type(attribute);
    const bool is_variable = H5Tis_variable_str(type) > 0;
    const size_t fixed_bytes = H5Tget_size(type);
    tess_status status = TESS_OK;
    char *found = NULL;
    if (H5Tget_class(type) != H5T_STRING || fixed_bytes > MAX_PROVENANCE_BYTES) {
        status = host->fail(host->user, TESS_E_FORMAT, "%s: attribute '%s' is no text", path,
                            TESS_H5_PROVENANCE);
    } else if (is_variable) {
        status = H5Aread(attribute, type, &found) >= 0 && found != NULL
                     ? TESS_OK
                     : tess_h5_fail(host, TESS_E_FORMAT, path, "cannot read the provenance");
    } else {
        found = H5allocate_memory(fixed_bytes + 1, 1);
        status = found != NULL && H5Aread(attribute, type, found) >= 0
                     ? TESS_OK
                     : tess_h5_fail(host, TESS_E_FORMAT, path, "cannot read the provenance");
    }
    if (status == TESS_OK) {
        *bytes = strlen(found) + 1;
        *text = host->alloc(host->user, *bytes);
        status = *text != NULL ? TESS_OK : TESS_E_MEMORY;
    }
    if (status == TESS_OK) {
        memcpy(*text, found, *bytes);
    }
    H5free_memory(found);
    tess_h5_close_id(type);
    return status;
}

tess_status tess_h5_provenance(const tess_host *host, const char *path, char **text, size_t *bytes)
{
    *text = NULL;
    *bytes = 0;
    hid_t file = -1;
    tess_h5_lock();
    tess_status status = tess_h5_open_file(host, path, &file);
    if (status == TESS_OK && H5Aexists(file, TESS_H5_PROVENANCE) > 0) {
        const hid_t attribute = H5Aopen(file, TESS_H5_PROVENANCE, H5P_DEFAULT);
        status = attribute >= 0
                     ? read_text(host, path, attribute, text, bytes)
                     : tess_h5_fail(host, TESS_E_FORMAT, path, "cannot read the provenance");
        tess_h5_close_id(attribute);
    }
    tess_h5_close_id(file);
    tess_h5_unlock();
    return status;
}
