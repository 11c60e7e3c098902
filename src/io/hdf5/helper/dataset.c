// Opening one data set: what it is, where its data lie, and reading what only the library can.

#include "helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MIN_CACHE_BYTES = 1 << 20,
    MAX_CACHE_BYTES = 64 << 20,
    MAX_LISTED = 20,
    LISTED_CHARS = 640,
};

// Fills shape and type of *out; type->memory_type becomes that of the open file.
static tess_status describe(const char *name, tess_h5_type *type, tess_h5_dataset *out)
{
    const char *path = tess_h5_now.path;
    tess_h5_type_of(tess_h5_now.dataset, type);
    tess_h5_now.memory_type = type->memory_type;
    const hid_t space = H5Dget_space(tess_h5_now.dataset);
    hsize_t dims[H5S_MAX_RANK] = {0};
    const bool has_items = H5Sget_simple_extent_type(space) != H5S_NULL;
    const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    tess_h5_close_id(space);
    if (type->dtype == 0 || !has_items) {
        return tess_h5_refuse(TESS_E_DTYPE,
                              "%s: data set '%s' is %s, which is not read; store plain numbers, "
                              "booleans or fixed-length text",
                              path, name, has_items ? type->text : "empty (null)");
    }
    if (rank < 0 || rank > TESS_MAX_RANK) {
        return tess_h5_refuse(TESS_E_SHAPE, "%s: data set '%s' has %d axes; at most %d are read",
                              path, name, rank, TESS_MAX_RANK);
    }
    out->dtype = type->dtype;
    out->item_bytes = type->item_bytes;
    out->rank = rank;
    int64_t total = type->item_bytes;
    tess_h5_now.rank = rank;
    tess_h5_now.n_row = rank > 0 ? (int64_t)dims[0] : 1;
    tess_h5_now.row_bytes = type->item_bytes;
    for (int axis = 0; axis < rank; axis++) {
        out->shape[axis] = (int64_t)dims[axis];
        const int64_t factor = out->shape[axis] > 0 ? out->shape[axis] : 1;
        if (dims[axis] > INT64_MAX || __builtin_mul_overflow(total, factor, &total)) {
            return tess_h5_refuse(TESS_E_FORMAT,
                                  "%s: data set '%s': its shape takes more than 2^63 bytes", path,
                                  name);
        }
        tess_h5_now.row_bytes *= axis > 0 ? out->shape[axis] : 1;
    }
    return TESS_OK;
}

static tess_status check_storage(const char *name, hid_t creation)
{
    const char *path = tess_h5_now.path;
    char filters[TESS_H5_TYPE_CHARS] = "";
    const H5Z_filter_t missing = tess_h5_describe_filters(creation, filters, sizeof filters);
    if (missing != 0) {
        return tess_h5_refuse(TESS_E_UNSUPPORTED,
                              "%s: data set '%s' is compressed with filter %d (%s), which this "
                              "build lacks; rewrite it, e.g. h5repack -f GZIP=4",
                              path, name, (int)missing, tess_h5_filter_name(missing));
    }
    if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) {
        return tess_h5_refuse(TESS_E_UNSUPPORTED,
                              "%s: data set '%s' keeps its data in other files, which are not "
                              "followed; copy it into one file, e.g. with h5repack",
                              path, name);
    }
    return TESS_OK;
}

// True if the data lie in one piece, all of it in the file.
static bool is_in_one_piece(hid_t creation, tess_h5_dataset *out)
{
    struct stat info;
    const uint64_t n_byte = (uint64_t)tess_h5_now.n_row * (uint64_t)tess_h5_now.row_bytes;
    const haddr_t offset = H5Dget_offset(tess_h5_now.dataset);
    H5Eclear2(H5E_DEFAULT);
    if (H5Pget_layout(creation) != H5D_CONTIGUOUS || offset == HADDR_UNDEF || n_byte == 0 ||
        fstat(tess_h5_now.fd, &info) != 0 || offset > (uint64_t)info.st_size ||
        n_byte > (uint64_t)info.st_size - offset) {
        return false;
    }
    out->offset = offset;
    return true;
}

static int32_t filter_of(H5Z_filter_t id, bool has_deflate)
{
    return id == H5Z_FILTER_SHUFFLE                  ? TESS_H5_SHUFFLE
           : id == TESS_H5_FILTER_LZF                ? TESS_H5_LZF
           : id == H5Z_FILTER_DEFLATE && has_deflate ? TESS_H5_DEFLATE
                                                     : 0;
}

// What chunks that were never written hold; false where the reader cannot be told.
static bool take_fill(hid_t creation, tess_h5_dataset *out)
{
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    if (H5Pfill_value_defined(creation, &fill) < 0) {
        return false;
    }
    if (fill != H5D_FILL_VALUE_USER_DEFINED) {
        return true;
    }
    const hid_t type = H5Dget_type(tess_h5_now.dataset);
    const bool is_taken =
        H5Tget_size(type) <= sizeof out->fill && H5Pget_fill_value(creation, type, out->fill) >= 0;
    tess_h5_close_id(type);
    return is_taken;
}

// True if the reader can unpack the chunks itself.
static bool is_in_chunks(hid_t creation, bool has_deflate, tess_h5_dataset *out)
{
    hsize_t chunk[TESS_MAX_RANK] = {0};
    unsigned options = 0;
    if (out->rank < 1 || H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, TESS_MAX_RANK, chunk) != out->rank ||
        H5Pget_chunk_opts(creation, &options) < 0 || options != 0) {
        return false;
    }
    const hid_t type = H5Dget_type(tess_h5_now.dataset);
    bool is_right = H5Tget_size(type) == (size_t)out->item_bytes;
    tess_h5_close_id(type);
    uint64_t chunk_bytes = (uint64_t)out->item_bytes;
    for (int axis = 0; axis < out->rank; axis++) {
        out->chunk[axis] = (int64_t)chunk[axis];
        is_right = is_right && chunk[axis] > 0 && chunk[axis] <= UINT32_MAX &&
                   !__builtin_mul_overflow(chunk_bytes, chunk[axis], &chunk_bytes);
    }
    out->n_filter = H5Pget_nfilters(creation);
    is_right = is_right && chunk_bytes <= UINT32_MAX && out->n_filter >= 0 &&
               out->n_filter <= TESS_H5_MAX_FILTERS;
    for (int i = 0; is_right && i < out->n_filter; i++) {
        unsigned flags = 0;
        unsigned config = 0;
        size_t n_value = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(creation, (unsigned)i, &flags, &n_value, NULL, 0, NULL, &config);
        out->filters[i] = filter_of(id, has_deflate);
        is_right = out->filters[i] != 0;
    }
    return is_right && take_fill(creation, out);
}

// What the library keeps of a chunked data set between reads. All chunks that share their range of
// the first axis, so that none is unpacked twice; where that is too much, whole ranges are to be
// read at once.
static void size_cache(hid_t creation, hid_t access, tess_h5_dataset *out)
{
    hsize_t chunk[TESS_MAX_RANK] = {0};
    out->piece_rows = 1;
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, TESS_MAX_RANK, chunk) != out->rank) {
        return;
    }
    double slab_bytes = (double)out->item_bytes * (double)chunk[0];
    double chunk_bytes = slab_bytes;
    double n_chunk = 1;
    for (int axis = 1; axis < out->rank; axis++) {
        const double across = (double)out->shape[axis] / (double)chunk[axis] + 1;
        slab_bytes *= across * (double)chunk[axis];
        chunk_bytes *= (double)chunk[axis];
        n_chunk *= across;
    }
    const double bytes = slab_bytes < MIN_CACHE_BYTES   ? MIN_CACHE_BYTES
                         : slab_bytes > MAX_CACHE_BYTES ? MAX_CACHE_BYTES
                                                        : slab_bytes;
    if (slab_bytes > MAX_CACHE_BYTES) {
        out->piece_rows = (int64_t)chunk[0];
    }
    // While a packed chunk is opened, the library holds it twice more.
    out->held_bytes = (uint64_t)(bytes + 2 * chunk_bytes);
    const double slots = n_chunk < 100000 ? 10 * n_chunk + 521 : 1000003;
    // Weight 1: chunks that were read whole go first.
    H5Pset_chunk_cache(access, (size_t)slots, (size_t)bytes, 1.0);
}

// For the library to read: the cache is fixed when a data set is opened and its size known only
// after, so it is opened again.
static tess_status open_for_library(const char *name, hid_t creation, hid_t access,
                                    tess_h5_dataset *out)
{
    memset(out->chunk, 0, sizeof out->chunk);
    memset(out->filters, 0, sizeof out->filters);
    out->n_filter = 0;
    out->swap_bytes = 1;
    out->storage = TESS_H5_BY_LIBRARY;
    size_cache(creation, access, out);
    tess_h5_close_id(tess_h5_now.dataset);
    tess_h5_now.dataset = H5Dopen2(tess_h5_now.file, name, access);
    return tess_h5_now.dataset >= 0 ? TESS_OK : tess_h5_fail(TESS_E_FORMAT, "cannot reopen");
}

static tess_status open_dataset(const char *name, bool has_deflate, tess_h5_dataset *out)
{
    const hid_t access = tess_h5_dataset_access();
    tess_h5_now.dataset = H5Dopen2(tess_h5_now.file, name, access);
    if (tess_h5_now.dataset < 0) {
        char what[320];
        snprintf(what, sizeof what, "no data set '%.250s' in this file", name);
        tess_h5_close_id(access);
        return tess_h5_fail(TESS_E_NOT_FOUND, what);
    }
    tess_h5_type type;
    const hid_t creation = H5Dget_create_plist(tess_h5_now.dataset);
    tess_status status = describe(name, &type, out);
    if (status == TESS_OK) {
        status = check_storage(name, creation);
    }
    if (status == TESS_OK) {
        out->swap_bytes = type.swap_bytes;
        if (type.swap_bytes > 0 && is_in_one_piece(creation, out)) {
            out->storage = TESS_H5_IN_ONE_PIECE;
        } else if (type.swap_bytes > 0 && is_in_chunks(creation, has_deflate, out)) {
            out->storage = TESS_H5_IN_CHUNKS;
        } else {
            status = open_for_library(name, creation, access, out);
        }
    }
    tess_h5_close_id(creation);
    tess_h5_close_id(access);
    return status;
}

// The only data set, or the names of all for the message.
typedef struct choice {
    int n_dataset;
    char first[1024];
    char listed[LISTED_CHARS];
} choice;

static int note_dataset(void *user, const char *dataset)
{
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

static tess_status choose_dataset(choice *c)
{
    const tess_status status = tess_h5_walk(note_dataset, c);
    if (status != TESS_OK || c->n_dataset == 1) {
        return status;
    }
    if (c->n_dataset == 0) {
        return tess_h5_refuse(TESS_E_NOT_FOUND, "%s: the file has no data set", tess_h5_now.path);
    }
    return tess_h5_refuse(TESS_E_ARGUMENT, "%s: has %d data sets; choose one with --dataset: %s",
                          tess_h5_now.path, c->n_dataset, c->listed);
}

tess_status tess_h5_answer_open(tess_h5_message *question)
{
    int32_t has_deflate = 0;
    tess_h5_get(question, &has_deflate, sizeof has_deflate);
    const char *name = tess_h5_get_text(question);
    choice c = {0};
    tess_h5_dataset found;
    memset(&found, 0, sizeof found); // its padding is compared when it is opened again
    tess_status status = name == NULL ? choose_dataset(&c) : TESS_OK;
    name = name == NULL ? c.first : name;
    if (status == TESS_OK) {
        status = open_dataset(name, has_deflate != 0, &found);
    }
    if (status == TESS_OK) {
        tess_h5_message *m = tess_h5_answer(sizeof found + strlen(name) + 8);
        tess_h5_put(m, &found, sizeof found);
        tess_h5_put_text(m, name);
        tess_h5_send_answer(TESS_H5_ITEM);
    }
    if (found.storage == TESS_H5_IN_ONE_PIECE) {
        tess_h5_close_now(); // it is read without us
    }
    return status;
}

static herr_t note_innermost(unsigned n, const H5E_error2_t *error, void *user)
{
    (void)n;
    *(bool *)user =
        error->desc != NULL && (strstr(error->desc, "chunk address isn't defined") != NULL ||
                                strstr(error->desc, "storage is not initialized") != NULL);
    return 1; // no further
}

// After a chunk could not be read: whether there is none. HDF5 1.10 says so, other versions are
// asked with a function that is slow in 1.10: it looks at all chunks.
static bool is_hole(const hsize_t *offset)
{
    bool is_said = false;
    hsize_t n_byte = 0;
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_innermost, &is_said);
    return is_said || (H5Dget_chunk_info_by_coord(tess_h5_now.dataset, offset, &skipped, &address,
                                                  &n_byte) >= 0 &&
                       address == HADDR_UNDEF);
}

// By the library's own way to a chunk: in a damaged index searching and reading may find different
// ones.
static herr_t locate(const hsize_t *offset, tess_h5_place *place)
{
    static char nothing[1]; // the driver notes the place and reads nothing
    uint32_t skipped = 0;
    *place = (tess_h5_place){0};
    tess_h5_driver_watch(place);
    const herr_t result =
        H5Dread_chunk(tess_h5_now.dataset, H5P_DEFAULT, offset, &skipped, nothing);
    tess_h5_driver_watch(NULL);
    if (result < 0) {
        return is_hole(offset) ? 0 : -1;
    }
    place->skipped = skipped;
    return place->bytes > 0 ? 0 : -1;
}

tess_status tess_h5_answer_locate(tess_h5_message *question)
{
    int64_t first = 0;
    int64_t count = 0;
    hsize_t dims[TESS_MAX_RANK];
    hsize_t chunk[TESS_MAX_RANK];
    tess_h5_get(question, &first, sizeof first);
    tess_h5_get(question, &count, sizeof count);
    const hid_t space = H5Dget_space(tess_h5_now.dataset);
    const hid_t creation = H5Dget_create_plist(tess_h5_now.dataset);
    const int rank = H5Sget_simple_extent_ndims(space);
    herr_t result =
        rank > 0 && rank <= TESS_MAX_RANK && H5Sget_simple_extent_dims(space, dims, NULL) == rank &&
                H5Pget_chunk(creation, TESS_MAX_RANK, chunk) == rank && count <= TESS_H5_MOST_PLACES
            ? 0
            : -1;
    tess_h5_close_id(creation);
    tess_h5_close_id(space);
    tess_h5_message *m = tess_h5_answer(TESS_H5_MOST_PLACES * sizeof(tess_h5_place));
    for (int64_t i = 0; i < count && result >= 0; i++) {
        hsize_t offset[TESS_MAX_RANK];
        uint64_t rest = (uint64_t)(first + i);
        for (int axis = rank - 1; axis >= 0; axis--) {
            const hsize_t across = dims[axis] / chunk[axis] + (dims[axis] % chunk[axis] != 0);
            offset[axis] = across > 0 ? rest % across * chunk[axis] : 0;
            rest = across > 0 ? rest / across : 0;
        }
        tess_h5_place place;
        result = locate(offset, &place);
        tess_h5_put(m, &place, sizeof place);
    }
    if (result < 0) {
        return tess_h5_fail(TESS_E_FORMAT, "cannot find the chunks of the data set");
    }
    tess_h5_send_answer(TESS_H5_ITEM);
    return TESS_OK;
}

static herr_t read_rows(int64_t first, int64_t count)
{
    const tess_h5_open_file *now = &tess_h5_now;
    if (now->rank == 0) {
        return H5Dread(now->dataset, now->memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, now->shared);
    }
    hsize_t start[TESS_MAX_RANK] = {(hsize_t)first};
    hsize_t extent[TESS_MAX_RANK];
    const hid_t file_space = H5Dget_space(now->dataset);
    herr_t result = H5Sget_simple_extent_dims(file_space, extent, NULL) == now->rank ? 0 : -1;
    extent[0] = (hsize_t)count;
    const hid_t memory_space = H5Screate_simple(now->rank, extent, NULL);
    if (result >= 0) {
        result = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, extent, NULL);
    }
    if (result >= 0) {
        result = H5Dread(now->dataset, now->memory_type, memory_space, file_space, H5P_DEFAULT,
                         now->shared);
    }
    tess_h5_close_id(memory_space);
    tess_h5_close_id(file_space);
    return result;
}

tess_status tess_h5_answer_read(tess_h5_message *question)
{
    int64_t first = 0;
    int64_t count = 0;
    tess_h5_get(question, &first, sizeof first);
    tess_h5_get(question, &count, sizeof count);
    const int64_t fit =
        tess_h5_now.row_bytes > 0 ? (int64_t)tess_h5_now.shared_bytes / tess_h5_now.row_bytes : 0;
    if (tess_h5_now.shared == NULL || count < 0 || count > fit || first < 0 ||
        first > tess_h5_now.n_row - count) {
        return tess_h5_refuse(TESS_E_INTERNAL, "%s: no room for %" PRId64 " items",
                              tess_h5_now.path, count);
    }
    if (read_rows(first, count) < 0) {
        char what[400];
        snprintf(what, sizeof what, "cannot read items %" PRId64 " to %" PRId64 " of a data set",
                 first, first + count - 1);
        return tess_h5_fail(TESS_E_FORMAT, what);
    }
    return TESS_OK;
}
